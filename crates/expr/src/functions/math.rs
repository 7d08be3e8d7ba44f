//! Numeric functions.

use super::args::{double, double_or_null, nullable};
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("ABS", (1, 1), same_kind, abs).keeps_digits().numeric(),
    Function::new("POW", (2, 2), double, |cx, call, args| two(cx, call, args, |a, b| Some(a.powf(b))))
        .aliases(&["POWER"])
        .numeric(),
    Function::new("SQRT", (1, 1), double_or_null, |cx, call, args| {
        one(cx, call, args, |v| (v >= 0.0).then(|| v.sqrt()))
    })
    .numeric(),
    Function::new("EXP", (1, 1), double, |cx, call, args| one(cx, call, args, |v| Some(v.exp()))).numeric(),
    Function::new("LN", (1, 1), double_or_null, |cx, call, args| logarithm(cx, call, args, f64::ln))
        .numeric(),
    Function::new("LOG2", (1, 1), double_or_null, |cx, call, args| logarithm(cx, call, args, f64::log2))
        .numeric(),
    Function::new("LOG10", (1, 1), double_or_null, |cx, call, args| logarithm(cx, call, args, f64::log10))
        .numeric(),
    Function::new("LOG", (1, 2), double_or_null, log).numeric(),
    Function::new("SIGN", (1, 1), super::args::bigint, sign).numeric(),
    Function::new("GREATEST", (2, usize::MAX), extreme_type, |cx, call, args| extreme(cx, call, args, true))
        .keeps_digits(),
    Function::new("LEAST", (2, usize::MAX), extreme_type, |cx, call, args| extreme(cx, call, args, false))
        .keeps_digits(),
    Function::new("SIN", (1, 1), double, |cx, call, args| one(cx, call, args, |v| Some(v.sin()))).numeric(),
    Function::new("COS", (1, 1), double, |cx, call, args| one(cx, call, args, |v| Some(v.cos()))).numeric(),
    Function::new("TAN", (1, 1), double, |cx, call, args| one(cx, call, args, |v| Some(v.tan()))).numeric(),
    Function::new("COT", (1, 1), double, |cx, call, args| one(cx, call, args, |v| Some(1.0 / v.tan())))
        .numeric(),
    Function::new("ASIN", (1, 1), double_or_null, |cx, call, args| {
        one(cx, call, args, |v| (v.abs() <= 1.0).then(|| v.asin()))
    })
    .numeric(),
    Function::new("ACOS", (1, 1), double_or_null, |cx, call, args| {
        one(cx, call, args, |v| (v.abs() <= 1.0).then(|| v.acos()))
    })
    .numeric(),
    Function::new("ATAN", (1, 2), double, |cx, call, args| match args.len() {
        1 => one(cx, call, args, |v| Some(v.atan())),
        _ => two(cx, call, args, |a, b| Some(a.atan2(b))),
    })
    .aliases(&["ATAN2"])
    .numeric(),
    Function::new("DEGREES", (1, 1), double, |cx, call, args| {
        one(cx, call, args, |v| Some(v * (180.0 / std::f64::consts::PI)))
    })
    .numeric(),
    Function::new("RADIANS", (1, 1), double, |cx, call, args| {
        one(cx, call, args, |v| Some(v * (std::f64::consts::PI / 180.0)))
    })
    .numeric(),
    Function::new("PI", (0, 0), pi_type, |_, _, _| Ok(Value::Double(std::f64::consts::PI))),
    Function::new("RAND", (0, 1), |_| Ok(ExprType::numeric(SqlType::Double, false)), rand)
        .volatility(Volatility::Volatile),
];

/// Returns a DOUBLE that shows six digits.
fn pi_type(_: &[Expr]) -> Result<ExprType, MysqlError> {
    let sql = SqlType::Real { single: false, digits: Some((8, 6)), unsigned: false, zerofill: false };
    Ok(ExprType::numeric(sql, false))
}

/// Returns BIGINT for integers, DECIMAL for decimals, DOUBLE for the rest.
fn same_kind(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let nullable = nullable(args);
    let sql = match &args[0].ty.sql {
        ty if ty.is_integer() => SqlType::BigInt { unsigned: ty.is_unsigned() },
        SqlType::Null => SqlType::Double,
        ty @ SqlType::Decimal { .. } => ty.clone().without_zerofill(),
        _ => build::real(build::shown_digits(&args[0])),
    };
    Ok(ExprType::numeric(sql, nullable))
}

/// Makes error 1690 for the DOUBLE result of a call.
fn double_range(call: Call<'_>) -> MysqlError {
    out_of_range(call, "DOUBLE")
}

/// Makes error 1690 for an argument of a call, named by `what`.
pub(super) fn out_of_range_argument(what: &str, call: Call<'_>) -> MysqlError {
    MysqlError::data_out_of_range(what, call.function.definition().name.to_ascii_lowercase())
}

