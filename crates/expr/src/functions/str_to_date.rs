//! STR_TO_DATE: the inverse of DATE_FORMAT.
//!
//! White space before each part of the text is skipped, and so is the rest of the format once the text has ended. The
//! rest of the text is ignored, with a warning. The result is a DATE, a TIME or a DATETIME, depending on the parts in
//! a literal format. The day of a month only has to be at most 31. A date part that is zero makes the result NULL
//! under `NO_ZERO_DATE`.

use super::date_parts::weekday;
use crate::function::{Call, Function};
use crate::locale::TimeNames;
use crate::{EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::temporal::{CivilDate, CivilDateTime, Date, DateRules, DateTime};
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[Function::new("STR_TO_DATE", (2, 2), result_type, str_to_date)];

/// Returns the type that a format produces.
fn result_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let Some(format) = args[1].as_literal().and_then(Value::as_str) else {
        return Ok(ExprType::numeric(SqlType::DateTime { fsp: 6 }, true));
    };
    let specifiers: Vec<char> = specifiers(format).collect();
    let has = |letters: &str| specifiers.iter().any(|s| letters.contains(*s));
    let (date, time) = (has("MVUXYWabcjmvuxywdeD"), has("HISThiklprsf"));
    let fsp = if has("f") { 6 } else { 0 };
    let sql = match (date, time) {
        (_, false) => SqlType::Date,
        (false, true) => SqlType::Time { fsp },
        (true, true) => SqlType::DateTime { fsp },
    };
    Ok(ExprType::numeric(sql, true))
}

fn specifiers(format: &str) -> impl Iterator<Item = char> {
    let mut characters = format.chars();
    std::iter::from_fn(move || {
        while let Some(c) = characters.next() {
            if c == '%' {
                return characters.next();
            }
        }
        None
    })
}

fn str_to_date(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let (Some(text), Some(format)) = (call.text(args, 0), call.text(args, 1)) else { return Ok(Value::Null) };
    let (text, format) = (String::from_utf8_lossy(&text), String::from_utf8_lossy(&format));
    let mut reader = Reader { rest: &text, ..Reader::default() };
    let read = reader.read(&format).and_then(|()| reader.fields.value(&call.ty.sql, cx.sql_mode.dates));
    match read {
        Some(v) => {
            if !reader.rest.trim_start().is_empty() {
                let kind = match call.ty.sql {
                    SqlType::Date => "date",
                    SqlType::DateTime { .. } => "datetime",
                    _ => "time",
                };
                cx.warn(MysqlError::truncated_value(kind, &text))?;
            }
            Ok(v)
        }
        None => {
            cx.warn(MysqlError::wrong_value_for_function("datetime", text, "str_to_date"))?;
            Ok(Value::Null)
        }
    }
}

/// The number of a week, and how weeks are counted.
#[derive(Debug, Clone, Copy)]
struct Week {
    number: i64,
    sunday_first: bool,
    /// Whether it comes from `%V` or `%v`, which need the year of `%X` or `%x`.
    strict: bool,
}

#[derive(Debug, Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
    /// Whether hours are 1 to 12.
    twelve_hours: bool,
    afternoon: bool,
    /// 1 to 366.
    day_of_year: i64,
    /// 1 for Monday to 7 for Sunday.
    weekday: i64,
    week: Option<Week>,
    /// The year of the week, and whether its weeks begin on Sunday.
    week_year: Option<(i64, bool)>,
}

#[derive(Debug, Default)]
struct Reader<'t> {
    rest: &'t str,
    fields: Fields,
}

