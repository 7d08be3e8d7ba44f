//! A read-only view of a node, whose header has been checked.

use super::history::InsertHistory;
use super::layout::{
    LeafFormat, NodeFault, NodeResult, SLOT, SLOTS, Slot, UPPER_INFINITE, common_prefix, field, get_u16,
    get_u64, heap_start,
};
use super::packed::MAX_CELL_ENTRIES;
use super::search::Search;
use super::unpacked::Unpacked;
use crate::entry::CommitTs;

/// A node whose header has been checked: a read-only view of the whole page.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    page: &'a [u8],
    search: Search<&'a [u8]>,
    prefix: &'a [u8],
}

impl<'a> Node<'a> {
    /// Checks the header of `page` (the whole page, page header included).
    #[inline]
    pub fn open(page: &'a [u8]) -> NodeResult<Node<'a>> {
        let search = Search::open(page)?;
        let (at, len) = search.prefix();
        let prefix = page.get(at..at + len).ok_or(NodeFault("prefix longer than the lower fence"))?;
        Ok(Node { page, search, prefix })
    }

    /// Returns the search functions of the node.
    #[inline]
    pub fn search(&self) -> &Search<&'a [u8]> {
        &self.search
    }

    /// Returns the bytes of the page.
    pub fn bytes(&self) -> &'a [u8] {
        self.page
    }

    /// Returns the level of the node; 0 for a leaf.
    #[inline]
    pub fn level(&self) -> u8 {
        self.search.level()
    }

    /// Returns whether this is a leaf.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.level() == 0
    }

    /// Returns the format of the node. A branch is plain.
    #[inline]
    pub fn format(&self) -> LeafFormat {
        self.search.format()
    }

    #[inline]
    pub(super) fn is_packed(&self) -> bool {
        self.format() == LeafFormat::Packed
    }

    /// Returns the number of entries, or of children.
    #[inline]
    pub fn count(&self) -> usize {
        self.search.count()
    }

    /// Returns the number of slots, which is less than that of entries on a packed leaf.
    #[inline]
    pub fn slots(&self) -> usize {
        self.search.slots()
    }

    /// Returns whether the node has a key. The first child of a branch has none.
    pub fn has_keys(&self) -> bool {
        self.count() > usize::from(!self.is_leaf())
    }

    /// Returns the length of the prefix that the node needs before `key` can be inserted, if that is not the present
    /// one.
    pub fn prefix_for(&self, key: &[u8]) -> Option<usize> {
        if self.upper_fence().is_some() || (self.has_keys() && key.starts_with(self.prefix)) {
            return None;
        }
        let prefix = common_prefix(self.lower_fence(), key);
        (prefix != self.prefix.len()).then_some(prefix)
    }

    /// Returns the bytes free after a compaction and a change to a prefix of `prefix_len` bytes.
    pub fn free_with_prefix(&self, prefix_len: usize) -> usize {
        self.free().saturating_sub(self.slots() * self.longer_with(prefix_len))
    }

    /// Returns a bound of the bytes that each cell grows by with a prefix of `prefix_len` bytes.
    pub fn longer_with(&self, prefix_len: usize) -> usize {
        let longer = self.prefix.len().saturating_sub(prefix_len);
        // Two lengths of a packed cell may need a second byte.
        if self.is_packed() && longer > 0 { longer + 2 } else { longer }
    }

    /// Returns the bytes that are cut off every key.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    /// Returns the first key that may be on the node.
    #[inline]
    pub fn lower_fence(&self) -> &'a [u8] {
        fence(self.page, field::LOWER_OFFSET).unwrap_or_default()
    }

    /// Returns the first key beyond the node; `None` is +infinity.
    #[inline]
    pub fn upper_fence(&self) -> Option<&'a [u8]> {
        if self.page[field::FLAGS] & UPPER_INFINITE != 0 {
            return None;
        }
        Some(fence(self.page, field::UPPER_OFFSET).unwrap_or_default())
    }

    /// Returns whether `key` belongs on this node.
    pub fn covers(&self, key: &[u8]) -> bool {
        key >= self.lower_fence() && self.upper_fence().is_none_or(|upper| key < upper)
    }

    /// Returns the number of entries with the `GHOST` flag.
    pub fn ghosts(&self) -> usize {
        usize::from(get_u16(self.page, field::GHOSTS))
    }

    /// Returns the number of entries with a commit timestamp of their own.
    pub fn unsettled(&self) -> usize {
        usize::from(get_u16(self.page, field::UNSETTLED))
    }

    /// Returns the maximum of the timestamps of the changes since the leaf was settled.
    #[inline]
    pub fn max_commit_ts(&self) -> CommitTs {
        CommitTs(get_u64(self.page, field::MAX_COMMIT_TS))
    }

    /// Returns the generation of buffered changes before which the leaf contains all.
    pub fn merged_through(&self) -> u64 {
        get_u64(self.page, field::MERGED_THROUGH)
    }

    /// Returns the insert history.
    pub fn history(&self) -> InsertHistory {
        InsertHistory {
            last: get_u16(self.page, field::LAST_INSERT),
            trend: self.page[field::TREND] as i8,
            spread: self.page[field::SPREAD],
        }
    }

    /// Returns the lowest byte of the heap.
    pub(super) fn heap_start(&self) -> usize {
        heap_start(self.page)
    }

    /// Returns the bytes of the heap that nothing refers to.
    pub(super) fn garbage(&self) -> usize {
        usize::from(get_u16(self.page, field::GARBAGE))
    }

    /// Returns the bytes between the slots and the heap.
    pub(super) fn contiguous_free(&self) -> usize {
        self.heap_start() - (SLOTS + self.slots() * SLOT)
    }

    /// Returns the bytes free after a compaction.
    pub fn free(&self) -> usize {
        self.contiguous_free() + self.garbage()
    }

    /// Returns the bytes used by slots, cells and fences.
    pub fn used(&self) -> usize {
        (self.page.len() - SLOTS).saturating_sub(self.free())
    }

    /// Returns slot number `slot`. A number that is too large is a fault, not a panic.
    #[inline]
    pub(super) fn slot(&self, slot: usize) -> NodeResult<Slot> {
        self.search.slot(slot)
    }

    /// Returns the offset of the cell of a slot.
    #[inline]
    pub(super) fn cell_offset(&self, slot: usize) -> NodeResult<usize> {
        self.search.cell_offset(slot)
    }

    /// Returns the first key of a slot without the node's prefix.
    #[inline]
    pub fn suffix(&self, slot: usize) -> NodeResult<&'a [u8]> {
        let (start, len) = self.search.suffix(slot)?;
        self.page.get(start..start + len).ok_or(NodeFault("key outside the page"))
    }

    /// Returns the first key of a slot.
    pub fn key(&self, slot: usize) -> NodeResult<Vec<u8>> {
        Ok([self.prefix, self.suffix(slot)?].concat())
    }

    /// Returns the length of the first key of a slot.
    pub fn key_len(&self, slot: usize) -> NodeResult<usize> {
        Ok(self.prefix.len() + self.search.suffix(slot)?.1)
    }

    /// Returns the last key of a slot.
    pub fn last_key(&self, slot: usize) -> NodeResult<Vec<u8>> {
        let mut key = self.prefix.to_vec();
        match self.is_packed() {
            true => {
                let packed_cell = self.unpacked(slot)?;
                key.extend_from_slice(packed_cell.suffix(packed_cell.len() - 1)?);
            }
            false => key.extend_from_slice(self.suffix(slot)?),
        }
        Ok(key)
    }

    /// Unpacks the packed cell of a slot of a packed leaf.
    fn unpacked(&self, slot: usize) -> NodeResult<Unpacked> {
        let mut unpacked = Unpacked::default();
        self.unpack(slot, MAX_CELL_ENTRIES, &mut unpacked)?;
        Ok(unpacked)
    }

    /// Unpacks the first entries, up to `most`, of the packed cell of a slot of a packed leaf. Returns how many
    /// entries the packed cell has.
    pub(crate) fn unpack(&self, slot: usize, most: usize, unpacked: &mut Unpacked) -> NodeResult<usize> {
        let packed_cell = self.search.packed_cell(slot)?;
        unpacked.read(self.page, &packed_cell, most)?;
        Ok(packed_cell.count)
    }

    /// Replaces `key` by the whole key of the entry at `position` of a leaf.
    pub fn key_into(&self, position: usize, key: &mut Vec<u8>) -> NodeResult<()> {
        key.clear();
        key.extend_from_slice(self.prefix);
        match self.is_packed() {
            true => {
                let (slot, index) = self.search.slot_of(position)?;
                key.extend_from_slice(self.unpacked(slot)?.suffix(index)?);
            }
            false => key.extend_from_slice(self.suffix(position)?),
        }
        Ok(())
    }
}

/// Returns one of the two fences, whose offset and length are neighbours in the header.
#[inline]
fn fence(page: &[u8], at: usize) -> NodeResult<&[u8]> {
    let offset = usize::from(get_u16(page, at));
    let len = usize::from(get_u16(page, at + 2));
    page.get(offset..offset + len).ok_or(NodeFault("fence outside the page"))
}
