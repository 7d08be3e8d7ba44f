//! Memcomparable keys: `memcmp` of their bytes gives order, equality and ranges.
//!
//! A key is its parts one after another. No value's bytes are a prefix of another value's bytes of the same part,
//! so earlier parts order first.
//!
//! | part                  | bytes                                                                            |
//! |-----------------------|----------------------------------------------------------------------------------|
//! | nullable              | `00` for NULL, nothing after it; otherwise `01` and the value                    |
//! | fixed-width types     | big-endian, sign bit flipped (see `codec::fixed` for the widths)                  |
//! | DOUBLE, FLOAT         | big-endian bits; negative: all inverted, otherwise the sign bit set; -0.0 is 0.0 |
//! | NO PAD string, bytes  | each byte, `00` as `00 ff`; then `00 00`                                         |
//! | PAD SPACE string      | see `collation::key_strings`                                                     |
//! | string with weights   | packed weights, see `collation::format`; then `00`                               |
//! | JSON                  | the bytes of `json::order`, as of a NO PAD string; in no index                   |
//! | descending            | all bytes of the part inverted, the marker too: NULL comes last                  |
//! | prefix of a string    | as above, of the string's [beginning](Collation::beginning)                      |
//!
//! The bytes determine the value except for DOUBLE and FLOAT (-0.0), PAD SPACE VARCHAR and TEXT (trailing spaces;
//! CHAR has none to lose), strings of weighted collations, and JSON. A prefix never determines the value. What the
//! bytes lose can be stored beside them: see `difference`.

mod difference;

use crate::codec::fixed::Fixed;
use crate::codec::narrow::Narrow;
use crate::collation::Collation;
use crate::collation::key_strings::{
    DecodedString, decode_string, encode_beginning, encode_string, encode_string_prefix, skip_string,
};
use crate::column::ColumnBuilder;
use crate::error::CodecError;
use crate::json;
use crate::temporal::Date;
use crate::value::{SqlType, Value};

pub(crate) use difference::{
    PlainCase, append_differences, difference_len, difference_of, has_difference, restore_text,
    restore_value, verify as verify_difference,
};

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// The column's type.
    pub ty: SqlType,
    /// The column's collation if it is a string.
    pub collation: Collation,
    /// Whether it can be NULL: then a marker byte precedes the value.
    pub nullable: bool,
    /// Whether it is in descending order.
    pub descending: bool,
    /// The number of characters from a string's beginning that are in the key (bytes for a binary string). `None`: all.
    pub prefix: Option<u32>,
}

const NULL_MARKER: u8 = 0;
const VALUE_MARKER: u8 = 1;

impl KeyPart {
    /// Makes an ascending part that is NOT NULL, of a number or date.
    pub fn new(ty: SqlType) -> Self {
        KeyPart { ty, collation: Collation::Binary, nullable: false, descending: false, prefix: None }
    }

    /// Returns the collation that its bytes follow; binary strings have only one.
    fn string_collation(&self) -> Option<Collation> {
        match self.ty {
            SqlType::Binary { .. } | SqlType::Varbinary { .. } | SqlType::Blob { .. } | SqlType::Json => {
                Some(Collation::Binary)
            }
            SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. } => Some(self.collation),
            _ => None,
        }
    }

    /// Returns the part of a string that the key holds.
    #[inline]
    fn key_prefix<'s>(&self, collation: Collation, s: &'s [u8]) -> &'s [u8] {
        match self.prefix {
            None => s,
            Some(prefix) => collation.beginning(s, prefix as usize),
        }
    }

    pub(crate) fn mask(&self) -> u8 {
        if self.descending { 0xff } else { 0 }
    }

    /// Returns the length of the part in bytes if it is the same for all values.
    pub fn fixed_width(&self) -> Option<usize> {
        if self.nullable { None } else { Some(Fixed::of(&self.ty)?.width()) }
    }

    /// Reads the marker: returns whether there is a value, and the marker's length.
    #[inline]
    pub(crate) fn marker(&self, key: &[u8]) -> Result<(bool, usize), CodecError> {
        if !self.nullable {
            return Ok((true, 0));
        }
        match key.first().map(|b| b ^ self.mask()) {
            Some(NULL_MARKER) => Ok((false, 1)),
            Some(VALUE_MARKER) => Ok((true, 1)),
            Some(_) => Err(CodecError::Malformed { what: "NULL marker of a key part" }),
            None => Err(CodecError::Truncated { what: "key part", needed: 1, left: 0 }),
        }
    }
}

