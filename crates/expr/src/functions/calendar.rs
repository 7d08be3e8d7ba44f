//! Functions that count days, weeks, months and seconds, and those that return the current time.

use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{bigint_or_null, bounded_text, integer, literal_integer};
use super::date_format::{day_name, month_name};
use super::date_parts::{unit_of, week_mode, week_mode_of};
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::locale::TimeNames;
use crate::{EvalContext, Expr};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{Date, DateRules, DateTime, IntervalUnit, Time, Zone};
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "DAYNAME",
        (1, 1),
        |_| Ok(bounded_text(TimeNames::longest_day(), true)),
        |cx, _, args| {
            Ok(operand::day(&args[0], cx)?
                .and_then(|day| day_name(day, cx.sql_mode.time_names))
                .map_or(Value::Null, Value::from))
        },
    )
    .own_text(),
    Function::new(
        "MONTHNAME",
        (1, 1),
        |_| Ok(bounded_text(TimeNames::longest_month(), true)),
        |cx, _, args| {
            Ok(operand::date(&args[0], cx)?
                .and_then(|day| month_name(day, cx.sql_mode.time_names))
                .map_or(Value::Null, Value::from))
        },
    )
    .own_text(),
    Function::new("TO_DAYS", (1, 1), bigint_or_null, |cx, _, args| {
        let number = operand::day(&args[0], cx)?.and_then(Date::day_number);
        Ok(number.map_or(Value::Null, |number| Value::Int(number.into())))
    }),
    Function::new("TO_SECONDS", (1, 1), bigint_or_null, |cx, _, args| {
        let seconds =
            |t: DateTime| Some(i64::from(t.date().day_number()?) * 86_400 + t.micros_of_day() / 1_000_000);
        Ok(operand::day_and_time(&args[0], cx)?.and_then(seconds).map_or(Value::Null, Value::Int))
    }),
    Function::new("FROM_DAYS", (1, 1), date_type, |cx, _, args| {
        let Some(number) = integer(&args[0], cx)? else { return Ok(Value::Null) };
        // Days before the year 1 have no number.
        let number = u32::try_from(number).ok().filter(|number| *number > 365);
        Ok(Value::Date(number.and_then(Date::from_day_number).unwrap_or(Date::ZERO)))
    })
    .numeric(),
    Function::new("MAKEDATE", (2, 2), date_type, make_date).numeric(),
    Function::new("WEEKOFYEAR", (1, 1), bigint_or_null, |cx, _, args| {
        let week = operand::day(&args[0], cx)?.and_then(|d| d.week(week_mode_of(3)));
        Ok(week.map_or(Value::Null, |(_, week)| Value::Int(week.into())))
    })
    .numbers(&[0]),
    Function::new("YEARWEEK", (1, 2), bigint_or_null, year_week).numbers(&[1]),
    Function::new("PERIOD_ADD", (2, 2), super::args::bigint, period_add).numeric(),
    Function::new("PERIOD_DIFF", (2, 2), super::args::bigint, period_diff).numeric(),
    Function::new("TIMESTAMPDIFF", (3, 3), bigint_or_null, timestamp_diff).special(),
    Function::new("FROM_UNIXTIME", (1, 1), from_unixtime_type, from_unixtime).numeric(),
    Function::new("CONVERT_TZ", (3, 3), convert_tz_type, convert_tz),
    Function::new("GET_FORMAT", (2, 2), |_| Ok(bounded_text(17, true)), get_format).own_text().special(),
    Function::new(
        "UTC_DATE",
        (0, 0),
        |_| Ok(ExprType::numeric(SqlType::Date, false)),
        |cx, _, _| Ok(Value::Date(cx.utc_now.date())),
    )
    .volatility(Volatility::Statement),
    Function::new(
        "UTC_TIMESTAMP",
        (0, 1),
        |args| clock_type("utc_timestamp", args),
        |cx, call, _| Ok(Value::DateTime(cx.utc_now.truncate(call.ty.sql.scale()))),
    )
    .volatility(Volatility::Statement),
    Function::new(
        "SYSDATE",
        (0, 1),
        |args| clock_type("sysdate", args),
        |cx, call, _| {
            Ok(this_moment(cx).map_or(Value::Null, |t| Value::DateTime(t.truncate(call.ty.sql.scale()))))
        },
    )
    .volatility(Volatility::Volatile),
];

