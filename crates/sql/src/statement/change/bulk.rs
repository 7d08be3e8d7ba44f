//! Bulk load: an INSERT that fills an empty table builds its trees from the rows instead of changing them row by row.
//!
//! The statement inserts its first rows row by row. After `leafline_bulk_load_rows` rows, or 4 MiB, it takes the rows back and
//! gives them, with all later rows, to a [`TableLoader`]. The loader sorts rows by key and writes them once, past the log; one
//! commit of the catalog makes them known. While the loader works no other session writes to the table
//! (`MetadataMode::NoWrite`), and readers see the table empty.
//!
//! A statement stays row by row where a load would disturb others: in a transaction of several statements, for a table that has
//! rows, that others write to, or whose keys foreign keys may wait for, and where the statement names partitions.
//!
//! Sorting the entries finds duplicates. Where duplicates are no error (IGNORE, REPLACE, ON DUPLICATE KEY UPDATE) the statement
//! begins again row by row, because the order of rows then decides which rows are left out or replaced.

use super::{ChangeContext, of_table};
use crate::session::{SessionView, StatementContext};
use leafline_planner::bound::{BoundInsert, InsertRows, OnDuplicate};
use leafline_table::{
    Excluding, IndexDef, MetadataMode, Partitioning, StatementMark, TableDef, TableError, TableLoader,
    Transaction,
};
use leafline_types::error::errno;
use leafline_types::{MysqlError, Stage, Value};
use std::sync::Arc;

/// Bytes of values that start a load, whatever the number of rows.
const MANY_BYTES: usize = 4 << 20;

/// The way in which an INSERT writes its rows.
pub(super) enum Bulk {
    /// Row by row.
    Off,
    /// Row by row, until there are many.
    Watching(RowsBeforeBulk),
    /// A loader builds the trees.
    Loading(Box<Loading>),
}

/// The way in which an INSERT has written its rows.
pub(super) enum Finished {
    /// Row by row.
    Rows,
    /// A loader built the trees from them.
    Built,
    /// Not at all: some rows have the same key, and the statement begins again.
    Duplicates,
}

/// The rows of a statement that may become a load.
pub(super) struct RowsBeforeBulk {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    /// Number of rows that starts a load.
    most: u64,
    /// The savepoint before the first row.
    begin: StatementMark,
    /// The next AUTO_INCREMENT number at that savepoint.
    next_number: u64,
}

/// A running load.
pub(super) struct Loading {
    loader: TableLoader,
    /// The next AUTO_INCREMENT number when the statement began.
    next_number: u64,
    /// Keeps other writers away. `None` for a private table, which no other session knows.
    _excluding: Option<Excluding>,
}

impl Bulk {
    /// Decides, at the start of a statement, whether it may become a load.
    pub(super) fn new(insert: &BoundInsert, session: SessionView<'_>, transaction: &Transaction) -> Bulk {
        let most = session.settings.bulk_load_rows;
        let there = match &insert.rows {
            InsertRows::Values(rows) => rows.len() as u64,
            InsertRows::Select(_) | InsertRows::File(_) => u64::MAX,
        };
        let engine = session.instance.engine();
        let may = most > 0
            && there >= most
            && transaction.can_load()
            && !transaction.has_writes()
            && insert.table.partitioning.as_ref().is_none_or(Partitioning::is_whole)
            && !insert.foreign.refer_to(&insert.table)
            && engine.ddl().is_empty(&insert.table).unwrap_or(false);
        if !may {
            return Bulk::Off;
        }
        Bulk::Watching(RowsBeforeBulk {
            rows: Vec::new(),
            bytes: 0,
            most,
            begin: transaction.savepoint(),
            next_number: engine.next_auto_increment(insert.table.id),
        })
    }

    /// Returns whether the statement may have to begin again with its first row.
    pub(super) fn may_begin_again(&self, insert: &BoundInsert) -> bool {
        match self {
            Bulk::Off => false,
            Bulk::Watching(_) | Bulk::Loading(_) => {
                let is_key = |index: &Arc<IndexDef>| index.is_unique() && !index.parts.is_empty();
                allows_duplicates(insert) && insert.table.indexes.iter().any(is_key)
            }
        }
    }

