//! The state of one statement that evaluation and conversion share: its warnings and its cancellation.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::error::{ConditionDetails, MysqlError};
use crate::memory::server;

/// The level of a diagnostic, as `SHOW WARNINGS` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    /// Information.
    Note,
    /// A value was changed or ignored.
    Warning,
    /// The error that ended the statement.
    Error,
}

impl WarningLevel {
    /// Returns the word in the Level column of `SHOW WARNINGS`.
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
    /// The message.
    pub message: String,
    /// The SQLSTATE.
    pub sqlstate: [u8; 5],
    /// The items that SIGNAL has set.
    pub details: Option<Box<ConditionDetails>>,
}

impl Warning {
    /// Returns the condition as an error.
    pub fn error(&self) -> MysqlError {
        let Warning { code, message, sqlstate, details, .. } = self.clone();
        MysqlError { code, sqlstate, message, details }
    }
}

/// The number of diagnostics that a statement keeps (`max_error_count`'s default); further ones are only counted.
pub const MAX_KEPT_WARNINGS: usize = 1024;

/// The diagnostics of one statement. All are counted; the first [`MAX_KEPT_WARNINGS`] are kept.
#[derive(Debug, Clone, Default)]
pub struct Warnings {
    kept: Vec<Warning>,
    count: u64,
    errors: u64,
    without_notes: bool,
    /// How many were ever added. It grows also when the list is cleared.
    raised: u64,
}

impl Warnings {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic with the number and text of `e`.
    pub fn push(&mut self, level: WarningLevel, e: MysqlError) {
        self.count += 1;
        self.raised += 1;
        self.errors += u64::from(level == WarningLevel::Error);
        if self.kept.len() < MAX_KEPT_WARNINGS {
            let MysqlError { code, sqlstate, message, details } = e;
            self.kept.push(Warning { level, code, message, sqlstate, details });
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, e: MysqlError) {
        self.push(WarningLevel::Warning, e);
    }

    /// Adds a note, unless `sql_notes` is off.
    pub fn note(&mut self, e: MysqlError) {
        if !self.without_notes {
            self.push(WarningLevel::Note, e);
        }
    }

    /// Sets whether notes are kept from now on (`sql_notes`).
    pub fn keep_notes(&mut self, keep: bool) {
        self.without_notes = !keep;
    }

    /// Returns how many there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns how many of them were errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Iterates over the kept ones, oldest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.kept.iter()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes all that were added since the list was as `earlier` is; `earlier` is a copy made then.
    pub fn truncate_to(&mut self, earlier: &Warnings) {
        self.kept.truncate(earlier.kept.len());
        (self.count, self.errors, self.raised) = (earlier.count, earlier.errors, earlier.raised);
    }

    /// Returns the current place in the list, for [`back_to`](Self::back_to).
    pub fn mark(&self) -> WarningsMark {
        WarningsMark { kept: self.kept.len(), count: self.count, errors: self.errors, raised: self.raised }
    }

    /// Removes all that were added after a mark.
    pub fn back_to(&mut self, mark: WarningsMark) {
        self.kept.truncate(mark.kept);
        (self.count, self.errors, self.raised) = (mark.count, mark.errors, mark.raised);
    }

    /// Whether any were added after a mark, even if they were removed since.
    pub fn raised_since(&self, mark: WarningsMark) -> bool {
        self.raised != mark.raised
    }

    /// Returns those that were added after a mark.
    pub fn since(&self, mark: WarningsMark) -> &[Warning] {
        let added = usize::try_from(self.raised.saturating_sub(mark.raised)).unwrap_or(usize::MAX);
        self.kept.get(self.kept.len().saturating_sub(added)..).unwrap_or_default()
    }

    /// Removes all that were added before a mark.
    pub fn drop_before(&mut self, mark: WarningsMark) {
        let older = self.kept.len() - self.since(mark).len();
        self.kept.drain(..older);
        let added = self.raised.saturating_sub(mark.raised).min(self.count);
        self.count = added.max(self.kept.len() as u64);
        self.errors = self.kept.iter().filter(|kept| kept.level == WarningLevel::Error).count() as u64;
    }

    /// Replaces the list by another one.
    pub fn restore(&mut self, list: &Warnings) {
        let raised = self.raised;
        self.clone_from(list);
        self.raised = raised;
    }

    /// Removes the last one if it is an error, and returns it.
    pub fn take_last_error(&mut self) -> Option<Warning> {
        let last = self.kept.pop_if(|last| last.level == WarningLevel::Error)?;
        self.count = self.count.saturating_sub(1);
        self.errors = self.errors.saturating_sub(1);
        Some(last)
    }

    /// Makes an empty list with the same setting for notes.
    pub fn another(&self) -> Warnings {
        Warnings { without_notes: self.without_notes, ..Warnings::default() }
    }

    /// Appends the diagnostics of a part of the statement.
    pub fn append(&mut self, part: Warnings) {
        self.count += part.count;
        self.raised += part.count;
        self.errors += part.errors;
        let room = MAX_KEPT_WARNINGS - self.kept.len();
        self.kept.extend(part.kept.into_iter().take(room));
    }

    /// Removes all.
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
    raised: u64,
}

const RUNNING: u32 = 0;

/// Why a statement was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum CancelReason {
    /// `KILL QUERY`, or Ctrl-C in the shell: error 1317.
    QueryKilled = 1,
    /// `max_execution_time` has passed: error 3024.
    Timeout = 2,
    /// `KILL CONNECTION`, or the client has gone: error 1317, and the session ends.
    ConnectionKilled = 3,
}

