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

use super::node::call_of;
use crate::ir::{Expr, ExprKind, FunctionId};
use leafline_types::value::{Coercibility, ExprType, SqlType};

/// The function that reads the text of a date or time as a number.
pub(crate) const NUMBER_OF_TEMPORAL_TEXT: &str = "NUMBER_OF_TEMPORAL_TEXT";

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
            operand.ty.sql.is_character() && function.definition().temporal_text
        }
        _ => false,
    };
    if !is_temporal_text {
        return operand;
    }
    match call_of(NUMBER_OF_TEMPORAL_TEXT, vec![operand.clone()]) {
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
    if condition { json_truth(operand) } else { plain_or_document(operand) }
}

/// Converts a condition, or a number that stands for one, to `true` or `false` of JSON.
pub fn json_truth(condition: Expr) -> Expr {
    match FunctionId::named("JSON_TRUTH") {
        Some(function) => {
            let ty = ExprType::json(condition.ty.nullable);
            Expr { kind: ExprKind::Call { function, args: vec![condition] }, ty }
        }
        None => condition,
    }
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
