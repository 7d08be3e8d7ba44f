//! The snapshot of a query: one query of DataFusion reads all tables of a database at one snapshot.
//!
//! DataFusion plans table by table. Only the state of the planning session says which tables belong to one query: it
//! is made anew for each query and has its own generator of aliases. Plans made with the same generator read at the
//! same snapshot, as long as one of them exists: a DataFrame that is run again after its last plan was dropped reads
//! new data.

use datafusion::catalog::Session;
use datafusion::common::alias::AliasGenerator;
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use leafline::{ColumnFlags, ColumnMeta, Connection, Cut, Database, Pieces, Value};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};

/// The settings of all connections, so that results do not depend on the settings of the database.
const SETTINGS: [&str; 3] = [
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00', sql_mode = '', max_execution_time = 0, autocommit = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
];

/// Opens a connection with these settings.
pub(crate) fn connect(database: &Database) -> Result<Connection> {
    let mut connection = database.connect().map_err(failed)?;
    for setting in SETTINGS {
        connection.execute(setting, ()).map_err(failed)?;
    }
    Ok(connection)
}

/// Returns the query of all columns of a table, whose name is quoted.
pub(crate) fn select_all(table: &str) -> String {
    format!("SELECT * FROM {table}")
}

/// Wraps a Leafline error for DataFusion.
pub(crate) fn failed(error: leafline::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A transaction that reads, for planning. As long as it exists, the definitions of the tables it has planned for
/// cannot change.
pub(crate) struct Snapshot {
    pub database: Database,
    connection: Mutex<Connection>,
}

/// The snapshots of queries that are planned or running.
static KNOWN: Mutex<Vec<(Weak<AliasGenerator>, Weak<Snapshot>)>> = Mutex::new(Vec::new());

impl Snapshot {
    /// Returns the snapshot of the query that is planned with this state.
    pub fn of(generator: &Arc<AliasGenerator>, database: &Database) -> Result<Arc<Snapshot>> {
        let mut known = KNOWN.lock();
        known.retain(|(query, snapshot)| query.strong_count() > 0 && snapshot.strong_count() > 0);
        let of_query = known.iter().filter(|(query, _)| std::ptr::eq(query.as_ptr(), Arc::as_ptr(generator)));
        let of_database =
            |snapshot: &Arc<Snapshot>| Arc::ptr_eq(snapshot.database.instance(), database.instance());
        if let Some(found) = of_query.filter_map(|(_, snapshot)| snapshot.upgrade()).find(of_database) {
            return Ok(found);
        }
        let mut connection = connect(database)?;
        connection.execute("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT", ()).map_err(failed)?;
        let snapshot = Arc::new(Snapshot { database: database.clone(), connection: Mutex::new(connection) });
        known.push((Arc::downgrade(generator), Arc::downgrade(&snapshot)));
        Ok(snapshot)
    }

    /// Returns the object that identifies a query.
    pub fn query_of(state: &dyn Session) -> Arc<AliasGenerator> {
        state.execution_props().alias_generator.clone()
    }

    /// Plans a SELECT.
    pub fn pieces(&self, sql: &str, values: &[Value], cut: Cut) -> Result<Arc<Pieces>> {
        self.connection.lock().pieces(sql, values.to_vec(), cut).map(Arc::new).map_err(failed)
    }

    /// Checks that a table, for which something was planned, has these columns unchanged: the meaning of filters
    /// depends on their types and collations.
    pub fn check(&self, table: &str, columns: &[ColumnMeta]) -> Result<()> {
        let statement = self.connection.lock().prepare(&select_all(table)).map_err(failed)?;
        let now = statement.columns();
        let is_same = |then: &ColumnMeta, now: &ColumnMeta| {
            let not_null = |column: &ColumnMeta| column.flags.has(ColumnFlags::NOT_NULL);
            (&then.ty, then.collation, not_null(then)) == (&now.ty, now.collation, not_null(now))
        };
        for then in columns {
            if !now.iter().any(|now| now.name == then.name && is_same(then, now)) {
                let name = &then.name;
                return exec_err!(
                    "column '{name}' of {table} is not what it was when the table was opened: open it again"
                );
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("database", &self.database).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_one_snapshot_of_each_database() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = |name: &str| Database::open(directory.path().join(name)).expect("a database");
        let (one, other) = (open("one"), open("other"));
        let (query, later) = (Arc::new(AliasGenerator::new()), Arc::new(AliasGenerator::new()));
        let of = |query: &Arc<AliasGenerator>, database: &Database| {
            Snapshot::of(query, database).expect("a snapshot")
        };
        let first = of(&query, &one);
        assert!(Arc::ptr_eq(&first, &of(&query, &one.clone())));
        assert!(!Arc::ptr_eq(&first, &of(&query, &other)));
        assert!(!Arc::ptr_eq(&first, &of(&later, &one)));
        // After the last user dropped it, there is a new one.
        let gone = Arc::downgrade(&first);
        drop(first);
        assert!(gone.upgrade().is_none());
        of(&query, &one);
    }
}
