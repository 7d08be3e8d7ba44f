//! Building a tree from sorted entries: pages are filled one after the other and written past the pool and the log.
//!
//! Every level has a page under construction and one closed page held back, so that the last two can be balanced at
//! the end. A page is closed when the next entry would exceed the fill; the boundary is then chosen among the last
//! entries, where the separator is shortest. How much the common prefix saves is known only with the separator, so the
//! size counted while filling is a lower bound, and the boundary moves back until the page fits.

use leafline_storage::page::set_kind;
use leafline_storage::{BulkWriter, PageClass, PageKind, PageNo, SegmentId, Store};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, OnPage, Result};
use crate::node::{
    CHILD, FORMAT_VERSION, NodeBuilder, NodeFault, NodeResult, SLOT, branch_cell_len, common_prefix,
    leaf_cell_len,
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

/// Sizes that hold for all pages.
#[derive(Clone, Copy)]
struct Shape {
    page_size: usize,
    /// Bytes of a page to fill.
    target: usize,
}

/// One level under construction.
struct Level {
    level: u8,
    lower: Vec<u8>,
    items: Items,
    /// Sum of the slots and cells of `items` with whole keys.
    bytes: usize,
    held: Option<Closed>,
    written: bool,
}

/// A page whose contents are settled but for balancing.
struct Closed {
    lower: Vec<u8>,
    items: Items,
}

impl BulkBuilder {
    /// Begins a tree in `segment` (state `Building`, without a root); pages are filled to `fill_percent` (10 to 100).
    ///
    /// # Errors
    /// `PageSize`, what the store returns.
    pub fn new(store: &Store, segment: SegmentId, fill_percent: u32) -> Result<BulkBuilder> {
        Tree::open(store, segment, PageNo::NONE)?;
        let page_size = store.page_size();
        let target = policy::capacity(page_size) * fill_percent.clamp(10, 100) as usize / 100;
        Ok(BulkBuilder {
            store: store.clone(),
            segment,
            writer: store.bulk_writer(segment)?,
            shape: Shape { page_size, target },
            levels: vec![Level::new(0, Vec::new())],
            last_key: None,
        })
    }

    /// Adds an entry without a timestamp.
    ///
    /// # Errors
    /// `NotAscending`, `KeyTooLong`, `EntryTooLarge`, what the store returns.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        let limit = policy::max_key_len(self.shape.page_size);
        if key.len() > limit {
            return Err(BtreeError::KeyTooLong { len: key.len(), limit });
        }
        let (len, limit) = (key.len() + payload.len(), policy::max_entry_len(self.shape.page_size));
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

    /// Writes what is left and returns the tree.
    ///
    /// # Errors
    /// What the store returns.
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
        while let Some((held, upper)) = self.levels[level].make_room(self.shape, key, payload.len()) {
            if let Some(held) = held {
                self.emit(level, held, &upper)?;
            }
        }
        self.levels[level].push(key, payload);
        Ok(())
    }

    /// Writes a closed page and refers to it on the level above.
    fn emit(&mut self, level: usize, closed: Closed, upper: &[u8]) -> Result<()> {
        let page = self.write(level, &closed, Some(upper))?;
        self.levels[level].written = true;
        self.add_child(level, &closed.lower, page)
    }

    fn add_child(&mut self, level: usize, lower: &[u8], page: PageNo) -> Result<()> {
        if self.levels.len() == level + 1 {
            self.levels.push(Level::new(level as u8 + 1, Vec::new()));
        }
        self.add(level + 1, lower, &page.0.to_le_bytes()[..CHILD])
    }

    fn write(&mut self, level: usize, closed: &Closed, upper: Option<&[u8]>) -> Result<PageNo> {
        let (class, kind) = match level {
            0 => (PageClass::Leaf, PageKind::LEAF),
            _ => (PageClass::Branch, PageKind::BRANCH),
        };
        let page = self.writer.allocate(class)?;
        let builder = closed.build(self.shape.page_size, level as u8, upper).on(page)?;
        let mut bytes = builder.finish();
        set_kind(&mut bytes, kind, FORMAT_VERSION);
        self.writer.write(page, &bytes)?;
        Ok(page)
    }
}

impl Level {
    fn new(level: u8, lower: Vec<u8>) -> Level {
        Level { level, lower, items: Items::default(), bytes: 0, held: None, written: false }
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        self.bytes += item_len(self.level, key.len(), payload.len());
        self.items.push(key, payload);
    }

