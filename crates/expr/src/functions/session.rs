//! Functions that return facts of the session, and SLEEP.

use std::time::{Duration, Instant};

use super::args::system_string;
use crate::eval_operand as operand;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("VERSION", (0, 0), text::<60>, |cx, _, _| Ok(Value::from(cx.session.version.as_str())))
        .volatility(Volatility::Statement),
    Function::new(
        "DATABASE",
        (0, 0),
        |_| Ok(system_string(64, true)),
        |cx, _, _| Ok(cx.session.database.as_deref().map_or(Value::Null, Value::from)),
    )
    .aliases(&["SCHEMA"])
    .volatility(Volatility::Statement),
    Function::new("USER", (0, 0), text::<288>, |cx, _, _| Ok(Value::from(cx.session.user.as_str())))
        .aliases(&["SESSION_USER", "SYSTEM_USER"])
        .volatility(Volatility::Statement),
    Function::new("CURRENT_USER", (0, 0), text::<288>, |cx, _, _| {
        Ok(Value::from(cx.session.current_user.as_str()))
    })
    .volatility(Volatility::Statement),
    Function::new("CONNECTION_ID", (0, 0), unsigned, |cx, _, _| Ok(Value::UInt(cx.session.connection_id)))
        .volatility(Volatility::Statement),
    Function::new("LAST_INSERT_ID", (0, 0), unsigned, |cx, _, _| {
        Ok(Value::UInt(cx.state.last_insert_id.unwrap_or(cx.session.last_insert_id)))
    })
    .volatility(Volatility::Statement),
    Function::new("ROW_COUNT", (0, 0), super::args::bigint, |cx, _, _| Ok(Value::Int(cx.session.row_count)))
        .volatility(Volatility::Statement),
    Function::new("FOUND_ROWS", (0, 0), super::args::bigint, |cx, _, _| {
        Ok(Value::Int(i64::try_from(cx.session.found_rows).unwrap_or(i64::MAX)))
    })
    .volatility(Volatility::Statement),
    Function::new("@@WARNING_COUNT", (0, 0), unsigned, |cx, _, _| Ok(Value::UInt(cx.session.warning_count)))
        .volatility(Volatility::Statement)
        .special(),
    Function::new("@@ERROR_COUNT", (0, 0), unsigned, |cx, _, _| Ok(Value::UInt(cx.session.error_count)))
        .volatility(Volatility::Statement)
        .special(),
    Function::new("MYSQL_QUERY_ATTRIBUTE_STRING", (1, 1), |_| Ok(system_string(16_383, true)), attribute)
        .volatility(Volatility::Statement),
    Function::new("SLEEP", (1, 1), |_| Ok(ExprType::numeric(SqlType::BIGINT, false)), sleep)
        .numbers(&[0])
        .volatility(Volatility::Volatile),
    Function::new("BENCHMARK", (2, 2), |_| Ok(build::bigint(true)), benchmark)
        .numbers(&[0])
        .volatility(Volatility::Volatile),
    Function::new("CURRENT_ROLE", (0, 0), text::<16_383>, |cx, _, _| {
        Ok(Value::from(match cx.session.current_role.as_str() {
            "" => "NONE",
            roles => roles,
        }))
    })
    .volatility(Volatility::Statement),
];

/// Returns the query attribute of that name; NULL if the client has sent none.
fn attribute(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let name = args.first().and_then(Value::as_str);
    let found = cx.session.query_attributes.iter().find(|(known, _)| Some(known.as_str()) == name);
    Ok(found.and_then(|(_, value)| value.as_deref()).map_or(Value::Null, Value::from))
}

fn text<const LENGTH: u32>(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(system_string(LENGTH, false))
}

fn unsigned(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, false))
}

/// The interval at which SLEEP checks for cancellation.
const SLEEP_SLICE: Duration = Duration::from_millis(10);

/// Evaluates an expression repeatedly; the call has evaluated it once already.
fn benchmark(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    /// Evaluations between two checks for cancellation.
    const ROUND: i64 = 256;
    let Some(count) = super::args::integer(&args[0], cx)? else { return Ok(Value::Null) };
    if count < 0 {
        cx.warn(MysqlError::wrong_value_for_function("count", count, "benchmark"))?;
        return Ok(Value::Null);
    }
    for n in 1..count {
        if n % ROUND == 0 {
            cx.cancel.check()?;
        }
        crate::value_of(&call.args[1], call.row, cx)?;
    }
    Ok(Value::Int(0))
}

fn sleep(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let seconds = operand::double(&args[0], cx)?.filter(|s| *s >= 0.0);
    let seconds = seconds.ok_or_else(|| MysqlError::wrong_arguments("sleep."))?;
    let end = Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d));
    loop {
        cx.cancel.check()?;
        let left = match end {
            Some(end) => end.saturating_duration_since(Instant::now()),
            None => SLEEP_SLICE,
        };
        if left.is_zero() {
            return Ok(Value::Int(0));
        }
        std::thread::sleep(left.min(SLEEP_SLICE));
    }
}
