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

use super::Call;
use crate::EvalContext;
use leafline_types::convert::{parse_json_within, to_json};
use leafline_types::error::MysqlError;
use leafline_types::json::{Json, Node, Path};
use leafline_types::value::{ExprType, Value};
use std::sync::Arc;

/// The parsed paths of a statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathCache(Vec<(String, Arc<Path>)>);

/// The number of paths that are kept; a statement seldom has more that stay the same from row to row.
const KEPT: usize = 16;

impl PathCache {
    fn get(&mut self, text: &str) -> Result<Arc<Path>, MysqlError> {
        if let Some((_, path)) = self.0.iter().find(|(known, _)| known == text) {
            return Ok(path.clone());
        }
        let path = Arc::new(Path::parse(text)?);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((text.to_owned(), path.clone()));
        Ok(path)
    }
}

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
        Value::String(text) => cx.state.paths.get(text).map(Some),
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
    let (most, longest) = (cx.sql_mode.max_result, super::args::longest(values));
    match values.iter().map(Value::byte_len).sum::<usize>() > most.saturating_add(longest) {
        true => Err(Json::too_large(most)),
        false => Ok(()),
    }
}

/// Makes a value of a tree.
fn of_node(node: &Node) -> Result<Value, MysqlError> {
    Json::new(node).map(Value::Json)
}
