//! Alterations while others write: watches a table while something is built from it, and switches over while the
//! writers wait.

use super::Switch;
use crate::build::{BuiltTree, CatchUp, Derivation, Watched};
use crate::catalog::TableDef;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::Result;
use crate::gates::Closed;
use crate::lock::Excluding;
use crate::read::ReadView;
use leafline_types::CancelToken;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// The locks held from the last round of an online build until its result is in force.
pub(super) struct SwitchGuard<'e> {
    _ddl: MutexGuard<'e, ()>,
    _closed: Vec<Closed<'e>>,
    _excluding: Option<Excluding>,
}

impl Ddl {
    /// Watches the tables that store the rows of some tables, from the moment of the returned view on.
    pub(super) fn watch(&self, tables: &[Arc<TableDef>]) -> (Vec<Watched<'_>>, ReadView) {
        let _ddl = self.core.ddl.lock();
        let _closed = ddl::close_gates(&self.core, tables);
        let watched = tables.iter().flat_map(TableDef::stored).map(|stored| {
            let watch = self.core.changes.watch(&self.core.env, stored.id);
            Watched { table: stored.clone(), watch }
        });
        (watched.collect(), ReadView::applied(&self.core))
    }

    /// Brings the trees built from watched tables up to date: rounds while others write, then the last round while
    /// they wait. Returns the change of each tree's number of entries since it was built, and the locks that keep
    /// others away.
    ///
    /// # Errors
    /// `DefinitionChanged`; `DuplicateEntry` (1062); errors of the derivation for a row; errors of the store; 1317.
    pub(super) fn catch_up<'e>(
        &'e self,
        tables: &[Arc<TableDef>],
        (sources, view): (&[Watched<'_>], ReadView),
        (trees, derivation): (Vec<BuiltTree>, &mut dyn Derivation),
        (switch, cancel): (Switch<'_>, &CancelToken),
    ) -> Result<(Vec<i64>, SwitchGuard<'e>)> {
        let mut catch_up = CatchUp::new(&self.core, (sources, view), trees, derivation, cancel);
        catch_up.catch_up()?;
        catch_up.verify()?;
        catch_up.catch_up()?;
        let excluding = switch()?;
        let ddl = self.core.ddl.lock();
        tables.iter().try_for_each(|table| self.check_in_force(table))?;
        let closed = ddl::close_gates(&self.core, tables);
        let added = catch_up.finish()?;
        Ok((added, SwitchGuard { _ddl: ddl, _closed: closed, _excluding: excluding }))
    }
}
