//! Writes JSON: an array of objects, one on each line.
//!
//! Integers and doubles are numbers, as exact as their text; decimals are strings, because most readers of JSON
//! convert numbers to doubles; binary values are strings `0x..`. SQL has no doubles that JSON cannot represent.

use super::{Cells, Column, Kind, RowWriter, text_of};
use std::io::{self, Write};

/// Writes JSON.
#[derive(Default)]
pub struct JsonWriter {
    /// The keys, quoted.
    keys: Vec<String>,
    kinds: Vec<Kind>,
    rows: u64,
}

impl RowWriter for JsonWriter {
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
        self.keys = columns.iter().map(|column| quoted(&column.name)).collect();
        self.kinds = columns.iter().map(|column| column.kind).collect();
        self.rows = 0;
        out.write_all(b"[")
    }

    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if self.rows == 0 { b"\n{" } else { b",\n{" })?;
        self.rows += 1;
        for (at, ((cell, key), kind)) in cells.iter().zip(&self.keys).zip(&self.kinds).enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(out, "{comma}{key}: ")?;
            match cell {
                None => out.write_all(b"null")?,
                Some(value) if *kind == Kind::Number => out.write_all(value)?,
                Some(value) => out.write_all(quoted(&text_of(*kind, value)).as_bytes())?,
            }
        }
        out.write_all(b"}")
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if self.rows == 0 { b"]\n" } else { b"\n]\n" })
    }
}

fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::testing::written;
    use super::*;

    #[test]
    fn rows_are_objects() {
        let rows =
            [[Some("1"), Some("10.50"), Some("a\"\\\n\u{1}é"), Some("b")], [Some("2"), None, Some(""), None]];
        let expected = concat!(
            "[\n",
            r#"{"id": 1, "price": "10.50", "name, \"x\"": "a\"\\\n\u0001é", "raw": "0x62"},"#,
            "\n",
            r#"{"id": 2, "price": null, "name, \"x\"": "", "raw": null}"#,
            "\n]\n"
        );
        assert_eq!(written(&mut JsonWriter::default(), &rows), expected);
        assert_eq!(written(&mut JsonWriter::default(), &[]), "[]\n");
    }
}
