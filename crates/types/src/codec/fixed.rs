//! Encodes values of the fixed-width types as integers of a few bytes.
//!
//! | type              | bytes | integer                                                          |
//! |-------------------|-------|------------------------------------------------------------------|
//! | TINYINT..BIGINT   | 1 to 8| the value, in two's complement where signed                      |
//! | DECIMAL(p, s)     | 1 to 28 | the unscaled value at scale s, signed: the fewest bytes for p digits |
//! | YEAR              | 2     | the year; unsigned                                               |
//! | DOUBLE            | 8     | the bits (in a key: in order, see `ordered_bits`)                |
//! | FLOAT             | 4     | the bits of binary32 (in a key: in order, see `ordered_single_bits`) |
//! | DATE              | 3     | (year * 13 + month) * 32 + day; unsigned                         |
//! | DATETIME(f)       | 5 to 8| DATE's integer as a count of days, plus the time since midnight, in units of the last of f digits; unsigned |
//! | TIMESTAMP(f)      | 4 to 7| units of the last of f digits since 1970-01-01; 0 is 0000-00-00; unsigned |
//! | ENUM, SET         | 1 to 8| the member's number, or the set's bits; unsigned                 |
//! | BIT(n)            | 1 to 8| the bits; unsigned                                               |
//! | TIME(f)           | 3 to 6| units of the last of f digits; signed                            |
//!
//! DATETIME takes 5 bytes for f = 0, 6 for 1 and 2, 7 for 3 to 5, 8 for 6; TIME 3 for 0, 4 for 1 and 2, 5 for 3 to 5,
//! 6 for 6; TIMESTAMP 4 for 0, 5 for 1 and 2, 6 for 3 to 5, 7 for 6. ENUM takes 2 bytes from 256 texts on. SET takes
//! as many as it needs, but 8 for more than 4.
//!
//! A row holds the integer little-endian. A key holds it big-endian, with the sign bit flipped if it is signed, so
//! that bytes order as values do.

use arrow_buffer::i256;

use crate::decimal::Decimal;
use crate::error::CodecError;
use crate::temporal::{Date, DateTime, Time, fraction_unit};
use crate::value::{SqlType, Value};

/// The encoding of a fixed-width type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fixed {
    Signed { width: u8 },
    Unsigned { width: u8 },
    Decimal { width: u8, precision: u8, scale: u8 },
    Double,
    Single,
    Date,
    DateTime { fsp: u8 },
    Time { fsp: u8 },
    Timestamp { fsp: u8 },
}

/// Widths of DATETIME(0) to DATETIME(6) in bytes.
const DATETIME_WIDTHS: [u8; 7] = [5, 6, 6, 7, 7, 7, 8];
/// Widths of TIMESTAMP(0) to TIMESTAMP(6) in bytes.
const TIMESTAMP_WIDTHS: [u8; 7] = [4, 5, 5, 6, 6, 6, 7];
/// The end of TIMESTAMP's range, exclusive, in microseconds since 1970: 2038-01-19 03:14:08.
pub const TIMESTAMP_END: i64 = (1 << 31) * 1_000_000;
/// Widths of TIME(0) to TIME(6) in bytes.
const TIME_WIDTHS: [u8; 7] = [3, 4, 4, 5, 5, 5, 6];

/// The width of a DECIMAL in bytes, by its precision p: the least n with `2^(8n - 1) > 10^p`.
const DECIMAL_WIDTHS: [u8; 66] = {
    let mut widths = [1; 66];
    let mut p = 1;
    let (mut bytes, mut power) = (1u8, i256::ONE);
    while p <= 65 {
        power = power.wrapping_mul(i256::from_i128(10));
        let bits = 256 - power.leading_zeros();
        while (bytes as u32) * 8 < bits + 1 {
            bytes += 1;
        }
        widths[p] = bytes;
        p += 1;
    }
    widths
};

/// The largest width in bytes.
const MAX_WIDTH: usize = 28;
const SIGN: u64 = 1 << 63;

