//! All entries of an index for a row: one, or those of its words; and the changes of an index when a row changes.

use super::entry::{Entry, EntryRef, entry_of_row};
use super::words_entry::WordEntries;
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use std::cmp::Ordering;

/// A row from which entries are derived.
#[derive(Clone, Copy)]
pub(crate) struct DerivedFrom<'r> {
    pub(crate) key: &'r [u8],
    pub(crate) payload: &'r [u8],
    /// The texts that are stored outside it (`words_entry::texts_outside`).
    pub(crate) outside: &'r [(usize, Vec<u8>)],
}

/// Calls `f` with each entry of `index` for a row. A caller keeps `words` for the next row.
pub(crate) fn for_each_entry(
    table: &TableDef,
    index: &IndexDef,
    row: DerivedFrom<'_>,
    words: &mut WordEntries,
    f: &mut dyn FnMut(EntryRef<'_>) -> Result<()>,
) -> Result<()> {
    match &index.words {
        Some(rules) => words.for_each(table, (index, rules), (row.key, row.payload), row.outside, f),
        None => f(entry_of_row(table, index, row.key, row.payload)?.as_ref()),
    }
}

/// Makes all entries of `index` for a row.
pub(crate) fn entries_of_row(table: &TableDef, index: &IndexDef, row: DerivedFrom<'_>) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for_each_entry(table, index, row, &mut WordEntries::default(), &mut |entry| {
        entries.push(entry.to_entry());
        Ok(())
    })?;
    // The entries of a row come in the order of words, which is that of the index.
    debug_assert!(entries.is_sorted_by(|a, b| a.key < b.key));
    Ok(entries)
}

/// Calls `change` with each change of an index that turns the entries of one row into those of another. Entries and changes are in
/// the order of the index.
pub(crate) fn differences(
    old: Vec<Entry>,
    new: Vec<Entry>,
    change: &mut dyn FnMut(EntryChange) -> Result<()>,
) -> Result<()> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.key.cmp(&new.key),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        match (before, after) {
            (Some(before), None) => change(EntryChange::Remove(before.key))?,
            (before, Some(after)) if before.as_ref() != Some(&after) => change(EntryChange::Put(after))?,
            _ => {}
        }
    }
}

/// A change of an index.
pub(crate) enum EntryChange {
    /// Removes the entry with this key.
    Remove(Vec<u8>),
    /// Puts an entry, instead of the one with its key if there is one.
    Put(Entry),
}
