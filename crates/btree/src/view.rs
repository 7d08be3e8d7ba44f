//! A latched leaf as visitors see it.

use std::cell::Cell;
use std::ops::Range;

use leafline_storage::{Lsn, PageNo};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, Result};
use crate::node::{LeafCell, Node, NodeFault, NodeResult};

/// A leaf under its latch: entries by slot, in key order, ghosts included.
///
/// Damaged bytes show as empty keys and payloads here; the call that showed the leaf then returns the error instead of
/// its result.
pub struct LeafView<'a> {
    node: Node<'a>,
    page_no: PageNo,
    lsn: Lsn,
    fault: Cell<Option<NodeFault>>,
}

const NO_ENTRY: LeafCell<'static> = LeafCell {
    suffix: &[],
    entry: EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload: &[] },
};

impl<'a> LeafView<'a> {
    pub(crate) fn new(node: Node<'a>, page_no: PageNo, lsn: Lsn) -> LeafView<'a> {
        LeafView { node, page_no, lsn, fault: Cell::new(None) }
    }

    /// The first damage that was met through this view.
    pub(crate) fn checked(&self) -> Result<()> {
        self.fault.get().map_or(Ok(()), |fault| Err(BtreeError::corrupt(self.page_no, fault)))
    }

    #[cold]
    fn damaged(&self, fault: NodeFault) {
        self.fault.set(Some(fault));
    }

    /// The page.
    pub fn page_no(&self) -> PageNo {
        self.page_no
    }

    /// End of the last mini-transaction that changed the leaf.
    pub fn page_lsn(&self) -> Lsn {
        self.lsn
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.node.count()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that begin every key of the leaf.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.node.prefix()
    }

    /// Key without the prefix, and entry, of `slot`.
    #[inline]
    pub fn cell(&self, slot: usize) -> LeafCell<'a> {
        match self.node.leaf_cell(slot) {
            Ok(cell) => cell,
            Err(fault) => {
                self.damaged(fault);
                NO_ENTRY
            }
        }
    }

    /// The key of `slot` without the prefix.
    #[inline]
    pub fn suffix(&self, slot: usize) -> &'a [u8] {
        self.node.suffix(slot).unwrap_or_else(|fault| {
            self.damaged(fault);
            &[]
        })
    }

    /// Replaces `key` by the whole key of `slot`.
    #[inline]
    pub fn key_into(&self, slot: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.suffix(slot));
    }

    /// The entry of `slot`.
    #[inline]
    pub fn entry(&self, slot: usize) -> EntryView<'a> {
        self.cell(slot).entry
    }

    /// Says that the entry of `slot`, if there is one, will be read soon. Entries lie on the page as they came: who reads many in
    /// key order would wait for memory at each.
    #[inline]
    pub fn prefetch(&self, slot: usize) {
        self.node.prefetch_cell(slot);
    }

    /// The flags of `slot`, without looking at its cell.
    #[inline]
    pub fn flags(&self, slot: usize) -> EntryFlags {
        self.node.flags(slot).unwrap_or_else(|fault| {
            self.damaged(fault);
            EntryFlags(0)
        })
    }

    /// How many of `slots` are no ghosts. No cell is looked at.
    pub fn live(&self, slots: Range<usize>) -> usize {
        self.node.search().live(slots).unwrap_or_else(|fault| {
            self.damaged(fault);
            0
        })
    }

    /// A snapshot above this timestamp sees the leaf as it stands.
    #[inline]
    pub fn max_commit_ts(&self) -> CommitTs {
        self.node.max_commit_ts()
    }

    /// Entries that carry a timestamp of their own.
    pub fn unsettled(&self) -> usize {
        self.node.unsettled()
    }

    /// Ghosts among the entries.
    pub fn ghosts(&self) -> usize {
        self.node.ghosts()
    }

    /// Whether all entries are ghosts.
    pub fn no_live_entry(&self) -> bool {
        self.node.ghosts() >= self.len()
    }

    /// First key that may be on the leaf.
    pub fn lower_fence(&self) -> &'a [u8] {
        self.node.lower_fence()
    }

    /// First key beyond the leaf, `None` at the end of the tree.
    pub fn upper_fence(&self) -> Option<&'a [u8]> {
        self.node.upper_fence()
    }

    /// First slot whose key is at least `key`, `len()` if there is none; and whether it is equal.
    pub fn find(&self, key: &[u8]) -> (usize, bool) {
        self.found(self.node.lower_bound(key))
    }

    /// As [`find`](Self::find) for a key within the fences, the upper one included.
    pub fn find_within(&self, key: &[u8]) -> (usize, bool) {
        self.found(self.node.search().find_within(0, key))
    }

    fn found(&self, found: NodeResult<(usize, bool)>) -> (usize, bool) {
        found.unwrap_or_else(|fault| {
            self.damaged(fault);
            (self.len(), false)
        })
    }
}
