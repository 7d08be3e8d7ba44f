//! What is counted of statements that are alike but for their values: how often they ran, how many rows were expected, examined and
//! sent. `performance_schema.events_statements_summary_by_digest` shows it.
//!
//! A digest is the text in tokens, a `?` for each literal and `...` for further ones of a list, within a database. A plan knows
//! its digest, so that to run it again costs no lookup. Reads of few rows that go without operators are counted, but not timed.
//! Of each digest one statement is kept as it came, with the values of its parameters written into it, if it is not too long. When there are
//! [`MOST`] digests, the statements of others are counted together, as in MySQL. [`stored`] keeps them from one opening of the database to the next.

mod stored;

use crate::parser::{LexMode, normalized};
use parking_lot::{Mutex, RwLock};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Digests that are kept: `performance_schema_digests_size`.
const MOST: usize = 10_000;
/// Bytes of a text that are kept: `performance_schema_max_digest_length`.
const MOST_TEXT: usize = 1024;
/// Bytes of a statement that is kept as it came: `performance_schema_max_sql_text_length`, which is 1,024 in MySQL.
const MOST_SAMPLE: usize = 2048;

/// Statements that are alike.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    /// The database they ran in; `None` as well where statements of many digests are counted together.
    pub schema: Option<Box<str>>,
    /// `None`: there were too many others.
    pub text: Option<Box<str>>,
    sample: OnceLock<Box<str>>,
    timed: Mutex<Counts>,
    short: AtomicU64,
    short_rows: AtomicU64,
}

/// Sums over the executions of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub executions: u64,
    /// Of those that were timed.
    pub timed: u64,
    pub time: Duration,
    pub least_time: Duration,
    pub most_time: Duration,
    pub errors: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// Rows that queries were expected to give.
    pub rows_estimated: f64,
    /// The most that an expected number of rows was off.
    pub q_error: f64,
    /// When it was timed first and last, microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

/// One execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executed {
    pub time: Duration,
    /// When it ended, microseconds since 1970.
    pub ended: i64,
    pub failed: bool,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// Of a query: how many rows were expected, and whether all there are were asked for.
    pub estimated: Option<(f64, bool)>,
}

impl Digest {
    /// Counts an execution.
    pub fn count(&self, executed: Executed) {
        let mut counts = self.timed.lock();
        if counts.timed == 0 {
            counts.first_seen = executed.ended;
        }
        counts.last_seen = executed.ended;
        counts.executions += 1;
        counts.timed += 1;
        counts.time += executed.time;
        counts.least_time =
            if counts.timed == 1 { executed.time } else { counts.least_time.min(executed.time) };
        counts.most_time = counts.most_time.max(executed.time);
        counts.errors += u64::from(executed.failed);
        counts.rows_affected += executed.rows_affected;
        counts.rows_sent += executed.rows_sent;
        counts.rows_examined += executed.rows_examined;
        if let Some((estimated, to_the_end)) = executed.estimated {
            counts.rows_estimated += estimated;
            if to_the_end && !executed.failed {
                let (expected, found) = (estimated.max(1.0), (executed.rows_sent as f64).max(1.0));
                counts.q_error = counts.q_error.max(expected / found).max(found / expected);
            }
        }
    }

    /// Counts a read of few rows, of whom as many were expected.
    pub fn count_short(&self, rows: u64) {
        self.short.fetch_add(1, Ordering::Relaxed);
        self.short_rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let mut counts = self.timed.lock().clone();
        let rows = self.short_rows.load(Ordering::Relaxed);
        counts.executions += self.short.load(Ordering::Relaxed);
        counts.rows_sent += rows;
        counts.rows_examined += rows;
        counts.rows_estimated += rows as f64;
        counts
    }

    /// Begins to count from zero.
    fn reset(&self) {
        *self.timed.lock() = Counts::default();
        self.short.store(0, Ordering::Relaxed);
        self.short_rows.store(0, Ordering::Relaxed);
    }

    /// Keeps a statement as a sample of those that are alike, if there is none yet.
    pub fn show(&self, statement: impl FnOnce() -> Option<String>) {
        if self.text.is_some()
            && self.sample.get().is_none()
            && let Some(statement) = statement().filter(|statement| statement.len() <= MOST_SAMPLE)
        {
            self.sample.get_or_init(|| statement.into_boxed_str());
        }
    }

    /// One of the statements.
    pub fn sample(&self) -> Option<&str> {
        self.sample.get().map(|sample| &**sample)
    }

    /// What names the digest: 64 hexadecimal digits.
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

/// The digests of all statements that were run since they were last forgotten.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    known: RwLock<HashMap<Key, Arc<Digest>>>,
    others: Arc<Digest>,
}

impl Digests {
    /// The digest of a statement.
    pub fn of(&self, schema: Option<&str>, sql: &str, mode: LexMode) -> Arc<Digest> {
        let key: Key = (schema.map(Box::from), normalized(sql, mode, MOST_TEXT).into_boxed_str());
        if let Some(known) = self.known.read().get(&key) {
            return known.clone();
        }
        let mut known = self.known.write();
        if known.len() >= MOST {
            return self.others.clone();
        }
        let new = || Digest { schema: key.0.clone(), text: Some(key.1.clone()), ..Digest::default() };
        let digest = Arc::new(new());
        known.entry(key).or_insert(digest).clone()
    }

    /// Forgets all that was counted. Plans that are kept go on counting with the digest that they know.
    pub fn clear(&self) {
        let mut known = self.known.write();
        known.values().chain([&self.others]).for_each(|digest| digest.reset());
        known.retain(|_, digest| Arc::strong_count(digest) > 1);
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Digest>> {
        self.known.read().values().cloned().chain([self.others.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_estimate_is_remembered() {
        let digest = Digest::default();
        let executed = |estimated, rows_sent| Executed {
            time: Duration::from_millis(rows_sent),
            ended: rows_sent as i64,
            failed: false,
            rows_affected: 0,
            rows_sent,
            rows_examined: 10,
            estimated: Some((estimated, true)),
        };
        digest.count(executed(8.0, 4));
        digest.count(executed(2.0, 20));
        digest.count(Executed { estimated: Some((1000.0, false)), ..executed(0.0, 1) });
        digest.count_short(1);
        let counts = digest.counts();
        assert_eq!((counts.executions, counts.timed), (4, 3));
        assert_eq!((counts.rows_sent, counts.rows_examined, counts.rows_estimated), (26, 31, 1011.0));
        assert_eq!((counts.q_error, counts.least_time), (10.0, Duration::from_millis(1)));
    }

    #[test]
    fn statements_that_differ_in_values_share_a_digest() {
        let digests = Digests::default();
        let of = |schema, sql| digests.of(schema, sql, LexMode::default());
        let one = of(Some("d"), "SELECT a FROM t WHERE b IN (1, 2)");
        assert!(Arc::ptr_eq(&one, &of(Some("d"), "SELECT a  FROM t /* x */ WHERE b IN (1, 2, 'x')")));
        assert!(!Arc::ptr_eq(&one, &of(Some("e"), "SELECT a FROM t WHERE b IN (1, 2)")));
        assert_eq!(one.hash().map(|hash| hash.len()), Some(64));
        assert_eq!(digests.all().len(), 3);
        one.count_short(1);
        digests.clear();
        assert_eq!(digests.all().len(), 2, "a plan has one of them");
        assert_eq!(one.counts(), Counts::default());
        assert!(Arc::ptr_eq(&one, &of(Some("d"), "SELECT a FROM t WHERE b IN (3, 4)")));
    }
}
