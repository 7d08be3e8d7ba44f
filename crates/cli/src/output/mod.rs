//! Writes rows as text: aligned tables, one column a line, tabs, CSV, JSON.
//!
//! A [`RowWriter`] receives the columns, then the rows one by one, then the end, and writes as it goes: no format
//! holds a whole result. Tables take the widths of the first [`table::MEASURED_ROWS`] rows.

pub mod csv;
mod json;
mod tab;
mod table;
#[cfg(test)]
mod testing;
mod vertical;

pub use table::format_table;

use super::args::Format;
use std::io::{self, Write};

/// The format of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An integer or a double: the text is a JSON number.
    Number,
    /// A decimal: right-aligned, but text in JSON.
    Decimal,
    /// Text, dates and all other types.
    Text,
    /// Bytes that may not be text.
    Binary,
}

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The format of its values.
    pub kind: Kind,
}

/// The values of one row: `None` is NULL.
pub type Cells<'a> = [Option<&'a [u8]>];

/// Writes one result after another.
pub trait RowWriter {
    /// Begins a result.
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()>;
    /// Writes a row.
    fn row(&mut self, cells: &Cells<'_>, out: &mut dyn Write) -> io::Result<()>;
    /// Ends the result.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Makes the writer of a format. `headings` says whether column names are written, if the format can omit them.
pub fn writer(format: Format, headings: bool) -> Box<dyn RowWriter> {
    match format {
        Format::Table => Box::new(table::TableWriter::new(headings)),
        Format::Vertical => Box::new(vertical::VerticalWriter::default()),
        Format::Tab => Box::new(tab::TabWriter::new(headings)),
        Format::Csv => Box::new(csv::CsvWriter::new(headings)),
        Format::Json => Box::new(json::JsonWriter::default()),
    }
}

/// Returns the text of a value that is not NULL: bytes as `0x..`, with invalid UTF-8 replaced.
fn text_of(kind: Kind, value: &[u8]) -> String {
    match kind {
        Kind::Binary => hexadecimal(value),
        _ => String::from_utf8_lossy(value).into_owned(),
    }
}

/// Returns the text with control characters, except ends of lines, written as `\x1B`: data must not control the
/// terminal.
fn printable(text: &str) -> String {
    use std::fmt::Write as _;
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push(c),
            '\t' => shown.push_str("    "),
            c if c.is_control() => {
                // Writing to a String does not fail.
                let _ = write!(shown, "\\x{:02X}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

fn hexadecimal(value: &[u8]) -> String {
    format!("0x{}", hex::encode_upper(value))
}
