//! The store's own thread: keeps clean frames ahead of demand, the log short, and policies 0 and 2 of the log flush.
//!
//! **Frames**: every round it frees frames until a reserve is there, writing changed pages in batches, so that readers seldom
//! have to. It is woken early by who finds too few frames or too little log.
//!
//! **Log age**: how far back the oldest change goes that is not in `data`, as a share of the log ([`Pace`]). Below
//! [`GENTLE`] nothing is written for its sake. From there on each round writes the pages that were changed first, so many
//! that all that are dirty now would be written by the time the log, going on as it does, reaches [`URGENT`]: a rate that rises
//! smoothly with the log's own and with its age. Beyond `URGENT`, which smooth writing does not reach, whatever is too
//! old is written at once. (After InnoDB's adaptive flushing.)
//!
//! **Warm-up**: at the start it reads in the pages that were in memory before, as far as there are free frames, and now and then
//! it writes the list of those that are in memory ([`crate::warm_up`]).
//!
//! **Space** that is free is given back to the file system, some a round ([`crate::space`], file `release`). That takes a checkpoint that
//! has passed what freed it: if none has for some time, pages that were changed before are written, a batch a round.
//!
//! **Checkpoints** are recorded each time a good part of the log could be given back. A store that nobody uses gets its pages
//! written, a batch a round, so that the next opening has little to do.

