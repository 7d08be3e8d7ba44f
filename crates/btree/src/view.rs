//! A latched leaf as visitors see it: by positions of entries, which are called slots here as on a plain leaf. Runs of a packed
//! leaf are taken apart when one of their entries is asked for ([`Runs`]).

use std::cell::Cell;
use std::ops::Range;

use leafline_storage::{Lsn, PageNo};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, Result};
use crate::node::{LeafCell, LeafFormat, Node, NodeFault, NodeResult, Unpacked};
use crate::policy;
use crate::runs::Runs;

/// A leaf under its latch: entries by slot, in key order, ghosts included.
///
/// Damaged bytes show as empty keys and payloads here; the call that showed the leaf then returns the error instead of
/// its result.
pub struct LeafView<'a> {
    node: Node<'a>,
    page_no: PageNo,
    lsn: Lsn,
    fault: Cell<Option<NodeFault>>,
    runs: &'a mut Runs,
}

const NO_ENTRY: LeafCell<'static> = LeafCell {
    suffix: &[],
    entry: EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload: &[] },
};

/// Neighbours on a packed leaf that have the same flags and timestamp.
#[derive(Clone, Copy)]
pub struct PackedTogether<'v> {
    first: usize,
    run: &'v Unpacked,
}

impl<'v> PackedTogether<'v> {
    /// Their slots.
    #[inline]
    pub fn slots(&self) -> Range<usize> {
        self.first..self.first + self.run.len()
    }

    /// Their flags.
    #[inline]
    pub fn flags(&self) -> EntryFlags {
        self.run.flags()
    }

    /// Their timestamp.
    #[inline]
    pub fn commit_ts(&self) -> CommitTs {
        self.run.commit_ts()
    }

    /// Key without the prefix, and payload, of one of their slots; empty where there is none.
    #[inline]
    pub fn get(&self, slot: usize) -> (&'v [u8], &'v [u8]) {
        let index = slot.wrapping_sub(self.first);
        let (suffix, payload) = (self.run.suffix(index), self.run.payload(index));
        (suffix.unwrap_or_default(), payload.unwrap_or_default())
    }
}

impl<'a> LeafView<'a> {
    /// Whoever views one leaf after the other lends the same `runs`.
    pub(crate) fn new(node: Node<'a>, page_no: PageNo, lsn: Lsn, runs: &'a mut Runs) -> LeafView<'a> {
        if node.format() == LeafFormat::Packed {
            runs.begin(node.slots());
        }
        LeafView { node, page_no, lsn, fault: Cell::new(None), runs }
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

    /// The share of the page that its slots, entries and fences take.
    pub fn fill(&self) -> f64 {
        self.node.used() as f64 / policy::capacity(self.node.bytes().len()) as f64
    }

    /// Bytes that begin every key of the leaf.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.node.prefix()
    }

    /// Key without the prefix, and entry, of `slot`.
    #[inline]
    pub fn cell(&self, slot: usize) -> LeafCell<'_> {
        let cell = match self.node.format() {
            LeafFormat::Plain => self.node.leaf_cell(slot),
            LeafFormat::Packed => self.runs.cell(&self.node, slot),
        };
        match cell {
            Ok(cell) => cell,
            Err(fault) => {
                self.damaged(fault);
                NO_ENTRY
            }
        }
    }

    /// The entries that are packed together with that of `slot`; `None` if the leaf is not packed, or damaged.
    #[inline]
    pub fn packed_with(&self, slot: usize) -> Option<PackedTogether<'_>> {
        if self.node.format() == LeafFormat::Plain {
            return None;
        }
        match self.runs.at(&self.node, slot) {
            Ok((first, run)) => Some(PackedTogether { first, run }),
            Err(fault) => {
                self.damaged(fault);
                None
            }
        }
    }

    /// Nothing that was read of entries is needed any more: what the next ones are read to can be the same memory.
    #[inline]
    pub fn forget(&mut self) {
        self.runs.forget();
    }

    /// The key of `slot` without the prefix.
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

    /// The entry of `slot`.
    #[inline]
    pub fn entry(&self, slot: usize) -> EntryView<'_> {
        self.cell(slot).entry
    }

    /// Says that the entry of `slot`, if there is one, will be read soon. Entries lie on the page as they came: who reads many in
    /// key order would wait for memory at each.
    #[inline]
    pub fn prefetch(&self, slot: usize) {
        if self.node.format() == LeafFormat::Plain {
            self.node.prefetch_cell(slot);
        }
    }

    /// The flags of `slot`, without looking at more of its cell.
    #[inline]
    pub fn flags(&self, slot: usize) -> EntryFlags {
        let search = self.node.search();
        search.slot_of(slot).and_then(|(slot, _)| search.flags(slot)).unwrap_or_else(|fault| {
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
