//! Writes comma-separated values, RFC 4180: lines end in CR LF; a field with a comma, a quote or an end of line is
//! quoted.
//!
//! NULL is an empty field and an empty string is `""`, so that they differ; binary values are `0x..`.

use super::{Cells, Column, Kind, RowWriter, hexadecimal};
use std::io::{self, Write};

/// Writes CSV.
pub struct CsvWriter {
    headings: bool,
    kinds: Vec<Kind>,
}

impl CsvWriter {
    /// Makes a writer; `headings` says whether the names of columns are written.
    pub fn new(headings: bool) -> CsvWriter {
        CsvWriter { headings, kinds: Vec::new() }
    }
}

impl RowWriter for CsvWriter {
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
        self.kinds = columns.iter().map(|column| column.kind).collect();
        if self.headings {
            for (at, column) in columns.iter().enumerate() {
                separator(at, out)?;
                field(column.name.as_bytes(), out)?;
            }
            out.write_all(b"\r\n")?;
        }
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        for (at, (cell, kind)) in cells.iter().zip(&self.kinds).enumerate() {
            separator(at, out)?;
            match cell {
                Some(value) if *kind == Kind::Binary => bytes(value, out)?,
                Some(value) => field(value, out)?,
                None => {}
            }
        }
        out.write_all(b"\r\n")
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the separator before the field at a position.
pub fn separator(at: usize, out: &mut dyn Write) -> io::Result<()> {
    if at > 0 { out.write_all(b",") } else { Ok(()) }
}

/// Writes a binary value.
pub fn bytes(value: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(hexadecimal(value).as_bytes())
}

/// Writes a value that is not NULL.
pub fn field(value: &[u8], out: &mut dyn Write) -> io::Result<()> {
    if !value.is_empty() && !value.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        return out.write_all(value);
    }
    out.write_all(b"\"")?;
    for (at, part) in value.split(|byte| *byte == b'"').enumerate() {
        if at > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::super::testing::written;
    use super::*;

    #[test]
    fn fields_are_quoted_if_necessary() {
        let rows =
            [[Some("1"), Some("1.5"), Some("a \"b\", c\nd"), Some("b")], [None, None, Some(""), Some("")]];
        let expected =
            "id,price,\"name, \"\"x\"\"\",raw\r\n1,1.5,\"a \"\"b\"\", c\nd\",0x62\r\n,,\"\",0x\r\n";
        assert_eq!(written(&mut CsvWriter::new(true), &rows), expected);
        assert!(written(&mut CsvWriter::new(false), &rows).starts_with("1,1.5,"));
    }
}
