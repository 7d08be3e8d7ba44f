//! Functions of JSON documents.
//!
//! | module   | holds                                                  |
//! |----------|--------------------------------------------------------|
//! | `values` | making documents of values, and properties of documents |
//! | `schema` | validation against JSON Schema                         |
//! | `search` | searching a document                                   |
//! | `modify` | changing and merging documents                         |
//! | `table`  | the rows of JSON_TABLE                                 |
//!
//! A document is an argument of type JSON, or text, which is parsed.

pub(super) mod modify;
pub(super) mod schema;
pub(super) mod search;
pub(super) mod table;
pub(super) mod values;

use crate::EvalContext;
use crate::function::Call;
use leafline_types::convert::{parse_json_within, to_json};
use leafline_types::error::MysqlError;
use leafline_types::json::{Json, Node, Path};
use leafline_types::value::{ExprType, Value};
use std::sync::Arc;

/// Returns nullable JSON.
fn json(_: &[crate::Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::json(true))
}

/// Returns the function's name in messages.
fn name(call: Call<'_>) -> String {
    call.function.definition().name.to_ascii_lowercase()
}

/// Returns argument `n` as a document; None for NULL.
///
/// # Errors
/// 3141 for text that is not a document, 3144 for bytes, 3146 for other types.
fn document(
    cx: &EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    n: usize,
) -> Result<Option<Json>, MysqlError> {
    match &values[n] {
        Value::Null => Ok(None),
        Value::Json(json) => Ok(Some(json.clone())),
        Value::String(text) => parse_json_within(text, &name(call), n + 1, cx.memory, cx.cancel).map(Some),
        Value::Bytes(_) => Err(MysqlError::invalid_json_charset("binary")),
        _ => Err(MysqlError::invalid_type_for_json(n + 1, name(call))),
    }
}

/// Returns argument `n` as a value for a document: NULL is `null`, text a string.
fn value(call: Call<'_>, values: &[Value], n: usize) -> Result<Node, MysqlError> {
    to_json(&values[n], &call.args[n].ty.sql)?.to_node()
}

/// Returns argument `n` as a path; None for NULL.
///
/// # Errors
/// 3143 if it is not a path, 3144 for bytes.
fn path(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    n: usize,
) -> Result<Option<Arc<Path>>, MysqlError> {
    match &values[n] {
        Value::String(text) => {
            let parse = || Ok((text.to_string(), Path::parse(text)?));
            cx.state.paths.get(|known| **known == **text, parse).map(Some)
        }
        Value::Bytes(_) => Err(MysqlError::invalid_json_charset("binary")),
        other => {
            let text = leafline_types::convert::to_text(other, &call.args[n].ty.sql);
            text.map(|text| Path::parse(&text).map(Arc::new)).transpose()
        }
    }
}

/// Returns argument `n` as a path to one value.
///
/// # Errors
/// 3149 if it may lead to several.
fn path_to_one(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    n: usize,
) -> Result<Option<Arc<Path>>, MysqlError> {
    match path(cx, call, values, n)? {
        Some(path) if path.is_ambiguous() => Err(MysqlError::json_path_wildcard()),
        path => Ok(path),
    }
}

/// Checks that the values from which a document is made are not too large: error 1301.
fn fits(cx: &EvalContext<'_>, values: &[Value]) -> Result<(), MysqlError> {
    let (most, longest) = (cx.sql_mode.max_result, crate::function::longest(values));
    match values.iter().map(Value::byte_len).sum::<usize>() > most.saturating_add(longest) {
        true => Err(Json::too_large(most)),
        false => Ok(()),
    }
}

/// Makes a value of a tree.
fn of_node(node: &Node) -> Result<Value, MysqlError> {
    Json::new(node).map(Value::Json)
}
