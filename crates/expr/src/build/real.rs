//! The digits after the point that results of FLOAT(M, D) and DOUBLE(M, D) show.
//!
//! A FLOAT or DOUBLE that declares its digits passes them on to computed values, as long as the other operands have a
//! number of digits, too: `price * 2` has two for a DOUBLE(8,2), `price / 2` six, `SUM(price)` two. A plain FLOAT or
//! DOUBLE and a text show as many as their value needs, and so do values computed from them. Values are not rounded
//! to the digits that they show, but sums and averages are (MySQL stores those in columns of that type).
//!
//! Two numbers that both have a number of digits are compared as shown: FLOAT(6,3) 0.1, which is 0.100000001 as a
//! number, equals 0.1.

use leafline_types::decimal::{DIVISION_SCALE_INCREMENT, MAX_SCALE};
use leafline_types::value::SqlType;

/// Digits before the point of the widest computed number, with its sign and point, as MySQL counts them.
const WHOLE_DIGITS: u8 = 17;

/// Returns the DOUBLE type that shows `digits` digits after the point.
pub(crate) fn real(digits: Option<u8>) -> SqlType {
    match digits {
        Some(scale) if scale <= MAX_SCALE => SqlType::Real {
            single: false,
            digits: Some((WHOLE_DIGITS + scale, scale)),
            unsigned: false,
            zerofill: false,
        },
        _ => SqlType::Double,
    }
}

/// Returns the digits of a quotient or an average of numbers with `digits` digits.
pub(crate) fn digits_of_quotient(digits: Option<u8>) -> Option<u8> {
    digits.map(|digits| digits + DIVISION_SCALE_INCREMENT)
}

/// Returns the digits of a value that may come from any of these types.
pub(super) fn digits_of_any<'t>(types: impl IntoIterator<Item = &'t SqlType>) -> Option<u8> {
    let shown = |ty: &SqlType| match ty {
        SqlType::Real { digits, .. } => digits.map(|(_, scale)| scale),
        SqlType::Null => Some(0),
        ty => ty.decimal_precision().map(|_| ty.scale()),
    };
    types.into_iter().map(shown).try_fold(0, |most, digits| Some(digits?.max(most)))
}
