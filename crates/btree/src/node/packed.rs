//! Packed cells, the targets of the slots of a packed leaf.
//!
//! A slot of a packed leaf leads to a packed cell, which holds 1 to 16 neighbouring entries with the same flags and
//! timestamp. A packed cell has a *column* of key suffixes and, if there are any, a column of payloads: the first
//! value is stored whole, each other value as its difference to the one before. So the slots are searched like those
//! of any node.
//!
//! ```text
//! slot:  4  head of the first key       2  offset of the cell      2  number of entries before it on the leaf
//!
//! cell:  1  bits 0-3 entries - 1; bits 4-7 flags of all of them, as in the slot of a plain leaf
//!        6  commit timestamp            if HAS_TS
//!           column of suffixes          [column of payloads]               if HAS_PAYLOAD
//!           first suffix                [first payload]                    if HAS_PAYLOAD
//!           of each other entry: difference of the suffix                  [difference of the payload]      if HAS_PAYLOAD
//!
//! column:     n  length of the first value  (number)
//!             1  bits 0-3 K, bits 4-7 T      if there is more than one entry
//!             n  S: shared bytes             if there is more than one entry (number)
//!
//! difference: 1  bits 0-3 own bytes m, bits 4-7 bytes kept of the value before, less S; 15: add the number that
//! follows, the kept first
//!             m  own bytes        T - K  end of the tail
//!
//! number: one byte below 128; else two, the first with the top bit, big-endian, less 128
//! ```
//!
//! A value consists of the bytes that it keeps of the one before, its own bytes, and a tail of T bytes, at most 8, of
//! which the first K are those of the tail of the first value. So if each entry has another key followed by a similar
//! locator, only the bytes that differ are stored, and no field says where the locator begins. Of duplicates of one
//! key only the differing bytes of the locators are stored, with T = 0. The payloads of indexes are the parts of
//! strings that keys do not give back; neighbours have much of them in common, too.

use leafline_storage::PAGE_HEADER;

use super::layout::{HAS_PAYLOAD, NodeFault, NodeResult, TIMESTAMP, u48_bytes};
use super::source::Source;
use crate::entry::{CommitTs, EntryFlags};

/// Most entries of a packed cell.
pub const MAX_CELL_ENTRIES: usize = 16;
/// Longest tail that is searched for.
pub(super) const MAX_TAIL: usize = 8;
/// Value of a nibble if the rest follows as a number.
pub(super) const MORE: usize = 15;

pub(super) const OUTSIDE: NodeFault = NodeFault("packed cell outside the page");
/// Slots and packed cells disagree.
pub(crate) const MISCOUNTED: NodeFault = NodeFault("entries miscounted");
pub(crate) const SHORT_KEY: NodeFault = NodeFault("key shorter than the prefix of its node");

/// Returns the longest key with its payload that shares a packed cell with others. Breaking a packed cell writes up
/// to two more keys in full.
pub(super) fn packable_len(page_size: usize) -> usize {
    page_size / 64
}

/// Returns the bytes of differences from which on a packed cell is full. Splits go between packed cells.
pub(super) fn packed_cell_bytes(page_size: usize) -> usize {
    page_size / 16
}

/// A packed cell with its header decoded. The column headers and first values are within the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedCell {
    pub count: usize,
    /// The flags of all entries, with `HAS_PAYLOAD`.
    pub flags: u8,
    pub commit_ts: CommitTs,
    pub keys: Column,
    /// A column of empty values if there is no payload.
    pub payloads: Column,
    /// Offset of the first difference.
    pub rest: usize,
}

/// The keys of a packed cell, or its payloads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Column {
    /// Offset and length of the first value.
    pub at: usize,
    pub len: usize,
    /// S, T and K.
    pub shared: usize,
    pub tail: usize,
    pub kept: usize,
}

/// A decoded difference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    /// Bytes kept of the value before.
    pub from: usize,
    pub own: usize,
    pub own_at: usize,
    /// Offset of the byte behind the difference.
    pub next: usize,
}

/// Reads the number at `at`. Returns it and the offset of its end.
#[inline]
fn number<S: Source>(source: S, at: usize) -> (usize, usize) {
    match source.byte(at) {
        one @ 0..128 => (one, at + 1),
        first => (((first & 0x7f) << 8 | source.byte(at + 1)) + 128, at + 2),
    }
}

