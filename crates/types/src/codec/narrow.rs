//! The fast path from bytes to a column: reads fixed-width values of at most 8 bytes, with all that depends on the
//! type and the place computed before the first row.
//!
//! A read takes eight bytes at once and shifts them so that the value's sign bit is the highest. The window of eight
//! bytes ends where the value ends if there are eight bytes up to there, so that it never reaches beyond a row or key
//! that is whole; otherwise it begins where the value begins. This path declines whatever is out of the ordinary (too
//! few bytes, a day that does not exist, a builder of another type); the caller then takes the general path, which
//! reports errors.
//!
//! `Narrow::append_all` reads many rows column by column and branches on the kind of value once for all of them.

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::ArrowPrimitiveType;

use super::fixed::{Fixed, timestamp_at};
use crate::column::ColumnBuilder;
use crate::temporal::{Date, DateTime, Time, fraction_unit};

/// Reads one value of a row or key, at a place fixed beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Narrow {
    /// Offset at which the window of eight bytes begins.
    window: usize,
    /// Offset at which the value ends.
    end: usize,
    big_endian: bool,
    /// Left shift that brings the value's first bit to the top.
    up: u32,
    /// Mask that undoes a key's flipped bits, once they are at the top.
    flip: u64,
    /// Right shift that brings the value's last bit to the bottom.
    down: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Decimal { scale: u8, beyond: u64 },
    Double,
    Single,
    Date,
    Time { unit: i64 },
    Timestamp { unit: i64 },
    DateTime { unit: i64, last: u64 },
}

const WINDOW: usize = 8;
/// The most rows that one call reads: a word of NULL bits has as many bits.
pub(crate) const RUN: usize = 64;
const SIGN: u64 = 1 << 63;

impl Narrow {
    /// Makes a reader of a value at `at` in a row; None if the value is longer than 8 bytes.
    pub(crate) fn in_row(fixed: Fixed, at: usize) -> Option<Self> {
        Self::new(fixed, at, false, 0)
    }

