//! Foreign keys of a table that is altered or renamed, and foreign keys of other tables that refer to it.
//!
//! A foreign key names its parent table and the parent's columns. A statement that renames these therefore
//! changes the definitions of the children, too.

use super::column::ColumnDef;
use super::definition::{ForeignKeyDef, TableDef, TableId};
use super::foreign_key::{Side, check_as_parent, keys_of, resolve_foreign_keys};
use super::published::Catalog;
use super::spec::ForeignKeySpec;
use crate::error::{Result, TableError};
use leafline_types::MysqlError;
use leafline_types::words::ReferentialAction;
use std::sync::Arc;

/// The foreign keys that an alteration drops and adds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForeignKeyChanges {
    /// The names of the dropped keys.
    pub dropped: Vec<String>,
    /// The added keys.
    pub added: Vec<ForeignKeySpec>,
}

/// An alteration of a table, as far as it concerns foreign keys.
pub(crate) struct KeyAlteration<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) table: &'a TableDef,
    /// The new database and name.
    pub(crate) name: (&'a str, &'a str),
    pub(crate) columns: &'a [ColumnDef],
    /// The old column that each new column comes from.
    pub(crate) sources: &'a [Option<usize>],
    /// The key columns of each new index.
    pub(crate) keys: &'a [Vec<usize>],
    pub(crate) changes: &'a ForeignKeyChanges,
    pub(crate) unchecked: bool,
}

/// The foreign keys after an alteration.
pub(crate) struct AlteredKeys {
    /// The table's own keys; the new ones come last.
    pub(crate) own: Vec<ForeignKeyDef>,
    /// The number of new keys.
    pub(crate) added: usize,
    /// Other tables, whose keys refer to a name that changes.
    pub(crate) children: Vec<TableDef>,
}

