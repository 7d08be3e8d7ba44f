//! Dates, times of day, the arithmetic of MySQL's calendar from year 0 to 9999, and time zones.
//!
//! [`Date`] and [`DateTime`] have no time zone; [`Time`] is a span. The calendar is the proleptic Gregorian one
//! except for year 0, which MySQL gives 365 days. Dates that do not exist (`0000-00-00`, `2024-00-10`, `2024-02-31`)
//! are values, too; [`DateRules`] says which of them are accepted. Those with a zero month or day have no day number,
//! so that nothing can be computed from them.

mod calendar;
mod date;
mod datetime;
mod interval;
mod parse;
mod rules;
mod settings;
mod time;
mod zone;

pub use calendar::{CivilDate, WeekMode, days_in_month, is_leap_year};
pub use date::Date;
pub use datetime::fraction_unit;
pub use datetime::{CivilDateTime, DateTime};
pub use interval::{Interval, IntervalUnit};
pub use parse::{BadTemporal, TemporalParse};
pub use rules::DateRules;
pub use settings::TimeSettings;
pub use time::date_rules;
pub use time::{CivilTime, Time, TimeParse};
pub use zone::Zone;

#[cfg(test)]
mod tests;
