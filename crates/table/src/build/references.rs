//! Checks that rows refer to existing rows, for foreign keys that are newer than the rows.
//!
//! The keys by which rows refer to others are *noted*: first those of all rows; then, if others go on
//! writing, the key of each referring row after a change, and of each referenced row that is deleted or
//! gets another key. Noted keys are *settled* at a moment at which both tables can be read: a key is
//! *missing* if at that moment a row has it and no row to refer to exists. A missing key is settled again
//! later. A key that nobody has touched since it was settled stays settled.

use super::STEP;
use crate::catalog::{ForeignKeyDef, IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::{RowDecoder, row_decoder};
use crate::read::{EntryCursor, EntryStep, ReadView};
use crate::run::{EntrySource, Sorter};
use leafline_btree::{Direction, LeafStep, Tree};
use leafline_storage::Env;
use leafline_types::{CancelToken, KeyPart, MysqlError, Value, encode_part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memory for noted keys, in bytes.
const MEMORY: u64 = 8 << 20;
/// The number of missing keys after which the check gives up, because it is unlikely that all of them will
/// be found.
const MOST_MISSING: usize = 1000;

/// The foreign keys that rows are checked against.
pub(crate) struct References {
    env: Arc<dyn Env>,
    keys: Vec<Reference>,
    /// Maps the foreign key's number (four bytes) and the key in the parent's index to the key in the
    /// child's index.
    noted: Sorter,
    /// The missing keys, in the same form.
    missing: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A foreign key.
struct Reference {
    /// The foreign key, as error 1452 describes it.
    described: String,
    child: Side,
    parent: Side,
    /// The key noted last.
    last: Vec<u8>,
}

/// The child or the parent of a foreign key.
struct Side {
    table: TableId,
    decoder: RowDecoder,
    /// The leading parts of its index, one for each column of the foreign key.
    parts: Vec<KeyPart>,
    place: Place,
}

/// The place of an index's entries.
enum Place {
    /// In a tree that the catalog names; views show its entries.
    Shown(Arc<TableDef>, Arc<IndexDef>),
    /// In a new tree, which only the builder knows.
    Built(Tree),
}

/// Looks for entries.
enum Finder<'t> {
    Shown(Box<EntryCursor>),
    Built(&'t Tree),
}

impl References {
    /// The foreign keys that the table `child` is to have; `old` is its definition so far. The indexes of
    /// `child` must already have their trees. A foreign key whose parent table does not exist is left out,
    /// because it was allowed without one.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn new(
        core: &Core,
        child: &Arc<TableDef>,
        old: Option<&Arc<TableDef>>,
        keys: &[ForeignKeyDef],
    ) -> Result<References> {
        let catalog = core.catalog();
        let mut references = Vec::with_capacity(keys.len());
        for key in keys {
            let is_own = key.refers_to(&child.database, &child.name);
            let parent = match is_own {
                true => Some(child),
                false => catalog.table(&key.parent_database, &key.parent_table),
            };
            let Some((parent, columns)) = parent.and_then(|parent| Some((parent, key.columns_in(parent)?)))
            else {
                continue;
            };
            let known = if is_own { old } else { Some(parent) };
            let Some(of_parent) = Side::new(core, parent, known, &columns)? else { continue };
            let of_child = Side::new(core, child, old, &key.columns)?;
            let of_child =
                of_child.ok_or_else(|| TableError::Internal("a foreign key without an index".into()))?;
            references.push(Reference {
                described: key.described(child),
                child: of_child,
                parent: of_parent,
                last: Vec::new(),
            });
        }
        let noted = Sorter::new(&core.env, MEMORY);
        Ok(References { env: core.env.clone(), keys: references, noted, missing: BTreeMap::new() })
    }

    /// Checks rows of the child, which are those of `view`, against the parents.
    ///
    /// # Errors
    /// 1452 if a row refers to no row; errors of the store; 1317.
    pub(crate) fn check(
        &mut self,
        rows: &mut dyn EntrySource,
        view: &ReadView,
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut count = 0u64;
        while let Some((key, payload)) = rows.next()? {
            if count.is_multiple_of(STEP) {
                cancel.check()?;
            }
            count += 1;
            for number in 0..self.keys.len() {
                self.note(number, true, (key, payload))?;
            }
        }
        self.settle(view, cancel)?;
        self.conclude()
    }

    /// Notes the keys of a row of a table that was inserted, changed or deleted, given as clustered key and
    /// payload before and after.
    ///
    /// # Errors
    /// Errors of encoding its keys and of writing a file.
    pub(crate) fn changed(
        &mut self,
        table: TableId,
        old: Option<(&[u8], &[u8])>,
        new: Option<(&[u8], &[u8])>,
    ) -> Result<()> {
        for number in 0..self.keys.len() {
            let is_of = |side: fn(&Reference) -> &Side| {
                self.keys.get(number).is_some_and(|reference| side(reference).table == table)
            };
            let (is_child, is_parent) = (is_of(|key| &key.child), is_of(|key| &key.parent));
            if let Some(new) = new.filter(|_| is_child) {
                self.note(number, true, new)?;
            }
            if let Some(old) = old.filter(|_| is_parent) {
                self.note(number, false, old)?;
            }
        }
        Ok(())
    }

    /// Notes the key of a row of the child or the parent, unless it contains a NULL.
    fn note(&mut self, number: usize, is_child: bool, (key, payload): (&[u8], &[u8])) -> Result<()> {
        let reference = &mut self.keys[number];
        let side = if is_child { &reference.child } else { &reference.parent };
        let mut values = Vec::new();
        side.decoder.decode_values(key, payload, &mut values)?;
        if values.iter().any(Value::is_null) {
            return Ok(());
        }
        let mut of_parent = (number as u32).to_be_bytes().to_vec();
        encode_key(&reference.parent.parts, &values, &mut of_parent)?;
        if of_parent == reference.last {
            return Ok(());
        }
        let mut of_child = Vec::new();
        encode_key(&reference.child.parts, &values, &mut of_child)?;
        self.noted.push(&of_parent, &of_child)?;
        reference.last = of_parent;
        Ok(())
    }

    /// Settles the noted keys, as `view` and the new trees show them.
    ///
    /// # Errors
    /// 1452 if too many keys are missing for the rest to be found; errors of the store; 1317.
    pub(crate) fn settle(&mut self, view: &ReadView, cancel: &CancelToken) -> Result<()> {
        let mut noted = std::mem::replace(&mut self.noted, Sorter::new(&self.env, MEMORY)).finish()?;
        self.keys.iter_mut().for_each(|reference| reference.last.clear());
        let mut finders = Vec::with_capacity(self.keys.len());
        for reference in &self.keys {
            finders.push((reference.child.finder(view)?, reference.parent.finder(view)?));
        }
        let mut missing = BTreeMap::new();
        for (of_parent, of_child) in std::mem::take(&mut self.missing) {
            if is_missing(&mut finders, &of_parent, &of_child)? {
                missing.insert(of_parent, of_child);
            }
        }
        let (mut last, mut count) = (Vec::new(), 0u64);
        while let Some((of_parent, of_child)) = noted.next()? {
            if count.is_multiple_of(STEP) {
                cancel.check()?;
            }
            count += 1;
            if of_parent == last {
                continue;
            }
            last.clear();
            last.extend_from_slice(of_parent);
            if is_missing(&mut finders, of_parent, of_child)? {
                missing.insert(of_parent.to_vec(), of_child.to_vec());
                if missing.len() > MOST_MISSING {
                    break;
                }
            }
        }
        let has_many = missing.len() > MOST_MISSING;
        drop(finders);
        self.missing = missing;
        if has_many { self.conclude() } else { Ok(()) }
    }

    /// Ends the check, after everything is settled and nobody writes any more.
    ///
    /// # Errors
    /// 1452 if a key is missing.
    pub(crate) fn conclude(&self) -> Result<()> {
        let number = self.missing.keys().next().map(|key| number_of(key)).transpose()?;
        match number.and_then(|number| self.keys.get(number)) {
            Some(reference) => Err(MysqlError::no_referenced_row(&reference.described).into()),
            None => Ok(()),
        }
    }
}

impl Side {
    /// The side of `table`, whose definition so far is `known`; `None` if no index begins with the columns.
    fn new(
        core: &Core,
        table: &TableDef,
        known: Option<&Arc<TableDef>>,
        columns: &[usize],
    ) -> Result<Option<Side>> {
        let begins = |index: &&Arc<IndexDef>| index.leading_columns().starts_with(columns);
        let Some(index) = table.indexes.iter().find(begins) else { return Ok(None) };
        let shown = known.and_then(|known| {
            let shown = known.indexes.iter().find(|shown| shown.tree == index.tree)?;
            Some(Place::Shown(known.clone(), shown.clone()))
        });
        let place = match shown {
            Some(shown) => shown,
            None => Place::Built(Tree::open(&core.store, index.tree, index.root)?),
        };
        let decoder = row_decoder(table, columns)?;
        let parts = index.key_parts.iter().take(columns.len()).cloned().collect();
        Ok(Some(Side { table: table.id, decoder, parts, place }))
    }

    fn finder(&self, view: &ReadView) -> Result<Finder<'_>> {
        Ok(match &self.place {
            Place::Shown(table, index) => Finder::Shown(Box::new(view.entries(table, index)?)),
            Place::Built(tree) => Finder::Built(tree),
        })
    }
}

impl Finder<'_> {
    /// Returns whether an entry begins with `prefix`.
    fn has(&mut self, prefix: &[u8]) -> Result<bool> {
        match self {
            Finder::Shown(cursor) => {
                let mut found = None;
                cursor.seek(prefix);
                while cursor.visit(Direction::Forward, &mut |entry| {
                    found = Some(entry.key.starts_with(prefix));
                    EntryStep::Stop
                })? {}
                Ok(found == Some(true))
            }
            Finder::Built(tree) => has_prefix(tree, prefix),
        }
    }
}

