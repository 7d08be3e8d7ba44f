//! Results of statements: rows that a statement has made itself, and counts.

use leafline_types::column::Batch;
pub use leafline_types::result_column::{ColumnFlags, ColumnMeta, column};
use leafline_types::{MysqlError, SqlType, Value};

/// The counts of a statement without rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Rows inserted, changed or deleted.
    pub affected: u64,
    /// Rows that an UPDATE's condition found, changed or not; equal to `affected` elsewhere.
    pub matched: u64,
    /// The first AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
    /// The value that clients are told: `last_insert_id`; else the last value stored in an AUTO_INCREMENT
    /// column, or 0.
    pub insert_id: u64,
    /// MySQL's information string: `Rows matched: 1  Changed: 1  Warnings: 0`, `Records: 2  Duplicates: 0 ..`.
    pub info: String,
}

/// Rows that a statement makes itself: SHOW, EXPLAIN, CHECK TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSet {
    /// Names and types of the columns.
    pub columns: Vec<ColumnMeta>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

impl RowSet {
    /// An empty set with these columns.
    pub fn new(columns: impl IntoIterator<Item = (impl Into<String>, SqlType)>) -> RowSet {
        RowSet { columns: columns.into_iter().map(|(name, ty)| column(name, ty)).collect(), rows: Vec::new() }
    }

    /// An empty set with nullable text columns.
    pub fn text<const N: usize>(names: [&str; N]) -> RowSet {
        RowSet::new(names.map(|name| (name, SqlType::Varchar { len: 1024 })))
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// The rows as a batch.
    ///
    /// # Errors
    /// Fails if a value is not of its column's type, which is a bug.
    pub fn batch(&self) -> Result<Batch, MysqlError> {
        let types: Vec<SqlType> = self.columns.iter().map(|column| column.ty.clone()).collect();
        Batch::from_rows(&types, self.rows.iter().map(Vec::as_slice)).map_err(MysqlError::unknown_error)
    }
}
