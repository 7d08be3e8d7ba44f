//! Rows of tables that are not stored.

use leafline_types::{ExprType, Value};

/// A table that is not stored: the statement computes its rows.
pub struct SystemRows {
    /// The names and types of the columns.
    pub columns: Vec<(String, ExprType)>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}
