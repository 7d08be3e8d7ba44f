//! The shape of a statement: its text without the values of its literals.
//!
//! Applications that do not prepare statements send the same few shapes over and over with other values. The server
//! keeps the plans of such statements under their shape, which the lexer alone finds. Blanks and comments are part of
//! the shape, because a column's heading is the text as it was written. The syntax tree decides which literals may be
//! parameters of a kept plan ([`lift`](super::lift)): some literals decide types, headings, positions and limits, and
//! a plan that depends on such a literal serves only that value.

use super::lex_mode::LexMode;
use super::lexer::{Lexer, TokenKind};
use super::literal::unquote;
use leafline_types::{Decimal, Value};

/// A longer statement has no shape: it is long because of its values, and planning is a small part of its cost.
const MAX_BYTES: usize = 4096;
/// A statement with more literals has no shape, for the same reason.
const MAX_LITERALS: usize = 64;

/// The shape of one statement.
#[derive(Debug)]
pub struct Shape {
    /// The text, with a mark in place of each literal of `literals`.
    pub key: Vec<u8>,
    /// The integers, decimals and strings, in the order of the text.
    pub literals: Vec<ShapeLiteral>,
}

/// A literal that the key omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeLiteral {
    /// The position of its first byte.
    pub start: u32,
    /// The position after its last byte.
    pub end: u32,
    /// Its kind.
    pub kind: LiteralKind,
}

/// The kind of a literal. Literals of a kind have the same type, up to the digits of decimals and the lengths of
/// strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralKind {
    /// An integer that fits BIGINT.
    Integer,
    /// An integer that fits only BIGINT UNSIGNED.
    Unsigned,
    /// Digits with a point.
    Decimal,
    /// A string.
    String,
}

impl ShapeLiteral {
    /// The literal as it was written.
    pub fn source<'a>(&self, sql: &'a str) -> &'a str {
        sql.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The literal's value.
    pub fn value(&self, sql: &str, mode: LexMode) -> Value {
        let source = self.source(sql);
        // shape_of() lists only literals that parse.
        match self.kind {
            LiteralKind::Integer => source.parse().map(Value::Int).unwrap_or_default(),
            LiteralKind::Unsigned => source.parse().map(Value::UInt).unwrap_or_default(),
            LiteralKind::Decimal => Decimal::parse(source).map(Value::Decimal).unwrap_or_default(),
            LiteralKind::String => Value::string(unquote(source, mode)),
        }
    }
}

/// The shape of `sql`; `None` if it is not a single SELECT, INSERT, UPDATE or DELETE whose plan is worth keeping.
pub fn shape_of(sql: &str, mode: LexMode) -> Option<Shape> {
    // The bytes 1 to 4 mark literals in the key.
    if sql.len() > MAX_BYTES || sql.bytes().any(|byte| (1..=4).contains(&byte)) {
        return None;
    }
    let mut lexer = Lexer::new(sql, mode);
    let mut shape = Shape { key: Vec::with_capacity(sql.len()), literals: Vec::new() };
    let (mut first, mut copied) = (true, 0);
    loop {
        let token = lexer.next_token();
        let source = token.span.text(sql);
        if std::mem::take(&mut first)
            && !["SELECT", "INSERT", "UPDATE", "DELETE"].iter().any(|word| source.eq_ignore_ascii_case(word))
        {
            return None;
        }
        let (mark, kind) = match token.kind {
            TokenKind::End => {
                shape.key.extend_from_slice(sql.as_bytes().get(copied..)?);
                return Some(shape);
            }
            TokenKind::Invalid | TokenKind::Parameter | TokenKind::UserVariable => return None,
            // An integer's type depends on its size.
            TokenKind::Integer if source.parse::<i64>().is_ok() => (1, LiteralKind::Integer),
            TokenKind::Integer if source.parse::<u64>().is_ok() => (2, LiteralKind::Unsigned),
            TokenKind::String => (3, LiteralKind::String),
            TokenKind::Decimal if Decimal::parse(source).is_some() => (4, LiteralKind::Decimal),
            _ => continue,
        };
        if shape.literals.len() == MAX_LITERALS {
            return None;
        }
        let (start, end) = (token.span.start, token.span.end);
        shape.key.extend_from_slice(sql.as_bytes().get(copied..start as usize)?);
        shape.key.push(mark);
        shape.literals.push(ShapeLiteral { start, end, kind });
        copied = end as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> Shape {
        shape_of(sql, LexMode::default()).unwrap()
    }

    #[test]
    fn statements_that_differ_in_values_alone_have_one_shape() {
        let one = shape("SELECT a FROM t WHERE id = 5 AND b = 'x'");
        let other = shape("SELECT a FROM t WHERE id = 17 AND b = \"it''s\"");
        assert_eq!(one.key, other.key);
        let sql = "SELECT a FROM t WHERE id=17 AND b='it''s'";
        let values: Vec<Value> =
            shape(sql).literals.iter().map(|literal| literal.value(sql, LexMode::default())).collect();
        assert_eq!(values, [Value::Int(17), Value::string("it's")]);
        let sql = "UPDATE t SET a = 12.50";
        assert_eq!(shape("UPDATE t SET a = 7.125").key, shape(sql).key);
        assert_eq!(
            shape(sql).literals[0].value(sql, LexMode::default()),
            Value::Decimal(Decimal::parse("12.50").unwrap())
        );
    }

    #[test]
    fn literals_that_decide_types_are_part_of_the_shape() {
        let base = shape("SELECT a FROM t WHERE id = 5").key;
        for other in
            ["5.0", "5e0", "'5'", "18446744073709551615", "99999999999999999999", "x'05'", "NULL", "-5"]
        {
            assert_ne!(shape(&format!("SELECT a FROM t WHERE id = {other}")).key, base, "{other}");
        }
        // Blanks are part of the shape where they become part of a heading.
        assert_ne!(shape("SELECT a+1 FROM t").key, shape("SELECT a + 1 FROM t").key);
    }

    #[test]
    fn other_statements_have_none() {
        let many = format!("SELECT 1 FROM t WHERE a IN ({}1)", "1, ".repeat(MAX_LITERALS));
        let long = format!("SELECT '{}'", "x".repeat(MAX_BYTES));
        for sql in
            ["SHOW TABLES", "", "SELECT ?", "SELECT @a", "SELECT 'open", "SELECT '\u{4}'", &many, &long]
        {
            assert!(shape_of(sql, LexMode::default()).is_none(), "{sql}");
        }
    }
}
