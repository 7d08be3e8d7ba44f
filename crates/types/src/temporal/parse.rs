//! Reads dates and datetimes from text and from numbers.
//!
//! MySQL reads up to seven fields (year, month, day, hour, minute, second, fraction):
//! - with delimiters, any punctuation: `2024-1-2`, `2024^01@02 3+4+5`; a `T` or spaces between day and hour;
//! - without, in fields of two digits: `20240102`, `240102`, `20240102030405`; the year has four digits if there are
//!   4, 8, 14 or more digits (and `T`s), otherwise two.
//!
//! A year of exactly two digits is 1970 to 2069. Missing fields from the hour on are 0. Text that follows is garbage:
//! the value is kept, with a warning, in strict mode with an error. A time of day with seconds may be followed by an
//! offset from UTC, `+05:30`.

use super::calendar::MICROS_PER_SECOND;
use super::{CivilDate, CivilDateTime, Date, DateRules, DateTime, Zone, zone};

/// The result of reading a date or datetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalParse<T> {
    /// The value.
    pub value: T,
    /// Whether something other than spaces followed it and was ignored.
    pub truncated: bool,
    /// Whether there was a time of day.
    pub has_time: bool,
    /// Digits of the fraction of a second, 6 at most.
    pub fsp: u8,
    /// The offset from UTC in minutes, positive to the east, if one follows the time of day: `+05:30`.
    pub offset: Option<i32>,
}

impl TemporalParse<DateTime> {
    /// Returns the value as local time in `zone`, which it already is without an offset; None outside the years 0 to
    /// 9999.
    pub fn in_zone(&self, zone: &Zone) -> Option<DateTime> {
        match self.offset {
            None => Some(self.value),
            Some(minutes) => {
                zone.to_local(self.value.plus_micros(-i64::from(minutes) * 60 * MICROS_PER_SECOND)?)
            }
        }
    }
}

/// Why a text is not a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTemporal {
    /// The text is not spelled as a date.
    #[error("not a date")]
    Spelling,
    /// The day does not exist, and the rules do not admit it.
    #[error("not a day")]
    Day,
}

/// The numbers of fields, by their order in the text.
const DAY: usize = 2;
const HOUR: usize = 3;
const SECOND: usize = 5;
const FRACTION: usize = 6;
const FIELDS: usize = 7;
/// The largest value of a field.
const MAX_FIELD: u32 = 999_999;

/// The fields of a text.
struct Fields {
    value: [u32; FIELDS],
    digits: [usize; FIELDS],
    count: usize,
    /// The offset behind the last field.
    end: usize,
}

impl Date {
    /// Reads a date in any of MySQL's spellings; a time of day is read and dropped.
    pub fn parse(text: &str, rules: DateRules) -> Result<TemporalParse<Date>, BadTemporal> {
        let found = parse_datetime(text, rules)?;
        let TemporalParse { value, truncated, has_time, fsp, offset } = found;
        Ok(TemporalParse { value: value.date(), truncated, has_time, fsp, offset })
    }

    /// Reads a number such as 20240102 or 240102; a time of day (20240102030405) is read and dropped.
    pub fn from_number(number: i64, rules: DateRules) -> Option<Self> {
        DateTime::from_number(number, rules).map(DateTime::date)
    }
}

impl DateTime {
    /// Reads a datetime in any of MySQL's spellings. Keeps six digits of the fraction; a seventh rounds unless the
    /// rules cut it.
    pub fn parse(text: &str, rules: DateRules) -> Result<TemporalParse<DateTime>, BadTemporal> {
        parse_datetime(text, rules)
    }

    /// Reads a number such as 20240102030405, 240102030405, 20240102, 240102 or 0.
    pub fn from_number(number: i64, rules: DateRules) -> Option<Self> {
        Self::from_civil(number_to_civil(number)?, rules)
    }
}

