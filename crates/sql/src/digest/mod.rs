//! Statement digests: figures of statements that differ in their values alone. A digest counts executions,
//! their times, and the rows they estimated, examined and sent, and knows their plans.
//! `performance_schema.events_statements_summary_by_digest` shows digests.
//!
//! The key of a digest is a database and the text in tokens, with `?` for each literal and `...` for further
//! ones of a list. A plan refers to its digest, so that another execution needs no lookup. A digest keeps one
//! sample statement with its values, unless it is too long; statements without a plan, such as ones with
//! passwords, leave no sample. After `performance_schema_digests_size` digests further statements are counted
//! together, as in MySQL, which bounds the memory at some KiB for each digest. [`stored`] keeps digests while
//! the database is closed.
//!
//! **Point reads**, which run again without operators, take less than a microsecond, and reading the clock
//! would add a tenth. One in [`SAMPLED`] is timed and counts as many times; a point read of pages from the
//! device is always timed and counts once.

mod histogram;
mod plans;
mod point_reads;
mod stored;

pub(crate) use histogram::quantile;
pub(crate) use plans::Plans;
pub(crate) use point_reads::PointReadRun;

use histogram::Histogram;
use leafline_syntax::{LexMode, normalized};
use parking_lot::{Mutex, RwLock};
use point_reads::PointReadCounts;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Default of `performance_schema_digests_size`, and its limit.
pub(crate) const DIGESTS: u64 = 10_000;
pub(crate) const MOST_DIGESTS: u64 = 1 << 20;
/// Limit of a digest's text in bytes: `performance_schema_max_digest_length`.
const MOST_TEXT: usize = 1024;
/// Limit of a sample statement in bytes: `performance_schema_max_sql_text_length`, which is 1,024 in MySQL.
const MOST_SAMPLE: usize = 2048;
/// Number of point reads of which one is timed.
const SAMPLED: u64 = 8;

/// The figures of statements that differ in their values alone.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    /// The current database of the statements; `None` also for statements of many digests.
    pub schema: Option<Box<str>>,
    /// `None` for statements counted together after the limit.
    pub text: Option<Box<str>>,
    sample: OnceLock<Box<str>>,
    counts: Mutex<Counts>,
    point_reads: PointReadCounts,
    times: Histogram,
    plans: Mutex<Plans>,
}

/// Sums over executions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub executions: u64,
    pub time: Duration,
    pub least_time: Duration,
    pub most_time: Duration,
    /// The part of `time` spent waiting for locks.
    pub lock_time: Duration,
    pub errors: u64,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// Pages read from the device.
    pub pages_read: u64,
    /// Sorts, joins and groupings that spilled to files.
    pub files: u64,
    /// Executions that scanned a whole index or table.
    pub no_index_used: u64,
    /// Estimated rows of queries.
    pub rows_estimated: f64,
    /// Highest q-error.
    pub q_error: f64,
    /// First and last timed execution, microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

/// Figures of one execution, or of several alike.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExecutionFigures {
    /// Number of further executions of about the same time.
    pub more: u64,
    pub time: Duration,
    /// End, microseconds since 1970.
    pub ended: i64,
    pub failed: bool,
    pub used: Used,
    pub warnings: u64,
    pub rows_affected: u64,
    pub no_index_used: bool,
    /// For a query, the estimated rows, and whether all rows were read.
    pub estimated: Option<(f64, bool)>,
}

/// Rows, pages and other things that a statement used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub pages_read: u64,
    pub lock_time: Duration,
    pub files: u64,
}

