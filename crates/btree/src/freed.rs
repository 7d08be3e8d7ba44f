//! The count of freed pages, by which a page that was remembered is known to be in its tree still.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of pages of all trees freed since the process started. A cursor that remembers a leaf goes there without a
/// descent only while this has not changed: a freed page that was read in again would still look the same.
static FREED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of pages freed so far. Read while a latch is held.
pub(crate) fn freed_pages() -> u64 {
    FREED.load(Ordering::Acquire)
}

/// Counts a page that is about to be freed. Called while no other thread can see the page.
pub(crate) fn note_freed() {
    FREED.fetch_add(1, Ordering::Release);
}
