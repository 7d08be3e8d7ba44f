//! The buffer pool: which pages are in memory, who may touch them, and how they come and go.
//!
//! | module | is |
//! |---|---|
//! | `arena` | the memory of the frames |
//! | `word`, `translation` | one atomic word per page of storage: frame, latch state, version |
//! | `guard` | the right to touch a frame, as types |
//! | `frames` | what is known of each frame; the free list; `dirty`: which are changed |
//! | `latch`, `wait` | how words change hands, and where threads sleep until they do |
//! | `optimistic` | reading without a latch |
//! | `pending` | pages that lack changes which are kept elsewhere |
//! | `clock` | which pages leave memory |
//! | `cache` | the above with the file: faults, prefetch, making room |
//! | `write_back` | changed pages to the file, through the doublewrite file |
//!
//! No thread that holds a latch waits for I/O, for a frame or for log space. Everything that may do so says "the
//! caller holds no latch", and debug builds check it.

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