impl Digest {
    /// Counts an execution.
    pub fn count(&self, executed: ExecutionFigures) {
        let runs = u32::try_from(executed.more).unwrap_or(u32::MAX).saturating_add(1);
        self.times.add(executed.time, runs);
        let mut counts = self.counts.lock();
        if counts.executions == 0 {
            counts.first_seen = executed.ended;
        }
        counts.last_seen = executed.ended;
        let is_first = counts.executions == 0;
        counts.executions += 1 + executed.more;
        counts.time += executed.time * runs;
        counts.least_time = if is_first { executed.time } else { counts.least_time.min(executed.time) };
        counts.most_time = counts.most_time.max(executed.time);
        counts.lock_time += executed.used.lock_time;
        counts.errors += u64::from(executed.failed);
        counts.warnings += executed.warnings;
        counts.rows_affected += executed.rows_affected;
        counts.rows_sent += executed.used.rows_sent;
        counts.rows_examined += executed.used.rows_examined;
        counts.pages_read += executed.used.pages_read;
        counts.files += executed.used.files;
        counts.no_index_used += u64::from(executed.no_index_used) * (1 + executed.more);
        if let Some((estimated, to_the_end)) = executed.estimated {
            counts.rows_estimated += estimated;
            if to_the_end && !executed.failed {
                let (expected, found) = (estimated.max(1.0), (executed.used.rows_sent as f64).max(1.0));
                counts.q_error = counts.q_error.max(expected / found).max(found / expected);
            }
        }
    }

    /// Counts a point read. If it is to be timed, calls `time` and returns its duration and the number of
    /// reads that it counts for.
    pub fn count_point_read(
        &self,
        run: PointReadRun,
        time: impl FnOnce() -> (Duration, i64),
    ) -> Option<(Duration, u32)> {
        let weight = self.point_reads.count(run)?;
        let (time, ended) = time();
        self.times.add(time, weight);
        self.point_reads.time(time, weight, ended);
        Some((time, weight))
    }

    /// The sums over all executions.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.lock().clone();
        self.point_reads.add_to(&mut counts);
        counts
    }

    /// Number of executions in each class of time.
    pub fn times(&self) -> Vec<u32> {
        self.times.counts()
    }

    /// Notes that a newly made plan is used from now on.
    pub fn note_plan(&self, plan: u64, now: i64) {
        self.plans.lock().note(plan, now);
    }

    /// The plans of the statement.
    pub fn plans(&self) -> Plans {
        self.plans.lock().clone()
    }

    /// Sets all figures to zero.
    fn reset(&self) {
        *self.counts.lock() = Counts::default();
        self.point_reads.reset();
        self.times.reset();
        self.plans.lock().reset();
    }

    /// Keeps a sample statement of at least `least` bytes, if there is none yet.
    pub fn show(&self, least: usize, statement: impl FnOnce() -> Option<String>) {
        if self.text.is_some()
            && least <= MOST_SAMPLE
            && self.sample.get().is_none()
            && let Some(statement) = statement().filter(|statement| statement.len() <= MOST_SAMPLE)
        {
            self.sample.get_or_init(|| statement.into_boxed_str());
        }
    }

    /// The sample statement.
    pub fn sample(&self) -> Option<&str> {
        self.sample.get().map(|sample| &**sample)
    }

    /// The digest's name: 64 hexadecimal digits.
    pub fn hash(&self) -> Option<String> {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(self.text.as_ref()?.as_bytes()) {
            let _ = write!(hex, "{byte:02x}");
        }
        Some(hex)
    }
}

/// Database and text.
type Key = (Option<Box<str>>, Box<str>);

/// The digests of all statements since the last reset.
#[derive(Debug)]
pub(crate) struct Digests {
    known: RwLock<HashMap<Key, Arc<Digest>>>,
    others: Arc<Digest>,
    /// Limit of their number.
    most: usize,
}

impl Digests {
    /// An empty set for at most `most` digests.
    pub fn new(most: usize) -> Digests {
        Digests { known: RwLock::default(), others: Arc::default(), most }
    }

    /// The digest of a statement.
    pub fn of(&self, schema: Option<&str>, sql: &str, mode: LexMode) -> Arc<Digest> {
        let key: Key = (schema.map(Box::from), normalized(sql, mode, MOST_TEXT).into_boxed_str());
        if let Some(known) = self.known.read().get(&key) {
            return known.clone();
        }
        let mut known = self.known.write();
        if known.len() >= self.most {
            return self.others.clone();
        }
        let new = || Digest { schema: key.0.clone(), text: Some(key.1.clone()), ..Digest::default() };
        let digest = Arc::new(new());
        known.entry(key).or_insert(digest).clone()
    }

    /// Resets all figures. Kept plans go on counting in the digests that they refer to.
    pub fn clear(&self) {
        let mut known = self.known.write();
        known.values().chain([&self.others]).for_each(|digest| digest.reset());
        known.retain(|_, digest| Arc::strong_count(digest) > 1);
    }

