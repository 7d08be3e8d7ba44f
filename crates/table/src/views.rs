//! DDL of views.

use crate::catalog::{ViewDef, check_name};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::Result;
use leafline_types::MysqlError;
use std::sync::Arc;

impl Ddl {
    /// Creates a view, which gets its number here, or replaces one if `replace`.
    ///
    /// # Errors
    /// 1049 if the database does not exist, 1050 if a table or view with that name exists, 1347 if a table
    /// would be replaced, 1103 for an invalid name, errors of the store.
    pub fn create_view(&self, mut view: ViewDef, replace: bool) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        check_name(&view.name, |name| MysqlError::wrong_table_name(name))?;
        if catalog.database(&view.database).is_none() {
            return Err(MysqlError::unknown_database(&view.database).into());
        }
        if catalog.table(&view.database, &view.name).is_some() {
            return Err(match replace {
                true => MysqlError::wrong_object(&view.database, &view.name, "VIEW").into(),
                false => MysqlError::table_exists(&view.name).into(),
            });
        }
        let replaced = catalog.view(&view.database, &view.name).cloned();
        if replaced.is_some() && !replace {
            return Err(MysqlError::table_exists(&view.name).into());
        }
        view.id = self.core.counters.new_object();
        ddl::change_catalog(
            &self.core,
            CatalogChange {
                remove_views: replaced.into_iter().collect(),
                put_views: vec![Arc::new(view)],
                ..CatalogChange::default()
            },
        )
    }

    /// Drops views, all or none. With `if_exists`, returns the views that do not exist, written
    /// `database.view`.
    ///
    /// # Errors
    /// 1051 if one does not exist, 1347 if one is a table, errors of the store.
    pub fn drop_views(&self, views: &[(&str, &str)], if_exists: bool) -> Result<Vec<String>> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (database, name) in views {
            match catalog.view(database, name) {
                Some(view) => found.push(view.clone()),
                None if catalog.table(database, name).is_some() => {
                    return Err(MysqlError::wrong_object(database, name, "VIEW").into());
                }
                None => missing.push(format!("{database}.{name}")),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(MysqlError::unknown_table(missing.join(",")).into());
        }
        if !found.is_empty() {
            ddl::change_catalog(
                &self.core,
                CatalogChange { remove_views: found, ..CatalogChange::default() },
            )?;
        }
        Ok(missing)
    }
}
