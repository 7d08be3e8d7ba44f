//! The error type of this crate.

use crate::ids::{Lsn, PageNo, SegmentId};
use std::io;

/// `Result` with a [`StorageError`].
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// An error of the storage layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused an operation on a file.
    #[error("cannot {op} {file}: {source}")]
    Io {
        /// The operation, as a verb: "read", "write", "sync".
        op: &'static str,
        /// Name of the file inside the database directory.
        file: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// A page has a wrong checksum, a wrong page number, or impossible contents.
    #[error("page {page} is damaged: {reason}")]
    Corrupt {
        /// The page.
        page: PageNo,
        /// A description of the damage.
        reason: String,
    },
    /// No space is left on the device. Nothing was changed.
    #[error("no space left on the device")]
    DiskFull,
    /// No space is left on the device to make a database. Nothing is left behind.
    #[error("no space left on the device: a new database needs {needed} bytes")]
    DiskFullAtCreation {
        /// Bytes that a new database needs.
        needed: u64,
    },
    /// An earlier write or sync failed, so the content of the disk is unknown. Nothing can be changed until the
    /// database has been closed and opened (and thereby recovered) again: after a failed fsync the kernel may have
    /// dropped the dirty data, and a second fsync would report success (Rebello et al., ATC 2020).
    #[error("the database stopped after a failure: {why}")]
    Poisoned {
        /// The first failure.
        why: String,
    },
    /// Another process, or another handle of this one, has the database open.
    #[error("the database is already open")]
    AlreadyOpen,
    /// A file has an invalid content, or was written by a version that this one cannot read.
    #[error("{file}: {reason}")]
    Format {
        /// Name of the file inside the database directory.
        file: String,
        /// A description of the fault.
        reason: String,
    },
    /// The redo log has a hole below data that is known to have been durable. Opening would lose commits.
    #[error("the redo log is damaged in wal/{sequence}.log at byte {offset} (LSN {lsn}): {reason}")]
    LogDamaged {
        /// Sequence number of the log file.
        sequence: u64,
        /// Byte position in that file.
        offset: u64,
        /// Position in the log stream up to which the log is good.
        lsn: Lsn,
        /// The evidence that this is damage and not an unfinished last write.
        reason: String,
    },
    /// Something is larger than its limit.
    #[error("{what} of {size} bytes is larger than the limit of {limit}")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// More frames are in use at once than the buffer pool has.
    #[error("the buffer pool is too small: {wanted} frames wanted, {available} to be had")]
    PoolTooSmall {
        /// Frames wanted at once.
        wanted: usize,
        /// Frames that could be had.
        available: usize,
    },
    /// The buffer pool is smaller than any pool can be.
    #[error("a buffer pool of {bytes} bytes is too small: at least {minimum} are needed")]
    PoolBelowMinimum {
        /// Bytes of the pool that was requested.
        bytes: u64,
        /// Smallest number of bytes of a pool with pages of this size.
        minimum: u64,
    },
    /// The buffer pool cannot lend the requested memory.
    #[error(
        "{bytes} more bytes of memory are wanted; of the buffer pool {lent} are lent already, and at most {limit} can be"
    )]
    MemoryExhausted {
        /// Bytes requested.
        bytes: u64,
        /// Bytes that are lent now.
        lent: u64,
        /// Most bytes that can be lent in all.
        limit: u64,
    },
    /// The operating system refused an operation on a file of a backup.
    #[error("cannot {op} {file} of the backup: {source}")]
    BackupIo {
        /// The operation, as a verb.
        op: &'static str,
        /// Name of the file inside the backup's directory.
        file: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// A backup cannot be made, or a directory cannot be used as one.
    #[error("{what}")]
    Backup {
        /// The reason, in a sentence.
        what: String,
    },
    /// The segment does not exist (any more).
    #[error("segment {0} does not exist")]
    NoSuchSegment(SegmentId),
    /// The caller broke a rule of this crate. Examples: a record that does not fit its page, or a change that used
    /// more than was reserved.
    #[error("misuse of the store: {what}")]
    Misuse {
        /// The rule that was broken.
        what: String,
    },
    /// The crate above refused a record or a checkpoint that recovery passed to it.
    #[error("recovery of logical records: {0}")]
    Replay(Box<dyn std::error::Error + Send + Sync>),
}

impl StorageError {
    /// Wraps an I/O error. "No space" becomes [`StorageError::DiskFull`].
    pub fn io(op: &'static str, file: impl Into<String>, source: io::Error) -> StorageError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::DiskFull,
            _ => StorageError::Io { op, file: file.into(), source },
        }
    }

    /// Returns whether a page could not be read, or had invalid contents. The cause is the medium, or an earlier
    /// wrong write, and the rest of the store may well be sound.
    pub fn is_damage(&self) -> bool {
        match self {
            StorageError::Corrupt { .. } => true,
            StorageError::Io { op, file, .. } => *op == "read" && file == "data",
            _ => false,
        }
    }
}
