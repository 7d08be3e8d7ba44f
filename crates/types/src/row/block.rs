//! A few rows, value by value: the result of point reads, in place of columns.
//!
//! Strings lie one after another in two buffers that are kept from one use to the next, so that a row costs no
//! allocation. Values that are stored outside their rows are noted as missing and filled in later.

use super::decoder::{RowDecoder, Step};
use super::overflow::Missing;
use super::walked::KeyValues;
use super::{Place, Slot, stored_value, string};
use crate::column::{Batch, ColumnBuilder};
use crate::error::CodecError;
use crate::row::decoder::Origin;
use crate::value::{SqlType, Value, ValueRef};

/// Rows of values.
#[derive(Debug, Clone, Default)]
pub struct RowBlock {
    /// The number of values of a row.
    width: usize,
    /// The values, row by row.
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
    missing: Vec<Missing>,
    /// The total length of all missing values.
    missing_bytes: usize,
}

#[derive(Debug, Clone)]
enum Cell {
    Value(Value),
    /// A range of `text`.
    Text(u32, u32),
    /// A range of `bytes`.
    Bytes(u32, u32),
}

const _: () = assert!(size_of::<Cell>() == size_of::<Value>(), "the kinds of cells share the value's tag");

/// Buffers up to this many bytes are kept for the next use.
const KEPT: usize = 64 << 10;
/// The most bytes of strings: their places have 32 bits.
const MOST_BYTES: usize = u32::MAX as usize;

/// Checks that a buffer with `used` bytes has room for a string.
#[inline]
fn check_room(used: usize, string: &[u8]) -> Result<(), CodecError> {
    if used + string.len() > MOST_BYTES {
        return Err(CodecError::TooLong { bytes: string.len(), limit: MOST_BYTES });
    }
    Ok(())
}

impl RowBlock {
    /// Empties the block, for rows of `width` values. Keeps the buffers unless they are large.
    pub fn clear(&mut self, width: usize) {
        if self.bytes_held() > KEPT {
            *self = RowBlock::default();
        }
        self.width = width;
        self.cells.clear();
        self.text.clear();
        self.bytes.clear();
        self.missing.clear();
        self.missing_bytes = 0;
    }

    fn bytes_held(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>() + self.text.capacity() + self.bytes.capacity()
    }

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    /// Returns how many bytes its strings take, including missing ones.
    pub fn string_bytes(&self) -> usize {
        self.text.len() + self.bytes.len() + self.missing_bytes
    }

