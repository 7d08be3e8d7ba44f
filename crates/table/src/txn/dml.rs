//! Inserting, updating and deleting rows: checks unique keys, then writes to the write set.

use super::partition_writes::Home;
use super::unique::{CommittedRow, check_clustered};
use super::{Isolation, SetAside, Transaction};
use crate::catalog::{IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::counters::Numbering;
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, duplicate_entry, entry_of_row, row_id_of};
use crate::index::words_entry::for_each_entry_of;
use crate::lock::LockMode;
use crate::overflow;
use crate::overflow::NewRow;
use crate::write_set::{NOW, State};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// The outcome of an insert.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct InsertOutcome {
    /// The AUTO_INCREMENT value that was generated.
    pub auto_increment: Option<u64>,
    /// The row's locator.
    pub locator: Vec<u8>,
}

impl Transaction {
    /// Inserts a row: one value per column, of the columns' types, with NOT NULL already checked. NULL or 0 in the
    /// AUTO_INCREMENT column requests a new value.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062), 1118 if the row is too large, `WriteConflict` (1213) if a transaction that this one
    /// does not see has deleted the row; the errors of [`RowLocker::lock`](super::RowLocker::lock);
    /// `TransactionTooLarge`, disk full, other errors of the store.
    pub fn insert(&mut self, table: &Arc<TableDef>, row: &[Value]) -> Result<InsertOutcome> {
        let mut filled;
        let mut row = row;
        let mut auto_increment = None;
        let asks = |value: &Value| asks_for_number(value, self.zero_is_number);
        if table.auto_increment_column().and_then(|column| row.get(column)).is_some_and(asks) {
            filled = row.to_vec();
            auto_increment = self.fill_auto_increment(table, &mut filled, &mut None);
            row = &filled;
        }
        let home = Home::of_row(table, row)?;
        self.check_writable(home.table)?;
        let key = self.insert_numbered(home.table, row).map_err(|error| home.rewrite_error(error))?;
        if auto_increment.is_none()
            && let Some(value) = table.auto_increment_column().and_then(|column| row.get(column))
        {
            // The number of a rejected row is not noted, because it may be the last number.
            self.use_auto_increment(table, value);
        }
        Ok(InsertOutcome { auto_increment, locator: home.locator(key) })
    }

    /// Inserts a row with its number into the table that stores it. Returns its key.
    pub(crate) fn insert_numbered(&mut self, table: &Arc<TableDef>, row: &[Value]) -> Result<Vec<u8>> {
        let row_id = match table.has_hidden_row_id() {
            true => self.core.counters.new_row_id(table.id, &table.name)?,
            false => 0,
        };
        let new = overflow::new_row(&self.core, table, row, row_id, None)?;
        self.insert_entry(table, None, &new, row)?;
        Ok(new.entry.key)
    }

    /// Puts a new number into the AUTO_INCREMENT column of a row to be inserted, if NULL or 0 there requests one, and
    /// returns it, for callers that may insert the row more than once. `unused` is the number of an earlier row that
    /// was left out; it is given again, unless the row has a number that is no smaller.
    pub fn fill_auto_increment(
        &mut self,
        table: &Arc<TableDef>,
        row: &mut [Value],
        unused: &mut Option<u64>,
    ) -> Option<u64> {
        let column = table.auto_increment_column()?;
        let slot = row.get_mut(column)?;
        if !asks_for_number(slot, self.zero_is_number) {
            let own = slot.as_integer().and_then(|own| u64::try_from(own).ok());
            *unused = unused.filter(|unused| own.is_none_or(|own| own < *unused));
            return None;
        }
        let (value, number) = match (unused.take(), table.columns.get(column)) {
            (Some(number), Some(column)) => (auto_increment_value(&column.ty, number), number),
            (None, Some(column)) if self.given_number.is_some() => {
                let number = self.given_number.take().expect("there is a number");
                self.core.counters.use_auto_increment(table.id, number);
                self.given_number = number.checked_add(self.numbering.increment);
                (auto_increment_value(&column.ty, number), number)
            }
            _ => new_auto_increment(&self.core, table, column, self.numbering),
        };
        *slot = value;
        self.writes.write().note_auto_increment(table, number);
        Some(number)
    }

