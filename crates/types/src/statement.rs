//! What one statement carries through evaluation and conversion: its warnings and its cancellation.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::error::MysqlError;
use crate::memory::server;

/// The level of a diagnostic, as `SHOW WARNINGS` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    /// For information.
    Note,
    /// Something was changed or ignored.
    Warning,
    /// The error that ended the statement.
    Error,
}

impl WarningLevel {
    /// The word in the Level column of `SHOW WARNINGS`.
    pub fn name(self) -> &'static str {
        match self {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        }
    }
}

/// One diagnostic of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Its level.
    pub level: WarningLevel,
    /// MySQL's error number.
    pub code: u16,
    /// The text.
    pub message: String,
}

/// How many diagnostics a statement keeps (`max_error_count`'s default); the others are only counted.
pub const MAX_KEPT_WARNINGS: usize = 1024;

/// The diagnostics of one statement. All are counted, the first [`MAX_KEPT_WARNINGS`] are kept.
#[derive(Debug, Clone, Default)]
pub struct Warnings {
    kept: Vec<Warning>,
    count: u64,
    errors: u64,
    without_notes: bool,
}

impl Warnings {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic with the number and text of `e`.
    pub fn push(&mut self, level: WarningLevel, e: MysqlError) {
        self.count += 1;
        self.errors += u64::from(level == WarningLevel::Error);
        if self.kept.len() < MAX_KEPT_WARNINGS {
            self.kept.push(Warning { level, code: e.code, message: e.message });
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, e: MysqlError) {
        self.push(WarningLevel::Warning, e);
    }

    /// Adds a note, unless none are kept.
    pub fn note(&mut self, e: MysqlError) {
        if !self.without_notes {
            self.push(WarningLevel::Note, e);
        }
    }

    /// Whether notes are kept from now on (`sql_notes`).
    pub fn keep_notes(&mut self, keep: bool) {
        self.without_notes = !keep;
    }

    /// How many there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Those that were kept, oldest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.kept.iter()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes back what came after so many, of which no more than these were kept.
    pub fn forget_after(&mut self, earlier: &Warnings) {
        self.kept.truncate(earlier.kept.len());
        (self.count, self.errors) = (earlier.count, earlier.errors);
    }

    /// Where the list is now, to go [back](Self::back_to) to.
    pub fn mark(&self) -> WarningsMark {
        WarningsMark { kept: self.kept.len(), count: self.count, errors: self.errors }
    }

    /// Takes back what came after a mark.
    pub fn back_to(&mut self, mark: WarningsMark) {
        self.kept.truncate(mark.kept);
        (self.count, self.errors) = (mark.count, mark.errors);
    }

    /// An empty list that keeps what this one does.
    pub fn another(&self) -> Warnings {
        Warnings { without_notes: self.without_notes, ..Warnings::default() }
    }

    /// Adds those of a part of the statement behind its own.
    pub fn append(&mut self, part: Warnings) {
        self.count += part.count;
        self.errors += part.errors;
        let room = MAX_KEPT_WARNINGS - self.kept.len();
        self.kept.extend(part.kept.into_iter().take(room));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.count = 0;
        self.errors = 0;
    }
}

/// A place in a list of warnings.
#[derive(Debug, Clone, Copy)]
pub struct WarningsMark {
    kept: usize,
    count: u64,
    errors: u64,
}

const RUNNING: u32 = 0;

/// Why a statement was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum CancelReason {
    /// `KILL QUERY`, or Ctrl-C in the shell: error 1317.
    QueryKilled = 1,
    /// `max_execution_time` is over: error 3024.
    Timeout = 2,
    /// `KILL CONNECTION`, or the client is gone: error 1317, and the session ends.
    ConnectionKilled = 3,
}

/// Tells a running statement to stop; checked per page and per batch, in lock waits, sorts and joins, and by parser, binder and
/// optimizer.
/// Clones share one flag. A connection's end is never taken back, nor replaced by a weaker reason.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<Cancellation>);

#[derive(Debug, Default)]
struct Cancellation {
    reason: AtomicU32,
    /// When the statement's time is over, in microseconds since `epoch()`; 0 if it may take as long as it likes.
    deadline: AtomicU64,
    /// When the watch is to be called next, likewise; 0 if there is none.
    turn: AtomicU64,
    watching: Mutex<Option<Watching>>,
}

/// Asked at intervals, by the thread that runs statements, whether they are to stop: for programs whose signals are handled
/// where the statement runs.
pub type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone)]
struct Watching {
    /// Nobody else asks.
    thread: ThreadId,
    every: Duration,
    watch: Watch,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching")
            .field("thread", &self.thread)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

/// What deadlines count from.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// A moment in microseconds since `epoch()`, never 0.
fn micros(at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(epoch()).as_micros()).unwrap_or(u64::MAX).max(1)
}

impl CancelToken {
    /// A token that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the statement to stop.
    pub fn cancel(&self, reason: CancelReason) {
        self.0.reason.fetch_max(reason as u32, Ordering::Relaxed);
    }

