//! The entries of the buffer's trees: keys and payloads.
//!
//! | key | bytes |
//! |---|---|
//! | tree | u64, *big-endian* |
//! | key of the entry in that tree | the rest |
//!
//! | payload | bytes |
//! |---|---|
//! | ghost | u8: 1 if the entry is deleted |
//! | timestamp of the commit | u48 |
//! | generation | u64: end of the log when the change was buffered |
//! | payload of the entry | the rest |

use crate::bytes::{ByteReader, ByteWriter};
use crate::error::{Result, TableError};
use crate::op::Op;
use leafline_btree::{
    BufferedEntry, CommitTs, Cursor, Direction, LeafStep, RangeReadAhead, ReadAheadSettings, Tree,
};
use leafline_storage::SegmentId;
use std::collections::VecDeque;

/// The number of bytes before the key in a key, and before the payload in a payload.
pub(super) const KEY_HEAD: usize = 8;
pub(super) const PAYLOAD_HEAD: usize = 15;

/// The key of a change.
pub(super) fn buffer_key(tree: SegmentId, key: &[u8]) -> Vec<u8> {
    [&tree.0.to_be_bytes(), key].concat()
}

/// The tree of a change, and its key there.
pub(super) fn split_key(key: &[u8]) -> Result<(SegmentId, &[u8])> {
    match key.split_first_chunk() {
        Some((tree, key)) => Ok((SegmentId(u64::from_be_bytes(*tree)), key)),
        None => Err(TableError::Corrupt("change buffer: a key is too short".into())),
    }
}

/// Whether a change deletes an entry, and the payload that it leaves.
fn outcome(op: &Op) -> (bool, &[u8]) {
    match op {
        Op::PutRow { payload, .. } | Op::PutEntry { payload, .. } => (false, payload),
        Op::DeleteRow { .. } | Op::DropEntry { .. } => (true, &[]),
    }
}

/// The entry that the commit at `ts` leaves under the key of a change.
pub(super) fn entry_of(op: &Op, ts: CommitTs) -> BufferedEntry {
    let (ghost, payload) = outcome(op);
    BufferedEntry { key: op.key().to_vec(), ghost, ts, payload: payload.to_vec() }
}

/// Encodes the payload of a change that is buffered in `generation`.
pub(super) fn encode(op: &Op, ts: CommitTs, generation: u64) -> Vec<u8> {
    let (ghost, payload) = outcome(op);
    let mut out = ByteWriter::with_capacity(PAYLOAD_HEAD + payload.len());
    out.bool(ghost).u16((ts.0 >> 32) as u16).u32(ts.0 as u32).u64(generation);
    let mut out = out.finish();
    out.extend_from_slice(payload);
    out
}

/// Decodes whether a change deletes, its timestamp and its generation.
pub(super) fn decode_head(payload: &[u8]) -> Result<(bool, CommitTs, u64)> {
    let mut from = ByteReader::new("change buffer", payload);
    let ghost = from.bool()?;
    let ts = CommitTs(u64::from(from.u16()?) << 32 | u64::from(from.u32()?));
    Ok((ghost, ts, from.u64()?))
}

/// Decodes the entry under `key`, as [`encode`] encodes it; `None` if it was buffered before this generation.
pub(super) fn decode_since(generation: u64, key: &[u8], payload: &[u8]) -> Result<Option<BufferedEntry>> {
    let (ghost, ts, since) = decode_head(payload)?;
    let rest = payload.get(PAYLOAD_HEAD..).unwrap_or_default();
    let entry = || BufferedEntry { key: key.to_vec(), ghost, ts, payload: rest.to_vec() };
    Ok((since >= generation).then(entry))
}

/// Calls `visit` with the key and payload of each entry of a tree of the buffer from `lower` on, below `upper`.
pub(super) fn for_each(
    tree: &Tree,
    lower: &[u8],
    upper: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut cursor = tree.cursor();
    cursor.seek(lower);
    let (mut key, mut is_done, mut visited) = (Vec::new(), false, Ok(()));
    while !is_done {
        let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                leaf.key_into(slot, &mut key);
                if key.as_slice() < upper {
                    visited = visit(&key, leaf.entry(slot).payload);
                }
                if key.as_slice() >= upper || visited.is_err() {
                    is_done = true;
                    return LeafStep::Stop;
                }
            }
            LeafStep::NextLeaf
        })?;
        is_done |= !more;
    }
    visited
}

/// Reads a tree of the buffer from a key on, one leaf at a time.
pub(super) struct Entries {
    cursor: Cursor,
    /// The read-ahead of a caller that reads the whole tree.
    ahead: Option<RangeReadAhead>,
    read: VecDeque<(Vec<u8>, Vec<u8>)>,
    done: bool,
}

impl Entries {
    /// Reads from `lower` on.
    pub(super) fn new(tree: &Tree, lower: &[u8]) -> Entries {
        let mut cursor = tree.clone().into_cursor();
        cursor.seek(lower);
        Entries { cursor, ahead: None, read: VecDeque::new(), done: false }
    }

    /// Reads all entries, with read-ahead: splits have scattered the leaves of L0.
    pub(super) fn all(tree: &Tree) -> Entries {
        let ahead = RangeReadAhead::new(ReadAheadSettings::default(), Direction::Forward, &[], None);
        Entries { ahead: Some(ahead), ..Entries::new(tree, &[]) }
    }

    /// Returns the next entry without taking it.
    pub(super) fn peek(&mut self) -> Result<Option<&(Vec<u8>, Vec<u8>)>> {
        while self.read.is_empty() && !self.done {
            let Entries { cursor, ahead, read, done } = self;
            if let Some(ahead) = ahead {
                ahead.advance(cursor)?;
            }
            let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
                for slot in slots {
                    let mut key = Vec::new();
                    leaf.key_into(slot, &mut key);
                    read.push_back((key, leaf.entry(slot).payload.to_vec()));
                }
                LeafStep::NextLeaf
            })?;
            *done |= !more;
        }
        Ok(self.read.front())
    }

    /// Takes the next entry.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.peek()?;
        Ok(self.read.pop_front())
    }
}

/// The first key after all changes of a tree.
pub(super) fn after_tree(tree: SegmentId) -> Vec<u8> {
    tree.0.saturating_add(1).to_be_bytes().to_vec()
}
