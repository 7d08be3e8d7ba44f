//! Figures of point reads: counted without a lock, and mostly without reading the clock.

use super::{Counts, SAMPLED};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// One point read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointReadRun {
    pub rows: u64,
    /// Pages read from the device.
    pub pages_read: u64,
    pub no_index_used: bool,
    /// True to time the read in any case.
    pub is_timed: bool,
}

/// Sums over point reads.
#[derive(Debug, Default)]
pub(super) struct PointReadCounts {
    executions: AtomicU64,
    rows: AtomicU64,
    pages_read: AtomicU64,
    no_index_used: AtomicU64,
    /// Sum, nanoseconds.
    time: AtomicU64,
    /// Nanoseconds plus one; 0 until a read was timed.
    least_time: AtomicU64,
    most_time: AtomicU64,
    /// Microseconds since 1970; 0 until a read was timed.
    first_seen: AtomicI64,
    last_seen: AtomicI64,
}

impl PointReadCounts {
    /// Counts a read. If it is to be timed, returns the number of reads that it counts for.
    pub fn count(&self, run: PointReadRun) -> Option<u32> {
        let number = self.executions.fetch_add(1, Relaxed);
        self.rows.fetch_add(run.rows, Relaxed);
        if run.no_index_used {
            self.no_index_used.fetch_add(1, Relaxed);
        }
        if run.pages_read > 0 {
            self.pages_read.fetch_add(run.pages_read, Relaxed);
        }
        if run.pages_read > 0 || run.is_timed {
            return Some(1);
        }
        number.is_multiple_of(SAMPLED).then_some(SAMPLED as u32)
    }

    /// Adds a duration that counts `weight` times.
    pub fn time(&self, time: Duration, weight: u32, ended: i64) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.time.fetch_add(nanoseconds.saturating_mul(weight.into()), Relaxed);
        if nanoseconds > self.most_time.load(Relaxed) {
            self.most_time.fetch_max(nanoseconds, Relaxed);
        }
        let least = self.least_time.load(Relaxed);
        if least == 0 || nanoseconds < least - 1 {
            self.least_time.store(nanoseconds.saturating_add(1), Relaxed);
        }
        if self.first_seen.load(Relaxed) == 0 {
            self.first_seen.store(ended, Relaxed);
        }
        self.last_seen.store(ended, Relaxed);
    }

    /// Adds the sums to the figures of other executions.
    pub fn add_to(&self, counts: &mut Counts) {
        let rows = self.rows.load(Relaxed);
        let before = counts.executions;
        counts.executions += self.executions.load(Relaxed);
        counts.rows_sent += rows;
        counts.rows_examined += rows;
        counts.rows_estimated += rows as f64;
        counts.pages_read += self.pages_read.load(Relaxed);
        counts.no_index_used += self.no_index_used.load(Relaxed);
        counts.time += Duration::from_nanos(self.time.load(Relaxed));
        counts.most_time = counts.most_time.max(Duration::from_nanos(self.most_time.load(Relaxed)));
        let Some(least) = self.least_time.load(Relaxed).checked_sub(1).map(Duration::from_nanos) else {
            return;
        };
        let (first, last) = (self.first_seen.load(Relaxed), self.last_seen.load(Relaxed));
        if before == 0 {
            (counts.least_time, counts.first_seen, counts.last_seen) = (least, first, last);
        } else {
            counts.least_time = counts.least_time.min(least);
            counts.first_seen = counts.first_seen.min(first);
            counts.last_seen = counts.last_seen.max(last);
        }
    }

    /// Sets all sums to zero.
    pub fn reset(&self) {
        let numbers = [
            &self.executions,
            &self.rows,
            &self.pages_read,
            &self.no_index_used,
            &self.time,
            &self.least_time,
            &self.most_time,
        ];
        numbers.iter().for_each(|number| number.store(0, Relaxed));
        [&self.first_seen, &self.last_seen].iter().for_each(|time| time.store(0, Relaxed));
    }
}