use crate::doublewrite::BATCH_PAGES;
use crate::log::LogSpace;
use crate::pool::Latching;
use crate::space::Released;
use crate::store::Inner;
use crate::{Lsn, PageNo, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause between rounds.
const ROUND: Duration = Duration::from_millis(100);
/// Between flushes of the log under policies 0 and 2.
const TICK: Duration = Duration::from_secs(1);
/// Between two lists of the pages in memory.
const LIST: Duration = Duration::from_secs(300);
/// Pages read in per round at the start.
const WARM_UP: usize = 1024;
/// Most batches written in a round to make room.
const BATCHES: usize = 8;
/// Sixteenths of the log: pages are written for their age from here on ...
const GENTLE: u64 = 4;
/// ... and must not get older than this; reservations end at about 13.
const URGENT: u64 = 10;
/// Sixteenths of the log that a checkpoint has to give back to be worth it.
const WORTH: u64 = 1;
/// How long a checkpoint that comes by itself is waited for before pages are written so that space can be given back.
const AWAITED: Duration = Duration::from_secs(5);
/// Rounds without a change until pages are written because there is nothing else to do.
const IDLE_ROUNDS: u32 = 10;

/// Checkpoints that free nothing before there is no hope.
const FRUITLESS_ROUNDS: u32 = 20;

#[derive(Default)]
struct Signal {
    stop: bool,
    wake: bool,
}

/// The running thread.
pub(crate) struct Background {
    signal: Arc<(Mutex<Signal>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Wakes the thread.
#[derive(Clone)]
pub(crate) struct Waker {
    signal: Arc<(Mutex<Signal>, Condvar)>,
}

impl Waker {
    /// Begins the next round now.
    pub(crate) fn wake(&self) {
        self.signal.0.lock().wake = true;
        self.signal.1.notify_one();
    }
}

impl Background {
    /// Starts the thread for the store; it ends when the store is gone. It begins by reading `hot_pages` in.
    pub(crate) fn start(store: Weak<Inner>, hot_pages: Vec<PageNo>) -> std::io::Result<Background> {
        let signal = Arc::new((Mutex::new(Signal::default()), Condvar::new()));
        let shared = Arc::clone(&signal);
        let thread = std::thread::Builder::new().name("page-writer".into());
        let thread = thread.spawn(move || run(&store, &shared, hot_pages))?;
        Ok(Background { signal, thread: Mutex::new(Some(thread)) })
    }

    /// Begins the next round now.
    pub(crate) fn wake(&self) {
        self.waker().wake();
    }

    /// For others to wake the thread with.
    pub(crate) fn waker(&self) -> Waker {
        Waker { signal: Arc::clone(&self.signal) }
    }

    /// Ends the thread and waits for it, unless it is the one that calls.
    pub(crate) fn stop(&self) {
        self.signal.0.lock().stop = true;
        self.signal.1.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // If it panicked it has said so already.
            let _ = thread.join();
        }
    }
}

fn run(store: &Weak<Inner>, signal: &(Mutex<Signal>, Condvar), hot_pages: Vec<PageNo>) {
    let (mut ticked, mut listed) = (Instant::now(), Instant::now());
    let mut pace = Pace::default();
    let mut awaited = None;
    let mut hot_pages = hot_pages.chunks(WARM_UP);
    loop {
        {
            let mut state = signal.0.lock();
            if !state.wake && !state.stop {
                signal.1.wait_for(&mut state, ROUND);
            }
            if state.stop {
                return;
            }
            state.wake = false;
        }
        let Some(store) = store.upgrade() else { return };
        let _stops = store.cache.stop_on_panic("the page writer was at work");
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            if let Err(error) = store.log.tick() {
                store.cache.stop(&error);
            }
        }
        if let Some(pages) = hot_pages.next() {
            let begun = store.cache.warm_up(pages);
            store.stats.warmed_up.fetch_add(begun as u64, Ordering::Relaxed);
        }
        if listed.elapsed() >= LIST && hot_pages.len() == 0 {
            listed = Instant::now();
            // A hint: without it the next start is slow, no more.
            let _ = store.save_hot_pages();
        }
        // What fails has stopped the store, and said why to all who use it.
        let _ = round(&store, &mut pace, &mut awaited);
    }
}

/// One round of page writing and checkpointing.
fn round(store: &Inner, pace: &mut Pace, awaited: &mut Option<(Lsn, Instant)>) -> Result<()> {
    store.poison.check()?;
    keep_frames(store)?;
    store.log.grow_ahead()?;
    keep_log_short(store, pace)?;
    release_space(store, awaited)
}

/// Gives free space back, some a round; if a checkpoint has to come first, and has been `awaited` for long, works towards it.
fn release_space(store: &Inner, awaited: &mut Option<(Lsn, Instant)>) -> Result<()> {
    // The crate above has not taken over from recovery.
    if store.checkpointer.is_held_back() {
        return Ok(());
    }
    let Released::Awaiting(newest) = store.release_some_space(false)? else {
        *awaited = None;
        return Ok(());
    };
    let (lsn, since) = *awaited.get_or_insert((newest, Instant::now()));
    if store.checkpointer.passed().is_some_and(|passed| passed >= lsn) {
        *awaited = None;
        return Ok(());
    }
    // Space that comes and goes is needed again before long; writing pages for its sake would be for nothing.
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

/// Writes what has been dirty for too long, and records a checkpoint if that gives log back.
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
        if space.waiting == 0 && store.checkpoint_frees() < (capacity * WORTH / 16).max(1) {
            return Ok(());
        }
        store.record_checkpoint()?;
        let after = store.log.space();
        if after.waiting == 0 {
            return Ok(());
        }
        if after.has_gained_nothing(&space) {
            // What little is left of the log has to go as well.
            store.checkpoint()?;
            if store.log.space().has_gained_nothing(&after) {
                pace.fruitless += 1;
                if pace.fruitless > FRUITLESS_ROUNDS {
                    if store.log.is_disk_full()? {
                        store.log.refuse_waiting();
                    } else if store.is_log_stuck() {
                        store.log.grant_beyond_limit();
                    }
                }
                return Ok(());
            }
        }
        pace.fruitless = 0;
    }
}

/// How many pages to write for their age.
#[derive(Default)]
struct Pace {
    /// Bytes of log written when last asked.
    written: u64,
    /// Rounds in which the log has not grown.
    idle: u32,
    /// No page was changed when they were last looked at.
    clean: bool,
    /// Checkpoints in a row that gave nothing back to those who wait for log space.
    fruitless: u32,
}

impl Pace {
    /// Bytes that were written since last asked, `written` of them ever.
    fn grown(&mut self, written: u64) -> u64 {
        let grown = written - self.written.min(written);
        self.written = written;
        self.idle = if grown == 0 { self.idle.saturating_add(1) } else { 0 };
        grown
    }

    /// Whether nothing can be found for this round to do with `used` bytes of a log of `capacity`.
    fn may_rest(&self, used: u64, capacity: u64) -> bool {
        match self.idle > IDLE_ROUNDS {
            // A page whose change was logged before the store came to rest has been marked long since.
            true => self.clean && self.idle > IDLE_ROUNDS + 1,
            false => used < capacity * WORTH.min(GENTLE) / 16,
        }
    }

    /// Of `dirty` pages, the oldest of which goes back `age` bytes of a log of `capacity`, which has `grown` by some.
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

    /// A load that changes new pages at a steady rate, with every page written at its turn.
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
