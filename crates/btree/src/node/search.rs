//! Searches a node: its header, its slots, and binary search, over any [`Source`] of bytes.
//!
//! The slots alone decide most comparisons, because a slot holds the first four bytes of the key's suffix. Where
//! these are equal and either suffix has at most four bytes, the shorter is a prefix of the longer, and the lengths
//! decide. Otherwise cells are read, from the fifth byte of their suffixes on.

use std::cmp::Ordering;
use std::ops::Range;

use leafline_storage::{PageKind, PageNo, SegmentId};

use super::layout::{
    CHILD, HAS_PAYLOAD, LeafFormat, NodeFault, NodeResult, PACKED, PAGE_SIZES, PAYLOAD_LEN, SLOT, SLOTS,
    Slot, TIMESTAMP, UPPER_INFINITE, format_version, head_of,
};
use super::packed::{MISCOUNTED, PackedCell};
use super::source::Source;
use crate::entry::{CommitTs, EntryFlags};

/// Bytes of a suffix that the slot holds.
const HEAD: usize = 4;

/// Number of slots from which on a search begins with a guess. Fewer slots lie in few cache lines.
const GUESS_FROM: usize = 32;
/// Slots on both sides of a guess that are searched next.
const NEAR: usize = 12;

/// Number of slots with one head from which on the search among them begins with a guess.
const GUESS_TIED_FROM: usize = 8;
/// Number of slots in a cache line.
const SLOTS_OF_A_LINE: usize = 8;

/// A node whose header has been read and checked.
#[derive(Clone, Copy)]
pub struct Search<S> {
    source: S,
    level: u8,
    format: LeafFormat,
    slots: usize,
    count: usize,
    prefix_at: usize,
    prefix_len: usize,
    upper_infinite: bool,
    upper_head: u32,
}

/// The places of the parts of an entry of a plain leaf, all within the page.
#[derive(Debug, Clone, Copy)]
pub struct EntryAt {
    /// The public flags of the entry.
    pub flags: EntryFlags,
    /// The timestamp of the entry.
    pub commit_ts: CommitTs,
    /// Offset of the payload. The key suffix is before it.
    pub payload_at: usize,
    /// Length of the payload.
    pub payload_len: usize,
}

#[inline]
fn bytes(word: u64, at: usize) -> usize {
    (word >> (8 * at)) as usize & 0xffff
}

impl<S: Source> Search<S> {
    /// Reads and checks the header.
    #[inline]
    pub fn open(source: S) -> NodeResult<Search<S>> {
        let size = source.size();
        if !PAGE_SIZES.contains(&size) {
            return Err(NodeFault("not a page size of a tree"));
        }
        // See the table in `layout`. Reading few words instead of many fields touches one cache line.
        let (first, second, third) = (source.word(32), source.word(40), source.word(48));
        let (level, flags, slots) = (first as u8, (first >> 8) as u8, bytes(first, 2));
        let heap = match bytes(first, 4) {
            0 => 1 << 16,
            start => start,
        };
        if heap > size || SLOTS + slots * SLOT > heap {
            return Err(NodeFault("slots and heap overlap or leave the page"));
        }
        if bytes(first, 6) > size - heap {
            return Err(NodeFault("more garbage than heap"));
        }
        let (prefix_len, lower_at, lower_len) = (bytes(second, 0), bytes(second, 2), bytes(second, 4));
        let (upper_at, upper_len) = (bytes(second, 6), bytes(third, 0));
        if lower_at + lower_len > size || upper_at + upper_len > size {
            return Err(NodeFault("fence outside the page"));
        }
        if prefix_len > lower_len {
            return Err(NodeFault("prefix longer than the lower fence"));
        }
        if level > 0 && slots == 0 {
            return Err(NodeFault("branch without a child"));
        }
        let upper_infinite = flags & UPPER_INFINITE != 0;
        let fourth = source.word(56);
        let upper_head = (fourth >> 32) as u32;
        let (format, count) = match flags & PACKED {
            0 => (LeafFormat::Plain, slots),
            _ => (LeafFormat::Packed, bytes(fourth, 2)),
        };
        if format == LeafFormat::Packed && (level > 0 || count < slots || (slots == 0) != (count == 0)) {
            return Err(NodeFault("packed leaf with impossible numbers"));
        }
        let prefix_at = lower_at;
        Ok(Search { source, level, format, slots, count, prefix_at, prefix_len, upper_infinite, upper_head })
    }

