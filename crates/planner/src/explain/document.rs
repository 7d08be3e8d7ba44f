//! JSON as EXPLAIN writes it: keys in insertion order, two blanks for each level.

use std::fmt::Write;

/// A value of the document.
#[derive(Clone, Debug)]
pub enum Json {
    /// Keys and values.
    Object(Object),
    /// A list.
    Array(Vec<Json>),
    /// A string.
    Text(String),
    /// An unsigned integer.
    Number(u64),
    /// A boolean.
    Bool(bool),
}

/// Keys and values in insertion order.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// Adds a key, which must be new.
    pub fn put(&mut self, key: impl Into<String>, value: Json) {
        self.0.push((key.into(), value));
    }

    /// Returns the object with one more key.
    pub fn with(mut self, key: &str, value: Json) -> Object {
        self.put(key, value);
        self
    }

    /// Adds a text.
    pub fn text(&mut self, key: &str, value: impl ToString) {
        self.put(key, Json::Text(value.to_string()));
    }

    /// Adds a key that is true.
    pub fn flag(&mut self, key: &str) {
        self.put(key, Json::Bool(true));
    }

    /// Adds the keys of another object.
    pub fn append(&mut self, other: Object) {
        self.0.extend(other.0);
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Replaces the value of a key, or adds the key.
    pub fn set(&mut self, key: &str, value: Json) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.put(key, value),
        }
    }

    /// Returns the indented text.
    pub fn document(self) -> String {
        let mut out = String::new();
        write(&Json::Object(self), 0, &mut out);
        out
    }
}

/// Writes a value whose contents are indented by `depth + 1` levels.
fn write(value: &Json, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Json::Object(Object(members)) => {
            out.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(depth + 1, out);
                quoted(key, out);
                out.push_str(": ");
                write(member, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Json::Array(members) => {
            out.push('[');
            for (at, member) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(depth + 1, out);
                write(member, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Json::Text(text) => quoted(text, out),
        Json::Number(number) => out.push_str(&number.to_string()),
        Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // Writing to a string does not fail.
            c if c < ' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_indented_and_quoted() {
        let mut object = Object::default().with("a", Json::Array(vec![Json::Number(1), Json::Bool(false)]));
        object.text("b\"", "x\\y\n\u{1}");
        object.set("a", Json::Array(vec![Json::Number(2)]));
        assert_eq!(object.document(), "{\n  \"a\": [\n    2\n  ],\n  \"b\\\"\": \"x\\\\y\\n\\u0001\"\n}");
    }
}