impl Fixed {
    /// Returns the encoding of `ty`; None for strings and NULL.
    #[inline]
    pub(crate) fn of(ty: &SqlType) -> Option<Self> {
        Some(match ty {
            SqlType::Decimal { precision, scale, .. } => Fixed::Decimal {
                width: *DECIMAL_WIDTHS.get(usize::from(*precision))?,
                precision: *precision,
                scale: *scale,
            },
            SqlType::Double | SqlType::Real { single: false, .. } => Fixed::Double,
            SqlType::Real { single: true, .. } => Fixed::Single,
            SqlType::Date => Fixed::Date,
            SqlType::DateTime { fsp } => Fixed::DateTime { fsp: (*fsp).min(6) },
            SqlType::Time { fsp } => Fixed::Time { fsp: (*fsp).min(6) },
            SqlType::Timestamp { fsp } => Fixed::Timestamp { fsp: (*fsp).min(6) },
            SqlType::Enum(members) => Fixed::Unsigned { width: if members.len() < 256 { 1 } else { 2 } },
            SqlType::Set(members) => Fixed::Unsigned {
                width: match members.len().div_ceil(8) {
                    bytes @ 0..=4 => bytes.max(1) as u8,
                    _ => 8,
                },
            },
            _ => {
                let width = ty.integer_width()? as u8;
                if ty.is_unsigned() { Fixed::Unsigned { width } } else { Fixed::Signed { width } }
            }
        })
    }

