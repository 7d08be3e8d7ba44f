//! The options with which an engine is opened.

use leafline_storage::StoreOptions;

/// The changes that are buffered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum ChangeBuffering {
    /// None.
    #[default]
    None,
    /// New entries.
    Inserts,
    /// New entries, and deletions of entries.
    All,
}

/// The options with which an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The options of the store.
    pub store: StoreOptions,
    /// The maximum memory of one transaction's writes before they go to files, in bytes. `None`: a quarter of the
    /// buffer pool, from which it is borrowed, but at least 1 MiB and at most 256 MiB.
    pub transaction_memory_bytes: Option<u64>,
    /// The maximum memory of the sorts of a bulk load or index build before they go to files, in bytes.
    pub build_memory_bytes: u64,
    /// The maximum number of threads that sort and build trees, besides the one that reads the rows.
    pub build_threads: usize,
    /// The maximum memory of old row versions and of waiting ghosts before they go to files, in bytes. `None`: a
    /// quarter of the buffer pool.
    pub version_memory_bytes: Option<u64>,
    /// The size of a commit's operations up to which its log record contains them, in bytes; more go to a file.
    /// `None`: one sixteenth of the log.
    pub inline_commit_bytes: Option<u64>,
    /// Which changes of non-unique secondary indexes are buffered if their leaves are not in memory.
    pub change_buffering: ChangeBuffering,
    /// The maximum size of buffered changes, in bytes. `None`: the size of the buffer pool.
    pub change_buffer_bytes: Option<u64>,
    /// Whether leaves are evicted so that every change that can be buffered is; for tests.
    pub force_change_buffering: bool,
    /// The log bytes after which a commit with such a file records its progress. `None`: one thirty-second of the
    /// log.
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