    /// Lets the statement at hand go on until then, and no longer; or as long as it likes.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.0.deadline.store(deadline.map_or(0, micros), Ordering::Relaxed);
    }

    /// Runs `work`. When statements in it ask this token, on this thread, they ask `watch` too, about once in so much time.
    pub fn watched<R>(&self, every: Duration, watch: &Watch, work: impl FnOnce() -> R) -> R {
        let thread = std::thread::current().id();
        self.set_watching(Some(Watching { thread, every, watch: watch.clone() }));
        let _unwatched = Unwatched(self);
        work()
    }

    fn set_watching(&self, watching: Option<Watching>) {
        let turn = watching.as_ref().and_then(|watching| Instant::now().checked_add(watching.every));
        *self.0.watching.lock().unwrap_or_else(PoisonError::into_inner) = watching;
        self.0.turn.store(turn.map_or(0, micros), Ordering::Relaxed);
    }

    /// Makes the token ready for the next statement, unless the connection was killed.
    pub fn rearm(&self) {
        self.set_deadline(None);
        let killed = CancelReason::ConnectionKilled as u32;
        let now = self.0.reason.load(Ordering::Relaxed);
        if now != killed {
            // A failure means that another reason came meanwhile; that one stays.
            let _ = self.0.reason.compare_exchange(now, RUNNING, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<CancelReason> {
        match self.0.reason.load(Ordering::Relaxed) {
            1 => Some(CancelReason::QueryKilled),
            2 => Some(CancelReason::Timeout),
            3 => Some(CancelReason::ConnectionKilled),
            _ => self.due(),
        }
    }

    /// Why to stop now, if that is a matter of time.
    #[inline]
    fn due(&self) -> Option<CancelReason> {
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        let turn = self.0.turn.load(Ordering::Relaxed);
        if deadline == 0 && turn == 0 {
            return None;
        }
        let now = micros(Instant::now());
        if deadline != 0 && now >= deadline {
            return Some(CancelReason::Timeout);
        }
        if turn != 0 && now >= turn { self.ask_watch() } else { None }
    }

    #[cold]
    fn ask_watch(&self) -> Option<CancelReason> {
        let watching = self.0.watching.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        if watching.thread != std::thread::current().id() {
            return None;
        }
        let next = Instant::now().checked_add(watching.every);
        self.0.turn.store(next.map_or(0, micros), Ordering::Relaxed);
        (watching.watch)().then(|| {
            self.cancel(CancelReason::QueryKilled);
            CancelReason::QueryKilled
        })
    }

    /// Ok to go on, or the error to end the statement with: 1317 or 3024, or 1041 if the server is out of memory and the
    /// statement holds much of it.
    #[inline]
    pub fn check(&self) -> Result<(), MysqlError> {
        match self.reason() {
            None => server::check(),
            Some(CancelReason::Timeout) => Err(MysqlError::query_timeout()),
            Some(_) => Err(MysqlError::query_interrupted()),
        }
    }
}

/// Ends the watch, also where the work panics.
struct Unwatched<'t>(&'t CancelToken);

impl Drop for Unwatched<'_> {
    fn drop(&mut self) {
        self.0.set_watching(None);
    }
}

/// Asks a token once in so many steps of something that takes long within one value.
#[derive(Debug)]
pub struct Steps<'c> {
    cancel: &'c CancelToken,
    every: usize,
    taken: usize,
}

impl<'c> Steps<'c> {
    /// None taken yet.
    pub fn new(cancel: &'c CancelToken, every: usize) -> Steps<'c> {
        Steps { cancel, every, taken: 0 }
    }

    /// Counts steps that were taken.
    ///
    /// # Errors
    /// 1317 or 3024 when the statement is to end.
    #[inline]
    pub fn take(&mut self, steps: usize) -> Result<(), MysqlError> {
        self.taken += steps;
        if self.taken < self.every {
            return Ok(());
        }
        self.taken = 0;
        self.cancel.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn warnings_beyond_the_cap_are_counted_not_kept() {
        let mut w = Warnings::new();
        for i in 0..2000 {
            w.warn(MysqlError::out_of_range("c", i));
        }
        assert_eq!((w.count(), w.iter().count()), (2000, MAX_KEPT_WARNINGS));
        w.clear();
        assert!(w.is_empty() && w.iter().next().is_none());
    }

    #[test]
    fn a_statement_ends_at_its_deadline() {
        let t = CancelToken::new();
        t.set_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        assert!(t.check().is_ok());
        t.set_deadline(Some(Instant::now()));
        // Deadlines are whole microseconds.
        std::thread::sleep(Duration::from_micros(2));
        assert_eq!(t.clone().check().unwrap_err().code, 3024);
        t.cancel(CancelReason::QueryKilled);
        assert_eq!(t.check().unwrap_err().code, 1317);
        t.rearm();
        assert!(t.check().is_ok());
    }

    #[test]
    fn a_watch_stops_statements_on_its_thread() {
        let (t, stop) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        let seen = stop.clone();
        let watch: Watch = Arc::new(move || seen.load(Ordering::Relaxed));
        t.watched(Duration::ZERO, &watch, || {
            t.rearm();
            assert!(t.check().is_ok());
            stop.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(2));
            std::thread::scope(|scope| scope.spawn(|| assert!(t.check().is_ok())).join().unwrap());
            assert_eq!(t.check().unwrap_err().code, 1317);
        });
        t.rearm();
        assert!(t.check().is_ok(), "nobody watches any more");
    }

    #[test]
    fn a_killed_connection_stays_killed() {
        let t = CancelToken::new();
        assert!(t.check().is_ok());
        t.clone().cancel(CancelReason::QueryKilled);
        assert_eq!(t.check().unwrap_err().code, 1317);
        t.rearm();
        t.cancel(CancelReason::Timeout);
        assert_eq!(t.check().unwrap_err().code, 3024);
        t.cancel(CancelReason::ConnectionKilled);
        t.cancel(CancelReason::QueryKilled);
        t.rearm();
        assert_eq!(t.reason(), Some(CancelReason::ConnectionKilled));
    }
}