    /// Makes `next` the next AUTO_INCREMENT number of `table` again. This transaction has not used the numbers it was
    /// given since, and no other transaction has requested one.
    pub fn take_back_auto_increment(&mut self, table: TableId, next: u64) {
        self.core.counters.take_back_auto_increment(table, next);
        self.writes.write().take_back_auto_increment(table, next);
    }

    /// Locks the row with clustered key `locator`, read as `old`, and replaces it with `new`. Returns the row's new
    /// locator, which differs if the clustered key changes.
    ///
    /// # Errors
    /// The errors of [`insert`](Self::insert). `Internal` if the transaction itself has deleted the row.
    pub fn update(
        &mut self,
        table: &Arc<TableDef>,
        locator: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<Vec<u8>> {
        let (home, key) = Home::of_locator(table, locator)?;
        self.check_writable(home.table)?;
        self.lock_read_row(home.table, key)?;
        self.update_locked(table, locator, old, new)
    }

    /// Updates like [`update`](Self::update) a row that the running statement has locked (by
    /// [`RowLocker::lock`](super::RowLocker::lock)); `old` is its value at that time.
    ///
    /// # Errors
    /// The errors of [`update`](Self::update).
    pub fn update_locked(
        &mut self,
        table: &Arc<TableDef>,
        locator: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<Vec<u8>> {
        let (home, key) = Home::of_locator(table, locator)?;
        let to = Home::of_row(table, new)?;
        self.check_writable(home.table)?;
        self.check_writable(to.table)?;
        if let Some(column) = table.auto_increment_column()
            && old.get(column) != new.get(column)
            && let Some(value) = new.get(column)
        {
            // As in MySQL 8, the next INSERT continues after the larger value.
            self.use_auto_increment(table, value);
        }
        if to.table.id != home.table.id {
            return self.move_row((home, key, old), to, new);
        }
        let changed = self.update_stored(home.table, key, old, new);
        changed.map(|key| home.locator(key)).map_err(|error| home.rewrite_error(error))
    }

    /// Replaces a row within the table that stores it. Returns its new key.
    fn update_stored(
        &mut self,
        table: &Arc<TableDef>,
        locator: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<Vec<u8>> {
        let row_id = match table.has_hidden_row_id() {
            true => row_id_of(locator)?,
            false => 0,
        };
        let before = self.present_row(table, locator, old)?;
        let new_row = overflow::new_row(&self.core, table, new, row_id, Some((old, &before)))?;
        let entry = &new_row.entry;
        if entry.key != locator {
            // The row moves: it is deleted here and inserted there. The checks of the new row must not find the old
            // one.
            let mark = self.savepoint();
            self.put(table, locator, Some(before.clone()), None)?;
            let moved = self.insert_entry(table, Some((locator, &before)), &new_row, new);
            if let Err(error) =
                moved.and_then(|()| self.delete_values(table, Some(&before), Some(&entry.payload)))
            {
                self.rollback_to(mark);
                return Err(error);
            }
            return Ok(new_row.entry.key);
        }
        self.check_sizes(table, entry, new)?;
        self.check_unique(table, entry, Some((locator, &before)))?;
        self.put_row_at(table, locator, Some(before), Some((&new_row, new)))?;
        Ok(new_row.entry.key)
    }

    /// Locks the row with clustered key `locator`, read as `old`, and deletes it. Returns false if the transaction
    /// has deleted it before.
    ///
    /// # Errors
    /// The errors of [`RowLocker::lock`](super::RowLocker::lock); `TransactionTooLarge`, disk full, other errors of
    /// the store.
    pub fn delete(&mut self, table: &Arc<TableDef>, locator: &[u8], old: &[Value]) -> Result<bool> {
        let (home, key) = Home::of_locator(table, locator)?;
        self.check_writable(home.table)?;
        self.lock_read_row(home.table, key)?;
        self.delete_locked(table, locator, old)
    }

    /// Deletes like [`delete`](Self::delete) a row that the running statement has locked; `old` is its value at that
    /// time.
    ///
    /// # Errors
    /// The errors of [`delete`](Self::delete).
    pub fn delete_locked(&mut self, table: &Arc<TableDef>, locator: &[u8], old: &[Value]) -> Result<bool> {
        let (Home { table, .. }, locator) = Home::of_locator(table, locator)?;
        self.check_writable(table)?;
        if let Some(None) = self.writes.read().row(table.id, locator, NOW)? {
            return Ok(false);
        }
        let before = self.present_row(table, locator, old)?;
        self.put_row_at(table, locator, Some(before), None)?;
        Ok(true)
    }

    /// Locks the row with clustered key `locator`, and returns its current value: as the transaction wrote it, or as
    /// it was committed last. `None` if there is no row. For statements that act on a row with which an insert
    /// conflicts.
    ///
    /// # Errors
    /// `WriteConflict` (1213) if the row was committed after the transaction's snapshot, which could not change it
    /// then; the errors of [`RowLocker::lock`](super::RowLocker::lock); errors of the store.
    pub fn current_row(&mut self, table: &Arc<TableDef>, locator: &[u8]) -> Result<Option<Vec<Value>>> {
        let (Home { table, .. }, locator) = Home::of_locator(table, locator)?;
        let present = self.lock_present(table, locator)?;
        present.map(|payload| self.present_values(table, locator, &payload)).transpose()
    }

    /// Replaces the row with the same clustered key, or inserts the row if there is none. Returns whether there was
    /// one.
    ///
    /// # Errors
    /// The errors of [`insert`](Self::insert).
    pub fn put_row(&mut self, table: &Arc<TableDef>, row: &[Value]) -> Result<bool> {
        self.check_writable(table)?;
        let generates = table
            .auto_increment_column()
            .and_then(|column| row.get(column))
            .is_some_and(|value| asks_for_number(value, self.zero_is_number));
        if table.has_hidden_row_id() || generates {
            return self.insert(table, row).map(|_| false);
        }
        if let Some(value) = table.auto_increment_column().and_then(|column| row.get(column)) {
            self.use_auto_increment(table, value);
        }
        let new = overflow::new_row(&self.core, table, row, 0, None)?;
        let entry = &new.entry;
        self.check_sizes(table, entry, row)?;
        let before = self.lock_present(table, &entry.key)?;
        self.check_unique(table, entry, before.as_ref().map(|before| (entry.key.as_slice(), before)))?;
        let replaced = before.is_some();
        self.put_row_at(table, &entry.key, before, Some((&new, row)))?;
        Ok(replaced)
    }

    /// Deletes the row with this clustered key, if there is one. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`delete`](Self::delete).
    pub fn delete_key(&mut self, table: &Arc<TableDef>, key: &[u8]) -> Result<bool> {
        self.check_writable(table)?;
        let Some(before) = self.lock_present(table, key)? else { return Ok(false) };
        self.put_row_at(table, key, Some(before), None)?;
        Ok(true)
    }

    /// Locks a clustered key. Returns its current row.
    fn lock_present(&mut self, table: &Arc<TableDef>, key: &[u8]) -> Result<State> {
        if let Some(state) = self.writes.read().row(table.id, key, NOW)? {
            return Ok(state);
        }
        self.lock_new_row(table, key)?;
        self.note_row_read(table, key)?;
        let snapshot = self.snapshot();
        let (payload, unseen) = match check_clustered(&self.core, table, key, &snapshot)? {
            CommittedRow::Absent => (None, false),
            CommittedRow::Present(payload) => (Some(payload), false),
            CommittedRow::PresentUnseen(payload) => (Some(payload), true),
            CommittedRow::DeletedUnseen => (None, true),
        };
        if unseen {
            if !self.follows() {
                return Err(self.core.conflict());
            }
            self.writes.write().note_unseen(table, self.core.store.log_end());
        }
        Ok(payload)
    }

    /// Finds the first unique key with which inserting `row` would conflict: returns the index's name and the locator
    /// of the conflicting row. A row without an AUTO_INCREMENT value yet cannot conflict in the index of that column.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn find_duplicate(
        &mut self,
        table: &Arc<TableDef>,
        row: &[Value],
    ) -> Result<Option<(String, Vec<u8>)>> {
        let home = Home::of_row(table, row)?;
        let table = home.table;
        let entry = overflow::new_row(&self.core, table, row, 0, None)?.entry;
        let clustered = match table.has_hidden_row_id() {
            true => Ok(()),
            false => self.check_clustered_key(table, &entry).map(|_| ()),
        };
        match clustered.and_then(|()| self.check_unique(table, &entry, None)) {
            Ok(()) => Ok(None),
            Err(TableError::DuplicateEntry { index, locator, .. }) => {
                Ok(Some((index, home.locator(locator))))
            }
            Err(other) => Err(other),
        }
    }

    fn insert_entry(
        &mut self,
        table: &Arc<TableDef>,
        moved: Option<(&[u8], &Arc<[u8]>)>,
        new: &NewRow,
        row: &[Value],
    ) -> Result<()> {
        let entry = &new.entry;
        self.check_sizes(table, entry, row)?;
        if table.has_hidden_row_id() {
            // Nobody else knows the row, but the table may be locked as a whole.
            self.locks.lock_table(table.id, LockMode::IntentionExclusive, Some(&self.limits))?;
            if self.isolation == Isolation::Serializable {
                // The graph does not compare reads from before a rebuild with writes after it: an older snapshot fails.
                let snapshot = self.snapshot();
                self.core.trees.for_snapshot(table.clustered(), &snapshot)?;
            }
        } else {
            self.check_clustered_key(table, entry)?;
        }
        self.check_unique(table, entry, moved)?;
        self.put_row_at(table, &entry.key, None, Some((new, row)))
    }

    /// The row as the transaction sees it now: as it wrote it, or as the caller read it.
    fn present_row(&mut self, table: &Arc<TableDef>, locator: &[u8], old: &[Value]) -> Result<Arc<[u8]>> {
        let written = self.writes.read().row(table.id, locator, NOW)?;
        match written {
            Some(Some(payload)) => Ok(payload),
            Some(None) => Err(TableError::Internal("a row that was deleted is updated".into())),
            None if table.overflow.is_some() => self.present_payload(table, locator),
            None => {
                let mut payload = Vec::new();
                table.clustered().format.encode_payload(old, &mut payload)?;
                Ok(payload.into())
            }
        }
    }

    pub(super) fn put(&mut self, table: &Arc<TableDef>, key: &[u8], base: State, after: State) -> Result<()> {
        // The transaction's own snapshot may not see the version that is replaced.
        let over_unseen = matches!(self.set_aside, Some(SetAside(Some(_))));
        let payload = after.clone();
        self.ranges.write_outside_ranges(table, (key, payload.as_deref()), &self.limits, || {
            let mut writes = self.writes.write();
            writes.make_room(self.core.write_set_space())?;
            if over_unseen {
                writes.note_unseen_bases(table);
            }
            writes.put_row(table, key, base, after)
        })
    }

    /// Locks the clustered key, and checks that no live row has it. The snapshot must not see one either, unless the
    /// transaction follows changes that its snapshot does not see.
    fn check_clustered_key(&mut self, table: &Arc<TableDef>, entry: &Entry) -> Result<()> {
        let written = self.writes.read().row(table.id, &entry.key, NOW)?;
        let present = match written {
            Some(state) => state.is_some(),
            None => {
                self.lock_new_row(table, &entry.key)?;
                self.note_row_read(table, &entry.key)?;
                let snapshot = self.snapshot();
                match check_clustered(&self.core, table, &entry.key, &snapshot)? {
                    CommittedRow::Absent => false,
                    CommittedRow::PresentUnseen(_) if self.isolation == Isolation::Serializable => {
                        return Err(self.core.conflict());
                    }
                    CommittedRow::Present(_) | CommittedRow::PresentUnseen(_) => true,
                    CommittedRow::DeletedUnseen if self.follows() => {
                        self.writes.write().note_unseen(table, self.core.store.log_end());
                        false
                    }
                    CommittedRow::DeletedUnseen => return Err(self.core.conflict()),
                }
            }
        };
        if present {
            return Err(self.duplicate(table, table.clustered(), entry, entry.key.clone()));
        }
        Ok(())
    }

    /// Locks the keys of unique secondary indexes that differ from the row's old ones, and checks that no other live
    /// row has them.
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
            self.lock_unique_key(table, index, &new.key)?;
            let other = |taken: &Vec<u8>| old.is_none_or(|(old, _)| taken != old);
            // A transaction that is about to delete the row, or to change its key, has locked it.
            let mut duplicate = self.check_secondary(table, index, &new.key)?.filter(other);
            let mut seen: Option<Vec<u8>> = None;
            while let Some(locator) = &duplicate
                && seen.as_ref() != Some(locator)
            {
                self.lock_duplicate(table, locator)?;
                seen = duplicate;
                duplicate = self.check_secondary(table, index, &new.key)?.filter(other);
            }
            if let Some(locator) = duplicate {
                return Err(self.duplicate(table, index, entry, locator));
            }
        }
        Ok(())
    }

