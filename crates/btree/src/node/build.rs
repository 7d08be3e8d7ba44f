//! Lays a node out anew, for every change that moves more than one cell (compaction, settling, splitting, merging,
//! bulk building).
//!
//! The builder works in a buffer of its own, which is copied over the page at the end, so the source of the entries
//! may be the page itself. Entries come in key order and with the prefix under which they were stored; the builder
//! computes the prefix of the new fences. For a packed leaf it gathers entries into packed cells as they come. It
//! takes over the packed cells of another leaf as they are, so that moved packed cells take no more room than before.

use leafline_storage::PageNo;

use super::cell::{branch_cell_len, leaf_cell_len};
use super::gathered::CollectedEntries;
use super::header::{put_history, set_merged_through};
use super::history::InsertHistory;
use super::layout::{
    CHILD, HAS_PAYLOAD, LeafFormat, NodeFault, NodeResult, PACKED, PAGE_SIZES, PAYLOAD_LEN, SLOT, SLOTS,
    Slot, TIMESTAMP, UPPER_INFINITE, common_prefix, field, head_of, put_u16, u48_bytes,
};
use super::node_view::Node;
use super::packed::{PackedCell, SHORT_KEY};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// A node under construction.
pub struct NodeBuilder {
    page: Vec<u8>,
    prefix_len: usize,
    slots: usize,
    heap: usize,
    /// In a packed leaf: the entries of the packed cell that is not full yet.
    gathered: Option<CollectedEntries>,
    entries: usize,
    ghosts: usize,
    unsettled: usize,
}

const FULL: NodeFault = NodeFault("entries do not fit on the page");

impl NodeBuilder {
    /// Begins a node with the given fences. `None` as `upper` is +infinity.
    pub fn new(page_size: usize, level: u8, lower: &[u8], upper: Option<&[u8]>) -> NodeResult<NodeBuilder> {
        NodeBuilder::with_prefix(page_size, level, lower, upper, prefix_len(lower, upper))
    }

    /// Begins a node like [`new`](Self::new), with the first `prefix_len` bytes of the lower fence as the prefix of
    /// the keys.
    pub fn with_prefix(
        page_size: usize,
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
        prefix_len: usize,
    ) -> NodeResult<NodeBuilder> {
        if !PAGE_SIZES.contains(&page_size) {
            return Err(NodeFault("not a page size of a tree"));
        }
        let mut builder = NodeBuilder {
            page: vec![0; page_size],
            prefix_len,
            slots: 0,
            heap: page_size,
            gathered: None,
            entries: 0,
            ghosts: 0,
            unsettled: 0,
        };
        builder.page[field::LEVEL] = level;
        builder.put_fence(field::LOWER_OFFSET, lower)?;
        match upper {
            Some(upper) => {
                builder.put_fence(field::UPPER_OFFSET, upper)?;
                let head = head_of(upper.get(prefix_len..).ok_or(SHORT_KEY)?);
                builder.page[field::UPPER_HEAD..][..4].copy_from_slice(&head.to_le_bytes());
            }
            None => builder.page[field::FLAGS] = UPPER_INFINITE,
        }
        put_u16(&mut builder.page, field::PREFIX_LEN, builder.prefix_len);
        Ok(builder)
    }

    /// Sets the format of the leaf, before the first entry.
    #[must_use]
    pub fn in_format(mut self, format: LeafFormat) -> NodeBuilder {
        debug_assert!(self.slots == 0 && self.gathered.as_ref().is_none_or(|gathered| gathered.len() == 0));
        if format == LeafFormat::Packed {
            self.page[field::FLAGS] |= PACKED;
            self.gathered = Some(CollectedEntries::default());
        }
        self
    }