    /// Returns the width in bytes.
    #[inline]
    pub(crate) fn width(self) -> usize {
        usize::from(match self {
            Fixed::Signed { width } | Fixed::Unsigned { width } | Fixed::Decimal { width, .. } => width,
            Fixed::Double => 8,
            Fixed::Single => 4,
            Fixed::Date => 3,
            Fixed::DateTime { fsp } => DATETIME_WIDTHS[usize::from(fsp)],
            Fixed::Time { fsp } => TIME_WIDTHS[usize::from(fsp)],
            Fixed::Timestamp { fsp } => TIMESTAMP_WIDTHS[usize::from(fsp)],
        })
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Fixed::Signed { .. } | Fixed::Decimal { .. } | Fixed::Time { .. })
    }

    /// Returns the integer that stands for `v`; None if `v` is of another type or out of its range.
    fn to_integer(self, v: &Value) -> Option<i256> {
        let small = match (self, v) {
            (Fixed::Signed { width }, _) => {
                let limit = 1i128 << (8 * width - 1);
                v.as_integer().filter(|v| (-limit..limit).contains(v))?
            }
            (Fixed::Unsigned { width }, _) => {
                v.as_integer().filter(|v| (0..1i128 << (8 * width)).contains(v))?
            }
            (Fixed::Decimal { precision, scale, .. }, Value::Decimal(d)) => {
                let at_scale = if d.scale() == scale { d.clone() } else { d.round(scale.into())? };
                let exact = d.scale() <= scale || at_scale == *d;
                if !exact || at_scale.digits() > precision {
                    return None;
                }
                return Some(at_scale.unscaled());
            }
            (Fixed::Double, Value::Double(d)) => d.to_bits().into(),
            (Fixed::Single, Value::Double(d)) => single(*d)?.to_bits().into(),
            (Fixed::Date, Value::Date(d)) => d.ordinal().into(),
            (Fixed::DateTime { fsp }, Value::DateTime(d)) => {
                let (ordinal, unit) = (d.ordinal(), fraction_unit(fsp));
                (ordinal % unit == 0).then_some(ordinal / unit)?.into()
            }
            (Fixed::Timestamp { fsp }, Value::DateTime(t)) => {
                let micros = if *t == DateTime::ZERO { 0 } else { timestamp_micros(*t)? };
                let unit = fraction_unit(fsp);
                (micros % unit == 0).then_some(micros / unit)?.into()
            }
            (Fixed::Time { fsp }, Value::Time(t)) => {
                let unit = fraction_unit(fsp);
                (t.micros() % unit == 0).then_some(t.micros() / unit)?.into()
            }
            _ => return None,
        };
        Some(i256::from_i128(small))
    }

    /// Appends the value in the form of a row.
    pub(crate) fn encode_row(self, v: &Value, ty: &SqlType, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let integer = self.to_integer(v).ok_or_else(|| CodecError::mismatch(v.kind(), ty))?;
        out.extend_from_slice(&integer.to_le_bytes()[..self.width()]);
        Ok(())
    }

    /// Appends the value in the form of an ascending key.
    pub(crate) fn encode_key(self, v: &Value, ty: &SqlType, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let mut integer = self.to_integer(v).ok_or_else(|| CodecError::mismatch(v.kind(), ty))?;
        match (self, v) {
            (Fixed::Double, Value::Double(d)) => integer = i256::from_i128(ordered_bits(*d).into()),
            (Fixed::Single, Value::Double(d)) => {
                integer = i256::from_i128(ordered_single_bits(*d as f32).into());
            }
            _ => {}
        }
        let start = out.len();
        out.extend_from_slice(&integer.to_be_bytes()[32 - self.width()..]);
        if self.is_signed() {
            out[start] ^= 0x80;
        }
        Ok(())
    }

    /// Reads an integer of at most 8 bytes from `offset` of a row.
    fn narrow_from_row(self, row: &[u8], offset: usize) -> Option<u64> {
        let mut eight = [0; 8];
        eight[..self.width()].copy_from_slice(row.get(offset..offset + self.width())?);
        Some(u64::from_le_bytes(eight))
    }

    /// Reads an integer of at most 8 bytes from the front of a key, each byte XORed with `mask` (0 for ascending
    /// parts).
    fn narrow_from_key(self, key: &[u8], mask: u8) -> Option<u64> {
        let mut eight = [0; 8];
        for (to, from) in eight.iter_mut().zip(key.get(..self.width())?) {
            *to = from ^ mask;
        }
        let mut bits = u64::from_be_bytes(eight);
        if self.is_signed() {
            bits ^= SIGN;
        }
        Some(bits >> (64 - 8 * self.width()))
    }

    /// Reads a signed little-endian integer of more than 8 bytes.
    fn wide_from_row(bytes: &[u8]) -> i256 {
        let fill = if bytes.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut whole = [fill; 32];
        whole[..bytes.len()].copy_from_slice(bytes);
        i256::from_le_bytes(whole)
    }

    /// Reads the value at `offset` of a row.
    pub(crate) fn row_value(self, row: &[u8], offset: usize) -> Result<Value, CodecError> {
        if self.width() <= 8 {
            let bits = self.narrow_from_row(row, offset).ok_or_else(|| self.truncated(row.len(), offset))?;
            return self.narrow_value(bits);
        }
        let bytes =
            row.get(offset..offset + self.width()).ok_or_else(|| self.truncated(row.len(), offset))?;
        self.decimal_value(Self::wide_from_row(bytes))
    }

    /// Reads the value at the front of `key`, each byte XORed with `mask` (0 for ascending parts).
    pub(crate) fn key_value(self, key: &[u8], mask: u8) -> Result<Value, CodecError> {
        if self.width() <= 8 {
            let bits = self.narrow_from_key(key, mask).ok_or_else(|| self.truncated(key.len(), 0))?;
            return self.narrow_value(bits);
        }
        self.decimal_value(self.wide_from_key(key, mask)?)
    }

    /// Reads a DOUBLE or FLOAT from the front of a key. A key does not tell -0.0 from 0.0: this returns 0.0 for both.
    pub(crate) fn ordered_value(self, key: &[u8], mask: u8) -> Result<f64, CodecError> {
        let bits = self.narrow_from_key(key, mask).ok_or_else(|| self.truncated(key.len(), 0))?;
        let sign = 1 << (8 * self.width() - 1);
        let bits = if bits & sign != 0 { bits ^ sign } else { !bits & (sign | (sign - 1)) };
        match self {
            Fixed::Double => Ok(f64::from_bits(bits)),
            Fixed::Single => Ok(f32::from_bits(bits as u32).into()),
            _ => Err(CodecError::Malformed { what: "number in a key" }),
        }
    }

    fn wide_from_key(self, key: &[u8], mask: u8) -> Result<i256, CodecError> {
        let bytes = key.get(..self.width()).ok_or_else(|| self.truncated(key.len(), 0))?;
        let mut little = [0; MAX_WIDTH];
        for (to, from) in little.iter_mut().zip(bytes.iter().rev()) {
            *to = from ^ mask;
        }
        little[self.width() - 1] ^= 0x80;
        Ok(Self::wide_from_row(&little[..self.width()]))
    }

    /// Sign-extends an integer of this width.
    fn extend(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.width() as u32;
        ((bits << unused) as i64) >> unused
    }

    fn narrow_value(self, bits: u64) -> Result<Value, CodecError> {
        Ok(match self {
            Fixed::Signed { .. } => Value::Int(self.extend(bits)),
            Fixed::Unsigned { .. } => Value::UInt(bits),
            Fixed::Decimal { .. } => return self.decimal_value(i256::from_i128(self.extend(bits).into())),
            Fixed::Double => Value::Double(f64::from_bits(bits)),
            Fixed::Single => Value::Double(f32::from_bits(bits as u32).into()),
            Fixed::Date => Value::Date(date_of(bits)?),
            Fixed::DateTime { fsp } => Value::DateTime(datetime_of(bits, fsp)?),
            Fixed::Time { fsp } => Value::Time(time_of(self.extend(bits), fsp)?),
            Fixed::Timestamp { fsp } => Value::DateTime(timestamp_of(bits, fsp)?),
        })
    }

    fn decimal_value(self, v: i256) -> Result<Value, CodecError> {
        let Fixed::Decimal { scale, precision, .. } = self else {
            return Err(CodecError::Malformed { what: "decimal" });
        };
        let found = Decimal::from_i256(v, scale).filter(|d| d.digits() <= precision);
        found.map(Value::Decimal).ok_or(CodecError::Malformed { what: "decimal" })
    }

    fn truncated(self, len: usize, offset: usize) -> CodecError {
        CodecError::Truncated { what: "value", needed: self.width(), left: len.saturating_sub(offset) }
    }
}