/// Appends the bytes of one part. `v` is NULL or of the part's type. An error leaves `out` as it was.
pub fn encode_part(part: &KeyPart, v: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    let done = encode_ascending(part, v, out);
    if done.is_err() {
        out.truncate(start);
    } else if part.descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    done
}

fn encode_ascending(part: &KeyPart, v: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match (part.nullable, v) {
        (true, Value::Null) => {
            out.push(NULL_MARKER);
            return Ok(());
        }
        (false, Value::Null) => return Err(CodecError::UnexpectedNull),
        (true, _) => out.push(VALUE_MARKER),
        (false, _) => {}
    }
    if let Some(fixed) = Fixed::of(&part.ty) {
        return fixed.encode_key(v, &part.ty, out);
    }
    match (part.string_collation(), v) {
        (Some(_), Value::Json(json)) => {
            encode_string(Collation::Binary, &json::order::key(json.view()), out);
        }
        (Some(Collation::Binary), Value::Bytes(b)) => {
            encode_string(Collation::Binary, part.key_prefix(Collation::Binary, b), out);
        }
        (Some(collation), Value::String(s)) => {
            encode_string(collation, part.key_prefix(collation, s.as_bytes()), out);
        }
        _ => return Err(CodecError::mismatch(v.kind(), &part.ty)),
    }
    Ok(())
}

/// Appends the bytes of an integer, as [`encode_part`] does.
#[inline]
pub fn encode_i64(part: &KeyPart, v: i64, out: &mut Vec<u8>) -> Result<(), CodecError> {
    if part.ty != SqlType::BIGINT || part.descending || !part.nullable {
        return encode_part(part, &Value::Int(v), out);
    }
    let [a, b, c, d, e, f, g, h] = (v ^ i64::MIN).to_be_bytes();
    out.extend_from_slice(&[VALUE_MARKER, a, b, c, d, e, f, g, h]);
    Ok(())
}

/// Appends the bytes of the date with this [`Date::ordinal`], as [`encode_part`] does.
#[inline]
pub fn encode_date(part: &KeyPart, ordinal: i32, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let date = Date::from_ordinal(ordinal).ok_or(CodecError::Malformed { what: "date" })?;
    if part.ty != SqlType::Date || part.descending || !part.nullable {
        return encode_part(part, &Value::Date(date), out);
    }
    let [_, a, b, c] = date.ordinal().to_be_bytes();
    out.extend_from_slice(&[VALUE_MARKER, a, b, c]);
    Ok(())
}

/// Appends the bytes of a string part from the bytes of its value.
pub fn encode_string_part(part: &KeyPart, s: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    let mismatch = || CodecError::TypeMismatch { value: "VARCHAR", ty: part.ty.to_string() };
    let collation = part.string_collation().ok_or_else(mismatch)?;
    let start = out.len();
    if part.nullable {
        out.push(VALUE_MARKER);
    }
    encode_string(collation, part.key_prefix(collation, s), out);
    if part.descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

/// Appends the bytes of one part for a text if the column surely stores the text unchanged; returns whether it does.
pub fn encode_stored_text(part: &KeyPart, text: &str, out: &mut Vec<u8>) -> Result<bool, CodecError> {
    let fits = match part.ty {
        // A text has no more characters than bytes.
        SqlType::Varchar { len } => text.len() <= len as usize,
        SqlType::Text { max_bytes } => text.len() <= max_bytes as usize,
        _ => false,
    };
    if fits {
        encode_string_part(part, text.as_bytes(), out)?;
    }
    Ok(fits)
}

/// Appends the bytes of `values`, one per part, until the values end: a whole key or its first parts.
pub fn encode_key<'a>(
    parts: &[KeyPart],
    values: impl IntoIterator<Item = &'a Value>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    parts.iter().zip(values).try_for_each(|(part, v)| encode_part(part, v, out))
}

