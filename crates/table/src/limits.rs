//! Limits that follow from the page size, the log and memory.

use crate::options::EngineOptions;
use leafline_btree::policy;
use leafline_storage::Store;

/// Bytes a lock takes, in the lock table and in its owner's list: from 36 to 73, as both double when they are full.
pub(crate) const LOCK_BYTES: u64 = 64;
/// Locks may take this part of what the buffer pool has.
const LOCK_SHARE: u64 = 8;
/// Old versions and ghosts may take this part of the buffer pool.
const VERSION_SHARE: u64 = 4;
/// However small the pool is.
const LEAST_LOCKS: u64 = 1 << 16;

/// The writes of one transaction, and then the operations of its commit, may take this part of what the buffer pool has, in
/// memory.
const WRITE_SET_SHARE: u64 = 4;
/// However small the pool is.
const LEAST_WRITE_SET: u64 = 1 << 20;
/// However large it is: one would notice how long it takes to write more than that to a file.
const LARGEST_WRITE_SET: u64 = 256 << 20;
/// What is put together, in memory, when files are merged.
const LARGEST_ROW_HISTORY: u64 = 256 << 20;

/// What takes buffered changes may take this part of the buffer pool, and of all that are allowed.
const L0_SHARE: u64 = 8;

/// A commit record may take this part of the log.
const INLINE_SHARE: u64 = 16;
/// A large commit records how far it is after this part of the log.
const PROGRESS_SHARE: u64 = 32;

/// What keys, rows and commits may be at most, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// An index's declared parts, and a key in a tree.
    pub max_key: usize,
    /// An entry, key and payload together.
    pub max_entry: usize,
    /// The operations of a commit, in its log record; more go to a file of their own.
    pub inline_commit: usize,
    /// Log bytes after which a commit with such a file records how far it is.
    pub progress_bytes: usize,
    /// The writes of one transaction in memory; beyond, they go to files.
    pub write_set_memory: u64,
    /// The operations of one commit in memory; beyond, they are sorted on disk.
    pub commit_memory: u64,
    /// All writes of one transaction to the same row.
    pub max_row_history: u64,
    /// Memory of old versions and of ghosts that wait to be removed; more goes to files.
    pub version_memory: u64,
    /// Bytes of buffered changes.
    pub change_buffer: u64,
    /// Bytes of those in the tree that takes them; then they are written to a run.
    pub change_buffer_l0: u64,
    /// Locks held at once, by all transactions, if the buffer pool lends the memory.
    pub max_locks: u64,
}

impl Limits {
    pub(crate) fn new(store: &Store, options: &EngineOptions) -> Limits {
        let log = options.store.log_capacity_bytes;
        // Counters and the rest of a commit record take some too.
        let inline = (store.max_logical_payload() / 2).min((log / INLINE_SHARE) as usize);
        let pool = options.store.buffer_pool_bytes;
        let of_transaction = (pool / WRITE_SET_SHARE).clamp(LEAST_WRITE_SET, LARGEST_WRITE_SET);
        let (change_buffer, change_buffer_l0) = match options.change_buffer_bytes {
            Some(bytes) => (bytes, bytes / L0_SHARE),
            None => Limits::of_change_buffer(pool, None),
        };
        Limits {
            max_key: policy::max_key_len(store.page_size()),
            max_entry: policy::max_entry_len(store.page_size()),
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

    /// Bytes of buffered changes, and of those in the tree that takes them, where they may take so many percent of a pool.
    pub(crate) fn of_change_buffer(pool: u64, percent: Option<u64>) -> (u64, u64) {
        let most = pool / 100 * percent.unwrap_or(100);
        (most, most.min(pool) / L0_SHARE)
    }
}
