//! The one cursor under every access path: visible entries of an index in key order, either way.
//!
//! Leaves are read in place (see `in_place`): visitors run under the leaf's latch, nothing is copied, and what the snapshot sees as it
//! stands is shown as it stands. A leaf whose newest commit is below `low` is so as a whole; of another one, entries are
//! looked at by their own timestamps. What remains, entries whose rows have to be asked and the transaction's own writes, are
//! patches to that (see `patches`), which are found when the scan comes to them, with no latch held.
//!
//! The cursor's position is a gap between keys, so that it means the same for both directions: forward goes on with
//! the first entry at or above it, reverse with the last one below.

use super::in_place::{InPlace, Outcome};
use super::patches::Patches;
use super::view::ReadView;
use super::{EntryRef, EntryStep, EntryVisitor};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::trees::TreeHandle;
use leafline_btree::{Cursor, Direction, RangeAhead, Tree};
use leafline_storage::PageNo;
use std::sync::Arc;

/// Reads the visible entries of an index.
pub struct EntryCursor {
    pub(super) view: ReadView,
    pub(super) table: Arc<TableDef>,
    pub(super) index: Arc<IndexDef>,
    cursor: Cursor,
    /// Keeps the tree from being freed.
    _tree: Arc<TreeHandle>,
    /// Whether own writes must be merged in.
    overlay: bool,
    pub(super) patches: Patches,
    /// Of the visits since the last seek.
    direction: Option<Direction>,
    /// There is no leaf left.
    past_leaves: bool,
    done: bool,
    pub(super) rows_visited: u64,
    /// What is read ahead of it, and how many pages were.
    ahead: Option<(RangeAhead, u64)>,
}

/// A visitor that takes entries one by one.
struct OneByOne<'v>(&'v mut dyn FnMut(EntryRef<'_>) -> EntryStep);

impl EntryVisitor for OneByOne<'_> {
    #[inline]
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        (self.0)(entry)
    }
}

impl EntryCursor {
    pub(super) fn new(view: &ReadView, table: &Arc<TableDef>, index: &Arc<IndexDef>) -> Result<EntryCursor> {
        let tree = view.engine.trees.for_reading(index, &view.snapshot)?;
        Self::on(view, table, index, tree, view.has_writes(table.id))
    }

    /// For those who know the index's tree, and whether own writes are to be merged in.
    pub(super) fn on(
        view: &ReadView,
        table: &Arc<TableDef>,
        index: &Arc<IndexDef>,
        tree: Arc<TreeHandle>,
        overlay: bool,
    ) -> Result<EntryCursor> {
        if overlay {
            view.prepare(table.id, index)?;
        }
        Ok(EntryCursor {
            view: view.clone(),
            table: table.clone(),
            index: index.clone(),
            cursor: tree.tree.clone().into_cursor(),
            _tree: tree,
            overlay,
            patches: Patches::new(overlay, Some(&[])),
            direction: None,
            past_leaves: false,
            done: false,
            rows_visited: 0,
            ahead: None,
        })
    }

    /// The index it reads.
    pub fn index(&self) -> &Arc<IndexDef> {
        &self.index
    }

    /// Positions just below `key`: forward, the next visit begins with the first entry at or after it; reverse, with
    /// the last one before it.
    pub fn seek(&mut self, key: &[u8]) {
        self.cursor.seek(key);
        self.restart(Some(key));
    }

    /// Positions for a reverse scan of what lies before `key`; `None` is the end of the index.
    pub fn seek_before(&mut self, key: Option<&[u8]>) {
        self.cursor.seek_before(key);
        self.restart(key);
    }

    fn restart(&mut self, gap: Option<&[u8]>) {
        self.patches = Patches::new(self.overlay, gap);
        self.direction = None;
        self.past_leaves = false;
        self.done = false;
    }

