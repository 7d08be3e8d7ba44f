//! A table that a statement uses, whose definition others may not change meanwhile.

use leafline_table::{LockStrength, MetadataKey, SessionLocks, TableDef};

/// A table that a statement uses.
#[derive(Clone, Debug)]
pub(crate) struct TableUse {
    pub(crate) key: MetadataKey,
    pub(crate) writes: bool,
    /// The table's name in the statement; `None` if a foreign key leads to it.
    pub(crate) alias: Option<String>,
}

impl TableUse {
    /// The use of a table; `None` for a table that other sessions cannot use.
    pub(crate) fn new(
        locks: &SessionLocks,
        table: &TableDef,
        alias: Option<&str>,
        strength: Option<LockStrength>,
    ) -> Option<TableUse> {
        (!table.is_private).then(|| TableUse {
            key: locks.table_key(&table.database, &table.name),
            writes: strength == Some(LockStrength::Update),
            alias: alias.map(Into::into),
        })
    }

    /// The use of a view; its tables have uses of their own.
    pub(crate) fn of_view(locks: &SessionLocks, database: &str, name: &str) -> TableUse {
        TableUse { key: locks.table_key(database, name), writes: false, alias: None }
    }
}
