//! The page writer: a thread that keeps clean frames ahead of demand, keeps the log short, and flushes the log under
//! policies 0 and 2.
//!
//! **Frames**: every round the thread frees frames until a reserve is free, writing changed pages in batches, so that
//! readers seldom have to. A thread that finds too few frames or too little log wakes it early.
//!
//! **Log age**: the log from the oldest change that `data` lacks to its end, as a share of the log's capacity
//! ([`Pace`]). Below [`GENTLE`] the thread writes nothing to lower it. From there on each round writes the pages that
//! were changed first, so many that all pages that are dirty now would be written by the time the log, at its present
//! speed, reaches [`URGENT`]. This rate rises smoothly with the speed of the log and with its age. Beyond `URGENT`,
//! which smooth writing does not reach, all pages that are too old are written at once. (After InnoDB's adaptive
//! flushing.)
//!
//! **Warm-up**: at the start the thread reads in the pages that were in memory before, as far as there are free
//! frames. From time to time it writes the list of the pages that are in memory ([`crate::warm_up`]).
//!
//! **Space**: the thread gives free space back to the file system, some in each round ([`crate::allocation`],
//! file `release`). This needs a checkpoint that has passed the groups that freed the space. If there has been none for
//! some time, the thread writes pages that were changed before, a batch a round.
//!
//! **Checkpoints** are recorded each time a good part of the log could be given back. If nobody uses the store, its
//! pages are written, a batch a round, so that the next opening has little to do.

use crate::allocation::ReleaseOutcome;
use crate::core::Inner;
use crate::doublewrite::BATCH_PAGES;
use crate::log::LogSpace;
use crate::pool::Latching;
use crate::worker::{Next, OnPanic, ThreadName, Worker};
use crate::{Lsn, PageNo, Result, StorageError};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Pause between rounds.
const ROUND: Duration = Duration::from_millis(100);
/// Time between flushes of the log under policies 0 and 2.
const TICK: Duration = Duration::from_secs(1);
/// Time between two lists of the pages in memory.
const LIST: Duration = Duration::from_secs(300);
/// Pages read in per round at the start.
const WARM_UP: usize = 1024;
/// Most batches written in a round to make room.
const BATCHES: usize = 8;
/// Sixteenths of the log: from this age on pages are written because of their age ...
const GENTLE: u64 = 4;
/// ... and none must get older than this. Reservations fail at about 13.
const URGENT: u64 = 10;
/// Sixteenths of the log that a checkpoint has to give back to be worth recording.
const WORTHWHILE_SHARE: u64 = 1;
/// Time to wait for a checkpoint that is recorded anyway, before pages are written so that space can be given back.
const AWAITED: Duration = Duration::from_secs(5);
/// Rounds without a change after which pages are written because there is nothing else to do.
const IDLE_ROUNDS: u32 = 10;

/// Checkpoints in a row that may free nothing before waiting callers are refused, or granted space beyond the limit.
const MAX_FRUITLESS_CHECKPOINTS: u32 = 20;

/// Starts the page writer of the store, which begins by reading `hot_pages` in. It ends when the store is
/// dropped; a panic in it stops the store.
pub(crate) fn start(store: &Arc<Inner>, hot_pages: Vec<PageNo>) -> io::Result<Worker> {
    let weak = Arc::downgrade(store);
    let mut state = PageWriter::new(hot_pages);
    let on_panic = stop_store(&weak, ThreadName::PageWriter);
    Worker::start(ThreadName::PageWriter, on_panic, Next::After(ROUND), move || {
        let Some(store) = weak.upgrade() else { return Next::Never };
        state.round(&store);
        Next::After(ROUND)
    })
}

/// A response to a panic of the thread with this name: it stops the store.
pub(crate) fn stop_store(store: &Weak<Inner>, name: ThreadName) -> OnPanic {
    let store = store.clone();
    OnPanic::call(move |text| {
        if let Some(store) = store.upgrade() {
            store.cache.stop(&StorageError::Misuse { what: format!("a panic in the thread {name}: {text}") });
        }
    })
}

/// The state that the page writer keeps between rounds.
struct PageWriter {
    hot_pages: std::vec::IntoIter<PageNo>,
    /// When the log was flushed last under policies 0 and 2.
    ticked: Instant,
    /// When the list of pages in memory was written last.
    listed: Instant,
    pace: Pace,
    /// The checkpoint that free space waits for, and since when.
    awaited: Option<(Lsn, Instant)>,
}

impl PageWriter {
    fn new(hot_pages: Vec<PageNo>) -> PageWriter {
        let now = Instant::now();
        let hot_pages = hot_pages.into_iter();
        PageWriter { hot_pages, ticked: now, listed: now, pace: Pace::default(), awaited: None }
    }

