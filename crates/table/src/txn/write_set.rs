//! The write set: what a transaction has changed and nobody else can see yet.
//!
//! Nothing uncommitted is on any page, so this is all there is of an uncommitted write. Per table it keeps the
//! rows written, ordered by clustered key, each with its whole history in this transaction. Every write has a
//! sequence number; a statement reads the writes before its start (`as_of`), so it never meets its own output
//! (the Halloween problem), while unique checks read all of them (`as_of` = [`NOW`]). Rolling back to a mark
//! declares an interval of sequence numbers aborted.
//!
//! A reader of a secondary index needs the writes in that index's order. Such a view is built when it is first
//! asked for and kept up to date from then on: it maps entry keys to what the transaction made of them, live
//! with a payload or gone.

use crate::catalog::{IndexDef, TableDef, TableId};
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, entry_of_row};
use leafline_storage::Lsn;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Later than every write.
pub(crate) const NOW: u64 = u64::MAX;

/// The first sequence number.
const FIRST: u64 = 1;

/// Bytes a write costs beyond its key and payload, in memory, roughly.
const WRITE_OVERHEAD: u64 = 96;

/// Payload of a live row or entry; `None` where it is gone.
pub(crate) type State = Option<Arc<[u8]>>;

/// A position in the history of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark(pub(crate) u64);

#[derive(Debug)]
struct History {
    /// In ascending sequence number.
    writes: Vec<(u64, State)>,
}

impl History {
    fn newest(&self, as_of: u64, aborted: &Aborted) -> Option<&State> {
        let found = self.writes.iter().rev().find(|(seq, _)| *seq < as_of && !aborted.contains(*seq));
        found.map(|(_, state)| state)
    }
}

/// A row written by the transaction.
#[derive(Debug)]
struct RowWrites {
    /// The row before the first write: the newest committed version, which the row's lock keeps.
    base: State,
    history: History,
}

/// Intervals of sequence numbers that were rolled back: disjoint, ascending, half open.
#[derive(Debug, Default)]
struct Aborted(Vec<(u64, u64)>);

impl Aborted {
    fn contains(&self, seq: u64) -> bool {
        let after = self.0.partition_point(|&(from, _)| from <= seq);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|&(_, to)| seq < to)
    }

    fn add(&mut self, from: u64, to: u64) {
        while self.0.last().is_some_and(|&(earlier, _)| earlier >= from) {
            self.0.pop();
        }
        match self.0.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => self.0.push((from, to)),
        }
    }
}

/// What one transaction wrote to one table.
#[derive(Debug)]
struct TableWrites {
    table: Arc<TableDef>,
    rows: BTreeMap<Vec<u8>, RowWrites>,
    views: HashMap<u64, BTreeMap<Vec<u8>, History>>,
    /// One more than the largest AUTO_INCREMENT value used.
    next_auto_increment: u64,
    /// Rows may have been written whose base the snapshot does not see.
    unseen: bool,
}

/// A row change that commit has to make.
#[derive(Debug)]
pub(crate) struct NetChange<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) after: Option<&'a [u8]>,
}

/// What a transaction made of one key of an index.
#[derive(Clone, Debug)]
pub(crate) struct OverlayEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) state: State,
}

/// All writes of one transaction.
#[derive(Debug)]
pub(crate) struct WriteSet {
    next_seq: u64,
    aborted: Aborted,
    tables: BTreeMap<TableId, TableWrites>,
    bytes: u64,
    /// The log's end when the transaction last met a commit that may not be durable.
    seen: Option<Lsn>,
}

impl Default for WriteSet {
    fn default() -> WriteSet {
        WriteSet {
            next_seq: FIRST,
            aborted: Aborted::default(),
            tables: BTreeMap::new(),
            bytes: 0,
            seen: None,
        }
    }
}

