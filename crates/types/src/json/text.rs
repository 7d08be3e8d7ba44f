//! Writes documents as text: in MySQL's form, and in JSON_PRETTY's.

use std::convert::Infallible;

use super::MAX_DEPTH;
use super::binary::{Item, View};
use crate::double::f64_text;
use crate::output::{BYTES_BETWEEN_CHECKS, Output, Stop};

/// A destination of text.
pub trait Sink {
    /// Why writing ends early.
    type Stop;

    /// Takes a part of the text.
    fn take(&mut self, part: &str) -> Result<(), Self::Stop>;
}

impl Sink for String {
    type Stop = Infallible;

    fn take(&mut self, part: &str) -> Result<(), Infallible> {
        self.push_str(part);
        Ok(())
    }
}

impl Sink for Output<'_> {
    type Stop = Stop;

    fn take(&mut self, part: &str) -> Result<(), Stop> {
        self.push(part.as_bytes())
    }
}

/// Returns the text of a document, with a space after each comma and colon.
pub fn to_text(view: View<'_>) -> String {
    let mut out = String::new();
    let Ok(()) = put_text(view, &mut out);
    out
}

/// Writes the text of a document.
pub fn put_text<S: Sink>(view: View<'_>, out: &mut S) -> Result<(), S::Stop> {
    put(view, Level { depth: 0, pretty: false }, out)
}

/// Writes the text with a line for each cell and member, two spaces further in for each level.
pub fn put_pretty_text<S: Sink>(view: View<'_>, out: &mut S) -> Result<(), S::Stop> {
    put(view, Level { depth: 0, pretty: true }, out)
}

/// Returns a value as SQL text: a string without its quotes, any other value as JSON text.
pub fn unquoted(view: View<'_>) -> String {
    match view.item() {
        Item::String(s) => s.to_owned(),
        item => {
            let text = to_text(view);
            match item {
                Item::Date(_) | Item::DateTime(_) | Item::Time(_) | Item::Opaque(..) => {
                    text[1..text.len() - 1].to_owned()
                }
                _ => text,
            }
        }
    }
}

/// The depth of a value, and the form in which it is written.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    pretty: bool,
}

fn put<S: Sink>(view: View<'_>, level: Level, out: &mut S) -> Result<(), S::Stop> {
    match view.item() {
        // Malformed bytes may be nested deeper than a document.
        Item::Array(_) | Item::Object(_) if level.depth > MAX_DEPTH => out.take("null"),
        Item::Null => out.take("null"),
        Item::Bool(v) => out.take(if v { "true" } else { "false" }),
        Item::Array(array) => {
            out.take("[")?;
            for (n, cell) in array.iter().enumerate() {
                level.before(n, out)?;
                put(cell, level.inner(), out)?;
            }
            level.end(array.is_empty(), out)?;
            out.take("]")
        }
        Item::Object(object) => {
            out.take("{")?;
            for (n, (name, value)) in object.iter().enumerate() {
                level.before(n, out)?;
                put_quoted_to(name, out)?;
                out.take(": ")?;
                put(value, level.inner(), out)?;
            }
            level.end(object.is_empty(), out)?;
            out.take("}")
        }
        Item::Int(v) => out.take(&v.to_string()),
        Item::UInt(v) => out.take(&v.to_string()),
        Item::Double(v) => out.take(&double_text(v)),
        Item::Decimal(v) => out.take(&v.to_string()),
        Item::String(s) => put_quoted_to(s, out),
        Item::Date(d) => out.take(&format!("\"{d}\"")),
        Item::DateTime(t) => out.take(&format!("\"{}\"", t.display(6))),
        Item::Time(t) => out.take(&format!("\"{}\"", t.display(6))),
        Item::Opaque(field_type, bytes) => {
            out.take(&format!("\"base64:type{field_type}:"))?;
            // Pieces of whole groups of three bytes.
            const PIECE: usize = 3 << 12;
            for piece in bytes.chunks(PIECE) {
                out.take(&crate::base64_text(piece, usize::MAX))?;
            }
            out.take("\"")
        }
    }
}

/// Writes a double, always with a point or exponent, so that it reads back as a double.
pub(super) fn double_text(v: f64) -> String {
    let mut text = f64_text(v);
    if !text.contains(['.', 'e', 'n']) {
        text.push_str(".0");
    }
    text
}

impl Level {
    fn inner(self) -> Level {
        Level { depth: self.depth + 1, pretty: self.pretty }
    }

    /// Writes the separator before value `n` of an array or object.
    fn before<S: Sink>(self, n: usize, out: &mut S) -> Result<(), S::Stop> {
        match (n, self.pretty) {
            (0, _) => {}
            (_, true) => out.take(",")?,
            (_, false) => out.take(", ")?,
        }
        if self.pretty { self.inner().line(out) } else { Ok(()) }
    }

    fn end<S: Sink>(self, empty: bool, out: &mut S) -> Result<(), S::Stop> {
        if self.pretty && !empty { self.line(out) } else { Ok(()) }
    }

    fn line<S: Sink>(self, out: &mut S) -> Result<(), S::Stop> {
        out.take("\n")?;
        (0..self.depth).try_for_each(|_| out.take("  "))
    }
}

/// Appends a string in double quotes.
pub fn put_quoted(s: &str, out: &mut String) {
    let Ok(()) = put_quoted_to(s, out);
}

/// Writes a string in double quotes.
pub fn put_quoted_to<S: Sink>(s: &str, out: &mut S) -> Result<(), S::Stop> {
    out.take("\"")?;
    let mut rest = s;
    let special = |c: char| matches!(c, '"' | '\\' | '\0'..='\u{1f}');
    while let Some(at) = rest.find(special) {
        out.take(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.take("\\\"")?,
            b'\\' => out.take("\\\\")?,
            0x8 => out.take("\\b")?,
            0xc => out.take("\\f")?,
            b'\n' => out.take("\\n")?,
            b'\r' => out.take("\\r")?,
            b'\t' => out.take("\\t")?,
            other => out.take(&format!("\\u{other:04x}"))?,
        }
        rest = &rest[at + 1..];
    }
    // Writes in pieces; cancellation is checked between them.
    while rest.len() > BYTES_BETWEEN_CHECKS {
        let end = (0..=BYTES_BETWEEN_CHECKS).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(0);
        let (piece, after) = rest.split_at(end);
        out.take(piece)?;
        rest = after;
    }
    out.take(rest)?;
    out.take("\"")
}

#[cfg(test)]
mod tests {
    use super::super::Json;
    use super::*;

    #[test]
    fn text_is_mysqls() {
        for (text, expected) in [
            ("{\"bb\":1,\"a\":[2,{}],\"c\":3}", "{\"a\": [2, {}], \"c\": 3, \"bb\": 1}"),
            ("[1.0, 1e3, 1e20, -0.0, 0.1e-20]", "[1.0, 1000.0, 1e20, -0.0, 1e-21]"),
            ("\"\\u0001\\n\\/\\u00e9\\ud83d\\ude00\\\"\\\\\"", "\"\\u0001\\n/é😀\\\"\\\\\""),
            ("{\"a\":1,\"a\":2}", "{\"a\": 2}"),
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn pretty_text_has_a_line_for_each_value() {
        let json = Json::parse("{\"a\": [1, {\"b\": []}], \"c\": {}}").unwrap();
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}";
        let mut out = String::new();
        let Ok(()) = put_pretty_text(json.view(), &mut out);
        assert_eq!(out, expected);
    }
}
