//! How an engine is opened.

use crate::change_buffer::ChangeBuffering;
use leafline_storage::StoreOptions;

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The store underneath.
    pub store: StoreOptions,
    /// Most bytes of memory the writes of one transaction may take before they go to files. `None`: a quarter of the buffer
    /// pool, which they are borrowed from, but not less than 1 MiB nor more than 256 MiB.
    pub transaction_memory_bytes: Option<u64>,
    /// Most bytes of memory the sorts of a bulk load or index build may take before they go to files.
    pub build_memory_bytes: u64,
    /// Most threads that sort and build trees, besides the one that reads the rows.
    pub build_threads: usize,
    /// Most bytes of memory that old versions of rows, and deleted ones that wait to be removed, may take before they go to
    /// files. `None`: a quarter of the buffer pool.
    pub version_memory_bytes: Option<u64>,
    /// Bytes of operations up to which a commit has them in its log record, and beyond which in a file of its own. `None`:
    /// one part in sixteen of the log.
    pub inline_commit_bytes: Option<u64>,
    /// Which changes of non-unique secondary indexes are buffered where their leaves are not in memory.
    pub change_buffering: ChangeBuffering,
    /// Most bytes of buffered changes. `None`: as many as the buffer pool has.
    pub change_buffer_bytes: Option<u64>,
    /// Leaves are driven out of memory, so that all changes are buffered that can be: for tests.
    pub force_change_buffering: bool,
    /// Bytes of log after which a commit with such a file records how far it is. `None`: one part in thirty-two of the log.
    pub progress_bytes: Option<u64>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            store: StoreOptions::default(),
            transaction_memory_bytes: None,
            build_memory_bytes: 64 << 20,
            build_threads: std::thread::available_parallelism().map_or(1, |threads| threads.get().min(4)),
            version_memory_bytes: None,
            inline_commit_bytes: None,
            progress_bytes: None,
            change_buffering: ChangeBuffering::default(),
            change_buffer_bytes: None,
            force_change_buffering: false,
        }
    }
}
