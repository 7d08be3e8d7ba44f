//! Rows as bytes, and entries (key and row) as columns.
//!
//! A row, with all integers little-endian:
//!
//! | bytes                   | content                                                                        |
//! |-------------------------|--------------------------------------------------------------------------------|
//! | 2                       | schema version under which it was written (not in payloads of secondary indexes) |
//! | nullable columns / 8    | NULL bitmap: bit i (from the lowest) belongs to the i-th nullable column       |
//! | sum of widths           | fixed-width columns (`codec::fixed`), by their places; 0 where NULL            |
//! | 2 per string column     | the end of each string, counted from the end of these offsets; by their places |
//! | the rest                | the strings' bytes, one after another; nothing where NULL                      |
//!
//! The schema version decides which columns a row has: a table gets and loses columns without its rows being
//! rewritten. A column that is newer than the row reads as the value that the column was given when it was added. The
//! place of a column is its rank among the columns of a row; it never changes, whatever its position in the table
//! becomes.
//!
//! A JSON document (`json::binary`) is stored as a string.
//!
//! The layout gives the offset of everything before the strings, so a column is read without looking at the others.
//! Encoding refuses a row whose strings take more than 32,767 bytes. The highest bit of a string's end offset says
//! that its bytes are elsewhere (`overflow`).
//!
//! An index entry does not repeat columns that the key restores (see [`crate::key`]). [`EntryFormat`] says where each
//! column of a table is; [`RowDecoder`] appends chosen columns to builders, or to a [`RowBlock`]; the screens of
//! `expr` test rows before they are decoded.

mod block;
mod decoded;
mod decoder;
mod entry;
mod number_set;
mod overflow;
mod walked;

use self::overflow::OverflowReplacement;
use crate::codec::fixed::Fixed;
use crate::codec::narrow::Narrow;
use crate::collation::Collation;
use crate::column::ColumnBuilder;
use crate::error::CodecError;
use crate::json::Json;
use crate::value::{SqlType, Value};

pub use block::RowBlock;
pub use decoded::DecodedRows;
pub use decoder::RowDecoder;
pub use entry::{DroppedColumn, EntryColumn, EntryFormat, Layouts};
pub use number_set::NumberSet;
pub use overflow::{Missing, OverflowRef};

/// The properties of a column that its form in a row depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Its type.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Its collation if it is a string.
    pub collation: Collation,
}

/// The length of the schema version in bytes.
const VERSION_BYTES: usize = 2;
/// The length of a string's end offset in bytes.
const OFFSET_BYTES: usize = 2;
/// The bit of an end offset that says that the string's bytes are elsewhere.
const OVERFLOW_BIT: u16 = 0x8000;
/// The most bytes that the strings of a row may take.
const MAX_STRING_BYTES: usize = 0x7fff;

/// The places of columns in a row.
#[derive(Debug, Clone)]
pub struct RowLayout {
    version: Option<u16>,
    columns: Vec<Slot>,
    /// The end of the NULL bitmap, where the fixed-width columns begin.
    fixed_at: usize,
    /// The offset at which the strings begin.
    strings_at: usize,
}

/// The place of one column.
#[derive(Debug, Clone)]
pub struct Slot {
    ty: SqlType,
    /// The byte of the row and the mask of the bit that says NULL.
    null: Option<(usize, u8)>,
    place: Place,
    /// The fast reader of the value.
    narrow: Option<Narrow>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// A fixed-width value at an offset.
    Fixed(Fixed, usize),
    /// A string: the offsets of its own end, of the end before it (unless it is the first), and of all strings.
    String { end_at: usize, start_at: Option<usize>, strings_at: usize },
    /// Type NULL: nothing is stored.
    Nothing,
}

impl RowLayout {
    /// Lays out `columns`, in this order.
    pub fn new(schema_version: u16, columns: &[ColumnLayout]) -> Self {
        Self::lay_out(Some(schema_version), columns)
    }

