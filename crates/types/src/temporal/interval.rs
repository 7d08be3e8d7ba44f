//! INTERVAL.

use super::calendar::MICROS_PER_DAY;

/// The unit of an interval. A unit of several parts (`DAY_MINUTE`: days, hours and minutes) takes a text such as
/// `'1 10:30'`.
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
    YearMonth,
    DayHour,
    DayMinute,
    DaySecond,
    DayMicrosecond,
    HourMinute,
    HourSecond,
    HourMicrosecond,
    MinuteSecond,
    MinuteMicrosecond,
    SecondMicrosecond,
}

impl IntervalUnit {
    /// All units.
    pub const ALL: [IntervalUnit; 20] = [
        IntervalUnit::Microsecond,
        IntervalUnit::Second,
        IntervalUnit::Minute,
        IntervalUnit::Hour,
        IntervalUnit::Day,
        IntervalUnit::Week,
        IntervalUnit::Month,
        IntervalUnit::Quarter,
        IntervalUnit::Year,
        IntervalUnit::YearMonth,
        IntervalUnit::DayHour,
        IntervalUnit::DayMinute,
        IntervalUnit::DaySecond,
        IntervalUnit::DayMicrosecond,
        IntervalUnit::HourMinute,
        IntervalUnit::HourSecond,
        IntervalUnit::HourMicrosecond,
        IntervalUnit::MinuteSecond,
        IntervalUnit::MinuteMicrosecond,
        IntervalUnit::SecondMicrosecond,
    ];

    /// Returns the unit of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name().eq_ignore_ascii_case(name))
    }

    /// Returns the keyword.
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
            IntervalUnit::YearMonth => "YEAR_MONTH",
            IntervalUnit::DayHour => "DAY_HOUR",
            IntervalUnit::DayMinute => "DAY_MINUTE",
            IntervalUnit::DaySecond => "DAY_SECOND",
            IntervalUnit::DayMicrosecond => "DAY_MICROSECOND",
            IntervalUnit::HourMinute => "HOUR_MINUTE",
            IntervalUnit::HourSecond => "HOUR_SECOND",
            IntervalUnit::HourMicrosecond => "HOUR_MICROSECOND",
            IntervalUnit::MinuteSecond => "MINUTE_SECOND",
            IntervalUnit::MinuteMicrosecond => "MINUTE_MICROSECOND",
            IntervalUnit::SecondMicrosecond => "SECOND_MICROSECOND",
        }
    }

    /// Whether adding the unit to a DATE gives a DATE (a day or more).
    pub fn is_date_unit(self) -> bool {
        matches!(
            self,
            IntervalUnit::Day
                | IntervalUnit::Week
                | IntervalUnit::Month
                | IntervalUnit::Quarter
                | IntervalUnit::Year
                | IntervalUnit::YearMonth
        )
    }

    /// Returns the units of its parts, the largest first; a simple unit is its only part.
    pub fn parts(self) -> &'static [IntervalUnit] {
        use IntervalUnit::*;
        const CLOCK: [IntervalUnit; 5] = [Day, Hour, Minute, Second, Microsecond];
        match self {
            Microsecond => &CLOCK[4..],
            Second => &CLOCK[3..4],
            Minute => &CLOCK[2..3],
            Hour => &CLOCK[1..2],
            Day => &CLOCK[..1],
            Week => &[Week],
            Month => &[Month],
            Quarter => &[Quarter],
            Year => &[Year],
            YearMonth => &[Year, Month],
            DayHour => &CLOCK[..2],
            DayMinute => &CLOCK[..3],
            DaySecond => &CLOCK[..4],
            DayMicrosecond => &CLOCK,
            HourMinute => &CLOCK[1..3],
            HourSecond => &CLOCK[1..4],
            HourMicrosecond => &CLOCK[1..],
            MinuteSecond => &CLOCK[2..4],
            MinuteMicrosecond => &CLOCK[2..],
            SecondMicrosecond => &CLOCK[3..],
        }
    }

    /// Whether microseconds are among its parts.
    pub fn has_fraction(self) -> bool {
        self.parts().last() == Some(&IntervalUnit::Microsecond)
    }

    /// Returns the months and microseconds of one unit; one of the two is 0.
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
            // A unit of several parts has the spans of its parts.
            _ => (0, 0),
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
    /// Makes a span of `count` units and `micros` microseconds more (the fraction of `INTERVAL 1.5 SECOND`); None if
    /// it overflows, far beyond the calendar.
    pub fn new(count: i64, unit: IntervalUnit, micros: i64) -> Option<Self> {
        let (months, unit_micros) = unit.span();
        let micros = count.checked_mul(unit_micros)?.checked_add(micros)?;
        let months = count.checked_mul(months)?;
        // Both can be negated.
        (months != i64::MIN && micros != i64::MIN).then_some(Interval { months, micros })
    }

    /// Reads the span of a text in a unit of several parts: numbers with anything between them, the last of which is
    /// for the smallest part. The digits of microseconds are those of a fraction: `'1.5'` SECOND_MICROSECOND is
    /// 1,500,000 microseconds. None if there are more numbers than parts, or if the span overflows.
    pub fn parse(text: &str, unit: IntervalUnit) -> Option<Self> {
        let text = text.trim_start();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let numbers: Vec<&str> =
            text.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).collect();
        let parts = unit.parts();
        let missing = parts.len().checked_sub(numbers.len())?;
        let mut sum = Interval { months: 0, micros: 0 };
        for (part, number) in parts[missing..].iter().zip(numbers) {
            let mut count: i64 = number.parse().ok()?;
            if *part == IntervalUnit::Microsecond && number.len() < 6 {
                count *= 10i64.pow(6 - number.len() as u32);
            }
            let one = Interval::new(count, *part, 0)?;
            sum.months = sum.months.checked_add(one.months)?;
            sum.micros = sum.micros.checked_add(one.micros)?;
        }
        Some(if negative { sum.negate() } else { sum })
    }

    /// Returns the span in the other direction.
    pub fn negate(self) -> Self {
        Interval { months: -self.months, micros: -self.micros }
    }

    /// Returns the months of the span.
    pub fn months(self) -> i64 {
        self.months
    }

    /// Returns the microseconds of the span, without the months.
    pub fn micros(self) -> i64 {
        self.micros
    }
}
