//! TIME: a span of up to 838 hours in either direction.
//!
//! MySQL reads `[-][days ]hh:mm[:ss[.fraction]]`, `[-]days hh`, and digits without delimiters, which are `hhmmss`
//! from the right: `1112` is 00:11:12. A text of twelve characters or more that is a datetime gives its time of day.
//! Hours beyond 838 are clipped; minutes and seconds beyond 59 make a text invalid. Text that follows is garbage, as
//! in `super::parse`.

use std::fmt;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::datetime::fraction_unit;
use super::{BadTemporal, DateRules, DateTime};

/// A span of time, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A span as its parts, which are not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilTime {
    /// Whether the span is negative.
    pub negative: bool,
    /// 0 to 838.
    pub hour: u16,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub microsecond: u32,
}

/// The result of reading a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeParse {
    /// The value.
    pub value: Time,
    /// Whether something other than spaces followed it and was ignored.
    pub truncated: bool,
    /// Whether it was beyond 838 hours and was clipped.
    pub clipped: bool,
    /// Whether a date stood before it and was dropped.
    pub had_date: bool,
    /// Digits of the fraction of a second, 6 at most.
    pub fsp: u8,
}

/// The most hours.
const MAX_HOUR: i64 = 838;
/// Texts of this length or more may be datetimes.
const LEAST_DATETIME: usize = 12;

impl Time {
    /// -838:59:59.
    pub const MIN: Time = Time(-Self::MAX.0);
    /// 838:59:59.
    pub const MAX: Time = Time(((MAX_HOUR * 60 + 59) * 60 + 59) * MICROS_PER_SECOND);
    /// 00:00:00.
    pub const ZERO: Time = Time(0);

    /// Makes a span of `micros` microseconds; None beyond 838:59:59 in either direction.
    #[inline]
    pub fn from_micros(micros: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&micros).then_some(Time(micros))
    }

    /// Makes a span of `micros` microseconds, clipped to the range.
    pub fn clipped(micros: i64) -> Self {
        Time(micros.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Returns the microseconds.
    #[inline]
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Makes a span of its parts, if minutes and seconds are below 60 and it is within the range.
    pub fn from_civil(c: CivilTime) -> Option<Self> {
        if c.minute > 59 || c.second > 59 || c.microsecond > 999_999 {
            return None;
        }
        let seconds = (i64::from(c.hour) * 60 + i64::from(c.minute)) * 60 + i64::from(c.second);
        let micros = seconds * MICROS_PER_SECOND + i64::from(c.microsecond);
        Self::from_micros(if c.negative { -micros } else { micros })
    }

    /// Returns its parts.
    pub fn civil(self) -> CivilTime {
        let micros = self.0.abs();
        let seconds = micros / MICROS_PER_SECOND;
        CivilTime {
            negative: self.0 < 0,
            hour: (seconds / 3600) as u16,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (micros % MICROS_PER_SECOND) as u32,
        }
    }

    /// Reads a time in any of MySQL's spellings. Keeps six digits of the fraction; a seventh rounds.
    pub fn parse(text: &str) -> Result<TimeParse, BadTemporal> {
        parse_time(text, DateRules::DAYS)
    }

    /// Reads a time like [`parse`](Self::parse); a seventh digit is rounded or cut as the rules say.
    pub fn parse_by(text: &str, rules: DateRules) -> Result<TimeParse, BadTemporal> {
        parse_time(text, rules)
    }

    /// Reads a number such as 101112 or -11; for a number that is a datetime, its time of day. None if minutes or
    /// seconds are beyond 59. Clips to the range; the second result says whether it did.
    pub fn from_number(number: i64) -> Option<(Self, bool)> {
        const MAX: i64 = 8_385_959;
        const LEAST_DATETIME_NUMBER: i64 = 10_000_000_000;
        if number >= LEAST_DATETIME_NUMBER
            && let Some(t) = DateTime::from_number(number, DateRules::PARTS)
        {
            return Some((Time(t.micros_of_day()), false));
        }
        let parts = number.unsigned_abs() as i64;
        if number.unsigned_abs() > MAX as u64 {
            return Some((if number < 0 { Self::MIN } else { Self::MAX }, true));
        }
        let (hour, minute, second) = (parts / 10_000, parts / 100 % 100, parts % 100);
        if minute > 59 || second > 59 {
            return None;
        }
        let micros = ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND;
        Some((Time(if number < 0 { -micros } else { micros }), false))
    }

    /// Returns the number 101112 for 10:11:12, without the fraction.
    pub fn to_number(self) -> i64 {
        let c = self.civil();
        let number = (i64::from(c.hour) * 100 + i64::from(c.minute)) * 100 + i64::from(c.second);
        if c.negative { -number } else { number }
    }

    /// Rounds half away from zero to `fsp` digits of the second's fraction, and clips to the range.
    pub fn round(self, fsp: u8) -> Self {
        let unit = fraction_unit(fsp);
        let rounded = (self.0.abs() + unit / 2) / unit * unit;
        Self::clipped(if self.0 < 0 { -rounded } else { rounded })
    }

    /// Rounds or cuts to `fsp` digits of the second's fraction, as the rules say.
    pub fn fitted(self, fsp: u8, rules: DateRules) -> Self {
        if rules.cut_fractions { self.truncate(fsp) } else { self.round(fsp) }
    }

    /// Cuts to `fsp` digits of the second's fraction, towards zero.
    pub fn truncate(self, fsp: u8) -> Self {
        let unit = fraction_unit(fsp);
        Time(self.0 / unit * unit)
    }

    /// Returns the datetime this long after midnight of a day; None outside the years 0 to 9999.
    pub fn on(self, day: super::Date) -> Option<DateTime> {
        day.to_datetime().plus_micros(self.0)
    }

    /// Shows `-10:11:12`, with `fsp` digits of the fraction (cut, not rounded).
    pub fn display(self, fsp: u8) -> impl fmt::Display {
        DisplayTime { value: self, fsp: fsp.min(6) }
    }
}

impl From<DateTime> for Time {
    /// Takes the time of day.
    fn from(t: DateTime) -> Self {
        Time(t.micros_of_day())
    }
}

struct DisplayTime {
    value: Time,
    fsp: u8,
}

impl fmt::Display for DisplayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.value.civil();
        let sign = if c.negative { "-" } else { "" };
        write!(f, "{sign}{:02}:{:02}:{:02}", c.hour, c.minute, c.second)?;
        if self.fsp == 0 {
            return Ok(());
        }
        let fraction = i64::from(c.microsecond) / fraction_unit(self.fsp);
        write!(f, ".{fraction:0width$}", width = usize::from(self.fsp))
    }
}

