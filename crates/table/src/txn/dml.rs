//! Inserting, updating and deleting rows: into the write set, after the unique checks.

use super::unique::{Probe, check_clustered, check_secondary};
use super::write_set::{NOW, State};
use super::{RegisteredSnapshot, Transaction};
use crate::catalog::{IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, clustered_entry, describe_entry, entry_of_row, row_id_of, row_values};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// What an insert did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct InsertOutcome {
    /// The AUTO_INCREMENT value that was generated.
    pub auto_increment: Option<u64>,
    /// Clustered key of the row.
    pub locator: Vec<u8>,
}

impl Transaction {
    /// Inserts a row: one value per column, of the columns' types, NOT NULL checked. NULL or 0 in the AUTO_INCREMENT
    /// column asks for a new value.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062), 1118 if the row is too large, `WriteConflict` (1213) if the row was deleted by a
    /// transaction that this one does not see, `TransactionTooLarge`, what the store returns.
    pub fn insert(&mut self, table: &Arc<TableDef>, row: &[Value]) -> Result<InsertOutcome> {
        let snapshot = self.write_snapshot()?;
        let mut generated = None;
        let mut filled;
        let mut row = row;
        if let Some(column) = table.auto_increment_column() {
            match row.get(column) {
                Some(Value::Null | Value::Int(0) | Value::UInt(0)) => {
                    let (value, number) = new_auto_increment(&self.engine, table, column);
                    filled = row.to_vec();
                    if let Some(slot) = filled.get_mut(column) {
                        *slot = value;
                    }
                    row = &filled;
                    generated = Some(number);
                    self.writes.write().note_auto_increment(table, number);
                }
                Some(value) => self.use_auto_increment(table, value),
                None => {}
            }
        }
        let row_id = if table.has_hidden_row_id() { self.engine.counters.new_row_id(table.id) } else { 0 };
        let entry = clustered_entry(table, row, row_id)?;
        self.insert_entry(table, &snapshot, None, &entry)?;
        Ok(InsertOutcome { auto_increment: generated, locator: entry.key })
    }

