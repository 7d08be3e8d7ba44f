//! Secondary indexes that are built while others write, brought to newer snapshots.

use super::changes::Watch;
use super::verify::verify;
use crate::build::duplicate;
use crate::catalog::{IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, entry_of_row, locator_of_entry, unique_prefix};
use crate::read::{LocatorBatch, ReadView};
use crate::run::EntrySource;
use leafline_btree::{Change, CommitTs, Direction, LeafStep, Tree};
use leafline_types::{CancelToken, MysqlError};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows that are looked up together.
const BATCH: usize = 1024;
/// A round of so few rows is short enough for the last one.
const FEW_ROWS: u64 = 512;
/// Rounds after which writers have to wait for the last one, whatever it takes: they are faster than it is.
const MOST_ROUNDS: usize = 40;
/// Keys with several rows that are remembered, to be looked at again in the end.
const MOST_SUSPECTS: usize = 1000;

/// Indexes that are those of the rows of a snapshot.
pub(crate) struct CatchUp<'a> {
    engine: &'a Arc<Engine>,
    table: &'a Arc<TableDef>,
    built: Vec<Built>,
    watch: &'a Watch<'a>,
    /// What the indexes are of.
    view: ReadView,
    cancel: &'a CancelToken,
}

/// An index and its tree.
pub(super) struct Built {
    pub(super) index: Arc<IndexDef>,
    pub(super) tree: Tree,
    /// The beginnings of keys that several rows had after the last round, of a unique index.
    suspects: BTreeSet<Vec<u8>>,
}

/// What becomes of an entry: its payload, or nothing.
type EntryChange = (Vec<u8>, Option<Vec<u8>>);

impl<'a> CatchUp<'a> {
    /// Of trees that were built from the rows of `view`, since which the table is watched.
    pub(crate) fn new(
        engine: &'a Arc<Engine>,
        table: &'a Arc<TableDef>,
        indexes: &[IndexDef],
        (watch, view): (&'a Watch<'a>, ReadView),
        cancel: &'a CancelToken,
    ) -> Result<CatchUp<'a>> {
        let built = |index: &IndexDef| {
            let tree = Tree::open(&engine.store, index.tree, index.root)?;
            Ok(Built { index: Arc::new(index.clone()), tree, suspects: BTreeSet::new() })
        };
        let built = indexes.iter().map(built).collect::<Result<_>>()?;
        Ok(CatchUp { engine, table, built, watch, view, cancel })
    }

    /// Rounds until little is left for the last one.
    ///
    /// # Errors
    /// 1071 if a new key is too long; 1412 if an old version is gone; what the store returns; 1317.
    pub(crate) fn run(&mut self) -> Result<()> {
        for _ in 0..MOST_ROUNDS {
            if self.round()? <= FEW_ROWS {
                break;
            }
        }
        Ok(())
    }

    /// Compares the indexes with the rows.
    ///
    /// # Errors
    /// `Internal` if they do not agree; what the store returns; 1317.
    pub(crate) fn verify(&self) -> Result<()> {
        verify(&self.view, self.table, &self.built, self.cancel)
    }

    /// The last round: nobody commits to the table.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062), and as [`run`](Self::run).
    pub(crate) fn finish(&mut self) -> Result<()> {
        while self.watch.noted() > 0 {
            self.round()?;
        }
        for built in &self.built {
            if let Some(prefix) = built.suspects.first() {
                return Err(self.duplicate(built, prefix)?);
            }
        }
        Ok(())
    }

    /// Brings the indexes to a new snapshot. Returns how many rows were noted since the last one.
    fn round(&mut self) -> Result<u64> {
        let now = self.engine.applied_view();
        let mut noted = self.watch.take()?;
        let mut changed: Vec<BTreeSet<Vec<u8>>> = vec![BTreeSet::new(); self.built.len()];
        let (mut rows, mut batch) = (0, LocatorBatch::new());
        let mut last: Option<(Vec<u8>, bool)> = None;
        while let Some((key, ts)) = noted.next()? {
            rows += 1;
            let ts = CommitTs(ts.try_into().map_or(0, u64::from_be_bytes));
            let shown = now.snapshot().sees(ts);
            if !shown {
                self.watch.put_back(key, ts);
            }
            match &mut last {
                Some((before, is_shown)) if before == key => *is_shown |= shown,
                _ => {
                    if let Some((before, true)) = &last {
                        batch.push(before);
                    }
                    last = Some((key.to_vec(), shown));
                    if batch.len() == BATCH {
                        self.change_entries(&mut batch, &now, &mut changed)?;
                    }
                }
            }
        }
        if let Some((before, true)) = &last {
            batch.push(before);
        }
        self.change_entries(&mut batch, &now, &mut changed)?;
        self.view = now;
        for (built, changed) in self.built.iter_mut().zip(changed) {
            built.look_again(changed)?;
            if built.suspects.len() > MOST_SUSPECTS {
                break;
            }
        }
        let many = self.built.iter().find(|built| built.suspects.len() > MOST_SUSPECTS);
        if let Some((built, prefix)) = many.and_then(|built| Some((built, built.suspects.first()?))) {
            return Err(self.duplicate(built, prefix)?);
        }
        Ok(rows)
    }

    /// Makes of the entries of some rows what they are in `now`; notes of unique indexes the beginnings of keys that are put in.
    fn change_entries(
        &mut self,
        batch: &mut LocatorBatch,
        now: &ReadView,
        changed: &mut [BTreeSet<Vec<u8>>],
    ) -> Result<()> {
        self.cancel.check()?;
        let (old, new) = (rows_of(&self.view, self.table, batch)?, rows_of(now, self.table, batch)?);
        for (built, changed) in self.built.iter().zip(changed) {
            let mut changes: Vec<EntryChange> = Vec::new();
            for (at, (old, new)) in old.iter().zip(&new).enumerate() {
                let entry = |row: &Option<Vec<u8>>| -> Result<Option<Entry>> {
                    let Some(payload) = row else { return Ok(None) };
                    entry_of_row(self.table, &built.index, batch.get(at), payload).map(Some)
                };
                let (old, new) = (entry(old)?, entry(new)?);
                if old == new {
                    continue;
                }
                if let Some(old) = old
                    && new.as_ref().is_none_or(|new| new.key != old.key)
                {
                    changes.push((old.key, None));
                }
                if let Some(new) = new {
                    changed.extend(unique_prefix(&built.index, &new.key)?.map(<[u8]>::to_vec));
                    changes.push((new.key, Some(new.payload)));
                }
            }
            changes.sort_unstable();
            changes
                .iter()
                .try_for_each(|(key, payload)| self.change(&built.tree, key, payload.as_deref()))?;
        }
        batch.clear();
        Ok(())
    }

    fn change(&self, tree: &Tree, key: &[u8], payload: Option<&[u8]>) -> Result<()> {
        let (limits, len) = (&self.engine.limits, payload.map_or(0, <[u8]>::len));
        if payload.is_some() && (key.len() > limits.max_key || key.len() + len > limits.max_entry) {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        let mut reservation =
            self.engine.store.reserve(tree.worst_case_pages(), tree.worst_case_log(key.len(), len))?;
        tree.modify(&mut reservation, key, CommitTs::NONE, &mut |_| match payload {
            Some(payload) => {
                Change::Put { payload: Cow::Borrowed(payload), ts: CommitTs::NONE, has_previous: false }
            }
            None => Change::Remove,
        })?;
        Ok(())
    }

    /// Error 1062 for one of the rows that share the beginning of a key.
    fn duplicate(&self, built: &Built, prefix: &[u8]) -> Result<TableError> {
        let keys = built.keys_of(prefix)?;
        let mut locator = Vec::new();
        locator_of_entry(&built.index, keys.last().map_or(prefix, Vec::as_slice), &mut locator)?;
        let mut batch = LocatorBatch::new();
        batch.push(&locator);
        let row = rows_of(&self.view, self.table, &batch)?.pop().flatten();
        Ok(duplicate(self.table, &built.index, locator, &row.unwrap_or_default()))
    }
}

