//! Functions of dates and datetimes. Other arguments are read as dates; invalid text is NULL, with warning 1292.

use super::args::{Made, bigint_or_null, integer, literal_integer};
use super::date_format::put_date;
use super::date_parts::{datetime_text, unit_of, week_mode, week_mode_of, weekday};
use crate::build::NUMBER_OF_TEMPORAL_TEXT;
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::locale::TimeNames;
use crate::{Datum, EvalContext, Expr, build};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{
    CivilDateTime, CivilTime, Date, DateRules, DateTime, Interval, IntervalUnit, Time, WeekMode,
};
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("DATE", (1, 1), date_type, |cx, _, args| {
        Ok(operand::date(&args[0], cx)?.map_or(Value::Null, Value::Date))
    }),
    Function::new("YEAR", (1, 1), bigint_or_null, |cx, _, args| part(cx, args, IntervalUnit::Year, false))
        .vector(years),
    Function::new("QUARTER", (1, 1), bigint_or_null, |cx, _, args| {
        part(cx, args, IntervalUnit::Quarter, false)
    }),
    Function::new("MONTH", (1, 1), bigint_or_null, |cx, _, args| part(cx, args, IntervalUnit::Month, false)),
    Function::new("DAY", (1, 1), bigint_or_null, |cx, _, args| part(cx, args, IntervalUnit::Day, false))
        .aliases(&["DAYOFMONTH"]),
    Function::new("HOUR", (1, 1), bigint_or_null, |cx, _, args| part(cx, args, IntervalUnit::Hour, false)),
    Function::new("MINUTE", (1, 1), bigint_or_null, |cx, _, args| {
        part(cx, args, IntervalUnit::Minute, false)
    }),
    Function::new("SECOND", (1, 1), bigint_or_null, |cx, _, args| {
        part(cx, args, IntervalUnit::Second, false)
    }),
    Function::new("MICROSECOND", (1, 1), bigint_or_null, |cx, _, args| {
        part(cx, args, IntervalUnit::Microsecond, false)
    }),
    Function::new("DAYOFWEEK", (1, 1), bigint_or_null, |cx, _, args| {
        of_day(cx, args, |d| Some(i64::from(weekday(d, true)?) + 1))
    }),
    Function::new("WEEKDAY", (1, 1), bigint_or_null, |cx, _, args| {
        of_day(cx, args, |d| weekday(d, false).map(i64::from))
    }),
    Function::new("DAYOFYEAR", (1, 1), bigint_or_null, |cx, _, args| {
        of_day(cx, args, |d| d.day_of_year().map(i64::from))
    }),
    Function::new("WEEK", (1, 2), bigint_or_null, week_function).numbers(&[1]),
    Function::new("LAST_DAY", (1, 1), date_type, last_day),
    Function::new("DATEDIFF", (2, 2), bigint_or_null, |cx, _, args| {
        let days = operand::day(&args[0], cx)?.zip(operand::day(&args[1], cx)?);
        let difference = days.and_then(|(a, b)| Some(a.epoch_days()? - b.epoch_days()?));
        Ok(difference.map_or(Value::Null, |days| Value::Int(days.into())))
    }),
    Function::new("DATE_ADD", (3, 3), date_add_type, |cx, call, args| date_add(cx, call, args, false))
        .own_text()
        .temporal_text()
        .special(),
    Function::new("DATE_SUB", (3, 3), date_add_type, |cx, call, args| date_add(cx, call, args, true))
        .own_text()
        .temporal_text()
        .special(),
    Function::new(NUMBER_OF_TEMPORAL_TEXT, (1, 1), double_or_null, number_of_temporal_text).special(),
    Function::new("EXTRACT", (2, 2), bigint_or_null, |cx, call, args| {
        part(cx, &args[1..], unit_of(&call.args[0])?, true)
    })
    .special(),
    Function::new("DATE_FORMAT", (2, 2), date_format_type, date_format_function).own_text(),
    Function::new("NOW", (0, 1), now_type, now)
        .aliases(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"])
        .volatility(Volatility::Statement),
    Function::new(
        "CURDATE",
        (0, 0),
        |_| Ok(ExprType::numeric(SqlType::Date, false)),
        |cx, _, _| Ok(Value::Date(cx.now.date())),
    )
    .aliases(&["CURRENT_DATE"])
    .volatility(Volatility::Statement),
    Function::new("UNIX_TIMESTAMP", (0, 1), unix_timestamp_type, unix_timestamp)
        .volatility(Volatility::Statement),
];

