//! Histograms in the catalog, which `ANALYZE TABLE` adds and removes.

use crate::catalog::{HistogramDef, TableDef};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use std::sync::Arc;

impl Ddl {
    /// Replaces histograms of columns of `table`, and removes those of the columns in `removed`.
    ///
    /// # Errors
    /// `DefinitionChanged` if the table does not exist any more or has other columns; errors of the store.
    pub fn change_histograms(
        &self,
        table: &TableDef,
        put: Vec<HistogramDef>,
        removed: &[usize],
    ) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let current = catalog.table_by_id(table.id).ok_or(TableError::DefinitionChanged)?;
        if current.columns != table.columns {
            return Err(TableError::DefinitionChanged);
        }
        let mut changed = (**current).clone();
        changed.histograms.retain(|known| {
            !removed.contains(&known.column) && !put.iter().any(|new| new.column == known.column)
        });
        changed.histograms.extend(put.into_iter().map(Arc::new));
        changed.histograms.sort_by_key(|histogram| histogram.column);
        let closed = self.core.gates.close(table.id);
        ddl::change_catalog(
            &self.core,
            CatalogChange { put_tables: vec![changed], ..CatalogChange::default() },
        )?;
        drop(closed);
        Ok(())
    }
}
