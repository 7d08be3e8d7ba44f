//! Writes values separated by tabs, one row a line, as the mysql client does when its output is not a terminal.
//!
//! Tab, end of line, NUL and backslash are escaped; NULL is `NULL`; binary values are their bytes. The names of
//! columns come with the first row, so an empty result has no line at all.

use super::{Cells, Column, RowWriter};
use std::io::{self, Write};

/// Writes tab-separated lines.
pub struct TabWriter {
    headings: bool,
    /// The names of the columns until they are written.
    names: Vec<String>,
}

impl TabWriter {
    /// Makes a writer; `headings` says whether the names of columns are written.
    pub fn new(headings: bool) -> TabWriter {
        TabWriter { headings, names: Vec::new() }
    }
}

impl RowWriter for TabWriter {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.names.clear();
        if self.headings {
            self.names.extend(columns.iter().map(|column| column.name.clone()));
        }
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        if !self.names.is_empty() {
            line(self.names.iter().map(|name| Some(name.as_bytes())), out)?;
            self.names.clear();
        }
        line(cells.iter().copied(), out)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn line<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, out: &mut dyn Write) -> io::Result<()> {
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.write_all(b"\t")?;
        }
        match value {
            Some(value) => escaped(value, out)?,
            None => out.write_all(b"NULL")?,
        }
    }
    out.write_all(b"\n")
}

fn escaped(value: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | 0 | b'\\')) {
        let (plain, special) = rest.split_at(at);
        out.write_all(plain)?;
        out.write_all(match special.first() {
            Some(b'\t') => b"\\t",
            Some(b'\n') => b"\\n",
            Some(0) => b"\\0",
            _ => b"\\\\",
        })?;
        rest = special.get(1..).unwrap_or_default();
    }
    out.write_all(rest)
}

#[cfg(test)]
mod tests {
    use super::super::testing::written;
    use super::*;

    #[test]
    fn separators_inside_values_are_escaped() {
        let rows = [[Some("1"), None, Some("a\tb\nc\\d\0"), Some("b")]];
        let line = "1\tNULL\ta\\tb\\nc\\\\d\\0\tb\n";
        assert_eq!(written(&mut TabWriter::new(true), &rows), format!("id\tprice\tname, \"x\"\traw\n{line}"));
        assert_eq!(written(&mut TabWriter::new(false), &rows), line);
        assert_eq!(written(&mut TabWriter::new(true), &[]), "");
    }
}
