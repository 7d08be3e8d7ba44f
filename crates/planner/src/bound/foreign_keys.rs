//! Queries on the foreign keys of a statement.

use super::ForeignKeys;
use leafline_table::TableDef;

impl ForeignKeys {
    /// Whether the statement has no foreign keys to check.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether foreign keys refer to the table.
    pub fn refer_to(&self, table: &TableDef) -> bool {
        self.tables.get(&table.id).is_some_and(|references| !references.children.is_empty())
    }

    /// Whether changes of the statement can cascade to rows of the table.
    pub fn can_reach(&self, table: &TableDef) -> bool {
        let mut children = self.tables.values().flat_map(|references| &references.children);
        children.any(|child| {
            child.child.id == table.id && !(child.on_delete.refuses() && child.on_update.refuses())
        })
    }
}
