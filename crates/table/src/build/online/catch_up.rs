//! Brings trees that are built while others write to newer snapshots.

use super::apply::{BuiltTree, MOST_SUSPECTS, TreeChanges};
use super::derive::{Derivation, SeenRow, Watched, rows_of};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::{duplicate_entry, locator_of_entry};
use crate::read::{LocatorBatch, ReadView};
use crate::run::EntrySource;
use leafline_btree::CommitTs;
use leafline_types::CancelToken;
use std::sync::Arc;
use std::time::Duration;

/// The number of rows looked up together.
const BATCH: usize = 1024;
/// A round with so few rows is short enough to be the last one.
const FEW_ROWS: u64 = 512;
/// The first and the longest pause of each commit, if rounds do not get shorter.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// The number of rounds that, despite the longest pause of commits, do not get shorter, after which writers
/// must wait for the last round, however long it takes: there are so many writers that they outrun the
/// rounds.
const MOST_LONGER_ROUNDS: usize = 2;

/// Trees that contain the rows of a snapshot.
pub(crate) struct CatchUp<'a> {
    core: &'a Arc<Core>,
    sources: &'a [Watched<'a>],
    trees: Vec<BuiltTree>,
    derivation: &'a mut dyn Derivation,
    /// The snapshot that the trees correspond to.
    view: ReadView,
    cancel: &'a CancelToken,
}

