//! Changes a packed leaf in place: the packed cells around an entry are unpacked, changed, and gathered anew.
//!
//! The result of a change is computed before anything is written ([`CellReplacement`]), so that the same code can tell
//! beforehand how much room it needs. An entry joins the packed cell before it, or else the one behind it, if that
//! has the same flags and timestamp and room. It breaks a packed cell that it falls into. So entries whose timestamps
//! differ from those of their neighbours stand alone until the leaf is settled, and those of one commit are packed at
//! once.

use std::ops::Range;

use super::build::{NodeBuilder, packed_slot};
use super::gathered::CollectedEntries;
use super::header::{count_flags, raise_max_commit_ts};
use super::layout::{NodeFault, NodeResult, SLOT, SLOTS, field, head_of, put_u16};
use super::node_view::Node;
use super::packed::{MAX_CELL_ENTRIES, MISCOUNTED, PackedCell, packable_len};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// The packed cells that replace others.
pub struct CellReplacement {
    slots: Range<usize>,
    cells: Vec<Vec<u8>>,
    /// Bytes of the replaced cells.
    old: usize,
    commit_ts: CommitTs,
}

/// Returns a bound of [`CellReplacement::room`] for an entry with `entry_len` bytes of key and payload. The packed
/// cell of the entry is broken into up to three, whose first keys are written in full, and the tail that the others
/// had in common is lost.
pub fn replacement_bound(page_size: usize, entry_len: usize) -> usize {
    4 * packable_len(page_size) + 256 + entry_len
}

/// The change at a position.
enum Edit<'e> {
    Insert(&'e [u8], EntryView<'e>),
    Replace(EntryView<'e>),
    Remove,
}

impl CellReplacement {
    /// Computes the insertion of an entry with this suffix in front of the one at `position`.
    pub fn insert(
        node: &Node<'_>,
        position: usize,
        suffix: &[u8],
        entry: EntryView<'_>,
    ) -> NodeResult<CellReplacement> {
        if position > node.count() {
            return Err(NodeFault("insert beyond the last slot"));
        }
        let (at, index) = match position < node.count() {
            true => node.search().slot_of(position)?,
            false => (node.slots(), 0),
        };
        if index > 0 {
            return CellReplacement::of(node, at..at + 1, index, &Edit::Insert(suffix, entry));
        }
        let joins = |slot: usize| {
            let same = node.stamp(slot)? == (entry.flags, entry.commit_ts);
            Ok(same && node.positions(slot).len() < MAX_CELL_ENTRIES)
        };
        if at > 0 && joins(at - 1)? {
            CellReplacement::of(node, at - 1..at, MAX_CELL_ENTRIES, &Edit::Insert(suffix, entry))
        } else if at < node.slots() && joins(at)? {
            CellReplacement::of(node, at..at + 1, 0, &Edit::Insert(suffix, entry))
        } else {
            CellReplacement::of(node, at..at, 0, &Edit::Insert(suffix, entry))
        }
    }

    /// Computes the replacement of the entry at `position` by `entry`.
    pub fn replace(node: &Node<'_>, position: usize, entry: EntryView<'_>) -> NodeResult<CellReplacement> {
        let (slot, index) = node.search().slot_of(position)?;
        CellReplacement::of(node, slot..slot + 1, index, &Edit::Replace(entry))
    }

    /// Computes the removal of the entry at `position`.
    pub fn remove(node: &Node<'_>, position: usize) -> NodeResult<CellReplacement> {
        let (slot, index) = node.search().slot_of(position)?;
        CellReplacement::of(node, slot..slot + 1, index, &Edit::Remove)
    }

    /// Computes a change. `index` counts entries within the slots; an insertion beyond them is one at their end.
    fn of(
        node: &Node<'_>,
        slots: Range<usize>,
        index: usize,
        edit: &Edit<'_>,
    ) -> NodeResult<CellReplacement> {
        let mut old = 0;
        for slot in slots.clone() {
            old += node.cell_len(slot)?;
        }
        let present: usize = slots.clone().map(|slot| node.positions(slot).len()).sum();
        let mut commit_ts = CommitTs::NONE;
        let inserted = usize::from(matches!(edit, Edit::Insert(..)));
        let mut cells = Cells::of(node, present + inserted);
        if !slots.is_empty() {
            cells.gathered.continue_cell(&node.search().packed_cell(slots.start)?);
        }
        let mut at = 0;
        node.for_each_entry(slots.clone(), |suffix, entry| {
            match edit {
                Edit::Insert(new, inserted) if at == index => {
                    cells.add(new, *inserted);
                    cells.add(suffix, entry);
                }
                Edit::Replace(entry) if at == index => cells.add(suffix, *entry),
                Edit::Remove if at == index => {}
                _ => cells.add(suffix, entry),
            }
            at += 1;
            Ok(())
        })?;
        match edit {
            Edit::Insert(suffix, entry) => {
                if index >= at {
                    cells.add(suffix, *entry);
                }
                commit_ts = entry.commit_ts;
            }
            Edit::Replace(entry) => commit_ts = entry.commit_ts,
            Edit::Remove => {}
        }
        Ok(CellReplacement { slots, cells: cells.finish(), old, commit_ts })
    }

