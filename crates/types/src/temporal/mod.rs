//! Days, times of day, and the arithmetic of the proleptic Gregorian calendar from year 0 to 9999.

mod calendar;
mod date;
mod datetime;
mod interval;
mod parse;

pub use calendar::{CivilDate, days_in_month, is_leap_year};
pub use date::Date;
pub use datetime::{CivilDateTime, DateTime};
pub use interval::{Interval, IntervalUnit};
pub use parse::TemporalParse;
