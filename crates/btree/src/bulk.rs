//! Builds a tree from sorted entries: pages are filled one after the other and written past the pool and the log.
//!
//! Every level has a page under construction and one closed page held back, so that the last two can be balanced at
//! the end. A page is closed when the next entry would exceed the fill. The boundary is then chosen among the last
//! entries, where the separator is shortest. The bytes that the common prefix saves are known only with the
//! separator, so the size counted while filling is a lower bound, and the boundary moves back until the page fits.

use leafline_storage::page::set_kind;
use leafline_storage::{BulkWriter, PageClass, PageKind, PageNo, SegmentId, Store};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, OnPage, Result};
use crate::limits;
use crate::node::{
    CHILD, LeafFormat, NodeBuilder, NodeFault, NodeResult, PackedSize, SLOT, branch_cell_len, common_prefix,
    format_version, leaf_cell_len,
};
use crate::policy;
use crate::tree::Tree;

/// Builds a tree from entries pushed in ascending key order.
pub struct BulkBuilder {
    store: Store,
    segment: SegmentId,
    writer: BulkWriter,
    shape: Shape,
    levels: Vec<Level>,
    last_key: Option<Vec<u8>>,
}

/// The sizes and formats of all pages of a tree.
#[derive(Clone, Copy)]
struct Shape {
    page_size: usize,
    /// Bytes of a page to fill.
    target: usize,
    format: LeafFormat,
}

impl Shape {
    /// Returns the format of the nodes of a level.
    fn format_of(self, level: u8) -> LeafFormat {
        if level == 0 { self.format } else { LeafFormat::Plain }
    }
}

/// A level under construction.
struct Level {
    level: u8,
    lower: Vec<u8>,
    items: Items,
    /// Slots and cells of `items` with whole keys.
    sum: Sum,
    /// `sum` as it was before the first item and behind each one.
    sums: Vec<Size>,
    held: Option<Closed>,
    written: bool,
}

/// A page whose contents are final except for balancing.
struct Closed {
    lower: Vec<u8>,
    items: Items,
}

impl BulkBuilder {
    /// Begins a tree in `segment` (state `Building`, without a root). Pages are filled to `fill_percent` (10 to 100),
    /// and leaves are laid out in `format`.
    ///
    /// # Errors
    /// `PageSize`, and the errors of the store.
    pub fn new(
        store: &Store,
        segment: SegmentId,
        fill_percent: u32,
        format: LeafFormat,
    ) -> Result<BulkBuilder> {
        Tree::open(store, segment, PageNo::NONE)?;
        let page_size = store.page_size();
        let target = policy::capacity(page_size) * fill_percent.clamp(10, 100) as usize / 100;
        Ok(BulkBuilder {
            store: store.clone(),
            segment,
            writer: store.bulk_writer(segment)?,
            shape: Shape { page_size, target, format },
            levels: vec![Level::new(Shape { page_size, target, format }, 0, Vec::new())],
            last_key: None,
        })
    }

    /// Sets the format of leaves, before the first entry.
    pub fn lay_out(&mut self, format: LeafFormat) {
        debug_assert!(self.last_key.is_none());
        self.shape.format = format;
        self.levels = vec![Level::new(self.shape, 0, Vec::new())];
    }