fn encode_key(parts: &[KeyPart], values: &[Value], key: &mut Vec<u8>) -> Result<()> {
    for (part, value) in parts.iter().zip(values) {
        encode_part(part, value, key)?;
    }
    Ok(())
}

/// The number of the foreign key in a noted key.
fn number_of(key: &[u8]) -> Result<usize> {
    let number = key.first_chunk::<4>().map(|number| u32::from_be_bytes(*number) as usize);
    number.ok_or_else(|| TableError::Internal("a key of no foreign key".into()))
}

/// Returns whether a row of the child has the key and no row of the parent has it.
fn is_missing(finders: &mut [(Finder<'_>, Finder<'_>)], of_parent: &[u8], of_child: &[u8]) -> Result<bool> {
    let finder = finders.get_mut(number_of(of_parent)?);
    let (child, parent) = finder.ok_or_else(|| TableError::Internal("a key of no foreign key".into()))?;
    Ok(!parent.has(&of_parent[4..])? && child.has(of_child)?)
}

/// Returns whether a live entry begins with `prefix`.
fn has_prefix(tree: &Tree, prefix: &[u8]) -> Result<bool> {
    let mut cursor = tree.cursor();
    cursor.seek(prefix);
    let (mut found, mut done) = (false, false);
    let mut key = Vec::new();
    while !done {
        let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                leaf.key_into(slot, &mut key);
                found = key.starts_with(prefix) && !leaf.entry(slot).is_ghost();
                if found || !key.starts_with(prefix) {
                    done = true;
                    return LeafStep::Stop;
                }
            }
            LeafStep::NextLeaf
        })?;
        done |= !more;
    }
    Ok(found)
}
