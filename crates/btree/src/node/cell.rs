//! Cells, the targets of the slots of leaves and branches: reading and searching them.

use std::ops::Range;

use leafline_storage::PageNo;

use super::Source;
use super::layout::{CHILD, NodeFault, NodeResult, PAYLOAD_LEN, TIMESTAMP};
use super::node_view::Node;
use super::packed::MAX_CELL_ENTRIES;
use super::unpacked::Unpacked;
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Most bytes of a packed cell that are fetched ahead.
const MOST_AHEAD: usize = 1024;

/// A leaf cell, decoded.
#[derive(Debug, Clone, Copy)]
pub struct LeafCell<'a> {
    /// The key without the node's prefix.
    pub suffix: &'a [u8],
    /// Flags, timestamp and payload.
    pub entry: EntryView<'a>,
}

/// Returns the bytes that an entry takes in the heap of a plain leaf.
pub fn leaf_cell_len(has_ts: bool, suffix_len: usize, payload_len: usize) -> usize {
    let ts = if has_ts { TIMESTAMP } else { 0 };
    let len = if payload_len > 0 { PAYLOAD_LEN } else { 0 };
    ts + len + suffix_len + payload_len
}

/// Returns the bytes that a child takes in the heap of a branch.
pub fn branch_cell_len(suffix_len: usize) -> usize {
    CHILD + suffix_len
}

impl<'a> Node<'a> {
    /// Reads the cell of a slot of a plain leaf.
    #[inline]
    pub fn leaf_cell(&self, slot: usize) -> NodeResult<LeafCell<'a>> {
        let at = self.search().entry(slot)?;
        let suffix_len = self.slot(slot)?.suffix_len;
        let body = self.bytes().get(at.payload_at - suffix_len..at.payload_at + at.payload_len);
        let (suffix, payload) = body.ok_or(NodeFault("entry outside the page"))?.split_at(suffix_len);
        let entry = EntryView { flags: at.flags, commit_ts: at.commit_ts, payload };
        Ok(LeafCell { suffix, entry })
    }

    /// Reads the entry at `position` of a leaf. The payload of a packed entry is put together in `unpacked`.
    #[inline]
    pub fn entry<'p>(&self, position: usize, unpacked: &'p mut Vec<u8>) -> NodeResult<EntryView<'p>>
    where
        'a: 'p,
    {
        if self.is_packed() {
            let (flags, commit_ts) = self.search().packed_entry(position, unpacked)?;
            return Ok(EntryView { flags, commit_ts, payload: unpacked });
        }
        Ok(self.leaf_cell(position)?.entry)
    }

    /// Returns flags and timestamp of the entry at `position` of a leaf.
    pub fn stamp_at(&self, position: usize) -> NodeResult<(EntryFlags, CommitTs)> {
        self.stamp(self.search().slot_of(position)?.0)
    }

    /// Returns flags and timestamp of the entries of a slot of a leaf.
    pub fn stamp(&self, slot: usize) -> NodeResult<(EntryFlags, CommitTs)> {
        self.search().stamp(slot)
    }

    /// Returns the positions of the entries of a slot.
    pub fn positions(&self, slot: usize) -> Range<usize> {
        self.search().positions(slot)
    }

    /// Calls `f` with the suffix and the entry of every entry of some slots of a leaf.
    pub fn for_each_entry(
        &self,
        slots: Range<usize>,
        mut f: impl FnMut(&[u8], EntryView<'_>) -> NodeResult<()>,
    ) -> NodeResult<()> {
        let mut unpacked = Unpacked::default();
        for slot in slots {
            if !self.is_packed() {
                let cell = self.leaf_cell(slot)?;
                f(cell.suffix, cell.entry)?;
                continue;
            }
            self.unpack(slot, MAX_CELL_ENTRIES, &mut unpacked)?;
            for index in 0..unpacked.len() {
                f(unpacked.suffix(index)?, unpacked.entry(index)?)?;
            }
        }
        Ok(())
    }

    /// Tells the processor that the cell of a slot, if there is one, will be read soon.
    #[inline]
    pub fn prefetch_cell(&self, slot: usize) {
        if let Ok(offset) = self.cell_offset(slot) {
            // Fetch its beginning, and the bytes behind it of a row of usual length.
            self.bytes().prefetch(offset);
            self.bytes().prefetch(offset + LINE);
        }
    }

    /// Tells the processor that the next packed cell after those of the neighbouring slots `before` and `slot`, in
    /// their direction, will be read soon, if there is one. The packed cells may lie on the page in either direction.
    #[inline]
    pub fn prefetch_next_cell(&self, before: usize, slot: usize) {
        let next = (2 * slot).wrapping_sub(before);
        if let (Ok(last), Ok(this), Ok(next)) =
            (self.cell_offset(before), self.cell_offset(slot), self.cell_offset(next))
        {
            // The next packed cell is taken to be as long as the last one, if the two lie side by side.
            let len = last.abs_diff(this).min(MOST_AHEAD);
            (0..=len).step_by(LINE).for_each(|at| self.bytes().prefetch(next + at));
        }
    }

    /// Returns the bytes of the heap that the cell of a slot takes.
    pub fn cell_len(&self, slot: usize) -> NodeResult<usize> {
        if self.is_packed() {
            Ok(self.search().packed_cell(slot)?.end(self.bytes())? - self.cell_offset(slot)?)
        } else if self.is_leaf() {
            let cell = self.leaf_cell(slot)?;
            let has_ts = cell.entry.flags.contains(EntryFlags::HAS_TS);
            Ok(leaf_cell_len(has_ts, cell.suffix.len(), cell.entry.payload.len()))
        } else {
            Ok(branch_cell_len(self.slot(slot)?.suffix_len))
        }
    }

    /// Returns the position of the first entry of a leaf whose key is at least `key`, and whether it is equal.
    #[inline]
    pub fn lower_bound(&self, key: &[u8]) -> NodeResult<(usize, bool)> {
        self.search().find(0, key)
    }

    /// Returns the child that a slot of a branch refers to.
    #[inline]
    pub fn child(&self, slot: usize) -> NodeResult<PageNo> {
        self.search().child(slot)
    }

    /// Returns the slot of the child that holds `key`, which is within the fences of the branch.
    #[inline]
    pub fn child_for(&self, key: &[u8]) -> NodeResult<usize> {
        self.search().child_for(key)
    }

    /// Returns the slot of the child that holds the last keys before `key`; `None` is the end of the branch.
    pub fn child_before(&self, key: Option<&[u8]>) -> NodeResult<usize> {
        self.search().child_before(key)
    }

    /// Returns the first slot of a branch from 1 on whose key is at least `key`, which is the number of children that
    /// begin before `key`.
    pub fn children_before(&self, key: &[u8]) -> NodeResult<usize> {
        Ok(self.search().find(1, key)?.0)
    }

    /// Returns the first key that may be in the child of `slot`.
    pub fn child_lower(&self, slot: usize) -> NodeResult<Vec<u8>> {
        if slot == 0 { Ok(self.lower_fence().to_vec()) } else { self.key(slot) }
    }

    /// Returns the first key beyond the child of `slot`; `None` is +infinity.
    pub fn child_upper(&self, slot: usize) -> NodeResult<Option<Vec<u8>>> {
        if slot + 1 < self.count() {
            self.key(slot + 1).map(Some)
        } else {
            Ok(self.upper_fence().map(<[u8]>::to_vec))
        }
    }
}