    fn round(&mut self, store: &Inner) {
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            if let Err(error) = store.log.tick() {
                store.cache.stop(&error);
            }
        }
        let pages: Vec<PageNo> = self.hot_pages.by_ref().take(WARM_UP).collect();
        if !pages.is_empty() {
            let begun = store.cache.warm_up(&pages);
            store.stats.warmed_up.fetch_add(begun as u64, Ordering::Relaxed);
        }
        if self.listed.elapsed() >= LIST && self.hot_pages.len() == 0 {
            self.listed = Instant::now();
            // The list is a hint: without it the next start is slow, but correct.
            let _ = store.save_hot_pages();
        }
        // A failure has stopped the store, and every user of the store gets the reason.
        let _ = round(store, &mut self.pace, &mut self.awaited);
    }
}

/// Runs one round of page writing and checkpointing.
fn round(store: &Inner, pace: &mut Pace, awaited: &mut Option<(Lsn, Instant)>) -> Result<()> {
    store.poison.check()?;
    keep_frames(store)?;
    store.log.grow_ahead()?;
    keep_log_short(store, pace)?;
    release_space(store, awaited)
}

/// Gives some free space back. If a checkpoint has to come first, and has been `awaited` for long, works towards it.
fn release_space(store: &Inner, awaited: &mut Option<(Lsn, Instant)>) -> Result<()> {
    // The crate above has not taken over from recovery.
    if store.checkpointer.is_held_back() {
        return Ok(());
    }
    let ReleaseOutcome::Awaiting(newest) = store.release_some_space(false)? else {
        *awaited = None;
        return Ok(());
    };
    let (lsn, since) = *awaited.get_or_insert((newest, Instant::now()));
    if store.checkpointer.passed().is_some_and(|passed| passed >= lsn) {
        *awaited = None;
        return Ok(());
    }
    // Space that is freed and taken in turns is needed again before long. Writing pages for it would be wasted.
    if since.elapsed() < AWAITED {
        return Ok(());
    }
    let mut dirty = store.cache.pool.dirty_pages();
    dirty.retain(|(_, since)| *since < lsn);
    dirty.sort_unstable_by_key(|(_, since)| *since);
    dirty.truncate(BATCH_PAGES);
    store.cache.write_back(dirty.into_iter().map(|(page, _)| page).collect(), Latching::Try)?;
    match store.checkpoint_would_pass(lsn) {
        true => store.record_checkpoint(),
        false => Ok(()),
    }
}