    /// Replaces the row with clustered key `locator`, read as `old`, by `new`. Returns the row's locator from now
    /// on, which is another one if the primary key changes.
    ///
    /// # Errors
    /// As [`insert`](Self::insert). `Internal` if the transaction itself has deleted the row.
    pub fn update(
        &mut self,
        table: &Arc<TableDef>,
        locator: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<Vec<u8>> {
        let snapshot = self.write_snapshot()?;
        if let Some(column) = table.auto_increment_column()
            && old.get(column) != new.get(column)
            && let Some(value) = new.get(column)
        {
            // As MySQL 8: the next INSERT continues after the larger value.
            self.use_auto_increment(table, value);
        }
        let row_id = match table.has_hidden_row_id() {
            true => row_id_of(locator)?,
            false => 0,
        };
        let before = self.present_row(table, locator, old)?;
        let entry = clustered_entry(table, new, row_id)?;
        if entry.key != locator {
            // The row moves: gone here, new there. The checks of the new row must not meet the old one.
            let mark = self.savepoint();
            self.put(table, locator, Some(before.clone()), None, &snapshot)?;
            if let Err(error) = self.insert_entry(table, &snapshot, Some((locator, &before)), &entry) {
                self.rollback_to(mark);
                return Err(error);
            }
            return Ok(entry.key);
        }
        self.check_sizes(table, &entry)?;
        self.check_unique(table, &entry, Some((locator, &before)))?;
        self.put(table, locator, Some(before), Some(entry.payload.into()), &snapshot)?;
        Ok(entry.key)
    }

    /// Deletes the row with clustered key `locator`, read as `old`. False if the transaction has deleted it before.
    ///
    /// # Errors
    /// `TransactionTooLarge`, what the store returns.
    pub fn delete(&mut self, table: &Arc<TableDef>, locator: &[u8], old: &[Value]) -> Result<bool> {
        let snapshot = self.write_snapshot()?;
        if let Some(None) = self.writes.read().row(table.id, locator, NOW) {
            return Ok(false);
        }
        let before = self.present_row(table, locator, old)?;
        self.put(table, locator, Some(before), None, &snapshot)?;
        Ok(true)
    }

    /// The row with clustered key `locator` as it is now: as the transaction wrote it, or as it was committed last.
    /// `None` if there is none. For statements that act on a row that an insert ran into.
    ///
    /// # Errors
    /// `WriteConflict` (1213) if the row was committed after the transaction's snapshot, which could not change it
    /// then; what the store returns.
    pub fn current_row(&mut self, table: &Arc<TableDef>, locator: &[u8]) -> Result<Option<Vec<Value>>> {
        if let Some(state) = self.writes.read().row(table.id, locator, NOW) {
            return state.map(|payload| row_values(table, locator, &payload)).transpose();
        }
        let snapshot = self.snapshot();
        match check_clustered(&self.engine, table, locator, &snapshot)? {
            Probe::Absent => Ok(None),
            Probe::Present(payload) => row_values(table, locator, &payload).map(Some),
            Probe::PresentUnseen | Probe::DeletedUnseen => Err(self.conflict()),
        }
    }

    /// The first unique key, if any, that inserting `row` would run into: name of the index and locator of the row
    /// in the way. A row that has no AUTO_INCREMENT value yet cannot run into the index of that column.
    ///
    /// # Errors
    /// What the store returns.
    pub fn find_duplicate(
        &mut self,
        table: &Arc<TableDef>,
        row: &[Value],
    ) -> Result<Option<(String, Vec<u8>)>> {
        let entry = clustered_entry(table, row, 0)?;
        let clustered = match table.has_hidden_row_id() {
            true => Ok(()),
            false => self.check_primary(table, &entry).map(|_| ()),
        };
        match clustered.and_then(|()| self.check_unique(table, &entry, None)) {
            Ok(()) => Ok(None),
            Err(TableError::DuplicateEntry { index, locator, .. }) => Ok(Some((index, locator))),
            Err(other) => Err(other),
        }
    }

    fn insert_entry(
        &mut self,
        table: &Arc<TableDef>,
        snapshot: &RegisteredSnapshot,
        moved: Option<(&[u8], &Arc<[u8]>)>,
        entry: &Entry,
    ) -> Result<()> {
        self.check_sizes(table, entry)?;
        if !table.has_hidden_row_id() {
            self.check_primary(table, entry)?;
        }
        self.check_unique(table, entry, moved)?;
        self.put(table, &entry.key, None, Some(entry.payload.as_slice().into()), snapshot)
    }

    /// The row as the transaction sees it now: as it wrote it, or as the caller read it.
    fn present_row(&self, table: &Arc<TableDef>, locator: &[u8], old: &[Value]) -> Result<Arc<[u8]>> {
        match self.writes.read().row(table.id, locator, NOW) {
            Some(Some(payload)) => Ok(payload),
            Some(None) => Err(TableError::Internal("a row that was deleted is updated".into())),
            None => {
                let mut payload = Vec::new();
                table.clustered().format.encode_payload(old, &mut payload)?;
                Ok(payload.into())
            }
        }
    }

    fn put(
        &mut self,
        table: &Arc<TableDef>,
        key: &[u8],
        base: State,
        after: State,
        snapshot: &RegisteredSnapshot,
    ) -> Result<()> {
        let mut writes = self.writes.write();
        let mark = writes.mark();
        writes.put_row(table, key, base, after, snapshot)?;
        let (size, limit) = (writes.bytes(), self.engine.limits.max_write_set);
        if size > limit {
            writes.roll_back_to(mark);
            return Err(TableError::TransactionTooLarge { size, limit });
        }
        Ok(())
    }

    /// No live row may have the primary key. Absent or deleted rows must be so for the snapshot too.
    fn check_primary(&mut self, table: &Arc<TableDef>, entry: &Entry) -> Result<()> {
        let present = match self.writes.read().row(table.id, &entry.key, NOW) {
            Some(state) => state.is_some(),
            None => {
                let snapshot = self.snapshot.clone();
                let snapshot = snapshot.unwrap_or_else(|| self.engine.snapshot());
                match check_clustered(&self.engine, table, &entry.key, &snapshot)? {
                    Probe::Absent => false,
                    Probe::Present(_) | Probe::PresentUnseen => true,
                    Probe::DeletedUnseen => return Err(self.conflict()),
                }
            }
        };
        if present {
            return Err(self.duplicate(table, table.clustered(), entry, entry.key.clone()));
        }
        Ok(())
    }

    /// No other live row may have the keys of unique secondary indexes that differ from the row's old ones.
    fn check_unique(
        &mut self,
        table: &Arc<TableDef>,
        entry: &Entry,
        old: Option<(&[u8], &Arc<[u8]>)>,
    ) -> Result<()> {
        for index in table.secondary().iter().filter(|index| index.is_unique()) {
            let new = entry_of_row(table, index, &entry.key, &entry.payload)?;
            if let Some((key, payload)) = old
                && entry_of_row(table, index, key, payload)?.key == new.key
            {
                continue;
            }
            let mut taken = check_secondary(&self.engine, table, index, &new.key, &self.writes)?;
            if let (Some(locator), Some((old, _))) = (&taken, old)
                && locator == old
            {
                taken = None;
            }
            if let Some(locator) = taken {
                return Err(self.duplicate(table, index, entry, locator));
            }
        }
        Ok(())
    }

    fn duplicate(&self, table: &TableDef, index: &IndexDef, entry: &Entry, locator: Vec<u8>) -> TableError {
        let described = entry_of_row(table, index, &entry.key, &entry.payload)
            .and_then(|entry| describe_entry(index, &entry.key, &entry.payload));
        match described {
            Ok(entry) => TableError::DuplicateEntry {
                entry,
                table: table.name.clone(),
                index: index.name.clone(),
                locator,
            },
            Err(error) => error,
        }
    }

    /// Rows and entries must fit their pages, whatever happens later.
    fn check_sizes(&self, table: &TableDef, entry: &Entry) -> Result<()> {
        let limits = &self.engine.limits;
        if entry.key.len() > limits.max_key {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        for index in table.secondary().iter().filter(|index| index.may_be_too_long(limits.max_key)) {
            let secondary = entry_of_row(table, index, &entry.key, &entry.payload)?;
            let size = secondary.key.len() + secondary.payload.len();
            if secondary.key.len() > limits.max_key || size > limits.max_entry {
                return Err(MysqlError::key_too_long(limits.max_key).into());
            }
        }
        Ok(())
    }

    fn use_auto_increment(&self, table: &Arc<TableDef>, value: &Value) {
        let number = match value {
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            Value::UInt(number) => *number,
            _ => 0,
        };
        if number > 0 {
            self.engine.counters.use_auto_increment(table.id, number);
            self.writes.write().note_auto_increment(table, number);
        }
    }

    /// A conflict with a commit that this transaction does not see. It may not be durable yet; once it is, the next
    /// snapshot sees it and a second try can succeed.
    fn conflict(&self) -> TableError {
        super::commit::conflict(&self.engine)
    }
}

/// A new value for the AUTO_INCREMENT column of a table, also as a number.
pub(crate) fn new_auto_increment(engine: &Engine, table: &TableDef, column: usize) -> (Value, u64) {
    let ty = table.columns.get(column).map_or(SqlType::BIGINT, |column| column.ty.clone());
    let max = ty.integer_range().map_or(i64::MAX as u64, |(_, max)| max as u64);
    let number = engine.counters.new_auto_increment(table.id, max);
    let value = if ty.is_unsigned() { Value::UInt(number) } else { Value::Int(number as i64) };
    (value, number)
}
