//! Runs: what the slots of a packed leaf lead to.
//!
//! A slot of a packed leaf leads to a run of 1 to 16 neighbours with the same flags and timestamp. Of the first, the key suffix is
//! whole: the slots are searched as those of any node. Each of the others is the difference to the one before.
//!
//! ```text
//! slot:  4  head of the first key       2  offset of the run       2  number of entries before it on the leaf
//!
//! run:   1  bits 0-3 entries - 1; bits 4-7 flags of all of them, as in the slot of a plain leaf
//!        6  commit timestamp            if HAS_TS
//!        n  length of the first suffix  (number)
//!        1  bits 0-3 K, bits 4-7 T      if there is more than one entry
//!        n  S: shared bytes             if there is more than one entry (number)
//!           first suffix                [number: payload length, payload]     if HAS_PAYLOAD
//!           differences
//!
//! difference: 1  bits 0-3 own bytes m, bits 4-7 bytes kept of the suffix before, less S; 15: add the number that follows, the kept first
//!             m  own bytes        T - K  end of the tail       [number: payload length, payload]     if HAS_PAYLOAD
//!
//! number: one byte below 128; else two, the first with the top bit, big-endian, less 128
//! ```
//!
//! A suffix is what it keeps of the one before, its own bytes, and a tail of T bytes, the first K of which are those of the tail of the first
//! suffix. A locator behind a key that differs from entry to entry so costs only the bytes in which it differs, and nobody has to say
//! where it begins; of duplicates of one key nothing but those bytes is stored, with T = 0.

use leafline_storage::PAGE_HEADER;

use super::layout::{HAS_PAYLOAD, NodeFault, NodeResult, SLOT, TIMESTAMP, common_prefix, u48_bytes};
use super::source::Source;
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Most entries of a run.
pub const RUN: usize = 16;
/// Longest tail that is looked for.
const MAX_TAIL: usize = 8;
/// What a nibble says where the rest follows as a number.
pub(super) const MORE: usize = 15;

pub(super) const OUTSIDE: NodeFault = NodeFault("run outside the page");
/// Slots and runs do not say the same.
pub(crate) const MISCOUNTED: NodeFault = NodeFault("entries miscounted");

/// Longest key with its payload that shares a run with others. Breaking a run writes up to two more keys out.
pub(super) fn packable_len(page_size: usize) -> usize {
    page_size / 64
}

/// Bytes of differences from which on a run is full: splits go between runs.
pub(super) fn run_bytes(page_size: usize) -> usize {
    page_size / 16
}

/// A run, its header read; what it refers to is within the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub count: usize,
    /// Those of all entries, with HAS_PAYLOAD.
    pub flags: u8,
    pub commit_ts: CommitTs,
    pub tail: usize,
    pub kept: usize,
    pub shared: usize,
    pub suffix_at: usize,
    pub suffix_len: usize,
    /// Of the first entry.
    pub payload_at: usize,
    pub payload_len: usize,
    /// Where the first difference is.
    pub rest: usize,
}

/// A difference, read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    /// Bytes kept of the suffix before.
    pub from: usize,
    pub own: usize,
    pub own_at: usize,
    pub payload_at: usize,
    pub payload_len: usize,
    /// Where the next one is.
    pub next: usize,
}

/// The number at `at`, and where it ends.
#[inline]
fn number<S: Source>(source: S, at: usize) -> (usize, usize) {
    match source.byte(at) {
        one @ 0..128 => (one, at + 1),
        first => (((first & 0x7f) << 8 | source.byte(at + 1)) + 128, at + 2),
    }
}

fn put_number(out: &mut Vec<u8>, value: usize) {
    match value.checked_sub(128) {
        None => out.push(value as u8),
        Some(rest) => out.extend_from_slice(&(rest as u16 | 0x8000).to_be_bytes()),
    }
}

fn number_len(value: usize) -> usize {
    1 + usize::from(value >= 128)
}

impl Run {
    /// The run at `offset`.
    #[inline]
    pub fn read<S: Source>(source: S, offset: usize) -> NodeResult<Run> {
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
        let (suffix_len, mut at) = number(source, at);
        let (mut tail, mut kept, mut shared) = (0, 0, 0);
        if count > 1 {
            let nibbles = source.byte(at);
            (kept, tail) = (nibbles & 15, nibbles >> 4);
            (shared, at) = number(source, at + 1);
            if kept > tail || tail > MAX_TAIL || tail > suffix_len || shared > suffix_len {
                return Err(NodeFault("tail of a run longer than its key"));
            }
        }
        let mut run = Run {
            count,
            flags,
            commit_ts,
            tail,
            kept,
            shared,
            suffix_at: at,
            suffix_len,
            payload_at: at + suffix_len,
            payload_len: 0,
            rest: at + suffix_len,
        };
        (run.payload_at, run.payload_len, run.rest) = run.payload(source, run.rest);
        if run.rest > size { Err(OUTSIDE) } else { Ok(run) }
    }

