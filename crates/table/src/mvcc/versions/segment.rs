//! Segments: versions one after another, with an index of the newest one of each row.
//!
//! | offset | bytes | field of a version |
//! |-------:|------:|--------------------|
//! |      0 |     4 | 1 + the offset of the same row's version before it in this segment; 0: there is none |
//! |      4 |     4 | length of the payload; `u32::MAX`: the row was deleted |
//! |      8 |     8 | `begin`; the highest bit: it was the first one of its row |
//! |     16 |     8 | `end` |
//! |     24 |     8 | table |
//! |     32 |     4 | length of the key |
//! |     36 |       | key, payload |
//!
//! Versions of a row are added in the order of their timestamps, because the row is locked while it changes. Nothing
//! is ever changed or removed; a segment is freed as a whole.

use super::Version;
use crate::catalog::TableId;
use hashbrown::HashTable;
use leafline_btree::CommitTs;

/// The memory of a segment grows to this in one step when it gets near, which is little more than a full segment
/// needs.
const TYPICAL_BYTES: usize = 66 << 10;
const HEADER: usize = 36;
const FIRST: u64 = 1 << 63;
const DELETED: u32 = u32::MAX;
/// The maximum size of a segment, whose offsets have 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// Hashes a row's table and key.
pub(super) type RowHash<'a> = &'a dyn Fn(TableId, &[u8]) -> u64;

#[derive(Debug, Default)]
pub(super) struct Segment {
    bytes: Vec<u8>,
    /// The offset of the newest version of each row.
    rows: HashTable<u32>,
    versions: u64,
    newest_end: CommitTs,
}

impl Segment {
    /// Adds a version, unless the row's newest version has the same end.
    pub(super) fn push(&mut self, version: &Version<'_>, hash: RowHash<'_>) -> bool {
        let Segment { bytes, rows, .. } = self;
        let of_row = |&at: &u32| row_at(bytes, at).is_some_and(|row| row == (version.table, version.key));
        let rehash = |&at: &u32| hash_at(bytes, at, hash);
        let entry = rows.entry(hash(version.table, version.key), of_row, rehash);
        let at = bytes.len() as u32;
        let older = match entry {
            hashbrown::hash_table::Entry::Occupied(mut entry) => {
                let newest = std::mem::replace(entry.get_mut(), at);
                if decode(bytes, newest).is_some_and(|(newest, _)| newest.end == version.end) {
                    *entry.get_mut() = newest;
                    return false;
                }
                newest + 1
            }
            hashbrown::hash_table::Entry::Vacant(entry) => {
                entry.insert(at);
                0
            }
        };
        self.reserve(version.bytes());
        encode(&mut self.bytes, version, older);
        self.versions += 1;
        self.newest_end = self.newest_end.max(version.end);
        true
    }

    fn reserve(&mut self, more: usize) {
        let (capacity, needed) = (self.bytes.capacity(), self.bytes.len() + more);
        if needed > capacity {
            let double = 2 * capacity;
            let near = (TYPICAL_BYTES / 2..TYPICAL_BYTES).contains(&capacity);
            let target = if near { TYPICAL_BYTES } else { double };
            self.bytes.reserve_exact(target.max(needed) - self.bytes.len());
        }
    }

    /// Returns whether there is room for `bytes` more.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= MOST_BYTES
    }

    /// The versions of a row, newest first.
    pub(super) fn of_row<'a>(
        &'a self,
        hash: u64,
        table: TableId,
        key: &[u8],
    ) -> impl Iterator<Item = Version<'a>> + use<'a> {
        let of_row = |&at: &u32| row_at(&self.bytes, at).is_some_and(|row| row == (table, key));
        self.chain(self.rows.find(hash, of_row).copied())
    }

    /// The offset of one version of every row, in any order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().copied()
    }

    /// The table and key of the version at an offset.
    pub(super) fn row(&self, offset: u32) -> Option<(TableId, &[u8])> {
        row_at(&self.bytes, offset)
    }

    /// All versions; those of each row come oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = Version<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (version, _) = decode(&self.bytes, at)?;
            at += version.bytes() as u32;
            Some(version)
        })
    }

    fn chain(&self, newest: Option<u32>) -> impl Iterator<Item = Version<'_>> {
        let mut next = newest;
        std::iter::from_fn(move || {
            let (version, older) = decode(&self.bytes, next?)?;
            next = older.checked_sub(1);
            Some(version)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.versions == 0
    }

    /// The number of versions.
    pub(super) fn versions(&self) -> u64 {
        self.versions
    }

    /// The size of the versions in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The memory of the segment in bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.rows.allocation_size()) as u64
    }

    /// The newest end of a version. Once no snapshot needs versions that ended by then, nobody needs the segment.
    pub(super) fn newest_end(&self) -> CommitTs {
        self.newest_end
    }

    /// Returns unused memory.
    pub(super) fn shrink(&mut self, hash: RowHash<'_>) {
        self.bytes.shrink_to_fit();
        let bytes = &self.bytes;
        self.rows.shrink_to_fit(|&at| hash_at(bytes, at, hash));
    }
}

impl Version<'_> {
    /// The size of the version in a segment, in bytes.
    pub(super) fn bytes(&self) -> usize {
        HEADER + self.key.len() + self.payload.map_or(0, <[u8]>::len)
    }
}

fn encode(bytes: &mut Vec<u8>, version: &Version<'_>, older: u32) {
    let begin = version.begin.0 | if version.first { FIRST } else { 0 };
    let payload = version.payload.map_or(DELETED, |payload| payload.len() as u32);
    bytes.extend_from_slice(&older.to_le_bytes());
    bytes.extend_from_slice(&payload.to_le_bytes());
    bytes.extend_from_slice(&begin.to_le_bytes());
    bytes.extend_from_slice(&version.end.0.to_le_bytes());
    bytes.extend_from_slice(&version.table.0.to_le_bytes());
    bytes.extend_from_slice(&(version.key.len() as u32).to_le_bytes());
    bytes.extend_from_slice(version.key);
    bytes.extend_from_slice(version.payload.unwrap_or_default());
}

/// Decodes the version at an offset. Returns it, and 1 + the offset of the version before it; `None` at the end.
fn decode(bytes: &[u8], at: u32) -> Option<(Version<'_>, u32)> {
    let (header, rest) = bytes.get(at as usize..)?.split_first_chunk::<HEADER>()?;
    let u32_at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let u64_at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (payload, begin) = (u32_at(4)?, u64_at(8)?);
    let (key, rest) = rest.split_at_checked(u32_at(32)? as usize)?;
    let version = Version {
        table: TableId(u64_at(24)?),
        key,
        begin: CommitTs(begin & !FIRST),
        end: CommitTs(u64_at(16)?),
        first: begin & FIRST != 0,
        payload: if payload == DELETED { None } else { Some(rest.get(..payload as usize)?) },
    };
    Some((version, u32_at(0)?))
}

fn hash_at(bytes: &[u8], at: u32, hash: RowHash<'_>) -> u64 {
    let (table, key) = row_at(bytes, at).expect("the rows are where their newest versions are");
    hash(table, key)
}

fn row_at(bytes: &[u8], at: u32) -> Option<(TableId, &[u8])> {
    let (header, rest) = bytes.get(at as usize..)?.split_first_chunk::<HEADER>()?;
    let table = header.get(24..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
    let key = header.get(32..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    Some((TableId(table), rest.get(..key as usize)?))
}
