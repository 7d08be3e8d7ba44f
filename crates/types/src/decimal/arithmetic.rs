//! `+ - * / DIV %` and rounding, with MySQL's rules for the scale of results.
//!
//! Each operation tries 128 bits first, then 256 (`i256`), then 512 (`wide`) where an intermediate result can be
//! longer than the final one.

use arrow_buffer::i256;

use super::wide::{Wide, magnitude, to_i256};
use super::{Decimal, MAX_SCALE, pow10_i128, pow10_i256};

/// Digits per word of MySQL's own decimals, which decides the digits that a division keeps.
const WORD: u8 = 9;

/// Returns how many digits after the point MySQL keeps of a quotient within an expression: whole words of nine
/// digits, at least `left + increment`. (So `1/3*3` is 1.0000, not 0.9999.) Where the value leaves the expression it
/// is rounded to `left + increment`, its type's scale.
pub fn division_scale(left: u8, right: u8, increment: u8) -> u8 {
    let (left_words, right_words) = (left.next_multiple_of(WORD), right.next_multiple_of(WORD));
    let spare = (left_words - left) + (right_words - right);
    let scale = (left_words + right_words + increment.saturating_sub(spare)).next_multiple_of(WORD);
    scale.min(MAX_SCALE)
}

/// Returns `v / 10^drop`, rounded half away from zero; `drop` is at most 38.
#[inline]
pub fn round_half_away_i128(v: i128, drop: u8) -> i128 {
    let unit = pow10_i128(drop);
    let (quotient, rest) = (v / unit, v % unit);
    // unit - |rest| cannot overflow where 2 * |rest| could.
    if rest != 0 && unit - rest.abs() <= rest.abs() { quotient + rest.signum() } else { quotient }
}

fn round_half_away_i256(v: i256, drop: u8) -> i256 {
    let unit = pow10_i256(drop);
    let (quotient, rest) = v.wrapping_div_rem(unit);
    let magnitude = rest.wrapping_abs();
    if rest != i256::ZERO && unit.wrapping_sub(magnitude) <= magnitude {
        quotient.wrapping_add(rest.signum())
    } else {
        quotient
    }
}

impl Decimal {
    /// Returns `-self`.
    pub fn negate(&self) -> Self {
        match self.unscaled_i128().and_then(i128::checked_neg) {
            Some(v) => Self::from_i128(v, self.scale()),
            // 65 digits are far from the limits of 256 bits.
            None => Self::from_i256(self.unscaled().wrapping_neg(), self.scale()).expect("65 digits"),
        }
    }