    fn duplicate(&self, table: &TableDef, index: &IndexDef, entry: &Entry, locator: Vec<u8>) -> TableError {
        // The conflicting row may not be durable yet.
        self.writes.write().note_seen(self.core.store.log_end());
        duplicate_entry(table, index, (&entry.key, &entry.payload), &locator)
    }

    /// Checks that row and entries fit their pages, whatever happens later.
    fn check_sizes(&self, table: &TableDef, entry: &Entry, row: &[Value]) -> Result<()> {
        let limits = &self.core.limits;
        if entry.key.len() > limits.max_key {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        for index in table.secondary().iter().filter(|index| index.may_be_too_long(limits.max_key)) {
            let fits = |entry: Entry| match entry.fits(limits) {
                true => Ok(()),
                false => Err(MysqlError::key_too_long(limits.max_key).into()),
            };
            match &index.words {
                None => fits(entry_of_row(table, index, &entry.key, &entry.payload)?)?,
                Some(rules) => {
                    let texts: Vec<Value> =
                        index.parts.iter().filter_map(|part| row.get(part.column).cloned()).collect();
                    for_each_entry_of(rules, &entry.key, &texts, &mut |entry| fits(entry))?;
                }
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
            self.core.counters.use_auto_increment(table.id, number);
            self.writes.write().note_auto_increment(table, number);
        }
    }
}

/// Returns whether this value in an AUTO_INCREMENT column requests the next number.
pub(crate) fn asks_for_number(value: &Value, zero_is_number: bool) -> bool {
    value.is_null() || (!zero_is_number && matches!(value, Value::Int(0) | Value::UInt(0)))
}

/// Returns a new value for the AUTO_INCREMENT column of a table, also as a number.
pub(crate) fn new_auto_increment(
    core: &Core,
    table: &TableDef,
    column: usize,
    numbering: Numbering,
) -> (Value, u64) {
    let ty = table.columns.get(column).map_or(SqlType::BIGINT, |column| column.ty.clone());
    let max = ty.integer_range().map_or(i64::MAX as u64, |(_, max)| max as u64);
    let number = core.counters.new_auto_increment(table.id, max, numbering);
    (auto_increment_value(&ty, number), number)
}

/// Converts a number to a value of an AUTO_INCREMENT column.
pub(crate) fn auto_increment_value(ty: &SqlType, number: u64) -> Value {
    if ty.is_unsigned() { Value::UInt(number) } else { Value::Int(number as i64) }
}
