//! Pages, buffer pool, redo log, checkpoints, recovery and space of Leafline.
//!
//! A [`Store`] is one directory. The crates above see it as pages of segments, which they read under [`SharedGuard`]s
//! and change in [`MiniTransaction`]s that the log keeps whole or not at all. This crate knows no keys, rows or
//! transactions. The crates above register a [`RedoHandler`] for the changes of their pages, and append logical
//! records for everything else.
//!
//! | module | holds |
//! |---|---|
//! | [`device`] | the files: real, simulated, modelled; batched page reads |
//! | [`log`] | the redo log: append, group commit, reading back |
//! | [`page`] | the header of every page |
//! | `pool` | frames, latches, eviction, prefetch, writing back |
//! | `mini_transaction`, `redo` | changing pages, and replaying the changes |
//! | `space` | extents and segments: which segment owns which page |
//! | `core` | the state of an open store, and its checkpoints |
//! | `reservation`, `loan` | pages and log bytes set aside; memory borrowed from the pool |
//! | `allocation` | taking and freeing pages, and writing them past the log |
//! | `doublewrite`, `recovery` | the means by which a store survives a crash |
//! | `backup` | backups of a store, and restoring them |
//! | [`worker`] | background threads |
//! | `page_writer`, `log_writer`, `warm_up` | the work of the store's own threads |
//! | `open`, `options` | making or recovering a store |
//! | `store` | [`Store`], the public interface |

pub mod device;
pub mod log;
pub mod page;
pub mod worker;

mod allocation;
mod backup;
mod control;
mod core;
mod doublewrite;
mod error;
mod ids;
mod loan;
mod log_writer;
mod mini_transaction;
mod open;
mod options;
mod page_writer;
mod poison;
mod pool;
mod recovery;
mod redo;
mod reservation;
mod space;
mod stats;
mod store;
mod sync;
mod warm_up;

pub use allocation::{BulkWriter, FreshPages, SEGMENT_LOG_BYTES, SpaceFault};
pub use backup::{Backup, Manifest, Restore, Verification};
pub use device::{Env, File, LockGuard, OpenMode};
pub use error::{Result, StorageError};
pub use ids::{Lsn, LsnRange, PageNo, SegmentId};
pub use loan::MemoryLoan;
pub use log::{FlushPolicy, LogSpace};
pub use mini_transaction::{MiniTransaction, PageSlot};
pub use open::page_size_of;
pub use options::{RecoveryProgress, RecoveryStep, StoreOptions};
pub use page::{PAGE_HEADER, PageKind};
pub use pool::{
    HeldPage, Optimistic, OptimisticPage, PageMerger, RawPage, SharedGuard, StopOnPanic, lent_bytes,
    prefetch_line,
};
pub use recovery::{RecoveryReport, UnreadablePage};
pub use redo::{
    CheckpointSource, GROUP_OVERHEAD, HandlerId, LogicalReplay, NoReplay, RECORD_OVERHEAD, RedoError,
    RedoHandler, ReplayError,
};
pub use reservation::Reservation;
pub use space::{
    FREE_PAGE_LOG_BYTES, PageClass, SalvagedSegment, SalvagedStore, SegmentInfo, SegmentState, SpaceUsage,
};
pub use stats::{Counter, StoreStats, reads_begun_here};
pub use store::Store;