    /// Lays out `columns`; without a `version`, rows do not carry one.
    fn lay_out(version: Option<u16>, columns: &[ColumnLayout]) -> Self {
        let bitmap_at = if version.is_some() { VERSION_BYTES } else { 0 };
        let nullable = columns.iter().filter(|c| c.nullable).count();
        let fixed_at = bitmap_at + nullable.div_ceil(8);
        let fixed_bytes: usize = columns.iter().filter_map(|c| Fixed::of(&c.ty)).map(Fixed::width).sum();
        let strings = columns.iter().filter(|c| c.ty.is_variable()).count();
        let offsets_at = fixed_at + fixed_bytes;
        let strings_at = offsets_at + strings * OFFSET_BYTES;
        let (mut next_bit, mut next_fixed, mut next_string) = (0, fixed_at, offsets_at);
        let slot = |c: &ColumnLayout| {
            let null = c.nullable.then(|| {
                next_bit += 1;
                (bitmap_at + (next_bit - 1) / 8, 1 << ((next_bit - 1) % 8))
            });
            let place = if let Some(fixed) = Fixed::of(&c.ty) {
                next_fixed += fixed.width();
                Place::Fixed(fixed, next_fixed - fixed.width())
            } else if c.ty.is_variable() {
                let start_at = (next_string > offsets_at).then(|| next_string - OFFSET_BYTES);
                next_string += OFFSET_BYTES;
                Place::String { end_at: next_string - OFFSET_BYTES, start_at, strings_at }
            } else {
                Place::Nothing
            };
            let narrow = match place {
                Place::Fixed(fixed, at) => Narrow::in_row(fixed, at),
                _ => None,
            };
            Slot { ty: c.ty.clone(), null, place, narrow }
        };
        let columns = columns.iter().map(slot).collect();
        RowLayout { version, columns, fixed_at, strings_at }
    }

    /// Appends the row's bytes; `values` has one value per column, NULL or of the column's type. An error leaves
    /// `out` as it was.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if values.len() != self.columns.len() {
            return Err(CodecError::Malformed { what: "row with another number of columns" });
        }
        let start = out.len();
        let done = self.encode_columns(|i| &values[i], |_| None, out);
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    fn encode_columns<'v>(
        &self,
        value: impl Fn(usize) -> &'v Value,
        outside: impl Fn(usize) -> Option<OverflowReplacement>,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        out.resize(start + self.fixed_at, 0);
        if let Some(version) = self.version {
            out[start..start + VERSION_BYTES].copy_from_slice(&version.to_le_bytes());
        }
        for (i, slot) in self.columns.iter().enumerate() {
            let v = value(i);
            match (v, slot.null) {
                (Value::Null, Some((byte, mask))) => out[start + byte] |= mask,
                (Value::Null, None) if !matches!(slot.place, Place::Nothing) => {
                    return Err(CodecError::UnexpectedNull);
                }
                _ => {}
            }
            if let Place::Fixed(fixed, _) = slot.place {
                match v {
                    Value::Null => out.resize(out.len() + fixed.width(), 0),
                    v => fixed.encode_row(v, &slot.ty, out)?,
                }
            }
        }
        self.encode_strings(value, outside, start, out)
    }

    fn encode_strings<'v>(
        &self,
        value: impl Fn(usize) -> &'v Value,
        outside: impl Fn(usize) -> Option<OverflowReplacement>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.resize(start + self.strings_at, 0);
        for (i, slot) in self.columns.iter().enumerate() {
            let (Place::String { end_at, .. }, v) = (slot.place, value(i)) else { continue };
            let reference = outside(i).filter(|_| !v.is_null());
            let value = match (slot.ty.is_character(), v) {
                (_, Value::Null) => &[],
                (true, Value::String(s)) => s.as_bytes(),
                (false, Value::Bytes(b)) => &b[..],
                (false, Value::Json(json)) => json.as_bytes(),
                _ => return Err(CodecError::mismatch(v.kind(), &slot.ty)),
            };
            match &reference {
                Some(outside) => outside.append(value, out),
                None => out.extend_from_slice(value),
            }
            let bytes = out.len() - start - self.strings_at;
            if bytes > MAX_STRING_BYTES {
                return Err(CodecError::TooLong { bytes, limit: MAX_STRING_BYTES });
            }
            let end = bytes as u16 | if reference.is_some() { OVERFLOW_BIT } else { 0 };
            out[start + end_at..start + end_at + OFFSET_BYTES].copy_from_slice(&end.to_le_bytes());
        }
        Ok(())
    }

    /// Returns one column's value. The row must have this layout; its version is not checked.
    pub fn decode_value(&self, row: &[u8], column: usize) -> Result<Value, CodecError> {
        self.slot(column)?.value(row)
    }

    /// Returns the place of a string column in rows of this layout.
    pub(super) fn string_place(&self, column: usize) -> Option<StringPlace> {
        let slot = self.columns.get(column)?;
        match slot.place {
            Place::String { end_at, start_at, strings_at } => {
                Some(StringPlace { version: self.version, null: slot.null, end_at, start_at, strings_at })
            }
            _ => None,
        }
    }

    /// Appends one column's value to a builder. The row must have this layout; its version is not
    /// checked.
    pub fn decode_column(
        &self,
        row: &[u8],
        column: usize,
        out: &mut ColumnBuilder,
    ) -> Result<(), CodecError> {
        self.slot(column)?.append(row, out)
    }

    fn slot(&self, column: usize) -> Result<&Slot, CodecError> {
        self.columns.get(column).ok_or(CodecError::Malformed { what: "column number of a row" })
    }

    /// Checks that the row has exactly the bytes that its layout and offsets ask for.
    pub fn verify(&self, row: &[u8]) -> Result<(), CodecError> {
        let mut end = 0;
        for slot in &self.columns {
            if let Place::String { end_at, .. } = slot.place {
                let next = read_offset(row, end_at)?;
                if next < end {
                    return Err(CodecError::Malformed { what: "end offsets of a row" });
                }
                end = next;
            }
            if slot.overflow(row)?.is_none()
                && let Value::Json(json) = slot.value(row)?
            {
                json.verify()?;
            }
        }
        if row.len() != self.strings_at + end {
            return Err(CodecError::Malformed { what: "length of a row" });
        }
        Ok(())
    }

    /// Returns the fewest bytes of a row: those before its strings.
    pub fn fixed_bytes(&self) -> usize {
        self.strings_at
    }
}

