//! Writes a statement with literals instead of its parameters.

use crate::definition_text::literal;
use leafline_syntax::LexMode;
use leafline_syntax::lexer::{TokenKind, tokenize};
use leafline_types::convert::to_text;
use leafline_types::{SqlType, Value};
use std::fmt::Write;

/// Replaces each `?` of `sql` by a value. `None` if their numbers differ, or if a value has no literal.
pub fn with_values(sql: &str, mode: LexMode, values: &[Value]) -> Option<String> {
    let mut values = values.iter();
    let (mut text, mut copied) = (String::with_capacity(sql.len()), 0);
    for token in tokenize(sql, mode) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        match token.kind {
            TokenKind::Invalid => return None,
            TokenKind::Parameter => {
                text.push_str(sql.get(copied..start)?);
                text.push_str(&written(values.next()?, mode)?);
                copied = end;
            }
            _ => {}
        }
    }
    text.push_str(sql.get(copied..)?);
    Some(text)
}

/// A value as a literal.
fn written(value: &Value, mode: LexMode) -> Option<String> {
    let time = |keyword: &str, ty: SqlType| Some(format!("{keyword}'{}'", to_text(value, &ty)?));
    match value {
        Value::Null => Some("NULL".into()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::Double(number) => Some(format!("{number:e}")),
        Value::String(text) if mode.no_backslash_escapes => Some(format!("'{}'", text.replace('\'', "''"))),
        Value::String(text) => Some(literal(text)),
        Value::Bytes(bytes) => {
            let mut hex = String::from("x'");
            bytes.iter().for_each(|byte| {
                let _ = write!(hex, "{byte:02x}");
            });
            hex.push('\'');
            Some(hex)
        }
        Value::Date(_) => time("DATE", SqlType::Date),
        Value::DateTime(_) => time("TIMESTAMP", SqlType::DateTime { fsp: 6 }),
        Value::Time(_) => time("TIME", SqlType::Time { fsp: 6 }),
        Value::Json(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_literals() {
        let inlined = |sql, values: &[Value]| with_values(sql, LexMode::default(), values);
        assert_eq!(inlined("SELECT 'a?', 5", &[Value::Int(5)]).as_deref(), Some("SELECT 'a?', 5"));
        assert_eq!(
            inlined("SELECT ? FROM t WHERE a=? -- ?", &[Value::Double(1.5), Value::string("it's \\")])
                .as_deref(),
            Some("SELECT 1.5e0 FROM t WHERE a='it''s \\\\' -- ?")
        );
        assert_eq!(
            inlined("SELECT ?", &[Value::Bytes([1, 255][..].into())]).as_deref(),
            Some("SELECT x'01ff'")
        );
        assert_eq!(inlined("SELECT ?, ?", &[Value::Null]), None);
    }
}
