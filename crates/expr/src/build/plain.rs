//! Operands of types whose stored form is not the form that expressions see.
//!
//! | type      | stored form                        | as an operand                         |
//! |-----------|------------------------------------|---------------------------------------|
//! | TIMESTAMP | the time in UTC                    | a DATETIME in the session's time zone |
//! | ENUM, SET | a number                           | text; where numbers are wanted, the number |
//! | JSON      | bytes                              | text; where numbers are wanted, a DOUBLE; itself in comparisons, and for functions of documents |
//!
//! Columns of these types are read, grouped and sorted in their stored form. All other uses convert them with the
//! functions of this module. A comparison is made on the stored form if that is equivalent, so that an index can
//! serve it.

use super::call::special;
use super::compare::adapted;
use super::literal;
use crate::functions::NUMBER_OF_TEMPORAL_TEXT;
use crate::ir::{Expr, ExprKind};
use leafline_types::error::MysqlError;
use leafline_types::temporal::DateTime;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// Functions that return a date or time as text if their arguments are texts or numbers.
const TEMPORAL_TEXT: &[&str] = &["ADDTIME", "DATE_ADD", "DATE_SUB", "SUBTIME"];

/// Converts an operand to the form that expressions see: an ENUM to text, a TIMESTAMP to a DATETIME.
pub fn plain(operand: Expr) -> Expr {
    match operand.ty.sql.plain() {
        Some(sql) => cast_to(operand, sql),
        None => operand,
    }
}

/// Converts an operand to a number; an ENUM or SET to its number.
pub(crate) fn number(operand: Expr) -> Expr {
    match operand.ty.sql {
        SqlType::Enum(_) | SqlType::Set(_) => {
            let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, operand.ty.nullable);
            Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
        }
        SqlType::Json => {
            let ty = ExprType::numeric(SqlType::Double, operand.ty.nullable);
            Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
        }
        _ => number_of_temporal_text(plain(operand)),
    }
}

/// Converts the text that arithmetic with dates and times returns for texts and numbers to a DOUBLE: `'2001-01-01' +
/// INTERVAL 2 DAY` is the text 2001-01-03, but the number 20010103, as in MySQL
/// (`Item_temporal_hybrid_func::val_decimal`). Leaves other operands unchanged.
pub(super) fn number_of_temporal_text(operand: Expr) -> Expr {
    let is_temporal_text = match &operand.kind {
        ExprKind::Call { function, .. } => {
            operand.ty.sql.is_character() && TEMPORAL_TEXT.contains(&function.definition().name)
        }
        _ => false,
    };
    if !is_temporal_text {
        return operand;
    }
    match special(NUMBER_OF_TEMPORAL_TEXT, vec![operand.clone()]) {
        Ok(number) => number,
        Err(_) => operand,
    }
}

/// Converts a BIT to its number.
pub(crate) fn bit_number(operand: Expr) -> Expr {
    let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, operand.ty.nullable);
    Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
}

/// Converts the operands to the forms that expressions see, unless all are documents.
pub(super) fn plain_or_documents(operands: Vec<Expr>) -> Vec<Expr> {
    if operands.iter().all(|e| matches!(e.ty.sql, SqlType::Json | SqlType::Null)) {
        return operands;
    }
    operands.into_iter().map(plain).collect()
}

/// Converts an operand to a document: a document stays one, a condition becomes a truth value.
pub(crate) fn document(operand: Expr) -> Expr {
    let condition = match &operand.kind {
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::Compare { .. }
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InRows { .. }
        | ExprKind::Like { .. } => true,
        ExprKind::Subquery(subquery) => subquery.is_condition(),
        _ => false,
    };
    if condition { super::json_truth(operand) } else { plain_or_document(operand) }
}

/// Converts an operand to the form that expressions see, unless it is a document.
pub(super) fn plain_or_document(operand: Expr) -> Expr {
    if operand.ty.sql == SqlType::Json { operand } else { plain(operand) }
}

fn cast_to(operand: Expr, sql: SqlType) -> Expr {
    let nullable = operand.ty.nullable;
    let ty = match &operand.ty.sql {
        SqlType::Enum(members) | SqlType::Set(members) => {
            ExprType::string(sql, nullable, members.collation(), Coercibility::Implicit)
        }
        SqlType::Json => ExprType { sql, ..ExprType::json(nullable) },
        _ => ExprType::numeric(sql, nullable),
    };
    Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
}

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