    /// Notes a row that was inserted row by row. Starts a load when there are enough.
    pub(super) fn note(
        &mut self,
        table: &Arc<TableDef>,
        row: &[Value],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError> {
        let Bulk::Watching(watched) = self else { return Ok(()) };
        watched.rows.push(row.to_vec());
        watched.bytes += row.iter().map(value_bytes).sum::<usize>();
        if (watched.rows.len() as u64) < watched.most && watched.bytes < MANY_BYTES {
            return Ok(());
        }
        let (rows, begin) = (std::mem::take(&mut watched.rows), watched.begin);
        let next_number = watched.next_number;
        *self = Bulk::Off;
        let Some(mut loading) = Loading::start(table, next_number, cx)? else { return Ok(()) };
        cx.transaction.rollback_to(begin);
        for row in rows {
            loading.push(&row)?;
        }
        *self = Bulk::Loading(Box::new(loading));
        Ok(())
    }

    /// Adds a row to the load. Does nothing unless a load is [running](Self::takes_rows).
    pub(super) fn take(&mut self, row: &[Value]) -> Result<(), TableError> {
        match self {
            Bulk::Off | Bulk::Watching(_) => Ok(()),
            Bulk::Loading(loading) => loading.push(row),
        }
    }

    /// Returns whether a load is running.
    pub(super) fn takes_rows(&self) -> bool {
        matches!(self, Bulk::Loading(_))
    }

    /// Returns the error with which a statement ends after `error` of a row. An earlier duplicate among the loaded rows comes first,
    /// because it would have ended the statement row by row.
    pub(super) fn first_error(
        self,
        error: MysqlError,
        insert: &BoundInsert,
        cx: &mut StatementContext<'_>,
    ) -> MysqlError {
        let Bulk::Loading(loading) = self else { return error };
        let is_of_row = cx.exec.eval.cancel.check().is_ok() && error.code != errno::ER_DISK_FULL;
        if allows_duplicates(insert) || !is_of_row {
            return error;
        }
        match loading.loader.check() {
            Err(duplicate @ TableError::DuplicateEntry { .. }) => of_table(duplicate, cx.session),
            _ => error,
        }
    }

    /// Ends the statement's rows: a running load builds its trees.
    pub(super) fn finish(
        self,
        insert: &BoundInsert,
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<Finished, MysqlError> {
        let loading = match self {
            Bulk::Off | Bulk::Watching(_) => return Ok(Finished::Rows),
            Bulk::Loading(loading) => loading,
        };
        let Loading { loader, next_number, _excluding } = *loading;
        match loader.finish() {
            Ok(_) => {
                insert.table.stored().for_each(|table| cx.session.instance.statistics().forget(table));
                Ok(Finished::Built)
            }
            Err(TableError::DuplicateEntry { .. }) if allows_duplicates(insert) => {
                // No other session has drawn numbers, because the load keeps other writers away.
                cx.transaction.take_back_auto_increment(insert.table.id, next_number);
                Ok(Finished::Duplicates)
            }
            Err(error) => Err(of_table(error, cx.session)),
        }
    }
}

impl Loading {
    /// Starts a load; `None` if another session writes to the table, or has filled it first.
    fn start(
        table: &Arc<TableDef>,
        next_number: u64,
        cx: &mut StatementContext<'_>,
    ) -> Result<Option<Loading>, MysqlError> {
        let mut excluding = None;
        if !table.is_private {
            let key = cx.session.locks.table_key(&table.database, &table.name);
            excluding = cx.session.locks.try_exclude(key, MetadataMode::NoWrite)?;
            if excluding.is_none() {
                return Ok(None);
            }
        }
        let engine = cx.session.instance.engine();
        if !engine.ddl().is_empty(table)? {
            return Ok(None);
        }
        let loader = engine.ddl().bulk_load_locked(table, &cx.session.build_control())?;
        Ok(Some(Loading { loader, next_number, _excluding: excluding }))
    }

    /// Adds a row.
    fn push(&mut self, row: &[Value]) -> Result<(), TableError> {
        self.loader.push_numbered(row)
    }
}

/// Returns whether a row whose key exists is no error.
fn allows_duplicates(insert: &BoundInsert) -> bool {
    insert.ignore || !matches!(insert.on_duplicate, OnDuplicate::Fail)
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => size_of::<Value>(),
    }
}

/// Begins the progress of an INSERT of `total` rows or bytes; 0 if the number is not known.
pub(super) fn begin_progress(session: SessionView<'_>, total: u64) {
    session.entry.progress.begin(Stage::Loading, (1, 2), total);
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions, Outcome, Session};
    use leafline_storage::device::SimulatedEnv;
    use leafline_types::Value;
    use leafline_types::statement::CancelReason;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn run(session: &mut Session, sql: &str) {
        session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn number(session: &mut Session, sql: &str) -> Value {
        let Outcome::Rows(mut rows) = session.execute(sql).unwrap() else { panic!("{sql}: no rows") };
        let batch = rows.next_batch(session).unwrap().unwrap();
        leafline_types::value_at(&batch.columns[0], 0, &rows.types()[0])
    }

    #[test]
    fn a_statement_that_is_killed_anywhere_or_has_duplicates_leaves_nothing() {
        is_whole_or_nothing(
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, u INT UNIQUE, KEY (k))",
        );
    }