/// Tells a running statement to stop. Checked per page and per batch, in lock waits, sorts and joins, and by parser,
/// binder and optimizer. Clones share one flag. The end of a connection is final: neither `rearm` nor a weaker reason
/// replaces it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<Cancellation>);

#[derive(Debug, Default)]
struct Cancellation {
    reason: AtomicU32,
    /// When the statement's time ends, in microseconds since `epoch()`; 0 if it has no limit.
    deadline: AtomicU64,
    /// When the watch is called next, in the same units; 0 if there is none.
    turn: AtomicU64,
    watching: Mutex<Option<Watching>>,
}

/// A function that the thread which runs statements calls at intervals; true stops the statement. For programs whose
/// signals are handled on the thread of the statement.
pub type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone)]
struct Watching {
    /// The only thread that calls the watch.
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

/// The moment from which deadlines count.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// Returns a moment in microseconds since `epoch()`, never 0.
fn micros(at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(epoch()).as_micros()).unwrap_or(u64::MAX).max(1)
}

impl CancelToken {
    /// Makes a token of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the statement to stop.
    pub fn cancel(&self, reason: CancelReason) {
        self.0.reason.fetch_max(reason as u32, Ordering::Relaxed);
    }

    /// Sets when the current statement's time ends; None removes the limit.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.0.deadline.store(deadline.map_or(0, micros), Ordering::Relaxed);
    }

    /// Runs `work`. Meanwhile checks of this token on this thread call `watch` too, about once in `every`.
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

    /// Prepares the token for the next statement, unless the connection was killed.
    pub fn rearm(&self) {
        self.set_deadline(None);
        let killed = CancelReason::ConnectionKilled as u32;
        let now = self.0.reason.load(Ordering::Relaxed);
        if now != killed {
            // A failure means that another reason came meanwhile; that one stays.
            let _ = self.0.reason.compare_exchange(now, RUNNING, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns why to stop, or None.
    pub fn reason(&self) -> Option<CancelReason> {
        match self.0.reason.load(Ordering::Relaxed) {
            1 => Some(CancelReason::QueryKilled),
            2 => Some(CancelReason::Timeout),
            3 => Some(CancelReason::ConnectionKilled),
            _ => self.due(),
        }
    }

    /// Returns why to stop now because of the deadline or the watch.
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

    /// Checks that the statement may go on. Returns the error to end it with otherwise: 1317 or 3024, or 1041 if the
    /// server is out of memory and the statement holds much of it.
    #[inline]
    pub fn check(&self) -> Result<(), MysqlError> {
        match self.reason() {
            None => server::check(),
            Some(CancelReason::Timeout) => Err(MysqlError::query_timeout()),
            Some(_) => Err(MysqlError::query_interrupted()),
        }
    }
}

/// Ends the watch, also if the work panics.
struct Unwatched<'t>(&'t CancelToken);

impl Drop for Unwatched<'_> {
    fn drop(&mut self) {
        self.0.set_watching(None);
    }
}

/// Checks a token once in `every` steps of work that takes long within one value.
#[derive(Debug)]
pub struct CancelTicker<'c> {
    cancel: &'c CancelToken,
    every: usize,
    taken: usize,
}

impl<'c> CancelTicker<'c> {
    /// Makes a counter at zero.
    pub fn new(cancel: &'c CancelToken, every: usize) -> CancelTicker<'c> {
        CancelTicker { cancel, every, taken: 0 }
    }

    /// Counts `steps` steps.
    ///
    /// # Errors
    /// 1317, 3024 or 1041 if the statement has to end.
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
