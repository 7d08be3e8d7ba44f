//! Limits that follow from the page size, the log and memory.

use crate::options::EngineOptions;
use leafline_btree::limits;
use leafline_storage::Store;

/// The memory of a lock in bytes, in the lock table and in its owner's list: between 36 and 73, because
/// both double when they are full.
pub(crate) const LOCK_BYTES: u64 = 64;
/// Locks may take the buffer pool's memory divided by this number.
const LOCK_SHARE: u64 = 8;
/// Old versions and ghosts may take the buffer pool's memory divided by this number.
const VERSION_SHARE: u64 = 4;
/// The minimum number of locks, however small the pool is.
const LEAST_LOCKS: u64 = 1 << 16;

/// In memory, the writes of one transaction, and then the operations of its commit, may take the buffer
/// pool's memory divided by this number.
const WRITE_SET_SHARE: u64 = 4;
/// The minimum for these, in bytes, however small the pool is.
const LEAST_WRITE_SET: u64 = 1 << 20;
/// The maximum for these, in bytes, however large the pool is: writing more than that to a file at once
/// would cause a noticeable delay.
const LARGEST_WRITE_SET: u64 = 256 << 20;
/// The maximum size of a row's history, in bytes, which is assembled in memory when files are merged.
const LARGEST_ROW_HISTORY: u64 = 256 << 20;

/// The tree that receives buffered changes may take the buffer pool's memory, and the space for buffered
/// changes, divided by this number.
const L0_SHARE: u64 = 8;

/// A commit record may take the log's capacity divided by this number.
const INLINE_SHARE: u64 = 16;
/// A large commit records its progress after this part of the log, in the same way.
const PROGRESS_SHARE: u64 = 32;

/// The maximum sizes of keys, rows and commits, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The declared parts of an index, and a key in a tree.
    pub max_key: usize,
    /// An entry, key and payload together.
    pub max_entry: usize,
    /// The operations of a commit in its log record; more operations go to a file.
    pub inline_commit: usize,
    /// The log bytes after which a commit with such a file records its progress.
    pub progress_bytes: usize,
    /// The writes of one transaction in memory; more go to files.
    pub write_set_memory: u64,
    /// The operations of one commit in memory; more are sorted on disk.
    pub commit_memory: u64,
    /// All writes of one transaction to the same row.
    pub max_row_history: u64,
    /// Old versions and ghosts in memory; more go to files.
    pub version_memory: u64,
    /// Buffered changes.
    pub change_buffer: u64,
    /// Buffered changes in the tree that receives them; beyond that they are written to a run.
    pub change_buffer_l0: u64,
    /// The number of locks held at once by all transactions, if the buffer pool lends the memory.
    pub max_locks: u64,
}

impl Limits {
    pub(crate) fn new(store: &Store, options: &EngineOptions) -> Limits {
        let log = options.store.log_capacity_bytes;
        // Counters and the rest of a commit record take some space, too.
        let inline = (store.max_logical_payload() / 2).min((log / INLINE_SHARE) as usize);
        let pool = options.store.buffer_pool_bytes;
        let of_transaction = (pool / WRITE_SET_SHARE).clamp(LEAST_WRITE_SET, LARGEST_WRITE_SET);
        let (change_buffer, change_buffer_l0) = match options.change_buffer_bytes {
            Some(bytes) => (bytes, bytes / L0_SHARE),
            None => Limits::of_change_buffer(pool, None),
        };
        Limits {
            max_key: limits::max_key_len(store.page_size()),
            max_entry: limits::max_entry_len(store.page_size()),
            inline_commit: options.inline_commit_bytes.map_or(inline, |bytes| inline.min(bytes as usize)),
            progress_bytes: options.progress_bytes.unwrap_or(log / PROGRESS_SHARE) as usize,
            write_set_memory: options.transaction_memory_bytes.unwrap_or(of_transaction),
            commit_memory: of_transaction,
            max_row_history: LARGEST_ROW_HISTORY,
            version_memory: options.version_memory_bytes.unwrap_or(pool / VERSION_SHARE),
            change_buffer,
            change_buffer_l0,
            max_locks: (pool / LOCK_SHARE / LOCK_BYTES).max(LEAST_LOCKS),
        }
    }

    /// The limits of buffered changes, and of the tree that receives them, if they may take `percent` of a
    /// pool.
    pub(crate) fn of_change_buffer(pool: u64, percent: Option<u64>) -> (u64, u64) {
        let most = pool / 100 * percent.unwrap_or(100);
        (most, most.min(pool) / L0_SHARE)
    }
}
