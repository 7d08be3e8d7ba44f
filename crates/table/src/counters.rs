//! Counters of tables: rows, hidden row ids, AUTO_INCREMENT values, and numbers for new objects.
//!
//! The counters live in memory. Each commit record contains its changes of counters. Each checkpoint
//! contains all counters, with the log position up to which commits are included, so that recovery counts
//! every commit exactly once. At a crash, values given out by uncommitted statements may be lost; a value
//! is never reused after a commit.
//!
//! Checkpoint payload, little-endian:
//!
//! | field       | type                                                                              |
//! |-------------|-----------------------------------------------------------------------------------|
//! | format      | u8, 1                                                                              |
//! | newest ts   | u64: the newest commit timestamp handed out                                        |
//! | counted     | u64: log position; commits whose record ends at or before it are counted in        |
//! | next object | u64                                                                                |
//! | tables      | u32 count, each: table u64, rows i64, next row id u64, next AUTO_INCREMENT u64      |

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::{MAX_ROW_ID, TableId};
use crate::error::Result;
use crate::op::CounterChange;
use leafline_btree::CommitTs;
use leafline_storage::Lsn;
use leafline_types::MysqlError;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

const FORMAT: u8 = 1;

/// The numbers that AUTO_INCREMENT columns get: `offset`, and every `increment`th number after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbering {
    /// At least 1.
    pub increment: u64,
    /// The offset; modulo the increment if it is larger.
    pub offset: u64,
}

impl Default for Numbering {
    /// Every number.
    fn default() -> Numbering {
        Numbering { increment: 1, offset: 1 }
    }
}

impl Numbering {
    /// The first of the numbers that is at least `next`.
    pub(crate) fn from(self, next: u64) -> u64 {
        let increment = self.increment.max(1);
        let (wanted, has) = (self.offset % increment, next % increment);
        let gap = if wanted >= has { wanted - has } else { increment - (has - wanted) };
        next.saturating_add(gap)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TableCounters {
    rows: i64,
    next_row_id: u64,
    next_auto_increment: u64,
}

impl Default for TableCounters {
    fn default() -> TableCounters {
        TableCounters { rows: 0, next_row_id: 1, next_auto_increment: 1 }
    }
}

impl TableCounters {
    fn merge(&mut self, change: &CounterChange) {
        self.rows += change.rows;
        self.next_row_id = self.next_row_id.max(change.next_row_id);
        self.next_auto_increment = self.next_auto_increment.max(change.next_auto_increment);
    }
}

/// The counters in a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CounterState {
    pub(crate) newest: CommitTs,
    pub(crate) counted: Lsn,
    pub(crate) next_object: u64,
    tables: BTreeMap<TableId, TableCounters>,
}

impl Default for CounterState {
    fn default() -> CounterState {
        CounterState { newest: CommitTs(0), counted: Lsn::ZERO, next_object: 1, tables: BTreeMap::new() }
    }
}

impl CounterState {
    /// Includes a commit, unless it is included already.
    pub(crate) fn count(&mut self, end: Lsn, ts: CommitTs, next_object: u64, changes: &[CounterChange]) {
        self.newest = self.newest.max(ts);
        self.next_object = self.next_object.max(next_object);
        if end <= self.counted {
            return;
        }
        self.counted = end;
        for change in changes {
            self.tables.entry(change.table).or_default().merge(change);
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).u64(self.newest.0).u64(self.counted.0).u64(self.next_object);
        out.u32(self.tables.len() as u32);
        for (table, counters) in &self.tables {
            out.u64(table.0).i64(counters.rows).u64(counters.next_row_id).u64(counters.next_auto_increment);
        }
        out.finish()
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<CounterState> {
        let mut from = ByteReader::new("checkpoint", payload);
        from.format(FORMAT)?;
        let (newest, counted, next_object) = (CommitTs(from.u64()?), Lsn(from.u64()?), from.u64()?);
        let mut tables = BTreeMap::new();
        for _ in 0..from.u32()? {
            let table = TableId(from.u64()?);
            let (rows, next_row_id, next_auto_increment) = (from.i64()?, from.u64()?, from.u64()?);
            tables.insert(table, TableCounters { rows, next_row_id, next_auto_increment });
        }
        from.end()?;
        Ok(CounterState { newest, counted, next_object, tables })
    }
}

/// The counters of one engine.
#[derive(Debug)]
pub(crate) struct Counters {
    state: Mutex<CounterState>,
    /// The rows written per table since the engine was opened; not part of checkpoints.
    written: RwLock<HashMap<TableId, AtomicU64>>,
    /// For each builder of new tables, the number from which on new objects are protected.
    new: Mutex<Vec<u64>>,
}

/// Keeps the counters of tables created since, until it is dropped.
pub(crate) struct KeepsNew<'c> {
    counters: &'c Counters,
    from: u64,
}

impl Drop for KeepsNew<'_> {
    fn drop(&mut self) {
        let mut new = self.counters.new.lock();
        if let Some(at) = new.iter().position(|from| *from == self.from) {
            new.swap_remove(at);
        }
    }
}

