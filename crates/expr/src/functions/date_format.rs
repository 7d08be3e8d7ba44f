//! DATE_FORMAT and TIME_FORMAT.

use std::fmt::Write;

use super::date_parts::weekday;
use crate::locale::TimeNames;
use leafline_types::output::{Output, Stop};
use leafline_types::temporal::{Date, DateTime, Time, WeekMode};

/// Returns the name of the day of the week; None if month or day is zero.
pub(super) fn day_name(day: Date, names: TimeNames) -> Option<&'static str> {
    names.day(weekday(day, true)?)
}

/// Returns the name of the month; None for month 0.
pub(super) fn month_name(day: Date, names: TimeNames) -> Option<&'static str> {
    names.month(day.civil().month)
}

/// Writes a datetime by `format`; returns whether the date has all parts that `format` names.
pub(super) fn put_date(
    t: DateTime,
    format: &str,
    names: TimeNames,
    out: &mut Output<'_>,
) -> Result<bool, Stop> {
    let c = t.civil();
    let clock = Clock { hour: c.hour.into(), minute: c.minute, second: c.second, microsecond: c.microsecond };
    put_formatted(format, out, &clock, (Some(t.date()), names))
}

/// Writes a span of time by `format`. It has no date: numeric parts of one are 0, names are missing.
pub(super) fn put_time(
    time: Time,
    format: &str,
    names: TimeNames,
    out: &mut Output<'_>,
) -> Result<bool, Stop> {
    let c = time.civil();
    if c.negative {
        out.push_byte(b'-')?;
    }
    let clock = Clock { hour: c.hour, minute: c.minute, second: c.second, microsecond: c.microsecond };
    put_formatted(format, out, &clock, (None, names))
}

struct Clock {
    hour: u16,
    minute: u8,
    second: u8,
    microsecond: u32,
}

/// Writes by `format`; a `%` before a character without a meaning is that character.
fn put_formatted(
    format: &str,
    out: &mut Output<'_>,
    clock: &Clock,
    day: (Option<Date>, TimeNames),
) -> Result<bool, Stop> {
    let mut part = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push_char(character)?;
            continue;
        }
        let Some(specifier) = characters.next() else {
            out.push_byte(b'%')?;
            break;
        };
        part.clear();
        if put_part(specifier, &mut part, clock, day).is_none() {
            return Ok(false);
        }
        out.push(part.as_bytes())?;
    }
    Ok(true)
}

/// Writes the part that a letter behind a `%` stands for; None if the date lacks it.
fn put_part(
    specifier: char,
    out: &mut String,
    clock: &Clock,
    (day, names): (Option<Date>, TimeNames),
) -> Option<()> {
    let Clock { hour, minute, second, microsecond } = clock;
    let date = day.unwrap_or(Date::ZERO).civil();
    let hour12 = (hour % 24 + 11) % 12 + 1;
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let week = |mode: u8| day?.week(WeekMode::from_number(mode));
    let written = match specifier {
        'a' => write!(out, "{}", names.short_day(weekday(day?, true)?)?),
        'b' => write!(out, "{}", names.short_month(day?.civil().month)?),
        'c' => write!(out, "{}", date.month),
        'D' => write!(out, "{}{}", date.day, ordinal(date.day)),
        'd' => write!(out, "{:02}", date.day),
        'e' => write!(out, "{}", date.day),
        'f' => write!(out, "{microsecond:06}"),
        'H' => write!(out, "{hour:02}"),
        'h' | 'I' => write!(out, "{hour12:02}"),
        'i' => write!(out, "{minute:02}"),
        'j' => write!(out, "{:03}", day?.day_of_year()?),
        'k' => write!(out, "{hour}"),
        'l' => write!(out, "{hour12}"),
        'M' => write!(out, "{}", month_name(day?, names)?),
        'm' => write!(out, "{:02}", date.month),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{hour12:02}:{minute:02}:{second:02} {half}"),
        'S' | 's' => write!(out, "{second:02}"),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        'U' => write!(out, "{:02}", week(0)?.1),
        'u' => write!(out, "{:02}", week(1)?.1),
        'V' => write!(out, "{:02}", week(2)?.1),
        'v' => write!(out, "{:02}", week(3)?.1),
        'W' => write!(out, "{}", day_name(day?, names)?),
        'w' => write!(out, "{}", weekday(day?, true)?),
        'X' => write!(out, "{:04}", week(2)?.0),
        'x' => write!(out, "{:04}", week(3)?.0),
        'Y' => write!(out, "{:04}", date.year),
        'y' => write!(out, "{:02}", date.year % 100),
        other => write!(out, "{other}"),
    };
    // Writing to a String does not fail.
    written.ok()
}

fn ordinal(day: u8) -> &'static str {
    match day {
        11..=13 => "th",
        _ => match day % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    }
}
