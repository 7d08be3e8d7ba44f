//! Rows of tables that are no stored ones.

use leafline_types::{ExprType, Value};

/// A table that is no stored one.
pub struct SystemRows {
    /// Names and types of its columns.
    pub columns: Vec<(String, ExprType)>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}
