//! Partitions in the catalog's tree: one row for the scheme of a table, and one row for each partition or
//! subpartition.

use super::column::ColumnDef;
use super::definition::{Partition, Partitioning, TableDef, TableId};
use super::partition_scheme::{
    BoundValue, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec, SubpartitionSpec,
};
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::{Result, TableError};
use leafline_types::{ColumnLayout, RowLayout, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const FORMAT: u8 = 1;

const RANGE: u8 = 0;
const LIST: u8 = 1;
const HASH: u8 = 2;
const KEY: u8 = 3;

const LINEAR: u8 = 1;
const IMPLICIT: u8 = 2;
const LISTED: u8 = 4;
const FUNCTION: u8 = 8;
/// The scheme has a subdivision, which follows it. Each subpartition has a row, which begins with the fields of its
/// partition.
const SUBDIVIDED: u8 = 16;

const MAX_VALUE: u8 = 0;
const VALUE: u8 = 1;

/// The payloads of the catalog rows of a partitioned table.
pub(crate) struct PartitionRows {
    /// The row of the scheme.
    pub(crate) scheme: Vec<u8>,
    /// The rows of the partitions, in order.
    pub(crate) partitions: Vec<Vec<u8>>,
}

/// A scheme without its partitions.
struct Division {
    method: PartitionMethod,
    key: PartitionKey,
    columns: Vec<usize>,
    listed: bool,
}

/// A decoded scheme that still lacks partitions.
pub(crate) struct StoredScheme {
    division: Division,
    /// The subdivision, and into how many subpartitions.
    below: Option<(Division, usize)>,
    specs: Vec<PartitionSpec>,
    tables: Vec<TableId>,
}

/// Values of a partition function are stored as BIGINT.
fn function_value() -> RowLayout {
    one_value(&ColumnDef::new("", SqlType::BIGINT, true, leafline_types::Collation::Binary))
}

fn one_value(column: &ColumnDef) -> RowLayout {
    let (ty, collation) = (column.ty.clone(), column.collation);
    RowLayout::new(0, &[ColumnLayout { ty, nullable: true, collation }])
}

/// Writes a scheme without its partitions. `more` contains further flags.
fn put_division(scheme: &PartitionScheme, more: u8, out: &mut ByteWriter) {
    let (method, linear, implicit) = match scheme.method {
        PartitionMethod::Range => (RANGE, false, false),
        PartitionMethod::List => (LIST, false, false),
        PartitionMethod::Hash { linear } => (HASH, linear, false),
        PartitionMethod::Key { linear, implicit } => (KEY, linear, implicit),
    };
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(linear, LINEAR)
        | flag(implicit, IMPLICIT)
        | flag(scheme.listed, LISTED)
        | flag(scheme.has_function(), FUNCTION)
        | more;
    let text = match &scheme.key {
        PartitionKey::Function(text) => text.as_str(),
        PartitionKey::Columns => "",
    };
    out.u8(method).u8(flags).string(text).u16(scheme.columns.len() as u16);
    for column in &scheme.columns {
        out.u16(*column as u16);
    }
}

/// The catalog rows for the partitions of `table`; `None` if it has none.
pub(crate) fn partition_rows(table: &TableDef) -> Result<Option<PartitionRows>> {
    let Some(partitioning) = &table.partitioning else { return Ok(None) };
    let scheme = &*partitioning.scheme;
    let mut out = ByteWriter::default();
    out.u8(FORMAT);
    put_division(scheme, if scheme.subdivision.is_some() { SUBDIVIDED } else { 0 }, &mut out);
    if let Some(below) = &scheme.subdivision {
        put_division(below, 0, &mut out);
        out.u16(below.partitions.len() as u16);
    }
    let layouts = layouts(scheme.has_function(), &scheme.columns, &table.columns)?;
    let mut partitions = Vec::with_capacity(scheme.tables());
    let specs = scheme.partitions.iter().flat_map(|spec| {
        let below = spec.subpartitions.iter().map(move |below| (spec, Some(below)));
        below.chain(spec.subpartitions.is_empty().then_some((spec, None)))
    });
    for ((spec, below), partition) in specs.zip(partitioning.partitions.iter()) {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).string(&spec.name).string(&spec.comment).u64(partition.table.id.0);
        put_values(spec, scheme.has_function(), &layouts, &mut out)?;
        if let Some(below) = below {
            out.string(&below.name).string(&below.comment);
        }
        partitions.push(out.finish());
    }
    Ok(Some(PartitionRows { scheme: out.finish(), partitions }))
}

fn put_values(
    spec: &PartitionSpec,
    has_function: bool,
    layouts: &[RowLayout],
    out: &mut ByteWriter,
) -> Result<()> {
    out.u32(spec.values.len() as u32);
    for row in &spec.values {
        out.u16(row.len() as u16);
        for (value, layout) in row.iter().zip(layouts) {
            let Some(value) = value else {
                out.u8(MAX_VALUE);
                continue;
            };
            // An unsigned number is stored as the signed number with the same bits; the kind of the value tells them
            // apart.
            let (kind, value) = match value {
                Value::UInt(number) if has_function => (VALUE + 1, Value::Int(*number as i64)),
                value => (VALUE, value.clone()),
            };
            let mut bytes = Vec::new();
            layout.encode(std::slice::from_ref(&value), &mut bytes)?;
            out.u8(kind).bytes(&bytes);
        }
    }
    Ok(())
}

