//! Gathers consecutive entries into packed cells of packed leaves ([`super::packed`]).

use super::layout::{HAS_PAYLOAD, SLOT, common_prefix};
use super::packed::{
    Column, MAX_CELL_ENTRIES, MAX_TAIL, MORE, PackedCell, number_len, packable_len, packed_cell_bytes,
    put_number,
};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Entries with the same flags and timestamp that will become a packed cell.
#[derive(Debug, Default)]
pub(super) struct CollectedEntries {
    keys: Values,
    payloads: Values,
    flags: EntryFlags,
    commit_ts: CommitTs,
    /// Bound of the bytes of the differences.
    bytes: usize,
    /// Whether the entry is too long for others to join it.
    alone: bool,
}

/// Values that will become a column.
#[derive(Debug, Default)]
struct Values {
    bytes: Vec<u8>,
    ends: [usize; MAX_CELL_ENTRIES],
    count: usize,
    /// The tail of the column that the values come from, and how much of it is kept. As long as the values keep it,
    /// no other tail is searched.
    tail_before: (usize, usize),
}

/// The encoding of a column: its header, and the bytes that each value has in common with the one before.
struct Plan {
    column: Column,
    common: [usize; MAX_CELL_ENTRIES],
}

impl Values {
    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    fn push(&mut self, (head, tail): (&[u8], &[u8])) {
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(tail);
        self.ends[self.count] = self.bytes.len();
        self.count += 1;
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Returns a bound of the bytes of the difference of a value `head` + `tail` behind the present values, of which
    /// there is at least one.
    fn bound_of_next(&self, (head, tail): (&[u8], &[u8])) -> usize {
        let last = self.get(self.count - 1);
        let kept = match common_prefix(last, head) {
            kept if kept == head.len() => kept + common_prefix(&last[kept..], tail),
            kept => kept,
        };
        difference_bound(head.len() + tail.len() - kept)
    }

    fn plan(&self) -> Plan {
        // The bytes that each value has in common with the one before.
        let mut common = [0; MAX_CELL_ENTRIES];
        for (index, common) in common.iter_mut().enumerate().take(self.count).skip(1) {
            *common = common_prefix(self.get(index - 1), self.get(index));
        }
        let (tail, kept) = match self.tail_before {
            (tail, kept) if kept > 0 && self.keeps(tail, kept) => (tail, kept),
            _ => self.tail(&common),
        };
        for (index, common) in common.iter_mut().enumerate().take(self.count) {
            *common = (*common).min(self.get(index).len() - tail);
        }
        let shared = common[1..self.count].iter().copied().min().unwrap_or(0);
        Plan { column: Column { at: 0, len: self.get(0).len(), shared, tail, kept }, common }
    }

    /// Writes the difference of a value, which is not the first.
    fn put_difference(&self, plan: &Plan, index: usize, out: &mut Vec<u8>) {
        let (value, Column { shared, tail, kept, .. }) = (self.get(index), plan.column);
        let from = plan.common[index];
        let own = value.len() - tail - from;
        out.push((own.min(MORE) | (from - shared).min(MORE) << 4) as u8);
        for part in [from - shared, own] {
            if let Some(rest) = part.checked_sub(MORE) {
                put_number(out, rest);
            }
        }
        out.extend_from_slice(&value[from..from + own]);
        out.extend_from_slice(&value[value.len() - tail + kept..]);
    }
    /// Returns whether all values have `kept` bytes of a tail in common.
    fn keeps(&self, tail: usize, kept: usize) -> bool {
        let of = |index: usize| {
            let value = self.get(index);
            value.get(value.len().checked_sub(tail)?..)?.get(..kept)
        };
        let first = of(0);
        first.is_some() && (1..self.count).all(|index| of(index) == first)
    }

    /// Returns the tail, and how much of it is kept, that cost least.
    fn tail(&self, common: &[usize; MAX_CELL_ENTRIES]) -> (usize, usize) {
        let count = self.count;
        let shortest = (0..count).map(|index| self.get(index).len()).min().unwrap_or(0);
        let cost = |tail: usize, kept: usize| {
            let from = |index: usize| common[index].min(self.get(index).len() - tail);
            let shared = (1..count).map(from).min().unwrap_or(0);
            let difference = |index: usize| {
                let own = self.get(index).len() - tail - from(index);
                difference_len(from(index) - shared, own, tail - kept)
            };
            (1..count).map(difference).sum::<usize>() + number_len(shared)
        };
        let first = self.get(0);
        let mut best = (0, 0);
        let mut least = cost(0, 0);
        for tail in 1..=MAX_TAIL.min(shortest) {
            if least <= 2 * (count - 1) {
                break;
            }
            let of_first = &first[first.len() - tail..];
            let kept_by = |index: usize| {
                let value = self.get(index);
                common_prefix(of_first, &value[value.len() - tail..])
            };
            let mut kept = if count > 1 { tail } else { 0 };
            for index in 1..count {
                kept = kept.min(kept_by(index));
                if kept == 0 {
                    break;
                }
            }
            if kept == 0 {
                continue;
            }
            let of_tail = cost(tail, kept);
            if of_tail < least {
                (best, least) = ((tail, kept), of_tail);
            }
        }
        best
    }
}

impl CollectedEntries {
    pub fn len(&self) -> usize {
        self.keys.count
    }