    /// Checks that the page is a node of the tree `owner`, at `level` if that is known.
    #[inline]
    pub fn belongs_to(&self, owner: SegmentId, level: Option<u8>) -> NodeResult<()> {
        let kind = if self.level == 0 { PageKind::LEAF } else { PageKind::BRANCH };
        // These are kind and format of the page header; the owner follows.
        let identity = self.source.word(0) >> 32 & 0xffff;
        if identity != u64::from(kind.0) | u64::from(format_version(self.format)) << 8 {
            return Err(NodeFault("not a tree page of this format"));
        }
        if self.source.word(24) != owner.0 {
            return Err(NodeFault("page belongs to another segment"));
        }
        if level.is_some_and(|level| level != self.level) {
            return Err(NodeFault("node of another level than its parent expects"));
        }
        Ok(())
    }

    /// Returns the level of the node; 0 for a leaf.
    #[inline]
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Returns the format of the node. A branch is plain.
    #[inline]
    pub fn format(&self) -> LeafFormat {
        self.format
    }

    #[inline]
    fn is_packed(&self) -> bool {
        self.format == LeafFormat::Packed
    }

    /// Returns the number of entries of a leaf, or of children of a branch.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of slots.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the head of the upper fence; 0 if there is none.
    #[inline]
    pub(super) fn upper_head(&self) -> u32 {
        self.upper_head
    }

    /// Returns offset and length of the lower fence.
    #[inline]
    pub fn lower_fence(&self) -> (usize, usize) {
        let second = self.source.word(40);
        (bytes(second, 2), bytes(second, 4))
    }

    /// Returns offset and length of the upper fence; `None` if there is none.
    #[inline]
    pub fn upper_fence(&self) -> Option<(usize, usize)> {
        let (second, third) = (self.source.word(40), self.source.word(48));
        (!self.upper_infinite).then(|| (bytes(second, 6), bytes(third, 0)))
    }

    /// Returns how many entries at positions of a leaf are not ghosts.
    #[inline]
    pub fn live(&self, positions: Range<usize>) -> NodeResult<usize> {
        let ghosts = bytes(self.source.word(48), 2);
        if ghosts == 0 || positions.len() >= self.count {
            return Ok(positions.len().saturating_sub(ghosts));
        }
        let mut number = 0;
        let mut at = positions.start;
        while at < positions.end {
            let (slot, _) = self.slot_of(at)?;
            let end = self.positions(slot).end.clamp(at + 1, positions.end);
            number += if self.flags(slot)?.contains(EntryFlags::GHOST) { 0 } else { end - at };
            at = end;
        }
        Ok(number)
    }

    /// Returns offset and length of the prefix that is cut off every key.
    #[inline]
    pub fn prefix(&self) -> (usize, usize) {
        (self.prefix_at, self.prefix_len)
    }

    /// Returns the bytes of slot `slot`, which is less than the number of slots.
    #[inline]
    fn slot_word(&self, slot: usize) -> u64 {
        self.source.word(SLOTS + slot * SLOT)
    }

    #[inline]
    fn head(&self, slot: usize) -> u32 {
        self.slot_word(slot) as u32
    }

    /// Returns slot number `slot` of a node that is not packed. A number that is too large is a fault, not a panic.
    #[inline]
    pub(super) fn slot(&self, slot: usize) -> NodeResult<Slot> {
        match slot < self.slots {
            true => Ok(Slot::decode(self.slot_word(slot).to_le_bytes())),
            false => Err(NodeFault("no such slot")),
        }
    }

    /// Returns the offset of the cell of a slot.
    #[inline]
    pub(super) fn cell_offset(&self, slot: usize) -> NodeResult<usize> {
        Ok(self.slot(slot)?.offset)
    }

    /// Reads the packed cell of a slot of a packed leaf.
    #[inline]
    pub(super) fn packed_cell(&self, slot: usize) -> NodeResult<PackedCell> {
        PackedCell::read(self.source, self.cell_offset(slot)?)
    }

