//! Encodes rows of values as byte strings, for grouping, joining, DISTINCT and sorting.
//!
//! The bytes are those of index keys ([`leafline_types::key`]), except that integers of all widths and FLOAT take
//! eight bytes, and datetimes and times have microseconds, so that the keys of columns of different widths are
//! comparable.
//!
//! Keys that are only compared for equality ([`KeyEncoder::new`]) bound their parts: a part of more than
//! [`LONG_PART`] bytes becomes its first [`LONG_PART`] bytes and the SHA-256 of all of it. No other part has the same
//! bytes, because no part's key is a prefix of another's.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int64Type};
use arrow_array::{Array, BinaryArray, Date32Array, Decimal128Array, Int64Array, StringArray};
use arrow_schema::DataType;

use crate::Datum;
use leafline_types::column::value_at;
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::key::{KeyPart, encode_date, encode_i64, encode_part, encode_string_part};
use leafline_types::memory::server;
use leafline_types::value::{ExprType, SqlType, Value};
use sha2::{Digest, Sha256};

/// Encodes columns into keys whose `memcmp` order is the order of the rows, and which are equal if and only if the
/// values are equal under their collations (NULL equals NULL).
#[derive(Debug, Clone)]
pub struct KeyEncoder {
    parts: Vec<KeyPart>,
    /// The types of the columns.
    types: Vec<SqlType>,
    /// Whether keys are only compared for equality.
    digests: bool,
}

/// The most bytes of a part of a key that is not for sorting.
const LONG_PART: usize = 1024;

/// The key of a string of this length is only made if the server has the memory.
const LARGE_STRING: usize = 1 << 20;

/// Buffers of keys keep at most this much memory from one batch to the next.
const KEPT_BYTES: usize = 4 << 20;

/// The keys of the rows of a batch.
#[derive(Debug, Clone, Default)]
pub struct EncodedKeys {
    bytes: Vec<u8>,
    /// The offset at which each key begins, and the end.
    offsets: Vec<usize>,
    has_null: Vec<bool>,
}

/// The source of a part's values.
enum Source<'a> {
    /// Bytes that are equal for all rows, and whether they are NULL.
    Constant(Vec<u8>, bool),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Integers(&'a Int64Array),
    Dates(&'a Date32Array),
    Decimals(&'a Decimal128Array, u8),
    Values(&'a dyn Array),
}

impl KeyEncoder {
    /// Makes an encoder for grouping, joining and DISTINCT.
    pub fn new<'t>(types: impl IntoIterator<Item = &'t ExprType>) -> Self {
        KeyEncoder { digests: true, ..Self::ordered(types.into_iter().map(|ty| (ty, false))) }
    }

    /// Makes an encoder for ORDER BY; each type comes with whether its order is descending. NULL is the smallest
    /// value.
    pub fn ordered<'t>(types: impl IntoIterator<Item = (&'t ExprType, bool)>) -> Self {
        let mut encoder = KeyEncoder { parts: Vec::new(), types: Vec::new(), digests: false };
        for (ty, descending) in types {
            let wide = match &ty.sql {
                integer if integer.is_integer() => SqlType::BigInt { unsigned: integer.is_unsigned() },
                SqlType::DateTime { .. } => SqlType::DateTime { fsp: 6 },
                SqlType::Time { .. } => SqlType::Time { fsp: 6 },
                SqlType::Timestamp { .. } => SqlType::Timestamp { fsp: 6 },
                real if real.is_real() => SqlType::Double,
                other => other.clone(),
            };
            encoder.parts.push(KeyPart {
                ty: wide,
                collation: ty.collation,
                nullable: true,
                descending,
                prefix: None,
            });
            encoder.types.push(ty.sql.clone());
        }
        encoder
    }

    /// Returns the parts of the keys.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Replaces `keys` by the keys of `rows` rows.
    pub fn encode(&self, columns: &[Datum], rows: usize, keys: &mut EncodedKeys) -> Result<(), MysqlError> {
        keys.clear();
        self.append(columns, rows, keys)
    }

    /// Appends the keys of the rows of `columns`.
    pub fn append(&self, columns: &[Datum], rows: usize, keys: &mut EncodedKeys) -> Result<(), MysqlError> {
        let mut sources = Vec::with_capacity(columns.len());
        for (part, column) in self.parts.iter().zip(columns) {
            sources.push(source(part, column, self.digests)?);
        }
        for row in 0..rows {
            let mut has_null = false;
            for ((part, ty), source) in self.parts.iter().zip(&self.types).zip(&sources) {
                has_null |= encode_one(part, ty, source, row, self.digests, &mut keys.bytes)?;
            }
            keys.has_null.push(has_null);
            keys.offsets.push(keys.bytes.len());
        }
        Ok(())
    }

    /// Appends the key of one row of values.
    pub fn encode_row(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), MysqlError> {
        for (part, v) in self.parts.iter().zip(values) {
            encode_value(part, v, self.digests, out)?;
        }
        Ok(())
    }
}

