//! Values of CHAR columns with their trailing spaces, as PAD_CHAR_TO_FULL_LENGTH of `sql_mode` has them: rows hold them without.

use super::super::ir::{Expr, ExprKind};
use crate::functions;
use leafline_types::value::{SqlType, Value};

const PAD: &str = "RPAD";

/// The value of a CHAR column with spaces up to its length; another value as it is.
pub fn padded(operand: Expr) -> Expr {
    let (SqlType::Char { len }, Some(function)) = (&operand.ty.sql, functions::lookup(PAD)) else {
        return operand;
    };
    if of_padded(&operand).is_some() {
        return operand;
    }
    let (len, ty) = (Value::Int(i64::from(*len)), operand.ty.clone());
    let args = vec![operand, super::literal(len), super::literal(Value::String(" ".into()))];
    Expr { kind: ExprKind::Call { function, args }, ty }
}

/// The operand of what [`padded`] made. Other calls of the function give a VARCHAR.
pub fn of_padded(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Call { function, args } if matches!(e.ty.sql, SqlType::Char { .. }) => {
            args.first().filter(|_| function.definition().name == PAD)
        }
        _ => None,
    }
}

/// The value without the spaces that [`padded`] gives it.
pub fn unpadded(e: Expr) -> Expr {
    match of_padded(&e) {
        Some(operand) => operand.clone(),
        None => e,
    }
}
