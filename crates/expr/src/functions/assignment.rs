//! Expressions with side effects: `@name := value` and `LAST_INSERT_ID(value)`; and reading a variable that its
//! statement assigns.

use super::args::integer;
use crate::build::{ASSIGN_VARIABLE, READ_VARIABLE};
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(ASSIGN_VARIABLE, (2, 2), |args| Ok(args[1].ty.clone()), assign)
        .volatility(Volatility::Volatile)
        .special(),
    Function::new(READ_VARIABLE, (2, 3), |args| Ok(ExprType { nullable: true, ..args[1].ty.clone() }), read)
        .volatility(Volatility::Volatile)
        .special(),
    Function::new("LAST_INSERT_ID_OF", (1, 1), id_type, set_last_insert_id)
        .volatility(Volatility::Volatile)
        .special(),
    Function::new("ANY_VALUE", (1, 1), |args| Ok(args[0].ty.clone()), |_, _, args| Ok(args[0].clone())),
];

/// Returns the name, which these calls have as a literal argument.
fn name<'e>(call: Call<'e>) -> &'e str {
    call.args[0].as_literal().and_then(Value::as_str).unwrap_or_default()
}

fn assign(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    cx.state.variables.set(name(call), args[1].clone(), &call.args[1].ty)?;
    Ok(args[1].clone())
}

/// Returns a variable as a value of the call's type. With a third argument, a DECIMAL keeps the digits of its value.
fn read(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value, MysqlError> {
    let (value, from) = cx.state.variables.get(name(call));
    match &call.ty.sql {
        ty if *ty == from => Ok(value),
        ty if ty.is_character() && matches!(value, Value::String(_)) => Ok(value),
        SqlType::Decimal { .. } if call.args.len() > 2 => {
            Ok(operand::decimal(&value, cx)?.map_or(Value::Null, Value::Decimal))
        }
        ty => operand::cast(&value, &from, ty, cx),
    }
}

fn id_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, args[0].ty.nullable))
}

/// Sets the next `LAST_INSERT_ID()`, which the client is told, too; NULL counts as 0.
fn set_last_insert_id(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let id = match &args[0] {
        Value::UInt(v) => Some(*v),
        v => integer(v, cx)?.map(|v| v as u64),
    };
    cx.state.last_insert_id = Some(id.unwrap_or(0));
    Ok(id.map_or(Value::Null, Value::UInt))
}
