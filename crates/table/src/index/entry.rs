//! Derives keys and payloads from rows, and finds the row that an entry names.
//!
//! A row exists in two forms: as values (in statements) and as its clustered entry, key and payload (in write sets,
//! on pages, in the log). Secondary entries are always derived from the second form. Commits, snapshots of old
//! versions, builds and checks thus share one derivation.

use super::words_key::{locator_of_key, word_of_key};
use crate::catalog::{IndexDef, IndexPart, LocatorMap, ROW_ID_BYTES, TableDef};
use crate::error::{Result, TableError};
use crate::key_text::{KeyText, PartText};
use crate::limits::Limits;
use leafline_types::convert::to_text;
use leafline_types::{KeyPart, OverflowRef, SqlType, Value, decode_value, skip_part};
use std::ops::Range;

/// The key and payload of an entry of some index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl Entry {
    /// Returns whether a page can hold it.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.as_ref().fits(limits)
    }

    /// Borrows it.
    pub(crate) fn as_ref(&self) -> EntryRef<'_> {
        EntryRef { key: &self.key, payload: &self.payload }
    }
}

/// A borrowed entry.
#[derive(Clone, Copy)]
pub(crate) struct EntryRef<'e> {
    pub(crate) key: &'e [u8],
    pub(crate) payload: &'e [u8],
}

impl EntryRef<'_> {
    /// Copies it.
    pub(crate) fn to_entry(self) -> Entry {
        Entry { key: self.key.to_vec(), payload: self.payload.to_vec() }
    }

    /// Returns whether a page can hold it.
    pub(crate) fn fits(self, limits: &Limits) -> bool {
        self.key.len() <= limits.max_key && self.key.len() + self.payload.len() <= limits.max_entry
    }
}

/// Makes the clustered entry of a row. It contains `row_id` if the table has hidden row ids.
pub(crate) fn clustered_entry(table: &TableDef, row: &[Value], row_id: u64) -> Result<Entry> {
    let mut entry = Entry::default();
    let clustered = table.clustered();
    let hidden = [Value::UInt(row_id)];
    let hidden = if clustered.hidden_row_id { &hidden[..] } else { &[] };
    clustered.format.encode_key(row, hidden, &mut entry.key)?;
    entry.payload.reserve_exact(clustered.format.payload_len(row));
    clustered.format.encode_payload(row, &mut entry.payload)?;
    Ok(entry)
}

/// Decodes the values of a row.
pub(crate) fn row_values(table: &TableDef, key: &[u8], payload: &[u8]) -> Result<Vec<Value>> {
    let format = &table.clustered().format;
    (0..table.columns.len()).map(|column| Ok(format.decode_value(key, payload, column)?)).collect()
}

/// Decodes every value stored in a row, to find damage. Returns references to the values stored outside it.
pub(crate) fn read_row(table: &TableDef, key: &[u8], payload: &[u8]) -> Result<Vec<OverflowRef>> {
    let format = &table.clustered().format;
    let outside = if table.overflow.is_some() { format.overflow(payload)? } else { Vec::new() };
    for column in 0..table.columns.len() {
        if !outside.iter().any(|(outside, _)| *outside == column) {
            format.decode_value(key, payload, column)?;
        }
    }
    Ok(outside.into_iter().map(|(_, reference)| reference).collect())
}

/// Makes the entry of `index`, which is no FULLTEXT index, for the row with this clustered key and payload.
pub(crate) fn entry_of_row(table: &TableDef, index: &IndexDef, key: &[u8], payload: &[u8]) -> Result<Entry> {
    let mut entries = RowEntries::default();
    entries.begin_row(table);
    entries.entry(table, index, key, payload)
}

/// Makes the entries of rows, one row after another. It decodes a value once even if several indexes contain it.
#[derive(Default)]
pub(crate) struct RowEntries {
    /// The values decoded so far.
    row: Vec<Value>,
    is_read: Vec<bool>,
}

