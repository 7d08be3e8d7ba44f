//! Overflow values: values too long for their rows.
//!
//! A row takes at most half a page, so that every leaf holds two. If a row would be longer, its longest values are
//! stored in an overflow table, which no statement sees, and the row contains references to them ([`OverflowRef`]).
//! The entries of an index are derived from the row alone. A column's values may therefore overflow only if no index
//! contains the whole column, and the column's type is too long for an index to contain it. If indexes contain
//! prefixes of the column, the row keeps the longest of these prefixes after the reference. Adding an index with a
//! longer prefix to a table with overflow values rebuilds the table. An overflow table is a table like any other: the
//! transaction that writes a row writes its overflow rows too, and they are logged, versioned, checked and repaired.
//! The lock on the row covers its overflow rows.
//!
//! | column | type            | holds                                     |
//! |--------|-----------------|-------------------------------------------|
//! | id     | BIGINT UNSIGNED | number of the value, never used again     |
//! | part   | INT UNSIGNED    | number of the part, from 0                |
//! | bytes  | VARBINARY       | up to half a page of the value            |
//!
//! The primary key is `(id, part)`. A value never changes: a row with a new value refers to a new number, and the
//! commit that writes it deletes the parts of the old value. A snapshot that sees a row therefore sees the values
//! that the row refers to.

use crate::catalog::{ColumnDef, IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, clustered_entry, row_values};
use crate::index::words_entry::{TextsOutside, texts_outside};
use crate::limits::Limits;
use crate::trees::TreeHandle;
use crate::write_set::State;
use leafline_btree::Tree;
use leafline_types::row::stored_value;
use leafline_types::{Collation, EntryFormat, OverflowRef, SqlType, Value};
use std::sync::Arc;

/// The maximum size of a part's row besides the bytes of the value, in bytes.
const PART_OVERHEAD: usize = 64;
/// Shorter values stay in the row, because moving them would gain little.
const SHORTEST: usize = 64;
/// The position of the column `bytes`.
const BYTES: usize = 2;

/// A row to be written: its clustered entry, and the overflow values to be written with it.
pub(crate) struct NewRow {
    pub(crate) entry: Entry,
    /// Column and number of each overflow value.
    pub(crate) values: Vec<(usize, u64)>,
}

/// The number of bytes of a value that one part holds.
pub(crate) fn part_bytes(limits: &Limits) -> usize {
    limits.max_entry - PART_OVERHEAD
}

/// The number of parts of a value.
pub(crate) fn parts(limits: &Limits, reference: &OverflowRef) -> u32 {
    (reference.len as usize).div_ceil(part_bytes(limits)).max(1) as u32
}

/// Makes the clustered key of a part.
pub(crate) fn part_key(overflow: &TableDef, id: u64, part: u32) -> Result<Vec<u8>> {
    let row = [Value::UInt(id), Value::UInt(part.into()), Value::bytes([])];
    Ok(clustered_entry(overflow, &row, 0)?.key)
}

/// The rows of a value's parts, in order.
pub(crate) fn part_rows(limits: &Limits, id: u64, value: &[u8]) -> impl Iterator<Item = [Value; 3]> {
    (0u64..)
        .zip(value.chunks(part_bytes(limits)))
        .map(move |(part, bytes)| [Value::UInt(id), Value::UInt(part), Value::bytes(bytes)])
}

/// The bytes of a part, from its row's payload.
pub(crate) fn part_of_payload<'p>(overflow: &TableDef, payload: &'p [u8]) -> Result<&'p [u8]> {
    let bytes = overflow.clustered().format.stored_bytes(payload, BYTES)?;
    bytes.ok_or_else(|| TableError::Corrupt("a part of a value is NULL".into()))
}

/// Joins a value from its parts. `part` appends the bytes found for the part with that key.
pub(crate) fn joined(
    overflow: &TableDef,
    limits: &Limits,
    reference: &OverflowRef,
    mut part: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    for number in 0..parts(limits, reference) {
        part(&part_key(overflow, reference.id, number)?, &mut value)?;
    }
    checked(reference, value)
}

/// Reads a value from the tree of an overflow table, whatever the timestamps of its parts are.
pub(crate) fn value_in_tree(
    overflow: &TableDef,
    tree: &Tree,
    limits: &Limits,
    reference: &OverflowRef,
) -> Result<Vec<u8>> {
    joined(overflow, limits, reference, |key, value| append_part(overflow, tree, key, value))
}