/// The name of the function that converts the text of a date or time to a number.
fn double_or_null(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Double, true))
}

/// Returns the number 20010103.5 for 2001-01-03.5: the digits of the text, which always has the form `[-]YYYY-MM-DD[
/// hh:mm:ss[.ffffff]]` or `[-]hh:mm:ss[.ffffff]`.
fn number_of_temporal_text(
    _: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
) -> Result<Value, MysqlError> {
    let Some(text) = call.text(args, 0) else { return Ok(Value::Null) };
    let (sign, text) = match text.strip_prefix(b"-") {
        Some(rest) => (-1.0, rest),
        None => (1.0, &*text),
    };
    let digits: String =
        text.iter().filter(|b| b.is_ascii_digit() || **b == b'.').map(|b| char::from(*b)).collect();
    Ok(digits.parse::<f64>().map_or(Value::Null, |number| Value::Double(sign * number)))
}

fn date_type(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Date, true))
}

fn of_day(
    cx: &mut EvalContext<'_>,
    args: &[Value],
    f: impl Fn(Date) -> Option<i64>,
) -> Result<Value, MysqlError> {
    Ok(operand::day(&args[0], cx)?.and_then(f).map_or(Value::Null, Value::Int))
}

fn week_function(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let mode = week_mode(cx, args)?;
    of_day(cx, args, |d| Some(d.week(week_mode_of(mode))?.1.into()))
}

/// Returns a unit's part of a datetime or of a span of time. Parts of days are read from any value that can be a
/// time; for a text that is a datetime they are those of the datetime. Negative only if `signed`.
fn part(
    cx: &mut EvalContext<'_>,
    args: &[Value],
    unit: IntervalUnit,
    signed: bool,
) -> Result<Value, MysqlError> {
    let smallest = unit.parts().last().copied().unwrap_or(unit);
    let dated = match &args[0] {
        _ if smallest.is_date_unit() => operand::datetime(&args[0], cx)?,
        Value::Date(_) | Value::DateTime(_) => operand::datetime(&args[0], cx)?,
        v => match datetime_text(v) {
            Some(t) => Some(t),
            None => {
                let Some(time) = operand::time(v, cx)? else { return Ok(Value::Null) };
                let part = part_of_span(time.civil(), unit);
                return Ok(Value::Int(if signed && time.civil().negative { -part } else { part }));
            }
        },
    };
    Ok(dated.map_or(Value::Null, |t| Value::Int(part_of(t, unit))))
}

/// Returns a unit's part of a span, which has no days.
fn part_of_span(c: CivilTime, unit: IntervalUnit) -> i64 {
    match unit {
        IntervalUnit::Microsecond => c.microsecond.into(),
        IntervalUnit::Second => c.second.into(),
        IntervalUnit::Minute => c.minute.into(),
        IntervalUnit::Hour => c.hour.into(),
        several if several.parts().len() > 1 => joined(several, |part| part_of_span(c, part)),
        _ => 0,
    }
}

/// Returns the parts of a unit as one number, two digits each, and six for microseconds.
fn joined(unit: IntervalUnit, part_of: impl Fn(IntervalUnit) -> i64) -> i64 {
    unit.parts().iter().fold(0, |number, part| {
        let digits = if *part == IntervalUnit::Microsecond { 1_000_000 } else { 100 };
        number * digits + part_of(*part)
    })
}

fn part_of(t: DateTime, unit: IntervalUnit) -> i64 {
    let c: CivilDateTime = t.civil();
    match unit {
        IntervalUnit::Microsecond => c.microsecond.into(),
        IntervalUnit::Second => c.second.into(),
        IntervalUnit::Minute => c.minute.into(),
        IntervalUnit::Hour => c.hour.into(),
        IntervalUnit::Day => c.date.day.into(),
        IntervalUnit::Week => t.date().week(WeekMode::from_number(0)).map_or(0, |(_, week)| week.into()),
        IntervalUnit::Month => c.date.month.into(),
        IntervalUnit::Quarter => i64::from(c.date.month + 2) / 3,
        IntervalUnit::Year => c.date.year.into(),
        several => joined(several, |part| part_of(t, part)),
    }
}

