//! CEIL, FLOOR, ROUND, TRUNCATE.
//!
//! Exact numbers round half away from zero, doubles half to even. A literal number of digits becomes the scale of the
//! result; otherwise the result keeps the argument's scale.

use std::sync::LazyLock;

use super::args::{integer, literal_integer, nullable};
use super::math::out_of_range;
use crate::eval_operand as operand;
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("CEIL", (1, 1), whole_type, |cx, call, args| ceil_or_floor(cx, call, args, true))
        .aliases(&["CEILING"])
        .numeric(),
    Function::new("FLOOR", (1, 1), whole_type, |cx, call, args| ceil_or_floor(cx, call, args, false))
        .numeric(),
    Function::new(
        "ROUND",
        (1, 2),
        |args| rounded_type(args, true),
        |cx, call, args| rounded(cx, call, args, true),
    )
    .numeric(),
    Function::new(
        "TRUNCATE",
        (2, 2),
        |args| rounded_type(args, false),
        |cx, call, args| rounded(cx, call, args, false),
    )
    .numeric(),
    Function::new(build::SHOWN, (1, 1), |args| Ok(args[0].ty.clone()), round_as_shown).special(),
];

/// Rounds to the digits of the call's type.
fn round_as_shown(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    match &args[0] {
        Value::Decimal(exact) => exact
            .round(call.ty.sql.scale().into())
            .map(Value::Decimal)
            .ok_or_else(|| out_of_range(call, "DECIMAL")),
        other => Ok(other.clone()),
    }
}

/// Returns BIGINT, or DECIMAL where that might not suffice; DOUBLE for doubles and text.
fn whole_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let sql = match &args[0].ty.sql {
        ty if ty.is_integer() => SqlType::BigInt { unsigned: ty.is_unsigned() },
        SqlType::Decimal { precision, scale, .. } if precision - scale < 18 => SqlType::BIGINT,
        SqlType::Decimal { precision, scale, .. } => {
            SqlType::decimal((precision - scale + 1).min(MAX_PRECISION), 0)
        }
        _ => SqlType::Double,
    };
    Ok(ExprType::numeric(sql, nullable(args)))
}

fn ceil_or_floor(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    up: bool,
) -> Result<Value, MysqlError> {
    Ok(match &args[0] {
        same @ (Value::Int(_) | Value::UInt(_)) => same.clone(),
        Value::Decimal(d) => {
            let whole = if up { d.ceil() } else { d.floor() };
            let whole = whole.ok_or_else(|| out_of_range(call, "DECIMAL"))?;
            match call.ty.sql {
                SqlType::Decimal { .. } => Value::Decimal(whole),
                _ => Value::Int(whole.to_i64().ok_or_else(|| out_of_range(call, "BIGINT"))?),
            }
        }
        other => match operand::double(other, cx)? {
            Some(d) => Value::Double(if up { d.ceil() } else { d.floor() }),
            None => Value::Null,
        },
    })
}

fn rounded_type(args: &[Expr], rounds: bool) -> Result<ExprType, MysqlError> {
    let sql = match &args[0].ty.sql {
        ty if ty.is_integer() => SqlType::BigInt { unsigned: ty.is_unsigned() },
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            let digits = match args.get(1) {
                None => Some(0),
                Some(arg) => literal_integer(arg),
            };
            let new_scale = match digits {
                Some(d) => d.clamp(0, MAX_SCALE.into()) as u8,
                None => *scale,
            };
            // 9.9 rounds to 10: one digit more before the point.
            let whole = precision - scale + u8::from(rounds && digits.is_none_or(|d| d < (*scale).into()));
            let precision = (whole + new_scale).clamp(1, MAX_PRECISION);
            SqlType::Decimal { precision, scale: new_scale, unsigned: *unsigned, zerofill: false }
        }
        // With a number of digits that is not constant, the operand's digits stay.
        _ => build::real(match args.get(1) {
            None => None,
            Some(arg) => match literal_integer(arg) {
                Some(digits) => u8::try_from(digits.max(0)).ok(),
                None => build::shown_digits(&args[0]),
            },
        }),
    };
    Ok(ExprType::numeric(sql, nullable(args)))
}

fn rounded(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    rounds: bool,
) -> Result<Value, MysqlError> {
    let digits = match args.get(1) {
        None => 0,
        Some(arg) => match integer(arg, cx)? {
            Some(d) => d.clamp(-400, 400) as i32,
            None => return Ok(Value::Null),
        },
    };
    Ok(match &args[0] {
        Value::Null => Value::Null,
        same @ (Value::Int(_) | Value::UInt(_)) if digits >= 0 => same.clone(),
        Value::Int(v) => {
            let v = whole_digits((*v).into(), digits, rounds);
            Value::Int(i64::try_from(v).map_err(|_| out_of_range(call, "BIGINT"))?)
        }
        Value::UInt(v) => {
            let v = whole_digits((*v).into(), digits, rounds);
            Value::UInt(u64::try_from(v).map_err(|_| out_of_range(call, "BIGINT UNSIGNED"))?)
        }
        Value::Decimal(d) => {
            let scale = call.ty.sql.scale();
            let digits = digits.min(scale.into());
            let result = if digits < -65 {
                Some(Decimal::from_i64(0))
            } else if rounds {
                d.round(digits)
            } else {
                d.truncate(digits)
            };
            let result = result.and_then(|r| r.round(scale.into()));
            Value::Decimal(result.ok_or_else(|| out_of_range(call, "DECIMAL"))?)
        }
        other => match operand::double(other, cx)? {
            Some(d) => Value::Double(double_digits(d, digits, rounds)),
            None => Value::Null,
        },
    })
}

/// The powers of ten in the range of doubles, each the nearest double.
static POWERS_OF_TEN: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=308).map(|power| format!("1e{power}").parse().unwrap_or(f64::INFINITY)).collect());

/// Rounds to `digits` digits after the point; negative numbers count before it.
fn whole_digits(v: i128, digits: i32, rounds: bool) -> i128 {
    let Some(unit) = 10i128.checked_pow(digits.unsigned_abs()).filter(|_| digits > -30) else { return 0 };
    let half = if rounds { unit / 2 * v.signum() } else { 0 };
    (v + half) / unit * unit
}

pub(crate) fn double_digits(v: f64, digits: i32, rounds: bool) -> f64 {
    let cut = |v: f64| if rounds { v.round_ties_even() } else { v.trunc() };
    let power = digits.unsigned_abs() as usize;
    let unit = POWERS_OF_TEN.get(power).copied().unwrap_or(f64::INFINITY);
    if digits < 0 {
        return if unit.is_finite() { cut(v / unit) * unit } else { 0.0 };
    }
    let raised = v * unit;
    // At such a fine unit there is nothing to round.
    if raised.is_finite() { cut(raised) / unit } else { v }
}