    /// Where the payload is whose length is at `at`, if there is one, how long, and where it ends.
    #[inline(always)]
    fn payload<S: Source>(&self, source: S, at: usize) -> (usize, usize, usize) {
        match self.flags & HAS_PAYLOAD {
            0 => (at, 0, at),
            _ => {
                let (len, at) = number(source, at);
                (at, len, at + len)
            }
        }
    }

    /// The difference at `at`, of an entry behind one with a suffix of `before` bytes.
    #[inline(always)]
    pub fn difference<S: Source>(&self, source: S, at: usize, before: usize) -> NodeResult<Difference> {
        let it = self.unchecked(source, at);
        if it.from > before || it.next > source.size() { Err(OUTSIDE) } else { Ok(it) }
    }

    /// The difference at `at`; what it says need not be possible.
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
        let tail_end = at + own + self.tail - self.kept;
        let (payload_at, payload_len, next) = self.payload(source, tail_end);
        Difference { from: from + self.shared, own, own_at: at, payload_at, payload_len, next }
    }

    /// What the tails begin with, in the first suffix.
    #[inline]
    pub fn kept_at(&self) -> usize {
        self.suffix_at + self.suffix_len - self.tail
    }

    /// The public flags of the entries.
    #[inline]
    pub fn entry_flags(&self) -> EntryFlags {
        EntryFlags(self.flags & EntryFlags::ALL)
    }

    /// First entry of the run whose suffix is at least `suffix`, which is above that of the first; and whether it is equal.
    ///
    /// What differs from the one before it behind the place where that one differs from `suffix` compares as that one does, so that mostly
    /// nothing but the headers of differences is read.
    pub fn find<S: Source>(&self, source: S, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        let mut matched = source.common(self.suffix_at, self.suffix_len, suffix);
        if matched < self.shared {
            return Ok((self.count, false));
        }
        let mut at = self.rest;
        'entries: for index in 1..self.count {
            let it = self.unchecked(source, at);
            at = it.next;
            if it.from > matched {
                continue;
            }
            if it.own_at + it.own + self.tail - self.kept > source.size() {
                return Err(OUTSIDE);
            }
            matched = it.from;
            let tail_at = it.own_at + it.own;
            let pieces = [(it.own_at, it.own), (self.kept_at(), self.kept), (tail_at, self.tail - self.kept)];
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

    /// Where the payload of an entry is, and how long.
    pub fn payload_of<S: Source>(&self, source: S, index: usize) -> NodeResult<(usize, usize)> {
        if self.flags & HAS_PAYLOAD == 0 {
            return Ok((self.payload_at, 0));
        }
        let (mut at, mut len) = (self.rest, self.suffix_len);
        let mut found = (self.payload_at, self.payload_len);
        if index >= self.count {
            return Err(MISCOUNTED);
        }
        for _ in 0..index {
            let it = self.difference(source, at, len)?;
            at = it.next;
            len = it.from + it.own + self.tail;
            found = (it.payload_at, it.payload_len);
        }
        Ok(found)
    }

    /// Where the run ends.
    pub fn end<S: Source>(&self, source: S) -> NodeResult<usize> {
        let (mut at, mut len) = (self.rest, self.suffix_len);
        for _ in 1..self.count {
            let it = self.difference(source, at, len)?;
            at = it.next;
            len = it.from + it.own + self.tail;
        }
        Ok(at)
    }

    /// Writes the run with `cut` bytes less at the front of all keys, or with `more` bytes before them; false if it has to be laid out anew.
    pub fn copy_to(&self, page: &[u8], cut: usize, more: &[u8], out: &mut Vec<u8>) -> NodeResult<bool> {
        let end = self.end(page)?;
        if cut > self.suffix_len {
            return Err(NodeFault("key shorter than the prefix of its node"));
        }
        let len = self.suffix_len - cut + more.len();
        if self.count > 1 && (cut > self.shared || self.tail > len) {
            return Ok(false);
        }
        self.put_header(self.count, len, (self.shared + more.len()).saturating_sub(cut), out);
        out.extend_from_slice(more);
        out.extend_from_slice(page.get(self.suffix_at + cut..end).ok_or(OUTSIDE)?);
        Ok(true)
    }

    fn put_header(&self, count: usize, suffix_len: usize, shared: usize, out: &mut Vec<u8>) {
        out.push((count - 1) as u8 | self.flags << 4);
        if self.flags & EntryFlags::HAS_TS.0 != 0 {
            out.extend_from_slice(&u48_bytes(self.commit_ts.0));
        }
        put_number(out, suffix_len);
        if count > 1 {
            out.push((self.kept | self.tail << 4) as u8);
            put_number(out, shared);
        }
    }
}