    /// Adds an entry without a timestamp.
    ///
    /// # Errors
    /// `NotAscending`, `KeyTooLong`, `EntryTooLarge`, and the errors of the store.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        let limit = limits::max_key_len(self.shape.page_size);
        if key.len() > limit {
            return Err(BtreeError::KeyTooLong { len: key.len(), limit });
        }
        let (len, limit) = (key.len() + payload.len(), limits::max_entry_len(self.shape.page_size));
        if len > limit {
            return Err(BtreeError::EntryTooLarge { len, limit });
        }
        match &mut self.last_key {
            Some(last) if last.as_slice() >= key => return Err(BtreeError::NotAscending),
            Some(last) => {
                last.clear();
                last.extend_from_slice(key);
            }
            None => self.last_key = Some(key.to_vec()),
        }
        self.add(0, key, payload)
    }

    /// Writes the remaining pages and returns the tree.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn finish(mut self) -> Result<Tree> {
        let mut level = 0;
        loop {
            let last = &mut self.levels[level];
            if !last.written && last.held.is_none() {
                let (lower, items) = (std::mem::take(&mut last.lower), std::mem::take(&mut last.items));
                let root = self.write(level, &Closed { lower, items }, None)?;
                self.writer.finish(root)?;
                return Tree::open(&self.store, self.segment, root);
            }
            last.balance(self.shape);
            let (held, lower) = (last.held.take(), std::mem::take(&mut last.lower));
            let items = std::mem::take(&mut last.items);
            if let Some(held) = held {
                self.emit(level, held, &lower)?;
            }
            let page = self.write(level, &Closed { lower: lower.clone(), items }, None)?;
            self.add_child(level, &lower, page)?;
            level += 1;
        }
    }

    /// Adds an item to a level, closing its page first if it is full.
    fn add(&mut self, level: usize, key: &[u8], payload: &[u8]) -> Result<()> {
        while let Some((held, upper)) = self.levels[level].make_room(self.shape, key, payload) {
            if let Some(held) = held {
                self.emit(level, held, &upper)?;
            }
        }
        self.levels[level].push(key, payload);
        Ok(())
    }

    /// Writes a closed page and adds a reference to it on the level above.
    fn emit(&mut self, level: usize, closed: Closed, upper: &[u8]) -> Result<()> {
        let page = self.write(level, &closed, Some(upper))?;
        self.levels[level].written = true;
        self.add_child(level, &closed.lower, page)
    }

    fn add_child(&mut self, level: usize, lower: &[u8], page: PageNo) -> Result<()> {
        if self.levels.len() == level + 1 {
            self.levels.push(Level::new(self.shape, level as u8 + 1, Vec::new()));
        }
        self.add(level + 1, lower, &page.0.to_le_bytes()[..CHILD])
    }

    fn write(&mut self, level: usize, closed: &Closed, upper: Option<&[u8]>) -> Result<PageNo> {
        let (class, kind) = match level {
            0 => (PageClass::Leaf, PageKind::LEAF),
            _ => (PageClass::Branch, PageKind::BRANCH),
        };
        let page = self.writer.allocate(class)?;
        let builder = closed.build(self.shape, level as u8, upper).on(page)?;
        let mut bytes = builder.finish().on(page)?;
        set_kind(&mut bytes, kind, format_version(self.shape.format_of(level as u8)));
        self.writer.write(page, &bytes)?;
        Ok(page)
    }
}

/// Counts the leaves that entries would take if [`BulkBuilder`] laid them out.
pub struct LeafCount {
    shape: Shape,
    level: Level,
    leaves: u64,
}

impl LeafCount {
    /// Makes a count of no entries. The parameters are those of [`BulkBuilder::new`].
    pub fn new(page_size: usize, fill_percent: u32, format: LeafFormat) -> LeafCount {
        let target = policy::capacity(page_size) * fill_percent.clamp(10, 100) as usize / 100;
        let shape = Shape { page_size, target, format };
        LeafCount { shape, level: Level::new(shape, 0, Vec::new()), leaves: 0 }
    }

    /// Adds an entry behind the others.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) {
        while self.level.make_room(self.shape, key, payload).is_some() {
            self.leaves += 1;
        }
        self.level.push(key, payload);
    }

    /// Returns the number of full leaves.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }
}

impl Level {
    fn new(shape: Shape, level: u8, lower: Vec<u8>) -> Level {
        let sum = Sum::new(shape, level);
        let sums = vec![sum.total];
        Level { level, lower, items: Items::default(), sum, sums, held: None, written: false }
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        self.sum.add(key, payload);
        self.sums.push(self.sum.total);
        self.items.push(key, payload);
    }

    /// If an item would exceed the fill, closes the page and holds it back. Returns the page that was held back
    /// before, if any, with its upper fence.
    fn make_room(&mut self, shape: Shape, key: &[u8], payload: &[u8]) -> Option<(Option<Closed>, Vec<u8>)> {
        let count = self.items.len();
        if count == 0 {
            return None;
        }
        // No separator gives a longer prefix than the key itself.
        let prefix = common_prefix(&self.lower, key);
        let with = self.sum.with(key, payload);
        if with.without_prefix(prefix) + self.lower.len() <= shape.target {
            return None;
        }
        let (at, separator) = self.boundary(shape, key);
        Some(self.close(shape, at, separator))
    }

