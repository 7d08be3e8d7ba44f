//! The one cursor under every access path: visible entries of an index in key order, either way.
//!
//! Ways to read a leaf, from the common to the rare:
//! - *in place* (see `in_place`): the snapshot sees every entry as it stands (the leaf's newest commit is below `low`) and the
//!   transaction has not written to the table. Visitors run under the leaf's latch, nothing is copied. Leaves of the
//!   clustered index are read in place even when they are not settled: old versions are found without another page,
//!   unless they are in a file. Visitors who can take many entries at once get them so;
//! - *through a window* (see `window`): entries are copied out first, because deciding about some of them needs
//!   their rows, or because own writes have to be merged in.
//!
//! The cursor's position is a gap between keys, so that it means the same for both directions: forward goes on with
//! the first entry at or above it, reverse with the last one below.

use super::in_place::{InPlace, Outcome, Step};
use super::view::ReadView;
use super::window::Window;
use super::{EntryRef, EntryStep, EntryVisitor};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::trees::TreeHandle;
use leafline_btree::{Cursor, Direction, LeafStep};
use std::sync::Arc;

/// Reads the visible entries of an index.
pub struct EntryCursor {
    pub(super) view: ReadView,
    pub(super) table: Arc<TableDef>,
    pub(super) index: Arc<IndexDef>,
    pub(super) cursor: Cursor,
    /// Keeps the tree from being freed.
    _tree: Arc<TreeHandle>,
    /// Whether own writes must be merged in.
    pub(super) overlay: bool,
    /// Where the next entry is looked for; `None` is the end. Only kept up to date between leaves, and where a
    /// window needs it.
    pub(super) gap: Option<Vec<u8>>,
    /// Whether `cursor` must be placed at `gap` first.
    pub(super) placed: Option<Direction>,
    pub(super) window: Option<Window>,
    /// Entries of the next window, at most.
    pub(super) window_size: usize,
    done: bool,
    examined: u64,
}

/// Entries of the first window after a seek.
const FIRST_WINDOW: usize = 16;

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
        let tree = view.engine.trees.for_snapshot(index, &view.snapshot)?;
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
            gap: Some(Vec::new()),
            placed: None,
            window: None,
            window_size: FIRST_WINDOW,
            done: false,
            examined: 0,
        })
    }

    /// The index it reads.
    pub fn index(&self) -> &Arc<IndexDef> {
        &self.index
    }

    /// Positions just below `key`: forward, the next visit begins with the first entry at or after it; reverse, with
    /// the last one before it.
    pub fn seek(&mut self, key: &[u8]) {
        self.place(Some(key.to_vec()));
        self.window_size = FIRST_WINDOW;
    }

    /// Positions for a reverse scan of what lies before `key`; `None` is the end of the index.
    pub fn seek_before(&mut self, key: Option<&[u8]>) {
        self.place(key.map(<[u8]>::to_vec));
        self.window_size = FIRST_WINDOW;
    }

    /// Entries shown to visitors so far.
    pub fn examined(&self) -> u64 {
        self.examined
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
        if self.placed.is_some_and(|placed| placed != direction) {
            return Err(TableError::Internal("a cursor changed its direction without a seek".into()));
        }
        if let Some(more) = self.visit_window(direction, visitor)? {
            return Ok(more);
        }
        if self.done {
            return Ok(false);
        }
        if !self.overlay {
            match self.visit_in_place(direction, visitor)? {
                Some(more) => return Ok(more),
                None => self.placed = None,
            }
        }
        self.fill_window(direction)?;
        match self.visit_window(direction, visitor)? {
            Some(more) => Ok(more),
            None => Ok(!self.done),
        }
    }

    /// Places the tree's cursor at the gap, if it is not where it should be.
    pub(super) fn ensure_placed(&mut self, direction: Direction) {
        if self.placed.is_none() {
            match direction {
                Direction::Forward => match &self.gap {
                    Some(gap) => self.cursor.seek(gap),
                    // Nothing is at or above the end.
                    None => self.done = true,
                },
                Direction::Reverse => self.cursor.seek_before(self.gap.as_deref()),
            }
            self.placed = Some(direction);
        }
    }

    pub(super) fn place(&mut self, gap: Option<Vec<u8>>) {
        self.gap = gap;
        self.placed = None;
        self.window = None;
        self.done = false;
    }

    /// The scan has reached its end.
    pub(super) fn finish(&mut self) {
        self.done = true;
    }

    /// Shows what is left of the window. `None`: there is no window.
    fn visit_window(&mut self, direction: Direction, visitor: &mut dyn EntryVisitor) -> Result<Option<bool>> {
        let Some(mut window) = self.window.take() else { return Ok(None) };
        while let Some(entry) = window.next() {
            self.examined += 1;
            match visitor.entry(entry) {
                EntryStep::Next => {}
                EntryStep::SeekTo(target) => {
                    let (over, inside) = window.skip_to(direction, &target);
                    visitor.leapt(over, !inside);
                    if !inside {
                        self.place(Some(target));
                        return Ok(Some(true));
                    }
                }
                EntryStep::Pause => {
                    self.window = Some(window);
                    return Ok(Some(true));
                }
                EntryStep::Stop => {
                    self.done = true;
                    return Ok(Some(false));
                }
            }
        }
        Ok(Some(!self.done))
    }

    /// Visits a leaf under its latch. `None`: it must be read through a window.
    fn visit_in_place(
        &mut self,
        direction: Direction,
        visitor: &mut dyn EntryVisitor,
    ) -> Result<Option<bool>> {
        self.ensure_placed(direction);
        if self.done {
            return Ok(Some(false));
        }
        let reader =
            InPlace { view: &self.view, table: &self.table, clustered: self.index.is_clustered(), direction };
        let mut outcome = Outcome::LeafDone;
        let mut examined = 0;
        let mut gap = None;
        let more = self.cursor.visit_leaf(direction, |leaf, slots| {
            let step = reader.leaf(leaf, slots, visitor, &mut outcome, &mut examined);
            if matches!(outcome, Outcome::NeedsWindow) {
                gap = Some(reader.gap_of(leaf, &step));
            }
            match step {
                // The window reads the leaf again, from its first slot to be visited.
                Step::Window(_) => LeafStep::Stop,
                Step::Tree(step) => step,
            }
        })?;
        self.examined += examined;
        match outcome {
            Outcome::LeafDone => {
                self.done = !more;
                Ok(Some(more))
            }
            Outcome::Paused => Ok(Some(true)),
            Outcome::Stopped => {
                self.done = true;
                Ok(Some(false))
            }
            Outcome::Failed(error) => Err(error),
            Outcome::NeedsWindow => {
                if let Some(gap) = gap {
                    self.gap = gap;
                }
                Ok(None)
            }
        }
    }
}

impl std::fmt::Debug for EntryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryCursor").field("index", &self.index.name).finish_non_exhaustive()
    }
}
