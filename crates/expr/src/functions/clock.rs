//! Functions of times of day and of spans of time.

use super::args::{Made, bigint_or_null, bounded_text, integer};
use super::calendar::{clock_digits, fraction_digits};
use super::date_format::put_time;
use super::date_parts::datetime_text;
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr, build};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{DateTime, Time};
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "CURTIME",
        (0, 1),
        |args| clock_type("curtime", args),
        |cx, call, _| Ok(time_of_day(cx.now, call.ty.sql.scale())),
    )
    .aliases(&["CURRENT_TIME"])
    .volatility(Volatility::Statement),
    Function::new(
        "UTC_TIME",
        (0, 1),
        |args| clock_type("utc_time", args),
        |cx, call, _| Ok(time_of_day(cx.utc_now, call.ty.sql.scale())),
    )
    .volatility(Volatility::Statement),
    Function::new(
        "TIME",
        (1, 1),
        |args| Ok(time_type(fraction_digits(&args[0]))),
        |cx, call, args| {
            let time = operand::time(&args[0], cx)?;
            Ok(time.map_or(Value::Null, |t| Value::Time(t.round(call.ty.sql.scale()))))
        },
    ),
    Function::new("MAKETIME", (3, 3), |args| Ok(time_type(fraction_digits(&args[2]))), make_time)
        .numbers(&[0, 1, 2]),
    // Text is read as a number here, not as a time with known digits.
    Function::new("SEC_TO_TIME", (1, 1), |args| Ok(time_type(seconds_digits(&args[0]))), sec_to_time)
        .numbers(&[0]),
    Function::new("TIME_TO_SEC", (1, 1), bigint_or_null, |cx, _, args| {
        Ok(operand::time(&args[0], cx)?.map_or(Value::Null, |t| Value::Int(t.micros() / MICROS)))
    }),
    Function::new("TIMEDIFF", (2, 2), difference_type, difference),
    Function::new("ADDTIME", (2, 2), sum_type, |cx, call, args| sum(cx, call, args, false))
        .own_text()
        .temporal_text(),
    Function::new("SUBTIME", (2, 2), sum_type, |cx, call, args| sum(cx, call, args, true))
        .own_text()
        .temporal_text(),
    Function::new("TIMESTAMP", (1, 2), timestamp_type, timestamp),
    Function::new("TIME_FORMAT", (2, 2), time_format_type, time_format_function).own_text(),
];

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;

fn time_type(fsp: u8) -> ExprType {
    ExprType::numeric(SqlType::Time { fsp: fsp.min(6) }, true)
}

fn clock_type(name: &str, args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Time { fsp: clock_digits(name, args)? }, false))
}

fn time_of_day(t: DateTime, fsp: u8) -> Value {
    Value::Time(Time::clipped(t.micros_of_day()).truncate(fsp))
}

/// Makes a span, clipped to TIME's range with a warning that shows `text`.
fn clipped(
    cx: &mut EvalContext<'_>,
    micros: i64,
    text: impl FnOnce() -> String,
) -> Result<Value, MysqlError> {
    if Time::from_micros(micros).is_none() {
        cx.warn(MysqlError::truncated_value("time", &text()))?;
    }
    Ok(Value::Time(Time::clipped(micros)))
}

/// Converts seconds to microseconds, rounded to `fsp` digits and clamped to 64 bits.
fn micros_of(seconds: &Decimal, fsp: u8) -> i64 {
    let rounded = seconds.round(fsp.into()).and_then(|d| d.checked_mul(&Decimal::from_i64(MICROS)));
    let whole = rounded.and_then(|d| d.truncate(0)).and_then(|d| d.to_i64());
    whole.unwrap_or(if seconds.is_negative() { i64::MIN } else { i64::MAX })
}

fn make_time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let (hour, minute) = (integer(&args[0], cx)?, integer(&args[1], cx)?);
    let second = operand::decimal(&args[2], cx)?;
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else { return Ok(Value::Null) };
    let micros = micros_of(&second, call.ty.sql.scale());
    if !(0..60).contains(&minute) || !(0..60 * MICROS).contains(&micros) {
        return Ok(Value::Null);
    }
    let hour = match &args[0] {
        Value::UInt(v) => i64::try_from(*v).unwrap_or(i64::MAX),
        _ => hour,
    };
    let within = (hour.unsigned_abs().min(1_000_000) * 3600) as i64 * MICROS + minute * 60 * MICROS + micros;
    let text = || format!("{hour:02}:{minute:02}:{:02}", micros / MICROS);
    clipped(cx, if hour < 0 { -within } else { within }, text)
}

/// Returns the digits of the fraction that a number of seconds may have.
fn seconds_digits(arg: &Expr) -> u8 {
    if arg.ty.sql.is_string() { 6 } else { fraction_digits(arg) }
}

fn sec_to_time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(seconds) = operand::decimal(&args[0], cx)? else { return Ok(Value::Null) };
    clipped(cx, micros_of(&seconds, call.ty.sql.scale()), || seconds.to_string())
}

