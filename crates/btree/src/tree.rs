//! The handle of a tree: opening and creating, and the reservations for changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leafline_storage::{
    HandlerId, MiniTransaction, PageClass, PageNo, PageSlot, Reservation, SegmentId, Store,
};

use crate::error::{BtreeError, OnPage, Result};
use crate::limits;
use crate::node::{LeafFormat, LeafInsert, NodeBuilder, PAGE_SIZES, RECORD_OVERHEAD, Record};

/// A B+tree in a segment. Cheap to clone. All clones, and all handles opened on the same root, are the same tree.
#[derive(Clone)]
pub struct Tree {
    store: Store,
    id: SegmentId,
    root: PageNo,
    changes: Arc<ShapeChanges>,
}

/// Counters of the splits and merges of a tree's pages since it was opened.
#[derive(Default)]
pub(crate) struct ShapeChanges {
    splits: AtomicU64,
    merges: AtomicU64,
}

impl Tree {
    /// Opens the tree whose root is page `root` of segment `id`.
    ///
    /// # Errors
    /// `PageSize`. The root is examined when it is first used.
    pub fn open(store: &Store, id: SegmentId, root: PageNo) -> Result<Tree> {
        if !PAGE_SIZES.contains(&store.page_size()) {
            return Err(BtreeError::PageSize(store.page_size()));
        }
        Ok(Tree { store: store.clone(), id, root, changes: Arc::default() })
    }

    /// Creates an empty tree in `segment`: its root is an empty leaf in `format`, the format of all its leaves. Needs
    /// one page and [`CREATE_LOG`](Self::CREATE_LOG) bytes of log.
    ///
    /// # Errors
    /// `PageSize`, and the errors of the store.
    pub fn create(
        store: &Store,
        reservation: &mut Reservation,
        segment: SegmentId,
        format: LeafFormat,
    ) -> Result<Tree> {
        let tree = Tree::open(store, segment, PageNo::NONE)?;
        let mut mini = store.begin(reservation, 1)?;
        let slot = mini.create_root(segment)?;
        let root = mini.page_no(slot);
        let empty = NodeBuilder::new(store.page_size(), 0, &[], None).on(root)?.in_format(format);
        apply(&mut mini, slot, &Record::format(empty).on(root)?)?;
        mini.commit();
        Ok(Tree { root, ..tree })
    }

    /// Log bytes that [`create`](Self::create) needs.
    pub const CREATE_LOG: usize = 1024;

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the segment, which is also the tree's number.
    pub fn id(&self) -> SegmentId {
        self.id
    }

    /// Returns the root page, which never changes.
    pub fn root(&self) -> PageNo {
        self.root
    }

    /// Returns how many pages were split through this handle and its clones.
    pub fn splits(&self) -> u64 {
        self.changes.splits.load(Ordering::Relaxed)
    }

    /// Returns how many pages were merged with a neighbour through this handle and its clones.
    pub fn merges(&self) -> u64 {
        self.changes.merges.load(Ordering::Relaxed)
    }

    pub(crate) fn count_split(&self) {
        self.changes.splits.fetch_add(1, Ordering::Relaxed);
        self.store.count_page_split();
    }

    pub(crate) fn count_merge(&self) {
        self.changes.merges.fetch_add(1, Ordering::Relaxed);
        self.store.count_page_merge();
    }

    /// Returns the length of the longest key, in bytes.
    pub fn max_key_len(&self) -> usize {
        limits::max_key_len(self.store.page_size())
    }

    /// Returns the most bytes of key and payload together.
    pub fn max_entry_len(&self) -> usize {
        limits::max_entry_len(self.store.page_size())
    }

    /// Returns the pages to reserve for one [`modify`](Self::modify).
    pub fn worst_case_pages(&self) -> usize {
        self.worst_case_pages_for(1, self.max_entry_len())
    }

    /// Returns the pages to reserve for `changes` calls of [`modify`](Self::modify) with entries of up to `entry_len`
    /// bytes of key and payload.
    pub fn worst_case_pages_for(&self, changes: usize, entry_len: usize) -> usize {
        self.pages_of_splits(self.leaf_splits(changes, entry_len))
    }

    /// Returns the log bytes to reserve for one [`modify`](Self::modify) or [`purge`](Self::purge) of an entry with a
    /// key and a payload of these lengths.
    pub fn worst_case_log(&self, key_len: usize, payload_len: usize) -> usize {
        self.worst_case_log_for(1, key_len, payload_len)
    }

