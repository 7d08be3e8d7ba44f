//! Connections: running SQL, transactions, interrupting a statement.

use super::arrow::ArrowBatches;
use super::dropped_statements::DroppedStatements;
use super::error::Result;
use super::rows::{Row, Rows};
use super::shared::Shared;
use super::value::{Params, parameters};
use leafline_sql::{Outcome, OwnFiles, RowStream, Session};
use leafline_types::statement::{CancelReason, CancelToken, Watch};
use leafline_types::{MysqlError, Value};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// The effect of a statement without rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ExecuteResult {
    /// The number of rows inserted, deleted, or changed by an UPDATE; rows that it left unchanged do not count.
    pub rows_affected: u64,
    /// The first AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
}

/// A connection: a session of one client, used by one thread at a time.
pub struct Connection {
    // Before `shared`, because a session must end before its database closes.
    pub(crate) session: Session,
    pub(crate) discarded: DroppedStatements,
    /// The parameters of the last prepared statement, kept to reuse their memory.
    pub(crate) values: Vec<Value>,
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    pub(crate) fn new(mut session: Session, shared: Arc<Shared>) -> Connection {
        session.allow_several_results(true);
        Connection { session, discarded: DroppedStatements::default(), values: Vec::new(), shared }
    }

    /// Runs one statement to its end and returns its effect. Reads and drops its rows, if it has any, also those of all
    /// results of CALL.
    ///
    /// # Errors
    /// MySQL's. The statement then has no effect.
    pub fn execute(&mut self, sql: &str, params: impl Params) -> Result<ExecuteResult> {
        let outcome = self.start(sql, &parameters(params)?)?;
        self.finish(outcome)
    }

    /// Runs one statement and returns its rows, which are computed as they are read; no rows for a statement that
    /// returns none. Dropping them ends the statement. CALL may have several results: [`Rows::next_result`].
    ///
    /// # Errors
    /// MySQL's.
    pub fn query(&mut self, sql: &str, params: impl Params) -> Result<Rows<'_>> {
        let outcome = self.start(sql, &parameters(params)?)?;
        Ok(Rows::new(&mut self.session, outcome))
    }

    /// Runs one statement and returns its rows as Arrow record batches. CALL may have several results:
    /// [`ArrowBatches::next_result`].
    ///
    /// # Errors
    /// MySQL's.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// let mut batches = connection.query_arrow("SELECT 1 AS one, 'x' AS name", ())?;
    /// assert_eq!(batches.schema().field(1).name(), "name");
    /// assert_eq!(batches.next().unwrap()?.num_rows(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_arrow(&mut self, sql: &str, params: impl Params) -> Result<ArrowBatches<'_>> {
        let outcome = self.start(sql, &parameters(params)?)?;
        Ok(ArrowBatches::new(&mut self.session, outcome))
    }

    /// Returns the values of the OUT and INOUT parameters of the last statement, a CALL whose arguments for them were
    /// `?`, as a row that has their names. They are there once, after the procedure has run to its end; `None` otherwise.
    ///
    /// # Errors
    /// MySQL's.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// # connection.execute("CREATE DATABASE d", ())?;
    /// # connection.execute("USE d", ())?;
    /// connection.execute("CREATE PROCEDURE twice(a INT, OUT b INT, INOUT c VARCHAR(9)) SET b = a * 2, c = UPPER(c)", ())?;
    /// let call = connection.prepare("CALL twice(?, ?, ?)")?;
    /// call.execute(&mut connection, (4, None::<i64>, "x"))?;
    /// let out = connection.out_parameters()?.unwrap();
    /// assert_eq!((out.get::<i64>("b")?, out.get::<String>("c")?), (8, "X".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn out_parameters(&mut self) -> Result<Option<Row>> {
        match self.session.out_parameters()? {
            Some(rows) => Row::first(rows, &mut self.session),
            None => Ok(None),
        }
    }

    /// Begins a transaction, which is rolled back unless it is committed.
    ///
    /// # Errors
    /// 1568 if one is open.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// # connection.execute("CREATE DATABASE d", ())?;
    /// # connection.execute("CREATE TABLE d.t (a INT PRIMARY KEY)", ())?;
    /// let mut transaction = connection.transaction()?;
    /// transaction.execute("INSERT INTO d.t VALUES (?)", (1,))?;
    /// transaction.commit()?;
    ///
    /// let mut transaction = connection.transaction()?;
    /// transaction.execute("DELETE FROM d.t", ())?;
    /// drop(transaction);
    ///
    /// assert_eq!(connection.query("SELECT a FROM d.t", ())?.count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        if self.session.in_transaction() {
            return Err(MysqlError::cannot_change_transaction().into());
        }
        self.execute("START TRANSACTION", ())?;
        Ok(Transaction { connection: self, open: true })
    }

    /// Returns a handle that interrupts this connection's statement from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.session.cancel_token())
    }

    /// Returns the session underneath.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Begins a statement given as text.
    fn start(&mut self, sql: &str, values: &[Value]) -> Result<Outcome> {
        self.close_discarded();
        if values.is_empty() {
            return Ok(self.session.execute_with_files(sql, &mut OwnFiles)?);
        }
        let prepared = self.session.prepare(sql)?;
        let outcome = self.session.execute_prepared(prepared.id, values);
        self.session.close_prepared(prepared.id);
        Ok(outcome?)
    }

    /// Runs a statement to its end.
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Result<ExecuteResult> {
        let (mut next, mut result) = (Some(outcome), ExecuteResult::default());
        while let Some(outcome) = next {
            match outcome {
                Outcome::Done(done) => {
                    result =
                        ExecuteResult { rows_affected: done.affected, last_insert_id: done.last_insert_id };
                }
                Outcome::Rows(rows) => self.skip(rows)?,
            }
            next = self.session.next_result()?;
        }
        Ok(result)
    }

    /// Reads rows to their end; an error ends the statement.
    fn skip(&mut self, mut rows: RowStream) -> Result<()> {
        loop {
            match rows.next_batch(&mut self.session) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.session.give_up_results();
                    return Err(error.into());
                }
            }
        }
    }

    pub(crate) fn close_discarded(&mut self) {
        for id in self.discarded.take() {
            self.session.close_prepared(id);
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("id", &self.session.connection_id()).finish_non_exhaustive()
    }
}

