//! The time that NOW() gives in a statement.

use leafline_types::{DateTime, SqlType};

/// The time of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// In UTC.
    pub(crate) utc: DateTime,
    /// In the session's time zone.
    pub(crate) local: DateTime,
}

impl Now {
    /// The time as a DATETIME or TIMESTAMP column stores it. As in `NOW(fsp)`, excess digits are cut off, not
    /// rounded.
    pub(crate) fn of(self, ty: &SqlType) -> DateTime {
        let now = if matches!(ty, SqlType::Timestamp { .. }) { self.utc } else { self.local };
        now.truncate(ty.scale())
    }
}
