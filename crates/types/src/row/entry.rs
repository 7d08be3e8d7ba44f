//! The places of a table's columns in the entries of one of its trees.

use super::overflow::OverflowReplacement;
use super::{ColumnLayout, OverflowRef, RowLayout, Slot, StringPlace, row_version};
use crate::error::CodecError;
use crate::key::{
    KeyPart, append_differences, decode_value, difference_len, difference_of, encode_part, has_difference,
    is_restorable, restore_value, skip_part, verify_difference,
};
use crate::value::Value;

/// A column of a table, as an [`EntryFormat`] needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryColumn {
    /// Its type, nullability and collation.
    pub layout: ColumnLayout,
    /// Its place among the stored columns of rows. Rows store columns in the order of their places, which are unique.
    pub place: u16,
    /// The schema version in which the table got the column; rows of older versions read as `default`. 0 for a column
    /// that was there from the start.
    pub added_in: u16,
    /// The value in rows older than the column.
    pub default: Value,
}

/// A column that the table has lost, but rows of older schema versions still hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedColumn {
    /// Its type, nullability and collation.
    pub layout: ColumnLayout,
    /// Its place among the stored columns of those rows.
    pub place: u16,
    /// The schema version in which the table got it.
    pub added_in: u16,
    /// The schema version from which on rows lack it.
    pub dropped_in: u16,
}

/// The place of one table column in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It is this part of the key.
    Key(usize),
    /// It is a part of the key, together with this one of the differences in the payload.
    Difference(usize),
    /// It is this stored column of the payload.
    Payload(usize),
    /// The entry does not hold it.
    Absent,
}

/// The payload's layout from one schema version up to the next.
#[derive(Debug, Clone)]
pub(super) struct Version {
    since: u16,
    pub(super) layout: RowLayout,
    /// The number in the layout of each stored column; None if rows are older than the column.
    pub(super) columns: Vec<Option<usize>>,
}

/// A column as rows of some versions store it.
struct Physical<'c> {
    layout: &'c ColumnLayout,
    since: u16,
    until: Option<u16>,
    /// Its number among the stored columns of the table, unless it is dropped.
    stored: Option<usize>,
}

impl Version {
    /// Lays out the columns that rows have in schema version `since`, in the order of their places. `stored` is how
    /// many stored columns the table has.
    fn new(since: u16, written: Option<u16>, columns: &[Physical<'_>], stored: usize) -> Version {
        let is_present =
            |column: &&Physical<'_>| column.since <= since && column.until.is_none_or(|until| since < until);
        let present: Vec<&Physical<'_>> = columns.iter().filter(is_present).collect();
        let layouts: Vec<ColumnLayout> = present.iter().map(|column| column.layout.clone()).collect();
        let number = |stored| present.iter().position(|column| column.stored == Some(stored));
        let columns = (0..stored).map(number).collect();
        Version { since, layout: RowLayout::lay_out(written, &layouts), columns }
    }
}

/// The places of a table's columns in the entries (key bytes and payload bytes) of one of its trees.
#[derive(Debug, Clone)]
pub struct EntryFormat {
    pub(super) key: Vec<KeyPart>,
    key_columns: Vec<Option<usize>>,
    pub(super) columns: Vec<EntryColumn>,
    pub(super) sources: Vec<Source>,
    /// The table columns in the payload, in the order of rows.
    pub(super) stored: Vec<usize>,
    /// The parts of the key whose differences the payload holds, in their order; such a payload holds nothing else.
    pub(super) differences: Vec<usize>,
    /// The versions, oldest first. New rows are written in the last. There is at least one.
    pub(super) versions: Vec<Version>,
    layouts: Layouts,
}

/// Finds the layout of a row among those of older and current schema versions, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Layouts {
    /// The current schema version; None if payloads carry none.
    current: Option<u16>,
    /// The schema version from which on rows have each layout.
    since: Vec<u16>,
}

impl Layouts {
    /// Returns the number of layouts.
    pub fn count(&self) -> usize {
        self.since.len()
    }

