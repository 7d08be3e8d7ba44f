//! The buffer pool keeps pages of `data` in memory, latches them, and evicts them when frames are needed.
//!
//! | module | holds |
//! |---|---|
//! | `arena` | the memory of the frames |
//! | `word`, `translation` | one atomic word per page of storage: frame, latch state, version |
//! | `guard` | the types that give a thread the right to touch a frame |
//! | `frames` | the metadata of each frame, and the free list; `dirty`: a bitmap of changed frames |
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

pub use budget::{MemoryLoan, lent_bytes};
pub(crate) use cache::PageCache;
pub(crate) use frames::BufferPool;
pub use guard::SharedGuard;
pub(crate) use guard::{ExclusiveGuard, OwnedFrame, held};
pub(crate) use latch::Latch;
pub use optimistic::{Optimistic, OptimisticPage, prefetch_line};
pub use pending::{HeldPage, PageMerger, RawPage};
pub(crate) use translation::MAX_PAGES;
pub(crate) use write_back::Latching;
pub use write_back::StopOnPanic;