    /// Returns `|self|`.
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// Returns `self + other` with the larger scale; None beyond 65 digits.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let scale = self.scale().max(other.scale());
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale))
            && let Some(sum) = a.checked_add(b)
        {
            return Some(Self::from_i128(sum, scale));
        }
        Self::from_i256(self.unscaled_at(scale)?.checked_add(other.unscaled_at(scale)?)?, scale)
    }

    /// Returns `self - other` with the larger scale; None beyond 65 digits.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        let scale = self.scale().max(other.scale());
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale))
            && let Some(difference) = a.checked_sub(b)
        {
            return Some(Self::from_i128(difference, scale));
        }
        Self::from_i256(self.unscaled_at(scale)?.checked_sub(other.unscaled_at(scale)?)?, scale)
    }

    /// Returns `self * other` with the sum of the scales (rounded to 30 if it is larger); None beyond 65 digits.
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        let exact = self.scale() + other.scale();
        let drop = exact.saturating_sub(MAX_SCALE);
        let scale = exact - drop;
        if drop == 0 {
            if let (Some(a), Some(b)) = (self.unscaled_i128(), other.unscaled_i128())
                && let Some(product) = a.checked_mul(b)
            {
                return Some(Self::from_i128(product, scale));
            }
            return Self::from_i256(self.unscaled().checked_mul(other.unscaled())?, scale);
        }
        let product = magnitude(self.unscaled()).checked_mul(magnitude(other.unscaled()))?;
        divide_wide(
            product,
            magnitude(pow10_i256(drop)),
            self.is_negative() != other.is_negative(),
            scale,
            true,
        )
    }

    /// Returns `self / other` with `scale` digits after the point, at most 30, rounded half away from zero. None if
    /// `other` is zero, or beyond 65 digits. With the scale of the result's type this computes `/` and AVG at the top
    /// of an expression; [`Decimal::checked_div_within`] computes `/` inside of one.
    pub fn checked_div(&self, other: &Self, scale: u8) -> Option<Self> {
        self.divide(other, scale.min(MAX_SCALE), true)
    }

    /// Returns `self / other` as MySQL computes it within an expression: cut, not rounded, at [`division_scale`]
    /// digits, or fewer if it would be longer than 65 digits. None if `other` is zero, or if the quotient does not
    /// fit with the `scale + increment` digits of its type.
    pub fn checked_div_within(&self, other: &Self, increment: u8) -> Option<Self> {
        let most = division_scale(self.scale(), other.scale(), increment);
        let least = (self.scale() + increment).min(MAX_SCALE);
        self.divide(other, most, false).or_else(|| self.divide(other, least, false))
    }

    /// Returns `self / other` with `scale` digits after the point; rounds or cuts the others.
    fn divide(&self, other: &Self, scale: u8, rounded: bool) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        // self / other = (u1 / 10^s1) / (u2 / 10^s2); times 10^scale: u1 * 10^(scale + s2 - s1) / u2.
        let (numerator_scale, up) = (self.scale(), scale + other.scale());
        if let (Some(up @ 0..=38), Some(a), Some(b)) =
            (up.checked_sub(numerator_scale), self.unscaled_i128(), other.unscaled_i128())
            && let Some(dividend) = a.checked_mul(pow10_i128(up))
            && let (Some(quotient), Some(rest)) = (dividend.checked_div(b), dividend.checked_rem(b))
        {
            let (rest, b_abs) = (rest.unsigned_abs(), b.unsigned_abs());
            let away = if rounded && b_abs - rest <= rest { (a.signum() * b.signum()) as i8 } else { 0 };
            return Some(Self::from_i128(quotient.checked_add(away.into())?, scale));
        }
        let (mut dividend, mut divisor) = (magnitude(self.unscaled()), magnitude(other.unscaled()));
        let power = |n| magnitude(pow10_i256(n));
        match up.checked_sub(numerator_scale) {
            Some(up) => dividend = dividend.checked_mul(power(up))?,
            None => divisor = divisor.checked_mul(power(numerator_scale - up))?,
        }
        divide_wide(dividend, divisor, self.is_negative() != other.is_negative(), scale, rounded)
    }

    /// Returns the whole part of `self / other` (DIV) with scale 0; None if `other` is zero, or beyond 65 digits.
    pub fn checked_div_integer(&self, other: &Self) -> Option<Self> {
        self.divide(other, 0, false)
    }

    /// Returns the remainder of DIV, with the sign of `self` and the larger scale; None if `other` is zero, or beyond
    /// 65 digits.
    pub fn checked_rem(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale)) {
            // i128::MIN % -1 overflows; the remainder of -1 is 0.
            return Some(Self::from_i128(a.checked_rem(b).unwrap_or(0), scale));
        }
        let grow = |v: &Self| {
            let by = magnitude(pow10_i256(scale - v.scale()));
            magnitude(v.unscaled()).checked_mul(by)
        };
        let (_, rest) = grow(self)?.div_rem(grow(other)?);
        Self::from_i256(to_i256(rest, self.is_negative())?, scale)
    }

    /// Rounds half away from zero to `scale` digits after the point; a negative scale rounds
    /// before the point and gives scale 0. None beyond 65 digits.
    pub fn round(&self, scale: i32) -> Option<Self> {
        self.rescale(scale, round_half_away_i128, round_half_away_i256)
    }

    /// Cuts to `scale` digits after the point; a negative scale cuts before the point and gives
    /// scale 0. None beyond 65 digits.
    pub fn truncate(&self, scale: i32) -> Option<Self> {
        let cut = |v: i128, drop| v / pow10_i128(drop);
        let cut_wide = |v: i256, drop| v.wrapping_div(pow10_i256(drop));
        self.rescale(scale, cut, cut_wide)
    }

    fn rescale(
        &self,
        scale: i32,
        drop_i128: impl Fn(i128, u8) -> i128,
        drop_i256: impl Fn(i256, u8) -> i256,
    ) -> Option<Self> {
        let target = scale.clamp(0, MAX_SCALE.into()) as u8;
        let drop = i32::from(self.scale()) - scale.min(MAX_SCALE.into());
        if drop <= 0 {
            return match self.small_at(target) {
                Some(v) => Some(Self::from_i128(v, target)),
                None => Self::from_i256(self.unscaled_at(target)?, target),
            };
        }
        // Dropping more than 76 digits leaves nothing, and rounds nothing up.
        let Some(drop) = u8::try_from(drop).ok().filter(|&d| d <= 76) else {
            return Some(Self::from_i128(0, target));
        };
        // Zeros take the place of digits dropped before the point.
        let refill = pow10_i256((-scale).clamp(0, 76) as u8);
        if scale >= 0
            && drop <= 38
            && let Some(v) = self.unscaled_i128()
        {
            return Some(Self::from_i128(drop_i128(v, drop), target));
        }
        Self::from_i256(drop_i256(self.unscaled(), drop).checked_mul(refill)?, target)
    }

    /// Returns the largest whole number that is not above it; None beyond 65 digits.
    pub fn floor(&self) -> Option<Self> {
        let whole = self.truncate(0)?;
        if whole > *self { whole.checked_sub(&Self::from_i64(1)) } else { Some(whole) }
    }

    /// Returns the smallest whole number that is not below it; None beyond 65 digits.
    pub fn ceil(&self) -> Option<Self> {
        let whole = self.truncate(0)?;
        if whole < *self { whole.checked_add(&Self::from_i64(1)) } else { Some(whole) }
    }

    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        /// Up to this value every integer is a double. Every power of ten up to 10^22 is one, too.
        const EXACT: i128 = 1 << 53;
        match self.unscaled_i128() {
            Some(v) if v.abs() <= EXACT && self.scale() <= 22 => {
                // Only the division rounds: both operands are exact.
                v as f64 / pow10_i128(self.scale()) as f64
            }
            _ => self.to_string().parse().expect("decimal digits are a double"),
        }
    }

    /// Rounds half away from zero to a whole number; None if it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        self.round(0)?.unscaled_i128()?.try_into().ok()
    }

    /// Rounds half away from zero to a whole number; None if it does not fit.
    pub fn to_u64(&self) -> Option<u64> {
        self.round(0)?.unscaled_i128()?.try_into().ok()
    }
}

fn divide_wide(dividend: Wide, divisor: Wide, negative: bool, scale: u8, rounded: bool) -> Option<Decimal> {
    let (quotient, rest) = dividend.div_rem(divisor);
    let mut q = to_i256(quotient, false)?;
    // The rest is less than a divisor of at most 65 + 30 digits, so it can be doubled.
    if rounded && rest << 1 >= divisor {
        q = q.checked_add(i256::ONE)?;
    }
    Decimal::from_i256(if negative { q.wrapping_neg() } else { q }, scale)
}
