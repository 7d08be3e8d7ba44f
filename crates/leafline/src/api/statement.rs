//! Prepared statements.

use super::connection::{Connection, ExecuteResult};
use super::dropped_statements::DroppedStatements;
use super::error::{Error, Result};
use super::rows::Rows;
use super::value::{Params, put_parameters};
use leafline_sql::{ColumnMeta, Outcome, Prepared};

impl Connection {
    /// Prepares one statement, to be run often. Its parameters are `?`.
    ///
    /// # Errors
    /// MySQL's, as far as they do not depend on the parameters.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        self.close_discarded();
        let prepared = self.session.prepare(sql)?;
        Ok(Statement { prepared, home: self.discarded.clone() })
    }
}

/// A prepared statement: parsed, bound and planned once. Only the connection that prepared it can run it, also inside
/// one of its transactions.
///
/// ```
/// # fn main() -> leafline::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = leafline::Database::open(directory.path().join("db"))?;
/// # let mut connection = database.connect()?;
/// # connection.execute("CREATE DATABASE d", ())?;
/// # connection.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(10))", ())?;
/// let insert = connection.prepare("INSERT INTO d.t VALUES (?, ?)")?;
/// let find = connection.prepare("SELECT b FROM d.t WHERE a = ?")?;
/// let mut transaction = connection.transaction()?;
/// for (number, name) in [(1, "one"), (2, "two")] {
///     insert.execute(&mut transaction, (number, name))?;
/// }
/// transaction.commit()?;
/// let row = find.query(&mut connection, (2,))?.next().unwrap()?;
/// assert_eq!(row.get::<String>("b")?, "two");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Statement {
    prepared: Prepared,
    home: DroppedStatements,
}

impl Statement {
    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.prepared.parameters
    }

    /// Returns the columns of its rows; none if it returns no rows, or if they are known only when it runs.
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.prepared.columns
    }

    /// Runs the statement and returns its effect, like [`Connection::execute`]. [`Connection::out_parameters`] has the
    /// OUT parameters of a CALL.
    ///
    /// # Errors
    /// 1210 if the number of parameters is wrong; [`Error::ForeignStatement`]; MySQL's.
    pub fn execute(&self, connection: &mut Connection, params: impl Params) -> Result<ExecuteResult> {
        let outcome = self.start(connection, params)?;
        connection.finish(outcome)
    }

    /// Runs the statement and returns its rows, like [`Connection::query`]; [`Rows::next_result`] goes on to the next
    /// result of a CALL.
    ///
    /// # Errors
    /// 1210 if the number of parameters is wrong; [`Error::ForeignStatement`]; MySQL's.
    pub fn query<'c>(&self, connection: &'c mut Connection, params: impl Params) -> Result<Rows<'c>> {
        let outcome = self.start(connection, params)?;
        Ok(Rows::new(&mut connection.session, outcome))
    }

    fn start(&self, connection: &mut Connection, params: impl Params) -> Result<Outcome> {
        if !self.home.is(&connection.discarded) {
            return Err(Error::ForeignStatement);
        }
        connection.close_discarded();
        connection.values.clear();
        put_parameters(params, &mut connection.values)?;
        Ok(connection.session.execute_prepared(self.prepared.id, &connection.values)?)
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        self.home.add(self.prepared.id);
    }
}