/// Reads digits from the front of a text.
struct Scanner<'t> {
    rest: &'t [u8],
}

impl Scanner<'_> {
    fn number(&mut self) -> Option<i64> {
        let len = self.rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        let add = |sum: i64, b: &u8| sum.saturating_mul(10).saturating_add(i64::from(b - b'0'));
        (len > 0).then(|| digits.iter().fold(0, add))
    }

    /// Reads a number behind `delimiter`.
    fn next(&mut self, delimiter: u8) -> Option<i64> {
        match self.rest {
            [first, second, ..] if *first == delimiter && second.is_ascii_digit() => {
                self.rest = &self.rest[1..];
                self.number()
            }
            _ => None,
        }
    }
}

/// Returns the rules for the date that may precede a time in `text`: `01:00:00.5` must not be read as a date.
pub fn date_rules(text: &str) -> DateRules {
    if text.trim_ascii().contains([' ', 'T']) { DateRules::PARTS } else { DateRules::DAYS }
}

fn parse_time(text: &str, rules: DateRules) -> Result<TimeParse, BadTemporal> {
    let text = text.trim_ascii_start();
    if text.len() >= LEAST_DATETIME
        && let Ok(found) =
            DateTime::parse(text, DateRules { cut_fractions: rules.cut_fractions, ..date_rules(text) })
        && found.has_time
    {
        let value = Time(found.value.micros_of_day());
        return Ok(TimeParse {
            value,
            truncated: found.truncated || found.offset.is_some(),
            clipped: false,
            had_date: true,
            fsp: found.fsp,
        });
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut scanner = Scanner { rest: unsigned.as_bytes() };
    // A text may begin with the fraction: `.5`.
    let first = match scanner.number() {
        Some(number) => number,
        None if matches!(scanner.rest, [b'.', digit, ..] if digit.is_ascii_digit()) => 0,
        None => return Err(BadTemporal::Spelling),
    };
    let after = scanner.rest.trim_ascii_start();
    let (hour, minute, second) =
        if after.len() < scanner.rest.len() && after.first().is_some_and(u8::is_ascii_digit) {
            scanner.rest = after;
            let hours = scanner.number().unwrap_or(0);
            let minute = scanner.next(b':');
            let second = minute.and_then(|_| scanner.next(b':'));
            (first.saturating_mul(24).saturating_add(hours), minute.unwrap_or(0), second.unwrap_or(0))
        } else if let Some(minute) = scanner.next(b':') {
            (first, minute, scanner.next(b':').unwrap_or(0))
        } else {
            (first / 10_000, first / 100 % 100, first % 100)
        };
    let (fraction, fsp) = fraction(&mut scanner, rules);
    if matches!(scanner.rest, [b'e' | b'E', b'0'..=b'9' | b'+' | b'-', ..]) || minute > 59 || second > 59 {
        return Err(BadTemporal::Spelling);
    }
    let seconds = (hour.min(MAX_HOUR + 1) * 60 + minute) * 60 + second;
    let micros = seconds * MICROS_PER_SECOND + fraction;
    let value = Time::clipped(if negative { -micros } else { micros });
    Ok(TimeParse {
        value,
        truncated: !scanner.rest.trim_ascii_start().is_empty(),
        clipped: value.micros().abs() != micros,
        had_date: false,
        fsp,
    })
}

/// Reads `.123456`; returns the microseconds, and how many digits there are. A seventh digit rounds unless the rules
/// cut it.
fn fraction(scanner: &mut Scanner<'_>, rules: DateRules) -> (i64, u8) {
    let [b'.', rest @ ..] = scanner.rest else { return (0, 0) };
    let len = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    let digit = |at: usize| if at < len { i64::from(rest[at] - b'0') } else { 0 };
    let micros =
        (0..6).fold(0, |sum, at| sum * 10 + digit(at)) + i64::from(digit(6) >= 5 && !rules.cut_fractions);
    scanner.rest = &rest[len..];
    (micros, len.min(6) as u8)
}

const _: () = assert!(Time::MAX.0 < 35 * MICROS_PER_DAY);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Time::parse(text) {
            Ok(found) => {
                let mark = |set: bool, mark: &'static str| if set { mark } else { "" };
                let (cut, clip) = (mark(found.truncated, " cut"), mark(found.clipped, " clipped"));
                format!("{}{cut}{clip}", found.value.display(found.fsp))
            }
            Err(_) => "bad".to_owned(),
        }
    }

    #[test]
    fn texts_are_read_as_mysql_reads_them() {
        for (text, expected) in [
            ("10:11:12", "10:11:12"),
            ("10:11", "10:11:00"),
            ("1011", "00:10:11"),
            ("10", "00:00:10"),
            ("-101112", "-10:11:12"),
            ("1 10", "34:00:00"),
            ("1 2:3", "26:03:00"),
            ("-34 22:59:59.5", "-838:59:59.0 clipped"),
            ("10:11:12.5", "10:11:12.5"),
            ("10:11:12.1234567", "10:11:12.123457"),
            (" 10:11:12 ", "10:11:12"),
            ("10:11:12abc", "10:11:12 cut"),
            ("839:00:00", "838:59:59 clipped"),
            ("10:60:00", "bad"),
            ("10:11:60", "bad"),
            ("abc", "bad"),
            ("", "bad"),
            ("-", "bad"),
            ("2024-01-02 03:04:05", "03:04:05"),
            ("20240102030405", "03:04:05"),
            ("1e3", "bad"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_read_and_written() {
        let of = |n: i64| Time::from_number(n).map(|(t, clipped)| (t.display(0).to_string(), clipped));
        assert_eq!(of(101_112), Some(("10:11:12".into(), false)));
        assert_eq!(of(-1), Some(("-00:00:01".into(), false)));
        assert_eq!(of(8_390_000), Some(("838:59:59".into(), true)));
        assert_eq!(of(i64::MIN), Some(("-838:59:59".into(), true)));
        assert_eq!(of(20_240_102_030_405), Some(("03:04:05".into(), false)));
        assert_eq!(of(6_000), None);
        assert_eq!(Time::parse("-838:59:59").unwrap().value.to_number(), -8_385_959);
    }

    #[test]
    fn rounding_is_symmetric() {
        let t = |s: &str| Time::parse(s).unwrap().value;
        assert_eq!(t("-00:00:00.5").round(0), t("-00:00:01"));
        assert_eq!(t("00:00:00.499999").round(0), Time::ZERO);
        assert_eq!(t("-00:00:01.99").truncate(0), t("-00:00:01"));
        assert_eq!(
            t("10:00:00").on(crate::Date::from_epoch_days(0).unwrap()).unwrap().epoch_micros(),
            Some(36_000_000_000)
        );
    }
}
