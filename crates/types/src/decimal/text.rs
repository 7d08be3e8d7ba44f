//! Reads decimals from text and writes them.

use std::fmt;

use arrow_buffer::i256;

use super::{Decimal, MAX_PRECISION, MAX_SCALE, pow10_i256};

/// The decimal at the front of a text.
#[derive(Debug, Clone)]
pub struct PrefixParse {
    /// The number; 0 if there is none, the largest or smallest decimal if it has more than 65 digits before the
    /// point.
    pub value: Decimal,
    /// The number of bytes that were read; 0 if there is no number.
    pub consumed: usize,
    /// The number has more than 65 digits before the point.
    pub overflow: bool,
    /// Digits other than 0 were rounded away.
    pub rounded: bool,
}

/// A limit far beyond the exponents that make a difference.
const MAX_EXPONENT: i64 = 10_000;

impl Decimal {
    /// Reads all of `text` as `[+-]digits[.digits][e[+-]digits]`; None if it is anything else, or beyond 65 digits.
    /// Rounds digits beyond the 30th after the point away.
    pub fn parse(text: &str) -> Option<Self> {
        let found = Self::parse_prefix(text.as_bytes());
        (found.consumed == text.len() && found.consumed > 0 && !found.overflow).then_some(found.value)
    }

    /// Reads the longest number at the front of `text`; spaces before it are not skipped.
    pub fn parse_prefix(text: &[u8]) -> PrefixParse {
        let none = PrefixParse { value: Self::ZERO, consumed: 0, overflow: false, rounded: false };
        let negative = text.first() == Some(&b'-');
        let start = usize::from(matches!(text.first(), Some(b'-' | b'+')));
        let whole = digits_from(text, start);
        let (mut end, mut fraction): (usize, &[u8]) = (start + whole.len(), &[]);
        if text.get(end) == Some(&b'.') {
            fraction = digits_from(text, end + 1);
            if !whole.is_empty() || !fraction.is_empty() {
                end += 1 + fraction.len();
            }
        }
        if whole.is_empty() && fraction.is_empty() {
            return none;
        }
        let (exponent, end) = exponent_from(text, end);
        assemble(whole, fraction, exponent, negative, end)
    }

    /// Returns the decimal that the shortest decimal form of `v` denotes; None if it is beyond 65 digits or not
    /// finite.
    pub fn from_f64(v: f64) -> Option<Self> {
        if !v.is_finite() {
            return None;
        }
        Self::parse(&format!("{v:e}"))
    }
}

fn digits_from(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    let len = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    &rest[..len]
}

/// Reads the exponent at `at`, 0 if there is none, and returns it with its end.
fn exponent_from(text: &[u8], at: usize) -> (i64, usize) {
    if !matches!(text.get(at), Some(b'e' | b'E')) {
        return (0, at);
    }
    let signed = matches!(text.get(at + 1), Some(b'-' | b'+'));
    let digits = digits_from(text, at + 1 + usize::from(signed));
    if digits.is_empty() {
        return (0, at);
    }
    let magnitude = digits.iter().fold(0, |n: i64, d| (n * 10 + i64::from(d - b'0')).min(MAX_EXPONENT));
    let negative = text.get(at + 1) == Some(&b'-');
    (if negative { -magnitude } else { magnitude }, at + 1 + usize::from(signed) + digits.len())
}

fn assemble(whole: &[u8], fraction: &[u8], exponent: i64, negative: bool, consumed: usize) -> PrefixParse {
    let sign = |v: i256| if negative { v.wrapping_neg() } else { v };
    // The number is 0.DIGITS * 10^point.
    let mut point = whole.len() as i64 + exponent;
    let all = whole.iter().chain(fraction);
    let leading_zeros = all.clone().take_while(|&&d| d == b'0').count();
    let digits = all.skip(leading_zeros);
    let count = (whole.len() + fraction.len() - leading_zeros) as i64;
    point -= leading_zeros as i64;
    if count > 0 && point > MAX_PRECISION.into() {
        let most = Decimal::max_value(MAX_PRECISION, 0);
        let value = if negative { most.negate() } else { most };
        return PrefixParse { value, consumed, overflow: true, rounded: false };
    }
    let before_point = if count > 0 { point.max(0) } else { 0 };
    let wanted = (fraction.len() as i64 - exponent).max(0);
    let scale = wanted.min(MAX_SCALE.into()).min(i64::from(MAX_PRECISION) - before_point) as u8;
    let kept = (point + i64::from(scale)).max(0);
    // Zeros between the point and the first digit are implied; the digits after the kept ones decide the rounding.
    let mut unscaled = i256::ZERO;
    let ten = i256::from_i128(10);
    let (mut taken, mut round_up, mut rounded) = (0, false, false);
    for (i, d) in digits.enumerate() {
        let digit = d - b'0';
        if (i as i64) < kept {
            unscaled = unscaled.wrapping_mul(ten).wrapping_add(i256::from_i128(digit.into()));
            taken += 1;
        } else {
            round_up |= i as i64 == kept && point + i64::from(scale) >= 0 && digit >= 5;
            rounded |= digit != 0;
        }
    }
    if count > 0 {
        unscaled = unscaled.wrapping_mul(pow10_i256((kept - taken) as u8));
    }
    if round_up {
        unscaled = unscaled.wrapping_add(i256::ONE);
    }
    match Decimal::from_i256(sign(unscaled), scale) {
        Some(value) => PrefixParse { value, consumed, overflow: false, rounded },
        // 65 nines that were rounded up have a digit too many, so the last one is dropped.
        None => {
            let shorter = unscaled.wrapping_div(ten);
            let value = scale.checked_sub(1).and_then(|s| Decimal::from_i256(sign(shorter), s));
            let overflow = value.is_none();
            let most = Decimal::max_value(MAX_PRECISION, 0);
            let most = if negative { most.negate() } else { most };
            PrefixParse { value: value.unwrap_or(most), consumed, overflow, rounded: true }
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0u8; 72];
        let start = self.write_backwards(&mut buffer);
        // Only ASCII was written.
        f.pad(std::str::from_utf8(&buffer[start..]).expect("ASCII"))
    }
}

impl Decimal {
    /// Writes sign, digits and point to the end of `buffer`; returns where they begin.
    fn write_backwards(&self, buffer: &mut [u8; 72]) -> usize {
        const CHUNK: u128 = 10_000_000_000_000_000_000; // 10^19, the most digits of a u64
        let (mut at, mut written, scale) = (buffer.len(), 0u8, self.scale());
        let mut put = |digit: u8| {
            at -= 1;
            buffer[at] = b'0' + digit;
            written += 1;
            if written == scale {
                at -= 1;
                buffer[at] = b'.';
            }
        };
        let least = scale + 1;
        let mut digits_left = self.digits().max(least);
        let mut rest = self.unscaled().wrapping_abs();
        while digits_left > 0 {
            let mut chunk = match rest.to_i128() {
                Some(v) => {
                    rest = i256::from_i128(v / CHUNK as i128);
                    (v as u128 % CHUNK) as u64
                }
                None => {
                    let (quotient, low) = rest.wrapping_div_rem(i256::from_i128(CHUNK as i128));
                    rest = quotient;
                    low.as_i128() as u64
                }
            };
            for _ in 0..digits_left.min(19) {
                put((chunk % 10) as u8);
                chunk /= 10;
            }
            digits_left -= digits_left.min(19);
        }
        if self.is_negative() {
            at -= 1;
            buffer[at] = b'-';
        }
        at
    }
}
