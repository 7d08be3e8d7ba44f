//! Text that meets strings of bytes, in character sets that are not UTF-8.
//!
//! Text is kept as UTF-8 whatever its character set is, bytes as they are. Where both meet, the operation's collation says what they are: under
//! that of a character set, bytes are text of that set; under `binary`, text is the bytes that it has in its set.

use super::{call::bytes, convert_using, merge_collations, string};
use crate::collation::Collation;
use crate::expr::ir::Expr;
use crate::functions::Function;
use crate::value::{ExprType, Value};

/// The operand of an operation under a collation.
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

/// The arguments of a function, where texts and bytes are among them.
pub(super) fn arguments(function: &Function, args: Vec<Expr>) -> Vec<Expr> {
    let has_bytes = args.iter().any(|e| e.ty.sql.is_bytes());
    let has_text = args.iter().any(|e| e.ty.sql.is_character() && !e.ty.collation.charset().is_utf8());
    if !has_bytes || !has_text || function.bytes || function.documents {
        return args;
    }
    let strings = args.iter().filter(|e| e.ty.sql.is_string()).map(|e| &e.ty);
    match merge_collations(function.name, strings) {
        Ok((collation, _)) => args.into_iter().map(|e| under(e, collation)).collect(),
        Err(_) => args,
    }
}
