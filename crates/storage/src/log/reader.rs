//! Reads the groups of a log back.
#![expect(clippy::todo, unused_variables, reason = "skeleton")]
use super::position::LogPosition;
use crate::device::Env;
use crate::error::Result;
use crate::ids::{Lsn, LsnRange};
use std::sync::Arc;

/// A group as it was appended.
pub struct LogGroup<'a> {
    /// Its place in the stream.
    pub range: LsnRange,
    /// [`super::PAGE_GROUP`], or the kind of a logical record.
    pub kind: u8,
    /// What was appended.
    pub payload: &'a [u8],
}

/// Where a log was found to end; [`super::Log::resume`] goes on from there.
#[derive(Debug, Clone)]
pub struct LogTail {
    /// End of the last whole group.
    pub end: Lsn,
}

/// Iterates over the groups of a log from a position on.
pub struct LogReader {}

impl LogReader {
    /// Opens the log at a position given by [`super::Log::position_of`] or [`super::Log::create`].
    pub fn open(env: &Arc<dyn Env>, position: LogPosition) -> Result<LogReader> {
        todo!()
    }

    /// The next group; `None` at the end of the log. Damage (a hole below what is known to have been durable)
    /// is [`crate::StorageError::LogDamaged`], never an early end.
    pub fn next_group(&mut self) -> Result<Option<LogGroup<'_>>> {
        todo!()
    }

    /// Reads what is left and says where the log ends.
    pub fn finish(self) -> Result<LogTail> {
        todo!()
    }
}
