//! Literals and their types.

use leafline_expr::{Expr, build};
use leafline_types::memory::server;
use leafline_types::temporal::{DateRules, DateTime, Time};
use leafline_types::{Charset, Collation, Decimal, MysqlError, SqlType, Value};

use leafline_syntax::ast::{self, BytesForm, ExprKind, Literal, TemporalKind, UnaryOp};

/// Returns the value of a literal, possibly signed, as DEFAULT has it; `None` for any other expression.
///
/// # Errors
/// The errors of the literal in a query.
pub fn constant_value(expr: &ast::Expr) -> Result<Option<Value>, MysqlError> {
    match &expr.kind {
        ExprKind::Literal(literal) => value(literal, false, DateRules::PARTS).map(Some),
        ExprKind::Unary { op, operand } => match (&operand.kind, op) {
            (ExprKind::Literal(literal), UnaryOp::Minus) if is_number(literal) => {
                value(literal, true, DateRules::PARTS).map(Some)
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Whether the literal is a number that a sign may precede.
pub(super) fn is_number(literal: &Literal) -> bool {
    matches!(literal, Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_))
}

/// Binds a literal. `dates` says which invalid dates are accepted.
pub(super) fn bind(
    literal: &Literal,
    negative: bool,
    connection: Collation,
    dates: DateRules,
) -> Result<Expr, MysqlError> {
    match literal {
        Literal::String { value, charset, .. } => {
            // The literal is a copy of the text; ask for its memory.
            server::ask(value.len())?;
            let Some(charset) = charset else {
                let set = connection.charset();
                return Ok(match set.first_foreign(value) {
                    None => build::string(value, connection),
                    Some(_) => build::string(&set.replace_foreign(value), connection),
                });
            };
            encoded(charset, value.as_bytes())
        }
        Literal::Encoded { value, charset } => encoded(charset, value),
        Literal::Temporal { kind: TemporalKind::Timestamp, text } => {
            let (value, fsp) = timestamp(text, dates)?;
            let mut e = build::literal(Value::DateTime(value));
            e.ty.sql = SqlType::DateTime { fsp };
            Ok(e)
        }
        Literal::Temporal { kind: TemporalKind::Time, text } => {
            let (value, fsp) = time(text)?;
            let mut e = build::literal(Value::Time(value));
            e.ty.sql = SqlType::Time { fsp };
            Ok(e)
        }
        _ => Ok(build::literal(value(literal, negative, dates)?)),
    }
}

/// Decodes bytes in the character set of an introducer.
///
/// # Errors
/// 1115 for an unknown character set, 1300 for bytes that are invalid in it.
fn encoded(charset: &str, bytes: &[u8]) -> Result<Expr, MysqlError> {
    let charset = Charset::from_name(charset)?;
    Ok(build::string(&charset.decode(bytes)?, charset.default_collation()))
}

fn value(literal: &Literal, negative: bool, dates: DateRules) -> Result<Value, MysqlError> {
    Ok(match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(truth) => Value::Int(i64::from(*truth)),
        Literal::Integer(number) => integer(*number, negative)?,
        Literal::Decimal(text) => decimal(text, negative)?,
        Literal::Float(text) => {
            let number: f64 = text.parse().unwrap_or(f64::INFINITY);
            if !number.is_finite() {
                return Err(MysqlError::illegal_value_for_type("double", text));
            }
            Value::Double(if negative { -number } else { number })
        }
        Literal::String { value, .. } => {
            server::ask(value.len())?;
            Value::string(value.as_str())
        }
        Literal::Bytes { value, .. } => {
            server::ask(value.len())?;
            Value::bytes(value.as_slice())
        }
        Literal::Encoded { value, charset } => Value::string(Charset::from_name(charset)?.decode(value)?),
        Literal::Temporal { kind, text } => temporal(*kind, text, dates)?,
    })
}

/// Returns a BIGINT if the number fits, else a BIGINT UNSIGNED, else a DECIMAL.
fn integer(number: u64, negative: bool) -> Result<Value, MysqlError> {
    match (negative, i64::try_from(number)) {
        (false, Ok(value)) => Ok(Value::Int(value)),
        (false, Err(_)) => Ok(Value::UInt(number)),
        (true, _) => match 0i64.checked_sub_unsigned(number) {
            Some(value) => Ok(Value::Int(value)),
            None => decimal(&number.to_string(), true),
        },
    }
}

fn decimal(text: &str, negative: bool) -> Result<Value, MysqlError> {
    let text = if negative { format!("-{text}") } else { text.to_owned() };
    match Decimal::parse(&text) {
        Some(value) => Ok(Value::Decimal(value)),
        None => Err(MysqlError::data_out_of_range("DECIMAL", &text)),
    }
}

fn temporal(kind: TemporalKind, text: &str, dates: DateRules) -> Result<Value, MysqlError> {
    match kind {
        TemporalKind::Date => match DateTime::parse(text, dates) {
            Ok(parsed) if !parsed.has_time && !parsed.truncated => Ok(Value::Date(parsed.value.date())),
            _ => Err(MysqlError::wrong_value("DATE", text)),
        },
        TemporalKind::Timestamp => timestamp(text, dates).map(|(value, _)| Value::DateTime(value)),
        TemporalKind::Time => time(text).map(|(value, _)| Value::Time(value)),
    }
}

/// Parses a time; returns also the number of written fractional digits.
fn time(text: &str) -> Result<(Time, u8), MysqlError> {
    match Time::parse(text) {
        Ok(parsed) if !parsed.truncated && !parsed.clipped => Ok((parsed.value, parsed.fsp)),
        _ => Err(MysqlError::wrong_value("TIME", text)),
    }
}

/// Parses a datetime, which must have a time of day; returns also the number of written fractional digits.
fn timestamp(text: &str, dates: DateRules) -> Result<(DateTime, u8), MysqlError> {
    match DateTime::parse(text, dates) {
        Ok(parsed) if parsed.offset.is_some() => {
            Err(MysqlError::not_supported("a time zone in a TIMESTAMP literal"))
        }
        Ok(parsed) if parsed.has_time && !parsed.truncated => Ok((parsed.value, parsed.fsp)),
        _ => Err(MysqlError::wrong_value("DATETIME", text)),
    }
}

/// Whether the expression is a hexadecimal or bit literal.
pub(super) fn is_bytes(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Literal::Bytes { form: BytesForm::Hex | BytesForm::Bit, .. }))
}

/// Returns a hexadecimal or bit literal as a number; `None` for other expressions.
///
/// # Errors
/// 1690 for more than 64 bits.
pub(super) fn bytes_as_number(expr: &ast::Expr) -> Result<Option<Expr>, MysqlError> {
    let ExprKind::Literal(Literal::Bytes { value, form: BytesForm::Hex | BytesForm::Bit }) = &expr.kind
    else {
        return Ok(None);
    };
    let significant = value.iter().skip_while(|&&b| b == 0);
    if significant.clone().count() > 8 {
        return Err(MysqlError::data_out_of_range("BIGINT UNSIGNED", "a hexadecimal literal"));
    }
    let number = significant.fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    Ok(Some(build::literal(Value::UInt(number))))
}