impl Counters {
    pub(crate) fn new(state: CounterState) -> Counters {
        Counters { state: Mutex::new(state), written: RwLock::default(), new: Mutex::default() }
    }

    /// Runs `append`, which takes a timestamp, appends a commit's record to the log, and returns the
    /// timestamp and the record's end. Then includes the commit. A checkpoint thus contains both or
    /// neither. Only one commit at a time runs this, so that timestamps ascend in the log.
    pub(crate) fn append<E>(
        &self,
        next_object: u64,
        changes: &[CounterChange],
        append: impl FnOnce() -> Result<(CommitTs, Lsn), E>,
    ) -> Result<(CommitTs, Lsn), E> {
        let mut state = self.state.lock();
        let (ts, end) = append()?;
        state.count(end, ts, next_object, changes);
        Ok((ts, end))
    }

    /// Includes changes that no commit records: those of tables that do not outlive the process.
    pub(crate) fn merge(&self, changes: &[CounterChange]) {
        let mut state = self.state.lock();
        for change in changes {
            state.tables.entry(change.table).or_default().merge(change);
        }
    }

    /// Notes that a commit inserts, changes or deletes this many rows of a table.
    pub(crate) fn note_written(&self, table: TableId, rows: u64) {
        if let Some(written) = self.written.read().get(&table) {
            written.fetch_add(rows, Ordering::Relaxed);
            return;
        }
        self.written.write().entry(table).or_default().fetch_add(rows, Ordering::Relaxed);
    }

    /// The number of rows of a table written since the engine was opened.
    pub(crate) fn rows_written(&self, table: TableId) -> u64 {
        self.written.read().get(&table).map_or(0, |written| written.load(Ordering::Relaxed))
    }

    /// Encodes the counters for a checkpoint.
    pub(crate) fn payload(&self) -> Vec<u8> {
        self.state.lock().encode()
    }

    /// Forgets the tables for which `exists` returns false, except for [new](Self::keep_new) ones.
    pub(crate) fn retain(&self, exists: impl Fn(TableId) -> bool) {
        let new = self.new.lock().iter().min().copied().unwrap_or(u64::MAX);
        let stays = |table: TableId| table.0 >= new || exists(table);
        self.state.lock().tables.retain(|&table, _| stays(table));
        self.written.write().retain(|&table, _| stays(table));
    }