pub(super) fn put_number(out: &mut Vec<u8>, value: usize) {
    match value.checked_sub(128) {
        None => out.push(value as u8),
        Some(rest) => out.extend_from_slice(&(rest as u16 | 0x8000).to_be_bytes()),
    }
}

pub(super) fn number_len(value: usize) -> usize {
    1 + usize::from(value >= 128)
}

impl Column {
    /// Reads the header at `at` of a column with `count` values. Returns it and the offset of its end.
    #[inline]
    fn read<S: Source>(source: S, at: usize, count: usize) -> NodeResult<(Column, usize)> {
        let (len, mut at) = number(source, at);
        let mut column = Column { len, ..Column::default() };
        if count > 1 {
            let nibbles = source.byte(at);
            (column.kept, column.tail) = (nibbles & 15, nibbles >> 4);
            (column.shared, at) = number(source, at + 1);
            let Column { shared, tail, kept, .. } = column;
            if kept > tail || tail > MAX_TAIL || tail > len || shared > len {
                return Err(NodeFault("tail of a packed cell longer than its key"));
            }
        }
        Ok((column, at))
    }

    /// Writes the header of a column with `count` values.
    pub fn put_header(&self, count: usize, out: &mut Vec<u8>) {
        put_number(out, self.len);
        if count > 1 {
            out.push((self.kept | self.tail << 4) as u8);
            put_number(out, self.shared);
        }
    }

    /// Reads the difference at `at`, of a value behind one of `before` bytes.
    #[inline(always)]
    pub fn difference<S: Source>(&self, source: S, at: usize, before: usize) -> NodeResult<Difference> {
        let it = self.unchecked(source, at);
        if it.from > before || it.next > source.size() { Err(OUTSIDE) } else { Ok(it) }
    }

    /// Reads the difference at `at` without checking that it is possible.
    #[inline(always)]
    fn unchecked<S: Source>(&self, source: S, at: usize) -> Difference {
        let nibbles = source.byte(at);
        let (mut own, mut from) = (nibbles & 15, nibbles >> 4);
        let mut at = at + 1;
        if from == MORE {
            let (rest, next) = number(source, at);
            (from, at) = (from + rest, next);
        }
        if own == MORE {
            let (rest, next) = number(source, at);
            (own, at) = (own + rest, next);
        }
        Difference { from: from + self.shared, own, own_at: at, next: at + own + self.own_tail() }
    }

    /// Returns the bytes of the tail that a difference stores.
    #[inline]
    pub fn own_tail(&self) -> usize {
        self.tail - self.kept
    }

    /// Returns the offset, in the first value, of the beginning of all tails.
    #[inline]
    pub fn kept_at(&self) -> usize {
        self.at + self.len - self.tail
    }

    /// Replaces the value before the difference `it` by the value that it describes.
    fn follow<S: Source>(&self, source: S, it: &Difference, value: &mut Vec<u8>) -> NodeResult<()> {
        if it.from > value.len() || it.next > source.size() {
            return Err(OUTSIDE);
        }
        value.truncate(it.from);
        let tail_at = it.own_at + it.own;
        for (at, len) in [(it.own_at, it.own), (self.kept_at(), self.kept), (tail_at, self.own_tail())] {
            let end = value.len();
            value.resize(end + len, 0);
            source.copy(at, &mut value[end..]);
        }
        Ok(())
    }
}

impl PackedCell {
    /// Reads the header of the packed cell at `offset`.
    #[inline]
    pub fn read<S: Source>(source: S, offset: usize) -> NodeResult<PackedCell> {
        let size = source.size();
        if offset + 1 > size || offset < PAGE_HEADER {
            return Err(OUTSIDE);
        }
        let first = source.byte(offset);
        let (count, flags) = ((first & 15) + 1, (first >> 4) as u8);
        let mut at = offset + 1;
        let mut commit_ts = CommitTs::NONE;
        if flags & EntryFlags::HAS_TS.0 != 0 {
            commit_ts = CommitTs(source.u64(at) & CommitTs::MAX.0);
            at += TIMESTAMP;
        }
        let (mut keys, mut at) = Column::read(source, at, count)?;
        let mut payloads = Column::default();
        if flags & HAS_PAYLOAD != 0 {
            (payloads, at) = Column::read(source, at, count)?;
        }
        keys.at = at;
        payloads.at = at + keys.len;
        let rest = payloads.at + payloads.len;
        if rest > size {
            Err(OUTSIDE)
        } else {
            Ok(PackedCell { count, flags, commit_ts, keys, payloads, rest })
        }
    }

