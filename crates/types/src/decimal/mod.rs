//! Exact numbers of up to 65 digits, up to 30 of them after the point: MySQL's DECIMAL.
//!
//! A decimal is an integer (`unscaled`) and a scale: `unscaled / 10^scale`. Equality, order and hash are those of
//! the number (1.0 = 1.00); the scale is kept for display and for the scales of results. 24 bytes: an unscaled
//! value beyond 128 bits, more than 38 digits, is boxed.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use arrow_buffer::i256;

/// The most digits a DECIMAL has.
pub const MAX_PRECISION: u8 = 65;
/// The most digits after the point.
pub const MAX_SCALE: u8 = 30;
/// `div_precision_increment`'s default: how many digits `/` adds to the scale of its left side.
pub const DIVISION_SCALE_INCREMENT: u8 = 4;

/// An exact decimal number.
#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    Small { scale: u8, low: u64, high: i64 },
    Large { scale: u8, value: Box<i256> },
}

impl Decimal {
    /// `unscaled / 10^scale`.
    pub fn from_i128(unscaled: i128, scale: u8) -> Self {
        Decimal(Repr::Small { scale, low: unscaled as u64, high: (unscaled >> 64) as i64 })
    }
    /// `unscaled / 10^scale`; None beyond 65 digits.
    pub fn from_i256(unscaled: i256, scale: u8) -> Option<Self> {
        let _ = Repr::Large { scale, value: Box::new(unscaled) };
        todo!()
    }
    /// The whole number `v`.
    pub fn from_i64(v: i64) -> Self {
        Self::from_i128(v.into(), 0)
    }
    /// The whole number `v`.
    pub fn from_u64(v: u64) -> Self {
        Self::from_i128(v.into(), 0)
    }
    /// The decimal nearest to `v` that its shortest decimal form says; None if beyond 65 digits or not finite.
    pub fn from_f64(v: f64) -> Option<Self> {
        let _ = v;
        todo!()
    }
    /// Reads `[+-]digits[.digits][e[+-]digits]`, all of `text`; None if it is anything else or beyond 65 digits.
    /// Digits beyond the 30th after the point are rounded away.
    pub fn parse(text: &str) -> Option<Self> {
        let _ = text;
        todo!()
    }
    /// The integer `self * 10^scale`.
    pub fn unscaled(&self) -> i256 {
        todo!()
    }
    /// The same if it fits.
    pub fn unscaled_i128(&self) -> Option<i128> {
        todo!()
    }
    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        match self.0 {
            Repr::Small { scale, .. } | Repr::Large { scale, .. } => scale,
        }
    }
    /// Significant digits of the unscaled value, at least 1.
    pub fn digits(&self) -> u8 {
        todo!()
    }
    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        todo!()
    }
    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        todo!()
    }
    /// `-self`.
    pub fn negate(&self) -> Self {
        todo!()
    }
    /// `|self|`.
    pub fn abs(&self) -> Self {
        todo!()
    }
    /// `self + other`, of the larger scale; None beyond 65 digits.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let _ = other;
        todo!()
    }
    /// `self - other`, of the larger scale; None beyond 65 digits.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        let _ = other;
        todo!()
    }
    /// `self * other`, of both scales added (at most 30, rounded); None beyond 65 digits.
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        let _ = other;
        todo!()
    }
    /// `self / other` with `scale` digits after the point, rounded; None if `other` is zero or beyond 65 digits.
    pub fn checked_div(&self, other: &Self, scale: u8) -> Option<Self> {
        let _ = (other, scale);
        todo!()
    }
    /// The whole part of `self / other` (DIV); None if `other` is zero or beyond 65 digits.
    pub fn checked_div_integer(&self, other: &Self) -> Option<Self> {
        let _ = other;
        todo!()
    }
    /// The remainder of DIV, with the sign of `self`; None if `other` is zero.
    pub fn checked_rem(&self, other: &Self) -> Option<Self> {
        let _ = other;
        todo!()
    }
    /// Rounded half away from zero to `scale` digits after the point (negative: before it), of that scale.
    pub fn round(&self, scale: i32) -> Option<Self> {
        let _ = scale;
        todo!()
    }
    /// Cut to `scale` digits after the point (negative: before it).
    pub fn truncate(&self, scale: i32) -> Option<Self> {
        let _ = scale;
        todo!()
    }
    /// The greatest whole number not above it.
    pub fn floor(&self) -> Option<Self> {
        todo!()
    }
    /// The least whole number not below it.
    pub fn ceil(&self) -> Option<Self> {
        todo!()
    }
    /// Whether it has at most `precision - scale` digits before and `scale` after the point.
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        let _ = (precision, scale);
        todo!()
    }
    /// The greatest DECIMAL(precision, scale): all nines.
    pub fn max_value(precision: u8, scale: u8) -> Self {
        let _ = (precision, scale);
        todo!()
    }
    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        todo!()
    }
    /// Rounded half away from zero to a whole number, if it fits.
    pub fn to_i64(&self) -> Option<i64> {
        todo!()
    }
    /// Rounded half away from zero to a whole number, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        todo!()
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
    fn cmp(&self, _other: &Self) -> Ordering {
        todo!()
    }
}
impl Hash for Decimal {
    fn hash<H: Hasher>(&self, _state: &mut H) {
        todo!()
    }
}
impl fmt::Display for Decimal {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
