//! The times at which an event runs, by its schedule.
//!
//! `EVERY n unit STARTS s` runs at s, s + n units, s + 2n units and so on, until ENDS, which belongs to the
//! schedule. Units of days and longer go by the calendar in the event's time zone: an event that starts at 3:00
//! runs at 3:00 local time in summer and in winter. A local time that does not exist stands for the change of the
//! clocks, one that exists twice for the first. From January 31, a month later is the last day of February, and two
//! months later is March 31. Hours, minutes and seconds are elapsed time.
//!
//! Times are microseconds since 1970, UTC.

use crate::settings::TimeZone;
use leafline_table::{EventDef, EventSchedule};
use leafline_types::temporal::Zone;
use leafline_types::{DateTime, Interval, IntervalUnit};

/// Returns the time of the first execution at `from` or later; `None` if there is none. AT is a time of execution
/// until the event has run, however long ago it was.
pub(crate) fn first_at_or_after(event: &EventDef, from: i64) -> Option<i64> {
    match &event.schedule {
        EventSchedule::At(at) => event.last_executed.is_none_or(|last| last < *at).then_some(*at),
        EventSchedule::Every { amount, unit, starts, ends } => {
            let zone = TimeZone::parse(&event.time_zone).unwrap_or_else(|_| TimeZone::system());
            let every = Repetition::new(*starts, Interval::parse(amount, *unit)?, *unit, zone.zone())?;
            let next = every.first_at_or_after(from)?;
            ends.is_none_or(|ends| next <= ends).then_some(next)
        }
    }
}

/// Returns the time of the first execution after `moment`; `None` if there is none. AT has none after its first.
pub(crate) fn first_after(event: &EventDef, moment: i64) -> Option<i64> {
    match &event.schedule {
        EventSchedule::At(_) => None,
        EventSchedule::Every { .. } => first_at_or_after(event, moment.checked_add(1)?),
    }
}

/// Times at equal distances.
enum Repetition<'z> {
    /// Distances of elapsed time.
    Elapsed { starts: i64, step: i64 },
    /// Distances by the calendar of a time zone.
    Calendar { starts: DateTime, step: Interval, zone: &'z Zone },
}

