//! Decoded rows whose values outside the row are fetched after the others.

use super::decoder::RowDecoder;
use super::overflow::Missing;
use crate::column::ColumnBuilder;
use crate::error::CodecError;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};

/// Decoded rows, some of whose values are still to be fetched.
#[derive(Debug)]
pub struct DecodedRows {
    builders: Vec<ColumnBuilder>,
    missing: Vec<Missing>,
    missing_bytes: usize,
    /// A buffer for the key of one row.
    key: Vec<u8>,
}

impl DecodedRows {
    /// Makes an empty set of rows that `decoder` decodes, with room for `rows`.
    pub fn new(decoder: &RowDecoder, rows: usize) -> DecodedRows {
        DecodedRows {
            builders: decoder.builders(rows),
            missing: Vec::new(),
            missing_bytes: 0,
            key: Vec::new(),
        }
    }

    /// Decodes one more row. After an error the set is unusable.
    ///
    /// # Errors
    /// The row does not follow its format.
    #[inline]
    pub fn push(&mut self, decoder: &RowDecoder, key: &[u8], payload: &[u8]) -> Result<(), CodecError> {
        let before = self.missing.len();
        decoder.decode_with(key, payload, &mut self.builders, Some(&mut self.missing))?;
        self.count_missing(before);
        Ok(())
    }

    /// Decodes up to 64 more rows. Their keys begin with `prefix` and go on with `rests`, which may be left empty if
    /// the decoder [reads none](RowDecoder::reads_keys). After an error the set is unusable.
    ///
    /// # Errors
    /// A row does not follow its format.
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

    /// Returns the total length of the values that are to be fetched.
    pub fn missing_bytes(&self) -> usize {
        self.missing_bytes
    }

    /// Returns the columns. `read` fetches the missing values, by row within each column.
    ///
    /// # Errors
    /// The errors of `read`; or a value is not of its column's type.
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

/// Returns the column with the missing values filled in.
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