impl KeyAlteration<'_> {
    /// Returns the foreign keys of the altered table, and the tables whose keys must follow it.
    ///
    /// # Errors
    /// 1828 and 1829 for a dropped column, 1832 and 1833 for a column with a new type, 1830 for a column
    /// that cannot be NULL any more, 1553 for a dropped index; the errors of [`resolve_foreign_keys`] for
    /// new keys, and of [`check_as_parent`] if keys refer to the new name.
    pub(crate) fn altered(&self) -> Result<AlteredKeys> {
        let own = self.kept()?;
        if self.table.is_private {
            return match self.changes.added.is_empty() {
                true => Ok(AlteredKeys { own, added: 0, children: Vec::new() }),
                false => Err(MysqlError::cannot_add_foreign_key().into()),
            };
        }
        let (database, name) = self.name;
        let side = Side { table: name, columns: self.columns, keys: self.keys };
        let added = &self.changes.added;
        let id = Some(self.table.id);
        let new = resolve_foreign_keys(self.catalog, (database, id), &side, &own, added, self.unchecked)?;
        if (database, name) != (&self.table.database, &self.table.name) {
            check_as_parent(self.catalog, database, &side, self.unchecked)?;
        }
        let added = new.len();
        Ok(AlteredKeys { own: own.into_iter().chain(new).collect(), added, children: self.children()? })
    }

    fn changed(&self, old: usize) -> Option<(usize, &ColumnDef, &ColumnDef)> {
        let at = self.sources.iter().position(|source| *source == Some(old))?;
        Some((at, self.table.columns.get(old)?, self.columns.get(at)?))
    }

    fn name_of(&self, at: usize) -> &str {
        self.table.columns.get(at).map_or("", |column| column.name.as_str())
    }

    /// Error 1553 if the table had an index that begins with the columns `before`, and has no index that
    /// begins with the same columns after the change.
    fn check_index(&self, before: &[usize], after: &[usize]) -> Result<()> {
        let had = keys_of(&self.table.indexes);
        let needed = had.iter().position(|key| key.starts_with(before));
        match needed.and_then(|at| self.table.indexes.get(at)) {
            Some(index) if !self.keys.iter().any(|key| key.starts_with(after)) => {
                Err(MysqlError::drop_index_of_foreign_key(&index.name).into())
            }
            _ => Ok(()),
        }
    }

    fn is_dropped(&self, key: &ForeignKeyDef) -> bool {
        self.changes.dropped.iter().any(|name| name.eq_ignore_ascii_case(&key.name))
    }

    /// The old keys that the table keeps.
    fn kept(&self) -> Result<Vec<ForeignKeyDef>> {
        let mut kept = Vec::with_capacity(self.table.foreign_keys.len());
        for key in self.table.foreign_keys.iter().filter(|key| !self.is_dropped(key)) {
            let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
            let mut positions = Vec::with_capacity(key.columns.len());
            for &old in &key.columns {
                let Some((at, was, column)) = self.changed(old) else {
                    return Err(MysqlError::fk_column_cannot_drop(self.name_of(old), &key.name).into());
                };
                if (&was.ty, was.collation) != (&column.ty, column.collation) {
                    return Err(MysqlError::fk_column_cannot_change(&was.name, &key.name).into());
                }
                if sets_null && !column.nullable {
                    return Err(MysqlError::fk_column_not_null(&column.name, &key.name).into());
                }
                positions.push(at);
            }
            self.check_index(&key.columns, &positions)?;
            let mut key = ForeignKeyDef { columns: positions, ..key.clone() };
            if key.refers_to(&self.table.database, &self.table.name) {
                self.follow(&mut key);
            }
            kept.push(key);
        }
        Ok(kept)
    }

    /// The tables with keys that refer to the table by names that change.
    fn children(&self) -> Result<Vec<TableDef>> {
        let table = self.table;
        let mut children: Vec<TableDef> = Vec::new();
        for (child, key) in self.catalog.references(&table.database, &table.name) {
            if child.id == table.id && self.is_dropped(key) {
                continue;
            }
            let Some(before) = key.columns_in(table) else { continue };
            let mut after = Vec::with_capacity(before.len());
            for &old in &before {
                let Some((at, was, column)) = self.changed(old) else {
                    let name = self.name_of(old);
                    let error = MysqlError::fk_column_cannot_drop_child(name, &key.name, &child.name);
                    return Err(TableError::referred_to(error, &child.database, &child.name));
                };
                if (&was.ty, was.collation) != (&column.ty, column.collation) {
                    let (column, key) = (&was.name, &key.name);
                    let error = MysqlError::fk_column_cannot_change_child(column, key, &child.name);
                    return Err(TableError::referred_to(error, &child.database, &child.name));
                }
                after.push(at);
            }
            self.check_index(&before, &after)?;
            let mut followed = key.clone();
            self.follow(&mut followed);
            if followed == *key || child.id == table.id {
                continue;
            }
            let at = children.iter().position(|known| known.id == child.id);
            let at = at.unwrap_or_else(|| {
                children.push((**child).clone());
                children.len() - 1
            });
            let keys = children.get_mut(at).map(|child| &mut child.foreign_keys);
            if let Some(slot) = keys.and_then(|keys| keys.iter_mut().find(|known| known.name == key.name)) {
                *slot = followed;
            }
        }
        Ok(children)
    }

    /// Changes a key that refers to the table to its new names.
    fn follow(&self, key: &mut ForeignKeyDef) {
        (key.parent_database, key.parent_table) = (self.name.0.to_owned(), self.name.1.to_owned());
        for name in &mut key.parent_columns {
            let changed = self.table.column(name).and_then(|old| self.changed(old));
            if let Some((_, _, column)) = changed {
                name.clone_from(&column.name);
            }
        }
    }
}

/// Renames a table of a catalog, and changes the keys that refer to it. Returns the changed tables,
/// including the renamed one.
///
/// # Errors
/// The errors of [`check_as_parent`] if keys refer to the new name.
pub(crate) fn rename_in(
    catalog: &mut Catalog,
    renamed: TableDef,
    old: &TableDef,
    unchecked: bool,
) -> Result<Vec<TableId>> {
    let keys = keys_of(&renamed.indexes);
    let side = Side { table: &renamed.name, columns: &renamed.columns, keys: &keys };
    check_as_parent(catalog, &renamed.database, &side, unchecked)?;
    let (database, name) = (renamed.database.clone(), renamed.name.clone());
    let mut changed = vec![renamed];
    for (child, _) in catalog.references(&old.database, &old.name) {
        if !changed.iter().any(|known| known.id == child.id) {
            changed.push((**child).clone());
        }
    }
    for key in changed.iter_mut().flat_map(|table| &mut table.foreign_keys) {
        if key.refers_to(&old.database, &old.name) {
            (key.parent_database, key.parent_table) = (database.clone(), name.clone());
        }
    }
    let ids = changed.iter().map(|table| table.id).collect();
    changed.into_iter().for_each(|table| catalog.put_table(Arc::new(table)));
    Ok(ids)
}