fn source<'a>(part: &KeyPart, column: &'a Datum, digests: bool) -> Result<Source<'a>, MysqlError> {
    Ok(match column {
        Datum::Scalar(v) => {
            let mut bytes = Vec::new();
            encode_value(part, v, digests, &mut bytes)?;
            Source::Constant(bytes, v.is_null())
        }
        Datum::Array(array) => match array.data_type() {
            DataType::Utf8 => Source::Text(array.as_string::<i32>()),
            DataType::Binary if part.ty != SqlType::Json => Source::Bytes(array.as_binary::<i32>()),
            DataType::Int64 => Source::Integers(array.as_primitive::<Int64Type>()),
            DataType::Date32 => Source::Dates(array.as_primitive::<Date32Type>()),
            DataType::Decimal128(_, scale) => {
                Source::Decimals(array.as_primitive::<Decimal128Type>(), *scale as u8)
            }
            _ => Source::Values(array.as_ref()),
        },
    })
}

/// Appends a part of a row's key; returns whether it is NULL.
#[inline]
fn encode_one(
    part: &KeyPart,
    ty: &SqlType,
    source: &Source<'_>,
    row: usize,
    digests: bool,
    out: &mut Vec<u8>,
) -> Result<bool, MysqlError> {
    match source {
        Source::Constant(bytes, null) => {
            out.extend_from_slice(bytes);
            return Ok(*null);
        }
        Source::Text(array) if array.is_valid(row) => {
            encode_text(part, array.value(row).as_bytes(), digests, out)?;
            return Ok(false);
        }
        Source::Bytes(array) if array.is_valid(row) => {
            encode_text(part, array.value(row), digests, out)?;
            return Ok(false);
        }
        Source::Integers(array) if array.is_valid(row) => {
            encode_i64(part, array.value(row), out)?;
            return Ok(false);
        }
        Source::Dates(array) if array.is_valid(row) => {
            encode_date(part, array.value(row), out)?;
            return Ok(false);
        }
        Source::Decimals(array, scale) if array.is_valid(row) => {
            let d = Decimal::from_i128(array.value(row), *scale);
            encode_part(part, &Value::Decimal(d), out)?;
            return Ok(false);
        }
        Source::Text(_)
        | Source::Bytes(_)
        | Source::Integers(_)
        | Source::Dates(_)
        | Source::Decimals(..) => {
            encode_part(part, &Value::Null, out)?;
        }
        Source::Values(array) => {
            let v = value_at(*array, row, ty);
            encode_value(part, &v, digests, out)?;
            return Ok(v.is_null());
        }
    }
    Ok(true)
}

/// Appends the key of a string.
#[inline]
fn encode_text(part: &KeyPart, s: &[u8], digests: bool, out: &mut Vec<u8>) -> Result<(), MysqlError> {
    let start = out.len();
    if s.len() >= LARGE_STRING {
        // Two bytes for each, in a buffer that is copied into one of twice its size.
        server::ask(s.len().saturating_mul(4))?;
    }
    encode_string_part(part, s, out)?;
    if digests && out.len() - start > LONG_PART {
        digest(start, out);
    }
    Ok(())
}

/// Appends the key of a value.
fn encode_value(part: &KeyPart, v: &Value, digests: bool, out: &mut Vec<u8>) -> Result<(), MysqlError> {
    let start = out.len();
    encode_part(part, v, out)?;
    if digests && out.len() - start > LONG_PART {
        digest(start, out);
    }
    Ok(())
}

/// Replaces the end of a long part, which begins at `start`, with the digest of all of it.
#[cold]
fn digest(start: usize, out: &mut Vec<u8>) {
    let digest = Sha256::digest(&out[start..]);
    out.truncate(start + LONG_PART);
    out.extend_from_slice(&digest);
}

impl EncodedKeys {
    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.offsets.clear();
        self.offsets.push(0);
        self.has_null.clear();
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.has_null.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the key of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Whether a part of the row's key is NULL; such a row joins with none.
    #[inline]
    pub fn has_null(&self, row: usize) -> bool {
        self.has_null[row]
    }
}