/// Entries with the same flags and timestamp that are to become a run.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    keys: Vec<u8>,
    key_ends: [usize; RUN],
    payloads: Vec<u8>,
    payload_ends: [usize; RUN],
    count: usize,
    /// The tail of the run that the entries come from, and how much of it is kept: where it still does, another is not looked for.
    tail_before: (usize, usize),
    flags: EntryFlags,
    commit_ts: CommitTs,
    /// Bound of the bytes of the differences.
    bytes: usize,
    /// The entry is too long for others to join it.
    alone: bool,
}

impl Gathered {
    pub fn len(&self) -> usize {
        self.count
    }

    /// The entries that come are those of `run`, changed.
    pub fn continue_run(&mut self, run: &Run) {
        self.tail_before = (run.tail, run.kept);
    }

    fn key(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.key_ends[index - 1] };
        &self.keys[start..self.key_ends[index]]
    }

    fn payload(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.payload_ends[index - 1] };
        &self.payloads[start..self.payload_ends[index]]
    }

    /// Adds an entry with suffix `head` + `tail`, unless it does not belong to the run: it has other flags, or there is no room.
    /// `cut` bytes of its key are in the prefix of the leaf.
    pub fn add(
        &mut self,
        page_size: usize,
        cut: usize,
        suffix: (&[u8], &[u8]),
        entry: EntryView<'_>,
    ) -> bool {
        let key_len = cut + suffix.0.len() + suffix.1.len();
        let alone = key_len + entry.payload.len() > packable_len(page_size);
        if self.len() > 0 {
            let same = self.flags == entry.flags && self.commit_ts == entry.commit_ts;
            match self.with(page_size, suffix, entry.payload.len()) {
                Some(bytes) if same && !alone => self.bytes = bytes,
                _ => return false,
            }
        }
        (self.flags, self.commit_ts, self.alone) = (entry.flags, entry.commit_ts, alone);
        self.keys.extend_from_slice(suffix.0);
        self.keys.extend_from_slice(suffix.1);
        self.key_ends[self.count] = self.keys.len();
        self.payloads.extend_from_slice(entry.payload);
        self.payload_ends[self.count] = self.payloads.len();
        self.count += 1;
        true
    }

    /// Bound of the bytes of differences with another entry; `None` if there is no room for it.
    fn with(&self, page_size: usize, (head, tail): (&[u8], &[u8]), payload_len: usize) -> Option<usize> {
        if self.alone || self.len() == RUN {
            return None;
        }
        let last = self.key(self.len().checked_sub(1)?);
        let kept = match common_prefix(last, head) {
            kept if kept == head.len() => kept + common_prefix(&last[kept..], tail),
            kept => kept,
        };
        let own = head.len() + tail.len() - kept;
        let bytes = self.bytes + difference_bound(own) + number_len(payload_len) + payload_len;
        (bytes <= run_bytes(page_size)).then_some(bytes)
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.payloads.clear();
        (self.count, self.bytes, self.alone) = (0, 0, false);
    }

    /// Writes the run.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let count = self.len();
        out.reserve(self.keys.len() + self.payloads.len() + 6 * count + 12);
        // Bytes that each suffix has in common with the one before.
        let mut common = [0; RUN];
        for (index, common) in common.iter_mut().enumerate().take(count).skip(1) {
            *common = common_prefix(self.key(index - 1), self.key(index));
        }
        let (tail, kept) = match self.tail_before {
            (tail, kept) if kept > 0 && self.keeps(tail, kept) => (tail, kept),
            _ => self.tail(&common),
        };
        let from = |index: usize| common[index].min(self.key(index).len() - tail);
        let shared = (1..count).map(from).min().unwrap_or(0);
        let payload = if self.payloads.is_empty() { 0 } else { HAS_PAYLOAD };
        let flags = self.flags.0 | payload;
        let first = self.key(0);
        let header = Run {
            count,
            flags,
            commit_ts: self.commit_ts,
            tail,
            kept,
            shared,
            suffix_at: 0,
            suffix_len: first.len(),
            payload_at: 0,
            payload_len: 0,
            rest: 0,
        };
        header.put_header(count, first.len(), shared, out);
        for index in 0..count {
            let key = self.key(index);
            if index == 0 {
                out.extend_from_slice(key);
            } else {
                let from = from(index);
                let own = key.len() - tail - from;
                out.push((own.min(MORE) | (from - shared).min(MORE) << 4) as u8);
                for part in [from - shared, own] {
                    if let Some(rest) = part.checked_sub(MORE) {
                        put_number(out, rest);
                    }
                }
                out.extend_from_slice(&key[from..from + own]);
                out.extend_from_slice(&key[key.len() - tail + kept..]);
            }
            if payload != 0 {
                let payload = self.payload(index);
                put_number(out, payload.len());
                out.extend_from_slice(payload);
            }
        }
    }

    /// Whether all suffixes have that much of a tail in common.
    fn keeps(&self, tail: usize, kept: usize) -> bool {
        let of = |index: usize| {
            let key = self.key(index);
            key.get(key.len().checked_sub(tail)?..)?.get(..kept)
        };
        let first = of(0);
        first.is_some() && (1..self.len()).all(|index| of(index) == first)
    }

    /// The tail, and how much of it is kept, that cost least.
    fn tail(&self, common: &[usize; RUN]) -> (usize, usize) {
        let count = self.len();
        let shortest = (0..count).map(|index| self.key(index).len()).min().unwrap_or(0);
        let cost = |tail: usize, kept: usize| {
            let from = |index: usize| common[index].min(self.key(index).len() - tail);
            let shared = (1..count).map(from).min().unwrap_or(0);
            let difference = |index: usize| {
                let own = self.key(index).len() - tail - from(index);
                difference_len(from(index) - shared, own, tail - kept)
            };
            (1..count).map(difference).sum::<usize>() + number_len(shared)
        };
        let first = self.key(0);
        let mut best = (0, 0);
        let mut least = cost(0, 0);
        for tail in 1..=MAX_TAIL.min(shortest) {
            if least <= 2 * (count - 1) {
                break;
            }
            let of_first = &first[first.len() - tail..];
            let kept_by = |index: usize| {
                let key = self.key(index);
                common_prefix(of_first, &key[key.len() - tail..])
            };
            let kept = (1..count).map(kept_by).min().unwrap_or(0);
            if kept > 0 && cost(tail, kept) < least {
                (best, least) = ((tail, kept), cost(tail, kept));
            }
        }
        best
    }
}

