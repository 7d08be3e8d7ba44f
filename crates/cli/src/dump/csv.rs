//! Writes rows as comma-separated values, in the form of the shell: see [`crate::output`].

use super::schema::{Kind, Table};
use super::sql::single;
use crate::link::Cells;
use crate::output::csv;
use std::io::{self, Write};

/// Writes the line of names.
///
/// # Errors
/// The output cannot be written.
pub fn head(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    for (at, column) in table.columns.iter().enumerate() {
        csv::separator(at, out)?;
        csv::field(column.name.as_bytes(), out)?;
    }
    out.write_all(b"\r\n")
}

/// Writes a row.
///
/// # Errors
/// The output cannot be written.
pub fn row(table: &Table, cells: Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (at, column) in table.columns.iter().enumerate() {
        csv::separator(at, out)?;
        match (cells.get(at), column.kind) {
            (None, _) => {}
            (Some(value), Kind::Binary) => csv::bytes(value, out)?,
            (Some(value), Kind::Float) => out.write_all(single(value).as_bytes())?,
            (Some(value), _) => csv::field(value, out)?,
        }
    }
    out.write_all(b"\r\n")
}
