//! Parses documents (RFC 8259). Messages and positions of syntax errors are MySQL's.
//!
//! A number without point and exponent that fits 64 bits is a whole number, any other a double.

use super::MAX_DEPTH;
use super::node::{Key, Members, Node};
use crate::error::MysqlError;
use crate::output::{BYTES_BETWEEN_CHECKS, room_for};
use crate::statement::{CancelTicker, CancelToken};

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The text is not JSON.
    Syntax {
        /// The message.
        message: &'static str,
        /// The place in the text, in bytes.
        position: usize,
    },
    /// The text is nested deeper than a document may be.
    TooDeep,
    /// The name of a member is too long.
    KeyTooLong,
    /// The statement has to end, or may not hold so large a tree.
    Stopped(MysqlError),
}

impl From<MysqlError> for Failure {
    fn from(error: MysqlError) -> Self {
        Failure::Stopped(error)
    }
}

/// The memory limit of a document's tree in bytes, where no setting applies.
const DEFAULT_MEMORY: usize = 1 << 30;

/// From this number of cells on, an array asks for memory before it grows.
const MANY_CELLS: usize = 1 << 16;

const EMPTY: &str = "The document is empty.";
const NOT_SINGULAR: &str = "The document root must not be followed by other values.";
const INVALID_VALUE: &str = "Invalid value.";
const NO_NAME: &str = "Missing a name for object member.";
const NO_COLON: &str = "Missing a colon after a name of object member.";
const NO_COMMA_IN_OBJECT: &str = "Missing a comma or '}' after an object member.";
const NO_COMMA_IN_ARRAY: &str = "Missing a comma or ']' after an array element.";
const BAD_HEX: &str = "Incorrect hex digit after \\u escape in string.";
const BAD_SURROGATE: &str = "The surrogate pair in string is invalid.";
const BAD_ESCAPE: &str = "Invalid escape character in string.";
const NO_QUOTE: &str = "Missing a closing quotation mark in string.";
const BAD_ENCODING: &str = "Invalid encoding in string.";
const NUMBER_TOO_BIG: &str = "Number too big to be stored in double.";
const NO_FRACTION: &str = "Missing fraction part in number.";
const NO_EXPONENT: &str = "Missing exponent in number.";

/// Parses a document.
pub fn parse(text: &str) -> Result<Node, Failure> {
    parse_within(text, DEFAULT_MEMORY, &CancelToken::new())
}

/// Parses a document whose tree takes at most about `memory` bytes (1038 beyond). Checks `cancel` as it goes.
pub fn parse_within(text: &str, memory: usize, cancel: &CancelToken) -> Result<Node, Failure> {
    let steps = CancelTicker::new(cancel, BYTES_BETWEEN_CHECKS);
    let mut parser = Parser { text, at: 0, steps, memory };
    parser.skip_space();
    if parser.at == text.len() {
        return parser.fail(EMPTY, parser.at);
    }
    let node = parser.value(1)?;
    parser.skip_space();
    if parser.at < text.len() {
        return parser.fail(NOT_SINGULAR, parser.at);
    }
    Ok(node)
}

/// Reads the string in double quotes at the front of a text; returns it with its length in the text.
pub(super) fn quoted_prefix(text: &str) -> Option<(String, usize)> {
    let never = CancelToken::new();
    let steps = CancelTicker::new(&never, BYTES_BETWEEN_CHECKS);
    let mut parser = Parser { text, at: 0, steps, memory: DEFAULT_MEMORY };
    (parser.peek() == Some(b'"')).then_some(())?;
    let string = parser.string().ok()?;
    Some((string, parser.at))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    steps: CancelTicker<'a>,
    /// Bytes that the tree may still take.
    memory: usize,
}