impl WriteSet {
    /// The present position.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.next_seq)
    }

    /// Undoes every write since `mark`.
    pub(crate) fn roll_back_to(&mut self, mark: Mark) {
        if mark.0 < self.next_seq {
            self.aborted.add(mark.0, self.next_seq);
        }
    }

    /// Whether there is no write, or all of them were rolled back.
    pub(crate) fn is_empty(&self) -> bool {
        self.next_seq == FIRST || self.aborted.0 == [(FIRST, self.next_seq)]
    }

    /// Whether `table` was ever written.
    pub(crate) fn has_table(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| !writes.rows.is_empty())
    }

    /// Whether rows of `table` may have been written over versions that the snapshot does not see: then what it sees of
    /// them is not what the write replaced.
    pub(crate) fn has_unseen_bases(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| writes.unseen)
    }

    /// The statement goes on with versions of rows of `table` that its snapshot does not see, and that are in the log
    /// before `end`.
    pub(crate) fn note_unseen(&mut self, table: &Arc<TableDef>, end: Lsn) {
        self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table)).unseen = true;
        self.note_seen(end);
    }

    /// The transaction has met commits that are in the log before `end` and may not be durable.
    pub(crate) fn note_seen(&mut self, end: Lsn) {
        self.seen = self.seen.max(Some(end));
    }

    /// Up to where the log has to be durable before the client hears more of this transaction.
    pub(crate) fn take_seen(&mut self) -> Option<Lsn> {
        self.seen.take()
    }

    /// Memory taken, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The newest write to the row before `as_of`: `None` if there is none, else its state.
    pub(crate) fn row(&self, table: TableId, key: &[u8], as_of: u64) -> Option<State> {
        let row = self.tables.get(&table)?.rows.get(key)?;
        row.history.newest(as_of, &self.aborted).cloned()
    }

    /// Records that the row is `after` from now on. `base` is the row as it is committed; it is used only if the row was
    /// not written before.
    pub(crate) fn put_row(
        &mut self,
        table: &Arc<TableDef>,
        key: &[u8],
        base: State,
        after: State,
    ) -> Result<()> {
        let seq = self.next_seq;
        self.next_seq += 1;
        let writes = self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table));
        self.bytes +=
            WRITE_OVERHEAD + key.len() as u64 + after.as_ref().map_or(0, |after| after.len() as u64);
        let row = match writes.rows.get_mut(key) {
            Some(row) => row,
            None => {
                self.bytes += key.len() as u64 + base.as_ref().map_or(0, |base| base.len() as u64);
                let history = History { writes: Vec::new() };
                let row = RowWrites { base: base.clone(), history };
                writes.rows.entry(key.to_vec()).or_insert(row)
            }
        };
        let before = match row.history.newest(NOW, &self.aborted) {
            Some(state) => state.clone(),
            None => {
                // Written before, but all of it was rolled back: the transaction may see another row by now.
                row.history.writes.clear();
                row.base.clone_from(&base);
                base
            }
        };
        row.history.writes.push((seq, after.clone()));
        for (index_id, view) in &mut writes.views {
            let Some(index) = writes.table.index_by_id(*index_id) else { continue };
            self.bytes += add_to_view(view, &writes.table, index, key, seq, &before, &after)?;
        }
        Ok(())
    }

    /// Makes sure the view of a secondary index is there. A table not written has none and needs none.
    pub(crate) fn build_view(&mut self, table: TableId, index: &IndexDef) -> Result<()> {
        let Some(writes) = self.tables.get_mut(&table) else { return Ok(()) };
        if index.is_clustered() || writes.views.contains_key(&index.id) {
            return Ok(());
        }
        // An index made after the first write belongs to a newer definition; later writes must know it too.
        if writes.table.index_by_id(index.id).is_none() {
            return Err(TableError::DefinitionChanged);
        }
        let mut view = BTreeMap::new();
        for (key, row) in &writes.rows {
            let mut before = row.base.clone();
            for (seq, after) in &row.history.writes {
                if !self.aborted.contains(*seq) {
                    self.bytes += add_to_view(&mut view, &writes.table, index, key, *seq, &before, after)?;
                    before.clone_from(after);
                }
            }
        }
        writes.views.insert(index.id, view);
        Ok(())
    }

    /// Whether the view is there, or not needed.
    pub(crate) fn has_view(&self, table: TableId, index: &IndexDef) -> bool {
        index.is_clustered()
            || self.tables.get(&table).is_none_or(|writes| writes.views.contains_key(&index.id))
    }

    /// What the transaction made of one key of a secondary index (whose view was built).
    pub(crate) fn entry(&self, table: TableId, index: u64, key: &[u8], as_of: u64) -> Option<&State> {
        self.tables.get(&table)?.views.get(&index)?.get(key)?.newest(as_of, &self.aborted)
    }

    /// Up to `max` keys of an index that the transaction wrote before `as_of`, in `range`; in descending order
    /// if `reverse`. A view that was asked for must have been built.
    pub(crate) fn overlay(
        &self,
        table: TableId,
        index: &IndexDef,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        as_of: u64,
        max: usize,
    ) -> Vec<OverlayEntry> {
        let Some(writes) = self.tables.get(&table) else { return Vec::new() };
        if is_empty_range(&range) {
            return Vec::new();
        }
        if index.is_clustered() {
            let rows = writes.rows.range::<[u8], _>(range).map(|(key, row)| (key, &row.history));
            self.collect(rows, reverse, as_of, max)
        } else {
            let Some(view) = writes.views.get(&index.id) else { return Vec::new() };
            self.collect(view.range::<[u8], _>(range), reverse, as_of, max)
        }
    }

    fn collect<'a>(
        &self,
        entries: impl DoubleEndedIterator<Item = (&'a Vec<u8>, &'a History)>,
        reverse: bool,
        as_of: u64,
        max: usize,
    ) -> Vec<OverlayEntry> {
        let found = |(key, history): (&'a Vec<u8>, &'a History)| {
            let state = history.newest(as_of, &self.aborted)?;
            Some(OverlayEntry { key: key.clone(), state: state.clone() })
        };
        if reverse {
            entries.rev().filter_map(found).take(max).collect()
        } else {
            entries.filter_map(found).take(max).collect()
        }
    }

    /// Notes that an AUTO_INCREMENT value was used.
    pub(crate) fn note_auto_increment(&mut self, table: &Arc<TableDef>, value: u64) {
        let writes = self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table));
        writes.next_auto_increment = writes.next_auto_increment.max(value.saturating_add(1));
    }

    /// The tables written, as they were defined at the first write.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.values().map(|writes| &writes.table)
    }

    /// One more than the largest AUTO_INCREMENT value used in `table`, 0 if none was.
    pub(crate) fn next_auto_increment(&self, table: TableId) -> u64 {
        self.tables.get(&table).map_or(0, |writes| writes.next_auto_increment)
    }

    /// What is left to be changed in `table`, in key order.
    pub(crate) fn net_changes(&self, table: TableId) -> impl Iterator<Item = NetChange<'_>> {
        self.tables.get(&table).into_iter().flat_map(|writes| &writes.rows).filter_map(|(key, row)| {
            let after = row.history.newest(NOW, &self.aborted)?;
            let change = NetChange { key, before: row.base.as_deref(), after: after.as_deref() };
            (change.before != change.after).then_some(change)
        })
    }
}

