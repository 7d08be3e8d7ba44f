//! Days, times of day, and the arithmetic of MySQL's calendar from year 0 to 9999.
//!
//! [`Date`] counts days and [`DateTime`] microseconds since 1970-01-01, without a time zone; [`Time`] is a span. The calendar is the
//! proleptic Gregorian one but for year 0, which MySQL gives 365 days. Zero dates (`0000-00-00`, `2024-00-10`) are
//! not values: reading one fails, as the default sql_mode has it.

mod calendar;
mod date;
mod datetime;
mod interval;
mod parse;
mod time;
mod zone;

pub use calendar::{CivilDate, WeekMode, days_in_month, is_leap_year};
pub use date::Date;
pub(crate) use datetime::fraction_unit;
pub use datetime::{CivilDateTime, DateTime};
pub use interval::{Interval, IntervalUnit};
pub use parse::{BadTemporal, TemporalParse};
pub use time::{CivilTime, Time, TimeParse};
pub use zone::parse_offset;

#[cfg(test)]
mod tests;