#[inline]
fn date_of(bits: u64) -> Result<Date, CodecError> {
    i32::try_from(bits).ok().and_then(Date::from_ordinal).ok_or(CodecError::Malformed { what: "date" })
}

#[inline]
fn datetime_of(bits: u64, fsp: u8) -> Result<DateTime, CodecError> {
    let micros = i64::try_from(bits).ok().and_then(|v| v.checked_mul(fraction_unit(fsp)));
    micros.and_then(DateTime::from_ordinal).ok_or(CodecError::Malformed { what: "datetime" })
}

#[inline]
fn timestamp_of(bits: u64, fsp: u8) -> Result<DateTime, CodecError> {
    let micros = i64::try_from(bits).ok().and_then(|v| v.checked_mul(fraction_unit(fsp)));
    micros.and_then(timestamp_at).ok_or(CodecError::Malformed { what: "timestamp" })
}

/// Converts a TIMESTAMP in UTC to microseconds since 1970; None for a time outside the type's range, 0000-00-00 among
/// them.
pub fn timestamp_micros(utc: DateTime) -> Option<i64> {
    utc.epoch_micros().filter(|micros| (1..TIMESTAMP_END).contains(micros))
}

/// Returns the TIMESTAMP at `micros` microseconds since 1970; 0 is 0000-00-00.
#[inline]
pub fn timestamp_at(micros: i64) -> Option<DateTime> {
    match micros {
        0 => Some(DateTime::ZERO),
        1..TIMESTAMP_END => DateTime::from_epoch_micros(micros),
        _ => None,
    }
}

