//! INTERVAL.

use super::datetime::MICROS_PER_DAY;

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
    /// All of them.
    pub const ALL: [IntervalUnit; 9] = [
        IntervalUnit::Microsecond,
        IntervalUnit::Second,
        IntervalUnit::Minute,
        IntervalUnit::Hour,
        IntervalUnit::Day,
        IntervalUnit::Week,
        IntervalUnit::Month,
        IntervalUnit::Quarter,
        IntervalUnit::Year,
    ];

    /// The unit of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name().eq_ignore_ascii_case(name))
    }

    /// The keyword.
    pub fn name(self) -> &'static str {
        match self {
            IntervalUnit::Microsecond => "MICROSECOND",
            IntervalUnit::Second => "SECOND",
            IntervalUnit::Minute => "MINUTE",
            IntervalUnit::Hour => "HOUR",
            IntervalUnit::Day => "DAY",
            IntervalUnit::Week => "WEEK",
            IntervalUnit::Month => "MONTH",
            IntervalUnit::Quarter => "QUARTER",
            IntervalUnit::Year => "YEAR",
        }
    }

    /// Whether adding it to a DATE gives a DATE (a day or more).
    pub fn is_date_unit(self) -> bool {
        !matches!(
            self,
            IntervalUnit::Microsecond | IntervalUnit::Second | IntervalUnit::Minute | IntervalUnit::Hour
        )
    }

    /// Months and microseconds of one unit; one of the two is 0.
    fn span(self) -> (i64, i64) {
        match self {
            IntervalUnit::Microsecond => (0, 1),
            IntervalUnit::Second => (0, 1_000_000),
            IntervalUnit::Minute => (0, 60_000_000),
            IntervalUnit::Hour => (0, 3_600_000_000),
            IntervalUnit::Day => (0, MICROS_PER_DAY),
            IntervalUnit::Week => (0, 7 * MICROS_PER_DAY),
            IntervalUnit::Month => (1, 0),
            IntervalUnit::Quarter => (3, 0),
            IntervalUnit::Year => (12, 0),
        }
    }
}

/// A signed span of months and microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    months: i64,
    micros: i64,
}

impl Interval {
    /// `count` units, and `micros` more (the fraction of `INTERVAL 1.5 SECOND`); None if that is longer than the
    /// calendar by far.
    pub fn new(count: i64, unit: IntervalUnit, micros: i64) -> Option<Self> {
        let (months, unit_micros) = unit.span();
        let micros = count.checked_mul(unit_micros)?.checked_add(micros)?;
        let months = count.checked_mul(months)?;
        // Both can be negated.
        (months != i64::MIN && micros != i64::MIN).then_some(Interval { months, micros })
    }

    /// The same span backwards.
    pub fn negate(self) -> Self {
        Interval { months: -self.months, micros: -self.micros }
    }

    /// The whole months in it.
    pub fn months(self) -> i64 {
        self.months
    }

    /// What it has besides the months, in microseconds.
    pub fn micros(self) -> i64 {
        self.micros
    }
}
