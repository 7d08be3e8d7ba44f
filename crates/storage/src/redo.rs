//! Redo records: the content of the log, and the handlers that replay it.
//!
//! The log is a sequence of groups. A group is replayed whole or not at all. Its kind tells its content:
//! | kind    | group            | payload                                                                     |
//! |--------:|------------------|-----------------------------------------------------------------------------|
//! |       0 | mini-transaction | records: handler u8, kind u8, page u48, payload length u24, payload          |
//! | 1..=254 | logical record   | a record of the crate above                                                 |
//! |     255 | checkpoint       | the payload that [`CheckpointSource::payload`] returned                      |
//!
//! Page records are physiological: each names one page and describes a change within it. Each belongs to a *handler*
//! (this crate, the B+tree crate), whose [`RedoHandler::redo`] makes the change, both when it happens first and when
//! it is replayed. There is no second code path.

use crate::page::bytes::Reader;
use crate::{Lsn, LsnRange, PageNo, Result, StorageError};
use std::sync::Arc;

/// Kind of the group that holds a checkpoint.
pub(crate) const CHECKPOINT_KIND: u8 = 255;

/// Bytes that a page record takes in the log besides its payload.
pub const RECORD_OVERHEAD: usize = 11;
/// Most bytes that a group (a mini-transaction, a logical record) takes in the log besides its content.
pub const GROUP_OVERHEAD: usize = 32;

/// The crate that a page record belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HandlerId(pub u8);

impl HandlerId {
    /// This crate.
    pub const STORAGE: HandlerId = HandlerId(0);
    /// The B+tree crate.
    pub const BTREE: HandlerId = HandlerId(1);
}

/// An error of a page record that does not fit the page that it names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RedoError {
    /// A description of the mismatch.
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
    /// Changes `page` (the whole page, header included) as the record says. The result must depend on the arguments
    /// alone. Must not touch the header's checksum, page number, LSN or owner.
    ///
    /// # Errors
    /// If the record does not fit the page: a logic error when the change is new, corruption in recovery.
    fn redo(&self, kind: u8, page: &mut [u8], payload: &[u8]) -> Result<(), RedoError>;
}

/// Any error of the crate above, passed through recovery.
pub type ReplayError = Box<dyn std::error::Error + Send + Sync>;

/// Receives the logical records during recovery. The store is not open yet: implementors collect the records that
/// they need and act after [`Store::open`](crate::Store::open) has returned.
pub trait LogicalReplay {
    /// Called first, with the payload of the last checkpoint. Not called if the store never had one.
    ///
    /// # Errors
    /// An error makes `Store::open` fail.
    fn checkpoint(&mut self, payload: &[u8]) -> Result<(), ReplayError>;

    /// Called for each logical record from the checkpoint's redo position on, in log order. Records older than the
    /// checkpoint record itself can be among them.
    ///
    /// # Errors
    /// An error makes `Store::open` fail.
    fn record(&mut self, range: LsnRange, kind: u8, payload: &[u8]) -> Result<(), ReplayError>;
}

/// A receiver for stores without logical records, which refuses every record.
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

/// The crate above as the source of its part of a checkpoint.
pub trait CheckpointSource: Send + Sync {
    /// Returns the state that [`LogicalReplay::checkpoint`] gets back. Called after
    /// [`oldest_needed`](CheckpointSource::oldest_needed). Must cover every record that `oldest_needed` did not hold
    /// back.
    fn payload(&self) -> Vec<u8>;

    /// Returns the first LSN of the oldest logical record that recovery still has to see, or `None` if there is none.
    /// A record must be counted from before it is appended (with any LSN not above its own) until it is not needed.
    fn oldest_needed(&self) -> Option<Lsn>;
}

/// A change of one page, as a group holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRecord<'a> {
    pub(crate) handler: HandlerId,
    pub(crate) kind: u8,
    pub(crate) page: PageNo,
    pub(crate) payload: &'a [u8],
}

