//! Whether rows refer to rows that are there: what foreign keys ask of rows that are older than they are.
//!
//! The keys by which rows refer are *noted*: of all rows at first, then, if others go on writing, of each row that refers and has become
//! another one, and of each row that was referred to and has gone or has another key. Noted keys are *settled* at a moment for which
//! both tables can be read: a key that a row has then, and no row that it could refer to, is *missing*, until it is settled again. What nobody has
//! touched since it was settled is as it was.

use super::STEP;
use crate::catalog::{ForeignKeyDef, IndexDef, TableDef, TableId};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::{RowDecoder, row_decoder};
use crate::read::{EntryCursor, EntryStep, ReadView};
use crate::run::{EntrySource, Sorter};
use leafline_btree::{Direction, LeafStep, Tree};
use leafline_storage::Env;
use leafline_types::{CancelToken, KeyPart, MysqlError, Value, encode_part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of noted keys in memory.
const MEMORY: u64 = 8 << 20;
/// More missing keys than that will hardly be found.
const MOST_MISSING: usize = 1000;

/// Foreign keys that rows are held against.
pub(crate) struct References {
    env: Arc<dyn Env>,
    keys: Vec<Reference>,
    /// By the number of the foreign key, four bytes, and the key as it is in an index of the parent: the key in an index of the child.
    noted: Sorter,
    /// The same, of those that are missing.
    missing: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// One of them.
struct Reference {
    /// As error 1452 has it.
    described: String,
    child: Side,
    parent: Side,
    /// What was noted last.
    last: Vec<u8>,
}

/// One side of it.
struct Side {
    table: TableId,
    decoder: RowDecoder,
    /// Of its index, as many as the foreign key has columns.
    parts: Vec<KeyPart>,
    place: Place,
}

/// Where the entries of an index are.
enum Place {
    /// In the catalog's tree, with those of before.
    Shown(Arc<TableDef>, Arc<IndexDef>),
    /// In one that nobody else knows.
    Built(Tree),
}

/// Looks for entries.
enum Finder<'t> {
    Shown(Box<EntryCursor>),
    Built(&'t Tree),
}

impl References {
    /// Those that the table `child`, which is `old` so far, is to have; its indexes have their trees already. Of a parent that is not
    /// there nothing is asked: the key was allowed without.
    ///
    /// # Errors
    /// What the store returns.
    pub(crate) fn new(
        engine: &Engine,
        child: &Arc<TableDef>,
        old: Option<&Arc<TableDef>>,
        keys: &[ForeignKeyDef],
    ) -> Result<References> {
        let catalog = engine.catalog();
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
            let Some(of_parent) = Side::new(engine, parent, known, &columns)? else { continue };
            let of_child = Side::new(engine, child, old, &key.columns)?;
            let of_child =
                of_child.ok_or_else(|| TableError::Internal("a foreign key without an index".into()))?;
            references.push(Reference {
                described: key.described(child),
                child: of_child,
                parent: of_parent,
                last: Vec::new(),
            });
        }
        let noted = Sorter::new(&engine.env, MEMORY);
        Ok(References { env: engine.env.clone(), keys: references, noted, missing: BTreeMap::new() })
    }

    /// Holds rows of the child, which are those of `view`, against the parents.
    ///
    /// # Errors
    /// 1452 for a row that refers to nothing; what the store returns; 1317.
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

    /// A row of a table is another one than it was, or there or not there where it was not or was: its clustered key and payload.
    ///
    /// # Errors
    /// What making its key returns, and writing a file.
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

    /// Notes the key of a row of the child or the parent, unless it has a NULL.
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

    /// Looks at what was noted, as `view` and the trees that are built with it have it.
    ///
    /// # Errors
    /// 1452 if so much is missing that the rest will be, too; what the store returns; 1317.
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

    /// Nothing is noted any more, nor written.
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
    /// The side of `table`, which is `known` so far; `None` if no index begins with the columns.
    fn new(
        engine: &Engine,
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
            None => Place::Built(Tree::open(&engine.store, index.tree, index.root)?),
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
    /// Whether there is an entry that begins so.
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

/// The number of the foreign key that a noted key is of.
fn number_of(key: &[u8]) -> Result<usize> {
    let number = key.first_chunk::<4>().map(|number| u32::from_be_bytes(*number) as usize);
    number.ok_or_else(|| TableError::Internal("a key of no foreign key".into()))
}

/// Whether a row of the child has a key that no row of the parent has.
fn is_missing(finders: &mut [(Finder<'_>, Finder<'_>)], of_parent: &[u8], of_child: &[u8]) -> Result<bool> {
    let finder = finders.get_mut(number_of(of_parent)?);
    let (child, parent) = finder.ok_or_else(|| TableError::Internal("a key of no foreign key".into()))?;
    Ok(!parent.has(&of_parent[4..])? && child.has(of_child)?)
}

/// Whether a live entry begins with `prefix`.
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
