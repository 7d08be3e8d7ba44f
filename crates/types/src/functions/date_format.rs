//! DATE_FORMAT.

use std::fmt::Write;

use super::temporal::{day_of_year, week, weekday};
use crate::temporal::{Date, DateTime};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The name of the day of the week.
pub(super) fn day_name(day: Date) -> &'static str {
    DAYS[usize::from(weekday(day, true))]
}

/// The name of the month.
pub(super) fn month_name(day: Date) -> &'static str {
    MONTHS[usize::from(day.civil().month - 1) % 12]
}

/// The text of a datetime as `format` says; a `%` before any other character is that character.
pub(super) fn date_format(t: DateTime, format: &str) -> String {
    let c = t.civil();
    let (date, day) = (c.date, t.date());
    let (month, name) = (month_name(day), day_name(day));
    let hour12 = (c.hour + 11) % 12 + 1;
    let half = if c.hour < 12 { "AM" } else { "PM" };
    let mut out = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let Some(specifier) = characters.next() else {
            out.push('%');
            break;
        };
        // Writing to a String does not fail.
        let _ = match specifier {
            'a' => write!(out, "{}", &name[..3]),
            'b' => write!(out, "{}", &month[..3]),
            'c' => write!(out, "{}", date.month),
            'D' => write!(out, "{}{}", date.day, ordinal(date.day)),
            'd' => write!(out, "{:02}", date.day),
            'e' => write!(out, "{}", date.day),
            'f' => write!(out, "{:06}", c.microsecond),
            'H' => write!(out, "{:02}", c.hour),
            'h' | 'I' => write!(out, "{hour12:02}"),
            'i' => write!(out, "{:02}", c.minute),
            'j' => write!(out, "{:03}", day_of_year(day)),
            'k' => write!(out, "{}", c.hour),
            'l' => write!(out, "{hour12}"),
            'M' => write!(out, "{month}"),
            'm' => write!(out, "{:02}", date.month),
            'p' => write!(out, "{half}"),
            'r' => write!(out, "{hour12:02}:{:02}:{:02} {half}", c.minute, c.second),
            'S' | 's' => write!(out, "{:02}", c.second),
            'T' => write!(out, "{:02}:{:02}:{:02}", c.hour, c.minute, c.second),
            'U' => write!(out, "{:02}", week(day, 0).0),
            'u' => write!(out, "{:02}", week(day, 1).0),
            'V' => write!(out, "{:02}", week(day, 2).0),
            'v' => write!(out, "{:02}", week(day, 3).0),
            'W' => write!(out, "{name}"),
            'w' => write!(out, "{}", weekday(day, true)),
            'X' => write!(out, "{:04}", week(day, 2).1),
            'x' => write!(out, "{:04}", week(day, 3).1),
            'Y' => write!(out, "{:04}", date.year),
            'y' => write!(out, "{:02}", date.year % 100),
            other => write!(out, "{other}"),
        };
    }
    out
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
