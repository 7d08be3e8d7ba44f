//! Names the differences between an index and the rows.
//!
//! The entries that the rows should have are sorted, in files if there are many, and merged with the
//! entries of the index.

use super::contents::Sum;
use super::{Check, MAX_FAULTS};
use crate::catalog::IndexDef;
use crate::error::Result;
use crate::index::derived::{DerivedFrom, for_each_entry};
use crate::index::entry::{Entry, describe_entry, locator_of_entry};
use crate::index::words_entry::WordEntries;
use crate::read::{EntryStep, LocatorBatch};
use crate::run::{EntrySource, Merge, Sorter};
use leafline_btree::Direction;
use std::sync::Arc;

/// The entries that the rows should have, in order.
struct Expected {
    entries: Merge<'static>,
    next: Option<Entry>,
}

impl Expected {
    fn advance(&mut self) -> Result<Option<Entry>> {
        let next =
            self.entries.next()?.map(|(key, payload)| Entry { key: key.into(), payload: payload.into() });
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn next_if(&mut self, wanted: impl Fn(&Entry) -> bool) -> Result<Option<Entry>> {
        match self.next.as_ref().is_some_and(wanted) {
            true => self.advance(),
            false => Ok(None),
        }
    }
}

impl Check<'_> {
    /// Reports the differences between an index and the rows.
    pub(super) fn compare(&mut self, index: &Arc<IndexDef>, found: Sum, derived: Sum) -> Result<()> {
        let table = self.table;
        let core = self.view.core();
        let mut sorter = Sorter::new(&core.env, core.options.build_memory_bytes);
        let mut words = WordEntries::default();
        self.each_leaf(table.clustered(), &mut |entries| {
            for entry in entries {
                let outside = self.view.texts_outside(table, std::slice::from_ref(index), &entry.payload)?;
                let row = DerivedFrom { key: &entry.key, payload: &entry.payload, outside: &outside };
                for_each_entry(table, index, row, &mut words, &mut |entry| {
                    sorter.push(entry.key, entry.payload)
                })?;
            }
            Ok(())
        })?;
        let mut expected = Expected { entries: sorter.finish()?, next: None };
        expected.advance()?;
        let mut faults = Vec::new();
        let mut unlisted = 0;
        let mut report = |what: String| match faults.len() < MAX_FAULTS {
            true => faults.push(what),
            false => unlisted += 1,
        };
        let missing = |entry: &Entry| -> Result<String> {
            let values = describe_entry(index, &entry.key, &entry.payload)?;
            Ok(format!("entry '{values}' of a row is missing"))
        };
        let mut without_row: Vec<Vec<u8>> = Vec::new();
        self.each_leaf(index, &mut |entries| {
            for entry in entries {
                while let Some(before) = expected.next_if(|next| next.key < entry.key)? {
                    report(missing(&before)?);
                }
                match expected.next_if(|next| next.key == entry.key)? {
                    Some(expected) if expected.payload == entry.payload => {}
                    Some(expected) => {
                        // The entry in the index may be unreadable, so the expected one names it.
                        let values = describe_entry(index, &expected.key, &expected.payload)?;
                        report(format!("entry '{values}' has other values than its row"));
                    }
                    None if without_row.len() < MAX_FAULTS => without_row.push(entry.key.clone()),
                    None => report(format!("entry {}: no row has it", hex::encode(&entry.key))),
                }
            }
            Ok(())
        })?;
        while let Some(entry) = expected.advance()? {
            report(missing(&entry)?);
        }
        for key in without_row {
            let row = if self.has_row(index, &key)? { "its row has another key" } else { "it has no row" };
            report(format!("entry {}: {row}", hex::encode(&key)));
        }
        if faults.is_empty() {
            faults.push(format!("{} entries for {} rows", found.entries, derived.entries));
        }
        for what in faults {
            self.fault(index, what);
        }
        self.found.unlisted += unlisted;
        Ok(())
    }

    /// Calls `each` with the visible entries of an index, some at a time, while no latch is held.
    pub(super) fn each_leaf(
        &self,
        index: &Arc<IndexDef>,
        each: &mut dyn FnMut(&[Entry]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = self.view.entries(self.table, index)?;
        cursor.read_ahead(Direction::Forward, &[], None);
        let mut entries = Vec::new();
        loop {
            entries.clear();
            let more = cursor.visit(Direction::Forward, &mut |found| {
                entries.push(Entry { key: found.key.to_vec(), payload: found.payload.to_vec() });
                EntryStep::Next
            })?;
            each(&entries)?;
            if !more || (self.progress)(0).is_break() {
                return Ok(());
            }
        }
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