impl RowEntries {
    /// Begins another row, of `table`.
    pub(crate) fn begin_row(&mut self, table: &TableDef) {
        self.row.resize(table.columns.len(), Value::Null);
        self.is_read.clear();
        self.is_read.resize(table.columns.len(), false);
    }

    /// Makes the entry of `index` for the row, which has this clustered key and payload.
    pub(crate) fn entry(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        payload: &[u8],
    ) -> Result<Entry> {
        if index.is_clustered() {
            return Ok(Entry { key: key.to_vec(), payload: payload.to_vec() });
        }
        if index.is_words() {
            return Err(TableError::Internal("the one entry of a row in a FULLTEXT index".into()));
        }
        let clustered = &table.clustered().format;
        // Most entries end with the row's key unchanged, which need not be decoded.
        let ends_with_key = matches!(index.locator, LocatorMap::Rest) && index.format.keys_hold_all_columns();
        let parts = if ends_with_key { index.parts.len() } else { usize::MAX };
        for &column in index.key_columns.iter().take(parts) {
            if let (Some(value), Some(is_read @ false)) =
                (self.row.get_mut(column), self.is_read.get_mut(column))
            {
                *value = clustered.decode_beginning(key, payload, column)?;
                *is_read = true;
            }
        }
        let hidden = if index.hidden_row_id { Some(Value::UInt(row_id_of(key)?)) } else { None };
        // Most entries consist of the row's key and one more number.
        let mut entry = Entry { key: Vec::with_capacity(key.len() + 12), payload: Vec::new() };
        index.format.encode_key_beginning(&self.row, hidden.as_slice(), parts, &mut entry.key)?;
        if ends_with_key {
            entry.key.extend_from_slice(key);
        }
        index.format.encode_payload(&self.row, &mut entry.payload)?;
        Ok(entry)
    }
}

/// Decodes the row id of a hidden clustered key.
pub(crate) fn row_id_of(key: &[u8]) -> Result<u64> {
    match decode_value(&crate::catalog::row_id_part(), key)? {
        (Value::UInt(id), _) => Ok(id),
        _ => Err(TableError::Corrupt("a row id is not a number".into())),
    }
}

/// Sets `out` to the clustered key of the row that the entry with this key names.
pub(crate) fn locator_of_entry(index: &IndexDef, key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    match &index.locator {
        LocatorMap::Whole => out.extend_from_slice(key),
        LocatorMap::AfterWord => out.extend_from_slice(locator_of_key(index, key)?),
        LocatorMap::RowId => {
            let at = key.len().checked_sub(ROW_ID_BYTES).ok_or_else(|| short_key(index))?;
            out.extend_from_slice(key.get(at..).unwrap_or_default());
        }
        LocatorMap::Rest => {
            let at = prefix_len(&index.key_parts, key, index.parts.len())?;
            out.extend_from_slice(key.get(at..).unwrap_or_default());
        }
        LocatorMap::Parts(parts) => {
            let ranges = part_ranges(&index.key_parts, key)?;
            for &(at, inverted) in parts {
                let bytes = ranges.get(at).and_then(|range| key.get(range.clone()));
                let bytes = bytes.ok_or_else(|| short_key(index))?;
                if inverted {
                    out.extend(bytes.iter().map(|byte| !byte));
                } else {
                    out.extend_from_slice(bytes);
                }
            }
        }
    }
    Ok(())
}

fn short_key(index: &IndexDef) -> TableError {
    TableError::Corrupt(format!("a key of index {} is too short", index.name))
}

/// The length of a key's first `count` parts, in bytes.
pub(crate) fn prefix_len(parts: &[KeyPart], key: &[u8], count: usize) -> Result<usize> {
    let mut at = 0;
    for part in parts.iter().take(count) {
        at += skip_part(part, key.get(at..).unwrap_or_default())?;
    }
    Ok(at)
}

