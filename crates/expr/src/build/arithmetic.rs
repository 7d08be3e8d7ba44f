//! Types of `+ - * / DIV %` and of the sign.
//!
//! A DOUBLE or a string on either side makes the result DOUBLE; otherwise a DECIMAL makes it DECIMAL; integers give
//! BIGINT, unsigned if one side is. A date counts as the integer YYYYMMDD, a datetime as YYYYMMDDhhmmss, a time as
//! hhmmss (DECIMALs if they have a fraction). `real` gives the digits that a DOUBLE shows. Precision grows as in
//! MySQL: for DECIMAL(p1,s1) and DECIMAL(p2,s2),
//!
//! | op    | scale                 | digits before the point                |
//! |-------|-----------------------|----------------------------------------|
//! | `+ -` | max(s1, s2)           | max(p1 - s1, p2 - s2) + 1              |
//! | `*`   | s1 + s2, at most 30   | p1 - s1 + p2 - s2                      |
//! | `/`   | s1 + 4, at most 30    | p1 - s1 + s2                           |
//! | `%`   | max(s1, s2)           | p1 - s1                                |
//!
//! and 65 digits at most. That is the result as it is shown and stored. MySQL computes quotients in words of nine
//! digits and continues with all of them: `1/3*3` is 0.333333333 * 3, shown as 1.0000. So an operand that contains a
//! quotient takes a type with all its digits ([`without_rounding`]), while the result's type follows the table. Only a
//! quotient whose divisor has such digits has as many more before the point, because its values need them; MySQL's
//! values exceed the type then.

use super::real::{digits_of_quotient, real};
use super::types::{common_type, decimal_digits, shown_digits};
use super::variable::read_as;
use crate::ir::{ArithmeticOp, Expr, ExprKind, FunctionId};
use leafline_types::decimal::{DIVISION_SCALE_INCREMENT, Decimal, MAX_PRECISION, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

/// Whether an operand counts as an integer.
fn is_integral(operand: &Expr) -> bool {
    operand.ty.sql.is_integer()
        || matches!(
            operand.ty.sql,
            SqlType::Null | SqlType::Date | SqlType::DateTime { fsp: 0 } | SqlType::Time { fsp: 0 }
        )
}

/// Makes `left op right`.
pub fn arithmetic(op: ArithmeticOp, left: Expr, right: Expr) -> Result<Expr, MysqlError> {
    let (left, right) = (super::number(left), super::number(right));
    let sql = result_type(op, &left, &right);
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo);
    let nullable = divides || left.ty.nullable || right.ty.nullable;
    let (left, right) = (read_as(left, &sql), read_as(right, &sql));
    let shown = right.ty.sql.scale();
    let (left, right) = (Box::new(without_rounding(left)), Box::new(without_rounding(right)));
    let sql = match sql {
        // A divisor with more digits than it shows can be smaller than the smallest number that it shows.
        SqlType::Decimal { precision, scale, .. } if op == ArithmeticOp::Divide => {
            let more = right.ty.sql.scale().saturating_sub(shown);
            SqlType::decimal((precision + more).min(MAX_PRECISION), scale)
        }
        sql => sql,
    };
    Ok(Expr { kind: ExprKind::Arithmetic { op, left, right }, ty: ExprType::numeric(sql, nullable) })
}

fn result_type(op: ArithmeticOp, left: &Expr, right: &Expr) -> SqlType {
    let either_unsigned = left.ty.sql.is_unsigned() || right.ty.sql.is_unsigned();
    if op == ArithmeticOp::IntegerDivide {
        return SqlType::BigInt { unsigned: either_unsigned };
    }
    let (Some((p1, s1)), Some((p2, s2))) = (decimal_digits(left), decimal_digits(right)) else {
        let digits = shown_digits(left).zip(shown_digits(right)).map(|(a, b)| a.max(b));
        return real(if op == ArithmeticOp::Divide { digits_of_quotient(digits) } else { digits });
    };
    if is_integral(left) && is_integral(right) && op != ArithmeticOp::Divide {
        let unsigned = if op == ArithmeticOp::Modulo { left.ty.sql.is_unsigned() } else { either_unsigned };
        return SqlType::BigInt { unsigned };
    }
    let scale_of_quotient = s1 + DIVISION_SCALE_INCREMENT;
    decimal_type(op, (p1, s1), (p2, s2), scale_of_quotient)
}

/// Returns the DECIMAL that `op` gives for operands of this precision and scale.
fn decimal_type(op: ArithmeticOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8), scale_of_quotient: u8) -> SqlType {
    let (whole1, whole2) = (p1.saturating_sub(s1), p2.saturating_sub(s2));
    let (scale, whole) = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => (s1.max(s2), whole1.max(whole2) + 1),
        ArithmeticOp::Multiply => ((s1 + s2).min(MAX_SCALE), whole1 + whole2),
        ArithmeticOp::Divide => (scale_of_quotient.min(MAX_SCALE), whole1 + s2),
        ArithmeticOp::Modulo | ArithmeticOp::IntegerDivide => (s1.max(s2), whole1),
    };
    let precision = (whole + scale).clamp(1, MAX_PRECISION);
    SqlType::decimal(precision, scale)
}

