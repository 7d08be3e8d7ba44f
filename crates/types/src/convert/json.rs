//! Converts between documents and SQL values.

use super::context::StoreContext;
use super::document::{node_of, sql_value};
use super::number::{decimal_prefix, f64_prefix, whole_prefix};
use crate::error::MysqlError;
use crate::json::{Json, Node, parse::Failure};
use crate::memory::MemoryBudget;
use crate::statement::{CancelToken, Warnings};
use crate::value::{SqlType, Value};

/// The column name in messages about a document that is not in a column.
const NO_COLUMN: &str = "json";

/// Parses a document; error 3141 names the function and the argument.
///
/// # Errors
/// 3141, 3151, 3157.
pub fn parse_json(text: &str, function: &str, argument: usize) -> Result<Json, MysqlError> {
    Json::parse(text).map_err(|failure| argument_error(failure, function, argument))
}

/// Parses a document within the memory and time of a statement.
///
/// # Errors
/// 3141, 3151, 3157; 1038 if its tree is too large; 1317 or 3024 if the statement has to end.
pub fn parse_json_within(
    text: &str,
    function: &str,
    argument: usize,
    memory: &MemoryBudget,
    cancel: &CancelToken,
) -> Result<Json, MysqlError> {
    Json::parse_within(text, memory.limit(), cancel)
        .map_err(|failure| argument_error(failure, function, argument))
}

fn argument_error(failure: Failure, function: &str, argument: usize) -> MysqlError {
    match failure {
        Failure::Syntax { message, position } => {
            MysqlError::invalid_json_argument(argument, function, message, position)
        }
        Failure::TooDeep => MysqlError::json_document_too_deep(),
        Failure::KeyTooLong => MysqlError::json_key_too_big(),
        Failure::Stopped(error) => error,
    }
}

/// Converts a value to a document; a string becomes a JSON string.
///
/// # Errors
/// 3157 for a document that is too deep.
pub fn to_json(v: &Value, ty: &SqlType) -> Result<Json, MysqlError> {
    match v {
        Value::Json(json) => Ok(json.clone()),
        other => Json::new(&node_of(other, ty)?),
    }
}

/// Computes `CAST(v AS JSON)`; parses a text.
pub(super) fn cast_to_json(v: &Value, from: &SqlType) -> Result<Value, MysqlError> {
    Ok(Value::Json(match v {
        Value::String(text) if !from.has_members() => parse_json(text, "cast_as_json", 1)?,
        other => to_json(other, from)?,
    }))
}

/// Returns the SQL value that CAST converts to `to`; None, with warning 3156, if the document has no such value.
pub(super) fn value_for_cast(json: &Json, to: &SqlType, warnings: &mut Warnings) -> Option<Value> {
    let found = convertible(json, to);
    if found.is_none() {
        warnings.warn(MysqlError::json_value_for_cast(target_name(to), NO_COLUMN, 1));
    }
    found
}

/// Converts a value for a JSON column: parses a text, takes a document, refuses other values. Error 1301 if the
/// document is too large.
pub(super) fn store_json(v: &Value, cx: &StoreContext<'_>) -> Result<Value, MysqlError> {
    let json = match v {
        Value::Json(json) => json.clone(),
        Value::String(text) => Json::parse(text).map_err(|failure| match failure {
            Failure::Syntax { message, position } => {
                MysqlError::invalid_json_text(message, position, cx.column)
            }
            Failure::TooDeep => MysqlError::json_document_too_deep(),
            Failure::KeyTooLong => MysqlError::json_key_too_big(),
            Failure::Stopped(error) => error,
        })?,
        Value::Bytes(_) => return Err(MysqlError::invalid_json_charset("binary")),
        _ => return Err(MysqlError::invalid_json_text("not a JSON text, may need CAST", 0, cx.column)),
    };
    json.no_larger_than(cx.max_document).map(Value::Json)
}

pub(super) fn target_name(to: &SqlType) -> &'static str {
    match to {
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Date => "DATE",
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => "DATETIME",
        SqlType::Time { .. } => "TIME",
        real if real.is_real() => "DOUBLE",
        _ => "INTEGER",
    }
}

/// Returns the SQL value of a document if it converts to `to`: numbers, truth values and wholly numeric texts convert
/// to numbers, dates and texts to dates.
pub(super) fn convertible(json: &Json, to: &SqlType) -> Option<Value> {
    let v = sql_value(json.view())?;
    let possible = match &v {
        Value::String(text) if to.is_temporal() => !text.is_empty(),
        Value::String(text) if to.is_real() => f64_prefix(text.as_bytes()).is_clean(),
        Value::String(text) if matches!(to, SqlType::Decimal { .. }) => {
            decimal_prefix(text.as_bytes()).is_clean()
        }
        Value::String(text) => whole_prefix(text.as_bytes()).is_clean(),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => to.is_temporal(),
        _ => !to.is_temporal(),
    };
    possible.then_some(v)
}

/// Makes a document of a truth value.
pub fn truth_json(truth: bool) -> Result<Json, MysqlError> {
    Json::new(&Node::Bool(truth))
}
