//! Tests the calendar, day by day and against known dates, MySQL's spellings of dates, and intervals.

use rand::Rng;

use super::*;
use crate::testing;

fn date(text: &str) -> Date {
    Date::parse(text, DateRules::DAYS).unwrap().value
}

fn datetime(text: &str) -> DateTime {
    DateTime::parse(text, DateRules::DAYS).unwrap().value
}

#[test]
fn every_day_of_ten_thousand_years_goes_both_ways() {
    let mut number = 0;
    for year in 0..=9999u16 {
        for month in 1..=12 {
            for day in 1..=days_in_month(year, month) {
                number += 1;
                let d = Date::from_civil(year, month, day).unwrap();
                assert_eq!(d.day_number(), Some(number), "{year}-{month}-{day}");
                assert_eq!(d.civil(), CivilDate { year, month, day });
            }
            assert_eq!(Date::from_civil(year, month, days_in_month(year, month) + 1), None);
        }
    }
    assert_eq!(Some(number), Date::MAX.day_number());
    assert_eq!((Date::from_day_number(0), Date::from_day_number(number + 1)), (None, None));
    assert_eq!(Date::ZERO.day_number(), None);
}

#[test]
fn day_numbers_are_mysqls() {
    for (text, number) in [
        ("0000-01-01", 1),
        ("0000-03-01", 60),
        ("0001-01-01", 366),
        ("1582-10-15", 578_101),
        ("1900-03-01", 694_020),
        ("1950-01-01", 712_223),
        ("1970-01-01", 719_528),
        ("1995-05-01", 728_779),
        ("2000-02-29", 730_544),
        ("2007-10-07", 733_321),
        ("2008-10-07", 733_687),
        ("9999-12-31", 3_652_424),
    ] {
        assert_eq!(date(text).day_number(), Some(number), "{text}");
    }
    assert_eq!(date("1970-01-02").epoch_days(), Some(1));
    assert_eq!(datetime("1970-01-01 00:00:01").epoch_micros(), Some(1_000_000));
    assert_eq!(datetime("1969-12-31 23:59:59.999999").epoch_micros(), Some(-1));
    for (text, weekday, of_year) in
        [("1970-01-01", 3, 1), ("2008-02-03", 6, 34), ("2000-12-31", 6, 366), ("0001-01-01", 0, 1)]
    {
        assert_eq!(
            (date(text).weekday(), date(text).day_of_year()),
            (Some(weekday), Some(of_year)),
            "{text}"
        );
    }
    assert_eq!(date("2024-02-03").last_day_of_month(), Some(date("2024-02-29")));
}

