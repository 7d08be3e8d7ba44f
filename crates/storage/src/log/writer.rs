//! Appends groups and makes them durable.
#![expect(clippy::todo, unused_variables, reason = "skeleton")]
use super::position::LogPosition;
use super::reader::LogTail;
use crate::device::Env;
use crate::error::Result;
use crate::ids::{Lsn, LsnRange};
use std::sync::Arc;

/// Kind of a group that holds the page records of one mini-transaction. All other kinds are logical records.
pub const PAGE_GROUP: u8 = 0;

/// When a commit reaches the disk, numbered as `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushPolicy {
    /// 0: written and synced once a second.
    EverySecond,
    /// 1: written and synced before a commit returns.
    #[default]
    EachCommit,
    /// 2: written before a commit returns, synced once a second. Survives the death of the process.
    WriteEachCommit,
}

/// How a log is made.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of all log files together.
    pub capacity: u64,
    /// Appended bytes that may wait in memory before [`Log::throttle`] has them written.
    pub buffer_bytes: usize,
    /// Number of this database, drawn when it is made: seeds the checksums, so that no block of another
    /// database's log is ever taken for this one's.
    pub database_id: u64,
}

/// How full the log files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// Bytes that can be used in all.
    pub capacity: u64,
    /// Bytes from the start of the oldest file that is kept to the end of the log.
    pub used: u64,
    /// Bytes promised to reservations.
    pub reserved: u64,
    /// Callers waiting in [`Log::reserve`].
    pub waiting: usize,
}

/// What the log has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Write requests.
    pub writes: u64,
    /// Bytes written, headers and padding included.
    pub bytes: u64,
    /// Syncs.
    pub syncs: u64,
}

/// Room in the log files, held for groups to be appended. What is left is given back when it is dropped.
pub struct LogReservation {}

/// The log, open for appending. Clones share it.
#[derive(Clone)]
pub struct Log {}

impl Log {
    /// Makes the files of a new log that starts at LSN `first`; whatever was in `wal/` goes.
    pub fn create(env: &Arc<dyn Env>, options: LogOptions, first: Lsn) -> Result<(Log, LogPosition)> {
        todo!()
    }

    /// Goes on after recovery, in a new file with a new salt. Everything the reader gave out is durable when
    /// this returns.
    pub fn resume(env: &Arc<dyn Env>, options: LogOptions, tail: LogTail) -> Result<Log> {
        todo!()
    }

    /// Holds room for groups of `bytes` payload and framing in all; `None` when a checkpoint has to free space first.
    pub fn try_reserve(&self, bytes: u64) -> Result<Option<LogReservation>> {
        todo!()
    }

    /// As [`Log::try_reserve`], but waits until [`Log::truncate_before`] has freed the space. The caller holds no
    /// latch and no other reservation, and has seen to it that a checkpoint is under way.
    pub fn reserve(&self, bytes: u64) -> Result<LogReservation> {
        todo!()
    }

    /// Waits, without a latch held, until the appended bytes in memory are below the limit, writing them if nobody does.
    pub fn throttle(&self) -> Result<()> {
        todo!()
    }

    /// Appends one group, made of `parts` one after the other. Never waits for I/O.
    pub fn append(&self, reservation: &mut LogReservation, kind: u8, parts: &[&[u8]]) -> Result<LsnRange> {
        todo!()
    }

    /// Waits until everything below `lsn` is on disk.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        todo!()
    }

    /// What a commit that ends at `lsn` waits for, by policy.
    pub fn commit(&self, lsn: Lsn, policy: FlushPolicy) -> Result<()> {
        todo!()
    }

    /// The work of policies 0 and 2: writes and syncs what is not durable yet. To be called once a second.
    pub fn tick(&self) -> Result<()> {
        todo!()
    }

    /// Everything below is on disk.
    pub fn durable(&self) -> Lsn {
        todo!()
    }

    /// Where the next group will start.
    pub fn end(&self) -> Lsn {
        todo!()
    }

    /// Largest group payload that can be appended, in bytes.
    pub fn max_payload(&self) -> usize {
        todo!()
    }

    /// Makes `lsn` durable and says where a reader must start to get the groups from there on.
    pub fn position_of(&self, lsn: Lsn) -> Result<LogPosition> {
        todo!()
    }

    /// Bytes in the files from `lsn` to the end of the log: what a checkpoint at `lsn` would leave in use.
    pub fn age(&self, lsn: Lsn) -> u64 {
        todo!()
    }

    /// The LSN of about `bytes` of file back from the end: pages changed before must be clean for the log to
    /// shrink to `bytes`.
    pub fn lsn_at_age(&self, bytes: u64) -> Lsn {
        todo!()
    }

    /// Gives the files that end below `position` back for reuse. A checkpoint that starts there must be durable.
    pub fn truncate_before(&self, position: LogPosition) -> Result<()> {
        todo!()
    }

    /// How full the files are.
    pub fn space(&self) -> LogSpace {
        todo!()
    }

    /// What was done so far.
    pub fn counts(&self) -> LogCounts {
        todo!()
    }

    /// Stops the log: every later call fails with `why`.
    pub fn poison(&self, why: String) {
        todo!()
    }
}