#[inline]
fn time_of(units: i64, fsp: u8) -> Result<Time, CodecError> {
    let micros = units.checked_mul(fraction_unit(fsp));
    micros.and_then(Time::from_micros).ok_or(CodecError::Malformed { what: "time" })
}

/// Converts a double to binary32; None unless the result is the same number.
fn single(d: f64) -> Option<f32> {
    let narrow = d as f32;
    (f64::from(narrow) == d).then_some(narrow)
}

/// Maps a binary32 to bits that order as the numbers do; -0.0 maps as 0.0.
fn ordered_single_bits(d: f32) -> u32 {
    const SIGN: u32 = 1 << 31;
    let bits = if d == 0.0 { 0 } else { d.to_bits() };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

/// Maps a double to bits that order as the numbers do; -0.0 maps as 0.0.
fn ordered_bits(d: f64) -> u64 {
    let bits = if d == 0.0 { 0 } else { d.to_bits() };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::pow10_i256;

    #[test]
    fn widths_are_the_fewest_bytes() {
        let width = |precision| Fixed::of(&SqlType::decimal(precision, 0)).unwrap().width();
        // 10^p - 1 must fit into the width, and must not fit into one byte less.
        for p in 1..=65u8 {
            let most = pow10_i256(p).wrapping_sub(i256::ONE);
            let bits = 256 - most.leading_zeros() as usize + 1;
            assert_eq!(width(p), bits.div_ceil(8), "DECIMAL({p})");
        }
        assert_eq!((width(2), width(15), width(18), width(38), width(65)), (1, 7, 8, 16, 28));
        let last = DateTime::MAX.ordinal();
        for fsp in 0..=6 {
            let bits = 64 - (last / fraction_unit(fsp)).leading_zeros() as usize;
            assert_eq!(Fixed::DateTime { fsp }.width(), bits.div_ceil(8), "DATETIME({fsp})");
            let bits = 65 - (Time::MAX.micros() / fraction_unit(fsp)).leading_zeros() as usize;
            assert_eq!(Fixed::Time { fsp }.width(), bits.div_ceil(8), "TIME({fsp})");
        }
    }

    #[test]
    fn values_that_the_type_cannot_hold_are_refused() {
        let int = |v: i64, ty: &SqlType| Fixed::of(ty).unwrap().to_integer(&Value::Int(v)).is_some();
        let tiny = SqlType::TinyInt { unsigned: false };
        assert!(int(127, &tiny) && int(-128, &tiny) && !int(128, &tiny) && !int(-129, &tiny));
        let medium = SqlType::MediumInt { unsigned: true };
        assert!(int(16_777_215, &medium) && !int(16_777_216, &medium) && !int(-1, &medium));
        assert!(int(i64::MIN, &SqlType::BIGINT) && !int(-1, &SqlType::BIGINT_UNSIGNED));

        let ty = SqlType::decimal(4, 2);
        let decimal =
            |s: &str| Fixed::of(&ty).unwrap().to_integer(&Value::Decimal(Decimal::parse(s).unwrap()));
        assert_eq!(decimal("12.3"), Some(i256::from_i128(1230)));
        assert_eq!(decimal("-99.990"), Some(i256::from_i128(-9999)));
        assert!(decimal("100").is_none() && decimal("1.234").is_none());
        let half = DateTime::from_epoch_micros(500_000).unwrap();
        let seconds = Fixed::DateTime { fsp: 0 };
        assert!(seconds.to_integer(&Value::DateTime(half)).is_none());
        assert!(Fixed::Date.to_integer(&Value::DateTime(half)).is_none());
        assert!(Fixed::Single.to_integer(&Value::Double(0.5)).is_some());
        assert!(Fixed::Single.to_integer(&Value::Double(0.1)).is_none());
    }
}
