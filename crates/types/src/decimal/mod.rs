//! Exact numbers of up to 65 digits, up to 30 of them after the point: MySQL's DECIMAL.
//!
//! A decimal is an integer (`unscaled`) and a scale: `unscaled / 10^scale`. Equality, order and hash are those of the
//! number (1.0 = 1.00); the scale is kept for display and for the scales of results. A decimal takes 24 bytes. An
//! unscaled value is boxed if and only if it needs more than 128 bits (more than 38 digits), so each value has one
//! form. There is no negative zero.
//!
//! Arithmetic returns None beyond 65 digits; the caller reports error 1690 with the expression's text.

mod arithmetic;
mod text;
mod wide;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use arrow_buffer::i256;

pub use arithmetic::{division_scale, round_half_away_i128};
pub use text::PrefixParse;

/// The most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// The most digits after the point.
pub const MAX_SCALE: u8 = 30;
/// `div_precision_increment`'s default: how many digits `/` adds to the scale of its left operand.
pub const DIVISION_SCALE_INCREMENT: u8 = 4;

const POW10_I128: [i128; 39] = {
    let mut table = [1; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

const POW10_I256: [i256; 77] = {
    let mut table = [i256::ONE; 77];
    let mut i = 1;
    while i < 77 {
        table[i] = table[i - 1].wrapping_mul(i256::from_i128(10));
        i += 1;
    }
    table
};

/// Returns `10^n`; n is at most 38.
#[inline]
pub fn pow10_i128(n: u8) -> i128 {
    POW10_I128[usize::from(n)]
}

/// Returns `10^n`; n is at most 76.
#[inline]
pub fn pow10_i256(n: u8) -> i256 {
    POW10_I256[usize::from(n)]
}

/// An exact decimal number.
#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    /// An unscaled value of 128 bits, split into halves so that a decimal is aligned to 8 bytes, not 16.
    Small { scale: u8, low: u64, high: i64 },
    /// An unscaled value that needs more than 128 bits.
    Large { scale: u8, value: Box<i256> },
}

impl Decimal {
    /// 0 with scale 0.
    pub const ZERO: Decimal = Decimal(Repr::Small { scale: 0, low: 0, high: 0 });

    /// Makes `unscaled / 10^scale`; the scale is at most 30.
    #[inline]
    pub fn from_i128(unscaled: i128, scale: u8) -> Self {
        debug_assert!(scale <= MAX_SCALE);
        Decimal(Repr::Small { scale, low: unscaled as u64, high: (unscaled >> 64) as i64 })
    }

    /// Makes `unscaled / 10^scale`; None beyond 65 digits.
    #[inline]
    pub fn from_i256(unscaled: i256, scale: u8) -> Option<Self> {
        debug_assert!(scale <= MAX_SCALE);
        match unscaled.to_i128() {
            Some(small) => Some(Self::from_i128(small, scale)),
            None if unscaled.wrapping_abs() < pow10_i256(MAX_PRECISION) && unscaled != i256::MIN => {
                Some(Decimal(Repr::Large { scale, value: Box::new(unscaled) }))
            }
            None => None,
        }
    }

    /// Makes the whole number `v`.
    #[inline]
    pub fn from_i64(v: i64) -> Self {
        Self::from_i128(v.into(), 0)
    }

    /// Makes the whole number `v`.
    #[inline]
    pub fn from_u64(v: u64) -> Self {
        Self::from_i128(v.into(), 0)
    }

    /// Returns the integer `self * 10^scale`.
    #[inline]
    pub fn unscaled(&self) -> i256 {
        match &self.0 {
            Repr::Small { .. } => i256::from_i128(self.small().expect("a small number")),
            Repr::Large { value, .. } => **value,
        }
    }

    /// Returns the integer `self * 10^scale` if it fits 128 bits.
    #[inline]
    pub fn unscaled_i128(&self) -> Option<i128> {
        self.small()
    }

    #[inline]
    fn small(&self) -> Option<i128> {
        match self.0 {
            Repr::Small { low, high, .. } => Some((i128::from(high) << 64) | i128::from(low)),
            Repr::Large { .. } => None,
        }
    }

    /// Returns the number of digits after the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        match self.0 {
            Repr::Small { scale, .. } | Repr::Large { scale, .. } => scale,
        }
    }

    /// Returns the number of significant digits of the unscaled value, at least 1.
    pub fn digits(&self) -> u8 {
        let found = match self.small() {
            Some(v) => v.unsigned_abs().checked_ilog10(),
            None => self.unscaled().wrapping_abs().checked_ilog10(),
        };
        found.map_or(1, |log| log as u8 + 1)
    }

    /// Whether it is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.small() == Some(0)
    }

    /// Whether it is below zero.
    #[inline]
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { high, .. } => *high < 0,
            Repr::Large { value, .. } => value.is_negative(),
        }
    }

    /// Whether it has at most `precision - scale` digits before and `scale` after the point, not counting trailing
    /// zeros.
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        match self.round(i32::from(scale)) {
            Some(rounded) => rounded == *self && rounded.digits() <= precision,
            None => false,
        }
    }

    /// Returns the largest DECIMAL(precision, scale), which is all nines.
    pub fn max_value(precision: u8, scale: u8) -> Self {
        let nines = pow10_i256(precision.min(MAX_PRECISION)).wrapping_sub(i256::ONE);
        Self::from_i256(nines, scale).expect("as many nines as a number has digits")
    }

    /// Returns the unscaled value at a scale that is not smaller, if it fits 256 bits.
    fn unscaled_at(&self, scale: u8) -> Option<i256> {
        let grow = scale.checked_sub(self.scale())?;
        self.unscaled().checked_mul(pow10_i256(grow))
    }

    /// Returns the unscaled value at a scale that is not smaller, if it fits 128 bits.
    #[inline]
    fn small_at(&self, scale: u8) -> Option<i128> {
        let grow = scale.checked_sub(self.scale())?;
        if grow == 0 {
            return self.small();
        }
        self.small()?.checked_mul(pow10_i128(grow))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale().max(other.scale());
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale)) {
            return a.cmp(&b);
        }
        match (self.unscaled_at(scale), other.unscaled_at(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // The value that does not fit has more than 76 digits at this scale; the other has at most 65, or does
            // not fit either.
            (None, _) if self.is_negative() => Ordering::Less,
            (None, _) => Ordering::Greater,
            (_, None) if other.is_negative() => Ordering::Greater,
            (_, None) => Ordering::Less,
        }
    }
}

impl Hash for Decimal {
    /// Hashes the number without trailing zeros, so that 1.0 and 1.00 hash alike.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut scale = self.scale();
        if let Some(mut v) = self.small() {
            while scale > 0 && v % 10 == 0 {
                v /= 10;
                scale -= 1;
            }
            return (v, scale).hash(state);
        }
        let (mut v, ten) = (self.unscaled(), i256::from_i128(10));
        while scale > 0 && v.wrapping_rem(ten) == i256::ZERO {
            v = v.wrapping_div(ten);
            scale -= 1;
        }
        match v.to_i128() {
            Some(small) => (small, scale).hash(state),
            None => (v.to_parts(), scale).hash(state),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