    /// Closes the page with its first `at` items. Returns the page held back before, and its upper fence.
    fn close(&mut self, shape: Shape, at: usize, separator: Vec<u8>) -> (Option<Closed>, Vec<u8>) {
        let rest = self.items.split_off(at);
        let lower = std::mem::replace(&mut self.lower, separator);
        let upper = lower.clone();
        let items = std::mem::replace(&mut self.items, rest);
        (self.sum, self.sums) = self.items.sums(shape, self.level);
        (self.held.replace(Closed { lower, items }), upper)
    }

    /// Chooses where to end the page: returns the number of its items, and the separator behind them. `next` follows
    /// the items. Pages are as full as possible, except where a shorter separator saves more: the separator is stored
    /// on the page, on the next one, and above them.
    fn boundary(&self, shape: Shape, next: &[u8]) -> (usize, Vec<u8>) {
        let count = self.items.len();
        let window = (count / 16).max(1);
        let sums = &self.sums;
        let mut best: Option<(usize, usize)> = None;
        for at in (1..=count).rev() {
            let separator = self.separator(at, next);
            let size = size(&self.lower, separator, sums[at]);
            let cost = shape.target.saturating_sub(size) + 3 * separator.len();
            if size <= shape.target && best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, at));
            }
            if best.is_some() && count - at >= window {
                break;
            }
        }
        // A single item always fits on a page, though perhaps not within the fill.
        let at = best.map_or(1, |(_, at)| at);
        (at, self.separator(at, next).to_vec())
    }

    fn separator<'k>(&'k self, at: usize, next: &'k [u8]) -> &'k [u8] {
        let upto = if at < self.items.len() { self.items.key(at) } else { next };
        if self.level == 0 { policy::separator(self.items.key(at - 1), upto) } else { upto }
    }

    /// Moves items from the page held back to the last one, if that is much emptier.
    fn balance(&mut self, shape: Shape) {
        let Some(held) = &mut self.held else { return };
        let held_bytes = held.items.sum(shape, self.level, 0).total.bytes;
        if self.sum.total.bytes * 2 >= held_bytes {
            return;
        }
        let mut all = std::mem::take(&mut held.items);
        let at_now = all.len();
        all.append(&self.items);
        let (_, sums) = all.sums(shape, self.level);
        let total = sums[all.len()];
        let capacity = policy::capacity(shape.page_size);
        let mut nearest: Vec<usize> = (1..=at_now).collect();
        nearest.sort_by_key(|at| sums[*at].bytes.abs_diff(total.bytes / 2));
        let fits = |at: usize| {
            let separator =
                if self.level == 0 { policy::separator(all.key(at - 1), all.key(at)) } else { all.key(at) };
            // A page with fewer items may need more room, because their common prefix may be shorter. The runs of the
            // right page begin at other items, so its size is not the difference of two sums.
            let right = all.sum(shape, self.level, at).total;
            size(&held.lower, separator, sums[at]) <= capacity
                && size(separator, all.key(all.len() - 1), right) <= capacity
        };
        let at = nearest.into_iter().find(|at| fits(*at)).unwrap_or(at_now);
        if at != at_now {
            self.lower = match self.level {
                0 => policy::separator(all.key(at - 1), all.key(at)).to_vec(),
                _ => all.key(at).to_vec(),
            };
        }
        self.items = all.split_off(at);
        held.items = all;
    }
}

impl Closed {
    fn build(&self, shape: Shape, level: u8, upper: Option<&[u8]>) -> NodeResult<NodeBuilder> {
        let last = self.items.len().checked_sub(1).map(|last| self.items.key(last));
        let prefix = upper.or(last).map_or(0, |end| common_prefix(&self.lower, end));
        let mut builder = NodeBuilder::with_prefix(shape.page_size, level, &self.lower, upper, prefix)?
            .in_format(shape.format_of(level));
        for item in 0..self.items.len() {
            let (key, payload) = (self.items.key(item), self.items.payload(item));
            if level == 0 {
                let entry = EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload };
                builder.push_leaf(key, &[], entry)?;
            } else {
                let mut page = [0; 8];
                page.get_mut(..payload.len())
                    .ok_or(NodeFault("child reference too long"))?
                    .copy_from_slice(payload);
                builder.push_child(key, &[], PageNo(u64::from_le_bytes(page)))?;
            }
        }
        Ok(builder)
    }
}

