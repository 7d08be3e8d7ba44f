//! Alterations beside those who write: from the first look at a table to the moment when they have to wait.

use super::Switch;
use crate::build::{BuiltTree, CatchUp, Derivation, Watched};
use crate::catalog::TableDef;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::Result;
use crate::lock::Excluding;
use crate::read::ReadView;
use crate::txn::gates::Closed;
use leafline_types::CancelToken;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// What is held from the last round of a build beside writers until what was built is in force.
pub(super) struct Held<'e> {
    _ddl: MutexGuard<'e, ()>,
    _closed: Vec<Closed<'e>>,
    _excluding: Option<Excluding>,
}

impl Ddl {
    /// Watches what the rows of some tables are in, from the moment of a view on.
    pub(super) fn watch(&self, tables: &[Arc<TableDef>]) -> (Vec<Watched<'_>>, ReadView) {
        let _ddl = self.core.ddl.lock();
        let _closed = ddl::close_gates(&self.core, tables);
        let watched = tables.iter().flat_map(TableDef::stored).map(|stored| {
            let watch = self.core.changes.watch(&self.core.env, stored.id);
            Watched { table: stored.clone(), watch }
        });
        (watched.collect(), ReadView::applied(&self.core))
    }

    /// Brings what was built of the tables that are watched in its place: rounds beside those who write, then the last one, while they wait. Returns how many
    /// more entries each tree has than were built, and what keeps others away.
    ///
    /// # Errors
    /// `DefinitionChanged`; `DuplicateEntry` (1062); what the derivation returns for a row; what the store returns; 1317.
    pub(super) fn catch_up<'e>(
        &'e self,
        tables: &[Arc<TableDef>],
        (sources, view): (&[Watched<'_>], ReadView),
        (trees, derivation): (Vec<BuiltTree>, &mut dyn Derivation),
        (switch, cancel): (Switch<'_>, &CancelToken),
    ) -> Result<(Vec<i64>, Held<'e>)> {
        let mut catch_up = CatchUp::new(&self.core, (sources, view), trees, derivation, cancel);
        catch_up.catch_up()?;
        catch_up.verify()?;
        catch_up.catch_up()?;
        let excluding = switch()?;
        let ddl = self.core.ddl.lock();
        tables.iter().try_for_each(|table| self.check_in_force(table))?;
        let closed = ddl::close_gates(&self.core, tables);
        let added = catch_up.finish()?;
        Ok((added, Held { _ddl: ddl, _closed: closed, _excluding: excluding }))
    }
}