    /// Returns the positions of the entries of a slot. Impossible numbers of a damaged page are cut to possible ones.
    #[inline]
    pub fn positions(&self, slot: usize) -> Range<usize> {
        if !self.is_packed() {
            return slot..slot + 1;
        }
        let start = |slot: usize| match slot < self.slots {
            true => bytes(self.slot_word(slot), 6).min(self.count),
            false => self.count,
        };
        let first = start(slot);
        first..start(slot + 1).max(first)
    }

    /// Returns the slot of the entry at `position`, and the index of the entry in it.
    #[inline]
    pub fn slot_of(&self, position: usize) -> NodeResult<(usize, usize)> {
        if !self.is_packed() {
            return Ok((position, 0));
        }
        if position >= self.count {
            return Err(NodeFault("no such entry"));
        }
        let (mut low, mut high) = (0, self.slots);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if bytes(self.slot_word(middle), 6) <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        match position.checked_sub(self.positions(low).start) {
            Some(index) => Ok((low, index)),
            None => Err(MISCOUNTED),
        }
    }

    /// Returns the public flags of the entries of a slot.
    #[inline]
    pub fn flags(&self, slot: usize) -> NodeResult<EntryFlags> {
        match self.is_packed() {
            true => Ok(self.packed_cell(slot)?.entry_flags()),
            false => Ok(EntryFlags(self.slot(slot)?.flags & EntryFlags::ALL)),
        }
    }

    /// Returns the bytes of a cell before the key suffix, in a node that is not packed.
    #[inline]
    pub(super) fn cell_header(&self, slot: Slot) -> usize {
        if self.level == 0 { slot.leaf_cell_header() } else { CHILD }
    }

    /// Returns offset and length of the first suffix of a slot.
    #[inline]
    pub(super) fn suffix(&self, slot: usize) -> NodeResult<(usize, usize)> {
        let slot_word = self.slot(slot)?;
        match self.is_packed() {
            true => self.packed_cell(slot).map(|packed_cell| (packed_cell.keys.at, packed_cell.keys.len)),
            false => Ok((slot_word.offset + self.cell_header(slot_word), slot_word.suffix_len)),
        }
    }

    /// Returns the first entry from position `first` on whose key is at least `key`, and whether it is equal.
    #[inline]
    pub fn find(&self, first: usize, key: &[u8]) -> NodeResult<(usize, bool)> {
        if self.prefix_len > 0 {
            let start = &key[..self.prefix_len.min(key.len())];
            match self.source.compare(self.prefix_at, self.prefix_len, start) {
                Ordering::Equal => {}
                // The prefix is greater than the key, or begins with all of it.
                Ordering::Greater => return Ok((first, false)),
                Ordering::Less => return Ok((self.count, false)),
            }
        }
        self.find_suffix(first, &key[self.prefix_len..])
    }

    /// Searches like [`find`](Self::find), for a key within the node's fences, the upper one included. All such keys
    /// begin with the prefix, so the lower fence at the far end of the page is not read.
    #[inline]
    pub fn find_within(&self, first: usize, key: &[u8]) -> NodeResult<(usize, bool)> {
        if self.upper_infinite {
            return self.find(first, key);
        }
        match key.get(self.prefix_len..) {
            Some(suffix) => self.find_suffix(first, suffix),
            None => Err(NodeFault("key outside the fences")),
        }
    }

    #[inline]
    fn find_suffix(&self, first: usize, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        match self.is_packed() {
            true => self.find_packed(suffix),
            false => self.find_slot(first, suffix),
        }
    }

    /// Searches a packed leaf like [`find_suffix`](Self::find_suffix).
    fn find_packed(&self, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        let (slot, found) = self.find_slot(0, suffix)?;
        let start = self.positions(slot).start;
        let Some(before) = slot.checked_sub(1).filter(|_| !found) else { return Ok((start, found)) };
        let first = self.positions(before).start;
        if start - first.min(start) < 2 {
            return Ok((start, false));
        }
        let (index, found) = self.packed_cell(before)?.find(self.source, suffix)?;
        Ok((first + index, found))
    }

    /// Returns the first slot from `first` on whose first key is at least `suffix`, and whether it is equal.
    #[inline]
    fn find_slot(&self, first: usize, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        let head = head_of(suffix);
        let low = self.first_at_least(first, head);
        // Whole keys decide ties. Mostly there is no tie, or one.
        let ties = |slot: usize| slot < self.slots && self.head(slot) == head;
        match (ties(low), ties(low + 1)) {
            (false, _) => Ok((low, false)),
            (true, false) => self.find_tied(low..low + 1, suffix),
            (true, true) => self.find_tied(low..self.end_of_ties(low, head), suffix),
        }
    }

