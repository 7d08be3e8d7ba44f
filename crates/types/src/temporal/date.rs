//! DATE.

use std::fmt;

use super::calendar::{EPOCH_DAY_NUMBER, MAX_DAY_NUMBER, week};
use super::{CivilDate, WeekMode};

/// A year from 0 to 9999, a month from 0 to 12, a day from 0 to 31. Most are days of the calendar; some are dates
/// that MySQL stores although they do not exist (`0000-00-00`, `2024-00-10`, `2024-02-31`).
///
/// Stored as one number, `(year * 13 + month) * 32 + day`, which orders as dates do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

const MONTHS: i32 = 13;
const DAYS: i32 = 32;

impl Date {
    /// 0000-00-00, the least date.
    pub const ZERO: Date = Date(0);
    /// 9999-12-31.
    pub const MAX: Date = Date((9999 * MONTHS + 12) * DAYS + 31);

    /// Returns the date with this number; None if there is none.
    #[inline]
    pub fn from_ordinal(ordinal: i32) -> Option<Self> {
        (0..=Self::MAX.0).contains(&ordinal).then_some(Date(ordinal))
    }

    /// Makes the date with this number, which is within its bounds.
    #[inline]
    pub(super) const fn of_ordinal(ordinal: i32) -> Self {
        Date(ordinal)
    }

    /// Returns the number that stands for the date: 0 to 4,159,999.
    #[inline]
    pub const fn ordinal(self) -> i32 {
        self.0
    }

    /// Makes a date of year, month and day, each within its bounds, whether the day exists or not.
    pub fn from_parts(year: u16, month: u8, day: u8) -> Option<Self> {
        (year <= 9999 && month <= 12 && day <= 31).then(|| Self::of(CivilDate { year, month, day }))
    }

    fn of(c: CivilDate) -> Self {
        Date((i32::from(c.year) * MONTHS + i32::from(c.month)) * DAYS + i32::from(c.day))
    }

    /// Makes a date of year, month and day if the day exists.
    pub fn from_civil(year: u16, month: u8, day: u8) -> Option<Self> {
        let civil = CivilDate { year, month, day };
        civil.exists().then(|| Self::of(civil))
    }

    /// Returns year, month and day.
    #[inline]
    pub fn civil(self) -> CivilDate {
        CivilDate {
            year: (self.0 / (MONTHS * DAYS)) as u16,
            month: (self.0 / DAYS % MONTHS) as u8,
            day: (self.0 % DAYS) as u8,
        }
    }

    /// Makes the date at `days` days since 1970-01-01; None outside the years 0 to 9999.
    pub fn from_epoch_days(days: i32) -> Option<Self> {
        let number = days.checked_add(EPOCH_DAY_NUMBER)?;
        (1..=MAX_DAY_NUMBER).contains(&number).then(|| Self::of(CivilDate::from_day_number(number)))
    }

    /// Returns the days since 1970-01-01; None if month or day is zero. A day behind the end of its month counts on
    /// into the next.
    pub fn epoch_days(self) -> Option<i32> {
        let c = self.civil();
        (c.month > 0 && c.day > 0).then(|| c.day_number() - EPOCH_DAY_NUMBER)
    }

    /// Makes the date with `TO_DAYS`'s number.
    pub fn from_day_number(number: u32) -> Option<Self> {
        Self::from_epoch_days(i32::try_from(number).ok()?.checked_sub(EPOCH_DAY_NUMBER)?)
    }

    /// Returns `TO_DAYS`: 0000-01-01 is 1. None if month or day is zero.
    pub fn day_number(self) -> Option<u32> {
        Some((self.epoch_days()? + EPOCH_DAY_NUMBER) as u32)
    }

    /// Returns the date `days` days later; None if month or day is zero, or outside the years 0 to 9999.
    pub fn plus_days(self, days: i32) -> Option<Self> {
        Self::from_epoch_days(self.epoch_days()?.checked_add(days)?)
    }

    /// Returns the number 20240102.
    pub fn to_number(self) -> i64 {
        let c = self.civil();
        i64::from(c.year) * 10_000 + i64::from(c.month) * 100 + i64::from(c.day)
    }

    /// Returns 0 for Monday to 6 for Sunday, as `WEEKDAY`; None if month or day is zero.
    pub fn weekday(self) -> Option<u8> {
        // 1970-01-01 was a Thursday.
        Some((self.epoch_days()? + 3).rem_euclid(7) as u8)
    }

    /// Returns 1 to 366, as `DAYOFYEAR`; None if month or day is zero.
    pub fn day_of_year(self) -> Option<u16> {
        let first = CivilDate { month: 1, day: 1, ..self.civil() };
        Some((self.epoch_days()? + EPOCH_DAY_NUMBER - first.day_number() + 1) as u16)
    }

    /// Returns the year and number of its week, as `YEARWEEK` and `WEEK` count them; None if month or day is zero.
    pub fn week(self, mode: WeekMode) -> Option<(u16, u8)> {
        self.epoch_days().map(|_| week(self.civil(), mode))
    }

    /// Returns the last day of its month; None if the month is zero.
    pub fn last_day_of_month(self) -> Option<Date> {
        let c = self.civil();
        Self::from_civil(c.year, c.month, super::days_in_month(c.year, c.month))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil();
        write!(f, "{:04}-{:02}-{:02}", c.year, c.month, c.day)
    }
}
