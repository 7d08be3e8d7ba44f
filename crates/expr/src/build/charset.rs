//! Combines text with binary strings, in character sets that are not UTF-8.
//!
//! Text is stored as UTF-8 whatever its character set is, bytes as they are. Where both meet, the operation's
//! collation decides: under a collation of a character set, bytes are read as text of that set; under `binary`, text
//! becomes the bytes of its set.

use super::node::call_of;
use super::plain::plain;
use super::string;
use super::types::{merge_collations, text_length, text_type};
use crate::function::Function;
use crate::ir::Expr;
use leafline_types::collation::{Charset, Collation};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, Value};

/// Converts an operand to bytes: text becomes the bytes of its character set.
pub(super) fn bytes(operand: Expr) -> Expr {
    let operand = plain(operand);
    let is_utf8 = operand.ty.collation.charset().is_utf8();
    if !operand.ty.sql.is_character() || is_utf8 {
        return operand;
    }
    match call_of("BYTES_OF_TEXT", vec![operand.clone()]) {
        Ok(bytes) => bytes,
        Err(_) => operand,
    }
}

/// Makes `CONVERT(operand USING charset)`; `charset` is not `binary`.
///
/// # Errors
/// Only 1815.
pub fn convert_using(operand: Expr, charset: Charset) -> Result<Expr, MysqlError> {
    let operand = plain(operand);
    let sql = match &operand.ty.sql {
        ty if ty.is_character() => ty.clone(),
        ty => text_type(text_length(ty)),
    };
    let (nullable, bytes) = (operand.ty.nullable, !operand.ty.sql.is_character());
    let mut e = call_of("TEXT_OF_CHARSET", vec![operand])?;
    let collation = charset.default_collation();
    e.ty = ExprType::string(sql, nullable || bytes, collation, Coercibility::Implicit);
    Ok(e)
}

/// Converts an operand for an operation under a collation.
pub(super) fn under(operand: Expr, collation: Collation) -> Expr {
    let sql = &operand.ty.sql;
    if collation == Collation::Binary && sql.is_character() {
        return bytes(operand);
    }
    let charset = collation.charset();
    if collation == Collation::Binary || charset.is_utf8() || !sql.is_bytes() {
        return operand;
    }
    let coercibility = operand.ty.coercibility;
    let decoded = match operand.as_literal() {
        Some(Value::Bytes(bytes)) => charset.decode(bytes).ok(),
        _ => None,
    };
    let text = match decoded {
        Some(text) => string(&text, collation),
        None => match convert_using(operand.clone(), charset) {
            Ok(text) => text,
            Err(_) => return operand,
        },
    };
    let ty = ExprType { collation, coercibility, ..text.ty };
    Expr { kind: text.kind, ty }
}

/// Converts an operand of an operation that makes text: if an explicit collation's character set lacks some of its
/// characters, a question mark replaces each of these.
pub(super) fn converted(operand: Expr, (collation, coercibility): (Collation, Coercibility)) -> Expr {
    let (charset, own) = (collation.charset(), operand.ty.collation.charset());
    let is_kept =
        coercibility != Coercibility::Explicit || !operand.ty.sql.is_character() || charset.holds(own);
    if is_kept || operand.as_literal().is_some() || operand.ty.coercibility >= Coercibility::SystemConstant {
        return operand;
    }
    let (nullable, coercibility) = (operand.ty.nullable, operand.ty.coercibility);
    match convert_using(operand.clone(), charset) {
        Ok(text) => Expr { ty: ExprType { collation, coercibility, nullable, ..text.ty }, kind: text.kind },
        Err(_) => operand,
    }
}

/// Converts the arguments of a function if texts and bytes are among them, or texts of several Unicode character
/// sets.
pub(super) fn arguments(function: &Function, args: Vec<Expr>) -> Vec<Expr> {
    let has_bytes = args.iter().any(|e| e.ty.sql.is_bytes());
    let has_text = args.iter().any(|e| e.ty.sql.is_character() && !e.ty.collation.charset().is_utf8());
    if function.bytes || function.documents {
        return args;
    }
    if !has_bytes {
        return joined(function, args);
    }
    if !has_text {
        return args;
    }
    let strings = args.iter().filter(|e| e.ty.sql.is_string()).map(|e| &e.ty);
    match merge_collations(function.name, strings) {
        Ok((collation, _)) => args.into_iter().map(|e| under(e, collation)).collect(),
        Err(_) => args,
    }
}

/// Converts the arguments of a function whose result is text in the common collation of its texts to that collation's
/// character set.
fn joined(function: &Function, args: Vec<Expr>) -> Vec<Expr> {
    if !args.iter().any(|e| e.ty.coercibility == Coercibility::Explicit && e.ty.sql.is_character()) {
        return args;
    }
    let strings = args.iter().filter(|e| e.ty.sql.is_string()).map(|e| &e.ty);
    let Ok(merged) = merge_collations(function.name, strings) else { return args };
    let makes_it =
        (function.type_rule)(&args).is_ok_and(|ty| ty.sql.is_character() && ty.collation == merged.0);
    if !makes_it {
        return args;
    }
    args.into_iter().map(|e| converted(e, merged)).collect()
}
