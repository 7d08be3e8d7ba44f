//! DATE.

use super::{CivilDate, DateTime, Interval, TemporalParse};

/// A day, as the number of days since 1970-01-01. Year 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

impl Date {
    /// 0000-01-01.
    pub const MIN: Date = Date(-719_527);
    /// 9999-12-31.
    pub const MAX: Date = Date(2_932_896);

    /// From days since 1970-01-01; None outside of the years 0 to 9999.
    pub fn from_days(_days: i32) -> Option<Self> {
        todo!()
    }
    /// Days since 1970-01-01.
    pub fn days(self) -> i32 {
        self.0
    }
    /// From year, month and day, if there is such a day.
    pub fn from_civil(_year: u16, _month: u8, _day: u8) -> Option<Self> {
        todo!()
    }
    /// Year, month and day.
    pub fn civil(self) -> CivilDate {
        todo!()
    }
    /// Reads a date in any of MySQL's spellings; a time of day is read and dropped (see [`TemporalParse`]).
    pub fn parse(_text: &str) -> Result<TemporalParse<Date>, super::parse::BadTemporal> {
        todo!()
    }
    /// Midnight of the day.
    pub fn to_datetime(self) -> DateTime {
        todo!()
    }
    /// The day plus an interval; None out of range. Units below a day need [`DateTime::add`].
    pub fn add(self, _interval: Interval) -> Option<Date> {
        todo!()
    }
    /// `TO_DAYS()`: days since year 0, 0000-01-01 being 1.
    pub fn day_number(self) -> u32 {
        todo!()
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