/// The place of a string column in the rows of one schema version, for readers of many rows.
#[derive(Debug, Clone, Copy)]
pub struct StringPlace {
    version: Option<u16>,
    null: Option<(usize, u8)>,
    end_at: usize,
    start_at: Option<usize>,
    strings_at: usize,
}

impl StringPlace {
    /// Whether the row has that version.
    #[inline]
    pub fn is_in(&self, row: &[u8]) -> bool {
        self.version.is_none_or(|version| row_version(row) == Ok(version))
    }

    /// Returns the bytes of the string or binary string in a row of that version; `None` for NULL.
    #[inline]
    pub fn bytes<'r>(&self, row: &'r [u8]) -> Result<Option<&'r [u8]>, CodecError> {
        match is_null(self.null, row)? {
            true => Ok(None),
            false => string(row, self.end_at, self.start_at, self.strings_at).map(Some),
        }
    }
}

/// Whether the column is NULL in a row; `bit` is its [`Slot::null_bit`].
///
/// # Errors
/// [`CodecError::Truncated`] if the row ends before the bit.
#[inline]
pub fn is_null(bit: Option<(usize, u8)>, row: &[u8]) -> Result<bool, CodecError> {
    let Some((byte, mask)) = bit else { return Ok(false) };
    match row.get(byte) {
        Some(bits) => Ok(bits & mask != 0),
        None => Err(CodecError::Truncated { what: "NULL bitmap of a row", needed: 1, left: 0 }),
    }
}

/// Returns the schema version at the front of a row.
#[inline]
pub fn row_version(row: &[u8]) -> Result<u16, CodecError> {
    match row {
        [a, b, ..] => Ok(u16::from_le_bytes([*a, *b])),
        _ => Err(CodecError::Truncated {
            what: "schema version of a row",
            needed: VERSION_BYTES,
            left: row.len(),
        }),
    }
}

/// Reads the end offset of a string, without the overflow bit.
#[inline]
fn read_offset(row: &[u8], at: usize) -> Result<usize, CodecError> {
    Ok((read_raw_offset(row, at)? & !OVERFLOW_BIT).into())
}

