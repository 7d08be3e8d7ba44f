//! Comparisons with columns whose stored form is not the form that expressions see: see [`super::plain()`].

use super::adapted::adapted;
use super::literal;
use super::plain::{number_of_temporal_text, plain, plain_or_document};
use crate::ir::{Expr, ExprKind};
use leafline_types::error::MysqlError;
use leafline_types::temporal::DateTime;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// Converts the two sides of a comparison, one to the other's stored form if that is equivalent. `equality` says that
/// the comparison tests equality only.
pub(super) fn meet(left: Expr, right: Expr, equality: bool) -> Result<(Expr, Expr), MysqlError> {
    if let Some(kept) = comparable_with_stored(&left, &right, equality)? {
        return Ok((left, kept));
    }
    if let Some(kept) = comparable_with_stored(&right, &left, equality)? {
        return Ok((kept, right));
    }
    if left.ty.sql == SqlType::Json || right.ty.sql == SqlType::Json {
        return Ok((plain_or_document(left), plain_or_document(right)));
    }
    let (left, right) = (plain(left), plain(right));
    Ok(match (left.ty.sql.is_numeric(), right.ty.sql.is_numeric()) {
        (true, false) => (left, number_of_temporal_text(right)),
        (false, true) => (number_of_temporal_text(left), right),
        _ => (left, right),
    })
}

/// Converts `other` so that it can be compared with the stored form of `operand`; None if that is not equivalent.
fn comparable_with_stored(operand: &Expr, other: &Expr, equality: bool) -> Result<Option<Expr>, MysqlError> {
    Ok(match (&operand.ty.sql, &other.ty.sql) {
        (SqlType::Timestamp { .. } | SqlType::Enum(_) | SqlType::Set(_), SqlType::Null)
        | (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => Some(other.clone()),
        (SqlType::Timestamp { .. }, sql)
            if (sql.has_date() || sql.is_string()) && other.columns().is_empty() && !other.is_volatile() =>
        {
            let datetime = SqlType::DateTime { fsp: 6 };
            let other = adapted(other, &datetime, true)?.unwrap_or_else(|| other.clone());
            // A date that does not exist has no equivalent in UTC.
            if let Some(Value::DateTime(time)) = other.as_literal()
                && *time != DateTime::ZERO
                && time.epoch_micros().is_none()
            {
                return Ok(None);
            }
            let ty = ExprType::numeric(SqlType::Timestamp { fsp: 6 }, true);
            Some(Expr { kind: ExprKind::Cast { operand: Box::new(other) }, ty })
        }
        (SqlType::Enum(_) | SqlType::Set(_), sql) if sql.is_numeric() => Some(other.clone()),
        (SqlType::Enum(members), SqlType::Enum(others)) if equality && members == others => {
            members.number("").is_none().then(|| other.clone())
        }
        // The comparison is under the operand's collation.
        (SqlType::Enum(members), sql)
            if equality && sql.is_string() && other.ty.coercibility >= Coercibility::Coercible =>
        {
            // The empty text may be a member as well as the text of 0.
            let is_ambiguous =
                |text: &str| members.number("").is_some() && members.collation().equal(text.as_bytes(), b"");
            match other.as_literal() {
                Some(Value::String(text)) if is_ambiguous(text) => None,
                Some(Value::String(text)) => Some(literal(Value::UInt(members.compared_number(text)))),
                None if other.columns().is_empty() && !other.is_volatile() && !is_ambiguous("") => {
                    let ty = ExprType { sql: operand.ty.sql.clone(), nullable: true, ..operand.ty.clone() };
                    Some(Expr { kind: ExprKind::Cast { operand: Box::new(other.clone()) }, ty })
                }
                _ => None,
            }
        }
        (SqlType::Set(members), _) if equality && other.ty.coercibility >= Coercibility::Coercible => {
            match other.as_literal() {
                Some(Value::String(text)) => {
                    members.compared_bits(text).map(|bits| literal(Value::UInt(bits)))
                }
                _ => None,
            }
        }
        _ => None,
    })
}
