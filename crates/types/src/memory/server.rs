//! The memory of the whole process, counted in the allocator.
//!
//! The program installs an allocator that calls [`allocated`] and [`freed`]. Each thread adds up its own difference
//! and passes it on to the process-wide figure in steps of `STEP` bytes, so that counting costs a thread-local
//! addition. In a program with another allocator nothing is counted, and this module has no effect.
//!
//! Statements ask at their check points ([`check`], by [`CancelToken::check`](crate::CancelToken::check)) and before
//! large allocations ([`ask`]). While the figure is above the bound, a statement that holds more than is tolerated
//! ends with error 1041. The further the figure is above the bound, the less is tolerated: at first only the largest
//! statements end, and a statement that holds next to nothing always goes on.
//!
//! | above the bound by | tolerated |
//! |---|---|
//! | up to 1/16 of it | 1/8 of the bound |
//! | up to 1/8 of it | 1/32 of the bound |
//! | more | `ALWAYS_TOLERATED` |

use crate::error::MysqlError;
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The number of bytes of difference that a thread keeps before it passes them on.
const STEP: isize = 64 << 10;

/// The bytes that a statement may hold however short memory is.
const ALWAYS_TOLERATED: usize = 512 << 10;

/// A list asks before it grows to this many bytes or more.
const WORTH_ASKING: usize = 1 << 20;

/// Memory is short when less than this fraction (one fourth) of the bound is left.
const SHORT: usize = 4;

/// Free memory is returned to the system when the process holds this many bytes less than at its last high, at most
/// once in [`TRIM_PAUSE`].
const WORTH_TRIMMING: isize = 16 << 20;
const TRIM_PAUSE: Duration = Duration::from_millis(500);

/// The sum of what all threads have passed on. It may be negative by as much as they have not passed on.
static USED: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// The highest `USED` since free memory was last returned.
static HIGH: AtomicIsize = AtomicIsize::new(0);
static LAST_TRIM: Mutex<Option<Instant>> = Mutex::new(None);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// 1 if the figure was above the bound when a thread last passed something on. Written only when that changes.
static ABOVE: AtomicUsize = AtomicUsize::new(0);
/// Bytes that are accounted for elsewhere.
static EXEMPT: OnceLock<&'static AtomicU64> = OnceLock::new();
static TRIM: OnceLock<fn()> = OnceLock::new();

struct Local {
    /// The thread's difference that is not passed on yet.
    waiting: Cell<isize>,
    /// The sum that the thread has passed on since it began.
    passed_on: Cell<isize>,
    /// The thread's allocated bytes when its statement began.
    begun_at: Cell<isize>,
}

thread_local! {
    /// Has no destructor, so that the allocator may use it at any time.
    static LOCAL: Local = const {
        Local { waiting: Cell::new(0), passed_on: Cell::new(0), begun_at: Cell::new(0) }
    };
    /// Passes the rest on when the thread ends.
    static AT_END: PassOn = const { PassOn };
}

struct PassOn;

impl Drop for PassOn {
    fn drop(&mut self) {
        LOCAL.with(pass_on);
    }
}

/// Counts `bytes` that this thread has allocated; called by the allocator.
#[inline]
pub fn allocated(bytes: usize) {
    note(bytes as isize);
}

/// Counts `bytes` that this thread has freed; called by the allocator.
#[inline]
pub fn freed(bytes: usize) {
    note(-(bytes as isize));
}

#[inline]
fn note(difference: isize) {
    LOCAL.with(|local| {
        let waiting = local.waiting.get() + difference;
        local.waiting.set(waiting);
        if waiting >= STEP || waiting <= -STEP {
            pass_on(local);
        }
    });
}

#[cold]
fn pass_on(local: &Local) {
    let waiting = local.waiting.replace(0);
    let passed_on = local.passed_on.get() + waiting;
    local.passed_on.set(passed_on);
    let used = USED.fetch_add(waiting, Ordering::Relaxed) + waiting;
    for most in [&PEAK, &HIGH] {
        if used > most.load(Ordering::Relaxed) {
            most.fetch_max(used, Ordering::Relaxed);
        }
    }
    let above = usize::from(used > 0 && used as usize > LIMIT.load(Ordering::Relaxed));
    if ABOVE.load(Ordering::Relaxed) != above {
        ABOVE.store(above, Ordering::Relaxed);
    }
}

/// Returns how many bytes the process has allocated, without those accounted for elsewhere; 0 if nothing is counted.
pub fn used() -> usize {
    let used = usize::try_from(USED.load(Ordering::Relaxed)).unwrap_or(0);
    let exempt = EXEMPT.get().map_or(0, |bytes| bytes.load(Ordering::Relaxed));
    used.saturating_sub(usize::try_from(exempt).unwrap_or(usize::MAX))
}

/// Returns the most bytes that the process had allocated at one time.
pub fn peak() -> usize {
    usize::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Returns the bound in bytes.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the bound in bytes.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
    ABOVE.store(1, Ordering::Relaxed);
}

/// Excludes `bytes` from the figure: the buffer pool accounts for the memory it lends.
pub fn exempt(bytes: &'static AtomicU64) {
    // A second database of the process lends from the same account.
    let _ = EXEMPT.set(bytes);
}

/// Sets the function that returns free memory to the system.
pub fn set_trim(trim: fn()) {
    let _ = TRIM.set(trim);
}

