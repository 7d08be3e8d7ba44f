//! The fast way from bytes to a column: fixed-width values of at most 8 bytes, with all that reading one needs worked
//! out before the first row.
//!
//! Eight bytes are read at once and shifted so that the value's sign bit is the highest. The window ends where the
//! value ends if there are eight bytes up to there, so that it never reaches beyond a row or key that is whole; else
//! it begins where the value begins. Whatever is out of the ordinary (too few bytes, a day that does not exist, a
//! builder of another type) is left to the ordinary way, which knows the errors.

use super::fixed::{Fixed, TIMESTAMP_END};
use crate::column::ColumnBuilder;
use crate::temporal::{Date, DateTime, Time, fraction_unit};

/// Reads one value of a row or key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow {
    /// Where the eight bytes begin.
    window: usize,
    big_endian: bool,
    /// Brings the value's first bit to the top.
    up: u32,
    /// Undoes what a key does to the bits, once they are at the top.
    flip: u64,
    /// Brings the value's last bit to the bottom.
    down: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Signed,
    Unsigned,
    Decimal { scale: u8, beyond: u64 },
    Double,
    Single,
    Date,
    Time { unit: i64 },
    Timestamp { unit: i64, end: u64 },
    DateTime { unit: i64, last: u64 },
}

const WINDOW: usize = 8;
const SIGN: u64 = 1 << 63;

impl Narrow {
    /// Of a value at `at` in a row; None if it is longer than 8 bytes.
    pub(crate) fn in_row(fixed: Fixed, at: usize) -> Option<Self> {
        Self::new(fixed, at, false, 0)
    }

    /// Of a value at `at` in a key, each byte `^ mask`; None if it is longer than 8 bytes, or a DOUBLE or FLOAT.
    pub(crate) fn in_key(fixed: Fixed, at: usize, mask: u8) -> Option<Self> {
        if matches!(fixed, Fixed::Double | Fixed::Single) {
            return None;
        }
        let sign = if fixed.is_signed() { SIGN } else { 0 };
        let inverted = if mask == 0 { 0 } else { u64::MAX };
        Self::new(fixed, at, true, sign ^ inverted)
    }

    fn new(fixed: Fixed, at: usize, big_endian: bool, flip: u64) -> Option<Self> {
        let width = fixed.width();
        let down = 8 * WINDOW.checked_sub(width)? as u32;
        let at_end = at + width >= WINDOW;
        let window = if at_end { at + width - WINDOW } else { at };
        // The value is at the top already if it ends a little-endian window or begins a big-endian one.
        let up = if at_end == big_endian { down } else { 0 };
        let kind = match fixed {
            Fixed::Signed { .. } => Kind::Signed,
            Fixed::Unsigned { .. } => Kind::Unsigned,
            Fixed::Decimal { scale, precision, .. } => {
                // Eight bytes are at most 18 digits.
                Kind::Decimal { scale, beyond: 10u64.pow(precision.into()) }
            }
            Fixed::Double => Kind::Double,
            Fixed::Single => Kind::Single,
            Fixed::Time { fsp } => Kind::Time { unit: fraction_unit(fsp) },
            Fixed::Timestamp { fsp } => {
                let unit = fraction_unit(fsp);
                Kind::Timestamp { unit, end: (TIMESTAMP_END / unit) as u64 }
            }
            Fixed::Date => Kind::Date,
            Fixed::DateTime { fsp } => {
                let unit = fraction_unit(fsp);
                Kind::DateTime {
                    unit,
                    last: ((DateTime::MAX.micros() - DateTime::MIN.micros()) / unit) as u64,
                }
            }
        };
        Some(Narrow { window, big_endian, up, flip, down, kind })
    }

    /// Appends the value; false if the ordinary way must.
    #[inline]
    pub(crate) fn append(&self, bytes: &[u8], out: &mut ColumnBuilder) -> bool {
        let Some(Ok(window)) = bytes.get(self.window..self.window + WINDOW).map(<[u8; WINDOW]>::try_from)
        else {
            return false;
        };
        let raw = if self.big_endian { u64::from_be_bytes(window) } else { u64::from_le_bytes(window) };
        let top = (raw << self.up) ^ self.flip;
        let (signed, unsigned) = ((top as i64) >> self.down, top >> self.down);
        match (self.kind, out) {
            (Kind::Signed, ColumnBuilder::Int64(b)) => b.append_value(signed),
            (Kind::Unsigned, ColumnBuilder::UInt64(b)) => b.append_value(unsigned),
            (Kind::Decimal { scale, beyond }, ColumnBuilder::Decimal128(b, (_, to)))
                if scale == *to && signed.unsigned_abs() < beyond =>
            {
                b.append_value(signed.into());
            }
            (Kind::Double, ColumnBuilder::Float64(b)) => b.append_value(f64::from_bits(unsigned)),
            (Kind::Single, ColumnBuilder::Float64(b)) => {
                b.append_value(f32::from_bits(unsigned as u32).into());
            }
            (Kind::Timestamp { unit, end }, ColumnBuilder::Timestamp(b)) if unsigned < end => {
                b.append_value(unsigned as i64 * unit);
            }
            (Kind::Time { unit }, ColumnBuilder::Duration(b)) => {
                let Some(time) = signed.checked_mul(unit).and_then(Time::from_micros) else { return false };
                b.append_value(time.micros());
            }
            (Kind::Date, ColumnBuilder::Date32(b)) => {
                let Some(date) = u32::try_from(unsigned).ok().and_then(Date::from_day_number) else {
                    return false;
                };
                b.append_value(date.days());
            }
            (Kind::DateTime { unit, last }, ColumnBuilder::Timestamp(b)) if unsigned <= last => {
                b.append_value(unsigned as i64 * unit + DateTime::MIN.micros());
            }
            _ => return false,
        }
        true
    }
}