fn part_ranges(parts: &[KeyPart], key: &[u8]) -> Result<Vec<Range<usize>>> {
    let mut at = 0;
    let mut ranges = Vec::with_capacity(parts.len());
    for part in parts {
        let end = at + skip_part(part, key.get(at..).unwrap_or_default())?;
        ranges.push(at..end);
        at = end;
    }
    Ok(ranges)
}

/// The leading bytes of an entry's key that no other row may share. `None` if another row may: the index is not
/// unique, or one of its own parts is NULL.
pub(crate) fn unique_prefix<'k>(index: &IndexDef, key: &'k [u8]) -> Result<Option<&'k [u8]>> {
    if !index.is_unique() {
        return Ok(None);
    }
    let mut at = 0;
    for part in index.key_parts.iter().take(index.parts.len()) {
        let rest = key.get(at..).unwrap_or_default();
        // A nullable part begins with a marker: 0 for NULL, inverted if the part descends.
        let null = if part.descending { 0xff } else { 0 };
        if part.nullable && rest.first() == Some(&null) {
            return Ok(None);
        }
        at += skip_part(part, rest)?;
    }
    Ok(key.get(..at))
}

/// The values of an index's own parts in an entry, joined with `-`. A value that cannot be recovered from the entry
/// is shown as its bytes in hexadecimal.
pub(crate) fn describe_entry(index: &IndexDef, key: &[u8], payload: &[u8]) -> Result<String> {
    if index.is_words() {
        let locator = hex::encode(locator_of_key(index, key)?);
        let word = word_of_key(index, key)?.map(|word| format!("word {}", hex::encode(word.word)));
        return Ok(format!("{}-{locator}", word.as_deref().unwrap_or("row")));
    }
    let mut values = Vec::with_capacity(index.parts.len());
    for (position, part) in index.parts.iter().enumerate() {
        if index.format.has_column(part.column) {
            values.push(describe_part(
                index,
                position,
                &index.format.decode_value(key, payload, part.column)?,
            ));
        } else {
            let range = part_ranges(&index.key_parts, key)?.get(position).cloned();
            let bytes = range.and_then(|range| key.get(range)).ok_or_else(|| short_key(index))?;
            values.push(hex::encode(bytes));
        }
    }
    Ok(values.join("-"))
}

/// Error 1062 for a row whose key in `index` equals that of another row, at `locator`.
pub(crate) fn duplicate_entry(
    table: &TableDef,
    index: &IndexDef,
    (key, payload): (&[u8], &[u8]),
    locator: &[u8],
) -> TableError {
    match describe_row(table, index, key, payload) {
        Ok(entry) => {
            let (table, index, locator) = (table.name.clone(), index.name.clone(), locator.to_vec());
            TableError::DuplicateEntry { entry, table, index, locator }
        }
        Err(error) => error,
    }
}

/// The values of an index's own parts in a row.
fn describe_row(table: &TableDef, index: &IndexDef, key: &[u8], payload: &[u8]) -> Result<KeyText> {
    let format = &table.clustered().format;
    let value = |(position, part): (usize, &IndexPart)| -> Result<PartText> {
        let value = format.decode_beginning(key, payload, part.column)?;
        Ok(match index.key_parts.get(position).map(|part| &part.ty) {
            Some(ty @ SqlType::Timestamp { .. }) => PartText::Time(value, ty.clone()),
            _ => PartText::Shown(describe_part(index, position, &value)),
        })
    };
    Ok(KeyText(index.parts.iter().enumerate().map(value).collect::<Result<_>>()?))
}

fn describe_part(index: &IndexDef, position: usize, value: &Value) -> String {
    let Some(part) = index.key_parts.get(position) else { return String::new() };
    let text = match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        value => to_text(value, &part.ty).map_or("NULL".into(), |text| text.to_string().into()),
    };
    let characters = part.prefix.map_or(usize::MAX, |prefix| prefix as usize);
    text.chars().take(characters).collect()
}