/// Bound of the bytes of a difference with `own` bytes, however many it keeps. That it does not depend on those keeps runs together when the
/// prefix of their leaf changes: laid out anew, they take no more room.
fn difference_bound(own: usize) -> usize {
    2 + difference_len(0, own, 0)
}

/// Bytes of a difference that keeps `kept` bytes beyond the shared ones, has `own` bytes and `tail` of the tail.
fn difference_len(kept: usize, own: usize, tail: usize) -> usize {
    let more = |part: usize| part.checked_sub(MORE).map_or(0, number_len);
    1 + more(kept) + more(own) + own + tail
}

/// Bytes that settled entries take as runs with whole keys: of full runs exactly, of the last one a bound.
pub struct PackedSize {
    page_size: usize,
    gathered: Gathered,
    scratch: Vec<u8>,
    full: usize,
    slots: usize,
}

impl PackedSize {
    /// Of no entries.
    pub fn new(page_size: usize) -> PackedSize {
        PackedSize { page_size, gathered: Gathered::default(), scratch: Vec::new(), full: 0, slots: 0 }
    }

    /// Bytes and slots.
    pub fn get(&self) -> (usize, usize) {
        match self.gathered.len() {
            0 => (self.full, self.slots),
            _ => (self.full + self.first() + self.gathered.bytes, self.slots + 1),
        }
    }

    /// Bound of what the first entry of the run that is not full takes.
    fn first(&self) -> usize {
        first_len(self.gathered.key(0).len(), self.gathered.payload(0).len())
    }

    /// As [`get`](Self::get), with another entry.
    pub fn with(&self, key: &[u8], payload_len: usize) -> (usize, usize) {
        match self.gathered.with(self.page_size, (&[], key), payload_len) {
            Some(bytes) => (self.full + self.first() + bytes, self.slots + 1),
            None => {
                let (bytes, slots) = self.get();
                (bytes + first_len(key.len(), payload_len), slots + 1)
            }
        }
    }

    /// Adds an entry.
    pub fn add(&mut self, key: &[u8], payload: &[u8]) {
        let entry = EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload };
        if self.gathered.add(self.page_size, 0, (&[], key), entry) {
            return;
        }
        self.scratch.clear();
        self.gathered.encode(&mut self.scratch);
        self.full += self.scratch.len() + SLOT;
        self.slots += 1;
        self.gathered.clear();
        self.gathered.add(self.page_size, 0, (&[], key), entry);
    }
}

/// Bound of the bytes of slot, header and first entry of a run.
fn first_len(key_len: usize, payload_len: usize) -> usize {
    // Number of entries, tail, and three numbers.
    SLOT + 8 + key_len + payload_len
}
