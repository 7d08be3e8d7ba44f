//! DATETIME.

use super::{CivilDate, Date, Interval, TemporalParse};

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
    /// From microseconds since 1970-01-01 00:00:00; None outside of the years 0 to 9999.
    pub fn from_micros(_micros: i64) -> Option<Self> {
        todo!()
    }
    /// Microseconds since 1970-01-01 00:00:00.
    pub fn micros(self) -> i64 {
        self.0
    }
    /// From a day and microseconds of that day (below 86,400,000,000).
    pub fn from_parts(_date: Date, _micros_of_day: i64) -> Option<Self> {
        todo!()
    }
    /// From year, month, day, hour, minute, second and microsecond, if there is such a time.
    pub fn from_civil(_civil: CivilDateTime) -> Option<Self> {
        todo!()
    }
    /// Its parts.
    pub fn civil(self) -> CivilDateTime {
        todo!()
    }
    /// Its day.
    pub fn date(self) -> Date {
        todo!()
    }
    /// Microseconds since midnight.
    pub fn micros_of_day(self) -> i64 {
        todo!()
    }
    /// Reads a datetime in any of MySQL's spellings; six digits of the fraction are kept, a seventh rounds.
    pub fn parse(_text: &str) -> Result<TemporalParse<DateTime>, super::parse::BadTemporal> {
        todo!()
    }
    /// Rounded half up to `fsp` digits of the second's fraction; None if that leaves the year 9999.
    pub fn round(self, _fsp: u8) -> Option<Self> {
        todo!()
    }
    /// Plus an interval; None out of range.
    pub fn add(self, _interval: Interval) -> Option<DateTime> {
        todo!()
    }
    /// `2024-01-02 03:04:05`, with `fsp` digits of the fraction (cut, not rounded).
    pub fn display(self, fsp: u8) -> impl std::fmt::Display {
        let _ = (self, fsp);
        ""
    }
}
