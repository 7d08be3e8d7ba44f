//! Probation: pages that were read ahead of their use have to prove that they are worth their frames.
//!
//! A scan touches each of its pages once, and all of a page at about the same time. If one scan made its pages as
//! valuable as pages that are used again and again, a scan of a large table would leave nothing else in memory. So
//! pages that come in by prefetch go through a first-in, first-out queue that holds at most one in [`SHARE`] of the
//! pool's frames:
//!
//! | page at the head of the queue | action |
//! |---|---|
//! | not used since it was marked | evicted (written first if it was changed) |
//! | used, and looked at for the first time | marked again and put at the end: so far it was used as by a scan |
//! | used again after that | leaves the queue and stays in memory, in the care of the clock like any other page |
//!
//! A use takes away the mark of the clock, which is how the queue sees uses; readers write nothing for it. The idea
//! is that of 2Q (Johnson and Shasha, VLDB 1994): the second use counts only some time after the first one.
//!
//! An entry of the queue is a hint: its page may have left memory, or may have been evicted by the clock and be back.

use super::BufferPool;
use super::arena::FrameId;
use super::clock::ClockSweep;
use super::word::MARKED;
use crate::PageNo;
use crate::sync::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;

/// The queue holds at most one in this many of the pool's frames: twice the pages that one prefetch can ask for, so
/// that pages do not go before they were used.
const SHARE: usize = 4;

struct Entry {
    page: PageNo,
    frame: FrameId,
    /// Whether the page was found in use once.
    used: bool,
}

/// The queue.
#[derive(Default)]
pub(super) struct Probation(Mutex<VecDeque<Entry>>);

/// The action for the page at the head of the queue.
enum Verdict {
    Gone,
    Evict,
    Mark,
    Keep,
}

impl BufferPool {
    /// Puts the page in `frame`, which was read ahead of its use, on probation.
    pub(super) fn put_on_probation(&self, page: PageNo, frame: FrameId) {
        self.mark(frame.0 as usize);
        let mut queue = self.probation.0.lock();
        if queue.len() >= self.frame_count() {
            // This entry's page has left memory: no thread has looked for frames for long.
            queue.pop_front();
        }
        queue.push_back(Entry { page, frame, used: false });
    }

    /// Takes pages off the queue while it is too long, until `wanted` were evicted or reported. Evicts each page,
    /// reports it as changed, or lets it stay.
    pub(super) fn sweep_probation(&self, wanted: usize, swept: &mut ClockSweep) {
        let longest = self.frame_count() / SHARE;
        while swept.evicted + swept.dirty.len() < wanted {
            let mut queue = self.probation.0.lock();
            if queue.len() <= longest {
                return;
            }
            let Some(mut entry) = queue.pop_front() else { return };
            let index = entry.frame.0 as usize;
            match self.verdict(&entry) {
                Verdict::Gone => {}
                Verdict::Evict => {
                    drop(queue);
                    self.try_evict(index, swept);
                }
                Verdict::Mark => {
                    self.mark(index);
                    entry.used = true;
                    queue.push_back(entry);
                }
                Verdict::Keep => {
                    self.stats.prefetched_kept.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns the pages in memory that are not on probation. Pages that move while this runs may be missing or
    /// included.
    pub(crate) fn settled_pages(&self) -> Vec<PageNo> {
        let on_probation: HashSet<PageNo> = self.probation.0.lock().iter().map(|entry| entry.page).collect();
        let mut pages = self.pages();
        pages.retain(|page| !on_probation.contains(page));
        pages
    }

    fn verdict(&self, entry: &Entry) -> Verdict {
        match self.evictable(entry.frame.0 as usize) {
            Some((page, _, word)) if page == entry.page => match (word.state() == MARKED, entry.used) {
                (true, _) => Verdict::Evict,
                (false, false) => Verdict::Mark,
                (false, true) => Verdict::Keep,
            },
            _ => Verdict::Gone,
        }
    }
}