    /// Prepares for entries that are those of `packed_cell` with a change.
    pub fn continue_cell(&mut self, packed_cell: &PackedCell) {
        self.keys.tail_before = (packed_cell.keys.tail, packed_cell.keys.kept);
        self.payloads.tail_before = (packed_cell.payloads.tail, packed_cell.payloads.kept);
    }

    /// Adds an entry with suffix `head` + `tail`. Returns false if it does not belong to the packed cell: it has
    /// other flags, or there is no room. `cut` bytes of its key are in the prefix of the leaf.
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
            match self.with(page_size, suffix, entry.payload) {
                Some(bytes) if same && !alone => self.bytes = bytes,
                _ => return false,
            }
        }
        (self.flags, self.commit_ts, self.alone) = (entry.flags, entry.commit_ts, alone);
        self.keys.push(suffix);
        self.payloads.push((&[], entry.payload));
        true
    }

    /// Returns a bound of the bytes of differences with another entry. Returns `None` if there is no room for it.
    fn with(&self, page_size: usize, suffix: (&[u8], &[u8]), payload: &[u8]) -> Option<usize> {
        if self.alone || self.len() == MAX_CELL_ENTRIES {
            return None;
        }
        let payload = match (self.payloads.bytes.is_empty(), payload) {
            (true, []) => 0,
            // The entries before it, which have no payload, become part of a column.
            (true, _) => difference_bound(0) * (self.len() - 1) + difference_bound(payload.len()),
            _ => self.payloads.bound_of_next((&[], payload)),
        };
        let bytes = self.bytes + self.keys.bound_of_next(suffix) + payload;
        (bytes <= packed_cell_bytes(page_size)).then_some(bytes)
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.payloads.clear();
        (self.bytes, self.alone) = (0, false);
    }

    /// Writes the packed cell.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let count = self.len();
        out.reserve(self.keys.bytes.len() + self.payloads.bytes.len() + 6 * count + 12);
        let payload = if self.payloads.bytes.is_empty() { 0 } else { HAS_PAYLOAD };
        let keys = self.keys.plan();
        let payloads = if payload != 0 { Some(self.payloads.plan()) } else { None };
        let header = PackedCell {
            count,
            flags: self.flags.0 | payload,
            commit_ts: self.commit_ts,
            keys: keys.column,
            payloads: payloads.as_ref().map_or_else(Column::default, |plan| plan.column),
            rest: 0,
        };
        header.put_header(out);
        out.extend_from_slice(self.keys.get(0));
        out.extend_from_slice(self.payloads.get(0));
        for index in 1..count {
            self.keys.put_difference(&keys, index, out);
            if let Some(plan) = &payloads {
                self.payloads.put_difference(plan, index, out);
            }
        }
    }
}

/// Returns a bound of the bytes of a difference with `own` bytes, however many it keeps. The bound does not depend on
/// the kept bytes, so packed cells stay together when the prefix of their leaf changes: laid out anew, they take no
/// more room.
fn difference_bound(own: usize) -> usize {
    2 + difference_len(0, own, 0)
}

/// Returns the bytes of a difference that keeps `kept` bytes beyond the shared ones, has `own` bytes, and `tail`
/// bytes of the tail.
fn difference_len(kept: usize, own: usize, tail: usize) -> usize {
    let more = |part: usize| part.checked_sub(MORE).map_or(0, number_len);
    1 + more(kept) + more(own) + own + tail
}

/// The bytes that settled entries take as packed cells with whole keys: exact for full packed cells, a bound for the
/// last one.
pub struct PackedSize {
    page_size: usize,
    gathered: CollectedEntries,
    scratch: Vec<u8>,
    full: usize,
    slots: usize,
}

impl PackedSize {
    /// Makes the size of no entries.
    pub fn new(page_size: usize) -> PackedSize {
        PackedSize {
            page_size,
            gathered: CollectedEntries::default(),
            scratch: Vec::new(),
            full: 0,
            slots: 0,
        }
    }

    /// Returns the bytes and the number of slots.
    pub fn get(&self) -> (usize, usize) {
        match self.gathered.len() {
            0 => (self.full, self.slots),
            _ => (self.full + self.first() + self.gathered.bytes, self.slots + 1),
        }
    }

    /// Returns a bound of the bytes of the first entry of the packed cell that is not full.
    fn first(&self) -> usize {
        first_len(self.gathered.keys.get(0).len(), self.gathered.payloads.get(0).len())
    }

    /// Returns the sizes of [`get`](Self::get) with another entry added.
    pub fn with(&self, key: &[u8], payload: &[u8]) -> (usize, usize) {
        match self.gathered.with(self.page_size, (&[], key), payload) {
            Some(bytes) => (self.full + self.first() + bytes, self.slots + 1),
            None => {
                let (bytes, slots) = self.get();
                (bytes + first_len(key.len(), payload.len()), slots + 1)
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

/// Returns a bound of the bytes of slot, header and first entry of a packed cell.
fn first_len(key_len: usize, payload_len: usize) -> usize {
    // The constant covers the number of entries, two tails, and four numbers.
    SLOT + 11 + key_len + payload_len
}
