//! The names of months and days, by locale (`lc_time_names`).
//!
//! `time_names.txt` has, for each group of locales with the same names, a line with the locales and four with names
//! between bars: months, short months, days from Sunday on, short days. The locales are those of the parent module.

use super::locale_name;
use std::sync::LazyLock;

/// The names of one locale.
#[derive(Clone, Copy)]
pub struct TimeNames {
    locale: &'static str,
    names: &'static Names,
}

/// Names that several locales may share.
struct Names {
    months: [&'static str; 12],
    short_months: [&'static str; 12],
    /// From Sunday on.
    days: [&'static str; 7],
    short_days: [&'static str; 7],
}

static ENGLISH: Names = Names {
    months: [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    short_months: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    days: ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
    short_days: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
};

/// Locales, separated by blanks, and their names.
static LOCALES: LazyLock<Vec<(&'static str, Names)>> = LazyLock::new(|| {
    let mut lines = include_str!("time_names.txt").lines();
    let mut all = Vec::new();
    while let Some(locales) = lines.next() {
        let names = Names {
            months: between_bars(lines.next()),
            short_months: between_bars(lines.next()),
            days: between_bars(lines.next()),
            short_days: between_bars(lines.next()),
        };
        all.push((locales, names));
    }
    all
});

/// Returns the names in a line; a test checks their number.
fn between_bars<const N: usize>(line: Option<&'static str>) -> [&'static str; N] {
    let mut names = line.unwrap_or_default().split('|').skip(1);
    std::array::from_fn(|_| names.next().unwrap_or_default())
}

impl TimeNames {
    /// The English names.
    pub const ENGLISH: TimeNames = TimeNames { locale: "en_US", names: &ENGLISH };

    /// Returns the names of the locale of that name, in any case.
    pub fn of_locale(name: &str) -> Option<TimeNames> {
        let locale = locale_name(name)?;
        let found = LOCALES.iter().find(|(locales, _)| locales.split(' ').any(|known| known == locale));
        found.map(|(_, names)| TimeNames { locale, names })
    }

    /// Returns the length in characters of the longest name of a day in any locale.
    pub(crate) fn longest_day() -> u64 {
        static LONGEST: LazyLock<u64> =
            LazyLock::new(|| longest(LOCALES.iter().flat_map(|(_, names)| names.days)));
        *LONGEST
    }

    /// Returns the length in characters of the longest name of a month in any locale.
    pub(crate) fn longest_month() -> u64 {
        static LONGEST: LazyLock<u64> =
            LazyLock::new(|| longest(LOCALES.iter().flat_map(|(_, names)| names.months)));
        *LONGEST
    }

    /// Returns the locale.
    pub fn name(self) -> &'static str {
        self.locale
    }

    /// Returns the names of the months.
    pub(crate) fn months(self) -> &'static [&'static str] {
        &self.names.months
    }

    /// Returns the names of the days, from Sunday on.
    pub(crate) fn days(self) -> &'static [&'static str] {
        &self.names.days
    }

    /// Returns the name of a month, counted from 1.
    pub(crate) fn month(self, number: u8) -> Option<&'static str> {
        self.names.months.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns the short name of a month, counted from 1.
    pub(crate) fn short_month(self, number: u8) -> Option<&'static str> {
        self.names.short_months.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns the name of a day; 0 is Sunday.
    pub(crate) fn day(self, number: u8) -> Option<&'static str> {
        self.names.days.get(usize::from(number)).copied()
    }

    /// Returns the short name of a day; 0 is Sunday.
    pub(crate) fn short_day(self, number: u8) -> Option<&'static str> {
        self.names.short_days.get(usize::from(number)).copied()
    }
}

fn longest(names: impl Iterator<Item = &'static str>) -> u64 {
    names.map(|name| name.chars().count() as u64).max().unwrap_or_default()
}

impl Default for TimeNames {
    fn default() -> TimeNames {
        TimeNames::ENGLISH
    }
}

impl PartialEq for TimeNames {
    fn eq(&self, other: &TimeNames) -> bool {
        self.locale == other.locale
    }
}

impl Eq for TimeNames {}

impl std::fmt::Debug for TimeNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.locale)
    }
}

#[cfg(test)]
mod tests {
    use super::super::locale_names;
    use super::*;

    #[test]
    fn every_locale_has_all_names() {
        for locale in locale_names() {
            let names = TimeNames::of_locale(locale).unwrap_or_else(|| panic!("{locale}"));
            let months = (1..=12).flat_map(|month| [names.month(month), names.short_month(month)]);
            let days = (0..7).flat_map(|day| [names.day(day), names.short_day(day)]);
            assert!(months.chain(days).all(|name| name.is_some_and(|name| !name.is_empty())), "{locale}");
        }
        let english = TimeNames::of_locale("EN_us").expect("English");
        assert_eq!((english.month(3), english.day(0)), (TimeNames::ENGLISH.month(3), Some("Sunday")));
    }
}