/// The digits in a word of MySQL's decimals.
const WORD: u8 = 9;

/// Returns how many digits after the point a quotient has before it is shown, for operands of these scales: all words
/// of both, and more if those do not hold the four more digits that `/` gives.
pub(crate) fn quotient_digits(s1: u8, s2: u8) -> u8 {
    let words = |scale: u8| scale.div_ceil(WORD) * WORD;
    let spare = words(s1) - s1 + words(s2) - s2;
    let more = DIVISION_SCALE_INCREMENT.saturating_sub(spare);
    words(words(s1) + words(s2) + more).min(MAX_SCALE)
}

/// Gives the operand of a computation or comparison all its digits: if it contains a quotient, also those beyond the
/// scale at which it would be shown.
pub fn without_rounding(mut operand: Expr) -> Expr {
    let SqlType::Decimal { scale: shown, .. } = operand.ty.sql else { return operand };
    let wider = match &mut operand.kind {
        ExprKind::Call { function, args } if function.definition().name == SHOWN => {
            return args.pop().unwrap_or(operand);
        }
        ExprKind::Call { function, args } if function.definition().keeps_digits => {
            take_all_digits(args.iter_mut());
            match (function.definition().type_rule)(args) {
                Ok(ty) => ty.sql,
                Err(_) => return operand,
            }
        }
        ExprKind::Coalesce(list) => {
            take_all_digits(list.iter_mut());
            match common_type("coalesce", &list.iter().map(|e| &e.ty).collect::<Vec<_>>()) {
                Ok(ty) => ty.sql,
                Err(_) => return operand,
            }
        }
        ExprKind::Case { whens, otherwise, .. } => {
            let results = whens.iter_mut().map(|when| &mut when.result);
            take_all_digits(results.chain(otherwise.iter_mut().map(|e| &mut **e)));
            let results = whens.iter().map(|when| &when.result.ty);
            let results: Vec<&ExprType> = results.chain(otherwise.iter().map(|e| &e.ty)).collect();
            match common_type("case", &results) {
                Ok(ty) => ty.sql,
                Err(_) => return operand,
            }
        }
        ExprKind::Arithmetic { op, left, right } => match (decimal_digits(left), decimal_digits(right)) {
            (Some(a), Some(b)) => decimal_type(*op, a, b, quotient_digits(a.1, b.1)),
            _ => return operand,
        },
        ExprKind::Negate(inner) => inner.ty.sql.clone(),
        _ => return operand,
    };
    if wider.scale() > shown {
        operand.ty.sql = wider;
    }
    operand
}

fn take_all_digits<'e>(operands: impl Iterator<Item = &'e mut Expr>) {
    for operand in operands {
        let taken = std::mem::replace(operand, super::null());
        *operand = without_rounding(taken);
    }
}

/// Rounds `operand`, which has all its digits, to those of the type `ty`; [`without_rounding`] undoes this.
pub fn shown(operand: Expr, ty: ExprType) -> Expr {
    match FunctionId::named(SHOWN) {
        Some(function) => Expr { kind: ExprKind::Call { function, args: vec![operand] }, ty },
        None => operand,
    }
}

/// Makes a difference of integers a signed number, as NO_UNSIGNED_SUBTRACTION asks.
pub fn signed(mut difference: Expr) -> Expr {
    if let SqlType::BigInt { unsigned } = &mut difference.ty.sql {
        *unsigned = false;
    }
    difference
}

/// Returns the operand of [`shown`], with all its digits.
pub fn operand_of_rounding(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Call { function, args } if function.definition().name == SHOWN => args.first(),
        _ => None,
    }
}

/// The function that rounds a value with all its digits to those that are shown.
pub(crate) const SHOWN: &str = "SHOWN DIGITS";

/// Makes `-operand`. The negative of a literal is a literal.
pub fn negate(operand: Expr) -> Result<Expr, MysqlError> {
    let operand = super::number(operand);
    let nullable = operand.ty.nullable;
    let negated = match operand.as_literal() {
        Some(Value::Int(v)) => {
            Some(v.checked_neg().map_or_else(|| Value::Decimal(Decimal::from_i64(*v).negate()), Value::Int))
        }
        Some(Value::UInt(v)) => Some(match 0i64.checked_sub_unsigned(*v) {
            Some(negative) => Value::Int(negative),
            None => Value::Decimal(Decimal::from_u64(*v).negate()),
        }),
        Some(Value::Decimal(d)) => Some(Value::Decimal(d.negate())),
        Some(Value::Double(d)) => Some(Value::Double(-d)),
        _ => None,
    };
    if let Some(v) = negated {
        return Ok(super::literal(v));
    }
    let sql = if is_integral(&operand) {
        SqlType::BIGINT
    } else if let Some((precision, scale)) = decimal_digits(&operand) {
        SqlType::decimal(precision, scale)
    } else {
        real(shown_digits(&operand))
    };
    Ok(Expr {
        kind: ExprKind::Negate(Box::new(without_rounding(operand))),
        ty: ExprType::numeric(sql, nullable),
    })
}
