//! Reads numbers from text: like MySQL, the longest number at the front, after spaces.

use crate::decimal::Decimal;

/// The number at the front of a text, and what was wrong with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix<T> {
    /// The number; 0 if there is none, the nearest limit if it is out of range.
    pub value: T,
    /// The text does not begin with a number.
    pub missing: bool,
    /// Something other than spaces follows the number.
    pub garbage: bool,
    /// The number is beyond the limits of its type.
    pub overflow: bool,
}

impl<T> Prefix<T> {
    /// Whether the whole text is a number within range.
    pub fn is_clean(&self) -> bool {
        !(self.missing || self.garbage || self.overflow)
    }
}

fn only_spaces(text: &[u8]) -> bool {
    text.trim_ascii_start().is_empty()
}

/// Reads the decimal at the front of `text`.
pub fn decimal_prefix(text: &[u8]) -> Prefix<Decimal> {
    let text = text.trim_ascii_start();
    let found = Decimal::parse_prefix(text);
    Prefix {
        value: found.value,
        missing: found.consumed == 0,
        garbage: !only_spaces(&text[found.consumed..]),
        overflow: found.overflow,
    }
}

/// Reads the double at the front of `text`; out of range, the largest or smallest double.
pub fn f64_prefix(text: &[u8]) -> Prefix<f64> {
    let text = text.trim_ascii_start();
    // Decimals and doubles share a grammar: sign, digits, point, digits, exponent.
    let len = Decimal::parse_prefix(text).consumed;
    let number = std::str::from_utf8(&text[..len]).expect("ASCII");
    let value: f64 = number.parse().unwrap_or(0.0);
    Prefix {
        value: value.clamp(f64::MIN, f64::MAX),
        missing: len == 0,
        garbage: !only_spaces(&text[len..]),
        overflow: value.is_infinite(),
    }
}

/// Reads the whole number at the front of `text` as CAST does: it ends before a point or exponent, which are garbage.
/// Clamps the value to 128 bits.
pub(super) fn whole_prefix(text: &[u8]) -> Prefix<i128> {
    let text = text.trim_ascii_start();
    let negative = text.first() == Some(&b'-');
    let start = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let digits = text[start..].iter().take_while(|b| b.is_ascii_digit());
    let (mut value, mut count) = (0i128, 0);
    for d in digits {
        value = value.saturating_mul(10).saturating_add((d - b'0').into());
        count += 1;
    }
    let end = if count > 0 { start + count } else { 0 };
    Prefix {
        value: if negative { -value } else { value },
        missing: count == 0,
        garbage: !only_spaces(&text[end..]),
        overflow: false,
    }
}