impl Reader<'_> {
    /// Reads the text by the format; None if they do not match.
    fn read(&mut self, format: &str) -> Option<()> {
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            self.rest = self.rest.trim_start();
            let Some(next) = self.rest.chars().next() else { break };
            match c {
                '%' => match characters.next() {
                    Some(specifier) => self.part(specifier)?,
                    None if next == '%' => self.rest = &self.rest[1..],
                    None => return None,
                },
                c if c.is_whitespace() => {}
                c if c == next => self.rest = &self.rest[c.len_utf8()..],
                _ => return None,
            }
        }
        Some(())
    }

    /// Reads one to `most` digits.
    fn number(&mut self, most: usize) -> Option<(i64, usize)> {
        let digits = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number = self.rest[..digits].parse().ok()?;
        self.rest = &self.rest[digits..];
        Some((number, digits))
    }

    /// Reads a word of a list (or its first letters), and returns its place from 1.
    fn word(&mut self, list: &[&str], letters: usize) -> Option<i64> {
        let short = |word: &&str| word.len().min(letters);
        let found = list.iter().position(|word| {
            let length = short(word);
            self.rest.get(..length).is_some_and(|next| next.eq_ignore_ascii_case(&word[..length]))
        })?;
        self.rest = &self.rest[short(&list[found])..];
        Some(found as i64 + 1)
    }

    fn part(&mut self, specifier: char) -> Option<()> {
        let two_digit_year = |year: i64| if year < 70 { year + 2000 } else { year + 1900 };
        match specifier {
            'Y' => {
                let (year, digits) = self.number(4)?;
                self.fields.year = if digits <= 2 { two_digit_year(year) } else { year };
            }
            'y' => self.fields.year = two_digit_year(self.number(2)?.0),
            'm' | 'c' => self.fields.month = self.number(2)?.0,
            'M' => self.fields.month = self.word(TimeNames::ENGLISH.months(), usize::MAX)?,
            'b' => self.fields.month = self.word(TimeNames::ENGLISH.months(), 3)?,
            'd' | 'e' => self.fields.day = self.number(2)?.0,
            'D' => {
                self.fields.day = self.number(2)?.0;
                let suffix: usize = self.rest.chars().take(2).map(char::len_utf8).sum();
                self.rest = &self.rest[suffix..];
            }
            'h' | 'I' | 'l' => {
                self.fields.twelve_hours = true;
                self.fields.hour = self.number(2)?.0;
            }
            'H' | 'k' => self.fields.hour = self.number(2)?.0,
            'i' => self.fields.minute = self.number(2)?.0,
            's' | 'S' => self.fields.second = self.number(2)?.0,
            'f' => {
                let (micros, digits) = self.number(6)?;
                self.fields.microsecond = micros * 10i64.pow(6 - digits as u32);
            }
            'p' if self.fields.twelve_hours => self.fields.afternoon = self.word(&["AM", "PM"], 2)? == 2,
            'r' => self.read("%I:%i:%S %p")?,
            'T' => self.read("%H:%i:%S")?,
            '.' => self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
            '@' => self.rest = self.rest.trim_start_matches(|c: char| c.is_alphabetic()),
            '#' => self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            _ => self.week_part(specifier)?,
        }
        Some(())
    }

    /// Reads a day of a week or year, or a week.
    fn week_part(&mut self, specifier: char) -> Option<()> {
        // The list begins with Sunday.
        let monday_first = |place: i64| if place == 1 { 7 } else { place - 1 };
        match specifier {
            'W' => self.fields.weekday = monday_first(self.word(TimeNames::ENGLISH.days(), usize::MAX)?),
            'a' => self.fields.weekday = monday_first(self.word(TimeNames::ENGLISH.days(), 3)?),
            'w' => {
                let day = Some(self.number(1)?.0).filter(|day| *day < 7)?;
                self.fields.weekday = if day == 0 { 7 } else { day };
            }
            'j' => self.fields.day_of_year = self.number(3)?.0,
            'U' | 'u' | 'V' | 'v' => {
                let (number, strict) = (self.number(2)?.0, matches!(specifier, 'V' | 'v'));
                if number > 53 || strict && number == 0 {
                    return None;
                }
                let sunday_first = matches!(specifier, 'U' | 'V');
                self.fields.week = Some(Week { number, sunday_first, strict });
            }
            'X' | 'x' => self.fields.week_year = Some((self.number(4)?.0, specifier == 'X')),
            _ => return None,
        }
        Some(())
    }
}

impl Fields {
    /// Returns the value of a type; None if there is no such day or time.
    fn value(&self, ty: &SqlType, rules: DateRules) -> Option<Value> {
        let mut hour = self.hour;
        if self.twelve_hours {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        let small = |v: i64| u8::try_from(v).ok();
        if let SqlType::Time { .. } = ty {
            let fits = hour < 24 && self.minute < 60 && self.second < 60;
            let seconds = (hour * 60 + self.minute) * 60 + self.second;
            let time = leafline_types::temporal::Time::from_micros(seconds * 1_000_000 + self.microsecond);
            return time.filter(|_| fits).map(Value::Time);
        }
        let date = self.date()?;
        let civil = CivilDateTime {
            date,
            hour: small(hour)?,
            minute: small(self.minute)?,
            second: small(self.second)?,
            microsecond: self.microsecond as u32,
        };
        if !rules.zero && (date.year == 0 || date.month == 0 || date.day == 0) {
            return None;
        }
        let time = DateTime::from_civil(civil, DateRules::ANY)?;
        Some(if *ty == SqlType::Date { Value::Date(time.date()) } else { Value::DateTime(time) })
    }

    fn date(&self) -> Option<CivilDate> {
        if self.day_of_year > 0 {
            return first_day(self.year).and_then(|first| plus(first, self.day_of_year - 1));
        }
        match self.week {
            Some(week) if self.weekday > 0 => self.day_of_week(week),
            _ => Some(CivilDate {
                year: u16::try_from(self.year).ok()?,
                month: u8::try_from(self.month).ok()?,
                day: u8::try_from(self.day).ok()?,
            }),
        }
    }

    /// Returns the day of a week. `%V` and `%v` need `%X` and `%x`; `%U` and `%u` need `%Y`.
    fn day_of_week(&self, week: Week) -> Option<CivilDate> {
        let year = match (week.strict, self.week_year) {
            (true, Some((year, sunday_first))) if sunday_first == week.sunday_first => year,
            (false, None) => self.year,
            _ => return None,
        };
        let first = first_day(year)?;
        let begin = i64::from(weekday(first, week.sunday_first)?);
        let weeks = (week.number - 1) * 7;
        plus(
            first,
            match week.sunday_first {
                true => (if begin == 0 { 0 } else { 7 }) - begin + weeks + self.weekday % 7,
                false => (if begin <= 3 { 0 } else { 7 }) - begin + weeks + self.weekday - 1,
            },
        )
    }
}

fn first_day(year: i64) -> Option<Date> {
    Date::from_civil(u16::try_from(year).ok()?, 1, 1)
}

fn plus(day: Date, days: i64) -> Option<CivilDate> {
    let day = day.plus_days(i32::try_from(days).ok()?)?.civil();
    // Days before the year 1 have no numbers in MySQL.
    Some(if day.year == 0 { Date::ZERO.civil() } else { day })
}