impl<'a> PageRecord<'a> {
    /// Appends a record to a group. Its payload, in parts, is shorter than 2^24 bytes. Returns the record.
    pub(crate) fn encode(
        (handler, kind, page): (HandlerId, u8, PageNo),
        parts: &[&[u8]],
        group: &'a mut Vec<u8>,
    ) -> PageRecord<'a> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        group.reserve(RECORD_OVERHEAD + len);
        let mut head = [0; RECORD_OVERHEAD];
        head[..2].copy_from_slice(&[handler.0, kind]);
        head[2..8].copy_from_slice(&page.0.to_le_bytes()[..6]);
        head[8..].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        group.extend_from_slice(&head);
        let start = group.len();
        parts.iter().for_each(|part| group.extend_from_slice(part));
        PageRecord { handler, kind, page, payload: &group[start..] }
    }

    /// Reads a record. Returns `None` if it is malformed.
    fn decode(reader: &mut Reader<'a>) -> Option<PageRecord<'a>> {
        let (handler, kind) = (HandlerId(reader.u8()?), reader.u8()?);
        let low = u64::from(reader.u32()?);
        let page = PageNo(low | u64::from(reader.u16()?) << 32);
        let len = usize::from(reader.u16()?) | usize::from(reader.u8()?) << 16;
        Some(PageRecord { handler, kind, page, payload: reader.take(len)? })
    }
}

/// Returns the records of a mini-transaction's group, or `None` if it is malformed.
pub(crate) fn decode_group(group: &[u8]) -> Option<Vec<PageRecord<'_>>> {
    let mut reader = Reader::new(group);
    let mut records = Vec::new();
    while !reader.is_empty() {
        records.push(PageRecord::decode(&mut reader)?);
    }
    Some(records)
}

/// The registered handlers, by id.
pub(crate) struct Handlers {
    by_id: Vec<Option<Arc<dyn RedoHandler>>>,
}

impl Handlers {
    /// Makes a table of `handlers`.
    pub(crate) fn new(handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)>) -> Result<Handlers> {
        let mut by_id: Vec<Option<Arc<dyn RedoHandler>>> = vec![None; 256];
        for (id, handler) in handlers {
            let slot = &mut by_id[usize::from(id.0)];
            if slot.is_some() {
                return Err(StorageError::Misuse { what: format!("two redo handlers with id {}", id.0) });
            }
            *slot = Some(handler);
        }
        Ok(Handlers { by_id })
    }

    /// Makes the change that the record describes on `page`.
    pub(crate) fn redo(&self, record: &PageRecord<'_>, page: &mut [u8]) -> Result<(), RedoError> {
        match &self.by_id[usize::from(record.handler.0)] {
            Some(handler) => handler.redo(record.kind, page, record.payload),
            None => Err(format!("no redo handler {} is registered", record.handler.0).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_decodes_to_its_records_and_no_prefix_of_it_does() {
        let records = [
            PageRecord { handler: HandlerId(1), kind: 9, page: PageNo((1 << 48) - 1), payload: &[1, 2, 3] },
            PageRecord { handler: HandlerId(0), kind: 0, page: PageNo(5), payload: &[] },
            PageRecord { handler: HandlerId(1), kind: 2, page: PageNo(6), payload: &[7; 70_000] },
        ];
        let mut group = Vec::new();
        let mut ends = vec![0];
        for record in &records {
            let (head, tail) = record.payload.split_at(record.payload.len() / 2);
            let written =
                PageRecord::encode((record.handler, record.kind, record.page), &[head, tail], &mut group);
            assert_eq!(written, *record);
            ends.push(group.len());
        }
        assert_eq!(group.len(), 3 * RECORD_OVERHEAD + 3 + 70_000);
        assert_eq!(decode_group(&group).unwrap(), records);
        for len in 0..100 {
            assert_eq!(decode_group(&group[..len]).is_some(), ends.contains(&len), "prefix of {len}");
        }
    }
}