#[test]
fn weeks_are_mysqls() {
    // WEEK(d, mode) for the modes 0 to 7, as a server returns them.
    for (text, weeks) in [
        ("1995-05-01", [18, 18, 18, 18, 18, 18, 18, 18]),
        ("1999-12-31", [52, 52, 52, 52, 52, 52, 52, 52]),
        ("2000-01-01", [0, 0, 52, 52, 0, 0, 52, 52]),
        ("2000-01-02", [1, 0, 1, 52, 1, 0, 1, 52]),
        ("2000-12-31", [53, 52, 53, 52, 53, 52, 1, 52]),
        ("2004-01-01", [0, 1, 52, 1, 0, 0, 53, 52]),
        ("2005-01-01", [0, 0, 52, 53, 0, 0, 52, 52]),
        ("2008-02-20", [7, 8, 7, 8, 8, 7, 8, 7]),
        ("2008-12-31", [52, 53, 52, 1, 53, 52, 53, 52]),
        ("2009-01-03", [0, 1, 52, 1, 0, 0, 53, 52]),
        ("2010-01-04", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("2012-01-01", [1, 0, 1, 52, 1, 0, 1, 52]),
        ("2012-12-31", [53, 53, 53, 1, 53, 53, 1, 53]),
        ("2016-02-29", [9, 9, 9, 9, 9, 9, 9, 9]),
        ("2020-12-28", [52, 53, 52, 53, 53, 52, 53, 52]),
        ("2021-01-03", [1, 0, 1, 53, 1, 0, 1, 52]),
        ("2021-01-04", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("2023-01-01", [1, 0, 1, 52, 1, 0, 1, 52]),
    ] {
        let found: Vec<u8> = (0..8).map(|m| date(text).week(WeekMode::from_number(m)).unwrap().1).collect();
        assert_eq!(found, weeks, "{text}");
    }
    // YEARWEEK(d, mode), which counts weeks as mode | 2 does.
    for (text, years) in [
        ("2000-12-31", [2000, 2000, 2001, 2000]),
        ("2004-01-01", [2003, 2004, 2003, 2003]),
        ("2008-12-31", [2008, 2009, 2008, 2008]),
        ("2012-12-31", [2012, 2013, 2013, 2012]),
        ("2021-01-03", [2021, 2020, 2021, 2020]),
    ] {
        let found: Vec<u16> =
            [2, 3, 6, 7].iter().map(|&m| date(text).week(WeekMode::from_number(m)).unwrap().0).collect();
        assert_eq!(found, years, "{text}");
    }
}

#[test]
fn dates_in_mysqls_spellings() {
    for (text, expected) in [
        ("2024-01-02", "2024-01-02 00:00:00.000000"),
        ("2024-1-2", "2024-01-02 00:00:00.000000"),
        ("  2024-01-02  ", "2024-01-02 00:00:00.000000"),
        ("20240102", "2024-01-02 00:00:00.000000"),
        ("240102", "2024-01-02 00:00:00.000000"),
        ("24-1-2", "2024-01-02 00:00:00.000000"),
        ("69-01-01", "2069-01-01 00:00:00.000000"),
        ("70-01-01", "1970-01-01 00:00:00.000000"),
        ("00-01-01", "2000-01-01 00:00:00.000000"),
        ("1-1-1", "0001-01-01 00:00:00.000000"),
        ("024-01-02", "0024-01-02 00:00:00.000000"),
        ("0000-01-01", "0000-01-01 00:00:00.000000"),
        ("2024^01@02 3+4+5", "2024-01-02 03:04:05.000000"),
        ("2024-01-02T03:04:05.6", "2024-01-02 03:04:05.600000"),
        ("2024-01-02  03:04", "2024-01-02 03:04:00.000000"),
        ("2024-01-02 3", "2024-01-02 03:00:00.000000"),
        ("20240102030405", "2024-01-02 03:04:05.000000"),
        ("20240102030405.678", "2024-01-02 03:04:05.678000"),
        ("20240102T030405", "2024-01-02 03:04:05.000000"),
        ("240102030405", "2024-01-02 03:04:05.000000"),
        ("2024-01-02 03:04:05.123456", "2024-01-02 03:04:05.123456"),
        ("2024-01-02 03:04:05.1234564", "2024-01-02 03:04:05.123456"),
        ("2024-01-02 23:59:59.9999995", "2024-01-03 00:00:00.000000"),
        ("9999-12-31 23:59:59.9999994", "9999-12-31 23:59:59.999999"),
    ] {
        let found = DateTime::parse(text, DateRules::DAYS).unwrap_or_else(|_| panic!("{text}"));
        assert_eq!(
            (found.value.display(6).to_string().as_str(), found.truncated),
            (expected, false),
            "{text}"
        );
    }
    for (text, expected) in [
        ("2024-01-02abc", "2024-01-02 00:00:00"),
        ("2024-01-02 03:04:05+5:30", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04:05-00:00", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04+05:30", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04:05.12345678x", "2024-01-02 03:04:05.123457"),
    ] {
        let found = DateTime::parse(text, DateRules::DAYS).unwrap_or_else(|_| panic!("{text}"));
        assert!(
            found.truncated && found.value.display(6).to_string().starts_with(expected),
            "{text}: {found:?}"
        );
    }
    for text in [
        "",
        "abc",
        "2024",
        "2024-01",
        "2024-13-01",
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "0000-00-00",
        "2024-00-10",
        "2024-01-00",
        "0000-02-29",
        "10000-01-01",
        "2024-01-02 24:00:00",
        "2024-01-02 00:60:00",
        "2024-01-02 00:00:60",
        "2024-01 -02",
        "-2024-01-02",
        "9999-12-31 23:59:59.9999995",
        "2024-1234567-1",
    ] {
        assert!(DateTime::parse(text, DateRules::DAYS).is_err(), "{text}");
    }
    assert_eq!(date("2024-01-02 23:59:59").to_string(), "2024-01-02");
}

#[test]
fn numbers_as_dates() {
    for (number, expected) in [
        (20_240_102, Some("2024-01-02 00:00:00")),
        (240_102, Some("2024-01-02 00:00:00")),
        (700_101, Some("1970-01-01 00:00:00")),
        (691_231, Some("2069-12-31 00:00:00")),
        (101, Some("2000-01-01 00:00:00")),
        (20_240_102_030_405, Some("2024-01-02 03:04:05")),
        (240_102_030_405, Some("2024-01-02 03:04:05")),
        (0, Some("0000-00-00 00:00:00")),
        (20_240_010, Some("2024-00-10 00:00:00")),
        (1_010_101, Some("0101-01-01 00:00:00")),
        (20_240_230, None),
        (100, None),
        (691_232, None),
        (700_100, None),
        (20_241_301, None),
        (99_991_232, None),
        (-1, None),
        (20_240_102_240_000, None),
        (i64::MAX, None),
        (100_000_101_000_000, None),
    ] {
        let found = DateTime::from_number(number, DateRules::PARTS).map(|d| d.display(0).to_string());
        assert_eq!(found.as_deref(), expected, "{number}");
    }
    assert_eq!(datetime("2024-01-02 03:04:05.9").to_number(), 20_240_102_030_405);
}

#[test]
fn fractions_are_rounded_cut_and_shown() {
    let d = datetime("2024-12-31 23:59:59.987654");
    assert_eq!(d.display(0).to_string(), "2024-12-31 23:59:59");
    assert_eq!(d.display(3).to_string(), "2024-12-31 23:59:59.987");
    assert_eq!(d.round(3).unwrap().display(6).to_string(), "2024-12-31 23:59:59.988000");
    assert_eq!(d.round(0).unwrap().display(0).to_string(), "2025-01-01 00:00:00");
    assert_eq!(d.truncate(2).display(6).to_string(), "2024-12-31 23:59:59.980000");
    assert_eq!(DateTime::MAX.round(5), None);
    // Before 1970 the count is negative; rounding still goes up in time.
    assert_eq!(datetime("1969-12-31 23:59:58.5").round(0).unwrap(), datetime("1969-12-31 23:59:59"));
    assert_eq!(datetime("0001-01-01 00:00:00.4").round(0).unwrap(), datetime("0001-01-01"));
}

#[test]
fn intervals_as_mysql_adds_them() {
    use IntervalUnit::*;
    for (from, count, unit, expected) in [
        ("2024-01-31", 1, Month, Some("2024-02-29 00:00:00.000000")),
        ("2023-01-31", 1, Month, Some("2023-02-28 00:00:00.000000")),
        ("2024-03-31", -1, Month, Some("2024-02-29 00:00:00.000000")),
        ("2024-02-29", 1, Year, Some("2025-02-28 00:00:00.000000")),
        ("2024-02-29", -4, Year, Some("2020-02-29 00:00:00.000000")),
        ("1998-12-01", -90, Day, Some("1998-09-02 00:00:00.000000")),
        ("2024-11-30", 1, Quarter, Some("2025-02-28 00:00:00.000000")),
        ("2024-02-28", 1, Week, Some("2024-03-06 00:00:00.000000")),
        ("2024-12-31 23:59:59", 1, Second, Some("2025-01-01 00:00:00.000000")),
        ("2024-01-01", -1, Microsecond, Some("2023-12-31 23:59:59.999999")),
        ("2024-01-01 12:00:00", 25, Hour, Some("2024-01-02 13:00:00.000000")),
        ("2024-01-01", -90, Minute, Some("2023-12-31 22:30:00.000000")),
        ("0001-01-15", -1, Month, Some("0000-12-15 00:00:00.000000")),
        ("9999-12-31", 1, Day, None),
        ("0001-01-01", -1, Day, None),
        ("9999-12-31", 1, Month, None),
        ("0000-01-31", -1, Month, None),
        ("9999-12-31 23:59:59", 1, Second, None),
        ("2024-01-01", 300_000, Year, None),
    ] {
        let found = datetime(from).checked_add(Interval::new(count, unit, 0).unwrap());
        assert_eq!(found.map(|d| d.display(6).to_string()).as_deref(), expected, "{from} + {count} {unit:?}");
    }
    assert!(Interval::new(i64::MAX, Day, 0).is_none() && Interval::new(i64::MIN, Year, 0).is_none());
    let one_and_a_half = Interval::new(1, Second, 500_000).unwrap();
    assert_eq!(
        datetime("2024-01-01").checked_add(one_and_a_half).unwrap(),
        datetime("2024-01-01 00:00:01.5")
    );
    assert_eq!(date("1995-03-15").checked_add(Interval::new(3, Month, 0).unwrap()), Some(date("1995-06-15")));
    for unit in IntervalUnit::ALL {
        assert_eq!(IntervalUnit::from_name(&unit.name().to_lowercase()), Some(unit));
    }
}

#[test]
fn random_datetimes_go_both_ways() {
    let mut rng = testing::rng("random_datetimes");
    for _ in 0..testing::iterations(20_000) {
        let d = DateTime::from_ordinal(rng.random_range(0..=DateTime::MAX.ordinal())).unwrap();
        assert_eq!(DateTime::from_civil(d.civil(), DateRules::ANY), Some(d));
        assert_eq!(DateTime::from_parts(d.date(), d.micros_of_day()), Some(d));
        let read = DateTime::parse(&d.display(6).to_string(), DateRules::ANY);
        assert_eq!(read.unwrap().value, d);
        let read = Date::parse(&d.date().to_string(), DateRules::ANY);
        assert_eq!(read.unwrap().value, d.date());
        assert_eq!(d.epoch_micros().is_some(), d.date().civil().month > 0 && d.date().civil().day > 0);
        if !d.is_admitted(DateRules::DAYS) {
            continue;
        }
        assert_eq!(DateTime::from_epoch_micros(d.epoch_micros().unwrap()), Some(d));
        let days = rng.random_range(-5_000..5_000);
        let span = Interval::new(days, IntervalUnit::Day, 0).unwrap();
        if let Some(sum) = d.checked_add(span) {
            let number = |d: DateTime| i64::from(d.date().epoch_days().unwrap());
            assert_eq!(number(sum) - number(d), days);
            if d.date().civil().year > 0 {
                assert_eq!(sum.checked_add(span.negate()), Some(d));
            }
        }
    }
    assert_eq!(DateTime::from_ordinal(-1), None);
    assert_eq!(DateTime::from_ordinal(DateTime::MAX.ordinal() + 1), None);
    assert_eq!(DateTime::from_epoch_micros(DateTime::MAX.epoch_micros().unwrap() + 1), None);
    assert_eq!((DateTime::ZERO.date(), DateTime::MAX.date()), (Date::ZERO, Date::MAX));
}

#[test]
fn intervals_of_several_parts_are_read_from_the_right() {
    use IntervalUnit::{DayHour, DaySecond, HourMicrosecond, MinuteSecond, SecondMicrosecond, YearMonth};
    let micros = |text: &str, unit| Interval::parse(text, unit).map(Interval::micros);
    assert_eq!(micros("1 10", DayHour), Some(34 * 3_600_000_000));
    assert_eq!(micros("10", DayHour), Some(10 * 3_600_000_000));
    assert_eq!(micros("-1:30", MinuteSecond), Some(-90_000_000));
    assert_eq!(micros("1.5", SecondMicrosecond), Some(1_500_000));
    assert_eq!(micros("1:2:3.000004", HourMicrosecond), Some(3_723_000_004));
    assert_eq!(micros("1 2:3:4:5", DaySecond), None);
    assert_eq!(micros("nonsense", DaySecond), Some(0));
    assert_eq!(Interval::parse("2-3", YearMonth).map(Interval::months), Some(27));
}

#[test]
fn dates_that_are_no_days_order_and_show_but_do_not_count() {
    let any = |text: &str| DateTime::parse(text, DateRules::ANY).unwrap().value;
    let ordered = [
        "0000-00-00 00:00:00",
        "0000-00-00 00:00:01",
        "0000-00-01 00:00:00",
        "2023-12-31 23:59:59",
        "2024-00-00 00:00:00",
        "2024-00-10 00:00:00",
        "2024-01-00 12:00:00",
        "2024-01-01 00:00:00",
        "2024-02-29 00:00:00",
        "2024-02-31 00:00:00",
        "2024-03-01 00:00:00",
    ];
    for pair in ordered.windows(2) {
        assert!(any(pair[0]) < any(pair[1]), "{pair:?}");
    }
    for text in ordered {
        assert_eq!(any(text).display(0).to_string(), text);
    }
    for text in ["0000-00-00", "2024-00-10", "2024-01-00"] {
        let date = any(text).date();
        assert_eq!((date.weekday(), date.day_of_year(), date.day_number()), (None, None, None), "{text}");
        for unit in [IntervalUnit::Day, IntervalUnit::Month, IntervalUnit::Year] {
            assert_eq!(any(text).checked_add(Interval::new(1, unit, 0).unwrap()), None, "{text}");
        }
    }
    assert_eq!(any("2024-02-31").date().day_number(), any("2024-03-02").date().day_number());
    assert_eq!(any("2024-01-00 23:59:59.5").round(0), None);
    assert_eq!(any("2024-01-00 12:00:00.5").round(0), Some(any("2024-01-00 12:00:01")));
}