    /// Returns a value; NULL if there is none.
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.cells.get(row * self.width + column).filter(|_| column < self.width) {
            Some(Cell::Value(value)) => value.borrowed(),
            Some(&Cell::Text(from, to)) => ValueRef::String(&self.text[from as usize..to as usize]),
            Some(&Cell::Bytes(from, to)) => ValueRef::Bytes(&self.bytes[from as usize..to as usize]),
            None => ValueRef::Null,
        }
    }

    /// Drops the first `skip` rows, and all but `rows` of the others.
    pub fn cut(&mut self, skip: usize, rows: usize) {
        let count = self.rows();
        self.cells.truncate(count.min(skip.saturating_add(rows)) * self.width);
        self.cells.drain(..count.min(skip) * self.width);
    }

    /// Sorts the rows by `keys`, which holds a number for each row.
    pub fn sort_by(&mut self, keys: &[u32]) {
        if keys.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.rows()).collect();
        order.sort_unstable_by_key(|row| keys.get(*row).copied());
        let mut sorted = Vec::with_capacity(self.cells.len());
        for row in order {
            let cells = self.cells.iter_mut().skip(row * self.width).take(self.width);
            sorted.extend(cells.map(|cell| std::mem::replace(cell, Cell::Value(Value::Null))));
        }
        self.cells = sorted;
    }

    /// Replaces each value of a column.
    ///
    /// # Errors
    /// The errors of `other`.
    pub fn replace<E>(
        &mut self,
        column: usize,
        mut other: impl FnMut(ValueRef<'_>) -> Result<Value, E>,
    ) -> Result<(), E> {
        for row in 0..self.rows() {
            let value = other(self.get(row, column))?;
            if let Some(cell) = self.cells.get_mut(row * self.width + column) {
                *cell = Cell::Value(value);
            }
        }
        Ok(())
    }

    /// Returns the places of values that are not here.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Fills the [missing](Self::missing) values in; `values` are in the order of `missing`, and `types` are those of
    /// the columns.
    ///
    /// # Errors
    /// A value is not of its column's type.
    pub fn complete(&mut self, values: &[Vec<u8>], types: &[SqlType]) -> Result<(), CodecError> {
        for (missing, bytes) in std::mem::take(&mut self.missing).iter().zip(values) {
            let value = stored_value(&types[missing.column], bytes)?;
            self.cells[missing.row * self.width + missing.column] = Cell::Value(value);
        }
        Ok(())
    }

    /// Converts the rows to columns of these types.
    ///
    /// # Errors
    /// A value is not of its type.
    pub fn to_batch(&self, types: &[SqlType]) -> Result<Batch, CodecError> {
        let rows = self.rows();
        let column = |(column, ty)| {
            let mut builder = ColumnBuilder::with_capacity(ty, rows);
            for row in 0..rows {
                match self.get(row, column) {
                    ValueRef::String(text) => builder.push_str(text)?,
                    ValueRef::Bytes(bytes) => builder.push_bytes(bytes)?,
                    other => builder.push_value(&other.to_value())?,
                }
            }
            Ok(builder.finish())
        };
        Ok(Batch::new(types.iter().enumerate().map(column).collect::<Result<_, CodecError>>()?, rows))
    }

    #[inline]
    fn string(&mut self, ty: &SqlType, string: &[u8]) -> Result<Cell, CodecError> {
        if *ty == SqlType::Json {
            return Ok(Cell::Value(stored_value(ty, string)?));
        }
        if ty.is_character() {
            return self.text_cell(string);
        }
        let from = self.bytes.len();
        check_room(from, string)?;
        self.bytes.extend_from_slice(string);
        Ok(Cell::Bytes(from as u32, self.bytes.len() as u32))
    }

    #[inline]
    fn text_cell(&mut self, string: &[u8]) -> Result<Cell, CodecError> {
        let text = std::str::from_utf8(string);
        let from = self.text.len();
        check_room(from, string)?;
        self.text.push_str(text.map_err(|_| CodecError::Malformed { what: "UTF-8 string" })?);
        Ok(Cell::Text(from as u32, self.text.len() as u32))
    }

    fn put(&mut self, at: usize, cell: Cell) {
        if let Some(to) = self.cells.get_mut(at) {
            *to = cell;
        }
    }

    /// Reads the value of a slot; returns NULL, and notes the value as missing, if it is outside the row.
    #[inline]
    fn value_of(&mut self, slot: &Slot, payload: &[u8], column: usize) -> Result<Cell, CodecError> {
        if slot.is_null(payload)? {
            return Ok(Cell::Value(Value::Null));
        }
        let Place::String { end_at, start_at, strings_at } = slot.place else {
            return slot.value(payload).map(Cell::Value);
        };
        match string(payload, end_at, start_at, strings_at) {
            Ok(bytes) => self.string(&slot.ty, bytes),
            Err(CodecError::InOverflow) => {
                let reference = slot.overflow(payload)?.ok_or(CodecError::InOverflow)?;
                let row = self.rows() - 1;
                self.missing_bytes += reference.len as usize;
                self.missing.push(Missing { column, row, reference });
                Ok(Cell::Value(Value::Null))
            }
            Err(error) => Err(error),
        }
    }
}

/// The row whose first cell is `start`; receives the values of its key.
struct KeyCells<'b> {
    block: &'b mut RowBlock,
    start: usize,
}

impl KeyValues for KeyCells<'_> {
    fn put(&mut self, to: usize, value: Value) {
        self.block.put(self.start + to, Cell::Value(value));
    }

    fn put_text(
        &mut self,
        to: usize,
        write: &dyn Fn(&mut Vec<u8>) -> Result<usize, CodecError>,
    ) -> Result<usize, CodecError> {
        // Written behind the binary strings, then moved.
        let mut bytes = std::mem::take(&mut self.block.bytes);
        let from = bytes.len();
        let written = write(&mut bytes).and_then(|len| {
            let cell = self.block.text_cell(&bytes[from..])?;
            self.block.put(self.start + to, cell);
            Ok(len)
        });
        bytes.truncate(from);
        self.block.bytes = bytes;
        written
    }
}

impl RowDecoder {
    /// Appends an entry as a row of the block. After an error the block is unusable.
    ///
    /// # Errors
    /// The entry does not follow its format.
    pub fn append_row(&self, key: &[u8], payload: &[u8], out: &mut RowBlock) -> Result<(), CodecError> {
        let start = out.cells.len();
        out.cells.extend(self.types().iter().map(|_| Cell::Value(Value::Null)));
        self.key_values(key, payload, &mut KeyCells { block: out, start })?;
        for Step { out: to, from } in self.payload_steps(payload)? {
            let cell = match from {
                Origin::Slot(slot) => out.value_of(slot, payload, *to)?,
                Origin::Default(value) => Cell::Value(value.clone()),
            };
            out.put(start + to, cell);
        }
        Ok(())
    }
}
