//! Makes calls whose arguments have the form that the function takes.

use crate::ir::{Expr, ExprKind, FunctionId};
use leafline_types::error::MysqlError;

/// Makes a call of the table's function `name`. Other calls convert their arguments first: see [`super::call()`].
pub(super) fn call_of(name: &str, args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let function = FunctionId::named(name).ok_or_else(|| MysqlError::internal(name))?;
    let ty = (function.definition().type_rule)(&args)?;
    Ok(Expr { kind: ExprKind::Call { function, args }, ty })
}
