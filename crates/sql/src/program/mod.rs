//! Stored programs.
use crate::session::Session;
use leafline_expr::ProgramCall;
use leafline_planner::binder::StoredFunction;
use leafline_types::{MysqlError, Value};

pub(crate) fn call_function(_: &mut Session, call: &ProgramCall, _: &[Value]) -> Result<Value, MysqlError> {
    Err(MysqlError::does_not_exist("FUNCTION", &call.function.name))
}

pub(crate) fn stored_function(_: &Session, _: &str, _: &str) -> Result<Option<StoredFunction>, MysqlError> {
    Ok(None)
}
