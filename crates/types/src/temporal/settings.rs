//! How a session reads and shows dates and times.

use super::{DateRules, Zone};

/// Which dates are taken, and the zone of TIMESTAMPs.
#[derive(Clone, Copy, Debug)]
pub struct TimeSettings<'a> {
    /// As `sql_mode` says.
    pub dates: DateRules,
    /// `time_zone`.
    pub zone: &'a Zone,
    /// Strict, as `sql_mode` says.
    pub strict: bool,
}

impl Default for TimeSettings<'_> {
    /// Days only, UTC, and strict.
    fn default() -> Self {
        TimeSettings { dates: DateRules::DAYS, zone: &Zone::UTC, strict: true }
    }
}
