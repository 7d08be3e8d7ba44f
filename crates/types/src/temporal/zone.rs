//! Time zones: fixed offsets from UTC, and the zones of the IANA database by their names.
//!
//! The database is part of the program (crate `jiff`), so that a name means the same on every machine. A local time
//! that does not exist, because clocks were set forward, stands for the second of the change; a local time that
//! exists twice, because they were set back, stands for the first.

use std::sync::Arc;

use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{DateTime, calendar::MICROS_PER_SECOND};

/// The range of fixed offsets, in minutes east of UTC.
const RANGE: std::ops::RangeInclusive<i32> = -839..=840;

/// A time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Seconds ahead of UTC.
    Fixed(i32),
    /// Shared, so that copies compare equal by their address: settings are compared at each run of a cached plan.
    Named(Arc<TimeZone>),
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone(Kind::Fixed(0));

    /// Reads `[+|-]hh:mm` between -13:59 and +14:00, or the name of a zone, in any case (`Europe/Berlin`, `UTC`).
    /// None for anything else.
    pub fn parse(text: &str) -> Option<Zone> {
        if matches!(text.as_bytes().first(), Some(b'+' | b'-')) {
            return parse_offset(text).map(|minutes| Zone(Kind::Fixed(minutes * 60)));
        }
        TimeZone::get(text).ok().map(|zone| Zone(Kind::Named(Arc::new(zone))))
    }

    /// Returns the zone of the machine; UTC if it has none.
    pub fn system() -> Zone {
        match TimeZone::try_system() {
            Ok(zone) if zone != TimeZone::UTC => Zone(Kind::Named(Arc::new(zone))),
            _ => Zone::UTC,
        }
    }

    /// Returns its name: that of the database, or `+hh:mm`.
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Fixed(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", seconds.abs() / 3600, seconds.abs() / 60 % 60)
            }
            Kind::Named(zone) => zone.iana_name().unwrap_or("UTC").to_owned(),
        }
    }

    /// Converts UTC to local time; None outside the years 0 to 9999. Returns a date with a zero month or day
    /// unchanged.
    pub fn to_local(&self, utc: DateTime) -> Option<DateTime> {
        let Some(micros) = utc.epoch_micros() else { return Some(utc) };
        let seconds = match &self.0 {
            Kind::Fixed(seconds) => *seconds,
            Kind::Named(zone) => {
                let moment = jiff::Timestamp::from_microsecond(micros).ok()?;
                zone.to_offset(moment).seconds()
            }
        };
        DateTime::from_epoch_micros(micros.checked_add(i64::from(seconds) * MICROS_PER_SECOND)?)
    }

    /// Converts local time to UTC, and returns whether that local time exists; None outside the years 0 to 9999.
    /// Returns a date with a zero month or day unchanged.
    pub fn to_utc(&self, local: DateTime) -> Option<(DateTime, bool)> {
        let Some(micros) = local.epoch_micros() else { return Some((local, true)) };
        let utc = |seconds: i32| {
            DateTime::from_epoch_micros(micros.checked_sub(i64::from(seconds) * MICROS_PER_SECOND)?)
        };
        let zone = match &self.0 {
            Kind::Fixed(seconds) => return Some((utc(*seconds)?, true)),
            Kind::Named(zone) => zone,
        };
        Some(match zone.to_ambiguous_timestamp(civil_of(micros)?).offset() {
            AmbiguousOffset::Unambiguous { offset } => (utc(offset.seconds())?, true),
            AmbiguousOffset::Fold { before, .. } => (utc(before.seconds())?, true),
            AmbiguousOffset::Gap { before, .. } => {
                // The offset from before the change gives a moment after it.
                let behind = utc(before.seconds())?.epoch_micros()?.checked_add(1)?;
                let change = zone.preceding(jiff::Timestamp::from_microsecond(behind).ok()?).next()?;
                let fraction = micros.rem_euclid(MICROS_PER_SECOND);
                (DateTime::from_epoch_micros(change.timestamp().as_microsecond() + fraction)?, false)
            }
        })
    }
}

