//! Relief: makes room for old versions and ghosts, by cheap means first.
//!
//! 1. Free what nobody needs any more.
//! 2. Borrow more memory, up to the limit.
//! 3. Remove versions between two snapshots.
//! 4. Write the queue of ghosts, then the versions, to files.
//! 5. If they cannot be written, give up the oldest snapshot, and begin again. Its readers get an error; writers
//!    never do. The versions that the next snapshot needs, which running commits replace, stay in memory whatever
//!    they take.
//!
//! The caller holds no latch, and asks before the operations of a commit are applied. How much an operation saves is
//! known only when it is applied, and a commit may save more than fits in memory.

use crate::core::Core;
use crate::op::Op;
use std::sync::atomic::Ordering;

/// If no room could be made, the next attempt comes after this part of the limit was used.
const TRIED_AGAIN_AFTER: u64 = 8;
/// The approximate memory of an old version, or a ghost, beyond its key and payload, in bytes.
const HISTORY_OVERHEAD: u64 = 64;
/// The number of runs beyond which a thread that spills merges them, if the background thread is too slow.
const TOO_MANY_RUNS: u64 = 32;

/// Makes memory available, as far as possible, for the versions and ghosts of operations to be applied. The caller
/// holds no latch.
pub(crate) fn make_room_for(core: &Core, ops: &[Op]) {
    // A replaced version is assumed to be as large as the new one.
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
    // Another thread has made room meanwhile, or no more can be made yet.
    if core.history.fits(bytes) || core.history.used() < *useless_below {
        return;
    }
    relieve(core, bytes);
    // Do not try again for every row if little can be done.
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

/// Tidies old versions in the background thread.
pub(crate) fn tidy_history(core: &Core) {
    core.versions.reclaim(core.bound());
    if !core.versions.is_empty() {
        core.versions.compact(&core.clock.needed(core.shown_lsn()), false);
        merge_version_runs(core);
    }
    if let Some(mut useless_below) = core.relief.try_lock() {
        let used = core.history.used();
        if used > core.history.limit() / 4 * 3 && used >= *useless_below {
            // Relieves commits of this work.
            relieve(core, 0);
        }
        // Less may be in use now than when no more room could be made.
        let more = core.history.limit() / TRIED_AGAIN_AFTER;
        *useless_below = (*useless_below).min(core.history.used() + more);
    }
    core.history.give_back();
}

fn merge_version_runs(core: &Core) {
    // If merging fails, readers read more runs, and nothing else.
    let _ = core.versions.merge_runs(&core.clock.needed(core.shown_lsn()));
}
