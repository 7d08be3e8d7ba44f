//! The session's settings for reading and showing dates and times.

use super::{DateRules, Zone};

/// Which dates are accepted, and the zone of TIMESTAMPs.
#[derive(Clone, Copy, Debug)]
pub struct TimeSettings<'a> {
    /// The rules of `sql_mode`.
    pub dates: DateRules,
    /// The zone of `time_zone`.
    pub zone: &'a Zone,
    /// Whether `sql_mode` is strict.
    pub strict: bool,
}

impl Default for TimeSettings<'_> {
    /// Accepts only days that exist; UTC, and strict.
    fn default() -> Self {
        TimeSettings { dates: DateRules::DAYS, zone: &Zone::UTC, strict: true }
    }
}
