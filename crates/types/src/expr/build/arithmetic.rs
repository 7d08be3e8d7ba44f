//! Types of `+ - * / DIV %` and of the sign.
//!
//! A DOUBLE or a string on either side makes the result DOUBLE; else a DECIMAL makes it DECIMAL; integers give
//! BIGINT, unsigned if one side is. A date is the integer YYYYMMDD, a datetime YYYYMMDDhhmmss (a DECIMAL if it has a
//! fraction). Precision grows as MySQL lets it: for DECIMAL(p1,s1) and DECIMAL(p2,s2),
//!
//! | op    | scale                 | digits before the point                |
//! |-------|-----------------------|----------------------------------------|
//! | `+ -` | max(s1, s2)           | max(p1 - s1, p2 - s2) + 1              |
//! | `*`   | s1 + s2, at most 30   | p1 - s1 + p2 - s2                      |
//! | `/`   | s1 + 4, at most 30    | p1 - s1 + s2                           |
//! | `%`   | max(s1, s2)           | p1 - s1                                |
//!
//! and 65 digits at most.

use super::types::decimal_digits;
use crate::decimal::{DIVISION_SCALE_INCREMENT, Decimal, MAX_PRECISION, MAX_SCALE};
use crate::error::MysqlError;
use crate::expr::ir::{ArithmeticOp, Expr, ExprKind};
use crate::value::{ExprType, SqlType, Value};

/// Whether an operand takes part as an integer.
fn is_integral(operand: &Expr) -> bool {
    operand.ty.sql.is_integer()
        || matches!(operand.ty.sql, SqlType::Null | SqlType::Date | SqlType::DateTime { fsp: 0 })
}

/// `left op right`.
pub fn arithmetic(op: ArithmeticOp, left: Expr, right: Expr) -> Result<Expr, MysqlError> {
    let sql = result_type(op, &left, &right);
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo);
    let nullable = divides || left.ty.nullable || right.ty.nullable;
    Ok(Expr {
        kind: ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right) },
        ty: ExprType::numeric(sql, nullable),
    })
}

fn result_type(op: ArithmeticOp, left: &Expr, right: &Expr) -> SqlType {
    let either_unsigned = left.ty.sql.is_unsigned() || right.ty.sql.is_unsigned();
    if op == ArithmeticOp::IntegerDivide {
        return SqlType::BigInt { unsigned: either_unsigned };
    }
    let (Some((p1, s1)), Some((p2, s2))) = (decimal_digits(left), decimal_digits(right)) else {
        return SqlType::Double;
    };
    if is_integral(left) && is_integral(right) && op != ArithmeticOp::Divide {
        let unsigned = if op == ArithmeticOp::Modulo { left.ty.sql.is_unsigned() } else { either_unsigned };
        return SqlType::BigInt { unsigned };
    }
    let (whole1, whole2) = (p1.saturating_sub(s1), p2.saturating_sub(s2));
    let (scale, whole) = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => (s1.max(s2), whole1.max(whole2) + 1),
        ArithmeticOp::Multiply => ((s1 + s2).min(MAX_SCALE), whole1 + whole2),
        ArithmeticOp::Divide => ((s1 + DIVISION_SCALE_INCREMENT).min(MAX_SCALE), whole1 + s2),
        ArithmeticOp::Modulo | ArithmeticOp::IntegerDivide => (s1.max(s2), whole1),
    };
    let precision = (whole + scale).clamp(1, MAX_PRECISION);
    SqlType::Decimal { precision, scale, unsigned: false }
}

/// `-operand`. The negative of a literal is a literal.
pub fn negate(operand: Expr) -> Result<Expr, MysqlError> {
    let nullable = operand.ty.nullable;
    let negated = match operand.as_literal() {
        Some(Value::Int(v)) => v.checked_neg().map(Value::Int),
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
        SqlType::Decimal { precision, scale, unsigned: false }
    } else {
        SqlType::Double
    };
    Ok(Expr { kind: ExprKind::Negate(Box::new(operand)), ty: ExprType::numeric(sql, nullable) })
}
