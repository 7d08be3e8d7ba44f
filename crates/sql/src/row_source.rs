//! Rows that a program gives to a load, in place of the lines of a file.

use leafline_types::{MysqlError, Value};

/// Gives the rows of a load.
pub trait RowSource {
    /// Puts the values of the next row, one for each column that was named, into `row`, which is empty; false if there are no more.
    ///
    /// # Errors
    /// What ends the load: nothing of it stays.
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError>;
}
