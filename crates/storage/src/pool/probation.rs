//! Probation: pages that were read ahead of their use have to prove that they are worth their frames.
//!
//! A scan touches each of its pages once, all of it at about the same time. If that made them as good as the pages
//! that are used again and again, a scan of a large table would leave nothing else in memory. So pages that come in by
//! prefetch go through a queue, oldest first out, that holds at most [`SHARE`] of the pool:
//!
//! | at the head of the queue | |
//! |---|---|
//! | not used since it was marked | evicted (written first, if it was changed) |
//! | used, for the first time it is looked at | marked again, back to the end: a use like a scan's, so far |
//! | used again after that | it stays, in the care of the clock like any other page |
//!
//! Uses are seen by the mark that the clock uses, which a use takes away, so readers write nothing for this. The idea is
//! that of 2Q (Johnson and Shasha, VLDB 1994): the second use counts only once the first one is some time ago.
//!
//! An entry of the queue is a hint: the page may have left memory, or may have been evicted by the clock and be back.

use super::arena::FrameId;
use super::clock::Swept;
use super::frames::BufferPool;
use super::word::MARKED;
use crate::PageNo;
use crate::sync::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;

/// Pages on probation: one part of the pool in this many. Twice what one prefetch can ask for, so that pages do not go before
/// they were used.
const SHARE: usize = 4;

struct Entry {
    page: PageNo,
    frame: FrameId,
    /// It was found in use once.
    used: bool,
}

/// The queue.
#[derive(Default)]
pub(super) struct Probation(Mutex<VecDeque<Entry>>);

/// What to do with the page at the head.
enum Verdict {
    Gone,
    Evict,
    Mark,
    Keep,
}

impl BufferPool {
    /// The page in `frame` was read ahead of its use.
    pub(super) fn put_on_probation(&self, page: PageNo, frame: FrameId) {
        self.mark(frame.0 as usize);
        let mut queue = self.probation.0.lock();
        if queue.len() >= self.frame_count() {
            // Of a page that has left: nobody has looked for frames for long.
            queue.pop_front();
        }
        queue.push_back(Entry { page, frame, used: false });
    }

    /// Takes up to `wanted` pages off the queue as long as it is too long, each of which is evicted, or reported
    /// if it is changed, or stays.
    pub(super) fn sweep_probation(&self, wanted: usize, swept: &mut Swept) {
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

    /// Pages in memory that are not on probation, as far as that can be said while others work.
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