fn civil_of(epoch_micros: i64) -> Option<civil::DateTime> {
    let c = DateTime::from_epoch_micros(epoch_micros)?.civil();
    let (year, month, day) = (i16::try_from(c.date.year).ok()?, c.date.month as i8, c.date.day as i8);
    let nanoseconds = i32::try_from(c.microsecond).ok()? * 1000;
    civil::DateTime::new(year, month, day, c.hour as i8, c.minute as i8, c.second as i8, nanoseconds).ok()
}

/// Reads `[+|-]hh:mm` between -13:59 and +14:00 as minutes ahead of UTC. None for anything else.
pub(super) fn parse_offset(text: &str) -> Option<i32> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'+') => (false, &text[1..]),
        Some(b'-') => (true, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits =
        |s: &str, most: usize| (1..=most).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours, 2) || !digits(minutes, 2) {
        return None;
    }
    let hours: i32 = hours.parse().ok()?;
    let minutes: i32 = minutes.parse().ok()?;
    let total = if negative { -(hours * 60 + minutes) } else { hours * 60 + minutes };
    (minutes <= 59 && RANGE.contains(&total)).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::super::DateRules;
    use super::*;

    fn time(text: &str) -> DateTime {
        DateTime::parse(text, DateRules::ANY).unwrap().value
    }

    #[test]
    fn clocks_that_are_set_make_gaps_and_folds() {
        let berlin = Zone::parse("europe/berlin").unwrap();
        assert_eq!(berlin.name(), "Europe/Berlin");
        for (local, utc, there) in [
            ("2024-01-15 12:00:00", "2024-01-15 11:00:00", true),
            ("2024-07-15 12:00:00.5", "2024-07-15 10:00:00.5", true),
            ("2024-03-31 01:59:59.999999", "2024-03-31 00:59:59.999999", true),
            ("2024-03-31 02:00:00", "2024-03-31 01:00:00", false),
            ("2024-03-31 02:30:00", "2024-03-31 01:00:00", false),
            ("2024-03-31 02:59:59.999999", "2024-03-31 01:00:00.999999", false),
            ("2024-03-31 03:00:00", "2024-03-31 01:00:00", true),
            ("2024-10-27 02:30:00", "2024-10-27 00:30:00", true),
            ("2024-10-27 03:00:00", "2024-10-27 02:00:00", true),
            ("0000-00-00", "0000-00-00", true),
        ] {
            assert_eq!(berlin.to_utc(time(local)), Some((time(utc), there)), "{local}");
        }
        for (utc, local) in [
            ("2024-10-27 00:30:00", "2024-10-27 02:30:00"),
            ("2024-10-27 01:30:00", "2024-10-27 02:30:00"),
            ("2024-03-31 00:59:59", "2024-03-31 01:59:59"),
            ("2024-03-31 01:00:00", "2024-03-31 03:00:00"),
            ("0000-00-00", "0000-00-00"),
        ] {
            assert_eq!(berlin.to_local(time(utc)), Some(time(local)), "{utc}");
        }
    }

    #[test]
    fn distances_have_bounds_and_names_are_known_or_not() {
        let shift = |name: &str| Zone::parse(name).and_then(|zone| zone.to_local(time("2024-01-02")));
        assert_eq!(shift("+14:00"), Some(time("2024-01-02 14:00:00")));
        assert_eq!(shift("-13:59"), Some(time("2024-01-01 10:01:00")));
        assert_eq!(shift("+1:5"), Some(time("2024-01-02 01:05:00")));
        assert_eq!(shift("UTC"), Some(time("2024-01-02")));
        assert_eq!(Zone::parse("-03:30").map(|zone| zone.name()).as_deref(), Some("-03:30"));
        for wrong in ["+14:01", "-14:00", "+1:60", "1:00", "Europe/Nowhere", "", "+", "SYSTEM"] {
            assert_eq!(Zone::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Zone::parse("+02:00")
                .unwrap()
                .to_utc(DateTime::from_epoch_micros(-719_527 * 86_400_000_000).unwrap()),
            None
        );
    }
}