    /// Begins a node that takes over the properties of `node` and its keys above `lower`, with new fences.
    pub fn like(node: &Node<'_>, lower: &[u8], upper: Option<&[u8]>) -> NodeResult<NodeBuilder> {
        let prefix = match upper {
            Some(upper) => common_prefix(lower, upper),
            None if lower == node.lower_fence() => node.prefix().len(),
            None => prefix_without_upper_fence(lower, node)?,
        };
        NodeBuilder::like_with_prefix(node, lower, upper, prefix)
    }

    /// Begins a node like [`like`](Self::like), with a prefix of `prefix_len` bytes.
    pub fn like_with_prefix(
        node: &Node<'_>,
        lower: &[u8],
        upper: Option<&[u8]>,
        prefix_len: usize,
    ) -> NodeResult<NodeBuilder> {
        let mut builder =
            NodeBuilder::with_prefix(node.bytes().len(), node.level(), lower, upper, prefix_len)?;
        builder = builder.in_format(node.format());
        builder.set_max_commit_ts(node.max_commit_ts());
        builder.set_merged_through(node.merged_through());
        builder.set_history(node.history());
        Ok(builder)
    }

    fn put_fence(&mut self, at: usize, fence: &[u8]) -> NodeResult<()> {
        if fence.is_empty() {
            return Ok(());
        }
        let start = self.take(fence.len(), 0)?;
        self.page[start..start + fence.len()].copy_from_slice(fence);
        put_u16(&mut self.page, at, start);
        put_u16(&mut self.page, at + 2, fence.len());
        Ok(())
    }

    /// Takes `len` bytes of heap, leaving room for `slots` more slots.
    fn take(&mut self, len: usize, slots: usize) -> NodeResult<usize> {
        let start = self.heap.checked_sub(len).ok_or(FULL)?;
        if start < SLOTS + (self.slots + slots) * SLOT {
            return Err(FULL);
        }
        self.heap = start;
        Ok(start)
    }

    /// Sets the page maximum of commit timestamps.
    pub fn set_max_commit_ts(&mut self, ts: CommitTs) {
        self.page[field::MAX_COMMIT_TS..field::MAX_COMMIT_TS + 8].copy_from_slice(&ts.0.to_le_bytes());
    }

    /// Sets the generation of buffered changes that the leaf contains.
    pub fn set_merged_through(&mut self, generation: u64) {
        set_merged_through(&mut self.page, generation);
    }

    /// Sets the insert history, which the split policy uses.
    pub fn set_history(&mut self, history: InsertHistory) {
        put_history(&mut self.page, history);
    }

    /// Appends an entry with key `prefix` + `suffix`.
    pub fn push_leaf(&mut self, prefix: &[u8], suffix: &[u8], entry: EntryView<'_>) -> NodeResult<()> {
        let (head, tail) = cut(self.prefix_len, prefix, suffix)?;
        if let Some(gathered) = &mut self.gathered {
            if gathered.add(self.page.len(), self.prefix_len, (head, tail), entry) {
                return Ok(());
            }
            self.close_cell()?;
            return self.push_leaf(prefix, suffix, entry);
        }
        let has_ts = entry.flags.contains(EntryFlags::HAS_TS);
        let len = leaf_cell_len(has_ts, head.len() + tail.len(), entry.payload.len());
        let start = self.take(len, 1)?;
        let mut at = start;
        if has_ts {
            self.page[at..at + TIMESTAMP].copy_from_slice(&u48_bytes(entry.commit_ts.0));
            at += TIMESTAMP;
            self.unsettled += 1;
        }
        let mut flags = entry.flags.0;
        if !entry.payload.is_empty() {
            put_u16(&mut self.page, at, entry.payload.len());
            at += PAYLOAD_LEN;
            flags |= HAS_PAYLOAD;
        }
        if entry.is_ghost() {
            self.ghosts += 1;
        }
        self.put_key(start, at, head, tail, flags);
        self.page[at + head.len() + tail.len()..start + len].copy_from_slice(entry.payload);
        Ok(())
    }