fn parse_datetime(text: &str, rules: DateRules) -> Result<TemporalParse<DateTime>, BadTemporal> {
    let bad = BadTemporal::Spelling;
    let text = text.as_bytes().trim_ascii_start();
    let compact_year = compact_year_digits(text);
    let fields = read_fields(text, compact_year).ok_or(bad)?;
    if fields.count < 3 {
        return Err(bad);
    }
    let [mut year, month, day, hour, minute, second, mut fraction] = fields.value;
    let year_digits = compact_year.unwrap_or(fields.digits[0]);
    if year_digits == 2 && fields.value.iter().any(|&v| v != 0) {
        year += if year < 70 { 2000 } else { 1900 };
    }
    for _ in fields.digits[FRACTION]..6 {
        fraction *= 10;
    }
    let small = |v: u32| u8::try_from(v).map_err(|_| bad);
    let civil = CivilDateTime {
        date: CivilDate {
            year: u16::try_from(year).map_err(|_| bad)?,
            month: small(month)?,
            day: small(day)?,
        },
        hour: small(hour)?,
        minute: small(minute)?,
        second: small(second)?,
        microsecond: fraction,
    };
    let mut value = DateTime::from_any_civil(civil).ok_or(bad)?;
    if !value.is_admitted(rules) {
        return Err(BadTemporal::Day);
    }
    // Digits after the sixth of the fraction: the first of them rounds, or all are cut.
    let mut rest = &text[fields.end..];
    if fields.digits[FRACTION] == 6 && rest.first().is_some_and(u8::is_ascii_digit) {
        if rest[0] >= b'5' && !rules.cut_fractions {
            value = value.plus_micros(1).ok_or(bad)?;
        }
        let len = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        rest = &rest[len..];
    }
    let offset = if fields.count > SECOND { parse_offset(rest.trim_ascii_end()) } else { None };
    if offset.is_some() {
        rest = &[];
    }
    Ok(TemporalParse {
        value,
        offset,
        truncated: !rest.trim_ascii_start().is_empty(),
        has_time: fields.count > HOUR,
        fsp: fields.digits[FRACTION] as u8,
    })
}

/// Reads exactly `[+|-]hh:mm`; returns minutes.
fn parse_offset(text: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(text).ok()?;
    let is_whole = text.len() == "+hh:mm".len() && text != "-00:00";
    if is_whole { zone::parse_offset(text) } else { None }
}

/// Returns how many digits the year of a text without delimiters has; None for a text with delimiters.
fn compact_year_digits(text: &[u8]) -> Option<usize> {
    let len = text.iter().position(|b| !(b.is_ascii_digit() || *b == b'T')).unwrap_or(text.len());
    let compact = text.get(len).is_none_or(|&b| b == b'.');
    compact.then_some(if matches!(len, 4 | 8 | 14..) { 4 } else { 2 })
}

/// Reads the fields; None if a field is too large, or a space stands where none may.
fn read_fields(text: &[u8], compact_year: Option<usize>) -> Option<Fields> {
    let mut f = Fields { value: [0; FIELDS], digits: [0; FIELDS], count: 0, end: 0 };
    let mut at = 0;
    for i in 0..FIELDS {
        let width = match (i, compact_year) {
            (FRACTION, _) => 6,
            (0, Some(year)) => year,
            (_, Some(_)) => 2,
            (_, None) => usize::MAX,
        };
        let start = at;
        let mut value = 0u32;
        while at - start < width && text.get(at).is_some_and(u8::is_ascii_digit) {
            value = value.saturating_mul(10).saturating_add(u32::from(text[at] - b'0'));
            at += 1;
        }
        if at == start {
            break;
        }
        if value > MAX_FIELD {
            return None;
        }
        (f.value[i], f.digits[i], f.count, f.end) = (value, at - start, i + 1, at);
        match text.get(at) {
            None => break,
            Some(b'T') if i == DAY => at += 1,
            Some(b'.') if i == SECOND => at += 1,
            // The fraction must follow a point behind the seconds.
            Some(_) if i == SECOND => break,
            // An offset from UTC.
            Some(b'+' | b'-') if i == FRACTION => break,
            Some(_) => {
                while let Some(b) =
                    text.get(at).filter(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
                {
                    if b.is_ascii_whitespace() && i != DAY && i != FRACTION {
                        return None;
                    }
                    at += 1;
                }
            }
        }
        f.end = at;
    }
    Some(f)
}

/// Splits a number such as 20240102030405, 240102030405, 20240102, 240102 or 0 into its parts, which are not checked
/// further.
fn number_to_civil(number: i64) -> Option<CivilDateTime> {
    const DAY_UNIT: i64 = 1_000_000;
    let full = match number {
        0 => 0,
        101..=691_231 => (number + 20_000_000) * DAY_UNIT,
        700_101..=991_231 => (number + 19_000_000) * DAY_UNIT,
        991_232..=99_991_231 => number * DAY_UNIT,
        101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
        700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
        10_000_101_000_000..=99_991_231_235_959 => number,
        _ => return None,
    };
    let (day, time) = (full / DAY_UNIT, full % DAY_UNIT);
    Some(CivilDateTime {
        date: CivilDate {
            year: (day / 10_000) as u16,
            month: (day / 100 % 100) as u8,
            day: (day % 100) as u8,
        },
        hour: (time / 10_000) as u8,
        minute: (time / 100 % 100) as u8,
        second: (time % 100) as u8,
        microsecond: 0,
    })
}