/// Appends the common prefix of the part's bytes for all strings that begin with `prefix` (as LIKE compares: trailing
/// spaces count); other strings may share it. The part must be a string's. Returns whether the key holds only the
/// beginning of strings and `prefix` fills it: then strings that go on differently may have the same key.
pub fn encode_prefix(part: &KeyPart, prefix: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
    let mismatch = || CodecError::TypeMismatch { value: "VARCHAR", ty: part.ty.to_string() };
    let collation = part.string_collation().ok_or_else(mismatch)?;
    let start = out.len();
    if part.nullable {
        out.push(VALUE_MARKER);
    }
    let cut = match part.prefix {
        None => {
            encode_string_prefix(collation, prefix, out);
            false
        }
        Some(most) => encode_beginning(collation, prefix, most as usize, out),
    };
    if part.descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(cut)
}

/// Returns the length of the part at the front of `key`.
#[inline]
pub fn skip_part(part: &KeyPart, key: &[u8]) -> Result<usize, CodecError> {
    let (present, marker) = part.marker(key)?;
    if !present {
        return Ok(marker);
    }
    let body = key.get(marker..).unwrap_or_default();
    let len = match (Fixed::of(&part.ty), part.string_collation()) {
        (Some(fixed), _) => fixed.width(),
        (_, Some(collation)) => skip_string(collation, body, part.mask())?,
        _ => return Err(CodecError::Malformed { what: "key part of type NULL" }),
    };
    if len > body.len() {
        return Err(CodecError::Truncated { what: "key part", needed: len, left: body.len() });
    }
    Ok(marker + len)
}

/// Appends the value of the part at the front of `key` to a column; returns the part's length.
#[inline]
pub fn decode_part(part: &KeyPart, key: &[u8], out: &mut ColumnBuilder) -> Result<usize, CodecError> {
    let (present, marker) = part.marker(key)?;
    if !present {
        out.push_null();
        return Ok(marker);
    }
    let body = key.get(marker..).unwrap_or_default();
    if let (Some(fixed), true) = (Fixed::of(&part.ty), is_restorable(part)) {
        let narrow = Narrow::in_key(fixed, marker, part.mask());
        if !narrow.is_some_and(|narrow| narrow.append(key, out)) {
            out.push_value(&fixed.key_value(body, part.mask())?)?;
        }
        return Ok(marker + fixed.width());
    }
    let (string, len) = restore_string(part, body)?;
    out.push_bytes(string.as_ref())?;
    Ok(marker + len)
}

/// Returns the value of the part at the front of `key`, and the part's length.
pub fn decode_value(part: &KeyPart, key: &[u8]) -> Result<(Value, usize), CodecError> {
    let (present, marker) = part.marker(key)?;
    if !present {
        return Ok((Value::Null, marker));
    }
    let body = key.get(marker..).unwrap_or_default();
    if let (Some(fixed), true) = (Fixed::of(&part.ty), is_restorable(part)) {
        return Ok((fixed.key_value(body, part.mask())?, marker + fixed.width()));
    }
    let (string, len) = restore_string(part, body)?;
    let value = if part.ty.is_character() {
        let text = std::str::from_utf8(string.as_ref());
        Value::String(text.map_err(|_| CodecError::Malformed { what: "UTF-8 string" })?.into())
    } else {
        Value::Bytes(string.as_ref().into())
    };
    Ok((value, marker + len))
}

fn restore_string<'a>(part: &KeyPart, body: &'a [u8]) -> Result<(DecodedString<'a>, usize), CodecError> {
    match part.string_collation() {
        Some(collation) if is_restorable(part) => decode_string(collation, body, part.mask()),
        _ => Err(CodecError::NotRestorable(part.ty.to_string())),
    }
}

/// Whether the key's bytes determine the value.
#[inline]
pub fn is_restorable(part: &KeyPart) -> bool {
    match part.ty {
        _ if part.prefix.is_some() => false,
        SqlType::Double | SqlType::Real { .. } | SqlType::Null | SqlType::Json => false,
        SqlType::Varchar { .. } | SqlType::Text { .. } => part.collation.equal_is_same(),
        SqlType::Char { .. } => !part.collation.is_weighted(),
        _ => true,
    }
}

/// Returns the least key above all that begin with `prefix`; None if there is none (the prefix is empty or all `ff`).
pub fn prefix_successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&b| b != 0xff)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

#[cfg(test)]
pub(crate) mod tests;