    /// Returns the first slot, among slots with the head of `suffix`, whose suffix is at least `suffix`; and whether
    /// it is equal. It reads cells, each perhaps from memory, so among many slots it begins with a guess and goes on
    /// in growing steps from there.
    #[inline]
    fn find_tied(&self, slots: Range<usize>, suffix: &[u8]) -> NodeResult<(usize, bool)> {
        let guess = match slots.len() {
            ..GUESS_TIED_FROM => None,
            _ => self.guess_tied(&slots, suffix)?,
        };
        let Range { start: mut low, end: mut high } = slots;
        let (mut next, mut step) = (guess, 1);
        while low < high {
            let at = match next {
                Some(next) if (low..high).contains(&next) => next,
                _ => low + (high - low) / 2,
            };
            match self.compare_tied(at, suffix)? {
                Ordering::Less => {
                    low = at + 1;
                    next = next.map(|next| next + step);
                }
                Ordering::Greater => {
                    high = at;
                    next = next.and_then(|next| next.checked_sub(step));
                }
                Ordering::Equal => return Ok((at, true)),
            }
            step *= 4;
        }
        Ok((low, false))
    }

    /// Returns the slot behind the last one, from `low` on, that has this head.
    fn end_of_ties(&self, low: usize, head: u32) -> usize {
        let (mut start, mut end) = (low, self.slots);
        if self.head(end - 1) == head {
            return end;
        }
        // Nothing hints at the place. Three steps of a binary search at a time have their cache lines fetched
        // together.
        while end - start > 8 * SLOTS_OF_A_LINE {
            let eighth = (end - start) / 8;
            (1..8).for_each(|eighths| self.source.prefetch(SLOTS + (start + eighths * eighth) * SLOT));
            for width in [4 * eighth, 2 * eighth, eighth] {
                start = if self.head(start + width) == head { start + width } else { start };
            }
            end = end.min(start + 2 * eighth);
        }
        self.halve(start, end, |other| other > head)
    }

    /// Guesses the place of `suffix` among slots of its head, as if the next eight bytes of their keys were evenly
    /// spread. Returns `None` if these bytes do not help.
    #[inline]
    fn guess_tied(&self, slots: &Range<usize>, suffix: &[u8]) -> NodeResult<Option<usize>> {
        let behind_head = |slot: usize| {
            // Where a key has fewer bytes, other bytes are taken for them, which is good enough for a guess.
            Ok(self.source.u64(self.suffix(slot)?.0 + HEAD).swap_bytes())
        };
        let (low, high) = (behind_head(slots.start)?, behind_head(slots.end - 1)?);
        let mut key = [0; 8];
        key.iter_mut().zip(suffix.iter().skip(HEAD)).for_each(|(to, byte)| *to = *byte);
        let key = u64::from_be_bytes(key);
        Ok(match () {
            () if low >= high => None,
            () if key <= low => Some(slots.start),
            () if key >= high => Some(slots.end - 1),
            () => {
                // A page has at most 2^13 slots.
                let shift = 14_u32.saturating_sub((high - low).leading_zeros());
                let share = ((key - low) >> shift) * slots.len() as u64 / ((high - low) >> shift);
                Some(slots.end.min(slots.start + share as usize + 1) - 1)
            }
        })
    }

    /// Compares the key of a slot whose head is that of `suffix`.
    #[inline]
    fn compare_tied(&self, slot: usize, suffix: &[u8]) -> NodeResult<Ordering> {
        let (at, len) = self.suffix(slot)?;
        if len <= HEAD || suffix.len() <= HEAD {
            return Ok(len.cmp(&suffix.len()));
        }
        if at + len > self.source.size() {
            return Err(NodeFault("key outside the page"));
        }
        // Fetch the rest of the key, or the payload behind it if this is the right entry.
        self.source.prefetch(at + 64);
        Ok(self.source.compare(at + HEAD, len - HEAD, &suffix[HEAD..]))
    }