impl Parser<'_> {
    /// Charges the memory of a value or name of the tree, with `bytes` bytes of a string.
    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.steps.take(bytes + size_of::<Node>())?;
        let left = self.memory.checked_sub(bytes + size_of::<Node>());
        self.memory = left.ok_or_else(MysqlError::out_of_sort_memory)?;
        Ok(())
    }

    fn fail<T>(&self, message: &'static str, position: usize) -> Result<T, Failure> {
        Err(Failure::Syntax { message, position })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Reads a value; `depth` is its depth if it is an array or object.
    fn value(&mut self, depth: usize) -> Result<Node, Failure> {
        self.charge(0)?;
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Node::String(self.string()?)),
            Some(b'n') => self.word("null", Node::Null),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fail(INVALID_VALUE, self.at),
        }
    }

    /// Reads `word`. An error's place is behind the letters that are right.
    fn word(&mut self, word: &str, node: Node) -> Result<Node, Failure> {
        for byte in word.bytes() {
            if !self.accept(byte) {
                return self.fail(INVALID_VALUE, self.at);
            }
        }
        Ok(node)
    }

    /// Steps into an array or object.
    fn enter(&mut self, depth: usize) -> Result<(), Failure> {
        self.at += 1;
        self.skip_space();
        if depth > MAX_DEPTH { Err(Failure::TooDeep) } else { Ok(()) }
    }

    fn array(&mut self, depth: usize) -> Result<Node, Failure> {
        self.enter(depth)?;
        let mut cells = Vec::new();
        if self.accept(b']') {
            return Ok(Node::Array(cells));
        }
        if depth == MAX_DEPTH {
            return Err(Failure::TooDeep);
        }
        loop {
            if cells.len() == cells.capacity() && cells.len() >= MANY_CELLS {
                // Grows by half: the old cells stay until they are moved.
                let more = cells.len() / 2;
                room_for((cells.len() + more) * size_of::<Node>())?;
                cells.try_reserve_exact(more).map_err(|_| MysqlError::out_of_resources())?;
            }
            cells.push(self.value(depth + 1)?);
            self.skip_space();
            if self.accept(b',') {
                self.skip_space();
            } else if self.accept(b']') {
                return Ok(Node::Array(cells));
            } else {
                return self.fail(NO_COMMA_IN_ARRAY, self.at);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, Failure> {
        self.enter(depth)?;
        let mut members = Members::new();
        if self.accept(b'}') {
            return Ok(Node::Object(members));
        }
        if depth == MAX_DEPTH {
            return Err(Failure::TooDeep);
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail(NO_NAME, self.at);
            }
            let name = self.string()?;
            self.skip_space();
            if !self.accept(b':') {
                return self.fail(NO_COLON, self.at);
            }
            self.skip_space();
            let value = self.value(depth + 1)?;
            members.insert(Key(name), value);
            self.skip_space();
            if self.accept(b',') {
                self.skip_space();
            } else if self.accept(b'}') {
                return Ok(Node::Object(members));
            } else {
                return self.fail(NO_COMMA_IN_OBJECT, self.at);
            }
        }
    }

    fn string(&mut self) -> Result<String, Failure> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count();
            out.try_reserve(plain).map_err(|_| MysqlError::out_of_resources())?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            self.steps.take(plain)?;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.charge(out.len())?;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                None | Some(0) => return self.fail(NO_QUOTE, self.at),
                Some(_) => return self.fail(BAD_ENCODING, self.at),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Failure> {
        let start = self.at;
        self.at += 2;
        let c = match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => return self.fail(BAD_ESCAPE, start),
        };
        Ok(c)
    }

    /// Reads what follows `\u`, with the second half of a surrogate pair if there is one.
    fn unicode_escape(&mut self, start: usize) -> Result<char, Failure> {
        let first = self.hex(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !(self.accept(b'\\') && self.accept(b'u')) {
                    return self.fail(BAD_SURROGATE, start);
                }
                match self.hex(start)? {
                    second @ 0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => return self.fail(BAD_SURROGATE, start),
                }
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(c) => Ok(c),
            None => self.fail(BAD_SURROGATE, start),
        }
    }

    fn hex(&mut self, start: usize) -> Result<u32, Failure> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        let value = digits.iter().try_fold(0, |value, b| Some(value * 16 + char::from(*b).to_digit(16)?));
        match value {
            Some(value) if digits.len() == 4 => {
                self.at += 4;
                Ok(value)
            }
            _ => self.fail(BAD_HEX, start),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Node, Failure> {
        let start = self.at;
        self.accept(b'-');
        // No digit may follow a leading zero.
        if !self.accept(b'0') && self.digits() == 0 {
            return self.fail(INVALID_VALUE, self.at);
        }
        let mut whole = true;
        if self.accept(b'.') {
            whole = false;
            if self.digits() == 0 {
                return self.fail(NO_FRACTION, self.at);
            }
        }
        if self.accept(b'e') || self.accept(b'E') {
            whole = false;
            let _ = self.accept(b'+') || self.accept(b'-');
            if self.digits() == 0 {
                return self.fail(NO_EXPONENT, self.at);
            }
        }
        let text = &self.text[start..self.at];
        if whole && let Ok(v) = text.parse::<i64>() {
            return Ok(Node::Int(v));
        }
        if whole && let Ok(v) = text.parse::<u64>() {
            return Ok(Node::UInt(v));
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Node::Double(v)),
            _ => self.fail(NUMBER_TOO_BIG, start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_where_mysql_names_them() {
        for (text, message, position) in [
            ("", EMPTY, 0),
            ("abc", INVALID_VALUE, 0),
            ("{ \"a\": tru }", INVALID_VALUE, 10),
            ("{\"a\" : [ }", INVALID_VALUE, 9),
            ("[ \"a\" , null", NO_COMMA_IN_ARRAY, 12),
            ("12 3", NOT_SINGULAR, 3),
            ("2015-01-15", NOT_SINGULAR, 4),
            ("{", NO_NAME, 1),
            ("{\"a\"}", NO_COLON, 4),
            ("{\"a\":1 \"b\"", NO_COMMA_IN_OBJECT, 7),
            ("1.", NO_FRACTION, 2),
            ("1e", NO_EXPONENT, 2),
            ("1e400", NUMBER_TOO_BIG, 0),
            ("\"\\ud800\"", BAD_SURROGATE, 1),
            ("\"\\x\"", BAD_ESCAPE, 1),
            ("01", NOT_SINGULAR, 1),
        ] {
            assert_eq!(parse(text), Err(Failure::Syntax { message, position }), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(parse(&nested(100)).unwrap().depth(), 100);
        assert_eq!(parse(&nested(101)), Err(Failure::TooDeep));
        assert_eq!(parse(&nested(100_000)), Err(Failure::TooDeep));
        let inner = format!("{}1{}", "[".repeat(99), "]".repeat(99));
        assert_eq!(parse(&inner).unwrap().depth(), 100);
        assert_eq!(parse(&format!("[{inner}]")), Err(Failure::TooDeep));
    }

    #[test]
    fn numbers_keep_their_kind() {
        for (text, node) in [
            ("-0", Node::Int(0)),
            ("9223372036854775807", Node::Int(i64::MAX)),
            ("-9223372036854775808", Node::Int(i64::MIN)),
            ("18446744073709551615", Node::UInt(u64::MAX)),
            ("18446744073709551616", Node::Double(18446744073709551616.0)),
            ("1.0", Node::Double(1.0)),
        ] {
            assert_eq!(parse(text).unwrap(), node);
        }
    }
}
