//! Checking a table: the structure of its trees, and that rows and entries agree.
//!
//! Rows and entries are compared at one snapshot, so that commits can go on. First cheaply: each index is read once,
//! in its own order, and the sum of the hashes of its entries is compared with that of the entries derived from the
//! rows. Only where the sums differ is every row and every entry looked up, to name what is wrong.

use crate::catalog::{IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{describe_entry, entry_of_row, locator_of_entry, unique_prefix};
use crate::read::{EntryStep, LocatorBatch, ReadView};
use crate::txn::write_set::WriteSet;
use leafline_btree::{BtreeError, Direction};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// Faults reported per table, at most.
const MAX_FAULTS: usize = 100;

/// Number of entries and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    entries: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], payload: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_usize(key.len());
        hasher.write(key);
        hasher.write(payload);
        self.entries += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

/// Called with key and payload of each entry.
type EachEntry<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

struct Check<'a> {
    view: &'a ReadView,
    table: &'a Arc<TableDef>,
    faults: Vec<String>,
}

impl Engine {
    /// Checks a table. Returns what is wrong with it, nothing if it is sound.
    ///
    /// # Errors
    /// What the store returns, except for damage, which is reported.
    pub fn check_table(self: &Arc<Self>, table: &Arc<TableDef>) -> Result<Vec<String>> {
        let (snapshot, rows) = {
            let _closed = self.gates.close(table.id);
            self.store.wait_durable(self.store.log_end())?;
            (self.snapshot(), self.row_count(table.id))
        };
        let view = ReadView::new(self.clone(), snapshot, Arc::new(WriteSet::default().into()), 0);
        let mut check = Check { view: &view, table, faults: Vec::new() };
        for index in &table.indexes {
            let found = check.structure(index);
            check.report(found)?;
        }
        let found = check.contents(rows);
        check.report(found)?;
        Ok(check.faults)
    }
}

impl Check<'_> {
    fn fault(&mut self, what: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(what);
        }
    }

    /// Damage is a fault, not an error.
    fn report(&mut self, found: Result<()>) -> Result<()> {
        match found {
            Err(TableError::Corrupt(what) | TableError::Internal(what)) => self.fault(what),
            Err(TableError::Tree(error @ BtreeError::Corrupt { .. })) => self.fault(error.to_string()),
            Err(TableError::Storage(error @ leafline_storage::StorageError::Corrupt { .. })) => {
                self.fault(error.to_string());
            }
            Err(TableError::Sql(error)) => self.fault(error.message),
            other => return other,
        }
        Ok(())
    }

    fn structure(&mut self, index: &IndexDef) -> Result<()> {
        let tree = self.view.engine().trees.for_snapshot(index, self.view.snapshot())?;
        tree.tree.verify()?;
        Ok(())
    }

    /// Reads every index and compares.
    fn contents(&mut self, rows: u64) -> Result<()> {
        let table = self.table;
        let mut derived = vec![Sum::default(); table.secondary().len()];
        let found = self.scan(table.clustered(), &mut |key, payload| {
            for (index, sum) in table.secondary().iter().zip(&mut derived) {
                let entry = entry_of_row(table, index, key, payload)?;
                sum.add(&entry.key, &entry.payload);
            }
            Ok(())
        })?;
        if found.entries != rows {
            self.fault(format!("table {}: it has {} rows, {rows} were counted", table.name, found.entries));
        }
        for (index, derived) in table.secondary().iter().zip(derived) {
            let found = self.scan(index, &mut |_, _| Ok(()))?;
            if found != derived {
                self.compare(index, found.entries, derived.entries)?;
            }
        }
        Ok(())
    }

    /// Reads an index, checking the order of its keys and that unique ones are.
    fn scan(&mut self, index: &Arc<IndexDef>, each: EachEntry<'_>) -> Result<Sum> {
        let mut cursor = self.view.entries(self.table, index)?;
        let mut sum = Sum::default();
        let (mut last, mut last_unique) = (None::<Vec<u8>>, Vec::new());
        let mut faults = Vec::new();
        let mut failed = None;
        let mut entry = |key: &[u8], payload: &[u8]| -> Result<()> {
            if last.as_deref().is_some_and(|last| last >= key) {
                faults.push(format!("index {}: keys out of order at {}", index.name, hex(key)));
            }
            if let Some(prefix) = unique_prefix(index, key)? {
                if sum.entries > 0 && prefix == last_unique {
                    let values = describe_entry(index, key, payload)?;
                    faults.push(format!("index {}: duplicate entry '{values}'", index.name));
                }
                last_unique.clear();
                last_unique.extend_from_slice(prefix);
            }
            last.get_or_insert_default().clear();
            last.get_or_insert_default().extend_from_slice(key);
            sum.add(key, payload);
            each(key, payload)
        };
        while cursor.visit(Direction::Forward, &mut |found| match entry(found.key, found.payload) {
            Ok(()) => EntryStep::Next,
            Err(error) => {
                failed = Some(error);
                EntryStep::Stop
            }
        })? {}
        faults.into_iter().for_each(|fault| self.fault(fault));
        failed.map_or(Ok(sum), Err)
    }

    /// Names the differences between an index and the rows.
    fn compare(&mut self, index: &Arc<IndexDef>, entries: u64, rows: u64) -> Result<()> {
        let table = self.table;
        let before = self.faults.len();
        let mut keys = Vec::new();
        self.scan(table.clustered(), &mut |key, payload| {
            keys.push(entry_of_row(table, index, key, payload)?);
            Ok(())
        })?;
        keys.sort();
        let mut found = Vec::new();
        self.scan(index, &mut |key, payload| {
            found.push((key.to_vec(), payload.to_vec()));
            Ok(())
        })?;
        let mut expected = keys.into_iter().peekable();
        for (key, payload) in found {
            while let Some(missing) = expected.next_if(|entry| entry.key < key) {
                let values = describe_entry(index, &missing.key, &missing.payload)?;
                self.fault(format!("index {}: entry '{values}' of a row is missing", index.name));
            }
            match expected.next_if(|entry| entry.key == key) {
                Some(entry) if entry.payload == payload => {}
                Some(_) => {
                    let values = describe_entry(index, &key, &payload)?;
                    self.fault(format!(
                        "index {}: entry '{values}' has other values than its row",
                        index.name
                    ));
                }
                None => {
                    let row =
                        if self.has_row(index, &key)? { "its row has another key" } else { "it has no row" };
                    self.fault(format!("index {}: entry {}: {row}", index.name, hex(&key)));
                }
            }
        }
        for missing in expected {
            let values = describe_entry(index, &missing.key, &missing.payload)?;
            self.fault(format!("index {}: entry '{values}' of a row is missing", index.name));
        }
        if self.faults.len() == before {
            self.fault(format!("index {}: {entries} entries for {rows} rows", index.name));
        }
        Ok(())
    }

    fn has_row(&self, index: &IndexDef, key: &[u8]) -> Result<bool> {
        let mut locator = Vec::new();
        locator_of_entry(index, key, &mut locator)?;
        let mut locators = LocatorBatch::new();
        locators.push(&locator);
        let mut found = false;
        self.view.fetch(self.table, &locators, &mut |_, row| found = row.is_some())?;
        Ok(found)
    }
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
