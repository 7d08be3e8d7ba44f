//! Tables that only this session knows: temporary tables, and the table that CREATE TABLE .. SELECT is
//! filling.
//!
//! They hide tables and views of the same name, except from definitions that do not depend on the session:
//! bodies of views, foreign keys. They need no metadata locks, because no other session can use them. They
//! outlive transactions and end with the session.

use super::Session;
use crate::information_schema;
use leafline_syntax::ast::TableName;
use leafline_table::{TableDef, TableId, TableSpec};
use leafline_types::MysqlError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The private tables of a session.
#[derive(Debug, Default)]
pub(super) struct OwnTables {
    /// The tables by database and name.
    named: BTreeMap<(String, String), Arc<TableDef>>,
    /// Dropped tables that the open transaction may have written to.
    dropped: Vec<TableId>,
    /// Number of changes of the names' meanings.
    version: u64,
}

impl OwnTables {
    /// Makes plans that were made with the former definitions invalid.
    pub fn definitions_changed(&mut self) {
        self.version += 1;
    }
}

impl Session {
    /// The session's own table of this name.
    pub(crate) fn own_table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        if self.objects.own_tables.named.is_empty() {
            return None;
        }
        self.objects.own_tables.named.get(&(database.to_owned(), name.to_owned()))
    }

    /// The session's own table that a statement refers to; `None` if the name means a shared table or
    /// nothing.
    pub(crate) fn own_table_named(&self, name: &TableName) -> Option<&Arc<TableDef>> {
        let database = name.database.as_ref().map(|database| database.value.as_str()).or(self.database())?;
        self.own_table(database, &name.name.value)
    }

    /// Version of the own tables; a plan is valid for one version.
    pub(crate) fn own_tables_version(&self) -> u64 {
        self.objects.own_tables.version
    }

    /// The table of this name; the session's own one has priority.
    ///
    /// # Errors
    /// 1049 for an unknown database, 1146 for an unknown table.
    pub(crate) fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        match self.own_table(database, name) {
            Some(table) => Ok(table.clone()),
            None => self.stored_table(database, name),
        }
    }

    /// The shared table of this name.
    ///
    /// # Errors
    /// 1049 if there is no such database, 1146 if there is no such table, 1109 if it would be in
    /// information_schema.
    pub(crate) fn stored_table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        let found = self.instance.engine().table(database, name);
        found.map_err(|error| information_schema::missing(database, name).unwrap_or_else(|| error.into()))
    }

    /// Creates an own table under the name of `spec`, or under `alias`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn create_own_table(
        &mut self,
        spec: &TableSpec,
        alias: Option<&str>,
    ) -> Result<Arc<TableDef>, MysqlError> {
        let table = self.instance.engine().ddl().create_private_table(spec)?;
        let name = alias.unwrap_or(&table.name).to_owned();
        self.objects.own_tables.named.insert((table.database.clone(), name), table.clone());
        self.objects.own_tables.version += 1;
        Ok(table)
    }

    /// Replaces the definition of `old`, and its name if `new` has another.
    pub(crate) fn replace_own_table(&mut self, old: &TableDef, new: Arc<TableDef>) {
        self.forget_own_table(old);
        self.objects.own_tables.named.insert((new.database.clone(), new.name.clone()), new);
    }

    /// Reads the definition of an own table again after it got other trees; does nothing for a shared table.
    pub(crate) fn refresh_own_table(&mut self, table: &TableDef) {
        let Ok(current) = self.instance.engine().ddl().private_table(table.id) else { return };
        let known = self.objects.own_tables.named.values_mut().filter(|known| known.id == table.id);
        known.for_each(|known| *known = current.clone());
        self.objects.own_tables.version += 1;
    }

    /// Forgets the name of a table.
    pub(crate) fn forget_own_table(&mut self, table: &TableDef) {
        self.objects.own_tables.named.retain(|_, known| known.id != table.id);
        self.objects.own_tables.version += 1;
    }

    /// Drops own tables: forgets their names at once, and drops the tables after the transaction that may
    /// have written to them.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn drop_own_tables(&mut self, tables: &[Arc<TableDef>]) -> Result<(), MysqlError> {
        for table in tables {
            self.forget_own_table(table);
            self.objects.own_tables.dropped.push(table.id);
        }
        if self.in_transaction() { Ok(()) } else { self.end_dropped_tables() }
    }

    /// Drops the remembered tables after the end of the transaction.
    pub(super) fn end_dropped_tables(&mut self) -> Result<(), MysqlError> {
        if self.objects.own_tables.dropped.is_empty() {
            return Ok(());
        }
        let dropped = std::mem::take(&mut self.objects.own_tables.dropped);
        Ok(self.instance.engine().ddl().drop_private_tables(&dropped)?)
    }

    /// Drops all own tables when the session is reset or ends, after its transaction.
    pub(super) fn drop_all_own_tables(&mut self) {
        let all: Vec<Arc<TableDef>> = self.objects.own_tables.named.values().cloned().collect();
        // On failure the store has stopped, and the next open drops the tables.
        self.drop_own_tables(&all).ok();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions};
    use leafline_storage::device::SimulatedEnv;
    use std::sync::Arc;

    #[test]
    fn rows_of_a_table_that_was_filled_before_it_was_public_are_counted_after_a_crash() {
        let env = SimulatedEnv::new();
        let open = || Instance::open(Arc::new(env.clone()), InstanceOptions::default()).unwrap();
        let instance = open();
        let mut session = instance.connect().unwrap();
        for sql in [
            "CREATE DATABASE d",
            "SET cte_max_recursion_depth = 10000",
            "CREATE TABLE d.t SELECT * FROM (WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
             SELECT i FROM n) q",
        ] {
            session.execute(sql).unwrap();
        }
        env.power_cut_after(0);
        drop((session, instance));
        env.reboot(1);
        let instance = open();
        let table = instance.engine().table("d", "t").unwrap();
        assert_eq!(instance.engine().row_count(table.id), 5000);
    }

    #[test]
    fn the_tables_of_a_session_go_with_it() {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut session = instance.connect().unwrap();
        // Without this the trees of the change buffer would be counted, too.
        session.execute("SET GLOBAL change_buffering = 'none'").unwrap();
        session.execute("CREATE DATABASE d").unwrap();
        let segments = || {
            instance.engine().maintenance().purge().unwrap();
            instance.engine().store().segments().len()
        };
        let before = segments();
        session.execute("CREATE TEMPORARY TABLE d.t (a INT PRIMARY KEY, b INT, t TEXT, KEY (b))").unwrap();
        session.execute("CREATE TEMPORARY TABLE d.u SELECT * FROM d.t").unwrap();
        session
            .execute("CREATE TEMPORARY TABLE d.v (PRIMARY KEY (a)) SELECT 1 AS a UNION ALL SELECT 1")
            .err()
            .unwrap();
        assert_eq!(segments(), before + 5);
        session.execute("BEGIN").unwrap();
        session.execute("INSERT INTO d.t VALUES (1, 1, 'x')").unwrap();
        session.execute("DROP TEMPORARY TABLE d.t").unwrap();
        assert_eq!(segments(), before + 5, "the transaction has written to it");
        session.execute("COMMIT").unwrap();
        assert_eq!(segments(), before + 2);
        drop(session);
        assert_eq!(segments(), before);
    }
}
