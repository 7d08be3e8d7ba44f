//! Which dates that are no days may come in, and what becomes of fractions that are too long.

use super::{DateTime, days_in_month};

/// What `NO_ZERO_DATE`, `NO_ZERO_IN_DATE`, `ALLOW_INVALID_DATES` and `TIME_TRUNCATE_FRACTIONAL` of `sql_mode` say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRules {
    /// `0000-00-00` is taken.
    pub zero: bool,
    /// Others whose month or day is zero are taken: `2024-00-10`.
    pub zero_parts: bool,
    /// Days behind the end of their month are taken: `2024-02-31`.
    pub beyond_month: bool,
    /// Digits of a second's fraction that a type does not have are cut off, not rounded.
    pub cut_fractions: bool,
}

impl Default for DateRules {
    /// As in MySQL 8.0's default `sql_mode`.
    fn default() -> Self {
        DateRules::DAYS
    }
}

impl DateRules {
    /// Days only.
    pub const DAYS: DateRules =
        DateRules { zero: false, zero_parts: false, beyond_month: false, cut_fractions: false };
    /// Whatever has a year, a month and a day that can be written.
    pub const ANY: DateRules =
        DateRules { zero: true, zero_parts: true, beyond_month: true, cut_fractions: false };
    /// Dates whose parts may be zero.
    pub const PARTS: DateRules = DateRules { beyond_month: false, ..DateRules::ANY };

    /// These rules, for who asks for parts of a date and not for the day: parts may be zero.
    pub fn with_zero_parts(self) -> DateRules {
        DateRules { zero_parts: true, ..self }
    }

    /// These rules, for who asks for the day: no part may be zero.
    pub fn without_zeros(self) -> DateRules {
        DateRules { zero: false, zero_parts: false, ..self }
    }

    /// Whether a datetime may come in.
    pub fn admit(self, t: DateTime) -> bool {
        let c = t.date().civil();
        match (t == DateTime::ZERO, c.month == 0 || c.day == 0) {
            (true, _) => self.zero,
            (_, true) => self.zero_parts,
            _ => self.beyond_month || c.day <= days_in_month(c.year, c.month),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_decides_about_its_dates() {
        let admitted = |rules: DateRules| {
            ["0000-00-00", "2024-00-10", "2024-01-00", "0000-00-00 00:00:01", "2024-02-30", "2024-02-29"]
                .map(|text| DateTime::parse(text, rules).is_ok())
        };
        let none = DateRules::DAYS;
        assert_eq!(admitted(none), [false, false, false, false, false, true]);
        assert_eq!(admitted(DateRules { zero: true, ..none }), [true, false, false, false, false, true]);
        assert_eq!(admitted(none.with_zero_parts()), [false, true, true, true, false, true]);
        assert_eq!(
            admitted(DateRules { beyond_month: true, ..none }),
            [false, false, false, false, true, true]
        );
        assert_eq!(admitted(DateRules::ANY.without_zeros()), [false, false, false, false, true, true]);
        assert_eq!(admitted(DateRules::PARTS), [true, true, true, true, false, true]);
    }
}