    /// From now on, the leaves of the keys in `[lower, upper)` are read ahead of it.
    pub fn read_ahead(&mut self, direction: Direction, lower: &[u8], upper: Option<&[u8]>) {
        let ahead = RangeAhead::new(self.view.read_ahead(), direction, lower, upper);
        self.ahead = Some((ahead, 0));
    }

    /// Pages that were not in memory and read ahead of it.
    pub fn pages_ahead(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |(_, pages)| *pages)
    }

    /// The tree it reads.
    pub fn tree(&self) -> &Tree {
        self.cursor.tree()
    }

    /// How many leaves it has come to, and the page of the last one.
    pub fn leaf(&self) -> (u64, PageNo) {
        self.cursor.leaf()
    }

    /// The key right before which it stands on the leaves; `None` is the end.
    pub fn position(&self) -> Option<&[u8]> {
        self.cursor.position()
    }

    /// Whether all that the view sees up to there was shown. Else some of it may be shown by the next visit.
    pub fn is_exact(&self) -> bool {
        !self.overlay && !self.patches.has_next()
    }

    /// Rows that had to be visited to know what the snapshot sees of entries, since this was last asked.
    pub fn take_rows_visited(&mut self) -> u64 {
        std::mem::take(&mut self.rows_visited)
    }

    /// Visits the entries of one leaf (or fewer) from the position on, in the direction given. The visitor may run
    /// under a page latch: it must not block, nor use the engine. False: the end was reached, or the visitor said
    /// `Stop`. Changing the direction needs a seek.
    ///
    /// # Errors
    /// What the store returns; `Corrupt`; `SnapshotTooOld`: what the visitor was shown may be wrong then.
    pub fn visit(
        &mut self,
        direction: Direction,
        visitor: &mut dyn FnMut(EntryRef<'_>) -> EntryStep,
    ) -> Result<bool> {
        self.visit_with(direction, &mut OneByOne(visitor))
    }

    /// As [`visit`](Self::visit), for a visitor that can take many entries at once.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    pub fn visit_with(&mut self, direction: Direction, visitor: &mut dyn EntryVisitor) -> Result<bool> {
        let more = self.visit_some(direction, visitor)?;
        self.view.snapshot.check()?;
        Ok(more)
    }

    fn visit_some(&mut self, direction: Direction, visitor: &mut dyn EntryVisitor) -> Result<bool> {
        if self.direction.replace(direction).is_some_and(|before| before != direction) {
            return Err(TableError::Internal("a cursor changed its direction without a seek".into()));
        }
        while !self.done {
            if let Some((ahead, pages)) = &mut self.ahead {
                *pages += ahead.advance(&self.cursor)?;
            }
            self.read_own(direction)?;
            let hides_own = self.hides_own_rows();
            let mut reader = InPlace {
                view: &self.view,
                table: &self.table,
                clustered: self.index.is_clustered(),
                direction,
                hides_own,
                patches: &mut self.patches,
                outcome: Outcome::LeafDone,
            };
            let mut more = true;
            if self.past_leaves {
                reader.rest(visitor);
            } else {
                more = self.cursor.visit_leaf(direction, |leaf, slots| reader.leaf(leaf, slots, visitor))?;
            }
            match reader.outcome {
                Outcome::LeafDone if self.past_leaves => self.done = true,
                Outcome::LeafDone if more => return Ok(true),
                Outcome::LeafDone => self.past_leaves = true,
                Outcome::Paused => return Ok(true),
                Outcome::Stopped => self.done = true,
                Outcome::AtReach => self.patches.come_to_reach(),
                Outcome::Unsure(unsure) => self.decide(unsure, direction)?,
                Outcome::Failed(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether committed entries of rows that the transaction has written have to be hidden by row.
    pub(super) fn hides_own_rows(&self) -> bool {
        self.overlay && !self.index.is_clustered() && self.view.has_unseen_bases(self.table.id)
    }
}

impl std::fmt::Debug for EntryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryCursor").field("index", &self.index.name).finish_non_exhaustive()
    }
}