/// A datetime or a span.
#[derive(Debug, Clone, Copy)]
enum Moment {
    On(DateTime),
    Span(Time),
}

/// Reads the value as a datetime or a span; a text as a datetime if it is spelled as one.
fn moment(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<Moment>, MysqlError> {
    Ok(match v {
        Value::Date(d) => Some(Moment::On(d.to_datetime())),
        Value::DateTime(t) => Some(Moment::On(*t)),
        v => match datetime_text(v) {
            Some(t) => Some(Moment::On(t)),
            None => operand::time(v, cx)?.map(Moment::Span),
        },
    })
}

fn difference_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(time_type(fraction_digits(&args[0]).max(fraction_digits(&args[1]))))
}

/// Returns the difference of two datetimes or two spans; NULL for one of each.
fn difference(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let micros = match (moment(&args[0], cx)?, moment(&args[1], cx)?) {
        (Some(Moment::On(a)), Some(Moment::On(b))) => a.micros_since(b),
        (Some(Moment::Span(a)), Some(Moment::Span(b))) => Some(a.micros() - b.micros()),
        _ => None,
    };
    let Some(micros) = micros else { return Ok(Value::Null) };
    let hours = micros / (3600 * MICROS);
    clipped(cx, micros, || {
        let seconds = micros.abs() / MICROS;
        format!("{hours:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60)
    })
}

fn sum_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let fsp = fraction_digits(&args[0]).max(fraction_digits(&args[1]));
    Ok(match &args[0].ty.sql {
        SqlType::Date | SqlType::DateTime { .. } => ExprType::numeric(SqlType::DateTime { fsp }, true),
        SqlType::Time { .. } => time_type(fsp),
        _ => bounded_text(29, true),
    })
}

/// Returns a datetime or span plus or minus a span.
fn sum(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], minus: bool) -> Result<Value, MysqlError> {
    let first = moment(&args[0], cx)?;
    let (Some(first), Some(Moment::Span(span))) = (first, moment(&args[1], cx)?) else {
        return Ok(Value::Null);
    };
    let span = if minus { -span.micros() } else { span.micros() };
    let digits = |micros: i64| if micros % MICROS == 0 { 0 } else { 6 };
    match first {
        Moment::On(t) if t.epoch_micros().is_none() => Ok(Value::Null),
        Moment::On(t) => match t.plus_micros(span) {
            Some(sum) if call.ty.sql.is_temporal() => Ok(Value::DateTime(sum)),
            Some(sum) => Ok(Value::string(sum.display(digits(sum.micros_of_day())).to_string())),
            None => {
                cx.warn(MysqlError::datetime_overflow("datetime"))?;
                Ok(Value::Null)
            }
        },
        Moment::Span(t) => {
            let sum = t.micros() + span;
            let text = || Time::clipped(sum).display(0).to_string();
            let clipped = clipped(cx, sum, text)?;
            match (&call.ty.sql, clipped) {
                (SqlType::Time { .. }, time) => Ok(time),
                (_, Value::Time(time)) => Ok(Value::string(time.display(digits(time.micros())).to_string())),
                (_, other) => Ok(other),
            }
        }
    }
}

fn timestamp_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let fsp = args.iter().map(fraction_digits).max().unwrap_or(0);
    Ok(ExprType::numeric(SqlType::DateTime { fsp }, true))
}

/// Computes `TIMESTAMP(datetime)`, `TIMESTAMP(datetime, time)`.
fn timestamp(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(t) = operand::datetime(&args[0], cx)? else { return Ok(Value::Null) };
    let span = match args.get(1) {
        None => Time::ZERO,
        Some(v) => match moment(v, cx)? {
            Some(Moment::Span(span)) => span,
            _ => return Ok(Value::Null),
        },
    };
    if args.len() == 1 {
        return Ok(t.round(call.ty.sql.scale()).map_or(Value::Null, Value::DateTime));
    }
    if t.epoch_micros().is_none() {
        return Ok(Value::Null);
    }
    match t.plus_micros(span.micros()).and_then(|t| t.round(call.ty.sql.scale())) {
        Some(sum) => Ok(Value::DateTime(sum)),
        None => {
            cx.warn(MysqlError::datetime_overflow("datetime"))?;
            Ok(Value::Null)
        }
    }
}

fn time_format_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(bounded_text(build::text_length(&args[1].ty.sql).saturating_mul(6).max(1), true))
}

fn time_format_function(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
) -> Result<Value, MysqlError> {
    let Some(time) = operand::time(&args[0], cx)? else { return Ok(Value::Null) };
    let Some(format) = call.text(args, 1).filter(|format| !format.is_empty()) else { return Ok(Value::Null) };
    let format = String::from_utf8_lossy(&format);
    let names = cx.sql_mode.time_names;
    call.made(cx, args, |out| {
        Ok(if put_time(time, &format, names, out)? { Made::String } else { Made::Null })
    })
}
