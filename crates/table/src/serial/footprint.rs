//! The footprint of a transaction: what it has read and written of each table.
//!
//! An index counts by the tree of its definition. A footprint that names a tree which the other side does not know
//! comes from another definition of the table, from before or after an index was built or dropped, or the table was
//! rebuilt: such footprints always meet. So DDL need not look at them.

use super::ranges::{KeyRanges, WrittenKeys};
use crate::catalog::TableId;
use leafline_storage::SegmentId;
use std::collections::BTreeMap;

/// The number of ranges, or of written keys, of one index beyond which only their hull is kept.
pub(super) const MOST_RANGES: usize = 4096;

/// The memory of a tree or table in a footprint beyond its keys, in bytes.
const OVERHEAD: usize = 64;

/// Holds the ranges of one table that a transaction has read, by index.
#[derive(Clone, Default, Debug)]
pub(super) struct TableReads {
    /// Whether it counts as having read everything.
    is_whole: bool,
    /// Whether there may be keys in the ranges that were not read.
    is_coarse: bool,
    trees: BTreeMap<SegmentId, KeyRanges>,
}

impl TableReads {
    /// Returns whether `[lower, upper)` of an index was read before. Of coarse ranges that is not known.
    pub fn covers(&self, tree: SegmentId, lower: &[u8], upper: Option<&[u8]>) -> bool {
        !self.is_coarse && self.trees.get(&tree).is_some_and(|ranges| ranges.covers(lower, upper))
    }

    /// Adds a range of an index.
    pub fn insert(&mut self, tree: SegmentId, lower: &[u8], upper: Option<&[u8]>) {
        if self.is_whole {
            return;
        }
        let ranges = self.trees.entry(tree).or_default();
        ranges.insert(lower, upper);
        if ranges.len() > MOST_RANGES {
            ranges.become_hull();
            self.is_coarse = true;
        }
    }

    /// Adds what another transaction has read of the table.
    pub fn merge(&mut self, other: &TableReads) {
        self.is_coarse = true;
        if other.is_whole {
            (self.is_whole, self.trees) = (true, BTreeMap::new());
        }
        if !self.is_whole {
            for (tree, ranges) in &other.trees {
                let known = self.trees.entry(*tree).or_default();
                known.merge(ranges);
                if known.len() > MOST_RANGES {
                    known.become_hull();
                }
            }
        }
    }

    /// The memory used, in bytes.
    pub fn bytes(&self) -> usize {
        OVERHEAD + self.trees.values().map(|ranges| OVERHEAD + ranges.bytes()).sum::<usize>()
    }

    /// Gives up detail: many ranges of an index become their hull; if there are none, hulls become whole indexes, and
    /// these the whole table. Returns false if the table is read as a whole already.
    pub fn coarsen(&mut self) -> bool {
        self.is_coarse = true;
        if self.trees.values().any(KeyRanges::is_detailed) {
            self.trees.values_mut().for_each(KeyRanges::become_hull);
        } else if self.trees.values().any(|ranges| !ranges.is_whole()) {
            self.trees.values_mut().for_each(|ranges| *ranges = KeyRanges::whole());
        } else if !self.is_whole {
            (self.is_whole, self.trees) = (true, BTreeMap::new());
        } else {
            return false;
        }
        true
    }

    /// Returns whether a transaction that has written `writes` may have changed what was read.
    pub fn meets(&self, writes: &TableWrites) -> bool {
        self.is_whole
            || writes.is_whole
            || self.trees.iter().any(|(tree, ranges)| match writes.trees.get(tree) {
                Some(keys) => keys.meets(ranges),
                None => true,
            })
    }
}

/// Holds the keys of one table that a transaction has written: those of every written row, before and after, in every
/// index, whether they have changed or not.
#[derive(Clone, Default, Debug)]
pub(super) struct TableWrites {
    /// Whether it counts as having written everything.
    is_whole: bool,
    trees: BTreeMap<SegmentId, WrittenKeys>,
    counts: BTreeMap<SegmentId, usize>,
}

impl TableWrites {
    /// Adds a key of an index.
    pub fn insert(&mut self, tree: SegmentId, key: &[u8]) {
        if self.is_whole {
            return;
        }
        let keys = self.trees.entry(tree).or_default();
        let count = self.counts.entry(tree).or_default();
        *count += usize::from(keys.insert(key) > 0);
        if *count > MOST_RANGES && matches!(keys, WrittenKeys::Keys(_)) {
            keys.coarsen();
        }
    }

    /// Adds what another transaction has written to the table.
    pub fn merge(&mut self, other: &TableWrites) {
        if other.is_whole || self.is_whole || !self.trees.keys().eq(other.trees.keys()) {
            *self = TableWrites { is_whole: true, ..TableWrites::default() };
            return;
        }
        for (tree, keys) in &other.trees {
            let (known, count) =
                (self.trees.entry(*tree).or_default(), self.counts.entry(*tree).or_default());
            known.merge(keys);
            *count += other.counts.get(tree).copied().unwrap_or(0);
            if *count > MOST_RANGES && matches!(known, WrittenKeys::Keys(_)) {
                known.coarsen();
            }
        }
    }

    /// The memory used, in bytes.
    pub fn bytes(&self) -> usize {
        OVERHEAD + self.trees.values().map(|keys| 2 * OVERHEAD + keys.bytes()).sum::<usize>()
    }

    /// Gives up detail, like [`TableReads::coarsen`].
    pub fn coarsen(&mut self) -> bool {
        if self.trees.values().any(|keys| *keys != WrittenKeys::Whole) {
            self.trees.values_mut().for_each(WrittenKeys::coarsen);
        } else if !self.is_whole {
            *self = TableWrites { is_whole: true, ..TableWrites::default() };
        } else {
            return false;
        }
        true
    }

    /// Returns whether a reader of `ranges` of an index may have read what was written.
    pub fn is_in(&self, tree: SegmentId, ranges: &[(&[u8], Option<&[u8]>)]) -> bool {
        self.is_whole
            || match self.trees.get(&tree) {
                Some(keys) => ranges.iter().any(|(lower, upper)| keys.is_in(lower, *upper)),
                None => true,
            }
    }
}

/// Holds the keys that a transaction has written, by table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Writes {
    tables: BTreeMap<TableId, TableWrites>,
}

impl Writes {
    /// Adds the key of an entry that a commit writes, or leaves as it is although it changes the row.
    pub(crate) fn insert(&mut self, table: TableId, tree: SegmentId, key: &[u8]) {
        self.tables.entry(table).or_default().insert(tree, key);
    }

    /// Returns whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The tables written.
    pub(super) fn into_tables(self) -> BTreeMap<TableId, TableWrites> {
        self.tables
    }
}