    /// All digests, the last one for statements counted together.
    pub fn all(&self) -> Vec<Arc<Digest>> {
        self.known.read().values().cloned().chain([self.others.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point_read(rows: u64, pages_read: u64) -> PointReadRun {
        PointReadRun { rows, pages_read, no_index_used: false, is_timed: false }
    }

    #[test]
    fn the_worst_estimate_is_remembered() {
        let digest = Digest::default();
        let executed = |estimated, rows_sent| ExecutionFigures {
            time: Duration::from_millis(rows_sent),
            ended: rows_sent as i64,
            used: Used { rows_sent, rows_examined: 10, ..Used::default() },
            estimated: Some((estimated, true)),
            ..ExecutionFigures::default()
        };
        digest.count(executed(8.0, 4));
        digest.count(executed(2.0, 20));
        digest.count(ExecutionFigures { estimated: Some((1000.0, false)), ..executed(0.0, 1) });
        digest.count_point_read(point_read(1, 0), || (Duration::from_millis(2), 50));
        let counts = digest.counts();
        assert_eq!(counts.executions, 4);
        assert_eq!((counts.rows_sent, counts.rows_examined, counts.rows_estimated), (26, 31, 1011.0));
        assert_eq!((counts.q_error, counts.least_time), (10.0, Duration::from_millis(1)));
        assert_eq!((counts.first_seen, counts.last_seen), (4, 50));
    }

    #[test]
    fn of_point_reads_a_sample_is_timed_and_all_that_wait_for_the_device() {
        let digest = Digest::default();
        let mut timed = 0;
        for number in 0..800 {
            let pages = u64::from(number % 100 == 3);
            let time = Duration::from_micros(if pages > 0 { 100 } else { 1 });
            timed += u64::from(digest.count_point_read(point_read(1, pages), || (time, 7)).is_some());
        }
        // Reads of pages are timed besides one read in eight.
        let with_pages = (0..800).filter(|number| number % 100 == 3);
        let only_by_pages = with_pages.filter(|number| number % SAMPLED != 0).count() as u64;
        assert_eq!(timed, 100 + only_by_pages);
        let counts = digest.counts();
        assert_eq!((counts.executions, counts.pages_read), (800, 8));
        let micros = counts.time.as_micros();
        assert!((1500..=1700).contains(&micros), "792 of 1 and 8 of 100: {micros}");
        let quantile = |share| quantile(&digest.times(), share).map_or(0, |time| time.as_micros());
        assert_eq!(quantile(0.95), 1);
        assert!((100..113).contains(&quantile(0.999)));
        let all = PointReadRun { is_timed: true, ..point_read(1, 0) };
        assert!((0..20).all(|_| digest.count_point_read(all, || (Duration::from_micros(1), 7)).is_some()));
        assert_eq!(digest.counts().time.as_micros(), micros + 20, "they stand for themselves");
    }

    #[test]
    fn statements_that_differ_in_values_share_a_digest() {
        let digests = Digests::new(3);
        let of = |schema, sql| digests.of(schema, sql, LexMode::default());
        let one = of(Some("d"), "SELECT a FROM t WHERE b IN (1, 2)");
        assert!(Arc::ptr_eq(&one, &of(Some("d"), "SELECT a  FROM t /* x */ WHERE b IN (1, 2, 'x')")));
        assert!(!Arc::ptr_eq(&one, &of(Some("e"), "SELECT a FROM t WHERE b IN (1, 2)")));
        assert_eq!(one.hash().map(|hash| hash.len()), Some(64));
        assert_eq!(digests.all().len(), 3);
        of(None, "SELECT 1");
        let other = of(None, "SELECT 2 + 2");
        assert!(other.text.is_none() && Arc::ptr_eq(&other, &of(None, "SELECT a FROM t")), "too many");
        one.count_point_read(point_read(1, 0), || (Duration::from_micros(1), 7));
        one.note_plan(5, 1);
        digests.clear();
        assert_eq!(digests.all().len(), 2, "a plan has one of them");
        assert_eq!(one.counts(), Counts::default());
        assert_eq!(one.times().iter().max(), Some(&0));
        assert!(Arc::ptr_eq(&one, &of(Some("d"), "SELECT a FROM t WHERE b IN (3, 4)")));
    }
}
