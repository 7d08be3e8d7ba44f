//! DATE.

use std::fmt;

use super::calendar::{EPOCH_DAY_NUMBER, MAX_DAY_NUMBER, week};
use super::datetime::MICROS_PER_DAY;
use super::parse::parse_datetime;
use super::{BadTemporal, CivilDate, DateTime, Interval, TemporalParse, WeekMode};

/// A day, as the number of days since 1970-01-01. Year 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

impl Date {
    /// 0000-01-01.
    pub const MIN: Date = Date(1 - EPOCH_DAY_NUMBER);
    /// 9999-12-31.
    pub const MAX: Date = Date(MAX_DAY_NUMBER - EPOCH_DAY_NUMBER);

    /// From days since 1970-01-01; None outside of the years 0 to 9999.
    #[inline]
    pub fn from_days(days: i32) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&days).then_some(Date(days))
    }

    /// Days since 1970-01-01.
    #[inline]
    pub fn days(self) -> i32 {
        self.0
    }

    /// From `TO_DAYS`'s number.
    pub fn from_day_number(number: u32) -> Option<Self> {
        Self::from_days(i32::try_from(number).ok()?.checked_sub(EPOCH_DAY_NUMBER)?)
    }

    /// `TO_DAYS`: 0000-01-01 is 1.
    #[inline]
    pub fn day_number(self) -> u32 {
        (self.0 + EPOCH_DAY_NUMBER) as u32
    }

    /// From year, month and day, if there is such a day.
    pub fn from_civil(year: u16, month: u8, day: u8) -> Option<Self> {
        let civil = CivilDate { year, month, day };
        civil.exists().then(|| Date(civil.day_number() - EPOCH_DAY_NUMBER))
    }

    /// Year, month and day.
    pub fn civil(self) -> CivilDate {
        CivilDate::from_day_number(self.0 + EPOCH_DAY_NUMBER)
    }

    /// Reads a date in any of MySQL's spellings; a time of day is read and dropped.
    pub fn parse(text: &str) -> Result<TemporalParse<Date>, BadTemporal> {
        let found = parse_datetime(text)?;
        let TemporalParse { value, truncated, has_time, fsp } = found;
        Ok(TemporalParse { value: value.date(), truncated, has_time, fsp })
    }

    /// Reads a number such as 20240102 or 240102; a time of day (20240102030405) is read and dropped.
    pub fn from_number(number: i64) -> Option<Self> {
        DateTime::from_number(number).map(DateTime::date)
    }

    /// The number 20240102.
    pub fn to_number(self) -> i64 {
        let c = self.civil();
        i64::from(c.year) * 10_000 + i64::from(c.month) * 100 + i64::from(c.day)
    }

    /// Midnight of the day.
    #[inline]
    pub fn to_datetime(self) -> DateTime {
        DateTime::from_days_and_micros(self.0, 0)
    }

    /// The day plus an interval, or None where MySQL says error 1441. A unit below a day gives a DATETIME, so add
    /// that to [`Date::to_datetime`]; here only the day of the result remains.
    pub fn checked_add(self, interval: Interval) -> Option<Date> {
        self.to_datetime().checked_add(interval).map(DateTime::date)
    }

    /// 0 for Monday to 6 for Sunday, as `WEEKDAY`.
    pub fn weekday(self) -> u8 {
        // 1970-01-01 was a Thursday.
        (self.0 + 3).rem_euclid(7) as u8
    }

    /// 1 to 366, as `DAYOFYEAR`.
    pub fn day_of_year(self) -> u16 {
        let first = CivilDate { month: 1, day: 1, ..self.civil() };
        (self.day_number() as i32 - first.day_number() + 1) as u16
    }

    /// The year and number of its week, as `YEARWEEK` and `WEEK` count them.
    pub fn week(self, mode: WeekMode) -> (u16, u8) {
        week(self.civil(), mode)
    }

    /// The last day of its month.
    pub fn last_day_of_month(self) -> Date {
        let c = self.civil();
        Date(self.0 + i32::from(super::days_in_month(c.year, c.month)) - i32::from(c.day))
    }
}

impl From<Date> for DateTime {
    fn from(date: Date) -> Self {
        date.to_datetime()
    }
}

impl DateTime {
    /// Its day.
    #[inline]
    pub fn date(self) -> Date {
        // A DateTime's range is that of Date, so the quotient fits.
        Date(self.micros().div_euclid(MICROS_PER_DAY) as i32)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil();
        write!(f, "{:04}-{:02}-{:02}", c.year, c.month, c.day)
    }
}
