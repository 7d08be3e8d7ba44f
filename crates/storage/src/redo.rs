//! Redo records: what the log holds, and who replays it.
//!
//! The log is a sequence of groups; a group is replayed whole or not at all. Its kind says what it is:
//!
//! | kind    | group            | payload                                                                     |
//! |--------:|------------------|-----------------------------------------------------------------------------|
//! |       0 | mini-transaction | records: handler u8, kind u8, page u48, payload length u24, payload          |
//! | 1..=254 | logical record   | belongs to the crate above                                                  |
//! |     255 | checkpoint       | what [`CheckpointSource::payload`] returned                                  |
//!
//! Page records are physiological: they name one page and say what happens on it. Each belongs to a *handler*
//! (this crate, the B+tree crate), whose [`RedoHandler::redo`] makes the change, both when it happens first and
//! when it is replayed; there is no second code path.

use crate::{Lsn, LsnRange};

/// Which crate a page record belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HandlerId(pub u8);

impl HandlerId {
    /// This crate.
    pub const STORAGE: HandlerId = HandlerId(0);
    /// The B+tree crate.
    pub const BTREE: HandlerId = HandlerId(1);
}

/// A page record that does not fit the page it names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RedoError {
    /// What does not fit.
    pub reason: String,
}

impl From<&str> for RedoError {
    fn from(reason: &str) -> RedoError {
        RedoError { reason: reason.into() }
    }
}

impl From<String> for RedoError {
    fn from(reason: String) -> RedoError {
        RedoError { reason }
    }
}

/// Makes the changes that page records of one handler describe.
pub trait RedoHandler: Send + Sync {
    /// Changes `page` (the whole page, header included) as the record says. Must be a function of its arguments
    /// alone. Must not touch the header's checksum, page number, LSN or owner.
    ///
    /// # Errors
    /// When the record does not fit the page: a logic error when the change is new, corruption in recovery.
    fn redo(&self, kind: u8, page: &mut [u8], payload: &[u8]) -> Result<(), RedoError>;
}

/// Any error of the crate above, passed through recovery.
pub type ReplayError = Box<dyn std::error::Error + Send + Sync>;

/// Receives the logical records during recovery. The store is not open yet: implementors collect what they need
/// and act after [`Store::open`](crate::Store::open) has returned.
pub trait LogicalReplay {
    /// Called first, with the payload of the last checkpoint. Not called if the store never had one.
    ///
    /// # Errors
    /// An error makes `Store::open` fail.
    fn checkpoint(&mut self, payload: &[u8]) -> Result<(), ReplayError>;

    /// Called for each logical record from the checkpoint's redo position on, in log order; records older than
    /// the checkpoint record itself can be among them.
    ///
    /// # Errors
    /// An error makes `Store::open` fail.
    fn record(&mut self, range: LsnRange, kind: u8, payload: &[u8]) -> Result<(), ReplayError>;
}

/// For stores without logical records: any that is met is an error.
#[derive(Debug, Default)]
pub struct NoReplay;

impl LogicalReplay for NoReplay {
    fn checkpoint(&mut self, _payload: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }

    fn record(&mut self, range: LsnRange, kind: u8, _payload: &[u8]) -> Result<(), ReplayError> {
        Err(format!("unexpected logical record of kind {kind} at {}", range.start.0).into())
    }
}

/// What the crate above contributes to a checkpoint.
pub trait CheckpointSource: Send + Sync {
    /// State that [`LogicalReplay::checkpoint`] gets back. Must cover every commit that
    /// [`oldest_needed`](CheckpointSource::oldest_needed) no longer holds back when it is called after this.
    fn payload(&self) -> Vec<u8>;

    /// First LSN of the oldest logical record that recovery still has to see, `None` if there is none. A record
    /// must be counted from before it is appended (with any LSN not above its own) until it is not needed.
    fn oldest_needed(&self) -> Option<Lsn>;
}
