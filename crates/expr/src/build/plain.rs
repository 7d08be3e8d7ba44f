//! Operands of types whose values are kept as something else than what they mean.
//!
//! | type      | kept as                            | as an operand                         |
//! |-----------|------------------------------------|---------------------------------------|
//! | TIMESTAMP | the time in UTC                    | a DATETIME in the session's time zone |
//! | ENUM, SET | a number                           | text; where numbers are wanted, the number |
//! | JSON      | bytes                              | text; where numbers are wanted, a DOUBLE; itself in comparisons, and for functions of documents |
//!
//! Columns of these types are read, grouped and sorted as they are kept. Wherever else they are used, what is made here is
//! used instead. Comparisons that say the same of what is kept are made with that, so that an index can serve them.

use super::call::special;
use super::compare::adapted;
use super::literal;
use crate::functions::NUMBER_OF_TEMPORAL_TEXT;
use crate::ir::{Expr, ExprKind};
use leafline_types::error::MysqlError;
use leafline_types::temporal::DateTime;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// Functions that give a date or time as text if they are given texts or numbers.
const TEMPORAL_TEXT: &[&str] = &["ADDTIME", "DATE_ADD", "DATE_SUB", "SUBTIME"];

/// The operand as what it means: text for an ENUM, a DATETIME for a TIMESTAMP.
pub fn plain(operand: Expr) -> Expr {
    match operand.ty.sql.plain() {
        Some(sql) => cast_to(operand, sql),
        None => operand,
    }
}

/// The operand where a number is wanted: of an ENUM or SET the number.
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

/// The text that arithmetic with dates and times gives for texts and numbers, as a DOUBLE: `'2001-01-01' + INTERVAL 2 DAY` is the text
/// 2001-01-03, but the number 20010103, as in MySQL (`Item_temporal_hybrid_func::val_decimal`). Other operands stay as they are.
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

/// A BIT as the number that it is.
pub(crate) fn bit_number(operand: Expr) -> Expr {
    let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, operand.ty.nullable);
    Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
}

/// The operands as what they mean; documents as they are, if all are documents.
pub(super) fn plain_or_documents(operands: Vec<Expr>) -> Vec<Expr> {
    if operands.iter().all(|e| matches!(e.ty.sql, SqlType::Json | SqlType::Null)) {
        return operands;
    }
    operands.into_iter().map(plain).collect()
}

/// The operand where a document is wanted: what is one stays one, a condition becomes a truth value.
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

/// The operand as what it means, unless that is a document.
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

/// The two sides of a comparison, each as it is kept where that says the same. `equality`: it asks for equality only.
pub(super) fn meet(left: Expr, right: Expr, equality: bool) -> Result<(Expr, Expr), MysqlError> {
    if let Some(kept) = kept(&left, &right, equality)? {
        return Ok((left, kept));
    }
    if let Some(kept) = kept(&right, &left, equality)? {
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

/// What `other` becomes so that it can be compared with `operand` as that is kept.
fn kept(operand: &Expr, other: &Expr, equality: bool) -> Result<Option<Expr>, MysqlError> {
    Ok(match (&operand.ty.sql, &other.ty.sql) {
        (SqlType::Timestamp { .. } | SqlType::Enum(_) | SqlType::Set(_), SqlType::Null)
        | (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => Some(other.clone()),
        (SqlType::Timestamp { .. }, sql)
            if (sql.has_date() || sql.is_string()) && other.columns().is_empty() && !other.is_volatile() =>
        {
            let datetime = SqlType::DateTime { fsp: 6 };
            let other = adapted(other, &datetime, true)?.unwrap_or_else(|| other.clone());
            // What is no day has no place in UTC.
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
        // Under the collation of the operand.
        (SqlType::Enum(members), sql)
            if equality && sql.is_string() && other.ty.coercibility >= Coercibility::Coercible =>
        {
            // The empty text may be a member and what 0 stands for.
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
