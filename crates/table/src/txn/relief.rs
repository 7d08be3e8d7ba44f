//! Making room for old versions and ghosts: what is tried, from the cheap to the dear.
//!
//! 1. free what nobody needs any more;
//! 2. borrow more memory, up to the limit;
//! 3. leave out versions between two snapshots;
//! 4. write the queue of ghosts, then the versions, to files;
//! 5. if they cannot be written: give up the oldest snapshot, and begin again. Who reads at it gets an error; who writes
//!    never does. What the next snapshot needs, that is what running commits replace, stays in memory whatever it takes.
//!
//! Asked for with no latch held, before operations of a commit are applied: how much one saves is known only then, and a commit
//! may save more than there is memory.

use super::op::Op;
use crate::engine::Engine;
use std::sync::atomic::Ordering;

/// Where room could not be made, it is tried again after this part of the limit.
const TRIED_AGAIN_AFTER: u64 = 8;
/// Bytes of an old version, or a ghost, beyond its key and payload, about.
const HISTORY_OVERHEAD: u64 = 64;
/// Runs beyond which whoever spills merges them, where the background thread does not get round to it.
const TOO_MANY_RUNS: u64 = 32;

impl Engine {
    /// Makes sure, as far as can be, that what applying operations saves finds memory. The caller holds no latch.
    pub(crate) fn make_room_for(&self, ops: &[Op]) {
        // What one replaces is taken for as large as what it puts there.
        let bytes = |op: &Op| (op.key().len() + op.payload_len()) as u64 + HISTORY_OVERHEAD;
        let bytes = ops.iter().map(bytes).sum();
        if !self.history.fits(bytes) {
            self.make_more_room(bytes);
        }
    }

    #[cold]
    fn make_more_room(&self, bytes: u64) {
        self.versions.reclaim(self.bound());
        if self.history.fits(bytes) || self.history.borrow(bytes) {
            return;
        }
        let mut useless_below = self.relief.lock();
        // Another has made room meanwhile; or there is no more to be had yet.
        if self.history.fits(bytes) || self.history.used() < *useless_below {
            return;
        }
        self.relieve(bytes);
        // Not tried again for every row where little can be done.
        let more = self.history.limit() / TRIED_AGAIN_AFTER;
        *useless_below = if self.history.fits(bytes) { 0 } else { self.history.used() + more };
    }

    fn relieve(&self, bytes: u64) {
        let enough = self.history.available() / 2;
        loop {
            self.versions.reclaim(self.bound());
            let needed = self.clock.needed(self.shown_lsn());
            self.versions.compact(&needed, true);
            if self.history.used() + bytes <= enough {
                return;
            }
            self.ghosts.spill();
            if self.history.used() + bytes <= enough {
                return;
            }
            match self.versions.spill(&needed) {
                Ok(()) => {
                    self.counts.spills.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Err(_) if self.history.fits(bytes) => return,
                Err(_) if self.clock.give_up_oldest(self.shown_lsn()) => {}
                Err(_) => return,
            }
        }
        if !self.has_background_threads() || self.versions.counts().runs > TOO_MANY_RUNS {
            self.merge_version_runs();
        }
    }

    /// What the background thread does about old versions.
    pub(crate) fn tidy_history(&self) {
        self.versions.reclaim(self.bound());
        if !self.versions.is_empty() {
            self.versions.compact(&self.clock.needed(self.shown_lsn()), false);
            self.merge_version_runs();
        }
        if let Some(mut useless_below) = self.relief.try_lock() {
            let used = self.history.used();
            if used > self.history.limit() / 4 * 3 && used >= *useless_below {
                // So that commits need not do it.
                self.relieve(0);
            }
            // Less may be used now than when no more room could be made.
            let more = self.history.limit() / TRIED_AGAIN_AFTER;
            *useless_below = (*useless_below).min(self.history.used() + more);
        }
        self.history.give_back();
    }

    fn merge_version_runs(&self) {
        // Without it there are more of them to be read, and that is all.
        let _ = self.versions.merge_runs(&self.clock.needed(self.shown_lsn()));
    }
}
