//! GET_LOCK and its family: locks with names, owned by sessions. Who keeps the locks implements [`NamedLocks`](crate::NamedLocks).

use std::time::{Duration, Instant};

use super::args::integer;
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("GET_LOCK", (2, 2), nullable, get_lock).volatility(Volatility::Volatile),
    Function::new("RELEASE_LOCK", (1, 1), nullable, release_lock).volatility(Volatility::Volatile),
    Function::new(
        "RELEASE_ALL_LOCKS",
        (0, 0),
        |_| Ok(unsigned(false)),
        |cx, _, _| Ok(Value::UInt(cx.session.locks.release_all(cx.session.connection_id))),
    )
    .volatility(Volatility::Volatile),
    Function::new("IS_FREE_LOCK", (1, 1), nullable, |cx, call, args| {
        let name = lock_name(call, args)?;
        Ok(Value::Int(cx.session.locks.owner(&name).is_none().into()))
    })
    .volatility(Volatility::Volatile),
    Function::new(
        "IS_USED_LOCK",
        (1, 1),
        |_| Ok(unsigned(true)),
        |cx, call, args| {
            let name = lock_name(call, args)?;
            Ok(cx.session.locks.owner(&name).map_or(Value::Null, Value::UInt))
        },
    )
    .volatility(Volatility::Volatile),
];

/// The longest name, in characters.
const MAX_NAME: usize = 64;

fn nullable(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(build::bigint(true))
}

fn unsigned(nullable: bool) -> ExprType {
    ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable)
}

/// Returns the name in lower case, because names are compared without case.
fn lock_name(call: Call<'_>, args: &[Value]) -> Result<String, MysqlError> {
    let Some(text) = call.text(args, 0) else { return Err(MysqlError::wrong_user_lock_name("NULL")) };
    let name = String::from_utf8_lossy(&text);
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(MysqlError::wrong_user_lock_name(name));
    }
    Ok(name.to_lowercase())
}

fn get_lock(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let name = lock_name(call, args)?;
    let seconds = match &args[1] {
        Value::Null => None,
        v @ (Value::Int(_) | Value::UInt(_)) => integer(v, cx)?.map(|s| s as f64),
        v => operand::double(v, cx)?.map(f64::round),
    };
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    // A negative time means no limit.
    let limit = Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d));
    let granted = cx.session.locks.acquire(&name, cx.session.connection_id, limit, cx.cancel)?;
    Ok(Value::Int(granted.into()))
}

fn release_lock(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let name = lock_name(call, args)?;
    let session = cx.session.connection_id;
    Ok(match cx.session.locks.owner(&name) {
        None => Value::Null,
        Some(owner) if owner != session => Value::Int(0),
        Some(_) => {
            cx.session.locks.release(&name, session);
            Value::Int(1)
        }
    })
}