/// Makes error 1690 for the result of a call.
pub(super) fn out_of_range(call: Call<'_>, kind: &str) -> MysqlError {
    let args: Vec<String> = call.args.iter().map(|a| a.to_string()).collect();
    let name = call.function.definition().name.to_ascii_lowercase();
    MysqlError::data_out_of_range(kind, format_args!("{name}({})", args.join(",")))
}

fn finite(call: Call<'_>, v: Option<f64>) -> Result<Value, MysqlError> {
    match v {
        None => Ok(Value::Null),
        Some(v) if v.is_finite() => Ok(Value::Double(v)),
        Some(_) => Err(double_range(call)),
    }
}

fn one(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    f: impl Fn(f64) -> Option<f64>,
) -> Result<Value, MysqlError> {
    finite(call, operand::double(&args[0], cx)?.and_then(f))
}

fn two(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    f: impl Fn(f64, f64) -> Option<f64>,
) -> Result<Value, MysqlError> {
    let pair = operand::double(&args[0], cx)?.zip(operand::double(&args[1], cx)?);
    finite(call, pair.and_then(|(a, b)| f(a, b)))
}

/// Computes a logarithm; NULL and a warning unless the argument is positive.
fn logarithm(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    f: impl Fn(f64) -> f64,
) -> Result<Value, MysqlError> {
    match operand::double(&args[0], cx)? {
        None => Ok(Value::Null),
        Some(v) if v > 0.0 => finite(call, Some(f(v))),
        Some(_) => no_logarithm(cx),
    }
}

fn no_logarithm(cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    cx.warn(MysqlError::invalid_logarithm())?;
    Ok(Value::Null)
}

/// Computes `LOG(v)`, `LOG(base, v)`.
fn log(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let [base, v] = args else { return logarithm(cx, call, args, f64::ln) };
    match operand::double(base, cx)?.zip(operand::double(v, cx)?) {
        None => Ok(Value::Null),
        Some((base, v)) if base > 0.0 && base != 1.0 && v > 0.0 => finite(call, Some(v.ln() / base.ln())),
        Some(_) => no_logarithm(cx),
    }
}

fn abs(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    Ok(match &args[0] {
        Value::Int(v) => Value::Int(v.checked_abs().ok_or_else(|| out_of_range(call, "BIGINT"))?),
        Value::UInt(v) => Value::UInt(*v),
        Value::Decimal(d) => {
            let rounded = d.abs().round(call.ty.sql.scale().into());
            Value::Decimal(rounded.ok_or_else(|| out_of_range(call, "DECIMAL"))?)
        }
        other => operand::double(other, cx)?.map_or(Value::Null, |d| Value::Double(d.abs())),
    })
}

fn sign(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    Ok(match &args[0] {
        Value::Decimal(d) => Value::Int(if d.is_zero() {
            0
        } else if d.is_negative() {
            -1
        } else {
            1
        }),
        other => operand::double(other, cx)?
            .map_or(Value::Null, |d| Value::Int(i64::from(d > 0.0) - i64::from(d < 0.0))),
    })
}

fn extreme_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    build::common_type("greatest", &args.iter().map(|a| &a.ty).collect::<Vec<_>>())
}

/// Returns the largest or smallest of several values, compared as values of their common type; NULL if any is.
fn extreme(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    greatest: bool,
) -> Result<Value, MysqlError> {
    use crate::CompareDomain::{self, *};
    let domain: CompareDomain = match &call.ty.sql {
        ty if ty.is_real() => Double,
        SqlType::Decimal { .. } => Decimal,
        SqlType::Date => Date,
        SqlType::DateTime { .. } => DateTime,
        SqlType::Time { .. } => Time,
        ty if ty.is_string() => String(call.ty.collation),
        _ => Integer,
    };
    let ty = &call.ty.sql;
    let mut best: Option<Value> = None;
    for (v, arg) in args.iter().zip(call.args) {
        if v.is_null() {
            return Ok(Value::Null);
        }
        let v = operand::conform(v.clone(), &arg.ty.sql, ty, cx)?;
        let better = match &best {
            None => true,
            Some(best) => {
                let order = operand::compare(domain, (&v, ty), (best, ty), cx)?;
                order.is_some_and(|o| if greatest { o.is_gt() } else { o.is_lt() })
            }
        };
        if better {
            best = Some(v);
        }
    }
    Ok(best.unwrap_or_default())
}

fn rand(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(seed) = args.first() else { return Ok(Value::Double(cx.state.random.next())) };
    let seed = super::args::integer(seed, cx)?.unwrap_or(0);
    let constant = call.args[0].is_constant();
    Ok(Value::Double(cx.state.random.next_seeded(call.args.as_ptr() as usize, seed, constant)))
}