/// The size of some items of a page with whole keys.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    /// Slots, each of which saves the prefix of the page once.
    slots: usize,
}

impl Size {
    fn without_prefix(self, prefix: usize) -> usize {
        self.bytes.saturating_sub(self.slots * prefix)
    }
}

/// Returns the bytes that a page takes with items of this size. `end` is its upper fence, or its last key if it has
/// none. The result is an upper bound: the key of a branch's first item is not stored.
fn size(lower: &[u8], end: &[u8], items: Size) -> usize {
    items.without_prefix(common_prefix(lower, end)) + lower.len() + end.len()
}

/// The size of consecutive items; exact on plain nodes, a bound on packed leaves.
struct Sum {
    level: u8,
    total: Size,
    packed: Option<PackedSize>,
}

impl Sum {
    fn new(shape: Shape, level: u8) -> Sum {
        let packed = match shape.format_of(level) {
            LeafFormat::Plain => None,
            LeafFormat::Packed => Some(PackedSize::new(shape.page_size)),
        };
        Sum { level, total: Size::default(), packed }
    }

    fn add(&mut self, key: &[u8], payload: &[u8]) {
        self.total = match &mut self.packed {
            Some(packed) => {
                packed.add(key, payload);
                let (bytes, slots) = packed.get();
                Size { bytes, slots }
            }
            None => self.with(key, payload),
        };
    }

    /// Returns the size with another item.
    fn with(&self, key: &[u8], payload: &[u8]) -> Size {
        if let Some(packed) = &self.packed {
            let (bytes, slots) = packed.with(key, payload);
            return Size { bytes, slots };
        }
        let cell = match self.level {
            0 => leaf_cell_len(false, key.len(), payload.len()),
            _ => branch_cell_len(key.len()),
        };
        Size { bytes: self.total.bytes + cell + SLOT, slots: self.total.slots + 1 }
    }
}

/// Keys and payloads, back to back.
#[derive(Default)]
struct Items {
    bytes: Vec<u8>,
    /// End of the key and end of the payload of each item.
    ends: Vec<(usize, usize)>,
}

impl Items {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn start(&self, item: usize) -> usize {
        if item == 0 { 0 } else { self.ends[item - 1].1 }
    }

    fn key(&self, item: usize) -> &[u8] {
        &self.bytes[self.start(item)..self.ends[item].0]
    }

    fn payload(&self, item: usize) -> &[u8] {
        let (start, end) = self.ends[item];
        &self.bytes[start..end]
    }

    fn append(&mut self, other: &Items) {
        for item in 0..other.len() {
            self.push(other.key(item), other.payload(item));
        }
    }

    fn split_off(&mut self, at: usize) -> Items {
        let mut rest = Items::default();
        for item in at..self.len() {
            rest.push(self.key(item), self.payload(item));
        }
        let end = self.start(at);
        self.bytes.truncate(end);
        self.ends.truncate(at);
        rest
    }

    /// Returns the size of the slots and cells of all items with whole keys, and the sizes before the first item and
    /// behind each one.
    fn sums(&self, shape: Shape, level: u8) -> (Sum, Vec<Size>) {
        let mut sums = Vec::with_capacity(self.len() + 1);
        let mut sum = Sum::new(shape, level);
        sums.push(sum.total);
        for item in 0..self.len() {
            sum.add(self.key(item), self.payload(item));
            sums.push(sum.total);
        }
        (sum, sums)
    }

    /// Returns the size of the items from `at` on.
    fn sum(&self, shape: Shape, level: u8, at: usize) -> Sum {
        let mut sum = Sum::new(shape, level);
        (at..self.len()).for_each(|item| sum.add(self.key(item), self.payload(item)));
        sum
    }
}
