//! INTERVAL.

/// The unit of an interval. Units of two parts (`DAY_HOUR`) are not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl IntervalUnit {
    /// The unit of that name, in any case.
    pub fn from_name(_name: &str) -> Option<Self> {
        todo!()
    }
    /// The keyword.
    pub fn name(self) -> &'static str {
        todo!()
    }
    /// Whether adding it to a DATE gives a DATE (a day or more).
    pub fn is_date_unit(self) -> bool {
        todo!()
    }
}

/// A signed span: months, or microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    months: i64,
    micros: i64,
}

impl Interval {
    /// `count` units, and for seconds `micros` more; None beyond what could ever be added to a date.
    pub fn new(_count: i64, _unit: IntervalUnit, _micros: i64) -> Option<Self> {
        let _ = Interval { months: 0, micros: 0 };
        todo!()
    }
    /// The same span backwards.
    pub fn negate(self) -> Self {
        Interval { months: -self.months, micros: -self.micros }
    }
}
