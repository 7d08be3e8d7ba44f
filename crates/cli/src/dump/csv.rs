//! Rows as comma-separated values, as the shell writes them: see [`crate::output`].

use super::schema::{Kind, Table};
use super::sql::single;
use crate::link::Cells;
use crate::output::csv;
use std::io::{self, Write};

/// The line of names.
///
/// # Errors
/// Those of `out`.
pub fn head(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    for (at, column) in table.columns.iter().enumerate() {
        csv::separator(at, out)?;
        csv::field(column.name.as_bytes(), out)?;
    }
    out.write_all(b"\r\n")
}

/// A row.
///
/// # Errors
/// Those of `out`.
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
