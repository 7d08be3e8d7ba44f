//! DATETIME.

use std::fmt;

use super::parse::{number_to_civil, parse_datetime};
use super::{BadTemporal, CivilDate, Date, Interval, TemporalParse, days_in_month};

/// Microseconds of a day.
pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds of a second.
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;

/// A day and a time of day, as microseconds since 1970-01-01 00:00:00. Year 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

/// A datetime taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDateTime {
    /// The day.
    pub date: CivilDate,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub microsecond: u32,
}

impl DateTime {
    /// 0000-01-01 00:00:00.
    pub const MIN: DateTime = DateTime(-719_527 * MICROS_PER_DAY);
    /// 9999-12-31 23:59:59.999999.
    pub const MAX: DateTime = DateTime(2_932_897 * MICROS_PER_DAY - 1);

    /// From microseconds since 1970-01-01 00:00:00; None outside of the years 0 to 9999.
    #[inline]
    pub fn from_micros(micros: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&micros).then_some(DateTime(micros))
    }

    /// Microseconds since 1970-01-01 00:00:00.
    #[inline]
    pub fn micros(self) -> i64 {
        self.0
    }

    #[inline]
    pub(super) fn from_days_and_micros(days: i32, micros: i64) -> Self {
        DateTime(i64::from(days) * MICROS_PER_DAY + micros)
    }

    /// From a day and microseconds since its midnight, less than a day's.
    pub fn from_parts(date: Date, micros_of_day: i64) -> Option<Self> {
        let fits = (0..MICROS_PER_DAY).contains(&micros_of_day);
        fits.then(|| Self::from_days_and_micros(date.days(), micros_of_day))
    }

    /// From year, month, day, hour, minute, second and microsecond, if there is such a time.
    pub fn from_civil(c: CivilDateTime) -> Option<Self> {
        let date = Date::from_civil(c.date.year, c.date.month, c.date.day)?;
        if c.hour > 23 || c.minute > 59 || c.second > 59 || c.microsecond > 999_999 {
            return None;
        }
        let seconds = (i64::from(c.hour) * 60 + i64::from(c.minute)) * 60 + i64::from(c.second);
        Self::from_parts(date, seconds * MICROS_PER_SECOND + i64::from(c.microsecond))
    }

    /// Its parts.
    pub fn civil(self) -> CivilDateTime {
        let micros = self.micros_of_day();
        let seconds = micros / MICROS_PER_SECOND;
        CivilDateTime {
            date: self.date().civil(),
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (micros % MICROS_PER_SECOND) as u32,
        }
    }

    /// Microseconds since midnight.
    #[inline]
    pub fn micros_of_day(self) -> i64 {
        self.0.rem_euclid(MICROS_PER_DAY)
    }

    /// Reads a datetime in any of MySQL's spellings; six digits of the fraction are kept, a seventh rounds.
    pub fn parse(text: &str) -> Result<TemporalParse<DateTime>, BadTemporal> {
        parse_datetime(text)
    }

    /// Reads a number such as 20240102030405, 240102030405, 20240102 or 240102.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::from_civil(number_to_civil(number)?)
    }

    /// The number 20240102030405; the fraction is left out.
    pub fn to_number(self) -> i64 {
        let c = self.civil();
        let time = (i64::from(c.hour) * 100 + i64::from(c.minute)) * 100 + i64::from(c.second);
        self.date().to_number() * 1_000_000 + time
    }

    /// Rounded half up to `fsp` digits of the second's fraction; None if that leaves the year 9999.
    pub fn round(self, fsp: u8) -> Option<Self> {
        let unit = fraction_unit(fsp);
        Self::from_micros((self.0 + unit / 2).div_euclid(unit) * unit)
    }

    /// Cut to `fsp` digits of the second's fraction.
    pub fn truncate(self, fsp: u8) -> Self {
        let unit = fraction_unit(fsp);
        DateTime(self.0.div_euclid(unit) * unit)
    }

    /// Plus an interval, or None where MySQL says error 1441. Months are added first, and a day that the month
    /// does not have becomes its last.
    pub fn checked_add(self, interval: Interval) -> Option<DateTime> {
        let mut base = self;
        if interval.months() != 0 {
            let c = self.date().civil();
            let months = i64::from(c.year) * 12 + i64::from(c.month) - 1;
            let months = months.checked_add(interval.months())?;
            let (year, month) = (u16::try_from(months.div_euclid(12)).ok()?, months.rem_euclid(12) as u8 + 1);
            let date = Date::from_civil(year, month, c.day.min(days_in_month(year, month)))?;
            base = Self::from_days_and_micros(date.days(), self.micros_of_day());
        }
        if interval.micros() == 0 {
            return Some(base);
        }
        let sum = Self::from_micros(base.0.checked_add(interval.micros())?)?;
        // MySQL has no day numbers in year 0: there the sum would be a zero date.
        (sum.date().civil().year > 0).then_some(sum)
    }

    /// `2024-01-02 03:04:05`, with `fsp` digits of the fraction (cut, not rounded).
    pub fn display(self, fsp: u8) -> impl fmt::Display {
        DisplayDateTime { value: self, fsp: fsp.min(6) }
    }
}

/// The microseconds in the last of `fsp` digits.
pub(crate) fn fraction_unit(fsp: u8) -> i64 {
    10i64.pow(6 - u32::from(fsp.min(6)))
}

struct DisplayDateTime {
    value: DateTime,
    fsp: u8,
}

impl fmt::Display for DisplayDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.value.civil();
        write!(f, "{} {:02}:{:02}:{:02}", self.value.date(), c.hour, c.minute, c.second)?;
        if self.fsp == 0 {
            return Ok(());
        }
        let fraction = i64::from(c.microsecond) / fraction_unit(self.fsp);
        write!(f, ".{fraction:0width$}", width = usize::from(self.fsp))
    }
}
