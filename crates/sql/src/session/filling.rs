//! A table that a dump fills: the INSERTs between `ALTER TABLE .. DISABLE KEYS` and `ENABLE KEYS`, under `LOCK TABLES .. WRITE`, are one bulk load.
//!
//! Nobody else can use the table. The rows of a statement are added to the load when all of them are known, so that one that fails adds nothing. They have to
//! come in the order of the primary key, as those of a dump do, which tells that there is no duplicate of it; and other unique keys must be such that they
//! need not be looked at (`unique_checks = 0`). Whatever else the session does ends the load first, so that it always meets the table with its rows, and
//! so do UNLOCK TABLES and the session's own end. Before that the rows are not durable: that is what keys that are disabled mean.

use super::Session;
use crate::parser::ast::{InsertSource, StatementKind};
use leafline_table::{MetadataMode, TableDef, TableId, TableLoader};
use leafline_types::{CancelToken, MysqlError, Value};
use std::sync::Arc;

/// The table whose keys are disabled, and the load of it, once it has begun.
#[derive(Default)]
pub(super) struct Filling {
    table: Option<TableId>,
    load: Option<Load>,
}

struct Load {
    loader: TableLoader,
    /// Clustered key of the last row.
    last: Vec<u8>,
}

impl Session {
    /// ALTER TABLE .. DISABLE KEYS, or ENABLE KEYS. The load of before has ended.
    pub(crate) fn disable_keys(&mut self, table: &TableDef, disabled: bool) {
        let is_open = self.settings.bulk_load_rows > 0 && !table.is_private && self.is_alone_with(table);
        self.filling.table = (disabled && is_open).then_some(table.id);
    }

    fn is_alone_with(&self, table: &TableDef) -> bool {
        let key = self.locks.table_key(&table.database, &table.name);
        self.locks.excludes(key, MetadataMode::Exclusive)
    }

    /// Whether rows that are inserted into `table` may go to the load: whether it has begun, or can begin.
    pub(crate) fn fills(&self, table: &TableDef) -> bool {
        let checks_unique = self.settings.unique_checks;
        self.filling.table == Some(table.id)
            && self.is_alone_with(table)
            && (!checks_unique || !table.secondary().iter().any(|index| index.is_unique()))
            && (self.filling.load.is_some() || self.instance.engine().is_empty(table).unwrap_or(false))
    }

    /// Adds the rows of a statement to the load. False, and nothing is added, if they do not follow those before in the order of keys.
    ///
    /// # Errors
    /// What the store returns. The table is empty then.
    pub(crate) fn fill(&mut self, table: &Arc<TableDef>, rows: &[Vec<Value>]) -> Result<bool, MysqlError> {
        let mut load = match self.filling.load.take() {
            Some(load) => load,
            None => {
                let control = self.build_control();
                let loader = self.instance.engine().bulk_load_locked(table, &control)?;
                Load { loader, last: Vec::new() }
            }
        };
        let (mut last, mut key) = (load.last.clone(), Vec::new());
        for row in rows.iter().filter(|_| !table.has_hidden_row_id()) {
            key.clear();
            table.clustered().format.encode_key(row, &[], &mut key)?;
            if key <= last {
                let begun = load.loader.rows() > 0;
                self.filling.load = begun.then_some(load);
                return Ok(false);
            }
            std::mem::swap(&mut key, &mut last);
        }
        for row in rows {
            load.loader.push_numbered(row)?;
        }
        load.last = last;
        self.filling.load = Some(load);
        Ok(true)
    }

    /// Ends the load, if there is one: its rows are there for everybody, and durable.
    ///
    /// # Errors
    /// 1062 for a unique key that was not to be checked; what the store returns. The table is empty then.
    pub(crate) fn end_filling(&mut self) -> Result<(), MysqlError> {
        if let Some(load) = self.filling.load.take() {
            let table = load.loader.table().clone();
            load.loader.finish()?;
            self.instance.statistics().forget(&table);
        }
        Ok(())
    }

    /// Ends the load for the sake of a statement that is into its table and cannot be part of it; the table as it is defined then. `None` if
    /// there was no load.
    ///
    /// # Errors
    /// Those of [`end_filling`](Self::end_filling).
    pub(crate) fn after_filling(&mut self, table: &TableDef) -> Result<Option<Arc<TableDef>>, MysqlError> {
        if self.filling.load.is_none() {
            return Ok(None);
        }
        self.end_filling()?;
        Ok(self.instance.engine().catalog().table_by_id(table.id).cloned())
    }

