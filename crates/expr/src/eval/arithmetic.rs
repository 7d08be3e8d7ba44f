//! Arithmetic on two values. Nothing wraps: a result out of range is error 1690, division by zero is NULL with
//! warning 1365.

use super::super::build::quotient_digits;
use super::super::context::EvalContext;
use super::super::ir::{ArithmeticOp, Expr};
use super::operand::{decimal, double, integer};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Makes error 1690 for the result of `e`, which it shows with the values of its parameters, as MySQL does.
#[cold]
fn out_of_range(e: &Expr, cx: &EvalContext<'_>) -> MysqlError {
    let kind = match e.ty.sql {
        SqlType::Double | SqlType::Real { .. } => "DOUBLE",
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::BigInt { unsigned: true } => "BIGINT UNSIGNED",
        _ => "BIGINT",
    };
    MysqlError::data_out_of_range(kind, e.with_parameters(cx.parameters))
}

/// Returns an integer of the type of `e`, or the error that it is out of range.
fn ranged(e: &Expr, v: Option<i128>, cx: &EvalContext<'_>) -> Result<Value, MysqlError> {
    let v = v.ok_or_else(|| out_of_range(e, cx))?;
    if e.ty.sql.is_unsigned() {
        u64::try_from(v).map(Value::UInt).map_err(|_| out_of_range(e, cx))
    } else {
        i64::try_from(v).map(Value::Int).map_err(|_| out_of_range(e, cx))
    }
}

/// Computes `left op right`, of the type of `e`.
pub(super) fn binary(
    e: &Expr,
    op: ArithmeticOp,
    left: &Value,
    right: &Value,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    match &e.ty.sql {
        ty if ty.is_real() => match double(left, cx)?.zip(double(right, cx)?) {
            Some((a, b)) => doubles(e, op, a, b, cx),
            None => Ok(Value::Null),
        },
        SqlType::Decimal { scale, .. } => match decimal(left, cx)?.zip(decimal(right, cx)?) {
            Some((a, b)) => decimals(e, op, &a, &b, *scale, cx),
            None => Ok(Value::Null),
        },
        _ => match integer(left).zip(integer(right)) {
            Some((a, b)) => integers(e, op, a, b, cx),
            // DIV of operands that are not integers.
            None => match decimal(left, cx)?.zip(decimal(right, cx)?) {
                Some((_, b)) if b.is_zero() => cx.division_by_zero().map(|()| Value::Null),
                Some((a, b)) => {
                    let quotient = a.checked_div_integer(&b).and_then(|q| q.unscaled_i128());
                    ranged(e, quotient, cx)
                }
                None => Ok(Value::Null),
            },
        },
    }
}

fn integers(
    e: &Expr,
    op: ArithmeticOp,
    a: i128,
    b: i128,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    let divides = matches!(op, ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo);
    if divides && b == 0 {
        return cx.division_by_zero().map(|()| Value::Null);
    }
    let result = match op {
        ArithmeticOp::Add => Some(a + b),
        ArithmeticOp::Subtract => Some(a - b),
        ArithmeticOp::Multiply => a.checked_mul(b),
        ArithmeticOp::IntegerDivide => Some(a / b),
        ArithmeticOp::Modulo => Some(a % b),
        ArithmeticOp::Divide => return Err(MysqlError::internal("a quotient typed as an integer")),
    };
    ranged(e, result, cx)
}

fn decimals(
    e: &Expr,
    op: ArithmeticOp,
    a: &Decimal,
    b: &Decimal,
    scale: u8,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    let result = match op {
        ArithmeticOp::Add => a.checked_add(b),
        ArithmeticOp::Subtract => a.checked_sub(b),
        ArithmeticOp::Multiply => a.checked_mul(b),
        _ if b.is_zero() => return cx.division_by_zero().map(|()| Value::Null),
        ArithmeticOp::Divide => quotient(a, b),
        ArithmeticOp::Modulo => a.checked_rem(b),
        ArithmeticOp::IntegerDivide => a.checked_div_integer(b),
    };
    at_scale(e, result, scale, cx)
}

/// Rescales a decimal to the scale of the result of `e`.
fn at_scale(e: &Expr, result: Option<Decimal>, scale: u8, cx: &EvalContext<'_>) -> Result<Value, MysqlError> {
    let result = result.ok_or_else(|| out_of_range(e, cx))?;
    if result.scale() == scale {
        return Ok(Value::Decimal(result));
    }
    result.round(scale.into()).map(Value::Decimal).ok_or_else(|| out_of_range(e, cx))
}

/// Returns `a / b` with as many digits as MySQL computes; cut, not rounded. `b` must not be zero.
fn quotient(a: &Decimal, b: &Decimal) -> Option<Decimal> {
    let digits = quotient_digits(a.scale(), b.scale());
    let unit = Decimal::from_i128(10i128.pow(digits.into()), 0);
    // The scaled dividend may exceed 65 digits although the quotient does not.
    let cut = a.checked_mul(&unit).and_then(|scaled| scaled.checked_div_integer(b));
    match cut {
        Some(cut) => Decimal::from_i256(cut.unscaled(), digits),
        None => a.checked_div(b, digits),
    }
}

fn doubles(
    e: &Expr,
    op: ArithmeticOp,
    a: f64,
    b: f64,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    let result = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Subtract => a - b,
        ArithmeticOp::Multiply => a * b,
        _ if b == 0.0 => return cx.division_by_zero().map(|()| Value::Null),
        ArithmeticOp::Divide => a / b,
        ArithmeticOp::Modulo => a % b,
        ArithmeticOp::IntegerDivide => (a / b).trunc(),
    };
    if result.is_finite() { Ok(Value::Double(result)) } else { Err(out_of_range(e, cx)) }
}

/// Computes `-v`, of the type of `e`.
pub(super) fn negate(e: &Expr, v: &Value, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    Ok(match &e.ty.sql {
        SqlType::Double | SqlType::Real { .. } => double(v, cx)?.map_or(Value::Null, |d| Value::Double(-d)),
        SqlType::Decimal { scale, .. } => match decimal(v, cx)? {
            Some(d) => at_scale(e, Some(d.negate()), *scale, cx)?,
            None => Value::Null,
        },
        _ => ranged(e, integer(v).map(|v| -v), cx)?,
    })
}
