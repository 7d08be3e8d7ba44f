//! The digits after the point that results of FLOAT(M, D) and DOUBLE(M, D) show.
//!
//! A FLOAT or DOUBLE that declares its digits passes them on to computed values, as long as the other operands have a
//! number of digits, too: `price * 2` has two for a DOUBLE(8,2), `price / 2` six, `SUM(price)` two. A plain FLOAT or
//! DOUBLE and a text show as many as their value needs, and so do values computed from them. Values are not rounded
//! to the digits that they show, but sums and averages are (MySQL stores those in columns of that type).
//!
//! Two numbers that both have a number of digits are compared as shown: FLOAT(6,3) 0.1, which is 0.100000001 as a
//! number, equals 0.1.

use super::types::decimal_digits;
use super::{call, literal};
use crate::ir::{Expr, ExprKind};
use leafline_types::decimal::{DIVISION_SCALE_INCREMENT, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

/// Digits before the point of the widest computed number, with its sign and point, as MySQL counts them.
const WHOLE_DIGITS: u8 = 17;

/// Returns the digits after the point that a number shows; `None` if that depends on its value.
pub(crate) fn shown_digits(operand: &Expr) -> Option<u8> {
    match &operand.ty.sql {
        SqlType::Real { digits, .. } => digits.map(|(_, scale)| scale),
        _ => decimal_digits(operand).map(|(_, scale)| scale),
    }
}

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

/// Rounds the sides of a comparison of numbers so that they are compared as shown.
///
/// # Errors
/// The errors of calling ROUND; none is known.
pub(super) fn as_shown(left: Expr, right: Expr) -> Result<(Expr, Expr), MysqlError> {
    let declares = |e: &Expr| matches!(e.ty.sql, SqlType::Real { digits: Some(_), .. });
    if !declares(&left) && !declares(&right) {
        return Ok((left, right));
    }
    let is_null = |e: &Expr| e.ty.sql == SqlType::Null;
    let (Some(digits), false) =
        (shown_digits(&left).zip(shown_digits(&right)), is_null(&left) || is_null(&right))
    else {
        return Ok((left, right));
    };
    let single = |e: &Expr| matches!(e.ty.sql, SqlType::Real { single: true, .. });
    Ok(match (single(&left), single(&right)) {
        (true, true) => (left, right),
        (true, false) => (left, as_single(right)),
        (false, true) => (as_single(left), right),
        (false, false) => {
            let digits = digits.0.max(digits.1);
            (rounded(left, digits)?, rounded(right, digits)?)
        }
    })
}

fn as_single(e: Expr) -> Expr {
    let ty = ExprType::numeric(SqlType::FLOAT, e.ty.nullable);
    Expr { kind: ExprKind::Cast { operand: Box::new(e) }, ty }
}

/// Rounds a computed DOUBLE to `digits` digits. Columns are rounded already.
fn rounded(e: Expr, digits: u8) -> Result<Expr, MysqlError> {
    if !e.ty.sql.is_real() || e.as_column().is_some() || e.as_literal().is_some() {
        return Ok(e);
    }
    call("ROUND", vec![e, literal(Value::Int(digits.into()))])
}