    /// Ends a load that INSERTs of before have begun, unless this is another of them.
    pub(crate) fn end_filling_before(&mut self, kind: &StatementKind) -> Result<(), MysqlError> {
        let StatementKind::Insert(insert) = kind else { return self.end_filling_unless(None) };
        let InsertSource::Values(_) = &insert.source else { return self.end_filling_unless(None) };
        let database = insert.table.database.as_ref().map(|database| database.value.clone());
        let database = database.or(self.database().map(str::to_owned)).unwrap_or_default();
        self.end_filling_unless(Some((&database, &insert.table.name.value)))
    }

    /// Before a statement that reads or writes tables: ends the load, unless it inserts into the table of the load.
    ///
    /// # Errors
    /// Those of [`end_filling`](Self::end_filling).
    pub(crate) fn end_filling_unless(
        &mut self,
        inserts_into: Option<(&str, &str)>,
    ) -> Result<(), MysqlError> {
        let Some(load) = &self.filling.load else { return Ok(()) };
        let table = load.loader.table();
        match inserts_into {
            Some(name) if name == (table.database.as_str(), table.name.as_str()) => Ok(()),
            _ => self.end_filling(),
        }
    }

    /// The session ends, or begins anew: what was acknowledged stays.
    pub(super) fn leave_filling(&mut self) {
        if let Some(load) = &mut self.filling.load {
            load.loader.set_cancel(CancelToken::new());
        }
        // There is nobody to be told.
        self.end_filling().ok();
        self.filling.table = None;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions, Outcome, Session};
    use leafline_storage::device::SimulatedEnv;
    use std::sync::Arc;

    fn open(env: &SimulatedEnv) -> Arc<Instance> {
        let mut options = InstanceOptions::default();
        options.engine.store.background = false;
        Instance::open(Arc::new(env.clone()), options).unwrap()
    }

    fn run(session: &mut Session, statements: &[&str]) {
        for sql in statements {
            session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    fn count(session: &mut Session) -> String {
        let Outcome::Rows(mut rows) =
            session.execute("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k > 0").unwrap()
        else {
            panic!("no rows")
        };
        let batch = rows.next_batch(session).unwrap().unwrap();
        format!("{:?}", leafline_types::value_at(&batch.columns[0], 0, &rows.types()[0]))
    }

    const BEGIN: [&str; 6] = [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, k INT, KEY (k))",
        "LOCK TABLES d.t WRITE",
        "ALTER TABLE d.t DISABLE KEYS",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "INSERT INTO d.t VALUES (3, 3)",
    ];

    #[test]
    fn rows_are_durable_with_the_end_of_the_load_and_not_before() {
        for ended in [false, true] {
            let env = SimulatedEnv::new();
            let instance = open(&env);
            let mut session = instance.connect().unwrap();
            run(&mut session, &BEGIN);
            assert!(session.filling.load.is_some(), "the statements are a load");
            if ended {
                run(&mut session, &["ALTER TABLE d.t ENABLE KEYS", "UNLOCK TABLES"]);
                assert!(session.filling.load.is_none());
            }
            env.cut(7);
            // What is left of the process does not reach the disk any more.
            drop((session, instance));
            let instance = open(&env);
            let engine = instance.engine();
            let table = engine.table("d", "t").unwrap();
            assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
            assert_eq!(engine.store().verify_space().unwrap(), Vec::<String>::new());
            let mut session = instance.connect().unwrap();
            assert_eq!(count(&mut session), if ended { "Int(3)" } else { "Int(0)" });
        }
    }

    #[test]
    fn what_was_acknowledged_stays_when_the_session_ends() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        let mut session = instance.connect().unwrap();
        run(&mut session, &BEGIN);
        session.cancel.cancel(leafline_types::statement::CancelReason::ConnectionKilled);
        drop(session);
        let mut session = instance.connect().unwrap();
        assert_eq!(count(&mut session), "Int(3)");
        // Without the lock, or with a unique key that has to be looked at, statements are what they are.
        run(&mut session, &["TRUNCATE d.t", "ALTER TABLE d.t DISABLE KEYS", "INSERT INTO d.t VALUES (1, 1)"]);
        assert!(session.filling.load.is_none());
        run(&mut session, &["CREATE TABLE d.u (id INT PRIMARY KEY, k INT UNIQUE)", "LOCK TABLES d.u WRITE"]);
        run(&mut session, &["ALTER TABLE d.u DISABLE KEYS", "INSERT INTO d.u VALUES (1, 1)"]);
        assert!(session.filling.load.is_none());
        assert_eq!(
            session.execute("INSERT INTO d.u VALUES (2, 1)").err().map(|error| error.code),
            Some(1062)
        );
    }
}