    fn new_bytes(&self) -> usize {
        self.cells.iter().map(Vec::len).sum()
    }

    /// Returns the bytes that the leaf has to have free.
    pub fn room(&self) -> usize {
        let needed = self.new_bytes() + self.cells.len() * SLOT;
        needed.saturating_sub(self.old + self.slots.len() * SLOT)
    }

    /// Makes the change.
    pub fn apply(&self, page: &mut [u8]) -> NodeResult<()> {
        let node = Node::open(page)?;
        if self.room() > node.free() {
            return Err(NodeFault("no room on the page"));
        }
        let slots = node.slots() - self.slots.len() + self.cells.len();
        if SLOTS + slots * SLOT + self.new_bytes() > node.heap_start() {
            self.lay_out(page)?;
        } else {
            self.put_in_place(page)?;
        }
        raise_max_commit_ts(page, self.commit_ts);
        Ok(())
    }

    /// Lays the leaf out anew, because it has the room, but not in one piece.
    fn lay_out(&self, page: &mut [u8]) -> NodeResult<()> {
        let node = Node::open(page)?;
        let mut builder = NodeBuilder::like(&node, node.lower_fence(), node.upper_fence())?;
        builder.push_all(&node, 0..self.slots.start)?;
        for cell in &self.cells {
            builder.push_packed_cell(cell)?;
        }
        builder.push_all(&node, self.slots.end..node.slots())?;
        builder.finish_into(page)
    }

    fn put_in_place(&self, page: &mut [u8]) -> NodeResult<()> {
        let node = Node::open(page)?;
        let (count, slots, garbage) = (node.count(), node.slots(), node.garbage());
        let mut heap = node.heap_start();
        let mut before = match self.slots.start < slots {
            true => node.positions(self.slots.start).start,
            false => count,
        };
        let mut entries = count;
        let mut gone = Vec::with_capacity(self.slots.len());
        for slot in self.slots.clone() {
            let number = node.positions(slot).len();
            gone.push((node.search().flags(slot)?, number));
            entries -= number;
        }
        let at = SLOTS + self.slots.start * SLOT;
        let added: usize = self.cells.iter().map(|cell| usize::from(cell[0] & 15) + 1).sum();
        if entries + added > usize::from(u16::MAX) {
            return Err(MISCOUNTED);
        }
        let new_slots = slots - self.slots.len() + self.cells.len();
        page.copy_within(at + self.slots.len() * SLOT..SLOTS + slots * SLOT, at + self.cells.len() * SLOT);
        for (flags, number) in gone {
            count_flags(page, (flags, number), (EntryFlags::default(), 0))?;
        }
        for (index, cell) in self.cells.iter().enumerate() {
            heap -= cell.len();
            page[heap..heap + cell.len()].copy_from_slice(cell);
            let packed_cell = PackedCell::read(&*page, heap)?;
            let head = head_of(&page[packed_cell.keys.at..packed_cell.keys.at + packed_cell.keys.len]);
            page[at + index * SLOT..][..SLOT].copy_from_slice(&packed_slot(head, heap, before));
            count_flags(page, (EntryFlags::default(), 0), (packed_cell.entry_flags(), packed_cell.count))?;
            before += packed_cell.count;
            entries += packed_cell.count;
        }
        if entries != count {
            for slot in self.slots.start + self.cells.len()..new_slots {
                let at = SLOTS + slot * SLOT + 6;
                let old = usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
                put_u16(page, at, (old + entries).checked_sub(count).ok_or(MISCOUNTED)? & 0xffff);
            }
        }
        put_u16(page, field::COUNT, new_slots);
        put_u16(page, field::ENTRIES, entries);
        put_u16(page, field::HEAP_START, heap & 0xffff);
        put_u16(page, field::GARBAGE, garbage + self.old);
        Ok(())
    }
}

/// Gathers entries into cells.
pub(super) struct Cells {
    page_size: usize,
    cut: usize,
    /// Most entries of a packed cell; half of the entries if they are one too many for a packed cell.
    most: usize,
    gathered: CollectedEntries,
    cells: Vec<Vec<u8>>,
}

impl Cells {
    fn of(node: &Node<'_>, entries: usize) -> Cells {
        let most = if entries > MAX_CELL_ENTRIES { entries.div_ceil(2) } else { MAX_CELL_ENTRIES };
        let (page_size, cut) = (node.bytes().len(), node.prefix().len());
        Cells { page_size, cut, most, gathered: CollectedEntries::default(), cells: Vec::new() }
    }

    fn add(&mut self, suffix: &[u8], entry: EntryView<'_>) {
        let full = self.gathered.len() >= self.most;
        if full || !self.gathered.add(self.page_size, self.cut, (&[], suffix), entry) {
            self.close();
            self.gathered.add(self.page_size, self.cut, (&[], suffix), entry);
        }
    }

    fn close(&mut self) {
        if self.gathered.len() > 0 {
            let mut cell = Vec::new();
            self.gathered.encode(&mut cell);
            self.cells.push(cell);
            self.gathered.clear();
        }
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.cells
    }
}