    /// Returns whether the entries have payloads.
    #[inline]
    pub fn has_payloads(&self) -> bool {
        self.flags & HAS_PAYLOAD != 0
    }

    /// Returns the offset behind the payload whose difference is at `at`, if there is one.
    #[inline(always)]
    fn behind_payload<S: Source>(&self, source: S, at: usize) -> usize {
        if self.has_payloads() { self.payloads.unchecked(source, at).next } else { at }
    }

    /// Returns the public flags of the entries.
    #[inline]
    pub fn entry_flags(&self) -> EntryFlags {
        EntryFlags(self.flags & EntryFlags::ALL)
    }

    /// Returns the first entry of the packed cell whose suffix is at least `suffix`, which is above that of the first
    /// entry; and whether it is equal.
    ///
    /// An entry that first differs from the one before it behind the place where that one differs from `suffix`
    /// compares like that one. So mostly only the headers of differences are read.
    pub fn find<S: Source>(&self, source: S, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        let keys = &self.keys;
        let mut matched = source.common(keys.at, keys.len, suffix);
        if matched < keys.shared {
            return Ok((self.count, false));
        }
        let mut at = self.rest;
        'entries: for index in 1..self.count {
            let it = keys.unchecked(source, at);
            at = self.behind_payload(source, it.next);
            if it.from > matched {
                continue;
            }
            if it.next > source.size() {
                return Err(OUTSIDE);
            }
            matched = it.from;
            let tail_at = it.own_at + it.own;
            let pieces = [(it.own_at, it.own), (keys.kept_at(), keys.kept), (tail_at, keys.own_tail())];
            for (piece, bytes) in pieces {
                let same = source.common(piece, bytes, &suffix[matched..]);
                matched += same;
                if same < bytes {
                    match suffix.get(matched) {
                        Some(wanted) if source.byte(piece + same) < usize::from(*wanted) => {
                            continue 'entries;
                        }
                        _ => return Ok((index, false)),
                    }
                }
            }
            if matched == suffix.len() {
                return Ok((index, true));
            }
        }
        Ok((self.count, false))
    }

    /// Replaces `payload` by the payload of an entry.
    pub fn payload_into<S: Source>(&self, source: S, index: usize, payload: &mut Vec<u8>) -> NodeResult<()> {
        payload.clear();
        if index >= self.count {
            return Err(MISCOUNTED);
        }
        if !self.has_payloads() {
            return Ok(());
        }
        payload.resize(self.payloads.len, 0);
        source.copy(self.payloads.at, payload);
        let mut at = self.rest;
        for _ in 0..index {
            let it = self.payloads.unchecked(source, self.keys.unchecked(source, at).next);
            self.payloads.follow(source, &it, payload)?;
            at = it.next;
        }
        Ok(())
    }

    /// Returns the offset of the end of the packed cell.
    pub fn end<S: Source>(&self, source: S) -> NodeResult<usize> {
        let mut at = self.rest;
        for _ in 1..self.count {
            at = self.behind_payload(source, self.keys.unchecked(source, at).next);
        }
        if at > source.size() { Err(OUTSIDE) } else { Ok(at) }
    }

    /// Writes the packed cell with `cut` bytes less at the front of all keys, or with `more` bytes before them.
    /// Returns false if it has to be laid out anew.
    pub fn copy_to(&self, page: &[u8], cut: usize, more: &[u8], out: &mut Vec<u8>) -> NodeResult<bool> {
        let end = self.end(page)?;
        if cut > self.keys.len {
            return Err(SHORT_KEY);
        }
        let len = self.keys.len - cut + more.len();
        if self.count > 1 && (cut > self.keys.shared || self.keys.tail > len) {
            return Ok(false);
        }
        let shared = (self.keys.shared + more.len()).saturating_sub(cut);
        PackedCell { keys: Column { len, shared, ..self.keys }, ..*self }.put_header(out);
        out.extend_from_slice(more);
        out.extend_from_slice(page.get(self.keys.at + cut..end).ok_or(OUTSIDE)?);
        Ok(true)
    }

    /// Writes the bytes before the first suffix.
    pub fn put_header(&self, out: &mut Vec<u8>) {
        out.push((self.count - 1) as u8 | self.flags << 4);
        if self.flags & EntryFlags::HAS_TS.0 != 0 {
            out.extend_from_slice(&u48_bytes(self.commit_ts.0));
        }
        self.keys.put_header(self.count, out);
        if self.has_payloads() {
            self.payloads.put_header(self.count, out);
        }
    }
}