impl Built {
    /// Which of the keys that were changed, and of those that several rows had, several rows have now.
    fn look_again(&mut self, changed: BTreeSet<Vec<u8>>) -> Result<()> {
        for prefix in changed.into_iter().chain(std::mem::take(&mut self.suspects)) {
            if self.suspects.len() > MOST_SUSPECTS {
                break;
            }
            if self.keys_of(&prefix)?.len() > 1 {
                self.suspects.insert(prefix);
            }
        }
        Ok(())
    }

    /// The first two keys that begin so.
    fn keys_of(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let mut cursor = self.tree.cursor();
        cursor.seek(prefix);
        let (mut key, mut inside) = (Vec::new(), true);
        while inside
            && cursor.visit_leaf(Direction::Forward, |leaf, slots| {
                for slot in slots {
                    leaf.key_into(slot, &mut key);
                    inside = key.starts_with(prefix) && keys.len() < 2;
                    if !inside {
                        return LeafStep::Stop;
                    }
                    if !leaf.entry(slot).is_ghost() {
                        keys.push(key.clone());
                    }
                }
                LeafStep::NextLeaf
            })?
        {}
        Ok(keys)
    }
}

/// The rows that a view has under some keys: their payloads.
fn rows_of(view: &ReadView, table: &Arc<TableDef>, keys: &LocatorBatch) -> Result<Vec<Option<Vec<u8>>>> {
    let mut rows = vec![None; keys.len()];
    view.fetch(table, keys, &mut |at, row| {
        if let (Some(slot), Some(row)) = (rows.get_mut(at), row) {
            *slot = Some(row.payload.to_vec());
        }
    })?;
    Ok(rows)
}