impl<'a> CatchUp<'a> {
    /// Takes trees built from the rows of `view`; the tables have been watched since then.
    pub(crate) fn new(
        core: &'a Arc<Core>,
        (sources, view): (&'a [Watched<'a>], ReadView),
        trees: Vec<BuiltTree>,
        derivation: &'a mut dyn Derivation,
        cancel: &'a CancelToken,
    ) -> CatchUp<'a> {
        CatchUp { core, sources, trees, derivation, view, cancel }
    }

    /// Runs rounds until little is left for the last one, or until they do not get shorter. If a round
    /// notes more than half as many rows as the one before it, commits to the tables are paced, with twice
    /// the pause each time, until this is dropped or [`verify`](Self::verify) begins.
    ///
    /// # Errors
    /// 1071 if a new key is too long; errors of the derivation for a row; `DuplicateEntry` (1062) if rows
    /// have the same clustered key; 1412 if an old version is gone; errors of the store; 1317.
    pub(crate) fn catch_up(&mut self) -> Result<()> {
        let (mut before, mut shortest, mut longer) = (u64::MAX, u64::MAX, 0);
        let mut pause = Duration::ZERO;
        while longer < MOST_LONGER_ROUNDS {
            let rows = self.round()?;
            if rows <= FEW_ROWS {
                break;
            }
            longer += usize::from(rows >= shortest && pause == LONGEST_PAUSE);
            shortest = shortest.min(rows);
            if rows > before / 2 {
                pause = (2 * pause).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                self.pace(pause);
            }
            before = rows;
        }
        Ok(())
    }

    /// Makes each commit to the tables wait for `pause`.
    fn pace(&self, pause: Duration) {
        self.sources.iter().for_each(|source| source.watch.pace(pause));
    }

    /// Compares the trees with the rows.
    ///
    /// # Errors
    /// `Internal` if they do not agree; errors of the store; 1317.
    pub(crate) fn verify(&mut self) -> Result<()> {
        self.pace(Duration::ZERO);
        self.derivation.verify(self.sources, &self.view, &self.trees, self.cancel)
    }

    /// Runs the last round, while nobody commits to the tables. Returns the change of each tree's number of
    /// entries since the first snapshot.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062), and the errors of [`catch_up`](Self::catch_up).
    pub(crate) fn finish(mut self) -> Result<Vec<i64>> {
        while self.sources.iter().any(|source| source.watch.noted() > 0) {
            // The changes of a commit that failed half-way will never be visible.
            self.core.store.check_running()?;
            self.round()?;
        }
        for (number, built) in self.trees.iter().enumerate() {
            if let Some(prefix) = built.suspects.first() {
                return Err(self.duplicate_of(number, prefix)?);
            }
        }
        self.derivation.conclude()?;
        Ok(self.trees.iter().map(|built| built.added).collect())
    }

    /// Brings the trees to a new snapshot. Returns the number of rows noted since the last one.
    fn round(&mut self) -> Result<u64> {
        let now = ReadView::applied(self.core);
        let mut changes = TreeChanges::new(&self.core.env);
        let mut rows = 0;
        for source in 0..self.sources.len() {
            rows += self.gather(source, &now, &mut changes)?;
        }
        let taken = changes.apply(self.core, &mut self.trees, self.cancel)?;
        self.view = now;
        if let Some((tree, key)) = taken {
            return Err(self.duplicate(tree, key)?);
        }
        self.derivation.settle(&self.view, self.cancel)?;
        for built in &mut self.trees {
            built.recheck_duplicates()?;
        }
        let many = self.trees.iter().position(|built| built.suspects.len() > MOST_SUSPECTS);
        let many = many.and_then(|tree| Some((tree, self.trees.get(tree)?.suspects.first()?)));
        match many {
            Some((tree, prefix)) => Err(self.duplicate_of(tree, prefix)?),
            None => Ok(rows),
        }
    }

    /// Collects the changes of the noted rows of one table. Returns their number.
    fn gather(&mut self, source: usize, now: &ReadView, changes: &mut TreeChanges) -> Result<u64> {
        let watch = &self.sources[source].watch;
        let mut noted = watch.take()?;
        let (mut rows, mut batch) = (0, LocatorBatch::new());
        let mut last: Option<(Vec<u8>, bool)> = None;
        while let Some((key, ts)) = noted.next()? {
            rows += 1;
            let ts = ts.try_into().map(u64::from_be_bytes).map(CommitTs);
            let ts =
                ts.map_err(|_| TableError::Internal("a change was noted without its timestamp".into()))?;
            let shown = now.snapshot().sees(ts);
            if !shown {
                watch.put_back(key, ts);
            }
            match &mut last {
                Some((before, is_shown)) if before == key => *is_shown |= shown,
                _ => {
                    if let Some((before, true)) = &last {
                        batch.push(before);
                    }
                    last = Some((key.to_vec(), shown));
                    if batch.len() == BATCH {
                        self.compare(source, &mut batch, now, changes)?;
                    }
                }
            }
        }
        if let Some((before, true)) = &last {
            batch.push(before);
        }
        self.compare(source, &mut batch, now, changes)?;
        Ok(rows)
    }

    /// Compares rows before and after.
    fn compare(
        &mut self,
        source: usize,
        batch: &mut LocatorBatch,
        now: &ReadView,
        changes: &mut TreeChanges,
    ) -> Result<()> {
        self.cancel.check()?;
        let table = &self.sources[source].table;
        let (old, new) = (rows_of(&self.view, table, batch)?, rows_of(now, table, batch)?);
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            if old == new {
                continue;
            }
            let key = batch.get(at);
            let old = old.as_ref().map(|payload| SeenRow { view: &self.view, key, payload });
            let new = new.as_ref().map(|payload| SeenRow { view: now, key, payload });
            self.derivation.changes((source, table), old, new, &self.trees, changes)?;
        }
        batch.clear();
        Ok(())
    }

    /// Error 1062 for one of the rows that share a unique prefix.
    fn duplicate_of(&self, tree: usize, prefix: &[u8]) -> Result<TableError> {
        let keys = self.trees.get(tree).map_or(Ok(Vec::new()), |built| built.keys_of(prefix))?;
        self.duplicate(tree, keys.last().map_or(prefix, Vec::as_slice).to_vec())
    }

    /// Error 1062 for the row of an entry.
    fn duplicate(&self, tree: usize, key: Vec<u8>) -> Result<TableError> {
        let built = self.trees.get(tree);
        let built = built.ok_or_else(|| TableError::Internal("a tree that is not built".into()))?;
        let mut locator = Vec::new();
        locator_of_entry(&built.index, &key, &mut locator)?;
        let row = self.derivation.row_of(tree, &locator, &self.view, &self.trees)?;
        Ok(duplicate_entry(&built.table, &built.index, (&locator, &row), &locator))
    }
}
