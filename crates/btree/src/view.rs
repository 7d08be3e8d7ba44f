//! A latched leaf as visitors see it: by positions of entries, which are called slots here as on a plain leaf. Runs of a packed
//! leaf are taken apart when one of their entries is asked for, once for a view.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use leafline_storage::{Lsn, PageNo};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, Result};
use crate::node::{LeafCell, LeafFormat, Node, NodeFault, NodeResult, Unpacked};
use crate::policy;

/// A leaf under its latch: entries by slot, in key order, ghosts included.
///
/// Damaged bytes show as empty keys and payloads here; the call that showed the leaf then returns the error instead of
/// its result.
pub struct LeafView<'a> {
    node: Node<'a>,
    page_no: PageNo,
    lsn: Lsn,
    fault: Cell<Option<NodeFault>>,
    unpacked: Runs,
}

/// The runs of a packed leaf that were taken apart: they stay as long as the view, as others may refer to them.
#[derive(Default)]
struct Runs {
    /// The slot that was read last.
    last: Cell<usize>,
    /// Mostly one is all that is read.
    first: OnceCell<(usize, Unpacked)>,
    others: OnceCell<Box<[OnceCell<Box<Unpacked>>]>>,
}

impl Runs {
    /// The entry at a position.
    fn cell<'v>(&'v self, node: &Node<'v>, position: usize) -> NodeResult<LeafCell<'v>> {
        let slot = self.slot_of(node, position)?;
        let index = position - node.positions(slot).start;
        let run = self.run(node, slot)?;
        Ok(LeafCell { suffix: run.suffix(index)?, entry: run.entry(node.bytes(), index) })
    }

    /// The slot of a position: mostly that of the last one, or its neighbour.
    #[inline]
    fn slot_of(&self, node: &Node<'_>, position: usize) -> NodeResult<usize> {
        let last = self.last.get();
        let near = [last, last + 1, last.wrapping_sub(1)];
        let near =
            near.into_iter().find(|slot| *slot < node.slots() && node.positions(*slot).contains(&position));
        let slot = match near {
            Some(slot) => slot,
            None => node.search().slot_of(position)?.0,
        };
        self.last.set(slot);
        Ok(slot)
    }

    fn run(&self, node: &Node<'_>, slot: usize) -> NodeResult<&Unpacked> {
        if self.first.get().is_none() {
            // It is not set, so it is now.
            let _ = self.first.set((slot, node.unpacked(slot)?));
        }
        match self.first.get() {
            Some((first, run)) if *first == slot => return Ok(run),
            _ => {}
        }
        let others = self.others.get_or_init(|| (0..node.slots()).map(|_| OnceCell::new()).collect());
        let other = others.get(slot).ok_or(NodeFault("no such slot"))?;
        if let Some(run) = other.get() {
            return Ok(run);
        }
        let run = Box::new(node.unpacked(slot)?);
        Ok(other.get_or_init(|| run))
    }
}

const NO_ENTRY: LeafCell<'static> = LeafCell {
    suffix: &[],
    entry: EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload: &[] },
};

impl<'a> LeafView<'a> {
    pub(crate) fn new(node: Node<'a>, page_no: PageNo, lsn: Lsn) -> LeafView<'a> {
        LeafView { node, page_no, lsn, fault: Cell::new(None), unpacked: Runs::default() }
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
            LeafFormat::Packed => self.unpacked.cell(&self.node, slot),
        };
        match cell {
            Ok(cell) => cell,
            Err(fault) => {
                self.damaged(fault);
                NO_ENTRY
            }
        }
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