    #[test]
    fn a_statement_that_fills_partitions_does_so_as_a_whole() {
        is_whole_or_nothing(
            "CREATE TABLE d.t (id INT AUTO_INCREMENT, k INT, u INT, KEY (k), PRIMARY KEY (id, u), UNIQUE (u)) PARTITION BY HASH (u) PARTITIONS 3",
        );
    }

    fn is_whole_or_nothing(create: &str) {
        let env = SimulatedEnv::new();
        let mut options = InstanceOptions::default();
        options.engine.store.background = false;
        let instance = Instance::open(Arc::new(env.clone()), options).unwrap();
        let mut session = instance.connect().unwrap();
        for sql in [
            "SET leafline_bulk_load_rows = 100, innodb_ddl_buffer_size = 65536, cte_max_recursion_depth = 5000",
            "CREATE DATABASE d",
            "CREATE TABLE d.n (n INT PRIMARY KEY)",
            "INSERT INTO d.n WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) SELECT n FROM c",
            create,
        ] {
            run(&mut session, sql);
        }
        let engine = instance.engine().clone();
        engine.maintenance().purge().unwrap();
        let segments = engine.store().segments().len();
        let is_empty = |session: &mut Session, what: &str| {
            assert_eq!(
                number(session, "SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k > 0"),
                Value::Int(0),
                "{what}"
            );
            let table = engine.table("d", "t").unwrap();
            assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "{what}");
            engine.maintenance().purge().unwrap();
            assert_eq!(engine.store().segments().len(), segments, "{what}");
            assert_eq!(engine.store().verify_space().unwrap(), Vec::<String>::new(), "{what}");
        };
        let insert = "INSERT INTO d.t (k, u) SELECT n % 100 + 1, n FROM d.n";
        let trees = || -> Vec<_> {
            engine.table("d", "t").unwrap().stored().map(|stored| stored.clustered().tree).collect()
        };
        let (before, mut stopped) = (trees(), 0);
        for n in (0..).step_by(7) {
            let (cancel, done) = (session.cancel_token(), AtomicU64::new(0));
            env.set_fault(Some(Arc::new(move |_, _, _| {
                if done.fetch_add(1, Ordering::Relaxed) == n {
                    cancel.cancel(CancelReason::QueryKilled);
                }
                false
            })));
            let result = session.execute(insert).map(drop);
            env.set_fault(None);
            let Err(error) = result else { break };
            assert_eq!(error.code, 1317);
            is_empty(&mut session, &format!("stopped at {n}"));
            stopped += 1;
        }
        assert!(stopped > 0);
        assert!(trees().iter().all(|tree| !before.contains(tree)), "all trees are new");
        assert_eq!(
            number(&mut session, "SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k > 0"),
            Value::Int(4000)
        );
        run(&mut session, "TRUNCATE d.t");
        for sql in [
            "INSERT INTO d.t (k, u) SELECT 1, n % 3999 FROM d.n",
            "INSERT INTO d.t (id, u) SELECT n % 3999 + 1, n % 3999 FROM d.n",
        ] {
            assert_eq!(session.execute(sql).map(drop).map_err(|error| error.code), Err(1062), "{sql}");
            is_empty(&mut session, sql);
        }
        // An INSERT within a transaction is no load: ROLLBACK undoes its rows.
        run(&mut session, "BEGIN");
        run(&mut session, insert);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM d.t"), Value::Int(4000));
        run(&mut session, "ROLLBACK");
        is_empty(&mut session, "rolled back");
    }
}
