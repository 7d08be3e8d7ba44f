//! Helpers of the functions of dates and times: units, days of the week, modes of weeks, texts that are datetimes.

use super::args::integer;
use crate::{EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::temporal::{Date, DateTime, IntervalUnit, Time, WeekMode, date_rules};
use leafline_types::value::Value;

/// Returns the unit, which these calls have as a literal argument.
pub(super) fn unit_of(arg: &Expr) -> Result<IntervalUnit, MysqlError> {
    let name = arg.as_literal().and_then(Value::as_str);
    name.and_then(IntervalUnit::from_name).ok_or_else(|| MysqlError::internal("no interval unit"))
}

/// Returns the day of the week, from 0 for Sunday (or Monday); None if month or day is zero.
pub(super) fn weekday(d: Date, sunday_first: bool) -> Option<u8> {
    Some((d.weekday()? + u8::from(sunday_first)) % 7)
}

/// Returns how weeks are counted for a `mode` argument.
pub(super) fn week_mode_of(number: i64) -> WeekMode {
    WeekMode::from_number((number & 7) as u8)
}

/// Returns the second argument, which says how weeks are counted; NULL is 0.
pub(super) fn week_mode(cx: &mut EvalContext<'_>, args: &[Value]) -> Result<i64, MysqlError> {
    Ok(match args.get(1) {
        Some(mode) => integer(mode, cx)?.unwrap_or(0),
        None => 0,
    })
}

/// Reads a text as a datetime where a time is expected; None unless it has a day and a time of day.
pub(super) fn datetime_text(v: &Value) -> Option<DateTime> {
    let text = v.as_str()?;
    let time = Time::parse(text).is_ok_and(|parsed| !parsed.had_date);
    DateTime::parse(text, date_rules(text))
        .ok()
        .filter(|parsed| parsed.has_time && !time)
        .map(|parsed| parsed.value)
}