/// Frees frames up to the reserve.
fn keep_frames(store: &Inner) -> Result<()> {
    store.cache.note_cleaner_began();
    let reserve = store.cache.reserve();
    for _ in 0..BATCHES {
        let free = store.cache.pool.free_count();
        if free >= reserve || store.cache.make_room(reserve - free)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Writes pages that have been dirty for too long, and records checkpoints that give log back.
fn keep_log_short(store: &Inner, pace: &mut Pace) -> Result<()> {
    let LogSpace { capacity, used, waiting, .. } = store.log.space();
    let grown = pace.grown(store.log.produced());
    if waiting == 0 && pace.may_rest(used, capacity) {
        return Ok(());
    }
    let mut dirty = store.cache.pool.dirty_pages();
    pace.clean = dirty.is_empty();
    let oldest = dirty.iter().map(|(_, since)| *since).min();
    let age = oldest.map_or(0, |since| store.log.age(since));
    let pages = pace.pages(dirty.len(), age, capacity, grown);
    if pages > 0 {
        if pages < dirty.len() {
            dirty.select_nth_unstable_by_key(pages, |(_, since)| *since);
            dirty.truncate(pages);
        }
        store.cache.write_back(dirty.into_iter().map(|(page, _)| page).collect(), Latching::Wait)?;
    }
    loop {
        let space = store.log.space();
        let urgent = capacity * URGENT / 16;
        if space.waiting > 0 || space.used > urgent {
            store.write_pages_before(store.log.lsn_at_age(urgent * 3 / 4))?;
        }
        if store.checkpointer.is_held_back() {
            return Ok(());
        }
        if space.waiting == 0 && store.checkpoint_frees() < (capacity * WORTHWHILE_SHARE / 16).max(1) {
            return Ok(());
        }
        store.record_checkpoint()?;
        let after = store.log.space();
        if after.waiting == 0 {
            return Ok(());
        }
        if after.is_unchanged_from(&space) {
            // The little log that is left has to go as well.
            store.checkpoint()?;
            if store.log.space().is_unchanged_from(&after) {
                pace.fruitless += 1;
                if pace.fruitless > MAX_FRUITLESS_CHECKPOINTS {
                    if store.log.is_disk_full()? {
                        store.log.fail_waiters();
                    } else if store.is_log_stuck() {
                        store.log.grant_emergency_space();
                    }
                }
                return Ok(());
            }
        }
        pace.fruitless = 0;
    }
}

/// Computes how many pages to write because of their age.
#[derive(Default)]
struct Pace {
    /// Bytes of log written when last asked.
    written: u64,
    /// Number of rounds in which the log has not grown.
    idle: u32,
    /// Whether no page was dirty when the dirty pages were last listed.
    clean: bool,
    /// Checkpoints in a row that gave nothing back to callers that wait for log space.
    fruitless: u32,
}

impl Pace {
    /// Returns the bytes that were written since the last call. `written` is the total.
    fn grown(&mut self, written: u64) -> u64 {
        let grown = written - self.written.min(written);
        self.written = written;
        self.idle = if grown == 0 { self.idle.saturating_add(1) } else { 0 };
        grown
    }

    /// Returns whether this round has nothing to do, with `used` bytes of a log of `capacity` in use.
    fn may_rest(&self, used: u64, capacity: u64) -> bool {
        match self.idle > IDLE_ROUNDS {
            // A page whose change was logged before the store became idle has been marked dirty long since.
            true => self.clean && self.idle > IDLE_ROUNDS + 1,
            false => used < capacity * WORTHWHILE_SHARE.min(GENTLE) / 16,
        }
    }

    /// Returns how many of `dirty` pages to write. The oldest goes back `age` bytes of a log of `capacity`, which has
    /// `grown` by some bytes since the last round.
    fn pages(&mut self, dirty: usize, age: u64, capacity: u64, grown: u64) -> usize {
        if self.idle > IDLE_ROUNDS {
            return dirty.min(BATCH_PAGES);
        }
        if age <= capacity * GENTLE / 16 {
            return 0;
        }
        let left = (capacity * URGENT / 16).saturating_sub(age).max(grown).max(1);
        let share = dirty as u128 * u128::from(grown) / u128::from(left);
        usize::try_from(share).unwrap_or(dirty).min(dirty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_rises_with_age_and_with_the_log_and_is_nothing_for_young_pages() {
        const MIB: u64 = 1 << 20;
        let pages = |age: u64, grown: u64| {
            let mut pace = Pace::default();
            pace.pages(10_000, age * MIB, 160 * MIB, grown)
        };
        assert_eq!(pages(40, MIB), 0);
        let (young, middle, old) = (pages(41, MIB), pages(60, MIB), pages(95, MIB));
        assert!(0 < young && young < middle && middle < old && old < 10_000, "{young} {middle} {old}");
        assert!(pages(60, 2 * MIB) > middle);
        assert_eq!(pages(100, MIB), 10_000, "no time is left");
        assert_eq!(pages(1000, MIB), 10_000);
        assert_eq!(pages(60, 0), 0);
    }

    /// Simulates a load that changes new pages at a steady rate, with every page written at its turn.
    #[test]
    fn a_steady_load_gets_a_steady_pace_and_the_log_never_gets_old() {
        const CAPACITY: u64 = 64 << 20;
        let (mut pace, mut written) = (Pace::default(), 0u64);
        let mut dirty = std::collections::VecDeque::new();
        let mut paces = Vec::new();
        for round in 0..2000u64 {
            written += 500_000;
            (0..100).for_each(|_| dirty.push_back(written));
            let age = dirty.front().map_or(0, |since| written - since);
            assert!(age < CAPACITY * URGENT / 16, "round {round}");
            let grown = pace.grown(written);
            let pages = pace.pages(dirty.len(), age, CAPACITY, grown);
            dirty.drain(..pages);
            if round > 500 {
                paces.push(pages);
            }
        }
        let (least, most) = (paces.iter().min().unwrap(), paces.iter().max().unwrap());
        assert!(*least >= 60 && *most <= 140, "{least} to {most} pages a round where 100 come");
    }

    #[test]
    fn an_idle_store_is_cleaned_a_batch_a_round() {
        let mut pace = Pace::default();
        let mut round = |written| {
            let grown = pace.grown(written);
            pace.pages(500, 1, 1 << 20, grown)
        };
        let pages: Vec<usize> = (0..=IDLE_ROUNDS + 1).map(|_| round(7)).collect();
        assert_eq!(pages.first(), Some(&0));
        assert_eq!(pages.last(), Some(&BATCH_PAGES));
        assert_eq!(round(8), 0, "work goes first");
    }

    #[test]
    fn changed_pages_are_looked_for_when_log_is_used_or_nothing_has_happened_for_a_while_until_none_is_found()
    {
        const CAPACITY: u64 = 160 << 20;
        let mut pace = Pace::default();
        let mut rests = |written, used: u64, clean| {
            pace.grown(written);
            let rests = pace.may_rest(used << 20, CAPACITY);
            pace.clean = if rests { pace.clean } else { clean };
            rests
        };
        assert!(rests(1, 5, false), "a checkpoint is not worth it");
        assert!(!rests(2, 10, false));
        let idle: Vec<bool> = (0..IDLE_ROUNDS).map(|_| rests(2, 5, false)).collect();
        assert!(idle.iter().all(|rests| *rests));
        assert!(!rests(2, 5, false) && !rests(2, 5, false), "there are changed pages to write");
        assert!(!rests(2, 5, true), "the last one was written");
        assert!(rests(2, 5, true) && rests(2, 5, true));
        assert!(!rests(3, 10, true), "somebody works again");
    }
}
