//! Year, month and day, and MySQL's day numbers (`TO_DAYS`): 0000-01-01 is day 1, 1970-01-01 day 719,528.
//!
//! From 0001-01-01 on the conversions follow the proleptic Gregorian calendar, computed over years that
//! begin in March so that the leap day comes last (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
//! Year 0 is not a leap year in MySQL, so its days are computed separately.

/// The day number of 1970-01-01.
pub(super) const EPOCH_DAY_NUMBER: i32 = 719_528;
/// The day number of 9999-12-31.
pub(super) const MAX_DAY_NUMBER: i32 = 3_652_424;
/// The day number of 0001-01-01.
const FIRST_GREGORIAN: i32 = 366;

/// Microseconds in a day.
pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds in a second.
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;

/// A date as year, month and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDate {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12; 0 in dates that do not exist.
    pub month: u8,
    /// 1 to 31; 0 in dates that do not exist.
    pub day: u8,
}

/// Whether February has 29 days; in year 0 it has not.
pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) && year != 0
}

/// Returns the days of a month, 1 to 12; 0 for another number.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

impl CivilDate {
    /// Whether the day exists in the years 0 to 9999.
    pub fn exists(self) -> bool {
        self.year <= 9999 && self.day >= 1 && self.day <= days_in_month(self.year, self.month)
    }

    /// Returns the day number. A day behind the end of its month counts on into the next; month and day must not be
    /// 0.
    pub(super) fn day_number(self) -> i32 {
        let (year, month, day) = (i32::from(self.year), i32::from(self.month), i32::from(self.day));
        if year == 0 {
            let before: i32 = (1..self.month).map(|m| i32::from(days_in_month(0, m))).sum();
            return before + day;
        }
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        let (era, year_of_era) = (year / 400, year % 400);
        let day_of_year = (153 * month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        // 0000-03-01, where the era begins, is day 60.
        era * 146_097 + day_of_era + 60
    }

    /// Returns the day with this number, 1 to 3,652,424.
    pub(super) fn from_day_number(number: i32) -> Self {
        if number < FIRST_GREGORIAN {
            let (mut month, mut day) = (1, number);
            while day > days_in_month(0, month).into() {
                day -= i32::from(days_in_month(0, month));
                month += 1;
            }
            return CivilDate { year: 0, month, day: day as u8 };
        }
        let days = number - 60;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month + 2) / 5 + 1) as u8;
        let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
        CivilDate { year: (era * 400 + year_of_era + year) as u16, month: month as u8, day }
    }
}

/// The rules by which weeks are counted: the `mode` of `WEEK(date, mode)` and `default_week_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekMode {
    /// Weeks begin on Monday, not Sunday.
    pub monday_first: bool,
    /// Days before the year's first week belong to the last week of the year before (52 or 53), not to week 0.
    pub week_year: bool,
    /// The first week is the first that begins in the year, not the first with four or more days in it.
    pub first_weekday: bool,
}

impl WeekMode {
    /// Reads MySQL's number 0 to 7; higher bits are ignored.
    pub fn from_number(mode: u8) -> Self {
        let monday_first = mode & 1 != 0;
        // MySQL's third bit means the opposite if weeks begin on Sunday.
        WeekMode { monday_first, week_year: mode & 2 != 0, first_weekday: (mode & 4 != 0) == monday_first }
    }
}

/// Returns the year that the week belongs to, and the week. Weeks begin as `mode` says.
pub(super) fn week(date: CivilDate, mode: WeekMode) -> (u16, u8) {
    let day_number = date.day_number();
    let first_day = CivilDate { month: 1, day: 1, ..date }.day_number();
    let weekday = |number: i32| (number + if mode.monday_first { 5 } else { 6 }).rem_euclid(7);
    let year_days = |year: u16| if is_leap_year(year) { 366 } else { 365 };
    // The day on which the first week of the year that begins at `first` starts, relative to `first`.
    let offset = |first: i32| {
        let w = weekday(first);
        let belongs_before = if mode.first_weekday { w != 0 } else { w >= 4 };
        if belongs_before { 7 - w } else { -w }
    };
    let since = day_number - first_day - offset(first_day);
    if since < 0 {
        if !mode.week_year {
            return (date.year, 0);
        }
        let year = date.year.saturating_sub(1);
        let first = first_day - year_days(year);
        return (year, ((day_number - first - offset(first)) / 7 + 1) as u8);
    }
    let next_first = first_day + year_days(date.year);
    if mode.week_year && day_number >= next_first + offset(next_first) {
        return (date.year + 1, 1);
    }
    (date.year, (since / 7 + 1) as u8)
}
