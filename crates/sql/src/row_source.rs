//! Rows that a program supplies to a load, instead of the lines of a file.

use leafline_types::{MysqlError, Value};

/// Supplies the rows of a load.
pub trait RowSource {
    /// Appends the values of the next row, one for each named column, to `row`, which is empty. Returns false
    /// at the end.
    ///
    /// # Errors
    /// An error ends the load, which then adds no row.
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError>;
}
