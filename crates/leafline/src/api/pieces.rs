//! Queries that several connections share, each reading some pieces.

use super::arrow::{ArrowBatches, ArrowLayout};
use super::connection::Connection;
use super::error::{Error, Result};
use super::shared::Shared;
use super::value::{Params, parameters};
use arrow_schema::SchemaRef;
use leafline_sql::{ColumnMeta, Cut, Outcome, QueryPieces};
use std::fmt;
use std::sync::Arc;

impl Connection {
    /// Plans a SELECT to be read in pieces: ranges of the index that it walks, at the snapshot of the transaction, or
    /// at the newest one if none is open. A query that is more than a read of one table is one piece.
    ///
    /// # Errors
    /// MySQL's; 1235 for a statement that is not a SELECT, that locks rows, or that counts rows beyond its LIMIT, and
    /// in a transaction that has written.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// # connection.execute("CREATE DATABASE d", ())?;
    /// # connection.execute("CREATE TABLE d.t (a INT PRIMARY KEY)", ())?;
    /// # connection.execute("INSERT INTO d.t VALUES (1), (2), (3)", ())?;
    /// let cut = leafline::Cut { most: 4, least_rows: 1000, in_index_order: true };
    /// let pieces = connection.pieces("SELECT a FROM d.t WHERE a > ?", (1,), cut)?;
    /// assert_eq!(pieces.order(), [(0, false)]);
    /// let mut rows = 0;
    /// for number in 0..pieces.count() {
    ///     // Each could be read by another thread, with a connection of its own.
    ///     let mut connection = database.connect()?;
    ///     for batch in pieces.read(number, &mut connection)? {
    ///         rows += batch?.num_rows();
    ///     }
    /// }
    /// assert_eq!(rows, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pieces(&mut self, sql: &str, params: impl Params, cut: Cut) -> Result<Pieces> {
        let values = parameters(params)?;
        self.close_discarded();
        let pieces = self.session.query_pieces(sql, &values, cut)?;
        let layout = ArrowLayout::new(pieces.columns());
        Ok(Pieces { pieces, layout, shared: self.shared.clone() })
    }
}

/// A query cut in pieces. The rows of the pieces, one after another, are those of the query in its order. All are
/// read at one snapshot, by any connection and at any time. Old versions of rows are kept as long as this exists.
pub struct Pieces {
    // Before `shared`, because its snapshot must end before the database closes.
    pieces: QueryPieces,
    layout: ArrowLayout,
    shared: Arc<Shared>,
}

impl Pieces {
    /// Returns how many pieces there are; none if the query cannot have rows.
    pub fn count(&self) -> usize {
        self.pieces.count()
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ColumnMeta] {
        self.pieces.columns()
    }

    /// Returns names and types of the columns of record batches.
    pub fn schema(&self) -> SchemaRef {
        self.layout.schema()
    }

    /// Returns how many rows are expected in all.
    pub fn expected_rows(&self) -> f64 {
        self.pieces.expected_rows()
    }

    /// Returns the columns in whose order rows come from the index, most significant first, each with whether the
    /// order is descending. NULL is the smallest value, and strings are in the order of their collations. Empty for a
    /// query that sorts, or is one piece for another reason.
    pub fn order(&self) -> &[(usize, bool)] {
        self.pieces.order()
    }

    /// Returns how many of these columns, from the first, have one value in all rows under their collations. Rows are
    /// also in the order of the columns behind them.
    pub fn fixed(&self) -> usize {
        self.pieces.fixed()
    }

    /// Reads a piece; each may be read any number of times.
    ///
    /// # Errors
    /// [`Error::ForeignStatement`] for a connection of another database; 1210 if there is no such piece, 1412 if a
    /// table has changed since; MySQL's.
    pub fn read<'c>(&self, number: usize, connection: &'c mut Connection) -> Result<ArrowBatches<'c>> {
        if !Arc::ptr_eq(&self.shared, &connection.shared) {
            return Err(Error::ForeignStatement);
        }
        connection.close_discarded();
        let rows = connection.session.run_piece(&self.pieces, number)?;
        Ok(ArrowBatches::new(&mut connection.session, Outcome::Rows(rows)))
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.fmt(f)
    }
}
