//! Reads rows by clustered key, one at a time: for point reads of SQL, and for programs that use a table without SQL.
//!
//! The reader looks up only once which tree the rows are in and whether the transaction has written to the table. A
//! statement would look that up for every row.

use super::row::{Visible, spilled_row, visible_row};
use super::{EntryCursor, EntryStep, ReadView, RowRef};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::trees::TreeHandle;
use leafline_btree::{Direction, Tree};
use leafline_types::OverflowRef;
use std::sync::Arc;

/// Reads the rows of one table as one view sees them.
pub struct RowReader {
    view: ReadView,
    table: Arc<TableDef>,
    tree: Arc<TreeHandle>,
    overlay: bool,
}

impl ReadView {
    /// Makes a reader of the rows of `table`.
    ///
    /// # Errors
    /// `DefinitionChanged` (1412) if the table is newer than the snapshot or does not exist any more.
    pub fn rows(&self, table: &Arc<TableDef>) -> Result<RowReader> {
        let tree = self.core.trees.for_reading(table.clustered(), &self.snapshot)?;
        Ok(RowReader { view: self.clone(), table: table.clone(), tree, overlay: self.has_writes(table.id) })
    }

    /// Calls `f` with the row of `table` under a clustered key, or with `None` if there is none. `f` may run under a
    /// page latch and must not block.
    ///
    /// # Errors
    /// `DefinitionChanged` (1412), and errors of the store.
    pub fn row<R>(&self, table: &TableDef, key: &[u8], f: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        let tree = self.core.trees.for_reading(table.clustered(), &self.snapshot)?;
        self.row_in(&tree.tree, table, self.has_writes(table.id), key, f)
    }

    /// Calls `f` with the row in a tree that the caller knows. `overlay` says whether the transaction has written to
    /// the table.
    fn row_in<R>(
        &self,
        tree: &Tree,
        table: &TableDef,
        overlay: bool,
        key: &[u8],
        f: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        self.register_keys(table, std::iter::once(key))?;
        if overlay && let Some(own) = self.own_row(table.id, key)? {
            return Ok(f(own.as_deref().map(|payload| RowRef { key, payload })));
        }
        let (versions, snapshot) = (&self.core.versions, &self.snapshot);
        let shown = tree.get(key, |entry| -> Result<Result<R, _>> {
            let visible = match &entry {
                Some(entry) => visible_row(versions, table.id, key, entry, snapshot)?,
                None => Visible::Nothing,
            };
            Ok(match visible {
                Visible::Row(row) => Ok(f(Some(RowRef { key, payload: row.bytes() }))),
                Visible::Nothing => Ok(f(None)),
                Visible::Spilled => Err(f),
            })
        })??;
        let shown = match shown {
            Ok(shown) => shown,
            Err(f) => {
                let row = spilled_row(versions, table.id, key, snapshot)?;
                f(row.as_deref().map(|payload| RowRef { key, payload }))
            }
        };
        snapshot.check()?;
        Ok(shown)
    }
}

impl RowReader {
    /// The table.
    pub fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// The overflow values of these references.
    ///
    /// # Errors
    /// The errors of [`ReadView::complete`].
    pub fn overflow_values(&self, references: &[OverflowRef]) -> Result<Vec<Vec<u8>>> {
        self.view.overflow_values(&self.table, references)
    }

    /// Calls `f` with the row under a clustered key, or with `None` if there is none. `f` may run under a page latch
    /// and must not block.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        self.view.row_in(&self.tree.tree, &self.table, self.overlay, key, f)
    }

    /// Shows rows to `visitor` until it returns false, in the order of the clustered index: forward from the first
    /// row at or after `from`, or in reverse from the last row before `from`, where `None` is the end. The visitor
    /// may run under a page latch and must not block.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn scan(
        &self,
        direction: Direction,
        from: Option<&[u8]>,
        mut visitor: impl FnMut(RowRef<'_>) -> bool,
    ) -> Result<()> {
        let (table, tree) = (&self.table, self.tree.clone());
        let mut cursor = EntryCursor::on(&self.view, table, table.clustered(), tree, self.overlay)?;
        match direction {
            Direction::Forward => cursor.seek(from.unwrap_or_default()),
            Direction::Reverse => cursor.seek_before(from),
        }
        let mut visit = |row: RowRef<'_>| if visitor(row) { EntryStep::Next } else { EntryStep::Stop };
        while cursor.visit(direction, &mut visit)? {}
        Ok(())
    }
}
