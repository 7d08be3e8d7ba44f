//! What the rows of a table that stay as they are have to be for its new definition: CHECKs that they meet, rows that they refer to.
//!
//! All rows are looked at once. Where others go on writing, what they change meanwhile is looked at in the rounds in which new indexes
//! follow (`crate::build::online`): a row that violates a CHECK at a moment that others could see ends the alteration, a row
//! that refers to nothing does if it does so in the end.

use crate::build::{
    BuiltTree, Derivation, IndexEntries, References, STEP, SeenRow, SnapshotSource, TreeChanges, Watched,
};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::read::ReadView;
use crate::run::EntrySource;
use leafline_types::{CancelToken, MysqlError, Value};
use std::sync::Arc;

/// Looks at rows.
pub trait RowCheck {
    /// Looks at one.
    ///
    /// # Errors
    /// 3819 if it is not as it has to be; what finding out returns.
    fn check(&mut self, row: &[Value]) -> std::result::Result<(), MysqlError>;
}

/// What rows are held against, with the new indexes that are built of them.
pub(super) struct Proven<'a> {
    entries: IndexEntries,
    check: Option<&'a mut dyn RowCheck>,
    references: Option<References>,
    /// How many of the tables that are watched have the rows; the others are referred to.
    own: usize,
}

impl<'a> Proven<'a> {
    /// For the rows of `table`.
    pub(super) fn new(
        table: &Arc<TableDef>,
        entries: IndexEntries,
        check: Option<&'a mut dyn RowCheck>,
        references: Option<References>,
    ) -> Proven<'a> {
        Proven { entries, check, references, own: table.stored().count() }
    }

    /// Looks at the rows of `table` that `view` shows.
    ///
    /// # Errors
    /// What they are not; what the store returns; 1317.
    pub(super) fn look(
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

impl Derivation for Proven<'_> {
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