fn date_type(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Date, true))
}

/// Returns the digits of the second's fraction that a clock function's literal argument asks for.
pub(super) fn clock_digits(name: &str, args: &[Expr]) -> Result<u8, MysqlError> {
    match args.first().map(literal_integer) {
        None => Ok(0),
        Some(Some(fsp @ 0..=6)) => Ok(fsp as u8),
        Some(Some(fsp)) => Err(MysqlError::too_big_precision(fsp, name, 6)),
        Some(None) => Err(MysqlError::wrong_arguments(name)),
    }
}

fn clock_type(name: &str, args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::DateTime { fsp: clock_digits(name, args)? }, false))
}

/// Returns the current time, which is not the statement's.
fn this_moment(cx: &EvalContext<'_>) -> Option<DateTime> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).ok()?;
    cx.zone.to_local(DateTime::from_epoch_micros(micros)?)
}

/// Returns the year, 1970 to 2069, for a year of two digits.
fn four_digit_year(year: i64) -> i64 {
    match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        year => year,
    }
}

fn make_date(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some((year, day)) = integer(&args[0], cx)?.zip(integer(&args[1], cx)?) else {
        return Ok(Value::Null);
    };
    if !(0..=9999).contains(&year) || day <= 0 {
        return Ok(Value::Null);
    }
    let first = Date::from_civil(four_digit_year(year) as u16, 1, 1);
    let date = first.zip(i32::try_from(day).ok()).and_then(|(first, day)| first.plus_days(day - 1));
    Ok(date.map_or(Value::Null, Value::Date))
}

fn year_week(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let mode = week_mode(cx, args)?;
    let week = operand::day(&args[0], cx)?.and_then(|day| day.week(week_mode_of(mode | 2)));
    Ok(week.map_or(Value::Null, |(year, week)| Value::Int(i64::from(year) * 100 + i64::from(week))))
}

/// Returns the months since the year 0 of a period YYMM or YYYYMM. Error 1210 if there is no such month.
fn months_of_period(period: i64, name: &str) -> Result<i64, MysqlError> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(MysqlError::wrong_arguments(name));
    }
    Ok(four_digit_year(year) * 12 + month - 1)
}

fn period_add(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let more = match &args[1] {
        // The 64 bits, whatever their sign.
        Value::UInt(n) => Some(*n as i64),
        other => integer(other, cx)?,
    };
    let Some((period, more)) = integer(&args[0], cx)?.zip(more) else { return Ok(Value::Null) };
    let months = months_of_period(period, "period_add")?.wrapping_add(more);
    // As in MySQL: unsigned, and years of two digits are expanded again.
    let months = months as u64;
    let year = months / 12;
    let year = if year < 100 { four_digit_year(year as i64) as u64 } else { year };
    Ok(Value::Int((year.wrapping_mul(100)).wrapping_add(months % 12 + 1) as i64))
}

fn period_diff(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some((a, b)) = integer(&args[0], cx)?.zip(integer(&args[1], cx)?) else { return Ok(Value::Null) };
    Ok(Value::Int(months_of_period(a, "period_diff")? - months_of_period(b, "period_diff")?))
}

/// Computes `TIMESTAMPDIFF(unit, from, to)` in whole units.
fn timestamp_diff(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let unit = unit_of(&call.args[0])?;
    let from = operand::day_and_time(&args[1], cx)?;
    let to = operand::day_and_time(&args[2], cx)?;
    let Some((from, to)) = from.zip(to) else { return Ok(Value::Null) };
    let Some(micros) = to.micros_since(from) else { return Ok(Value::Null) };
    Ok(Value::Int(match unit {
        IntervalUnit::Microsecond => micros,
        IntervalUnit::Second => micros / 1_000_000,
        IntervalUnit::Minute => micros / 60_000_000,
        IntervalUnit::Hour => micros / 3_600_000_000,
        IntervalUnit::Day => micros / 86_400_000_000,
        IntervalUnit::Week => micros / (7 * 86_400_000_000),
        IntervalUnit::Month => whole_months(from, to),
        IntervalUnit::Quarter => whole_months(from, to) / 3,
        IntervalUnit::Year => whole_months(from, to) / 12,
        _ => return Err(MysqlError::internal("a unit of several parts in TIMESTAMPDIFF")),
    }))
}

