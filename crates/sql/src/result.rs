//! What a statement gives back: rows that come from a plan or that a statement has made itself, or what it did.

use leafline_types::column::Batch;
pub use leafline_types::result_column::{ColumnFlags, ColumnMeta, column};
use leafline_types::{MysqlError, SqlType, Value};

/// What a statement without rows did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Rows inserted, changed or deleted.
    pub affected: u64,
    /// Rows that an UPDATE's condition found, changed or not; equal to `affected` elsewhere.
    pub matched: u64,
    /// The first AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
    /// What clients are told: that value; else the last one that was stored in such a column, or 0.
    pub insert_id: u64,
    /// MySQL's information string: `Rows matched: 1  Changed: 1  Warnings: 0`, `Records: 2  Duplicates: 0 ..`.
    pub info: String,
}

/// Rows that a statement has made itself: SHOW, EXPLAIN, CHECK TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSet {
    /// The columns.
    pub columns: Vec<ColumnMeta>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

impl RowSet {
    /// No rows, of columns that are named and typed.
    pub fn new(columns: impl IntoIterator<Item = (impl Into<String>, SqlType)>) -> RowSet {
        RowSet { columns: columns.into_iter().map(|(name, ty)| column(name, ty)).collect(), rows: Vec::new() }
    }

    /// No rows, of nullable text columns.
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
    /// If a value is not of its column's type: a bug.
    pub fn batch(&self) -> Result<Batch, MysqlError> {
        let types: Vec<SqlType> = self.columns.iter().map(|column| column.ty.clone()).collect();
        Batch::from_rows(&types, self.rows.iter().map(Vec::as_slice)).map_err(MysqlError::unknown_error)
    }
}