    /// Makes a reader of a value at `at` in a key, each byte XORed with `mask`; None for a DOUBLE or FLOAT, or if the
    /// value is longer than 8 bytes.
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
            Fixed::Timestamp { fsp } => Kind::Timestamp { unit: fraction_unit(fsp) },
            Fixed::Date => Kind::Date,
            Fixed::DateTime { fsp } => {
                let unit = fraction_unit(fsp);
                Kind::DateTime { unit, last: (DateTime::MAX.ordinal() / unit) as u64 }
            }
        };
        Some(Narrow { window, end: at + width, big_endian, up, flip, down, kind })
    }

    /// Returns the value with its first bit at the top; the bits below the value are arbitrary.
    #[inline]
    fn top(&self, bytes: &[u8]) -> Option<u64> {
        let window = *bytes.get(self.window..)?.first_chunk::<WINDOW>()?;
        let raw = if self.big_endian { u64::from_be_bytes(window) } else { u64::from_le_bytes(window) };
        Some((raw << self.up) ^ self.flip)
    }

    /// Returns the value of a row as a number that orders as values do: the bytes of an ascending key, read
    /// big-endian. None if the general path must read it.
    #[inline]
    pub fn ordered(&self, row: &[u8]) -> Option<u64> {
        Some((self.top(row)? ^ self.sign()) >> self.down)
    }

    /// Whether numbers of [`ordered`](Self::ordered) from this reader and from `other` compare as the values do.
    pub fn orders_as(&self, other: &Narrow) -> bool {
        self.has_order() && self.kind == other.kind
    }

    /// Whether [`ordered`](Self::ordered) numbers compare as the values do.
    pub fn has_order(&self) -> bool {
        !matches!(self.kind, Kind::Double | Kind::Single)
    }

    #[inline]
    fn sign(&self) -> u64 {
        match self.kind {
            Kind::Signed | Kind::Decimal { .. } | Kind::Time { .. } => SIGN,
            _ => 0,
        }
    }

    /// Sets `tops` to the values of rows or keys that all begin with `prefix` and go on with one of `rests`, first
    /// bits at the top; the content is arbitrary where a bit of `nulls` is set. Returns false if the general path
    /// must read one of them.
    #[inline]
    fn tops(&self, prefix: &[u8], rests: &[&[u8]], nulls: u64, tops: &mut [u64]) -> bool {
        // The prefix cut off a key is the same in all of them.
        let cut = prefix.get(self.window..).unwrap_or_default();
        let (known, shift) = (word(cut), 8 * cut.len().min(WINDOW) as u32);
        let from = self.window.saturating_sub(prefix.len());
        for (at, (top, rest)) in tops.iter_mut().zip(rests).enumerate() {
            let window = rest.get(from..).unwrap_or_default();
            let raw = match window.first_chunk::<WINDOW>() {
                Some(bytes) if self.big_endian => u64::from_be_bytes(*bytes),
                Some(bytes) => u64::from_le_bytes(*bytes),
                None if self.big_endian && prefix.len() + rest.len() >= self.end => word(window),
                None if nulls & 1 << at != 0 => continue,
                None => return false,
            };
            *top = ((known | raw.checked_shr(shift).unwrap_or(0)) << self.up) ^ self.flip;
        }
        true
    }

    /// Appends the values of up to [`RUN`] rows or keys, which all begin with `prefix` and go on with `rests`, and
    /// NULL where a bit of `nulls` is set. Returns false, and appends nothing, if one of them needs the general path.
    pub(crate) fn append_all(
        &self,
        prefix: &[u8],
        rests: &[&[u8]],
        nulls: u64,
        out: &mut ColumnBuilder,
    ) -> bool {
        let mut tops = [0; RUN];
        let Some(tops) = tops.get_mut(..rests.len()) else { return false };
        if !self.tops(prefix, rests, nulls, tops) {
            return false;
        }
        if nulls != 0 {
            // The bytes under a NULL may be no valid value, so a valid value takes their place.
            let Some(value) = (0..tops.len()).find(|row| nulls & 1 << row == 0).map(|row| tops[row]) else {
                (0..tops.len()).for_each(|_| out.push_null());
                return true;
            };
            tops.iter_mut()
                .enumerate()
                .filter(|(row, _)| nulls & 1 << row != 0)
                .for_each(|(_, top)| *top = value);
        }
        let down = self.down;
        let signed = |top: u64| (top as i64) >> down;
        let unsigned = |top: u64| top >> down;
        match (self.kind, out) {
            (Kind::Signed, ColumnBuilder::Int64(b)) => fill(b, tops, nulls, signed),
            (Kind::Unsigned, ColumnBuilder::UInt64(b)) => fill(b, tops, nulls, unsigned),
            (Kind::Decimal { scale, beyond }, ColumnBuilder::Decimal128(b, (_, to))) => {
                if scale != *to || !tops.iter().all(|top| signed(*top).unsigned_abs() < beyond) {
                    return false;
                }
                fill(b, tops, nulls, |top| signed(top).into());
            }
            (Kind::Double, ColumnBuilder::Float64(b)) => {
                fill(b, tops, nulls, |top| f64::from_bits(unsigned(top)))
            }
            (Kind::Single, ColumnBuilder::Float64(b)) => {
                fill(b, tops, nulls, |top| f32::from_bits(unsigned(top) as u32).into());
            }
            (Kind::Timestamp { unit }, ColumnBuilder::Timestamp(b)) => {
                // The value has at most seven bytes, so it fits an i64.
                let time = |top: u64| (unsigned(top) as i64).checked_mul(unit).and_then(timestamp_at);
                if !tops.iter().all(|top| time(*top).is_some()) {
                    return false;
                }
                fill(b, tops, nulls, |top| time(top).map_or(0, DateTime::ordinal));
            }
            (Kind::Time { unit }, ColumnBuilder::Duration(b)) => {
                let limit = Time::MAX.micros() / unit;
                if !tops.iter().all(|top| (-limit..=limit).contains(&signed(*top))) {
                    return false;
                }
                fill(b, tops, nulls, |top| signed(top) * unit);
            }
            (Kind::Date, ColumnBuilder::Date32(b)) => {
                let last = Date::MAX.ordinal() as u64;
                if !tops.iter().all(|top| unsigned(*top) <= last) {
                    return false;
                }
                fill(b, tops, nulls, |top| unsigned(top) as i32);
            }
            (Kind::DateTime { unit, last }, ColumnBuilder::Timestamp(b)) => {
                if !tops.iter().all(|top| unsigned(*top) <= last) {
                    return false;
                }
                fill(b, tops, nulls, |top| unsigned(top) as i64 * unit);
            }
            _ => return false,
        }
        true
    }

    /// Appends the value; returns false, and appends nothing, if it needs the general path.
    #[inline]
    pub(crate) fn append(&self, bytes: &[u8], out: &mut ColumnBuilder) -> bool {
        let Some(top) = self.top(bytes) else { return false };
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
            (Kind::Timestamp { unit }, ColumnBuilder::Timestamp(b)) => {
                // The value has at most seven bytes, so it fits an i64.
                let Some(time) = (unsigned as i64).checked_mul(unit).and_then(timestamp_at) else {
                    return false;
                };
                b.append_value(time.ordinal());
            }
            (Kind::Time { unit }, ColumnBuilder::Duration(b)) => {
                let Some(time) = signed.checked_mul(unit).and_then(Time::from_micros) else { return false };
                b.append_value(time.micros());
            }
            (Kind::Date, ColumnBuilder::Date32(b)) => {
                let Some(date) = i32::try_from(unsigned).ok().and_then(Date::from_ordinal) else {
                    return false;
                };
                b.append_value(date.ordinal());
            }
            (Kind::DateTime { unit, last }, ColumnBuilder::Timestamp(b)) if unsigned <= last => {
                b.append_value(unsigned as i64 * unit);
            }
            _ => return false,
        }
        true
    }
}

/// Reads the first eight bytes as a big-endian number, with zeros for missing bytes.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Some(all) = bytes.first_chunk::<WINDOW>() {
        return u64::from_be_bytes(*all);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // Two four-byte pieces, which overlap.
        let last = u64::from(u32::from_be_bytes(*last)) << (8 * (WINDOW - bytes.len()));
        return u64::from(u32::from_be_bytes(*first)) << 32 | last;
    }
    let mut wide = [0; WINDOW];
    wide.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    u64::from_be_bytes(wide)
}

/// Appends `value(top)` for each of `tops`, and NULL where a bit of `nulls` is set.
#[inline(always)]
fn fill<T: ArrowPrimitiveType>(
    out: &mut PrimitiveBuilder<T>,
    tops: &[u64],
    nulls: u64,
    value: impl Fn(u64) -> T::Native,
) {
    let mut values = [T::Native::default(); RUN];
    let Some(values) = values.get_mut(..tops.len()) else { return };
    values.iter_mut().zip(tops).for_each(|(to, top)| *to = value(*top));
    if nulls == 0 {
        return out.append_slice(values);
    }
    let mut valid = [true; RUN];
    valid.iter_mut().enumerate().for_each(|(row, valid)| *valid = nulls & 1 << row == 0);
    out.append_values(values, &valid[..tops.len()]);
}
