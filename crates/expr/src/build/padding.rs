//! Pads values of CHAR columns with spaces, as PAD_CHAR_TO_FULL_LENGTH of `sql_mode` asks: rows store them without.

use crate::ir::{Expr, ExprKind, FunctionId};
use leafline_types::value::{SqlType, Value};

const PAD: &str = "RPAD";

/// Pads the value of a CHAR column with spaces to its length; leaves other values unchanged.
pub fn padded(operand: Expr) -> Expr {
    let (SqlType::Char { len }, Some(function)) = (&operand.ty.sql, FunctionId::named(PAD)) else {
        return operand;
    };
    if of_padded(&operand).is_some() {
        return operand;
    }
    let (len, ty) = (Value::Int(i64::from(*len)), operand.ty.clone());
    let args = vec![operand, super::literal(len), super::literal(Value::String(" ".into()))];
    Expr { kind: ExprKind::Call { function, args }, ty }
}

/// Returns the operand of [`padded`]. Other calls of the function have type VARCHAR.
pub fn of_padded(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Call { function, args } if matches!(e.ty.sql, SqlType::Char { .. }) => {
            args.first().filter(|_| function.definition().name == PAD)
        }
        _ => None,
    }
}

/// Returns the value without the spaces that [`padded`] adds.
pub fn unpadded(e: Expr) -> Expr {
    match of_padded(&e) {
        Some(operand) => operand.clone(),
        None => e,
    }
}