    /// If an item would exceed the fill: closes the page, holds it back, and returns the page held back before (with
    /// its upper fence), if any.
    fn make_room(
        &mut self,
        shape: Shape,
        key: &[u8],
        payload_len: usize,
    ) -> Option<(Option<Closed>, Vec<u8>)> {
        let count = self.items.len();
        if count == 0 {
            return None;
        }
        // No separator gives a longer prefix than the key itself.
        let prefix = common_prefix(&self.lower, key);
        let whole = self.bytes + item_len(self.level, key.len(), payload_len);
        if whole.saturating_sub((count + 1) * prefix) + self.lower.len() <= shape.target {
            return None;
        }
        let (at, separator) = self.boundary(shape, key);
        Some(self.close(at, separator))
    }

    /// Closes the page with its first `at` items; returns the page held back before and its upper fence.
    fn close(&mut self, at: usize, separator: Vec<u8>) -> (Option<Closed>, Vec<u8>) {
        let rest = self.items.split_off(at);
        let lower = std::mem::replace(&mut self.lower, separator);
        let upper = lower.clone();
        let items = std::mem::replace(&mut self.items, rest);
        self.bytes = self.items.bytes(self.level);
        (self.held.replace(Closed { lower, items }), upper)
    }

    /// Where to end the page: how many items it gets, and the separator behind them. `next` follows the items.
    fn boundary(&self, shape: Shape, next: &[u8]) -> (usize, Vec<u8>) {
        let count = self.items.len();
        let window = (count / 16).max(1);
        let sums = self.items.sums(self.level);
        let mut best: Option<(usize, usize)> = None;
        for at in (1..=count).rev() {
            let separator = self.separator(at, next);
            let fits = size(&self.lower, separator, at, sums[at]) <= shape.target;
            if fits && best.is_none_or(|(len, _)| separator.len() < len) {
                best = Some((separator.len(), at));
            }
            if best.is_some() && count - at >= window {
                break;
            }
        }
        // A single item always fits on a page, if not below the fill.
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
        let held_bytes = held.items.bytes(self.level);
        if self.bytes * 2 >= held_bytes {
            return;
        }
        let mut all = std::mem::take(&mut held.items);
        let at_now = all.len();
        all.append(&self.items);
        let sums = all.sums(self.level);
        let total = sums[all.len()];
        let capacity = policy::capacity(shape.page_size);
        let mut best: Option<(usize, usize)> = None;
        for (at, bytes) in sums.iter().copied().enumerate().take(at_now + 1).skip(1) {
            let separator =
                if self.level == 0 { policy::separator(all.key(at - 1), all.key(at)) } else { all.key(at) };
            // With fewer items a page may need more room: their common prefix may be shorter.
            let fits = size(&held.lower, separator, at, bytes) <= capacity
                && size(separator, all.key(all.len() - 1), all.len() - at, total - bytes) <= capacity;
            let distance = bytes.abs_diff(total / 2);
            if fits && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, at));
            }
        }
        let at = best.map_or(at_now, |(_, at)| at);
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
    fn build(&self, page_size: usize, level: u8, upper: Option<&[u8]>) -> NodeResult<NodeBuilder> {
        let last = self.items.len().checked_sub(1).map(|last| self.items.key(last));
        let prefix = upper.or(last).map_or(0, |end| common_prefix(&self.lower, end));
        let mut builder = NodeBuilder::with_prefix(page_size, level, &self.lower, upper, prefix)?;
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

/// Bytes that a page takes with `count` items of `bytes` bytes with whole keys; `end` is its upper fence, or its last
/// key if it has none. An upper bound: of a branch's first item the key is not stored.
fn size(lower: &[u8], end: &[u8], count: usize, bytes: usize) -> usize {
    bytes - count * common_prefix(lower, end) + lower.len() + end.len()
}

/// Bytes of slot and cell of an item with its whole key.
fn item_len(level: u8, key_len: usize, payload_len: usize) -> usize {
    SLOT + if level == 0 { leaf_cell_len(false, key_len, payload_len) } else { branch_cell_len(key_len) }
}

/// Keys and payloads, back to back.
#[derive(Default)]
struct Items {
    bytes: Vec<u8>,
    /// End of the key and end of the payload.
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

    /// Slots and cells before each item, with whole keys.
    fn sums(&self, level: u8) -> Vec<usize> {
        let mut sums = Vec::with_capacity(self.len() + 1);
        let mut sum = 0;
        sums.push(0);
        for item in 0..self.len() {
            sum += item_len(level, self.key(item).len(), self.payload(item).len());
            sums.push(sum);
        }
        sums
    }

    fn bytes(&self, level: u8) -> usize {
        self.sums(level).last().copied().unwrap_or_default()
    }
}