    /// Appends a child that begins at key `prefix` + `suffix`. The key of the first child is not stored.
    pub fn push_child(&mut self, prefix: &[u8], suffix: &[u8], child: PageNo) -> NodeResult<()> {
        let (head, tail) =
            if self.slots == 0 { (&[][..], &[][..]) } else { cut(self.prefix_len, prefix, suffix)? };
        let start = self.take(branch_cell_len(head.len() + tail.len()), 1)?;
        self.page[start..start + CHILD].copy_from_slice(&u48_bytes(child.0));
        self.put_key(start, start + CHILD, head, tail, 0);
        Ok(())
    }

    fn put_key(&mut self, cell: usize, at: usize, head: &[u8], tail: &[u8], flags: u8) {
        let end = at + head.len() + tail.len();
        self.page[at..at + head.len()].copy_from_slice(head);
        self.page[at + head.len()..end].copy_from_slice(tail);
        let slot = Slot { head: head_of(&self.page[at..end]), offset: cell, suffix_len: end - at, flags };
        self.put_slot(slot.encode());
    }

    fn put_slot(&mut self, slot: [u8; SLOT]) {
        let position = SLOTS + self.slots * SLOT;
        self.page[position..position + SLOT].copy_from_slice(&slot);
        self.slots += 1;
    }

    /// Writes the gathered packed cell, if there is one. Later entries belong to another packed cell.
    pub(super) fn close_cell(&mut self) -> NodeResult<()> {
        let Some(mut gathered) = self.gathered.take() else { return Ok(()) };
        if gathered.len() > 0 {
            let mut cell = Vec::new();
            gathered.encode(&mut cell);
            self.push_packed_cell(&cell)?;
            gathered.clear();
        }
        self.gathered = Some(gathered);
        Ok(())
    }

    /// Appends a packed cell to a packed leaf as it is.
    pub(super) fn push_packed_cell(&mut self, cell: &[u8]) -> NodeResult<()> {
        let start = self.take(cell.len(), 1)?;
        self.page[start..start + cell.len()].copy_from_slice(cell);
        let packed_cell = PackedCell::read(self.page.as_slice(), start)?;
        let head = head_of(&self.page[packed_cell.keys.at..packed_cell.keys.at + packed_cell.keys.len]);
        self.put_slot(packed_slot(head, start, self.entries));
        self.entries += packed_cell.count;
        self.ghosts +=
            if packed_cell.entry_flags().contains(EntryFlags::GHOST) { packed_cell.count } else { 0 };
        self.unsettled +=
            if packed_cell.entry_flags().contains(EntryFlags::HAS_TS) { packed_cell.count } else { 0 };
        Ok(())
    }

    /// Appends packed cells of another packed leaf. They stay as they are except for the prefix.
    fn push_packed_cells(&mut self, node: &Node<'_>, slots: std::ops::Range<usize>) -> NodeResult<()> {
        slots.into_iter().try_for_each(|slot| self.push_copy(node, slot, &node.search().packed_cell(slot)?))
    }

    /// Appends a packed cell of another packed leaf as it is except for the prefix, and settles it: drops ghosts with a
    /// timestamp below `before`, and strips such timestamps from other entries.
    pub(super) fn push_settled_cell(
        &mut self,
        node: &Node<'_>,
        slot: usize,
        before: CommitTs,
    ) -> NodeResult<()> {
        let packed_cell = node.search().packed_cell(slot)?;
        match packed_cell.commit_ts < before {
            true if packed_cell.entry_flags().contains(EntryFlags::GHOST) => Ok(()),
            true => {
                let flags = packed_cell.flags & HAS_PAYLOAD;
                self.push_copy(node, slot, &PackedCell { flags, commit_ts: CommitTs::NONE, ..packed_cell })
            }
            false => self.push_copy(node, slot, &packed_cell),
        }
    }

