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
//! | `space` | extents, segments, reservations, unlogged bulk writing |
//! | `checkpoint`, `doublewrite`, `recovery` | the means by which a store survives a crash |
//! | `backup` | backups of a store, and restoring them |
//! | [`worker`] | background threads |
//! | `page_writer`, `log_writer`, `warm_up` | the work of the store's own threads |
//! | `store` | [`Store`], the public interface |

pub mod device;
pub mod log;
pub mod page;
pub mod worker;

mod backup;
mod checkpoint;
mod control;
mod doublewrite;
mod error;
mod ids;
mod log_writer;
mod mini_transaction;
mod open;
mod page_writer;
mod poison;
mod pool;
mod recovery;
mod redo;
mod space;
mod stats;
mod store;
mod sync;
mod warm_up;

pub use backup::{Backup, Manifest, Restore, Verification};
pub use device::{Env, File, LockGuard, OpenMode};
pub use error::{Result, StorageError};
pub use ids::{Lsn, LsnRange, PageNo, SegmentId};
pub use log::{FlushPolicy, LogSpace};
pub use mini_transaction::{MiniTransaction, PageClass, PageSlot};
pub use open::page_size_of;
pub use page::{PAGE_HEADER, PageKind};
pub use pool::{
    HeldPage, MemoryLoan, Optimistic, OptimisticPage, PageMerger, RawPage, SharedGuard, StopOnPanic,
    lent_bytes, prefetch_line,
};
pub use recovery::{RecoveryReport, UnreadablePage};
pub use redo::{
    CheckpointSource, GROUP_OVERHEAD, HandlerId, LogicalReplay, NoReplay, RECORD_OVERHEAD, RedoError,
    RedoHandler, ReplayError,
};
pub use space::{
    BulkWriter, FREE_PAGE_LOG_BYTES, FreshPages, Reservation, SEGMENT_LOG_BYTES, SalvagedSegment,
    SalvagedStore, SegmentInfo, SegmentState, SpaceFault, SpaceUsage,
};
pub use stats::{Counter, StoreStats, reads_begun_here};
pub use store::{RecoveryProgress, RecoveryStep, Store, StoreOptions};
