//! A document as text: MySQL's form, and that of JSON_PRETTY.

use std::fmt::Write;

use super::MAX_DEPTH;
use super::binary::{Item, View};
use crate::convert::f64_text;

/// The text of a document: a space behind each comma and colon.
pub fn to_text(view: View<'_>) -> String {
    let mut out = String::new();
    put(view, Level { depth: 0, pretty: false }, &mut out);
    out
}

/// The text with a line for each cell and member, two spaces further in for each level.
pub fn to_pretty_text(view: View<'_>) -> String {
    let mut out = String::new();
    put(view, Level { depth: 0, pretty: true }, &mut out);
    out
}

/// What a scalar is as text where it is no document any more: a string without its quotes.
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

/// How deep a value is, and in which form it is written.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    pretty: bool,
}

fn put(view: View<'_>, level: Level, out: &mut String) {
    match view.item() {
        // Malformed bytes may be deeper than a document is.
        Item::Array(_) | Item::Object(_) if level.depth > MAX_DEPTH => out.push_str("null"),
        Item::Null => out.push_str("null"),
        Item::Bool(v) => out.push_str(if v { "true" } else { "false" }),
        Item::Array(array) => {
            out.push('[');
            for (n, cell) in array.iter().enumerate() {
                level.before(n, out);
                put(cell, level.inner(), out);
            }
            level.end(array.is_empty(), out);
            out.push(']');
        }
        Item::Object(object) => {
            out.push('{');
            for (n, (name, value)) in object.iter().enumerate() {
                level.before(n, out);
                put_quoted(name, out);
                out.push_str(": ");
                put(value, level.inner(), out);
            }
            level.end(object.is_empty(), out);
            out.push('}');
        }
        // Writing to a string does not fail.
        Item::Int(v) => {
            let _ = write!(out, "{v}");
        }
        Item::UInt(v) => {
            let _ = write!(out, "{v}");
        }
        Item::Double(v) => out.push_str(&double_text(v)),
        Item::Decimal(v) => {
            let _ = write!(out, "{v}");
        }
        Item::String(s) => put_quoted(s, out),
        Item::Date(d) => {
            let _ = write!(out, "\"{d}\"");
        }
        Item::DateTime(t) => {
            let _ = write!(out, "\"{}\"", t.display(6));
        }
        Item::Time(t) => {
            let _ = write!(out, "\"{}\"", t.display(6));
        }
        Item::Opaque(field_type, bytes) => {
            let encoded = crate::functions::base64_text(bytes, usize::MAX);
            let _ = write!(out, "\"base64:type{field_type}:{encoded}\"");
        }
    }
}

/// A double, with a point or exponent by which it is one.
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

    /// What is before value `n` of an array or object.
    fn before(self, n: usize, out: &mut String) {
        match (n, self.pretty) {
            (0, _) => {}
            (_, true) => out.push(','),
            (_, false) => out.push_str(", "),
        }
        if self.pretty {
            self.inner().line(out);
        }
    }

    fn end(self, empty: bool, out: &mut String) {
        if self.pretty && !empty {
            self.line(out);
        }
    }

    fn line(self, out: &mut String) {
        out.push('\n');
        out.push_str(&"  ".repeat(self.depth));
    }
}

/// Appends a string in double quotes.
pub fn put_quoted(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
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
        assert_eq!(to_pretty_text(json.view()), expected);
    }
}
