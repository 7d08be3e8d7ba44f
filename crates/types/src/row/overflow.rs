//! Values that are stored outside their row because it would not fit its page.
//!
//! In place of the string's bytes the row has a reference, and the highest bit of the string's end offset is set:
//!
//! | bytes | content                                       |
//! |------:|-----------------------------------------------|
//! |     8 | number of the value, by which it is found     |
//! |     4 | length of the value                           |
//! |     4 | crc32c of the value                           |
//! |     n | the beginning of the value, as long as the writer of the row chose |
//!
//! This module does not know where values are stored; callers find them by their numbers.

use super::{OVERFLOW_BIT, Place, RowLayout, Slot, is_null, read_raw_offset, stored_value, string_bytes};
use crate::error::CodecError;
use crate::value::Value;

/// The length of a reference in bytes.
pub(super) const REFERENCE_BYTES: usize = 16;

/// The reference that a row holds in place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OverflowRef {
    /// The number of the value.
    pub id: u64,
    /// The length of the value in bytes.
    pub len: u32,
    /// The crc32c of the value.
    pub checksum: u32,
}

impl OverflowRef {
    /// Makes the reference to a value with the number `id`.
    ///
    /// # Errors
    /// The value is longer than 4 GiB.
    pub fn new(id: u64, value: &[u8]) -> Result<OverflowRef, CodecError> {
        let too_long = |_| CodecError::TooLong { bytes: value.len(), limit: u32::MAX as usize };
        let len = u32::try_from(value.len()).map_err(too_long)?;
        Ok(OverflowRef { id, len, checksum: crc32c::crc32c(value) })
    }

    /// Whether `value` has the length and checksum of this reference.
    pub fn is_of(&self, value: &[u8]) -> bool {
        value.len() == self.len as usize && crc32c::crc32c(value) == self.checksum
    }

    fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.checksum.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Result<OverflowRef, CodecError> {
        let malformed = CodecError::Malformed { what: "reference to a value outside its row" };
        let bytes: &[u8; REFERENCE_BYTES] = bytes.first_chunk().ok_or(malformed)?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
        Ok(OverflowRef {
            id: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            len: u32::from_le_bytes([i, j, k, l]),
            checksum: u32::from_le_bytes([m, n, o, p]),
        })
    }
}

/// The beginning and the reference that a row gets in place of a value.
pub(super) struct OverflowReplacement {
    pub(super) reference: OverflowRef,
    /// The number of bytes from the value's beginning that the row keeps.
    pub(super) beginning: usize,
}

impl OverflowReplacement {
    pub(super) fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        self.reference.append(out);
        out.extend_from_slice(value.get(..self.beginning).unwrap_or(value));
    }
}

impl Slot {
    /// Returns the reference that a row of the layout has in place of this column.
    pub(super) fn overflow(&self, row: &[u8]) -> Result<Option<OverflowRef>, CodecError> {
        let Place::String { end_at, start_at, strings_at } = self.place else { return Ok(None) };
        if is_null(self.null, row)? || read_raw_offset(row, end_at)? & OVERFLOW_BIT == 0 {
            return Ok(None);
        }
        OverflowRef::read(string_bytes(row, end_at, start_at, strings_at)?).map(Some)
    }
}

impl RowLayout {
    /// Returns one column's value; if it is stored outside the row, the part of its beginning that the row holds.
    pub(super) fn decode_beginning(&self, row: &[u8], column: usize) -> Result<Value, CodecError> {
        let slot = self.slot(column)?;
        match (slot.overflow(row)?, slot.place) {
            (Some(_), Place::String { end_at, start_at, strings_at }) => {
                let bytes = string_bytes(row, end_at, start_at, strings_at)?;
                stored_value(&slot.ty, bytes.get(REFERENCE_BYTES..).unwrap_or_default())
            }
            _ => slot.value(row),
        }
    }

    /// Returns the columns that are stored outside a row, by their numbers in the layout, with their references.
    pub(super) fn overflow(&self, row: &[u8]) -> Result<Vec<(usize, OverflowRef)>, CodecError> {
        let mut found = Vec::new();
        for (number, slot) in self.columns.iter().enumerate() {
            found.extend(slot.overflow(row)?.map(|reference| (number, reference)));
        }
        Ok(found)
    }
}

/// A value that has to be fetched and put in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The column, counted among the decoded ones.
    pub column: usize,
    /// The row.
    pub row: usize,
    /// The reference to the value.
    pub reference: OverflowRef,
}