/// Appends the bytes of the part with this key, if it is there.
fn append_part(overflow: &TableDef, tree: &Tree, key: &[u8], value: &mut Vec<u8>) -> Result<()> {
    tree.get(key, |entry| {
        if let Some(entry) = entry {
            value.extend_from_slice(part_of_payload(overflow, entry.payload)?);
        }
        Ok(())
    })?
}

/// Decodes the values of a row. `outside` reads the bytes of its overflow values.
pub(crate) fn values_of_row(
    table: &TableDef,
    (key, payload): (&[u8], &[u8]),
    mut outside: impl FnMut(&OverflowRef) -> Result<Vec<u8>>,
) -> Result<Vec<Value>> {
    if table.overflow.is_none() {
        return row_values(table, key, payload);
    }
    let format = &table.clustered().format;
    let references = format.overflow(payload)?;
    let value = |(number, column): (usize, &ColumnDef)| -> Result<Value> {
        match references.iter().find(|(outside, _)| *outside == number) {
            Some((_, reference)) => Ok(stored_value(&column.ty, &outside(reference)?)?),
            None => Ok(format.decode_value(key, payload, number)?),
        }
    };
    table.columns.iter().enumerate().map(value).collect()
}

/// Reads overflow values that rows refer to now, whether a snapshot sees them or not.
pub(crate) struct CurrentValues {
    indexes: Vec<Arc<IndexDef>>,
    /// The overflow table with its tree, unless no FULLTEXT index asks for values.
    from: Option<(Arc<TableDef>, Arc<TreeHandle>)>,
    limits: Limits,
}

impl CurrentValues {
    /// Makes a reader of the texts of `table` that some indexes are derived from.
    pub(crate) fn of(core: &Core, table: &TableDef, indexes: &[Arc<IndexDef>]) -> Result<CurrentValues> {
        let indexes: Vec<_> = indexes.iter().filter(|index| index.is_words()).cloned().collect();
        let mut from = None;
        if !indexes.is_empty() && table.overflow.is_some() {
            let overflow = overflow_table(core, table)?;
            let tree = core.trees.current(overflow.clustered().tree)?;
            from = Some((overflow, tree));
        }
        Ok(CurrentValues { indexes, from, limits: core.limits })
    }

    /// Reads the texts of a row that are stored outside it.
    pub(crate) fn texts_of(&self, table: &TableDef, payload: &[u8]) -> Result<TextsOutside> {
        self.texts_with(table, payload, |_, _| Ok(None))
    }

    /// Reads texts like [`texts_of`](Self::texts_of). `written` says what a transaction has written under the key of a part, which
    /// comes first.
    pub(crate) fn texts_with(
        &self,
        table: &TableDef,
        payload: &[u8],
        written: impl Fn(TableId, &[u8]) -> Result<Option<State>>,
    ) -> Result<TextsOutside> {
        let Some((overflow, tree)) = &self.from else { return Ok(Vec::new()) };
        texts_outside(table, &self.indexes, payload, |reference| {
            joined(overflow, &self.limits, reference, |key, value| {
                if let Some(Some(payload)) = written(overflow.id, key)? {
                    value.extend_from_slice(part_of_payload(overflow, &payload)?);
                    return Ok(());
                }
                append_part(overflow, &tree.tree, key, value)
            })
        })
    }
}

/// Returns the value if its length and checksum are those in the reference, otherwise `Corrupt`.
pub(crate) fn checked(reference: &OverflowRef, value: Vec<u8>) -> Result<Vec<u8>> {
    match reference.is_of(&value) {
        true => Ok(value),
        false => Err(TableError::Corrupt(format!(
            "value {} of {} bytes, which is stored outside its row, is not as it was",
            reference.id, reference.len
        ))),
    }
}

/// The bytes of a value that is stored outside its row.
///
/// # Panics
/// The value has no bytes: `columns_outside` chooses no such column.
pub(crate) fn bytes_outside(row: &[Value], column: usize) -> &[u8] {
    bytes_of(&row[column]).expect("only strings are stored outside rows")
}

/// The bytes of a string or a document.
pub(crate) fn bytes_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::String(s) => Some(s.as_bytes()),
        Value::Bytes(b) => Some(b),
        Value::Json(json) => Some(json.as_bytes()),
        _ => None,
    }
}

impl TableDef {
    /// Returns whether the column's values may be stored outside their rows.
    pub fn may_overflow(&self, column: usize, limits: &Limits) -> bool {
        self.columns.get(column).is_some_and(|column| longest_value(column) > limits.max_key)
            && !self.indexes.iter().any(|index| index.has_whole(column))
    }

