//! An INSERT that fills an empty table: its trees are built from the rows instead of being changed row by row.
//!
//! The first rows are inserted as ever. When there are as many as `leafline_bulk_load_rows`, or megabytes of them, they are taken back and go, with all
//! that follow, to a [`TableLoader`]: sorted by key, written once, past the log, and made known by one commit of the catalog. Nobody else writes to the table
//! from then on (`MetadataMode::NoWrite`); who reads it sees it empty until the end. What is in somebody's way goes row by row: a transaction that is more
//! than the statement, a table with rows, one that others are writing to, or one whose keys foreign keys may be waiting for, and what names partitions.
//!
//! Duplicates show when entries are sorted. Where they are no error (IGNORE, REPLACE, ON DUPLICATE KEY UPDATE) the statement begins again, row by row, as
//! the order of rows decides then what is left out or replaced.

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

/// Bytes of values that are many, whatever the number of rows.
const MANY_BYTES: usize = 4 << 20;

/// How the rows of an INSERT are written.
pub(super) enum Bulk {
    /// Row by row.
    Off,
    /// Row by row, until there are many.
    Watching(Watched),
    /// Trees are being built.
    Loading(Box<Loading>),
}

/// How the rows of an INSERT were written.
pub(super) enum Finished {
    /// Row by row.
    Rows,
    /// Trees were built of them.
    Built,
    /// Not at all: some of them are in each other's way, and the statement is to begin again.
    Duplicates,
}

/// The rows so far.
pub(super) struct Watched {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    /// How many are many.
    most: u64,
    /// Before the first of them.
    begin: StatementMark,
    /// The next AUTO_INCREMENT number then.
    next_number: u64,
}

/// A load at work.
pub(super) struct Loading {
    loader: TableLoader,
    /// The next AUTO_INCREMENT number when the statement began.
    next_number: u64,
    /// Others do not write to it. Nobody else knows a private table.
    _excluding: Option<Excluding>,
}

impl Bulk {
    /// For a statement that begins.
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
        Bulk::Watching(Watched {
            rows: Vec::new(),
            bytes: 0,
            most,
            begin: transaction.savepoint(),
            next_number: engine.next_auto_increment(insert.table.id),
        })
    }

    /// Whether the statement may have to begin again, and its rows with it.
    pub(super) fn may_begin_again(&self, insert: &BoundInsert) -> bool {
        match self {
            Bulk::Off => false,
            Bulk::Watching(_) | Bulk::Loading(_) => {
                let is_key = |index: &Arc<IndexDef>| index.is_unique() && !index.parts.is_empty();
                allows_duplicates(insert) && insert.table.indexes.iter().any(is_key)
            }
        }
    }

    /// A row was inserted. When there are many, trees are built from here on.
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

    /// Takes a row, if it [takes rows](Self::takes_rows).
    pub(super) fn take(&mut self, row: &[Value]) -> Result<(), TableError> {
        match self {
            Bulk::Off | Bulk::Watching(_) => Ok(()),
            Bulk::Loading(loading) => loading.push(row),
        }
    }

    /// Whether it takes rows.
    pub(super) fn takes_rows(&self) -> bool {
        matches!(self, Bulk::Loading(_))
    }

    /// The error of a statement that this error of a row ends: that of a row before which is in the way of another, if there is one, as that
    /// would have ended it where rows are written one by one.
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

    /// Ends the statement's rows: what was collected is built.
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
                // Nobody else has asked for numbers.
                cx.transaction.take_back_auto_increment(insert.table.id, next_number);
                Ok(Finished::Duplicates)
            }
            Err(error) => Err(of_table(error, cx.session)),
        }
    }
}

impl Loading {
    /// `None` if somebody else uses the table, or has been quicker.
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

/// Whether a row whose key is there is no error.
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

/// Tells how far an INSERT is: of so many rows, or bytes; 0 if nobody knows.
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
        // What belongs to a transaction goes with it.
        run(&mut session, "BEGIN");
        run(&mut session, insert);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM d.t"), Value::Int(4000));
        run(&mut session, "ROLLBACK");
        is_empty(&mut session, "rolled back");
    }
}
