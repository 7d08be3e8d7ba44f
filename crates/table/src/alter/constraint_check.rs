//! Checks the rows of a table that keeps them against its new definition: CHECK constraints and foreign keys.
//!
//! All rows are checked once. If others go on writing, the rows they change are checked in the rounds that also
//! update new indexes (`crate::build::online`). A row that violates a CHECK at a moment that others could see ends
//! the alteration. A row that refers to no row ends it only if it still does so at the end.

use crate::build::{
    BuiltTree, Derivation, IndexEntries, References, STEP, SeenRow, SnapshotSource, TreeChanges, Watched,
};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::read::ReadView;
use crate::run::EntrySource;
use leafline_types::{CancelToken, MysqlError, Value};
use std::sync::Arc;

/// Checks rows.
pub trait RowCheck {
    /// Checks one row.
    ///
    /// # Errors
    /// 3819 if it violates a constraint; errors of evaluating it.
    fn check(&mut self, row: &[Value]) -> std::result::Result<(), MysqlError>;
}

/// The checks of the rows, together with the new indexes built from them.
pub(super) struct ConstraintCheck<'a> {
    entries: IndexEntries,
    check: Option<&'a mut dyn RowCheck>,
    references: Option<References>,
    /// How many of the watched tables store the rows; the others are referenced.
    own: usize,
}

impl<'a> ConstraintCheck<'a> {
    /// Makes the checks of the rows of `table`.
    pub(super) fn new(
        table: &Arc<TableDef>,
        entries: IndexEntries,
        check: Option<&'a mut dyn RowCheck>,
        references: Option<References>,
    ) -> ConstraintCheck<'a> {
        ConstraintCheck { entries, check, references, own: table.stored().count() }
    }

    /// Checks the rows of `table` that `view` shows.
    ///
    /// # Errors
    /// The error of a violated constraint; errors of the store; 1317.
    pub(super) fn check_rows(
        &mut self,
        table: &Arc<TableDef>,
        view: &ReadView,
        cancel: &CancelToken,
    ) -> Result<()> {
        if let Some(check) = &mut self.check {
            for stored in table.stored() {
                let mut rows = SnapshotSource::new(view, stored)?;
                let mut count = 0u64;
                while let Some((key, payload)) = rows.next()? {
                    if count.is_multiple_of(STEP) {
                        cancel.check()?;
                    }
                    count += 1;
                    check.check(&SeenRow { view, key, payload }.values(stored)?)?;
                }
            }
        }
        match &mut self.references {
            Some(references) => references.check(&mut SnapshotSource::new(view, table)?, view, cancel),
            None => Ok(()),
        }
    }
}

impl Derivation for ConstraintCheck<'_> {
    fn changes(
        &mut self,
        (source, table): (usize, &Arc<TableDef>),
        old: Option<SeenRow<'_>>,
        new: Option<SeenRow<'_>>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()> {
        if let Some(references) = &mut self.references {
            let old = old.map(|row| (row.key, row.payload));
            references.changed(table.id, old, new.map(|row| (row.key, row.payload)))?;
        }
        if source >= self.own {
            return Ok(());
        }
        if let (Some(check), Some(new)) = (&mut self.check, new) {
            check.check(&new.values(table)?)?;
        }
        self.entries.changes((source, table), old, new, trees, changes)
    }

    fn settle(&mut self, view: &ReadView, cancel: &CancelToken) -> Result<()> {
        self.references.as_mut().map_or(Ok(()), |references| references.settle(view, cancel))
    }

    fn conclude(&self) -> Result<()> {
        self.references.as_ref().map_or(Ok(()), References::conclude)
    }

    fn row_of(&self, tree: usize, locator: &[u8], view: &ReadView, trees: &[BuiltTree]) -> Result<Vec<u8>> {
        self.entries.row_of(tree, locator, view, trees)
    }

    fn verify(
        &mut self,
        sources: &[Watched<'_>],
        view: &ReadView,
        trees: &[BuiltTree],
        cancel: &CancelToken,
    ) -> Result<()> {
        self.entries.verify(sources, view, trees, cancel)
    }
}