/// Computes YEAR of a DATE column.
fn years(
    _: &mut EvalContext<'_>,
    _: Call<'_>,
    data: &[Datum],
    _: usize,
) -> Result<Option<Datum>, MysqlError> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Date32Type;
    use arrow_array::{Array, Int64Array};
    let [Datum::Array(array)] = data else { return Ok(None) };
    let Some(days) = array.as_primitive_opt::<Date32Type>() else { return Ok(None) };
    // NULLs have arbitrary days.
    let year = |d: &i32| Date::from_ordinal(*d).map_or(0, |d| d.civil().year.into());
    let years: Vec<i64> = days.values().iter().map(year).collect();
    Ok(Some(Datum::Array(std::sync::Arc::new(Int64Array::new(years.into(), array.nulls().cloned())))))
}

fn last_day(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let last = operand::day(&args[0], cx)?.and_then(Date::last_day_of_month);
    Ok(last.map_or(Value::Null, Value::Date))
}

/// Returns DATE for a DATE and whole days, DATETIME for other temporal arguments, text for text.
fn date_add_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let unit = unit_of(&args[2])?;
    // The digits of the second's fraction that come from the interval.
    let fraction = match unit {
        unit if unit.has_fraction() => 6,
        IntervalUnit::Second => match &args[1].ty.sql {
            SqlType::Decimal { scale, .. } => (*scale).min(6),
            ty if ty.is_integer() => 0,
            _ => 6,
        },
        _ => 0,
    };
    let sql = match &args[0].ty.sql {
        SqlType::Date if unit.is_date_unit() => SqlType::Date,
        SqlType::Date => SqlType::DateTime { fsp: fraction },
        SqlType::DateTime { fsp } => SqlType::DateTime { fsp: fraction.max(*fsp) },
        SqlType::Time { fsp } if unit.parts().iter().any(|part| part.is_date_unit()) => {
            SqlType::DateTime { fsp: fraction.max(*fsp) }
        }
        SqlType::Time { fsp } => SqlType::Time { fsp: fraction.max(*fsp) },
        _ => {
            let sql = SqlType::Varchar { len: 26 };
            return Ok(ExprType::string(sql, true, build::TEXT_OF_NUMBER, Coercibility::Coercible));
        }
    };
    Ok(ExprType::numeric(sql, true))
}

/// Returns the interval of `count` units; None if it is NULL or too long for any date.
fn interval(
    cx: &mut EvalContext<'_>,
    (count, ty): (&Value, &SqlType),
    unit: IntervalUnit,
) -> Result<Option<Interval>, MysqlError> {
    if unit.parts().len() > 1 {
        let text = operand::text(count, ty).unwrap_or_default();
        return Ok(Interval::parse(&String::from_utf8_lossy(&text), unit));
    }
    if unit == IntervalUnit::Second && !matches!(count, Value::Int(_) | Value::UInt(_)) {
        let Some(d) = operand::decimal(count, cx)? else { return Ok(None) };
        let whole = d.truncate(0).and_then(|w| w.to_i64());
        let micros = whole
            .and_then(|w| d.checked_sub(&Decimal::from_i64(w)))
            .and_then(|f| f.truncate(6))
            .and_then(|f| f.unscaled_i128());
        return Ok(whole.zip(micros).and_then(|(w, m)| Interval::new(w, unit, m as i64)));
    }
    Ok(integer(count, cx)?.and_then(|count| Interval::new(count, unit, 0)))
}