impl TableWrites {
    fn new(table: &Arc<TableDef>) -> TableWrites {
        TableWrites {
            table: table.clone(),
            rows: BTreeMap::new(),
            views: HashMap::new(),
            next_auto_increment: 0,
            unseen: false,
        }
    }
}

/// `BTreeMap::range` panics on these.
fn is_empty_range(range: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match (range.0, range.1) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from >= to
        }
        _ => false,
    }
}

/// Adds one write of a row to the view of an index. Returns the bytes it took.
fn add_to_view(
    view: &mut BTreeMap<Vec<u8>, History>,
    table: &TableDef,
    index: &IndexDef,
    key: &[u8],
    seq: u64,
    before: &State,
    after: &State,
) -> Result<u64> {
    let derive = |state: &State| -> Result<Option<Entry>> {
        state.as_ref().map(|payload| entry_of_row(table, index, key, payload)).transpose()
    };
    // An entry that stays the same is added too: if the snapshot gets newer than the write, readers hide what
    // others made of the row and must find here what it is to this transaction.
    let (old, new) = (derive(before)?, derive(after)?);
    let mut bytes = 0;
    let mut add = |key: Vec<u8>, state: State| {
        bytes += WRITE_OVERHEAD + key.len() as u64 + state.as_ref().map_or(0, |payload| payload.len() as u64);
        let history = view.entry(key).or_insert_with(|| History { writes: Vec::new() });
        history.writes.push((seq, state));
    };
    if let Some(old) = old
        && new.as_ref().is_none_or(|new| new.key != old.key)
    {
        add(old.key, None);
    }
    if let Some(new) = new {
        add(new.key, Some(new.payload.into()));
    }
    Ok(bytes)
}
