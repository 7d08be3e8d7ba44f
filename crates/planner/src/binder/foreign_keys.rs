//! Finds the foreign keys that a statement's changes must check: keys of and to the tables it changes, and of the tables that its
//! changes can cascade to.

use std::collections::BTreeMap;
use std::sync::Arc;

use leafline_table::{ForeignKeyDef, IndexDef, TableDef};
use leafline_types::MysqlError;

use super::Binder;
use crate::bound::{ChildReference, ForeignKeys, ParentReference, TableReferences};

impl Binder<'_> {
    /// Collects the foreign keys of and to these tables.
    pub(super) fn foreign_keys<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t Arc<TableDef>>,
    ) -> Result<ForeignKeys, MysqlError> {
        let mut found = BTreeMap::new();
        if !self.context.foreign_key_checks {
            return Ok(ForeignKeys::default());
        }
        let known = tables.into_iter().filter(|table| !table.is_private);
        let mut left: Vec<Arc<TableDef>> = known.cloned().collect();
        while let Some(table) = left.pop() {
            if found.contains_key(&table.id) {
                continue;
            }
            let references = self.references(&table)?;
            for reference in &references.children {
                if !(reference.on_delete.refuses() && reference.on_update.refuses()) {
                    left.push(reference.child.clone());
                }
            }
            found.insert(table.id, references);
        }
        found.retain(|_, references| !(references.parents.is_empty() && references.children.is_empty()));
        Ok(ForeignKeys { tables: found })
    }

    fn references(&self, table: &Arc<TableDef>) -> Result<TableReferences, MysqlError> {
        let parents = table.foreign_keys.iter().map(|key| self.parent(table, key)).collect();
        let mut children = Vec::new();
        for (child, key) in self.context.catalog.references(&table.database, &table.name) {
            children.extend(child_reference(table, child, &key));
        }
        children.sort_by(|a, b| a.described.cmp(&b.described));
        for child in &mut children {
            child.hidden = !self.context.access.sees_table(&child.child.database, &child.child.name);
        }
        let rules = if table.foreign_keys.is_empty() { Default::default() } else { self.row_rules(table)? };
        Ok(TableReferences { rules, parents, children })
    }

    fn parent(&self, table: &Arc<TableDef>, key: &ForeignKeyDef) -> ParentReference {
        let parent = match key.refers_to(&table.database, &table.name) {
            true => Some(table.clone()),
            false => self.context.catalog.table(&key.parent_database, &key.parent_table).ok(),
        };
        let parent = parent.and_then(|parent| {
            let columns = key.columns_in(&parent)?;
            let index = index_with(&parent, &columns)?;
            Some((parent, index, columns))
        });
        let hidden = !self.context.access.sees_table(&key.parent_database, &key.parent_table);
        ParentReference { columns: key.columns.clone(), parent, described: key.described(table), hidden }
    }
}

/// Makes the reference from a child table; `None` where the key cannot be searched for, because then no row can refer to the
/// parent.
fn child_reference(parent: &TableDef, child: Arc<TableDef>, key: &ForeignKeyDef) -> Option<ChildReference> {
    let columns = key.columns_in(parent)?;
    let index = index_with(&child, &key.columns)?;
    Some(ChildReference {
        columns,
        index,
        child_columns: key.columns.clone(),
        on_delete: key.on_delete,
        on_update: key.on_update,
        described: key.described(&child),
        hidden: false,
        child,
    })
}

/// Returns an index that begins with these columns, preferably a unique one.
fn index_with(table: &TableDef, columns: &[usize]) -> Option<Arc<IndexDef>> {
    table.indexes.iter().find(|index| index.leading_columns().starts_with(columns)).cloned()
}