fn date_add(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    subtract: bool,
) -> Result<Value, MysqlError> {
    let unit = unit_of(&call.args[2])?;
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let interval = interval(cx, (&args[1], &call.args[1].ty.sql), unit)?;
    let interval = interval.map(|i| if subtract { i.negate() } else { i });
    if let (SqlType::Time { .. }, Value::Time(time)) = (&call.ty.sql, &args[0]) {
        let sum = interval.and_then(|i| time.micros().checked_add(i.micros())).and_then(Time::from_micros);
        let Some(sum) = sum else {
            cx.warn(MysqlError::datetime_overflow("time"))?;
            return Ok(Value::Null);
        };
        return Ok(Value::Time(sum));
    }
    let Some(start) = operand::day_and_time(&args[0], cx)? else { return Ok(Value::Null) };
    let Some(result) = interval.and_then(|i| start.checked_add(i)) else {
        cx.warn(MysqlError::datetime_overflow("datetime"))?;
        return Ok(Value::Null);
    };
    Ok(match &call.ty.sql {
        SqlType::Date => Value::Date(result.date()),
        SqlType::DateTime { .. } => Value::DateTime(result),
        // A text without a time of day stays without one, unless the interval adds one.
        _ => {
            let had_time = match &args[0] {
                Value::String(text) => {
                    DateTime::parse(text, DateRules::ANY).is_ok_and(|parsed| parsed.has_time)
                }
                _ => start.micros_of_day() != 0,
            };
            if unit.is_date_unit() && !had_time {
                Value::string(result.date().to_string())
            } else {
                let fsp = if result.micros_of_day() % 1_000_000 == 0 { 0 } else { 6 };
                Value::string(result.display(fsp).to_string())
            }
        }
    })
}

fn date_format_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    // %W and %M are the longest: two characters give the name of a day or month.
    let name = TimeNames::longest_day().max(TimeNames::longest_month());
    let longest = build::text_length(&args[1].ty.sql).saturating_mul(name.div_ceil(2)).max(1);
    let sql = build::text_type(longest.min(16_383));
    Ok(ExprType::string(sql, true, build::TEXT_OF_NUMBER, Coercibility::Coercible))
}

fn date_format_function(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
) -> Result<Value, MysqlError> {
    let Some(t) = operand::datetime(&args[0], cx)? else { return Ok(Value::Null) };
    let Some(format) = call.text(args, 1) else { return Ok(Value::Null) };
    if format.is_empty() {
        return Ok(Value::Null);
    }
    let (format, names) = (String::from_utf8_lossy(&format), cx.sql_mode.time_names);
    call.made(cx, args, |out| Ok(if put_date(t, &format, names, out)? { Made::String } else { Made::Null }))
}

fn now_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let fsp = match args {
        [] => 0,
        [arg] => match literal_integer(arg) {
            Some(fsp @ 0..=6) => fsp as u8,
            Some(fsp) => return Err(MysqlError::too_big_precision(fsp, "now", 6)),
            None => return Err(MysqlError::wrong_arguments("now")),
        },
        _ => return Err(MysqlError::wrong_parameter_count("NOW")),
    };
    Ok(ExprType::numeric(SqlType::DateTime { fsp }, false))
}

/// Returns the time of the statement with the digits asked for; cuts the others.
fn now(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value, MysqlError> {
    Ok(Value::DateTime(cx.now.truncate(call.ty.sql.scale())))
}

fn unix_timestamp_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let scale = match args {
        [] => 0,
        [arg] => match &arg.ty.sql {
            SqlType::DateTime { fsp } => *fsp,
            ty if ty.is_string() => match arg.as_literal().and_then(Value::as_str) {
                Some(text) => text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(6) as u8),
                None => 6,
            },
            _ => 0,
        },
        _ => 0,
    };
    let nullable = !args.is_empty();
    Ok(if scale == 0 {
        ExprType::numeric(SqlType::BIGINT, nullable)
    } else {
        ExprType::numeric(SqlType::decimal(11 + scale, scale), nullable)
    })
}

/// Returns the seconds since 1970 in UTC of a time in the session's zone; 0 outside the range of MySQL's TIMESTAMP.
fn unix_timestamp(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    const END: i64 = 32_536_771_199_999_999;
    let utc = match args {
        [] => Some(cx.utc_now),
        [arg, ..] => match operand::datetime(arg, cx)? {
            Some(time) => cx.zone.to_utc(time).map(|(utc, _)| utc),
            None => return Ok(Value::Null),
        },
    };
    let micros =
        utc.and_then(DateTime::epoch_micros).filter(|micros| (0..=END).contains(micros)).unwrap_or(0);
    Ok(match call.ty.sql {
        SqlType::Decimal { scale, .. } => {
            Decimal::from_i128(micros.into(), 6).truncate(scale.into()).map_or(Value::Null, Value::Decimal)
        }
        _ => Value::Int(micros.div_euclid(1_000_000)),
    })
}
