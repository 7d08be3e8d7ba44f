//! A latched leaf as visitors see it: entries by position, which is called slot here as on a plain leaf. A packed
//! cell of a packed leaf is unpacked when one of its entries is asked for ([`UnpackedCells`]).

use std::cell::Cell;
use std::ops::Range;

use leafline_storage::{Lsn, PageNo};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, Result};
use crate::node::{LeafCell, LeafFormat, Node, NodeFault, NodeResult, Unpacked};
use crate::policy;
use crate::unpacked_cells::UnpackedCells;

/// A leaf under its latch: entries by slot, in key order, ghosts included.
///
/// Damaged bytes show as empty keys and payloads here. The call that showed the leaf then returns the error instead
/// of its result.
pub struct LeafView<'a> {
    node: Node<'a>,
    page_no: PageNo,
    lsn: Lsn,
    fault: Cell<Option<NodeFault>>,
    cells: &'a mut UnpackedCells,
}

const NO_ENTRY: LeafCell<'static> = LeafCell {
    suffix: &[],
    entry: EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload: &[] },
};

/// Neighbours on a packed leaf that have the same flags and timestamp.
#[derive(Clone, Copy)]
pub struct PackedCellView<'v> {
    first: usize,
    unpacked: &'v Unpacked,
}

impl<'v> PackedCellView<'v> {
    /// Returns their slots.
    #[inline]
    pub fn slots(&self) -> Range<usize> {
        self.first..self.first + self.unpacked.len()
    }

    /// Returns their flags.
    #[inline]
    pub fn flags(&self) -> EntryFlags {
        self.unpacked.flags()
    }

    /// Returns their timestamp.
    #[inline]
    pub fn commit_ts(&self) -> CommitTs {
        self.unpacked.commit_ts()
    }

    /// Returns the key without the prefix, and the payload, of one of their slots. Both are empty for other slots.
    #[inline]
    pub fn get(&self, slot: usize) -> (&'v [u8], &'v [u8]) {
        let index = slot.wrapping_sub(self.first);
        let (suffix, payload) = (self.unpacked.suffix(index), self.unpacked.payload(index));
        (suffix.unwrap_or_default(), payload.unwrap_or_default())
    }
}

impl<'a> LeafView<'a> {
    /// Makes a view. A caller that views one leaf after the other lends the same `packed cells`.
    pub(crate) fn new(
        node: Node<'a>,
        page_no: PageNo,
        lsn: Lsn,
        cells: &'a mut UnpackedCells,
    ) -> LeafView<'a> {
        if node.format() == LeafFormat::Packed {
            cells.begin(node.slots());
        }
        LeafView { node, page_no, lsn, fault: Cell::new(None), cells }
    }

    /// Returns the first damage that was met through this view as an error.
    pub(crate) fn checked(&self) -> Result<()> {
        self.fault.get().map_or(Ok(()), |fault| Err(BtreeError::corrupt(self.page_no, fault)))
    }

    #[cold]
    fn damaged(&self, fault: NodeFault) {
        self.fault.set(Some(fault));
    }

    /// Returns the leaf's page.
    pub fn page_no(&self) -> PageNo {
        self.page_no
    }

    /// Returns the end of the last mini-transaction that changed the leaf.
    pub fn page_lsn(&self) -> Lsn {
        self.lsn
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.node.count()
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the share of the page that its slots, entries and fences take, from 0 to 1.
    pub fn fill(&self) -> f64 {
        self.node.used() as f64 / policy::capacity(self.node.bytes().len()) as f64
    }

    /// Returns the bytes that begin every key of the leaf.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.node.prefix()
    }

    /// Returns the key without the prefix, and the entry, of `slot`.
    #[inline]
    pub fn cell(&self, slot: usize) -> LeafCell<'_> {
        let cell = match self.node.format() {
            LeafFormat::Plain => self.node.leaf_cell(slot),
            LeafFormat::Packed => self.cells.cell(&self.node, slot),
        };
        match cell {
            Ok(cell) => cell,
            Err(fault) => {
                self.damaged(fault);
                NO_ENTRY
            }
        }
    }

    /// Returns the entries that are packed together with that of `slot`. Returns `None` if the leaf is not packed, or
    /// is damaged.
    #[inline]
    pub fn packed_with(&self, slot: usize) -> Option<PackedCellView<'_>> {
        if self.node.format() == LeafFormat::Plain {
            return None;
        }
        match self.cells.at(&self.node, slot) {
            Ok((first, unpacked)) => Some(PackedCellView { first, unpacked }),
            Err(fault) => {
                self.damaged(fault);
                None
            }
        }
    }

    /// Allows the memory of entries that were read to be reused for the next ones.
    #[inline]
    pub fn forget(&mut self) {
        self.cells.forget();
    }

    /// Returns the key of `slot` without the prefix.
    #[inline]
    pub fn suffix(&self, slot: usize) -> &[u8] {
        self.cell(slot).suffix
    }

    /// Replaces `key` by the whole key of `slot`.
    #[inline]
    pub fn key_into(&self, slot: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.suffix(slot));
    }

    /// Returns the entry of `slot`.
    #[inline]
    pub fn entry(&self, slot: usize) -> EntryView<'_> {
        self.cell(slot).entry
    }

    /// Tells the processor that the entry of `slot`, if there is one, will be read soon. Entries lie on the page in
    /// the order of their insertion, so a visitor that reads many in key order would otherwise wait for memory at
    /// each.
    #[inline]
    pub fn prefetch(&self, slot: usize) {
        if self.node.format() == LeafFormat::Plain {
            self.node.prefetch_cell(slot);
        }
    }

    /// Returns the flags of `slot`, without reading more of its cell.
    #[inline]
    pub fn flags(&self, slot: usize) -> EntryFlags {
        let search = self.node.search();
        search.slot_of(slot).and_then(|(slot, _)| search.flags(slot)).unwrap_or_else(|fault| {
            self.damaged(fault);
            EntryFlags(0)
        })
    }

    /// Returns how many of `slots` are no ghosts, without reading cells.
    pub fn live(&self, slots: Range<usize>) -> usize {
        self.node.search().live(slots).unwrap_or_else(|fault| {
            self.damaged(fault);
            0
        })
    }

    /// Returns the timestamp above which a snapshot sees the leaf as it stands.
    #[inline]
    pub fn max_commit_ts(&self) -> CommitTs {
        self.node.max_commit_ts()
    }

    /// Returns the number of entries that carry a timestamp of their own.
    pub fn unsettled(&self) -> usize {
        self.node.unsettled()
    }

    /// Returns the number of ghosts among the entries.
    pub fn ghosts(&self) -> usize {
        self.node.ghosts()
    }

    /// Returns whether all entries are ghosts.
    pub fn no_live_entry(&self) -> bool {
        self.node.ghosts() >= self.len()
    }

    /// Returns the first key that may be on the leaf.
    pub fn lower_fence(&self) -> &'a [u8] {
        self.node.lower_fence()
    }

    /// Returns the first key beyond the leaf, or `None` at the end of the tree.
    pub fn upper_fence(&self) -> Option<&'a [u8]> {
        self.node.upper_fence()
    }

    /// Returns the first slot whose key is at least `key`, or `len()` if there is none; and whether the key is equal.
    pub fn find(&self, key: &[u8]) -> (usize, bool) {
        self.found(self.node.lower_bound(key))
    }

    /// Searches like [`find`](Self::find), for a key within the fences, the upper one included.
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