    /// The number of bytes of an overflow value that stay in the row: the longest prefix that an index contains.
    fn bytes_inside(&self, column: usize, value: &[u8]) -> usize {
        let definition = &self.columns[column];
        let longest = self.indexes.iter().filter_map(|index| index.longest_prefix(column)).max();
        let collation = if definition.ty.is_character() { definition.collation } else { Collation::Binary };
        longest.map_or(0, |longest| collation.beginning(value, longest as usize).len())
    }

    /// The columns of a row to move outside it, the longest value first; empty if the row fits. The columns of
    /// `stay_outside` are outside already.
    pub(crate) fn columns_outside(
        &self,
        row: &[Value],
        key_len: usize,
        stay_outside: &[(usize, OverflowRef)],
        limits: &Limits,
    ) -> Vec<usize> {
        let format = &self.clustered().format;
        let value_of = |column: usize| bytes_of(&row[column]).unwrap_or_default();
        let len_of = |column: usize| value_of(column).len();
        let len_left =
            |column: usize| EntryFormat::OVERFLOW_REF_BYTES + self.bytes_inside(column, value_of(column));
        let mut len = key_len + format.payload_len(row);
        for (column, _) in stay_outside {
            len = len - len_of(*column) + len_left(*column);
        }
        if len <= limits.max_entry {
            return Vec::new();
        }
        let is_inside = |column: &usize| !stay_outside.iter().any(|(outside, _)| outside == column);
        let mut candidates: Vec<usize> = (0..self.columns.len())
            .filter(|column| self.may_overflow(*column, limits) && is_inside(column))
            .filter(|column| len_of(*column) >= SHORTEST && len_of(*column) > len_left(*column))
            .collect();
        candidates.sort_by_key(|column| std::cmp::Reverse(len_of(*column)));
        let mut outside = Vec::new();
        for column in candidates {
            if len <= limits.max_entry {
                break;
            }
            len = len - len_of(column) + len_left(column);
            outside.push(column);
        }
        outside
    }
}

/// The maximum length of a value of the column in bytes; 0 unless it is a string.
fn longest_value(column: &ColumnDef) -> usize {
    match &column.ty {
        SqlType::Text { max_bytes } | SqlType::Blob { max_bytes } => *max_bytes as usize,
        SqlType::Char { len } | SqlType::Varchar { len } => {
            *len as usize * column.collation.charset().max_bytes() as usize
        }
        SqlType::Binary { len } | SqlType::Varbinary { len } => *len as usize,
        ty if ty.is_variable() => u32::MAX as usize,
        _ => 0,
    }
}

/// Makes the clustered entry of a row. If it replaces the row `old`, overflow values that both have are kept
/// where they are.
pub(crate) fn new_row(
    core: &Core,
    table: &TableDef,
    row: &[Value],
    row_id: u64,
    old: Option<(&[Value], &[u8])>,
) -> Result<NewRow> {
    let Some(overflow) = table.overflow else {
        return Ok(NewRow { entry: clustered_entry(table, row, row_id)?, values: Vec::new() });
    };
    let format = &table.clustered().format;
    let mut outside = Vec::new();
    if let Some((old, payload)) = old {
        outside = format.overflow(payload)?;
        outside.retain(|(column, reference)| {
            let (before, now) = (old.get(*column), row.get(*column));
            // The caller may have read an older version than the row that is replaced.
            before == now && now.and_then(bytes_of).is_some_and(|bytes| reference.is_of(bytes))
        });
    }
    let mut entry = Entry::default();
    let hidden = [Value::UInt(row_id)];
    let hidden = if table.has_hidden_row_id() { &hidden[..] } else { &[] };
    format.encode_key(row, hidden, &mut entry.key)?;
    let mut values = Vec::new();
    for column in table.columns_outside(row, entry.key.len(), &outside, &core.limits) {
        let id = core.counters.new_row_id(overflow, &table.name)?;
        let bytes = bytes_outside(row, column);
        outside.push((column, OverflowRef::new(id, bytes)?));
        values.push((column, id));
    }
    let beginning = |column: usize| table.bytes_inside(column, bytes_of(&row[column]).unwrap_or_default());
    format.encode_payload_with(row, &outside, &beginning, &mut entry.payload)?;
    Ok(NewRow { entry, values })
}

/// The overflow table of `table`.
///
/// # Errors
/// `DefinitionChanged` if it does not exist any more.
pub(crate) fn overflow_table(core: &Core, table: &TableDef) -> Result<Arc<TableDef>> {
    let id = table.overflow.ok_or_else(|| {
        TableError::Corrupt(format!("table {} has a value outside a row, and no place for it", table.name))
    })?;
    core.catalog().table_by_id(id).cloned().ok_or(TableError::DefinitionChanged)
}