/// A transaction of a connection, usable in its place. Dropping it rolls back.
#[derive(Debug)]
pub struct Transaction<'c> {
    connection: &'c mut Connection,
    open: bool,
}

impl Transaction<'_> {
    /// Commits; the transaction is durable when this returns.
    ///
    /// # Errors
    /// 1412 if a table was changed meanwhile, 1021 if the disk is full; everything is rolled back then.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.connection.execute("COMMIT", ()).map(|_| ())
    }

    /// Rolls back.
    ///
    /// # Errors
    /// Any error leaves no trace of the transaction, either.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.connection.execute("ROLLBACK", ()).map(|_| ())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A rollback only drops what was never written.
            let _ = self.connection.execute("ROLLBACK", ());
        }
    }
}

/// Interrupts the statement that a connection runs.
#[derive(Clone, Debug)]
pub struct InterruptHandle(CancelToken);

impl InterruptHandle {
    /// Ends the running statement with error 1317. Does nothing if none runs.
    pub fn interrupt(&self) {
        self.0.cancel(CancelReason::QueryKilled);
    }

    /// Runs `work`. About once in `every`, a statement that runs in it on this thread calls `watch`, and ends with
    /// error 1317 when that returns true. For programs whose signals are handled by the thread that runs statements.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// let watch: leafline::Watch = Arc::new(|| true);
    /// let handle = connection.interrupt_handle();
    /// let stopped = handle.watched(Duration::from_millis(1), &watch, || connection.execute("DO SLEEP(1000)", ()));
    /// assert_eq!(stopped.unwrap_err().code(), 1317);
    /// # Ok(())
    /// # }
    /// ```
    pub fn watched<R>(&self, every: Duration, watch: &Watch, work: impl FnOnce() -> R) -> R {
        self.0.watched(every, watch, work)
    }
}