impl<'z> Repetition<'z> {
    fn new(starts: i64, step: Interval, unit: IntervalUnit, zone: &'z Zone) -> Option<Repetition<'z>> {
        if step.months() < 0 || step.micros() < 0 || step.months() == 0 && step.micros() == 0 {
            return None;
        }
        let is_elapsed = match unit {
            IntervalUnit::Hour | IntervalUnit::Minute | IntervalUnit::Second => true,
            unit => unit.parts().len() > 1 && unit.parts().iter().all(|part| !part.is_date_unit()),
        };
        if is_elapsed {
            return Some(Repetition::Elapsed { starts, step: step.micros() });
        }
        let starts = zone.to_local(DateTime::from_epoch_micros(starts)?)?;
        Some(Repetition::Calendar { starts, step, zone })
    }

    /// The time of number `n`, from 0; `None` beyond the calendar.
    fn nth(&self, n: i64) -> Option<i64> {
        match self {
            Repetition::Elapsed { starts, step } => starts.checked_add(step.checked_mul(n)?),
            Repetition::Calendar { starts, step, zone } => {
                let (months, micros) = (step.months().checked_mul(n)?, step.micros().checked_mul(n)?);
                let local = starts.checked_add(Interval::new(months, IntervalUnit::Month, micros)?)?;
                zone.to_utc(local)?.0.epoch_micros()
            }
        }
    }

    /// The first time at `from` or later. The times ascend with their numbers, so the search halves.
    fn first_at_or_after(&self, from: i64) -> Option<i64> {
        let is_early = |n: i64| self.nth(n).is_some_and(|time| time < from);
        if !is_early(0) {
            return self.nth(0);
        }
        // `early` is too early, `late` is not.
        let (mut early, mut late) = (0, 1);
        while is_early(late) {
            early = late;
            late = late.checked_mul(2)?;
        }
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            match is_early(middle) {
                true => early = middle,
                false => late = middle,
            }
        }
        self.nth(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::temporal::DateRules;
    use leafline_types::words::EventStatus;
    use leafline_types::{SqlType, Value};

    const SECOND: i64 = 1_000_000;

    fn zone(name: &str) -> TimeZone {
        TimeZone::parse(name).unwrap()
    }

    /// A local time as UTC.
    fn utc(local: &str, name: &str) -> i64 {
        let local = DateTime::parse(local, DateRules::default()).unwrap().value;
        zone(name).zone().to_utc(local).unwrap().0.epoch_micros().unwrap()
    }

    fn local(micros: i64, name: &str) -> String {
        let local = zone(name).zone().to_local(DateTime::from_epoch_micros(micros).unwrap()).unwrap();
        let text = leafline_types::convert::to_text(&Value::DateTime(local), &SqlType::DateTime { fsp: 0 });
        text.unwrap().to_string()
    }

    fn event(schedule: EventSchedule, time_zone: &str) -> EventDef {
        EventDef {
            schedule,
            preserve: false,
            status: EventStatus::Enabled,
            last_executed: None,
            originator: 1,
            time_zone: time_zone.into(),
        }
    }

    fn every(amount: &str, unit: IntervalUnit, starts: &str, time_zone: &str) -> EventDef {
        let starts = utc(starts, time_zone);
        event(EventSchedule::Every { amount: amount.into(), unit, starts, ends: None }, time_zone)
    }

    /// The first times of an event, in its time zone.
    fn times(event: &EventDef, from: i64, count: usize) -> Vec<String> {
        let first = first_at_or_after(event, from);
        let all = std::iter::successors(first, |time| first_after(event, *time));
        all.take(count).map(|time| local(time, &event.time_zone)).collect()
    }

    #[test]
    fn a_month_is_the_calendars_and_keeps_the_day_of_the_start() {
        let event = every("1", IntervalUnit::Month, "2024-01-31 12:00:00", "+02:00");
        let expected = ["2024-01-31 12:00:00", "2024-02-29 12:00:00", "2024-03-31 12:00:00"];
        assert_eq!(times(&event, 0, 3), expected);
        let event = every("1-1", IntervalUnit::YearMonth, "2024-02-29 00:00:00", "UTC");
        assert_eq!(
            times(&event, 0, 3),
            ["2024-02-29 00:00:00", "2025-03-29 00:00:00", "2026-04-29 00:00:00"]
        );
        let event = every("1", IntervalUnit::Year, "2024-02-29 00:00:00", "UTC");
        assert_eq!(times(&event, 0, 2), ["2024-02-29 00:00:00", "2025-02-28 00:00:00"]);
        assert_eq!(times(&event, utc("2027-12-01", "UTC"), 1), ["2028-02-29 00:00:00"]);
    }

    #[test]
    fn a_day_keeps_the_time_of_day_when_clocks_change_and_an_hour_is_an_hour() {
        let berlin = "Europe/Berlin";
        let event = every("1", IntervalUnit::Day, "2024-03-30 02:30:00", berlin);
        let expected = ["2024-03-30 02:30:00", "2024-03-31 03:00:00", "2024-04-01 02:30:00"];
        assert_eq!(times(&event, 0, 3), expected, "2:30 does not exist on the 31st");
        let event = every("1", IntervalUnit::Hour, "2024-03-31 01:30:00", berlin);
        assert_eq!(times(&event, 0, 2), ["2024-03-31 01:30:00", "2024-03-31 03:30:00"]);
        let event = every("1", IntervalUnit::Hour, "2024-10-27 01:30:00", berlin);
        let expected =
            ["2024-10-27 01:30:00", "2024-10-27 02:30:00", "2024-10-27 02:30:00", "2024-10-27 03:30:00"];
        assert_eq!(times(&event, 0, 4), expected, "2:30 exists twice");
        let event = every("1 0", IntervalUnit::DayHour, "2024-10-26 08:00:00", berlin);
        assert_eq!(times(&event, 0, 2), ["2024-10-26 08:00:00", "2024-10-27 08:00:00"]);
    }

    #[test]
    fn units_of_several_parts_are_sums() {
        let event = every("1:30", IntervalUnit::HourMinute, "2024-01-01 00:00:00", "UTC");
        let expected = ["2024-01-01 03:00:00", "2024-01-01 04:30:00"];
        assert_eq!(times(&event, utc("2024-01-01 01:30:01", "UTC"), 2), expected);
        let event = every("2", IntervalUnit::Quarter, "2024-01-01 00:00:00", "UTC");
        assert_eq!(times(&event, 1, 2), ["2024-01-01 00:00:00", "2024-07-01 00:00:00"]);
        let event = every("1:05", IntervalUnit::MinuteSecond, "2024-01-01 00:00:00", "UTC");
        assert_eq!(times(&event, 1, 2), ["2024-01-01 00:00:00", "2024-01-01 00:01:05"]);
    }

    #[test]
    fn ends_belongs_to_the_schedule_and_nothing_comes_after() {
        let mut event = every("10", IntervalUnit::Second, "2024-01-01 00:00:00", "UTC");
        let start = utc("2024-01-01", "UTC");
        if let EventSchedule::Every { ends, .. } = &mut event.schedule {
            *ends = Some(start + 20 * SECOND);
        }
        assert_eq!(first_after(&event, start + 10 * SECOND), Some(start + 20 * SECOND));
        assert_eq!(first_at_or_after(&event, start + 20 * SECOND), Some(start + 20 * SECOND));
        assert_eq!(first_after(&event, start + 20 * SECOND), None);
    }

    #[test]
    fn at_is_due_until_it_has_run() {
        let mut event = event(EventSchedule::At(7 * SECOND), "UTC");
        assert_eq!(first_at_or_after(&event, 0), Some(7 * SECOND));
        assert_eq!(first_at_or_after(&event, 100 * SECOND), Some(7 * SECOND), "it was missed");
        assert_eq!(first_after(&event, 0), None);
        event.last_executed = Some(6 * SECOND);
        assert_eq!(first_at_or_after(&event, 0), Some(7 * SECOND), "it ran under an earlier schedule");
        event.last_executed = Some(7 * SECOND);
        assert_eq!(first_at_or_after(&event, 0), None);
    }

    #[test]
    fn the_end_of_the_calendar_is_the_end_of_a_schedule() {
        let event = every("9000", IntervalUnit::Year, "2024-01-01 00:00:00", "UTC");
        assert_eq!(first_after(&event, utc("2024-01-01", "UTC")), None);
        assert_eq!(first_after(&event, i64::MAX), None);
    }

    /// Counts up from the start.
    fn naive(event: &EventDef, from: i64) -> Option<i64> {
        let EventSchedule::Every { amount, unit, starts, ends } = &event.schedule else { return None };
        let step = Interval::parse(amount, *unit).unwrap();
        let zone = zone(&event.time_zone);
        let every = Repetition::new(*starts, step, *unit, zone.zone()).unwrap();
        let found = (0..).map(|n| every.nth(n)).find(|time| time.is_none_or(|time| time >= from)).flatten();
        found.filter(|time| ends.is_none_or(|ends| *time <= ends))
    }

    #[test]
    fn random_schedules_agree_with_counting() {
        let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut below = |bound: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % bound) as i64
        };
        let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "-05:30"];
        let day = 86_400 * SECOND;
        for _ in 0..3000 {
            let (amount, unit, span) = match below(10) {
                0 => ("1".to_owned(), IntervalUnit::Month, 900 * day),
                1 => (format!("{}", 1 + below(30)), IntervalUnit::Day, 900 * day),
                2 => (format!("{}", 1 + below(48)), IntervalUnit::Hour, 90 * day),
                3 => (format!("{} {}", below(3), 1 + below(30)), IntervalUnit::DayHour, 90 * day),
                4 => (format!("{}:{}", below(3), 1 + below(90)), IntervalUnit::HourMinute, 20 * day),
                5 => (format!("{}-{}", below(2), 1 + below(14)), IntervalUnit::YearMonth, 9000 * day),
                6 => (format!("{}", 1 + below(3)), IntervalUnit::Week, 900 * day),
                7 => (format!("0 0:{}", 1 + below(90)), IntervalUnit::DayMinute, 9 * day),
                8 => (format!("{}", 1 + below(300)), IntervalUnit::Second, day),
                _ => (format!("{}", 1 + below(5)), IntervalUnit::Quarter, 9000 * day),
            };
            // Around the changes of the clocks in 2024.
            let base =
                [1_711_846_800, 1_729_990_800, 1_710_054_000, 1_712_422_800][below(4) as usize] * SECOND;
            let starts = base - 4 * day + below(8 * 86_400) * SECOND;
            let ends = (below(2) == 0).then(|| starts + 1 + below((span / SECOND) as u64) * SECOND);
            let schedule = EventSchedule::Every { amount, unit, starts, ends };
            let event = event(schedule, zones[below(5) as usize]);
            for _ in 0..3 {
                let from = starts - day + below((span / SECOND) as u64) * SECOND + below(3) - 1;
                assert_eq!(first_at_or_after(&event, from), naive(&event, from), "{event:?} from {from}");
            }
        }
    }
}