    /// Protects the counters of tables that a caller makes, until the catalog contains the tables.
    pub(crate) fn keep_new(&self) -> KeepsNew<'_> {
        let from = self.next_object();
        self.new.lock().push(from);
        KeepsNew { counters: self, from }
    }

    /// Returns a number for a new database, table or index.
    pub(crate) fn new_object(&self) -> u64 {
        let mut state = self.state.lock();
        let id = state.next_object;
        state.next_object += 1;
        id
    }

    /// The first number that was never used.
    pub(crate) fn next_object(&self) -> u64 {
        self.state.lock().next_object
    }

    /// The number of committed rows of a table.
    pub(crate) fn rows(&self, table: TableId) -> u64 {
        let state = self.state.lock();
        state.tables.get(&table).map_or(0, |counters| u64::try_from(counters.rows).unwrap_or(0))
    }

    /// Returns a hidden row id for a row of the table with this number and name.
    ///
    /// # Errors
    /// 1114 if all are used.
    pub(crate) fn new_row_id(&self, table: TableId, name: &str) -> Result<u64> {
        let mut state = self.state.lock();
        let counters = state.tables.entry(table).or_default();
        let id = counters.next_row_id;
        if id > MAX_ROW_ID {
            return Err(MysqlError::table_full(name).into());
        }
        counters.next_row_id += 1;
        Ok(id)
    }

    /// The first unused hidden row id.
    pub(crate) fn next_row_id(&self, table: TableId) -> u64 {
        self.state.lock().tables.get(&table).map_or(1, |counters| counters.next_row_id)
    }

    /// Returns an AUTO_INCREMENT value: the next one of `numbering`, but at most `max`. MySQL gives out the
    /// last value again and again, so that the insert fails as a duplicate.
    pub(crate) fn new_auto_increment(&self, table: TableId, max: u64, numbering: Numbering) -> u64 {
        let mut state = self.state.lock();
        let counters = state.tables.entry(table).or_default();
        let value = numbering.from(counters.next_auto_increment).min(max);
        counters.next_auto_increment = value.saturating_add(1);
        value
    }

    /// Notes that AUTO_INCREMENT values up to `value` are used.
    pub(crate) fn use_auto_increment(&self, table: TableId, value: u64) {
        let mut state = self.state.lock();
        let counters = state.tables.entry(table).or_default();
        counters.next_auto_increment = counters.next_auto_increment.max(value.saturating_add(1));
    }

    /// Sets the number of the table's next row to `next`; the numbers from it on were not used.
    pub(crate) fn take_back_auto_increment(&self, table: TableId, next: u64) {
        if let Some(counters) = self.state.lock().tables.get_mut(&table) {
            counters.next_auto_increment = next;
        }
    }

    /// The number that the table's next row gets.
    pub(crate) fn next_auto_increment(&self, table: TableId) -> u64 {
        self.state.lock().tables.get(&table).map_or(1, |counters| counters.next_auto_increment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(rows: i64) -> CounterChange {
        CounterChange { table: TableId(4), rows, next_row_id: 8, next_auto_increment: 3 }
    }

    #[test]
    fn a_commit_is_counted_once() {
        let mut state = CounterState::default();
        state.count(Lsn(10), CommitTs(1), 5, &[change(2)]);
        let mut again = CounterState::decode(&state.encode()).unwrap();
        assert_eq!(again, state);
        again.count(Lsn(10), CommitTs(1), 5, &[change(2)]);
        assert_eq!(again, state);
        again.count(Lsn(20), CommitTs(2), 5, &[change(-1)]);
        let counters = Counters::new(again);
        assert_eq!(counters.rows(TableId(4)), 1);
        let row_ids = [(); 2].map(|()| counters.new_row_id(TableId(4), "t").unwrap());
        assert_eq!(row_ids, [8, 9]);
        assert_eq!(counters.new_object(), 5);
    }

    #[test]
    fn a_table_is_full_when_its_row_ids_are_used() {
        let counters = Counters::new(CounterState::default());
        let last = CounterChange { next_row_id: MAX_ROW_ID, ..change(0) };
        counters.merge(&[last]);
        assert_eq!(counters.new_row_id(TableId(4), "t").unwrap(), MAX_ROW_ID);
        let error = counters.new_row_id(TableId(4), "t").unwrap_err();
        assert_eq!(MysqlError::from(error).code, 1114);
    }

    #[test]
    fn counters_of_new_tables_are_kept_while_somebody_makes_them() {
        let counters = Counters::new(CounterState::default());
        let known = TableId(counters.new_object());
        let keeps = [(); 2].map(|()| counters.keep_new());
        let new = TableId(counters.new_object());
        for table in [known, new] {
            counters.use_auto_increment(table, 7);
        }
        let left = |exists: bool| {
            counters.retain(|_| exists);
            [known, new].map(|table| counters.next_auto_increment(table))
        };
        assert_eq!(left(true), [8, 8]);
        assert_eq!(left(false), [1, 8]);
        for (keeps, left_over) in keeps.into_iter().zip([8, 1]) {
            drop(keeps);
            assert_eq!(left(false), [1, left_over]);
        }
    }

    #[test]
    fn auto_increment_stays_at_the_largest_value() {
        let counters = Counters::new(CounterState::default());
        counters.use_auto_increment(TableId(1), 125);
        let values: Vec<u64> =
            (0..3).map(|_| counters.new_auto_increment(TableId(1), 127, Numbering::default())).collect();
        assert_eq!(values, [126, 127, 127]);
    }

    #[test]
    fn numbers_are_those_of_an_offset_and_an_increment() {
        let some = Numbering { increment: 10, offset: 5 };
        assert_eq!([0, 1, 5, 6, 15, 16].map(|next| some.from(next)), [5, 5, 5, 15, 15, 25]);
        assert_eq!([0, 1, 7].map(|next| Numbering::default().from(next)), [0, 1, 7]);
        assert_eq!(Numbering { increment: 3, offset: 7 }.from(2), 4);
        assert_eq!(some.from(u64::MAX), u64::MAX);
        let counters = Counters::new(CounterState::default());
        let drawn: Vec<u64> = (0..4).map(|_| counters.new_auto_increment(TableId(1), 30, some)).collect();
        assert_eq!(drawn, [5, 15, 25, 30]);
    }
}