/// Marks the beginning of a statement, or of a part of one, on this thread: the memory it holds counts from zero.
pub fn statement_begins() {
    AT_END.with(|_| ());
    LOCAL.with(|local| local.begun_at.set(local.passed_on.get() + local.waiting.get()));
}

/// Returns free memory to the system if the process holds much less than it did. Called when a statement or a session
/// has ended.
#[inline]
pub fn give_back() {
    let used = USED.load(Ordering::Relaxed);
    if HIGH.load(Ordering::Relaxed) - used >= WORTH_TRIMMING {
        trim(used);
    }
}

#[cold]
fn trim(used: isize) {
    let Some(trim) = TRIM.get() else { return };
    // Another thread is doing it.
    let Ok(mut last) = LAST_TRIM.try_lock() else { return };
    if last.is_some_and(|last| last.elapsed() < TRIM_PAUSE) {
        return;
    }
    HIGH.store(used, Ordering::Relaxed);
    trim();
    *last = Some(Instant::now());
}

/// Returns how many bytes the statement on this thread has allocated and not freed.
pub fn statement_bytes() -> usize {
    let held = LOCAL.with(|local| local.passed_on.get() + local.waiting.get() - local.begun_at.get());
    usize::try_from(held).unwrap_or(0)
}

/// Whether memory is short, so that operators should spill what they can.
pub fn is_short() -> bool {
    let limit = limit();
    let used = USED.load(Ordering::Relaxed);
    used > 0 && used as usize > limit - limit / SHORT && used_without_exempt(limit - limit / SHORT)
}

#[cold]
fn used_without_exempt(most: usize) -> bool {
    used() > most
}

/// Checks that the statement on this thread may go on.
///
/// # Errors
/// 1041 if the process has allocated more than its bound, and the statement holds more than is tolerated.
#[inline]
pub fn check() -> Result<(), MysqlError> {
    if ABOVE.load(Ordering::Relaxed) == 0 { Ok(()) } else { check_above() }
}

#[cold]
fn check_above() -> Result<(), MysqlError> {
    let (used, limit) = (used(), limit());
    if used <= limit {
        return Ok(());
    }
    match statement_bytes() > tolerated(used - limit, limit) {
        true => Err(exhausted(used, limit)),
        false => Ok(()),
    }
}

/// Checks that `bytes` more may be allocated at once. Asked before allocations that may be large: a value, a batch, a
/// table of keys.
///
/// # Errors
/// 1041 if the process would exceed its bound, and the statement on this thread would hold more than is tolerated.
pub fn ask(bytes: usize) -> Result<(), MysqlError> {
    let limit = limit();
    if limit == usize::MAX {
        return Ok(());
    }
    let used = used().saturating_add(bytes);
    if used <= limit || statement_bytes().saturating_add(bytes) <= tolerated(used - limit, limit) {
        return Ok(());
    }
    Err(exhausted(used, limit))
}

/// Appends to a list whose length a statement decides, and asks before it grows.
///
/// # Errors
/// 1041, as [`ask`], and if the system has no memory.
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), MysqlError> {
    if list.len() == list.capacity() {
        let more = list.len().max(4);
        let bytes = (list.len() + more).saturating_mul(size_of::<T>());
        if bytes >= WORTH_ASKING {
            ask(bytes)?;
        }
        list.try_reserve_exact(more).map_err(|_| MysqlError::out_of_resources())?;
    }
    list.push(item);
    Ok(())
}

fn tolerated(above: usize, limit: usize) -> usize {
    let part = match above {
        _ if above <= limit / 16 => limit / 8,
        _ if above <= limit / 8 => limit / 32,
        _ => 0,
    };
    part.max(ALWAYS_TOLERATED)
}

#[cold]
fn exhausted(used: usize, limit: usize) -> MysqlError {
    let text = format!(
        "Out of memory: the server needs {used} bytes, leafline_server_memory is {limit}; \
         this statement is one of those that hold the most"
    );
    MysqlError::with_message(crate::error::errno::ER_OUT_OF_RESOURCES, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_tolerated_the_further_the_figure_is_above_the_bound() {
        let limit = 256 << 20;
        assert_eq!(tolerated(1 << 20, limit), 32 << 20);
        assert_eq!(tolerated(20 << 20, limit), 8 << 20);
        assert_eq!(tolerated(40 << 20, limit), ALWAYS_TOLERATED);
    }

    /// One test, because the figures belong to the process.
    #[test]
    fn a_statement_that_holds_much_is_refused_more_and_others_go_on() {
        assert!(ask(1 << 40).is_ok(), "there is no bound");
        statement_begins();
        allocated(48 << 20);
        set_limit(used() + (16 << 20));
        assert!(check().is_ok() && ask(1 << 20).is_ok());
        assert_eq!(ask(64 << 20).map_err(|error| error.code), Err(1041));
        allocated(32 << 20);
        assert_eq!(check().map_err(|error| error.code), Err(1041));
        let other = std::thread::spawn(|| {
            statement_begins();
            (check().is_ok(), ask(1 << 10).is_ok(), ask(1 << 30).is_err())
        });
        assert_eq!(other.join().expect("no panic"), (true, true, true));
        freed(80 << 20);
        assert!(check().is_ok());
        assert!(peak() >= 80 << 20);
        set_limit(usize::MAX);
    }
}
