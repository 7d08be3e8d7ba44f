//! Tables of Leafline: catalog, clustered and secondary indexes, transactions, versions, commit and recovery,
//! bulk building, checking.
//!
//! The crate gives meaning to the bytes in trees: a tree is an index of a table, an entry is visible to a snapshot
//! or not, a commit changes many trees at once. SQL text and plans are unknown here.
//!
//! | module | is |
//! |---|---|
//! | [`catalog`] | databases, tables, columns, indexes: definitions and their rows on disk |
//! | [`engine`] | the open database and its parts |
//! | `core` | the state that the parts share |
//! | `op`, `op_run` | the operations of commits, and their records and files |
//! | `mvcc`, `write_set`, `gates` | snapshots and old versions; uncommitted writes; commits against DDL |
//! | `catalog_change`, `new_table` | what a DDL statement changes and makes |
//! | `change_log` | the keys that change while a table is rebuilt |
//! | `ddl`, `alter`, `views`, `private`, `histograms` | [`Ddl`]: changes of definitions |
//! | `maintenance` | [`Maintenance`] |
//! | [`lock`] | locks on rows and tables, waiting for them, deadlocks |
//! | `range_locks` | ranges of keys that others may not write rows into |
//! | [`index`] | how a row becomes entries, and an entry names its row |
//! | [`txn`] | transactions: reading and writing rows, commit, recovery, purge |
//! | [`read`] | one merging cursor under every access path; fetching rows by key |
//! | [`run`] | sorted runs: the external sort of builds |
//! | [`build`] | bulk load, new indexes |
//! | [`check`] | rows against entries, entries against rows |
//! | [`repair`] | new trees in the place of damaged ones |
//! | `serial` | SERIALIZABLE: what transactions have read and written, and the conflicts between them |
//! | `preload` | reading an index in before it is used |
//! | `quarantine` | trees that recovery could not bring up to date, until they are repaired |
//!
//! # The order of locks and latches
//!
//! A thread takes them from the top down. This is the only list; it includes the locks of `storage` and `btree`.
//!
//! | | lock | where | held while |
//! |---|---|---|---|
//! | 0 | transaction locks on rows, unique keys and tables | [`lock`] | until a commit is applied. A thread waits for one with nothing else held; `lock::deadlock` searches for circles when a wait begins |
//! | 0 | the lock of a write set | `write_set` | files are read and written, and memory is borrowed. A commit holds it shared while it waits at the gates; the transaction's own cursors take it, and shared those who lock ranges |
//! | 1 | the `ddl` mutex: one DDL statement at a time | `core` | |
//! | 2 | gates of tables: commits against DDL | `gates` | |
//! | 3 | making room for old versions, moving them, the front of the queue of ghosts | `txn::relief`, `mvcc::versions`, `mvcc::ghosts` | run files are read and written, never with a latch |
//! | 3 | the sweep of the change buffer, then the names of its trees | `change_buffer` | pages are read and written, and a leaf is *held* |
//! | 4 | accounts of borrowed memory | `memory` | the pool makes room for more |
//! | 5 | counters | `counters` | a commit's record is appended, so that timestamps ascend in the log |
//! | 6 | waits that hold no latch: frames, page reads, log space, growth of the file | `storage::pool::guard` (`held`) | debug builds check it |
//! | 7 | page latches within a tree: parent, left, right | `btree::descend`, `btree::split`, `btree::merge` | a node is read or changed |
//! | 8 | pages of the store itself: segment directory, then space maps, each by ascending number | `storage::mini_transaction` | a mini-transaction commits |
//! | 9 | mutexes that are never held while waiting: the graph of conflicts (`serial`), before the clock; locked ranges, before the end of their owner; open writers; space state, log append, clock, shards of the version store, catalog, tree registry | | |

mod alter;
mod backup;
mod bytes;
mod catalog_change;
mod change_buffer;
mod change_log;
mod core;
mod counters;
pub(crate) mod ddl;
mod error;
mod gates;
mod histograms;
mod key_text;
mod limits;
mod maintenance;
mod memory;
mod mvcc;
mod new_table;
mod op;
mod op_run;
mod options;
pub(crate) mod overflow;
mod preload;
mod private;
mod programs;
mod quarantine;
mod range_locks;
mod serial;
mod statistics;
mod trees;
mod views;
mod write_set;

pub mod build;
pub mod catalog;
pub mod check;
pub mod engine;
pub mod index;
pub mod lock;
pub mod partition;
pub mod read;
pub mod repair;
pub mod run;
pub mod txn;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use alter::{Alteration, QualifiedName, Rebuild, RowCheck, RowConverter, Switch};
pub use backup::{restore, verify_backup};
pub use build::{BuildControl, LoadOutcome, TableLoader};
pub use catalog::implicit_default;
pub use catalog::{
    BoundValue, Catalog, CheckDef, CheckOption, ColumnDef, DatabaseDef, DefaultValue, EventDef,
    EventSchedule, ForeignKeyChanges, ForeignKeyDef, ForeignKeySpec, FulltextSpec, GeneratedColumn,
    GeneratedKind, HIDDEN_CLUSTERED, HistogramBucket, HistogramDef, IndexDef, IndexKind, IndexPart,
    IndexSpec, IndexSpecKind, IndexSpecPart, MAX_ROW_VERSIONS, MOST_PARTITIONS, Organisation, PRIMARY,
    Packing, Partition, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec, Partitioning,
    PhysicalColumn, ProgramAttributes, ProgramContext, ProgramDef, ROW_ID_BYTES, RoutineDef, StoredColumn,
    SubpartitionSpec, TableDef, TableId, TableOptions, TableSpec, TriggerDef, ViewAlgorithm, ViewDef,
    WordsSpec, foreign_key_names, is_extended, locator_in_partition,
};
pub use change_buffer::ChangeBufferStats;
pub use check::{CheckDepth, CheckOptions, TableCheck, TableFault};
pub use core::Core;
pub use counters::Numbering;
pub use ddl::Ddl;
pub use engine::Engine;
pub use error::{Result, TableError};
pub use index::{EntryDecoder, RowDecoder, entry_decoder, locator_of, row_decoder};
pub use key_text::KeyText;
pub use leafline_btree::{CommitTs, Direction, ReadAheadKind, ReadAheadSettings, Tree};
pub use leafline_storage::{FlushPolicy, Manifest, SegmentId, StoreOptions};
pub use leafline_types::words::ReferentialAction;
pub use limits::Limits;
pub use lock::{
    Excluding, LockLimits, LockStats, LockStrength, LockWait, MetadataKey, MetadataMode, SessionLocks,
    lock_wait_us_here,
};
pub use maintenance::Maintenance;
pub use mvcc::{RegisteredSnapshot, Snapshot};
pub use options::{ChangeBuffering, EngineOptions};
pub use partition::{PartitionChange, Possible};
pub use read::{
    EntryCursor, EntryRef, EntrySlice, EntryStep, EntryVisitor, LocatorBatch, MAX_SLICE_ENTRIES, ReadView,
    RowReader, RowRef, SliceBound,
};
pub use repair::{LostRange, Rescue, SalvageReport, TableRepair};
pub use serial::KeyBounds;
pub use statistics::EngineStats;
pub use txn::{
    ChangeReads, CommitOutcome, InsertOutcome, Isolation, KeySearch, Locked, LockedRow, LookedUp, RowLocker,
    StatementMark, Transaction, TransactionFigures, TransactionWatch, Transactions, TxnMode,
};
pub use write_set::Mark;
