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
use crate::core::Core;
use std::sync::atomic::Ordering;

/// Where room could not be made, it is tried again after this part of the limit.
const TRIED_AGAIN_AFTER: u64 = 8;
/// Bytes of an old version, or a ghost, beyond its key and payload, about.
const HISTORY_OVERHEAD: u64 = 64;
/// Runs beyond which whoever spills merges them, where the background thread does not get round to it.
const TOO_MANY_RUNS: u64 = 32;

/// Makes sure, as far as can be, that what applying operations saves finds memory. The caller holds no latch.
pub(crate) fn make_room_for(core: &Core, ops: &[Op]) {
    // What one replaces is taken for as large as what it puts there.
    let bytes = |op: &Op| (op.key().len() + op.payload_len()) as u64 + HISTORY_OVERHEAD;
    let bytes = ops.iter().map(bytes).sum();
    if !core.history.fits(bytes) {
        make_more_room(core, bytes);
    }
}

#[cold]
fn make_more_room(core: &Core, bytes: u64) {
    core.versions.reclaim(core.bound());
    if core.history.fits(bytes) || core.history.borrow(bytes) {
        return;
    }
    let mut useless_below = core.relief.lock();
    // Another has made room meanwhile; or there is no more to be had yet.
    if core.history.fits(bytes) || core.history.used() < *useless_below {
        return;
    }
    relieve(core, bytes);
    // Not tried again for every row where little can be done.
    let more = core.history.limit() / TRIED_AGAIN_AFTER;
    *useless_below = if core.history.fits(bytes) { 0 } else { core.history.used() + more };
}

fn relieve(core: &Core, bytes: u64) {
    let enough = core.history.available() / 2;
    loop {
        core.versions.reclaim(core.bound());
        let needed = core.clock.needed(core.shown_lsn());
        core.versions.compact(&needed, true);
        if core.history.used() + bytes <= enough {
            return;
        }
        core.ghosts.spill();
        if core.history.used() + bytes <= enough {
            return;
        }
        match core.versions.spill(&needed) {
            Ok(()) => {
                core.counts.spills.fetch_add(1, Ordering::Relaxed);
                break;
            }
            Err(_) if core.history.fits(bytes) => return,
            Err(_) if core.clock.give_up_oldest(core.shown_lsn()) => {}
            Err(_) => return,
        }
    }
    if !core.has_background_threads() || core.versions.counts().runs > TOO_MANY_RUNS {
        merge_version_runs(core);
    }
}

/// What the background thread does about old versions.
pub(crate) fn tidy_history(core: &Core) {
    core.versions.reclaim(core.bound());
    if !core.versions.is_empty() {
        core.versions.compact(&core.clock.needed(core.shown_lsn()), false);
        merge_version_runs(core);
    }
    if let Some(mut useless_below) = core.relief.try_lock() {
        let used = core.history.used();
        if used > core.history.limit() / 4 * 3 && used >= *useless_below {
            // So that commits need not do it.
            relieve(core, 0);
        }
        // Less may be used now than when no more room could be made.
        let more = core.history.limit() / TRIED_AGAIN_AFTER;
        *useless_below = (*useless_below).min(core.history.used() + more);
    }
    core.history.give_back();
}

fn merge_version_runs(core: &Core) {
    // Without it there are more of them to be read, and that is all.
    let _ = core.versions.merge_runs(&core.clock.needed(core.shown_lsn()));
}