fn layouts(has_function: bool, columns: &[usize], of_table: &[ColumnDef]) -> Result<Vec<RowLayout>> {
    if has_function {
        return Ok(vec![function_value()]);
    }
    let layout = |at: &usize| of_table.get(*at).map(one_value);
    let layouts: Option<Vec<RowLayout>> = columns.iter().map(layout).collect();
    layouts.ok_or_else(|| TableError::Corrupt("a partitioning names a column that is not there".into()))
}

/// Reads a scheme without its partitions, and its flags.
fn division(from: &mut ByteReader<'_>) -> Result<(Division, u8)> {
    let (method, flags, text) = (from.u8()?, from.u8()?, from.string()?);
    let columns = (0..from.u16()?).map(|_| from.u16().map(usize::from)).collect::<Result<Vec<_>>>()?;
    let method = match method {
        RANGE => PartitionMethod::Range,
        LIST => PartitionMethod::List,
        HASH => PartitionMethod::Hash { linear: flags & LINEAR != 0 },
        KEY => PartitionMethod::Key { linear: flags & LINEAR != 0, implicit: flags & IMPLICIT != 0 },
        other => return Err(from.damaged(format!("method {other} is not known"))),
    };
    let key = match flags & FUNCTION != 0 {
        true => PartitionKey::Function(text),
        false => PartitionKey::Columns,
    };
    Ok((Division { method, key, columns, listed: flags & LISTED != 0 }, flags))
}

/// Decodes the row of a scheme.
pub(crate) fn decode_scheme(payload: &[u8]) -> Result<StoredScheme> {
    let mut from = ByteReader::new("catalog partitioning", payload);
    from.format(FORMAT)?;
    let (own, flags) = division(&mut from)?;
    let mut below = None;
    if flags & SUBDIVIDED != 0 {
        let (division, _) = division(&mut from)?;
        let count = usize::from(from.u16()?);
        if count == 0 {
            return Err(from.damaged("partitions without subpartitions"));
        }
        below = Some((division, count));
    }
    from.end()?;
    Ok(StoredScheme { division: own, below, specs: Vec::new(), tables: Vec::new() })
}

/// Decodes the row of the next partition of a table with these columns.
pub(crate) fn decode_partition(
    payload: &[u8],
    scheme: &mut StoredScheme,
    of_table: &[ColumnDef],
) -> Result<()> {
    let mut from = ByteReader::new("catalog partition", payload);
    from.format(FORMAT)?;
    let (name, comment, table) = (from.string()?, from.string()?, TableId(from.u64()?));
    let has_function = matches!(scheme.division.key, PartitionKey::Function(_));
    let layouts = layouts(has_function, &scheme.division.columns, of_table)?;
    let mut values: Vec<Vec<BoundValue>> = Vec::new();
    for _ in 0..from.u32()? {
        let width = usize::from(from.u16()?);
        let mut row = Vec::with_capacity(width.min(layouts.len()));
        for at in 0..width {
            let layout = layouts.get(at).ok_or_else(|| from.damaged("it has too many values"))?;
            let kind = from.u8()?;
            if kind == MAX_VALUE {
                row.push(None);
                continue;
            }
            let value = layout.decode_value(from.bytes()?, 0)?;
            row.push(Some(match value {
                Value::Int(number) if has_function && kind > VALUE => Value::UInt(number as u64),
                value => value,
            }));
        }
        values.push(row);
    }
    let mut below = None;
    if scheme.below.is_some() {
        below = Some(SubpartitionSpec { name: from.string()?, comment: from.string()? });
    }
    from.end()?;
    let each = scheme.below.as_ref().map_or(1, |(_, count)| *count);
    if scheme.tables.len().is_multiple_of(each) {
        scheme.specs.push(PartitionSpec { name, comment, values, subpartitions: Vec::new() });
    }
    if let Some(spec) = scheme.specs.last_mut() {
        spec.subpartitions.extend(below);
    }
    scheme.tables.push(table);
    Ok(())
}

impl Division {
    fn scheme(self, partitions: Vec<PartitionSpec>, of_table: &[ColumnDef]) -> Result<PartitionScheme> {
        PartitionScheme::new(self.method, self.key, self.columns, (partitions, self.listed), of_table)
    }
}

impl StoredScheme {
    /// Makes the partitioning, with the tables of the partitions.
    pub(crate) fn finish(
        self,
        of_table: &[ColumnDef],
        tables: &BTreeMap<TableId, Arc<TableDef>>,
    ) -> Result<Partitioning> {
        let partition = |(number, id): (usize, TableId)| match tables.get(&id) {
            Some(table) => Ok(Partition { number, table: table.clone() }),
            None => Err(TableError::Corrupt(format!("catalog: partition {} has no table", id.0))),
        };
        let partitions = self.tables.into_iter().enumerate().map(partition).collect::<Result<_>>()?;
        let below = self.below.map(|(division, count)| {
            let nameless = vec![PartitionSpec::nameless(); count];
            division.scheme(nameless, of_table)
        });
        let scheme = self.division.scheme(self.specs, of_table)?.subdivided(below.transpose()?)?;
        Ok(Partitioning { scheme: Arc::new(scheme), partitions })
    }
}