    /// Returns the first slot from `first` on whose head is at least `head`.
    ///
    /// Each step of a binary search waits for a cache line whose address depends on the step before. So the place is
    /// guessed first, as if the heads were evenly spread between those of the first key and of the upper fence. Where
    /// they are, the search needs only the lines around the guess.
    #[inline]
    fn first_at_least(&self, first: usize, head: u32) -> usize {
        let end = self.slots;
        if end < first + GUESS_FROM {
            return self.halve(first, end, |other| other >= head);
        }
        let lowest = self.head(first);
        if head <= lowest {
            return first;
        }
        let highest = if self.upper_infinite { self.head(end - 1) } else { self.upper_head };
        let guess = match highest > head {
            true => {
                let share = u64::from(head - lowest) * (end - first) as u64 / u64::from(highest - lowest);
                first + share as usize
            }
            false => end - 1,
        };
        let (mut low, mut high) = (guess.saturating_sub(NEAR).max(first), (guess + NEAR).min(end));
        // Go to the left or right in growing steps, as far as the guess was wrong.
        let mut step = 2 * NEAR;
        while low > first && self.head(low) >= head {
            high = low;
            low = low.saturating_sub(step).max(first);
            step *= 4;
        }
        while high < end && self.head(high) < head {
            low = high;
            high = (high + step).min(end);
            step *= 4;
        }
        self.halve(low, high, |other| other >= head)
    }

    /// Returns the first slot in `low..high` for whose head `beyond` returns true (it is false and then true), or
    /// `high`. Halves the range without branches that depend on the heads, which would be mispredicted every other
    /// time.
    #[inline]
    fn halve(&self, low: usize, high: usize, beyond: impl Fn(u32) -> bool) -> usize {
        let (mut start, mut len) = (low, high.saturating_sub(low));
        while len > 1 {
            let half = len / 2;
            start = if beyond(self.head(start + half - 1)) { start } else { start + half };
            len -= half;
        }
        start + usize::from(len == 1 && !beyond(self.head(start)))
    }

    /// Returns the child that a slot of a branch refers to.
    #[inline]
    pub fn child(&self, slot: usize) -> NodeResult<PageNo> {
        let at = self.slot(slot)?.offset;
        if at + CHILD > self.source.size() {
            return Err(NodeFault("child reference outside the page"));
        }
        match self.source.u64(at) & 0xffff_ffff_ffff {
            0 => Err(NodeFault("reference to page 0")),
            page => Ok(PageNo(page)),
        }
    }

    /// Returns the slot of the child that holds `key`, which is within the fences of the branch.
    #[inline]
    pub fn child_for(&self, key: &[u8]) -> NodeResult<usize> {
        let (slot, equal) = self.find_within(1, key)?;
        Ok(if equal { slot } else { slot - 1 })
    }

    /// Returns the slot of the child that holds the last keys before `key`, which is within the fences or the upper
    /// one; `None` is the end of the branch.
    #[inline]
    pub fn child_before(&self, key: Option<&[u8]>) -> NodeResult<usize> {
        match key {
            Some(key) => Ok(self.find_within(1, key)?.0 - 1),
            None => Ok(self.count - 1),
        }
    }

    /// Reads the entry at `position` of a packed leaf: returns its flags and timestamp, and replaces `payload` by its
    /// payload.
    pub fn packed_entry(&self, position: usize, payload: &mut Vec<u8>) -> NodeResult<(EntryFlags, CommitTs)> {
        let (slot, index) = self.slot_of(position)?;
        let packed_cell = self.packed_cell(slot)?;
        packed_cell.payload_into(self.source, index, payload)?;
        Ok((packed_cell.entry_flags(), packed_cell.commit_ts))
    }

    /// Returns flags and timestamp of the entries of a slot of a leaf.
    pub fn stamp(&self, slot: usize) -> NodeResult<(EntryFlags, CommitTs)> {
        match self.is_packed() {
            true => {
                self.packed_cell(slot).map(|packed_cell| (packed_cell.entry_flags(), packed_cell.commit_ts))
            }
            false => self.entry(slot).map(|entry| (entry.flags, entry.commit_ts)),
        }
    }

