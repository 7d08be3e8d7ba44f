//! DATETIME.

use std::fmt;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::{CivilDate, Date, DateRules, Interval, days_in_month};

/// A date and a time of day, without a time zone. Like a [`Date`], its day need not exist.
///
/// Stored as one number, `date * microseconds in a day + microseconds since midnight`, which orders as datetimes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

/// A datetime as its parts.
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
    /// 0000-00-00 00:00:00, the least.
    pub const ZERO: DateTime = DateTime(0);
    /// 9999-12-31 23:59:59.999999.
    pub const MAX: DateTime = Self::at(Date::MAX, MICROS_PER_DAY - 1);

    /// Returns the datetime with this number; None if there is none.
    #[inline]
    pub fn from_ordinal(ordinal: i64) -> Option<Self> {
        (0..=Self::MAX.0).contains(&ordinal).then_some(DateTime(ordinal))
    }

    /// Returns the number that stands for the datetime.
    #[inline]
    pub fn ordinal(self) -> i64 {
        self.0
    }

    /// Makes the datetime at `micros` microseconds since 1970-01-01 00:00:00; None outside the years 0 to 9999.
    pub fn from_epoch_micros(micros: i64) -> Option<Self> {
        let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
        Some(Self::at(Date::from_epoch_days(days)?, micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// Returns the microseconds since 1970-01-01 00:00:00; None if month or day is zero.
    pub fn epoch_micros(self) -> Option<i64> {
        Some(i64::from(self.date().epoch_days()?) * MICROS_PER_DAY + self.micros_of_day())
    }

    /// Returns the datetime `micros` microseconds later; None if month or day is zero, or outside the years 0 to
    /// 9999.
    pub fn plus_micros(self, micros: i64) -> Option<Self> {
        Self::from_epoch_micros(self.epoch_micros()?.checked_add(micros)?)
    }

    /// Returns the microseconds since `earlier`; None if a month or day is zero.
    pub fn micros_since(self, earlier: DateTime) -> Option<i64> {
        Some(self.epoch_micros()? - earlier.epoch_micros()?)
    }

    /// Makes the datetime of a date and microseconds since its midnight, less than a day's.
    #[inline]
    pub(super) const fn at(date: Date, micros: i64) -> Self {
        DateTime(date.ordinal() as i64 * MICROS_PER_DAY + micros)
    }

    /// Makes the datetime of a date and microseconds since its midnight; None if these are not less than a day's.
    pub fn from_parts(date: Date, micros_of_day: i64) -> Option<Self> {
        (0..MICROS_PER_DAY).contains(&micros_of_day).then(|| Self::at(date, micros_of_day))
    }

    /// Makes the datetime of its parts, if the rules admit the date.
    pub fn from_civil(c: CivilDateTime, rules: DateRules) -> Option<Self> {
        Self::from_any_civil(c).filter(|found| found.is_admitted(rules))
    }

    /// Makes the datetime of its parts, each within its bounds, whether the day exists or not.
    pub(super) fn from_any_civil(c: CivilDateTime) -> Option<Self> {
        let date = Date::from_parts(c.date.year, c.date.month, c.date.day)?;
        if c.hour > 23 || c.minute > 59 || c.second > 59 || c.microsecond > 999_999 {
            return None;
        }
        let seconds = (i64::from(c.hour) * 60 + i64::from(c.minute)) * 60 + i64::from(c.second);
        Self::from_parts(date, seconds * MICROS_PER_SECOND + i64::from(c.microsecond))
    }

    /// Whether the rules accept it.
    pub fn is_admitted(self, rules: DateRules) -> bool {
        let c = self.date().civil();
        match (self == DateTime::ZERO, c.month == 0 || c.day == 0) {
            (true, _) => rules.zero,
            (_, true) => rules.zero_parts,
            _ => rules.beyond_month || c.day <= days_in_month(c.year, c.month),
        }
    }

    /// Returns its parts.
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

    /// Returns its date.
    #[inline]
    pub fn date(self) -> Date {
        // The range is that of Date, so the quotient fits.
        Date::of_ordinal((self.0 / MICROS_PER_DAY) as i32)
    }

    /// Returns the microseconds since midnight.
    #[inline]
    pub fn micros_of_day(self) -> i64 {
        self.0 % MICROS_PER_DAY
    }

    /// Returns the number 20240102030405, without the fraction.
    pub fn to_number(self) -> i64 {
        let c = self.civil();
        let time = (i64::from(c.hour) * 100 + i64::from(c.minute)) * 100 + i64::from(c.second);
        self.date().to_number() * 1_000_000 + time
    }

    /// Rounds half up to `fsp` digits of the second's fraction; None if that is midnight and there is no next day.
    pub fn round(self, fsp: u8) -> Option<Self> {
        let unit = fraction_unit(fsp);
        let rounded = (self.micros_of_day() + unit / 2) / unit * unit;
        if rounded < MICROS_PER_DAY {
            return Some(Self::at(self.date(), rounded));
        }
        Some(self.date().plus_days(1)?.to_datetime())
    }

    /// Rounds or cuts to `fsp` digits of the second's fraction, as the rules say; None as from
    /// [`round`](Self::round).
    pub fn fitted(self, fsp: u8, rules: DateRules) -> Option<Self> {
        if rules.cut_fractions { Some(self.truncate(fsp)) } else { self.round(fsp) }
    }

    /// Cuts to `fsp` digits of the second's fraction.
    pub fn truncate(self, fsp: u8) -> Self {
        let unit = fraction_unit(fsp);
        DateTime(self.0 / unit * unit)
    }

    /// Returns the sum with an interval, or None where MySQL reports error 1441, and for a date whose month or day is
    /// zero. Months are added first, and a day that the resulting month lacks becomes its last.
    pub fn checked_add(self, interval: Interval) -> Option<DateTime> {
        let mut base = self;
        let c = self.date().civil();
        if c.month == 0 || c.day == 0 {
            return None;
        }
        if interval.months() != 0 {
            let months = i64::from(c.year) * 12 + i64::from(c.month) - 1;
            let months = months.checked_add(interval.months())?;
            let (year, month) = (u16::try_from(months.div_euclid(12)).ok()?, months.rem_euclid(12) as u8 + 1);
            let date = Date::from_civil(year, month, c.day.min(days_in_month(year, month)))?;
            base = Self::at(date, self.micros_of_day());
        }
        if interval.micros() == 0 {
            // A day behind the end of its month becomes one of the next.
            return base.plus_micros(0);
        }
        let sum = base.plus_micros(interval.micros())?;
        // MySQL has no day numbers in year 0: there the sum would be a zero date.
        (sum.date().civil().year > 0).then_some(sum)
    }

    /// Shows `2024-01-02 03:04:05`, with `fsp` digits of the fraction (cut, not rounded).
    pub fn display(self, fsp: u8) -> impl fmt::Display {
        DisplayDateTime { value: self, fsp: fsp.min(6) }
    }
}

impl Date {
    /// Returns midnight of the day.
    #[inline]
    pub fn to_datetime(self) -> DateTime {
        DateTime::at(self, 0)
    }

    /// Returns the day plus an interval, or None where MySQL reports error 1441. A unit below a day gives a DATETIME:
    /// add it to [`Date::to_datetime`], because here only the day of the result remains.
    pub fn checked_add(self, interval: Interval) -> Option<Date> {
        self.to_datetime().checked_add(interval).map(DateTime::date)
    }
}

impl From<Date> for DateTime {
    fn from(date: Date) -> Self {
        date.to_datetime()
    }
}

/// Returns the microseconds in a unit of the last of `fsp` digits.
pub fn fraction_unit(fsp: u8) -> i64 {
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
