//! Times of statements by kind since the instance was opened, for monitoring.
//!
//! The classes of a histogram are powers of four, so that a monitor can store a histogram for each kind.

use crate::status::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number of classes: up to 1, 4, 16, .. microseconds.
const CLASSES: usize = 15;

/// The times of statements of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindTimes {
    /// Name of the kind.
    pub kind: &'static str,
    /// Upper ends of the classes in seconds, with the number of statements up to each, ascending; longer
    /// times are in no class.
    pub classes: Vec<(f64, u64)>,
    /// Number of statements.
    pub count: u64,
    /// Sum of their times, seconds.
    pub sum: f64,
}

#[derive(Debug, Default)]
struct Times {
    classes: [AtomicU64; CLASSES],
    longer: AtomicU64,
    nanoseconds: AtomicU64,
}

const KINDS: [&str; 7] = ["select", "insert", "update", "delete", "replace", "transaction", "other"];

/// Times by kind.
#[derive(Debug, Default)]
pub(crate) struct StatementTimes([Times; KINDS.len()]);

fn kind_of(command: Command) -> usize {
    match command {
        Command::Select => 0,
        Command::Insert | Command::InsertSelect => 1,
        Command::Update | Command::UpdateMulti => 2,
        Command::Delete | Command::DeleteMulti => 3,
        Command::Replace | Command::ReplaceSelect => 4,
        Command::Begin | Command::Commit | Command::Rollback => 5,
        _ => 6,
    }
}

impl StatementTimes {
    /// Adds `times` statements of duration `time`.
    pub fn add(&self, command: Command, time: Duration, times: u32) {
        let Some(kind) = self.0.get(kind_of(command)) else { return };
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // The class is the least power of four microseconds that is not exceeded.
        let bits = u64::BITS - (nanoseconds.saturating_sub(1) / 1000).leading_zeros();
        let class = kind.classes.get(bits.div_ceil(2) as usize).unwrap_or(&kind.longer);
        class.fetch_add(times.into(), Ordering::Relaxed);
        kind.nanoseconds.fetch_add(nanoseconds.saturating_mul(times.into()), Ordering::Relaxed);
    }

    /// The times of all kinds.
    pub fn all(&self) -> Vec<KindTimes> {
        let of = |(kind, times): (&'static str, &Times)| {
            let (mut sum, mut end) = (0, 1e-6);
            let mut classes = Vec::with_capacity(CLASSES);
            for class in &times.classes {
                sum += class.load(Ordering::Relaxed);
                classes.push((end, sum));
                end *= 4.0;
            }
            let count = sum + times.longer.load(Ordering::Relaxed);
            KindTimes { kind, classes, count, sum: times.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9 }
        };
        KINDS.into_iter().zip(&self.0).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_in_the_classes_that_end_where_it_did_or_later() {
        let times = StatementTimes::default();
        for nanoseconds in [0, 1000, 1001, 4000, 4001, 16_000_000] {
            times.add(Command::Select, Duration::from_nanos(nanoseconds), 1);
        }
        times.add(Command::Commit, Duration::from_secs(100_000), 8);
        let all = times.all();
        let select = &all[0];
        let up_to = |seconds: f64| {
            let class = select.classes.iter().find(|(end, _)| (end / seconds - 1.0).abs() < 1e-9);
            class.map(|(_, count)| *count)
        };
        assert_eq!((up_to(1e-6), up_to(4e-6), up_to(16e-6)), (Some(2), Some(4), Some(5)));
        assert_eq!((up_to(4096e-6), up_to(16384e-6), select.count), (Some(5), Some(6), 6));
        let transactions = &all[5];
        assert_eq!((transactions.kind, transactions.count, transactions.sum), ("transaction", 8, 800_000.0));
        assert!(transactions.classes.iter().all(|(_, count)| *count == 0));
    }
}