    /// Returns the places of the parts of the entry at `position` of a plain leaf.
    #[inline]
    pub fn entry(&self, position: usize) -> NodeResult<EntryAt> {
        let slot = self.slot(position)?;
        let mut at = slot.offset;
        let mut commit_ts = CommitTs::NONE;
        if slot.flags & EntryFlags::HAS_TS.0 != 0 {
            commit_ts = CommitTs(self.source.u64(at) & CommitTs::MAX.0);
            at += TIMESTAMP;
        }
        let mut payload_len = 0;
        if slot.flags & HAS_PAYLOAD != 0 {
            payload_len = self.source.u64(at) as usize & 0xffff;
            at += PAYLOAD_LEN;
        }
        let payload_at = at + slot.suffix_len;
        if payload_at + payload_len > self.source.size() {
            return Err(NodeFault("entry outside the page"));
        }
        let flags = EntryFlags(slot.flags & EntryFlags::ALL);
        Ok(EntryAt { flags, commit_ts, payload_at, payload_len })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::node::{Node, NodeBuilder};

    /// Makes a leaf of the keys up to a fence, after sorting them and removing duplicates.
    fn leaf(keys: &mut Vec<Vec<u8>>, upper: Option<&[u8]>) -> Vec<u8> {
        keys.sort();
        keys.dedup();
        keys.retain(|key| upper.is_none_or(|upper| key.as_slice() < upper));
        let mut page = vec![0; 32768];
        let mut builder = NodeBuilder::new(page.len(), 0, &[], upper).unwrap();
        let entry = crate::EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload: &[] };
        for key in keys.iter() {
            builder.push_leaf(&[], key, entry).unwrap();
        }
        builder.finish_into(&mut page).unwrap();
        page
    }

    #[test]
    fn a_guess_finds_what_a_linear_search_finds() {
        let seed = std::env::var("LEAFLINE_SEED").map_or(0, |seed| seed.parse().unwrap());
        println!("LEAFLINE_SEED={seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        for round in 0..90u32 {
            let count = rng.random_range(1..900);
            let mut keys: Vec<Vec<u8>> = (0..count)
                .map(|n: u32| match round % 9 {
                    0 => n.to_be_bytes().to_vec(),
                    1 => rng.random::<u32>().to_be_bytes().to_vec(),
                    // Heads that are crowded at both ends, in the middle, or equal, and keys of all lengths.
                    2 => (if rng.random() { n } else { u32::MAX - n }).to_be_bytes().to_vec(),
                    3 => ((n * n * n) ^ 0x4000_0000).to_be_bytes().to_vec(),
                    4 => [&[7; 4], &rng.random::<u16>().to_be_bytes()[..]].concat(),
                    // Few heads, behind which the bytes are evenly spread, crowded, or differ late.
                    6 => [&[1, 0, 0, (n % 3) as u8], &n.to_be_bytes()[..], &[9; 5]].concat(),
                    7 => [&[1, 0, 0, (n % 3) as u8], &(u64::from(n).pow(5) << 4).to_be_bytes()[..]].concat(),
                    8 => [&[1, 0, 0, (n % 7 / 6) as u8], &[b'a'; 7][..], &n.to_be_bytes()].concat(),
                    _ => vec![rng.random_range(0..3); rng.random_range(0..9)],
                })
                .collect();
            let tight = keys.iter().max().map(|last| [last.as_slice(), &[0]].concat());
            let uppers = [None, tight.as_deref(), Some(&[255; 5][..]), Some(&[128][..])];
            let page = leaf(&mut keys, uppers[rng.random_range(0..4)]);
            let node = Node::open(&page).unwrap();
            let mut wanted = keys.clone();
            wanted.extend((0..200).map(|_| rng.random::<u32>().to_be_bytes().to_vec()));
            wanted.extend(keys.iter().map(|key| [key.as_slice(), &[0]].concat()));
            wanted.extend(keys.iter().map(|key| key[..key.len().saturating_sub(1)].to_vec()));
            wanted.extend([vec![], vec![0; 9], vec![255; 9]]);
            for key in wanted {
                let expected = keys.iter().position(|other| *other >= key).unwrap_or(keys.len());
                let found = keys.get(expected) == Some(&key);
                assert_eq!(node.lower_bound(&key), Ok((expected, found)), "{key:?} in {keys:?}");
                let first = expected / 2;
                assert_eq!(node.search().find(first, &key), Ok((expected, found)));
            }
        }
    }
}