#[inline]
fn read_raw_offset(row: &[u8], at: usize) -> Result<u16, CodecError> {
    match row.get(at..at + OFFSET_BYTES) {
        Some(&[a, b]) => Ok(u16::from_le_bytes([a, b])),
        _ => Err(CodecError::Truncated { what: "end offset of a row", needed: OFFSET_BYTES, left: 0 }),
    }
}

impl Slot {
    /// Returns the column's type.
    pub fn ty(&self) -> &SqlType {
        &self.ty
    }

    /// Returns the byte of the row and the mask of the bit that says NULL; None for a column that cannot be NULL.
    pub fn null_bit(&self) -> Option<(usize, u8)> {
        self.null
    }

    /// Returns the fast reader of a column of at most 8 bytes.
    pub fn narrow(&self) -> Option<Narrow> {
        self.narrow
    }

    /// Returns the bytes of a string; None for NULL.
    ///
    /// # Errors
    /// The row is damaged; [`CodecError::Malformed`] for a column that is not a string.
    #[inline]
    pub fn text<'r>(&self, row: &'r [u8]) -> Result<Option<&'r [u8]>, CodecError> {
        match (self.is_null(row)?, self.place) {
            (true, _) => Ok(None),
            (false, Place::String { end_at, start_at, strings_at }) => {
                string(row, end_at, start_at, strings_at).map(Some)
            }
            (false, _) => Err(CodecError::Malformed { what: "string of a row" }),
        }
    }

    #[inline]
    fn is_null(&self, row: &[u8]) -> Result<bool, CodecError> {
        Ok(is_null(self.null, row)? || matches!(self.place, Place::Nothing))
    }

    #[inline]
    fn append(&self, row: &[u8], out: &mut ColumnBuilder) -> Result<(), CodecError> {
        let is_null = self.is_null(row)?;
        if let Some(narrow) = &self.narrow
            && !is_null
            && narrow.append(row, out)
        {
            return Ok(());
        }
        if is_null {
            out.push_null();
            return Ok(());
        }
        match self.place {
            Place::Fixed(fixed, at) => out.push_value(&fixed.row_value(row, at)?),
            Place::String { end_at, start_at, strings_at } => {
                out.push_bytes(string(row, end_at, start_at, strings_at)?)
            }
            Place::Nothing => out.push_value(&Value::Null),
        }
    }

    fn value(&self, row: &[u8]) -> Result<Value, CodecError> {
        if self.is_null(row)? {
            return Ok(Value::Null);
        }
        match self.place {
            Place::Fixed(fixed, at) => fixed.row_value(row, at),
            Place::String { end_at, start_at, strings_at } => {
                stored_value(&self.ty, string(row, end_at, start_at, strings_at)?)
            }
            Place::Nothing => Ok(Value::Null),
        }
    }
}

/// Returns the value of a type of variable length from its stored bytes.
pub fn stored_value(ty: &SqlType, bytes: &[u8]) -> Result<Value, CodecError> {
    if *ty == SqlType::Json {
        return Ok(Value::Json(Json::from_bytes(bytes)));
    }
    if !ty.is_character() {
        return Ok(Value::Bytes(bytes.into()));
    }
    let text = std::str::from_utf8(bytes);
    Ok(Value::String(text.map_err(|_| CodecError::Malformed { what: "UTF-8 string" })?.into()))
}

#[inline]
fn string(
    row: &[u8],
    end_at: usize,
    start_at: Option<usize>,
    strings_at: usize,
) -> Result<&[u8], CodecError> {
    if read_raw_offset(row, end_at)? & OVERFLOW_BIT != 0 {
        return Err(CodecError::InOverflow);
    }
    string_bytes(row, end_at, start_at, strings_at)
}

/// Returns the bytes of a row that belong to a string.
#[inline]
fn string_bytes(
    row: &[u8],
    end_at: usize,
    start_at: Option<usize>,
    strings_at: usize,
) -> Result<&[u8], CodecError> {
    let end = read_offset(row, end_at)?;
    let start = match start_at {
        Some(at) => read_offset(row, at)?,
        None => 0,
    };
    row.get(strings_at + start..strings_at + end)
        .ok_or(CodecError::Malformed { what: "end offsets of a row" })
}

#[cfg(test)]
mod tests;