    /// Appends the packed cell of a slot, with the flags and timestamp of `packed_cell`.
    fn push_copy(&mut self, node: &Node<'_>, slot: usize, packed_cell: &PackedCell) -> NodeResult<()> {
        self.close_cell()?;
        let prefix = node.prefix();
        let more = prefix.get(self.prefix_len..).unwrap_or_default();
        let mut cell = Vec::new();
        if packed_cell.copy_to(node.bytes(), self.prefix_len.saturating_sub(prefix.len()), more, &mut cell)? {
            return self.push_packed_cell(&cell);
        }
        let (flags, commit_ts) = (packed_cell.entry_flags(), packed_cell.commit_ts);
        node.for_each_entry(slot..slot + 1, |suffix, entry| {
            self.push_leaf(prefix, suffix, EntryView { flags, commit_ts, ..entry })
        })?;
        self.close_cell()
    }

    /// Appends slots of `node` as they are.
    pub fn push_all(&mut self, node: &Node<'_>, slots: std::ops::Range<usize>) -> NodeResult<()> {
        if node.is_packed() && self.gathered.is_some() {
            return self.push_packed_cells(node, slots);
        }
        if node.is_leaf() {
            let prefix = node.prefix();
            return node.for_each_entry(slots, |suffix, entry| self.push_leaf(prefix, suffix, entry));
        }
        for slot in slots {
            if slot == 0 {
                // The key of slot 0 is the lower fence.
                self.push_child(node.lower_fence(), &[], node.child(0)?)?;
            } else {
                self.push_child(node.prefix(), node.suffix(slot)?, node.child(slot)?)?;
            }
        }
        Ok(())
    }

    /// Returns the finished page. Its first 32 bytes are zero.
    pub fn finish(mut self) -> NodeResult<Vec<u8>> {
        self.close_cell()?;
        put_u16(&mut self.page, field::COUNT, self.slots);
        put_u16(&mut self.page, field::ENTRIES, self.entries);
        // The end of a 64 KiB page wraps to 0.
        put_u16(&mut self.page, field::HEAP_START, self.heap & 0xffff);
        put_u16(&mut self.page, field::GHOSTS, self.ghosts);
        put_u16(&mut self.page, field::UNSETTLED, self.unsettled);
        Ok(self.page)
    }

    /// Copies the finished node over `page`, leaving the page header alone.
    pub fn finish_into(self, page: &mut [u8]) -> NodeResult<()> {
        let built = self.finish()?;
        if built.len() != page.len() {
            return Err(NodeFault("page of another size"));
        }
        page[field::LEVEL..].copy_from_slice(&built[field::LEVEL..]);
        Ok(())
    }
}

/// Returns the slot of a packed cell that has `before` entries before it.
pub(super) fn packed_slot(head: u32, offset: usize, before: usize) -> [u8; SLOT] {
    let (head, offset, before) =
        (head.to_le_bytes(), (offset as u16).to_le_bytes(), (before as u16).to_le_bytes());
    [head[0], head[1], head[2], head[3], offset[0], offset[1], before[0], before[1]]
}

/// Returns the longest prefix of a node with no upper fence that begins at `lower` and ends with the keys of `last`.
pub fn prefix_without_upper_fence(lower: &[u8], last: &Node<'_>) -> NodeResult<usize> {
    if last.has_keys() { Ok(common_prefix(lower, &last.last_key(last.slots() - 1)?)) } else { Ok(0) }
}

/// Returns the length of the prefix that all keys between the fences share.
pub fn prefix_len(lower: &[u8], upper: Option<&[u8]>) -> usize {
    upper.map_or(0, |upper| common_prefix(lower, upper))
}

/// Returns the key `prefix` + `suffix` without its first `cut` bytes, in two pieces.
fn cut<'k>(cut: usize, prefix: &'k [u8], suffix: &'k [u8]) -> NodeResult<(&'k [u8], &'k [u8])> {
    if cut <= prefix.len() {
        return Ok((&prefix[cut..], suffix));
    }
    let tail = suffix.get(cut - prefix.len()..).ok_or(SHORT_KEY)?;
    Ok((&[], tail))
}
