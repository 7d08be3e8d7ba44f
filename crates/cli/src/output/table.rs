//! Writes aligned tables, drawn as by the mysql client.
//!
//! Widths come from the first [`MEASURED_ROWS`] rows, which are buffered; later rows are written at once, and one
//! that is wider than its column is not aligned. A value of several lines takes several lines of the table.

use super::{Cells, Column, Kind, RowWriter, printable, text_of};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// The number of rows that are buffered to find the widths.
pub const MEASURED_ROWS: usize = 10_000;
/// The most bytes of rows that are buffered.
const MEASURED_BYTES: usize = 16 << 20;

/// Writes tables.
pub struct TableWriter {
    headings: bool,
    kinds: Vec<Kind>,
    names: Vec<String>,
    widths: Vec<usize>,
    held: Vec<Vec<String>>,
    held_bytes: usize,
    /// Whether the widths are fixed and the top is written.
    open: bool,
}

impl TableWriter {
    /// Makes a writer; `headings` says whether the names of columns are written.
    pub fn new(headings: bool) -> TableWriter {
        TableWriter {
            headings,
            kinds: Vec::new(),
            names: Vec::new(),
            widths: Vec::new(),
            held: Vec::new(),
            held_bytes: 0,
            open: false,
        }
    }

    fn rule(&self, out: &mut dyn Write) -> io::Result<()> {
        for width in &self.widths {
            write!(out, "+{:-<1$}", "", width + 2)?;
        }
        writeln!(out, "+")
    }

    /// Writes the top and the buffered rows.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.open = true;
        self.rule(out)?;
        if self.headings {
            let names = self.names.clone();
            self.line(&names, false, out)?;
            self.rule(out)?;
        }
        self.held_bytes = 0;
        for row in std::mem::take(&mut self.held) {
            self.line(&row, true, out)?;
        }
        Ok(())
    }

    /// Writes one row, in as many lines as its tallest value.
    fn line(&self, values: &[String], align: bool, out: &mut dyn Write) -> io::Result<()> {
        let height = values.iter().map(|value| value.split('\n').count()).max().unwrap_or(1);
        for part in 0..height {
            for ((value, width), kind) in values.iter().zip(&self.widths).zip(&self.kinds) {
                let text = value.split('\n').nth(part).unwrap_or_default();
                let pad = width.saturating_sub(text.width());
                let right = align && matches!(kind, Kind::Number | Kind::Decimal);
                let (before, after) = if right { (pad, 0) } else { (0, pad) };
                write!(out, "| {:before$}{text}{:after$} ", "", "")?;
            }
            writeln!(out, "|")?;
        }
        Ok(())
    }
}

impl RowWriter for TableWriter {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.kinds = columns.iter().map(|column| column.kind).collect();
        self.names = columns.iter().map(|column| printable(&column.name)).collect();
        self.widths = self.names.iter().map(|name| if self.headings { tallest(name) } else { 0 }).collect();
        self.open = false;
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        let text = |(cell, kind): (&Option<&[u8]>, &Kind)| match cell {
            Some(value) => printable(&text_of(*kind, value)),
            None => "NULL".to_owned(),
        };
        let values: Vec<String> = cells.iter().zip(&self.kinds).map(text).collect();
        if self.open {
            return self.line(&values, true, out);
        }
        for (width, value) in self.widths.iter_mut().zip(&values) {
            *width = (*width).max(tallest(value));
        }
        self.held_bytes += values.iter().map(String::len).sum::<usize>();
        self.held.push(values);
        if self.held.len() >= MEASURED_ROWS || self.held_bytes >= MEASURED_BYTES {
            self.settle(out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.open && self.held.is_empty() {
            return Ok(());
        }
        if !self.open {
            self.settle(out)?;
        }
        self.rule(out)
    }
}

/// Returns the width of the widest line.
fn tallest(text: &str) -> usize {
    text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Formats a table of the program itself as one text.
pub fn format_table(columns: &[Column], rows: &[Vec<String>]) -> io::Result<String> {
    let mut writer = TableWriter::new(true);
    let mut out = Vec::new();
    writer.begin(columns, &mut out)?;
    for row in rows {
        let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| Some(cell.as_bytes())).collect();
        writer.row(&cells, &mut out)?;
    }
    writer.end(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::written;
    use super::*;

    #[test]
    fn numbers_are_right_aligned_and_wide_characters_measured() {
        let rows =
            [[Some("1"), Some("10.50"), Some("日本"), Some("ab")], [Some("-20"), Some("3.00"), None, None]];
        let expected = "\
+-----+-------+-----------+--------+
| id  | price | name, \"x\" | raw    |
+-----+-------+-----------+--------+
|   1 | 10.50 | 日本      | 0x6162 |
| -20 |  3.00 | NULL      | NULL   |
+-----+-------+-----------+--------+
";
        let mut writer = TableWriter::new(true);
        assert_eq!(written(&mut writer, &rows), expected);
        assert_eq!(written(&mut writer, &rows), expected, "a writer can be used again");
        assert_eq!(written(&mut writer, &[]), "");
    }

    #[test]
    fn lines_and_control_characters_stay_inside_the_table() {
        let rows = [[Some("1"), None, Some("a\nbb\x1b[2J"), None]];
        let expected = "\
+---+------+-----------+------+
| 1 | NULL | a         | NULL |
|   |      | bb\\x1B[2J |      |
+---+------+-----------+------+
";
        assert_eq!(written(&mut TableWriter::new(false), &rows), expected);
    }

    #[test]
    fn rows_after_the_measured_ones_are_written_at_once() {
        let columns = [Column { name: "n".into(), kind: Kind::Text }];
        let mut writer = TableWriter::new(true);
        let mut out = Vec::new();
        writer.begin(&columns, &mut out).unwrap();
        for _ in 0..MEASURED_ROWS {
            assert!(out.is_empty());
            writer.row(&[Some(b"x")], &mut out).unwrap();
        }
        let settled = out.len();
        assert!(settled > 0);
        writer.row(&[Some(b"wide")], &mut out).unwrap();
        assert_eq!(&out[settled..], b"| wide |\n");
    }
}
