//! Walks the entries of an index from a place, over all partitions of a table.

use leafline_access::Counters;
use leafline_btree::Direction;
use leafline_table::{EntryCursor, EntryRef, EntryStep, IndexDef, ReadView, TableDef};
use leafline_types::MysqlError;
use leafline_types::key::prefix_successor;
use std::cmp::Ordering;
use std::sync::Arc;

/// An entry of an index.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    /// Number of its partition; 0 in a table without partitions.
    pub(crate) partition: usize,
}

/// A place in the order of an index.
#[derive(Clone)]
pub(crate) enum Place {
    /// Before this key in all partitions; `None` for after the last entry.
    Before(Option<Vec<u8>>),
    /// At an entry.
    At(Entry),
}

impl Place {
    /// The place before all entries.
    pub(crate) fn first() -> Place {
        Place::Before(Some(Vec::new()))
    }

    /// The place after all entries.
    pub(crate) fn end() -> Place {
        Place::Before(None)
    }
}

/// A walk through an index.
pub(crate) struct Walk {
    direction: Direction,
    /// The place that the walk has reached.
    pub(crate) from: Place,
    /// Prefix of the walked keys; empty for all keys.
    within: Vec<u8>,
}

impl Walk {
    /// A walk to the end of the index.
    pub(crate) fn new(direction: Direction, from: Place) -> Walk {
        Walk { direction, from, within: Vec::new() }
    }

    /// A walk over the keys with a prefix.
    pub(crate) fn within(prefix: Vec<u8>) -> Walk {
        Walk { direction: Direction::Forward, from: Place::Before(Some(prefix.clone())), within: prefix }
    }

    /// The place after the last walked entry.
    pub(crate) fn end(&self) -> Place {
        match self.direction {
            Direction::Forward if self.within.is_empty() => Place::end(),
            Direction::Forward => Place::Before(prefix_successor(&self.within)),
            Direction::Reverse => Place::first(),
        }
    }

    /// Moves the walk to an entry.
    pub(crate) fn pass(&mut self, entry: Entry) {
        self.from = Place::At(entry);
    }

    /// Counts a step in the `Handler_*` counters.
    pub(crate) fn count(&self, counters: &mut Counters) {
        match self.direction {
            Direction::Forward => counters.handler_read_next += 1,
            Direction::Reverse => counters.handler_read_prev += 1,
        }
    }

    fn seek(&self, cursor: &mut EntryCursor, partition: usize) {
        // The least key above another is that key and a zero byte.
        let above = |key: &[u8]| [key, &[0]].concat();
        match (self.direction, &self.from) {
            (Direction::Forward, Place::Before(Some(key))) => cursor.seek(key),
            (Direction::Forward, Place::Before(None)) => cursor.seek_before(None),
            (Direction::Forward, Place::At(entry)) if partition <= entry.partition => {
                cursor.seek(&above(&entry.key))
            }
            (Direction::Forward, Place::At(entry)) => cursor.seek(&entry.key),
            (Direction::Reverse, Place::Before(key)) => cursor.seek_before(key.as_deref()),
            (Direction::Reverse, Place::At(entry)) if partition < entry.partition => {
                cursor.seek_before(Some(&above(&entry.key)));
            }
            (Direction::Reverse, Place::At(entry)) => cursor.seek_before(Some(&entry.key)),
        }
    }

    /// Compares entries in the order of the walk.
    fn compare(&self, one: &Entry, other: &Entry) -> Ordering {
        let order = one.key.cmp(&other.key).then(one.partition.cmp(&other.partition));
        if self.direction == Direction::Forward { order } else { order.reverse() }
    }
}

/// The next entries: as many as asked for, or all that are left.
///
/// # Errors
/// Errors of [`ReadView::entries`] and of its cursor.
pub(crate) fn next_entries(
    view: &ReadView,
    table: &Arc<TableDef>,
    index: &IndexDef,
    walk: &Walk,
    most: usize,
) -> Result<Vec<Entry>, MysqlError> {
    let mut found = Vec::new();
    if matches!((walk.direction, &walk.from), (Direction::Forward, Place::Before(None))) {
        return Ok(found);
    }
    for (partition, stored) in table.stored().enumerate() {
        let index = stored.index(&index.name).expect("a partition has all indexes of its table");
        let mut cursor = view.entries(stored, index)?;
        walk.seek(&mut cursor, partition);
        let mut left = most;
        let mut take = |entry: EntryRef<'_>| {
            if left == 0 || !entry.key.starts_with(&walk.within) {
                return EntryStep::Stop;
            }
            found.push(Entry { key: entry.key.to_vec(), partition });
            left -= 1;
            if left == 0 { EntryStep::Stop } else { EntryStep::Next }
        };
        while cursor.visit(walk.direction, &mut take)? {}
    }
    found.sort_by(|one, other| walk.compare(one, other));
    found.truncate(most);
    Ok(found)
}