    /// Returns the log bytes to reserve for `changes` calls of [`modify`](Self::modify) or [`purge`](Self::purge),
    /// each of an entry with a key and a payload of up to these lengths.
    pub fn worst_case_log_for(&self, changes: usize, key_len: usize, payload_len: usize) -> usize {
        let entry = key_len + payload_len + 4 * (RECORD_OVERHEAD + GROUP_OVERHEAD);
        changes * entry + self.log_of_splits(self.leaf_splits(changes, key_len + payload_len))
    }

    /// Bounds the splits of leaves: an entry of up to an eighth of a page causes at most one, a larger one at most
    /// three.
    fn leaf_splits(&self, changes: usize, entry_len: usize) -> usize {
        changes * if entry_len <= self.store.page_size() / 8 { 1 } else { 3 }
    }

    /// Returns the pages that `leaf_splits` splits of leaves take, including splits of the branches above. For a
    /// caller that knows a better bound of the number of splits than
    /// [`worst_case_pages_for`](Self::worst_case_pages_for).
    ///
    /// After a split both branches have room for another separator of any length, so a level splits at most at every
    /// second split below it, and all levels together at most as often as the leaves. Besides, each level may be
    /// about to split, and the root to grow.
    pub fn pages_of_splits(&self, leaf_splits: usize) -> usize {
        2 * leaf_splits + self.levels_bound() + 1
    }

    /// Returns the log bytes of `leaf_splits` splits of leaves with all that they may cause, including one chain of
    /// merges.
    pub fn log_of_splits(&self, leaf_splits: usize) -> usize {
        let page = self.store.page_size();
        // A split logs the smaller part, which has both its fences, the separator twice more, and the allocation.
        let split = page / 2 + self.max_key_len() * 7 / 2 + 6 * (RECORD_OVERHEAD + GROUP_OVERHEAD);
        // Growing, and a merge on each level, log up to a whole page.
        self.pages_of_splits(leaf_splits) * split + (self.levels_bound() + 1) * (page + 6 * GROUP_OVERHEAD)
    }

    /// Returns the number of levels, or more than any tree has if the root is not in memory.
    fn levels_bound(&self) -> usize {
        self.root_level().map_or(MAX_LEVELS, |level| usize::from(level) + 1)
    }
}

/// Bound of the bytes that the store adds to a record or group, and of its own records for allocating or freeing a
/// page.
pub(crate) const GROUP_OVERHEAD: usize = 64;

/// More levels than a tree has with any but the longest keys (with separators of 20 bytes: 10^14 leaves).
const MAX_LEVELS: usize = 8;

/// Pages on which a tree is changed: latched ones, or the copies of a rehearsal ([`crate::rehearse`]).
pub(crate) trait Pages {
    /// Identifies one of the pages.
    type Slot: Copy;

    /// Returns the page's number.
    fn number(&self, at: Self::Slot) -> PageNo;

    /// Returns the page's bytes.
    fn bytes(&self, at: Self::Slot) -> &[u8];

    /// Makes the change that a tree record describes.
    fn apply(&mut self, at: Self::Slot, record: &Record) -> Result<()>;

    /// Inserts a leaf entry.
    fn insert(&mut self, at: Self::Slot, insert: &LeafInsert<'_>) -> Result<()> {
        self.apply(at, &insert.to_record())
    }

    /// Adds a page, for a node at `level` of a tree.
    fn add(&mut self, tree: SegmentId, level: u8) -> Result<Self::Slot>;
}

impl Pages for MiniTransaction<'_> {
    type Slot = PageSlot;

    fn number(&self, at: PageSlot) -> PageNo {
        self.page_no(at)
    }

    fn bytes(&self, at: PageSlot) -> &[u8] {
        self.page(at)
    }

    fn apply(&mut self, at: PageSlot, record: &Record) -> Result<()> {
        apply(self, at, record)
    }

    fn insert(&mut self, at: PageSlot, insert: &LeafInsert<'_>) -> Result<()> {
        Ok(self.apply_parts(at, HandlerId::BTREE, LeafInsert::KIND, &insert.parts())?)
    }

    fn add(&mut self, tree: SegmentId, level: u8) -> Result<PageSlot> {
        let class = if level == 0 { PageClass::Leaf } else { PageClass::Branch };
        Ok(self.allocate(tree, class)?)
    }
}

/// Applies a tree record.
pub(crate) fn apply(mini: &mut MiniTransaction<'_>, slot: PageSlot, record: &Record) -> Result<()> {
    Ok(mini.apply(slot, HandlerId::BTREE, record.kind, &record.payload)?)
}