    /// Returns the number of a payload's layout.
    #[inline]
    pub fn of(&self, payload: &[u8]) -> Result<usize, CodecError> {
        let last = self.since.len().saturating_sub(1);
        let Some(current) = self.current else { return Ok(last) };
        let found = row_version(payload)?;
        if found == current {
            return Ok(last);
        }
        if found > current {
            return Err(CodecError::UnknownVersion(found));
        }
        // The first layout is valid from version 0, so one is found.
        Ok(self.since.iter().rposition(|since| *since <= found).unwrap_or(0))
    }

    /// Returns the number of the layout that all these payloads share; None if they differ.
    #[inline]
    fn of_all(&self, payloads: &[&[u8]]) -> Option<usize> {
        let Some(current) = self.current else { return Some(self.since.len().saturating_sub(1)) };
        if payloads.iter().all(|payload| row_version(payload) == Ok(current)) {
            return Some(self.since.len().saturating_sub(1));
        }
        let first = self.of(payloads.first()?).ok()?;
        payloads.iter().all(|payload| self.of(payload) == Ok(first)).then_some(first)
    }
}

impl EntryFormat {
    /// Makes the format of a clustered index: the payload holds all columns that the key does not restore.
    /// `key_columns` names the table column of each part; None is a part of its own, such as a hidden row id.
    pub fn clustered(
        schema_version: u16,
        columns: &[EntryColumn],
        dropped: &[DroppedColumn],
        key: &[KeyPart],
        key_columns: &[Option<usize>],
    ) -> Self {
        let in_key = |column| Self::restoring_part(key, key_columns, column).is_some();
        let mut stored: Vec<usize> = (0..columns.len()).filter(|&column| !in_key(column)).collect();
        stored.sort_by_key(|&column| columns.get(column).map(|column| column.place));
        let present = stored.iter().enumerate().filter_map(|(number, &column)| {
            let column = columns.get(column)?;
            let (layout, since) = (&column.layout, column.added_in);
            Some((column.place, Physical { layout, since, until: None, stored: Some(number) }))
        });
        let gone = dropped.iter().map(|column| {
            let (layout, since, until) = (&column.layout, column.added_in, Some(column.dropped_in));
            (column.place, Physical { layout, since, until, stored: None })
        });
        let mut physical: Vec<(u16, Physical<'_>)> = present.chain(gone).collect();
        physical.sort_by_key(|(place, _)| *place);
        let physical: Vec<Physical<'_>> = physical.into_iter().map(|(_, column)| column).collect();
        let mut starts: Vec<u16> =
            physical.iter().flat_map(|column| [Some(column.since), column.until]).flatten().collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let last = starts.last().copied();
        let version = |since: u16| {
            let written = if Some(since) == last { schema_version } else { since };
            Version::new(since, Some(written), &physical, stored.len())
        };
        let versions = starts.into_iter().map(version).collect();
        Self::new(Some(schema_version), columns, key, key_columns, stored, versions)
    }

    /// Makes the format of a secondary index: the payload holds the differences of key columns, if any need one.
    pub fn secondary(columns: &[EntryColumn], key: &[KeyPart], key_columns: &[Option<usize>]) -> Self {
        let versions = vec![Version::new(0, None, &[], 0)];
        let mut format = Self::new(None, columns, key, key_columns, Vec::new(), versions);
        for (number, (column, part)) in key_columns.iter().zip(key).enumerate() {
            let source = column.and_then(|column| format.sources.get_mut(column));
            if let Some(source) = source.filter(|source| **source == Source::Absent && has_difference(part)) {
                *source = Source::Difference(format.differences.len());
                format.differences.push(number);
            }
        }
        format
    }

    /// Makes the format of a secondary index whose payload is a row of the key columns that the key does not restore.
    pub fn secondary_with_copies(
        columns: &[EntryColumn],
        key: &[KeyPart],
        key_columns: &[Option<usize>],
    ) -> Self {
        let in_key = |column| Self::restoring_part(key, key_columns, column).is_some();
        let whole = key_columns.iter().zip(key).filter(|(_, part)| part.prefix.is_none());
        let mut stored: Vec<usize> =
            whole.filter_map(|(column, _)| *column).filter(|&c| !in_key(c)).collect();
        let mut seen = Vec::new();
        stored.retain(|c| {
            let first = !seen.contains(c);
            seen.push(*c);
            first
        });
        let present = stored.iter().enumerate().filter_map(|(number, &column)| {
            let layout = &columns.get(column)?.layout;
            Some(Physical { layout, since: 0, until: None, stored: Some(number) })
        });
        let present: Vec<Physical<'_>> = present.collect();
        let versions = vec![Version::new(0, None, &present, stored.len())];
        Self::new(None, columns, key, key_columns, stored, versions)
    }

    fn restoring_part(key: &[KeyPart], key_columns: &[Option<usize>], column: usize) -> Option<usize> {
        key_columns.iter().zip(key).position(|(c, part)| *c == Some(column) && is_restorable(part))
    }

    fn new(
        schema_version: Option<u16>,
        columns: &[EntryColumn],
        key: &[KeyPart],
        key_columns: &[Option<usize>],
        stored: Vec<usize>,
        versions: Vec<Version>,
    ) -> Self {
        debug_assert!(key.len() == key_columns.len());
        debug_assert!(key_columns.iter().flatten().all(|&c| c < columns.len()));
        let source = |column| match Self::restoring_part(key, key_columns, column) {
            Some(part) => Source::Key(part),
            None => stored.iter().position(|&s| s == column).map_or(Source::Absent, Source::Payload),
        };
        let sources = (0..columns.len()).map(source).collect();
        EntryFormat {
            key: key.to_vec(),
            key_columns: key_columns.to_vec(),
            columns: columns.to_vec(),
            sources,
            stored,
            differences: Vec::new(),
            layouts: Layouts { current: schema_version, since: versions.iter().map(|v| v.since).collect() },
            versions,
        }
    }

    /// Whether the entry holds this column of the table.
    pub fn has_column(&self, column: usize) -> bool {
        self.sources.get(column).is_some_and(|s| *s != Source::Absent)
    }

    /// Returns the parts of the key.
    pub fn key_parts(&self) -> &[KeyPart] {
        &self.key
    }

    /// Appends the key of a table row (one value per table column). `hidden` holds the values of the parts that are
    /// not columns, in order.
    pub fn encode_key(&self, row: &[Value], hidden: &[Value], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.encode_key_beginning(row, hidden, usize::MAX, out)
    }

    /// Appends the first `parts` parts of the key, like [`encode_key`](Self::encode_key).
    pub fn encode_key_beginning(
        &self,
        row: &[Value],
        hidden: &[Value],
        parts: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        let mut hidden = hidden.iter();
        for (part, column) in self.key.iter().zip(&self.key_columns).take(parts) {
            let value = match column {
                Some(column) => row.get(*column),
                None => hidden.next(),
            };
            let done = value
                .ok_or(CodecError::Malformed { what: "row with too few columns" })
                .and_then(|v| encode_part(part, v, out));
            if done.is_err() {
                out.truncate(start);
                return done;
            }
        }
        Ok(())
    }

    /// Appends the payload of a table row (one value per table column).
    pub fn encode_payload(&self, row: &[Value], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if self.differences.is_empty() {
            return self.encode_payload_with(row, &[], &|_| 0, out);
        }
        let start = out.len();
        let value = |part: &usize| {
            let column = self.key_columns[*part];
            (&self.key[*part], column.map_or(&Value::Null, |column| &row[column]))
        };
        let done = append_differences(self.differences.iter().map(value), out);
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// Appends the payload like [`encode_payload`](Self::encode_payload), with references in place of some values.
    /// Each is followed by as many bytes of the value's beginning as `beginning` returns for the column.
    pub fn encode_payload_with(
        &self,
        row: &[Value],
        overflow: &[(usize, OverflowRef)],
        beginning: &dyn Fn(usize) -> usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let Some(current) = self.versions.last().filter(|_| !self.is_bare()) else { return Ok(()) };
        if row.len() != self.columns.len() {
            return Err(CodecError::Malformed { what: "row with another number of columns" });
        }
        let start = out.len();
        let value = |i: usize| &row[self.stored[i]];
        let outside = |i: usize| {
            let column = self.stored.get(i)?;
            let (_, reference) = overflow.iter().find(|(outside, _)| outside == column)?;
            Some(OverflowReplacement { reference: *reference, beginning: beginning(*column) })
        };
        let done = current.layout.encode_columns(value, outside, out);
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// Whether keys restore the values of all columns, and payloads are empty.
    pub fn keys_hold_all_columns(&self) -> bool {
        self.is_bare() && self.differences.is_empty()
    }

    /// Whether payloads are not rows: the entries belong to a secondary index whose keys, with differences, restore
    /// all its columns.
    fn is_bare(&self) -> bool {
        self.layouts.current.is_none() && self.stored.is_empty()
    }

    /// Returns the columns whose values are outside a row, with their references.
    pub fn overflow(&self, payload: &[u8]) -> Result<Vec<(usize, OverflowRef)>, CodecError> {
        if self.is_bare() {
            return Ok(Vec::new());
        }
        let version = &self.versions[self.version_of(payload)?];
        let column_of = |slot: usize| {
            let stored = version.columns.iter().position(|found| *found == Some(slot))?;
            self.stored.get(stored).copied()
        };
        let found = version.layout.overflow(payload)?;
        Ok(found.into_iter().filter_map(|(slot, reference)| Some((column_of(slot)?, reference))).collect())
    }

    /// Returns the length of a row's payload with all values inside.
    pub fn payload_len(&self, row: &[Value]) -> usize {
        let fixed = self.versions.last().map_or(0, |current| current.layout.fixed_bytes());
        let bytes = |column: &usize| match row.get(*column) {
            Some(Value::String(s)) => s.len(),
            Some(Value::Bytes(b)) => b.len(),
            Some(Value::Json(json)) => json.as_bytes().len(),
            _ => 0,
        };
        fixed + self.stored.iter().map(bytes).sum::<usize>()
    }

    /// The number of bytes that a reference takes in place of a value.
    pub const OVERFLOW_REF_BYTES: usize = super::overflow::REFERENCE_BYTES;

    /// Returns the bytes of a string or binary string in the payload, without a copy; `None` for NULL, and for
    /// columns that the payload does not hold unchanged.
    pub fn stored_bytes<'p>(&self, payload: &'p [u8], column: usize) -> Result<Option<&'p [u8]>, CodecError> {
        match self.string_place(self.version_of(payload)?, column) {
            Some(place) => place.bytes(payload),
            None => Ok(None),
        }
    }

    /// Returns the place of a string column in payloads of the newest version, if they hold it unchanged.
    pub fn newest_string_place(&self, column: usize) -> Option<StringPlace> {
        self.string_place(self.versions.len() - 1, column)
    }

    fn string_place(&self, version: usize, column: usize) -> Option<StringPlace> {
        let Some(Source::Payload(stored)) = self.sources.get(column) else { return None };
        let version = self.versions.get(version)?;
        version.layout.string_place(version.columns.get(*stored).copied().flatten()?)
    }

    /// Returns the key from part number `wanted` on.
    fn key_at_part<'k>(&self, key: &'k [u8], wanted: usize) -> Result<&'k [u8], CodecError> {
        let mut rest = key;
        for part in self.key.iter().take(wanted) {
            rest = rest.get(skip_part(part, rest)?..).unwrap_or_default();
        }
        Ok(rest)
    }

    /// Returns difference number `number` of a payload.
    #[inline]
    pub(super) fn difference<'p>(&self, payload: &'p [u8], number: usize) -> Result<&'p [u8], CodecError> {
        difference_of(payload, number, self.differences.len())
    }

    /// Returns the value of a table column.
    pub fn decode_value(&self, key: &[u8], payload: &[u8], column: usize) -> Result<Value, CodecError> {
        match self.sources.get(column) {
            Some(Source::Key(wanted)) => {
                let rest = self.key_at_part(key, *wanted)?;
                let part = self.key.get(*wanted).ok_or(CodecError::Malformed { what: "key" })?;
                Ok(decode_value(part, rest)?.0)
            }
            Some(Source::Difference(number)) => {
                let wanted = self.differences[*number];
                let rest = self.key_at_part(key, wanted)?;
                let part = self.key.get(wanted).ok_or(CodecError::Malformed { what: "key" })?;
                let (present, marker) = part.marker(rest)?;
                if !present {
                    return Ok(Value::Null);
                }
                let body = rest.get(marker..).unwrap_or_default();
                Ok(restore_value(part, body, self.difference(payload, *number)?)?.0)
            }
            Some(Source::Payload(stored)) => {
                let version = &self.versions[self.version_of(payload)?];
                match version.columns.get(*stored).copied().flatten() {
                    Some(slot) => version.layout.decode_value(payload, slot),
                    None => Ok(self.columns.get(column).map_or(Value::Null, |c| c.default.clone())),
                }
            }
            Some(Source::Absent) | None => {
                Err(CodecError::Malformed { what: "column that the entry does not have" })
            }
        }
    }

    /// Returns the value of a table column; if it is stored outside its row, the part of its beginning that the row
    /// holds.
    pub fn decode_beginning(&self, key: &[u8], payload: &[u8], column: usize) -> Result<Value, CodecError> {
        if let Some(Source::Payload(stored)) = self.sources.get(column) {
            let version = &self.versions[self.version_of(payload)?];
            if let Some(slot) = version.columns.get(*stored).copied().flatten() {
                return version.layout.decode_beginning(payload, slot);
            }
        }
        self.decode_value(key, payload, column)
    }

    /// Returns the number in `versions` of a payload's layout; it is always a valid one.
    #[inline]
    pub(super) fn version_of(&self, payload: &[u8]) -> Result<usize, CodecError> {
        self.layouts.of(payload)
    }

    /// Returns the number in `versions` of the layout that all these payloads share; None if they differ.
    #[inline]
    pub(super) fn version_of_all(&self, payloads: &[&[u8]]) -> Option<usize> {
        self.layouts.of_all(payloads)
    }

    /// Returns the layouts that payloads may have.
    pub fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// Returns the slot of a column in payloads of layout number `version`, if they hold it.
    pub fn slot_in(&self, version: usize, column: usize) -> Option<&Slot> {
        let Some(Source::Payload(stored)) = self.sources.get(column) else { return None };
        let version = self.versions.get(version)?;
        version.layout.slot(version.columns.get(*stored).copied().flatten()?).ok()
    }

    /// Checks that key and payload have exactly the bytes that the format asks for.
    pub fn verify(&self, key: &[u8], payload: &[u8]) -> Result<(), CodecError> {
        let mut rest = key;
        let (mut end, mut at) = (0, 0);
        for (number, part) in self.key.iter().enumerate() {
            let len = match self.differences.iter().position(|with| *with == number) {
                Some(number) => {
                    let difference = self.difference(payload, number)?;
                    at += difference_len(difference, number + 1 == self.differences.len());
                    end = if difference.is_empty() { end } else { at };
                    verify_difference(part, rest, difference)?
                }
                None if is_restorable(part) => decode_value(part, rest)?.1,
                None => skip_part(part, rest)?,
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        if !rest.is_empty() {
            return Err(CodecError::Malformed { what: "length of a key" });
        }
        if self.is_bare() {
            return if payload.len() == end {
                Ok(())
            } else {
                Err(CodecError::Malformed { what: "length of a row" })
            };
        }
        self.versions[self.version_of(payload)?].layout.verify(payload)
    }
}
