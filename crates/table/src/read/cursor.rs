//! The one cursor that every access path uses: it visits the visible entries of an index in key order, in either
//! direction.
//!
//! The cursor reads leaves in place (see `in_place`): visitors run under the leaf's latch, nothing is copied, and an
//! entry that the snapshot sees unchanged is shown unchanged. If the newest commit of a leaf is below the snapshot's
//! `low`, that holds for the whole leaf; otherwise each entry's own timestamp decides. Two kinds of entries remain:
//! entries whose visibility depends on their rows, and the transaction's own writes. They become patches (see
//! `patches`), which the cursor finds when the scan comes to them, while it holds no latch.
//!
//! The position of the cursor is a gap between keys, so that it means the same in both directions: forward continues
//! with the first entry at or above it, reverse with the last entry below it.

use super::in_place::{InPlace, Outcome};
use super::patches::Patches;
use super::view::ReadView;
use super::{EntryRef, EntryStep, EntryVisitor};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::serial::KeyBounds;
use crate::trees::TreeHandle;
use leafline_btree::{Cursor, Direction, RangeReadAhead, Tree};
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
    /// Whether the transaction's own writes must be merged in.
    overlay: bool,
    pub(super) patches: Patches,
    /// The direction of the visits since the last seek.
    direction: Option<Direction>,
    /// Whether the scan has passed the last leaf.
    past_leaves: bool,
    done: bool,
    /// Whether it is known what of the index a SERIALIZABLE transaction reads.
    is_registered: bool,
    pub(super) rows_visited: u64,
    /// The range read ahead of the cursor, and how many pages that has read.
    ahead: Option<(RangeReadAhead, u64)>,
}

/// A visitor that takes entries one by one.
struct OneByOne<'v>(&'v mut dyn FnMut(EntryRef<'_>) -> EntryStep);

impl EntryVisitor for OneByOne<'_> {
    #[inline]
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        (self.0)(entry)
    }
}

impl ReadView {
    /// Makes a cursor over the entries of an index, positioned before the first one.
    ///
    /// # Errors
    /// `DefinitionChanged` (1412) if the index is newer than the snapshot or does not exist any more.
    pub fn entries(&self, table: &Arc<TableDef>, index: &Arc<IndexDef>) -> Result<EntryCursor> {
        EntryCursor::new(self, table, index)
    }
}

impl EntryCursor {
    fn new(view: &ReadView, table: &Arc<TableDef>, index: &Arc<IndexDef>) -> Result<EntryCursor> {
        let tree = view.core.trees.for_reading(index, &view.snapshot)?;
        Self::on(view, table, index, tree, view.has_writes(table.id))
    }

    /// Makes a cursor over a tree that the caller knows. `overlay` says whether own writes are merged in.
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
            is_registered: !view.registers_reads(),
            rows_visited: 0,
            ahead: None,
        })
    }

    /// The index it reads.
    pub fn index(&self) -> &Arc<IndexDef> {
        &self.index
    }

    /// Positions the cursor just below `key`. A forward visit then begins with the first entry at or after it, a
    /// reverse visit with the last entry before it.
    pub fn seek(&mut self, key: &[u8]) {
        self.cursor.seek(key);
        self.restart(Some(key));
    }

    /// Positions the cursor for a reverse scan of the entries before `key`; `None` is the end of the index.
    pub fn seek_before(&mut self, key: Option<&[u8]>) {
        self.cursor.seek_before(key);
        self.restart(key);
    }

    /// Notes that only entries in `ranges` will be looked at from now on, whatever the cursor passes. A SERIALIZABLE
    /// transaction registers them; otherwise it registers the whole index at the first visit.
    ///
    /// # Errors
    /// The errors of [`ReadView::register`].
    pub fn read_only_in(&mut self, ranges: &[KeyBounds<'_>]) -> Result<()> {
        self.is_registered = true;
        self.view.register(&self.table, &self.index, ranges)
    }

    fn restart(&mut self, gap: Option<&[u8]>) {
        self.patches = Patches::new(self.overlay, gap);
        self.direction = None;
        self.past_leaves = false;
        self.done = false;
    }

    /// Reads the leaves of the keys in `[lower, upper)` ahead of the cursor from now on.
    pub fn read_ahead(&mut self, direction: Direction, lower: &[u8], upper: Option<&[u8]>) {
        let ahead = RangeReadAhead::new(self.view.read_ahead(), direction, lower, upper);
        self.ahead = Some((ahead, 0));
    }

    /// The number of pages read ahead of the cursor that were not in memory.
    pub fn pages_ahead(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |(_, pages)| *pages)
    }

    /// The tree it reads.
    pub fn tree(&self) -> &Tree {
        self.cursor.tree()
    }

    /// The number of leaves visited, and the page of the last one.
    pub fn leaf(&self) -> (u64, PageNo) {
        self.cursor.leaf()
    }

    /// The key of the gap at which the cursor stands on the leaves; `None` is the end.
    pub fn position(&self) -> Option<&[u8]> {
        self.cursor.position()
    }

    /// Returns whether the visitor was shown everything that the view sees up to the position. If not, the next visit
    /// may show some of it.
    pub fn is_exact(&self) -> bool {
        !self.overlay && !self.patches.has_next()
    }

    /// The number of rows visited to decide about secondary entries since the last call.
    pub fn take_rows_visited(&mut self) -> u64 {
        std::mem::take(&mut self.rows_visited)
    }

    /// Visits the entries of one leaf, or fewer, from the position on in `direction`. The visitor may run under a
    /// page latch: it must neither block nor use the engine. Returns false at the end of the index, and if the
    /// visitor returned `Stop`. A seek must come before a change of direction.
    ///
    /// # Errors
    /// Errors of the store; `Corrupt`; `SnapshotTooOld`, after which the entries already shown may be wrong.
    pub fn visit(
        &mut self,
        direction: Direction,
        visitor: &mut dyn FnMut(EntryRef<'_>) -> EntryStep,
    ) -> Result<bool> {
        self.visit_with(direction, &mut OneByOne(visitor))
    }

    /// Visits like [`visit`](Self::visit), for a visitor that can take many entries at once.
    ///
    /// # Errors
    /// The errors of [`visit`](Self::visit).
    pub fn visit_with(&mut self, direction: Direction, visitor: &mut dyn EntryVisitor) -> Result<bool> {
        if !self.is_registered {
            self.read_only_in(&[(&[], None)])?;
        }
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
                reader.show_rest(visitor);
            } else {
                more = self
                    .cursor
                    .visit_leaf(direction, |leaf, slots| reader.show_leaf(leaf, slots, visitor))?;
            }
            match reader.outcome {
                Outcome::LeafDone if self.past_leaves => self.done = true,
                Outcome::LeafDone if more => return Ok(true),
                Outcome::LeafDone => self.past_leaves = true,
                Outcome::Paused => return Ok(true),
                Outcome::Stopped => self.done = true,
                Outcome::AtReach => self.patches.come_to_reach(),
                Outcome::Unresolved(unresolved) => self.decide(unresolved, direction)?,
                Outcome::Failed(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns whether committed secondary entries must be hidden if the transaction has written their rows.
    pub(super) fn hides_own_rows(&self) -> bool {
        self.overlay && !self.index.is_clustered() && self.view.has_unseen_bases(self.table.id)
    }
}

impl std::fmt::Debug for EntryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryCursor").field("index", &self.index.name).finish_non_exhaustive()
    }
}
