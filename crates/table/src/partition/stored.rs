//! Partitions in the catalog's tree: a row that says how the table is divided, and one for each partition.

use super::scheme::{BoundValue, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec};
use super::{Partition, Partitioning};
use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::{ColumnDef, TableDef, TableId};
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

const MAX_VALUE: u8 = 0;
const VALUE: u8 = 1;

/// The payloads of the rows of a partitioned table.
pub(crate) struct PartitionRows {
    /// How it is divided.
    pub(crate) scheme: Vec<u8>,
    /// Its partitions, in order.
    pub(crate) partitions: Vec<Vec<u8>>,
}

/// What is known of a partitioned table before its partitions are.
pub(crate) struct StoredScheme {
    method: PartitionMethod,
    key: PartitionKey,
    columns: Vec<usize>,
    listed: bool,
    partitions: Vec<(PartitionSpec, TableId)>,
}

/// The values of a partition function are kept as the largest integers.
fn function_value() -> RowLayout {
    one_value(&ColumnDef::new("", SqlType::BIGINT, true, leafline_types::Collation::Binary))
}

fn one_value(column: &ColumnDef) -> RowLayout {
    let (ty, collation) = (column.ty.clone(), column.collation);
    RowLayout::new(0, &[ColumnLayout { ty, nullable: true, collation }])
}

/// The rows that say how `table` is divided; none if it is not.
pub(crate) fn partition_rows(table: &TableDef) -> Result<Option<PartitionRows>> {
    let Some(partitioning) = &table.partitioning else { return Ok(None) };
    let scheme = &*partitioning.scheme;
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
        | flag(scheme.has_function(), FUNCTION);
    let text = match &scheme.key {
        PartitionKey::Function(text) => text.as_str(),
        PartitionKey::Columns => "",
    };
    let mut out = ByteWriter::default();
    out.u8(FORMAT).u8(method).u8(flags).string(text).u16(scheme.columns.len() as u16);
    for column in &scheme.columns {
        out.u16(*column as u16);
    }
    let layouts = layouts(scheme.has_function(), &scheme.columns, &table.columns)?;
    let mut partitions = Vec::with_capacity(scheme.partitions.len());
    for (spec, partition) in scheme.partitions.iter().zip(partitioning.partitions.iter()) {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).string(&spec.name).string(&spec.comment).u64(partition.table.id.0);
        out.u32(spec.values.len() as u32);
        for row in &spec.values {
            out.u16(row.len() as u16);
            for (value, layout) in row.iter().zip(&layouts) {
                let Some(value) = value else {
                    out.u8(MAX_VALUE);
                    continue;
                };
                // An unsigned number as the signed one with its bits, which the kind of the value tells apart.
                let (kind, value) = match value {
                    Value::UInt(number) if scheme.has_function() => (VALUE + 1, Value::Int(*number as i64)),
                    value => (VALUE, value.clone()),
                };
                let mut bytes = Vec::new();
                layout.encode(std::slice::from_ref(&value), &mut bytes)?;
                out.u8(kind).bytes(&bytes);
            }
        }
        partitions.push(out.finish());
    }
    Ok(Some(PartitionRows { scheme: out.finish(), partitions }))
}

fn layouts(has_function: bool, columns: &[usize], of_table: &[ColumnDef]) -> Result<Vec<RowLayout>> {
    if has_function {
        return Ok(vec![function_value()]);
    }
    let layout = |at: &usize| of_table.get(*at).map(one_value);
    let layouts: Option<Vec<RowLayout>> = columns.iter().map(layout).collect();
    layouts.ok_or_else(|| TableError::Corrupt("a partitioning names a column that is not there".into()))
}

/// Reads how a table is divided.
pub(crate) fn decode_scheme(payload: &[u8]) -> Result<StoredScheme> {
    let mut from = ByteReader::new("catalog partitioning", payload);
    from.format(FORMAT)?;
    let (method, flags, text) = (from.u8()?, from.u8()?, from.string()?);
    let columns = (0..from.u16()?).map(|_| from.u16().map(usize::from)).collect::<Result<Vec<_>>>()?;
    let method = match method {
        RANGE => PartitionMethod::Range,
        LIST => PartitionMethod::List,
        HASH => PartitionMethod::Hash { linear: flags & LINEAR != 0 },
        KEY => PartitionMethod::Key { linear: flags & LINEAR != 0, implicit: flags & IMPLICIT != 0 },
        other => return Err(from.damaged(format!("method {other} is not known"))),
    };
    from.end()?;
    let key = match flags & FUNCTION != 0 {
        true => PartitionKey::Function(text),
        false => PartitionKey::Columns,
    };
    Ok(StoredScheme { method, key, columns, listed: flags & LISTED != 0, partitions: Vec::new() })
}

/// Reads the next partition of a table with these columns.
pub(crate) fn decode_partition(
    payload: &[u8],
    scheme: &mut StoredScheme,
    of_table: &[ColumnDef],
) -> Result<()> {
    let mut from = ByteReader::new("catalog partition", payload);
    from.format(FORMAT)?;
    let (name, comment, table) = (from.string()?, from.string()?, TableId(from.u64()?));
    let has_function = matches!(scheme.key, PartitionKey::Function(_));
    let layouts = layouts(has_function, &scheme.columns, of_table)?;
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
    from.end()?;
    scheme.partitions.push((PartitionSpec { name, comment, values }, table));
    Ok(())
}

impl StoredScheme {
    /// With the tables of the partitions.
    pub(crate) fn finish(
        self,
        of_table: &[ColumnDef],
        tables: &BTreeMap<TableId, Arc<TableDef>>,
    ) -> Result<Partitioning> {
        let (specs, ids): (Vec<PartitionSpec>, Vec<TableId>) = self.partitions.into_iter().unzip();
        let partition = |(number, id): (usize, TableId)| match tables.get(&id) {
            Some(table) => Ok(Partition { number, table: table.clone() }),
            None => Err(TableError::Corrupt(format!("catalog: partition {} has no table", id.0))),
        };
        let partitions = ids.into_iter().enumerate().map(partition).collect::<Result<_>>()?;
        let scheme =
            PartitionScheme::new(self.method, self.key, self.columns, (specs, self.listed), of_table)?;
        Ok(Partitioning { scheme: Arc::new(scheme), partitions })
    }
}