/// Returns the whole months between two times.
fn whole_months(from: DateTime, to: DateTime) -> i64 {
    if from > to {
        return -whole_months(to, from);
    }
    let parts = |t: DateTime| {
        let c = t.date().civil();
        (i64::from(c.year) * 12 + i64::from(c.month), (c.day, t.micros_of_day()))
    };
    let ((first, begin), (last, end)) = (parts(from), parts(to));
    last - first - i64::from(end < begin)
}

/// The last second of MySQL's 64-bit TIMESTAMP.
const LAST_SECOND: i64 = 32_536_771_199;

fn from_unixtime_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let fsp = match &args[0].ty.sql {
        ty if ty.is_integer() => 0,
        SqlType::Decimal { scale, .. } => (*scale).min(6),
        SqlType::Null => 0,
        _ => 6,
    };
    Ok(ExprType::numeric(SqlType::DateTime { fsp }, true))
}

fn from_unixtime(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(seconds) = operand::decimal(&args[0], cx)? else { return Ok(Value::Null) };
    let rounded = seconds.round(call.ty.sql.scale().into());
    let micros = rounded
        .and_then(|d| d.checked_mul(&Decimal::from_i64(1_000_000)))
        .and_then(|d| d.truncate(0))
        .and_then(|d| d.to_i64());
    let time = micros
        .filter(|m| (0..(LAST_SECOND + 1) * 1_000_000).contains(m))
        .and_then(DateTime::from_epoch_micros)
        .and_then(|utc| cx.zone.to_local(utc));
    Ok(time.map_or(Value::Null, Value::DateTime))
}

fn convert_tz_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let fsp = match args[0].as_literal() {
        Some(Value::String(text)) => DateTime::parse(text, DateRules::ANY).map_or(0, |parsed| parsed.fsp),
        _ => fraction_digits(&args[0]),
    };
    Ok(ExprType::numeric(SqlType::DateTime { fsp }, true))
}

/// Returns the digits of the second's fraction of a value read as a datetime or a time.
pub(super) fn fraction_digits(arg: &Expr) -> u8 {
    match (&arg.ty.sql, arg.as_literal()) {
        (_, Some(Value::String(text))) => {
            let of_datetime = DateTime::parse(text, DateRules::ANY).map_or(0, |parsed| parsed.fsp);
            of_datetime.max(Time::parse(text).map_or(0, |parsed| parsed.fsp))
        }
        (ty, _) if ty.is_integer() || *ty == SqlType::Null => 0,
        (ty, _) if ty.is_temporal() || matches!(ty, SqlType::Decimal { .. }) => ty.scale().min(6),
        _ => 6,
    }
}

/// Converts a time from one zone to another. A time outside TIMESTAMP's range is unchanged; unknown zones give NULL.
fn convert_tz(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(time) = operand::day_and_time(&args[0], cx)? else { return Ok(Value::Null) };
    let zone = |n: usize| {
        let name = call.text(args, n)?;
        let name = std::str::from_utf8(&name).ok()?;
        if name.eq_ignore_ascii_case("SYSTEM") { Some(Zone::system()) } else { Zone::parse(name) }
    };
    let Some((from, to)) = zone(1).zip(zone(2)) else { return Ok(Value::Null) };
    let utc = from.to_utc(time).map(|(utc, _)| utc);
    let within = |utc: &DateTime| {
        utc.epoch_micros().is_some_and(|micros| (1_000_000..(LAST_SECOND + 1) * 1_000_000).contains(&micros))
    };
    let Some(utc) = utc.filter(within) else { return Ok(Value::DateTime(time)) };
    Ok(to.to_local(utc).map_or(Value::Null, Value::DateTime))
}

/// Computes `GET_FORMAT(DATE | TIME | DATETIME, 'EUR' | 'USA' | 'JIS' | 'ISO' | 'INTERNAL')`.
fn get_format(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let Some(standard) = call.text(args, 1) else { return Ok(Value::Null) };
    let standard = String::from_utf8_lossy(&standard).to_ascii_uppercase();
    let what = call.args[0].as_literal().and_then(Value::as_str).unwrap_or_default();
    Ok(Value::from(match (what, standard.as_str()) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        ("DATETIME", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME", "INTERNAL") => "%Y%m%d%H%i%s",
        _ => return Ok(Value::Null),
    }))
}
