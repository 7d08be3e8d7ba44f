//! The rules for dates that do not exist, and for fractions that are too long.

/// The settings `NO_ZERO_DATE`, `NO_ZERO_IN_DATE`, `ALLOW_INVALID_DATES` and `TIME_TRUNCATE_FRACTIONAL` of
/// `sql_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRules {
    /// Accepts `0000-00-00`.
    pub zero: bool,
    /// Accepts other dates whose month or day is zero: `2024-00-10`.
    pub zero_parts: bool,
    /// Accepts days behind the end of their month: `2024-02-31`.
    pub beyond_month: bool,
    /// Cuts the digits of a second's fraction that a type lacks, instead of rounding.
    pub cut_fractions: bool,
}

impl Default for DateRules {
    /// Returns the rules of MySQL 8.0's default `sql_mode`.
    fn default() -> Self {
        DateRules::DAYS
    }
}

impl DateRules {
    /// Accepts only days that exist.
    pub const DAYS: DateRules =
        DateRules { zero: false, zero_parts: false, beyond_month: false, cut_fractions: false };
    /// Accepts any year, month and day within their bounds.
    pub const ANY: DateRules =
        DateRules { zero: true, zero_parts: true, beyond_month: true, cut_fractions: false };
    /// Accepts dates whose parts are zero, but no days behind the end of their month.
    pub const PARTS: DateRules = DateRules { beyond_month: false, ..DateRules::ANY };

    /// Returns these rules for a reader of a date's parts: parts may be zero.
    pub fn with_zero_parts(self) -> DateRules {
        DateRules { zero_parts: true, ..self }
    }

    /// Returns these rules for a reader of the whole day: no part may be zero.
    pub fn without_zeros(self) -> DateRules {
        DateRules { zero: false, zero_parts: false, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DateTime;
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
