//! Writes one column a line, as `\G` shows rows.

use super::{Cells, Column, Kind, RowWriter, printable, text_of};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Writes a block of lines for each row.
#[derive(Default)]
pub struct VerticalWriter {
    /// The names, right-aligned to the longest.
    labels: Vec<String>,
    kinds: Vec<Kind>,
    rows: u64,
}

impl RowWriter for VerticalWriter {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        let widest = columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
        let label = |column: &Column| format!("{}{}", " ".repeat(widest - column.name.width()), column.name);
        self.labels = columns.iter().map(label).collect();
        self.kinds = columns.iter().map(|column| column.kind).collect();
        self.rows = 0;
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.rows += 1;
        let stars = "*".repeat(27);
        writeln!(out, "{stars} {}. row {stars}", self.rows)?;
        for ((cell, label), kind) in cells.iter().zip(&self.labels).zip(&self.kinds) {
            let text = cell.map_or_else(|| "NULL".to_owned(), |value| printable(&text_of(*kind, value)));
            writeln!(out, "{label}: {text}")?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::written;
    use super::*;

    #[test]
    fn each_row_is_a_block() {
        let rows = [[Some("1"), None, Some("a"), Some("b")], [Some("2"), Some("1.0"), Some(""), None]];
        let expected = "\
*************************** 1. row ***************************
       id: 1
    price: NULL
name, \"x\": a
      raw: 0x62
*************************** 2. row ***************************
       id: 2
    price: 1.0
name, \"x\": 
      raw: NULL
";
        assert_eq!(written(&mut VerticalWriter::default(), &rows), expected);
    }
}
