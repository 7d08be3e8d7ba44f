//! The buffer pool keeps pages of `data` in memory, latches them, and evicts them when frames are needed.
//!
//! | module | holds |
//! |---|---|
//! | `arena` | the memory of the frames |
//! | `word`, `translation` | one atomic word per page of storage: frame, latch state, version |
//! | `guard` | the types that give a thread the right to touch a frame |
//! | `frames` | how the metadata of frames and the free list change; `dirty`: a bitmap of changed frames |
//! | `latch`, `wait` | taking and releasing latches, and the queues where threads sleep for them |
//! | `optimistic` | reading without a latch |
//! | `pending` | pages that lack changes which are kept elsewhere |
//! | `clock`, `probation` | the choice of the pages to evict |
//! | `budget` | memory lent to other parts of the engine |
//! | `cache` | the pool together with the file: faults, prefetch, making room |
//! | `write_back` | writing changed pages to the file, through the doublewrite file |
//!
//! No thread that holds a latch waits for I/O, for a frame or for log space. Each function that may wait for one of
//! these says "the caller holds no latch", and debug builds check it.

mod arena;
mod budget;
mod cache;
mod clock;
mod dirty;
mod frames;
mod guard;
mod latch;
#[cfg(test)]
#[cfg(loom)]
mod model;
mod optimistic;
mod pending;
mod probation;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
mod translation;
mod wait;
mod word;
mod write_back;

pub use budget::lent_bytes;
pub(crate) use cache::PageCache;
pub use guard::SharedGuard;
pub(crate) use guard::{ExclusiveGuard, OwnedFrame, held};
pub(crate) use latch::{Latch, Latching};
pub use optimistic::{Optimistic, OptimisticPage, prefetch_line};
pub use pending::{HeldPage, PageMerger, RawPage};
pub(crate) use translation::MAX_PAGES;
pub use write_back::StopOnPanic;

use crate::StoreStats;
use crate::sync::{AtomicU64, Mutex};
use arena::{Arena, FrameId};
use dirty::DirtyFrames;
use parking_lot::RwLock;
use pending::Pending;
use probation::Probation;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64 as PlainU64, AtomicUsize};
use translation::TranslationArray;
use wait::WaitTable;

/// The `rec_lsn` of a frame whose page has no changes that `data` lacks.
const CLEAN: u64 = u64::MAX;
/// The page number of a frame that holds no page.
const NO_PAGE: u64 = u64::MAX;

/// The metadata of a frame.
struct Frame {
    /// Number of the page in the frame, or [`NO_PAGE`].
    page: AtomicU64,
    /// First LSN of the changes that `data` lacks, or [`CLEAN`].
    rec_lsn: AtomicU64,
    /// Whether `data` holds nothing of the page since it was made anew. The log can then make all of the page.
    unwritten: AtomicBool,
    segment: PlainU64,
    /// Whether the page is never evicted.
    pinned: AtomicBool,
}

struct FreeList {
    frames: Vec<FrameId>,
    retired: usize,
}

/// The buffer pool without its file. Its parts hold on to it: guards and parked pages refer to the pool.
pub(crate) struct BufferPool {
    arena: Arena,
    frames: Box<[Frame]>,
    dirty: DirtyFrames,
    words: TranslationArray,
    waits: WaitTable,
    free: Mutex<FreeList>,
    hand: AtomicUsize,
    probation: Probation,
    pending: Pending,
    residents: RwLock<HashMap<u64, PlainU64>>,
    /// Upper bound of the LSNs of the pages in `data`.
    newest: PlainU64,
    stats: Arc<StoreStats>,
}
