//! Values that are stored outside their row, because it would not fit its page.
//!
//! In place of the string's bytes the row has a reference, and the highest bit of the string's end offset says so:
//!
//! | bytes | what                                          |
//! |------:|-----------------------------------------------|
//! |     8 | number of the value, by which it is found     |
//! |     4 | length of the value                           |
//! |     4 | crc32c of the value                           |
//! |     n | the beginning of the value, as much as whoever wrote the row wanted to keep in it |
//!
//! Who finds values by their numbers is not known here.

use super::decoder::RowDecoder;
use super::{OVERFLOW_BIT, Place, RowLayout, Slot, is_null, read_raw_offset, stored_value, string_bytes};
use crate::codec::CodecError;
use crate::column::ColumnBuilder;
use crate::value::Value;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};

/// Bytes of a reference.
pub(super) const REFERENCE_BYTES: usize = 16;

/// What a row has in place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OverflowRef {
    /// Number of the value.
    pub id: u64,
    /// Its length in bytes.
    pub len: u32,
    /// Its crc32c.
    pub checksum: u32,
}

impl OverflowRef {
    /// The reference to a value that gets the number `id`.
    ///
    /// # Errors
    /// If the value is longer than 4 GiB.
    pub fn new(id: u64, value: &[u8]) -> Result<OverflowRef, CodecError> {
        let too_long = |_| CodecError::TooLong { bytes: value.len(), limit: u32::MAX as usize };
        let len = u32::try_from(value.len()).map_err(too_long)?;
        Ok(OverflowRef { id, len, checksum: crc32c::crc32c(value) })
    }

    /// Whether these bytes are the value.
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

/// What a row gets in place of a value.
pub(super) struct Outside {
    pub(super) reference: OverflowRef,
    /// Bytes of the value's beginning that are kept in the row.
    pub(super) beginning: usize,
}

impl Outside {
    pub(super) fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        self.reference.append(out);
        out.extend_from_slice(value.get(..self.beginning).unwrap_or(value));
    }
}

impl Slot {
    /// The reference that a row of the layout has in place of this column.
    pub(super) fn overflow(&self, row: &[u8]) -> Result<Option<OverflowRef>, CodecError> {
        let Place::String { end_at, start_at, strings_at } = self.place else { return Ok(None) };
        if is_null(self.null, row)? || read_raw_offset(row, end_at)? & OVERFLOW_BIT == 0 {
            return Ok(None);
        }
        OverflowRef::read(string_bytes(row, end_at, start_at, strings_at)?).map(Some)
    }
}

impl RowLayout {
    /// One column's value; of one that is stored outside the row what the row has of its beginning.
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

    /// What is stored outside a row: numbers of columns in the layout, and references.
    pub(super) fn overflow(&self, row: &[u8]) -> Result<Vec<(usize, OverflowRef)>, CodecError> {
        let mut found = Vec::new();
        for (number, slot) in self.columns.iter().enumerate() {
            found.extend(slot.overflow(row)?.map(|reference| (number, reference)));
        }
        Ok(found)
    }
}

/// A value that is to be put in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The column among those that are decoded.
    pub column: usize,
    /// The row.
    pub row: usize,
    /// What it is.
    pub reference: OverflowRef,
}

/// Rows being decoded, some of whose values are outside them.
#[derive(Debug)]
pub struct DecodedRows {
    builders: Vec<ColumnBuilder>,
    missing: Vec<Missing>,
    missing_bytes: usize,
    /// Of one row.
    key: Vec<u8>,
}

impl DecodedRows {
    /// None yet, of what `decoder` decodes; with room for `rows`.
    pub fn new(decoder: &RowDecoder, rows: usize) -> DecodedRows {
        DecodedRows {
            builders: decoder.builders(rows),
            missing: Vec::new(),
            missing_bytes: 0,
            key: Vec::new(),
        }
    }

    /// Decodes one more row. After an error the rest is of no use.
    ///
    /// # Errors
    /// If the row is not as its format says.
    #[inline]
    pub fn push(&mut self, decoder: &RowDecoder, key: &[u8], payload: &[u8]) -> Result<(), CodecError> {
        let before = self.missing.len();
        decoder.decode_with(key, payload, &mut self.builders, Some(&mut self.missing))?;
        self.count_missing(before);
        Ok(())
    }

    /// Decodes up to 64 more rows. Their keys begin with `prefix` and go on with `rests`, which may be left empty if the decoder
    /// [reads none](RowDecoder::reads_keys). After an error the rest is of no use.
    ///
    /// # Errors
    /// If a row is not as its format says.
    pub fn push_all(
        &mut self,
        decoder: &RowDecoder,
        prefix: &[u8],
        rests: &[&[u8]],
        payloads: &[&[u8]],
    ) -> Result<(), CodecError> {
        let before = self.missing.len();
        decoder.decode_all(
            (prefix, rests),
            payloads,
            &mut self.key,
            &mut self.builders,
            &mut self.missing,
        )?;
        self.count_missing(before);
        Ok(())
    }

    #[inline]
    fn count_missing(&mut self, before: usize) {
        if self.missing.len() > before {
            let new = self.missing.iter().skip(before);
            self.missing_bytes += new.map(|missing| missing.reference.len as usize).sum::<usize>();
        }
    }

    /// Bytes of values that are not here.
    pub fn missing_bytes(&self) -> usize {
        self.missing_bytes
    }

    /// The columns. `read` is asked for the values that are not here, by row within each column.
    ///
    /// # Errors
    /// What `read` returns; if a value is not of its column's type.
    pub fn finish<E: From<CodecError>>(
        mut self,
        mut read: impl FnMut(&[Missing]) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Vec<ArrayRef>, E> {
        let mut columns: Vec<ArrayRef> = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        if self.missing.is_empty() {
            return Ok(columns);
        }
        self.missing.sort_by_key(|missing| (missing.column, missing.row));
        for missing in self.missing.chunk_by(|a, b| a.column == b.column) {
            let values = read(missing)?;
            let column = &mut columns[missing[0].column];
            *column = fill(column, missing, &values)?;
        }
        Ok(columns)
    }
}

/// The column with the missing values in their places.
fn fill(column: &ArrayRef, missing: &[Missing], values: &[Vec<u8>]) -> Result<ArrayRef, CodecError> {
    let mut next = missing.iter().zip(values).peekable();
    let mut value_of = |row: usize| next.next_if(|(missing, _)| missing.row == row).map(|(_, value)| value);
    let any = column.as_any();
    if let Some(strings) = any.downcast_ref::<StringArray>() {
        let mut filled = ColumnBuilder::for_type(&crate::SqlType::Text { max_bytes: u32::MAX });
        for row in 0..strings.len() {
            match value_of(row) {
                Some(value) => filled.push_bytes(value)?,
                None if strings.is_null(row) => filled.push_null(),
                None => filled.push_str(strings.value(row))?,
            }
        }
        return Ok(filled.finish());
    }
    let Some(bytes) = any.downcast_ref::<BinaryArray>() else {
        return Err(CodecError::Malformed { what: "column of values outside their rows" });
    };
    let mut filled = ColumnBuilder::for_type(&crate::SqlType::Blob { max_bytes: u32::MAX });
    for row in 0..bytes.len() {
        match value_of(row) {
            Some(value) => filled.push_bytes(value)?,
            None if bytes.is_null(row) => filled.push_null(),
            None => filled.push_bytes(bytes.value(row))?,
        }
    }
    Ok(filled.finish())
}
