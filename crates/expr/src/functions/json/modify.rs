//! Changes and merges documents.

use super::{document, fits, json, of_node, path_to_one, value};
use crate::function::{Call, Function};
use crate::{EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::json::edit::{self, Mode};
use leafline_types::json::{Node, Path};
use leafline_types::value::{ExprType, Value};

pub(in super::super) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_SET", (3, usize::MAX), pairs_type, |cx, call, values| {
        change(cx, call, values, |node, path, v| put(node, path, v, Mode::Set))
    })
    .documents(),
    Function::new("JSON_INSERT", (3, usize::MAX), pairs_type, |cx, call, values| {
        change(cx, call, values, |node, path, v| put(node, path, v, Mode::Insert))
    })
    .documents(),
    Function::new("JSON_REPLACE", (3, usize::MAX), pairs_type, |cx, call, values| {
        change(cx, call, values, |node, path, v| put(node, path, v, Mode::Replace))
    })
    .documents(),
    Function::new("JSON_ARRAY_APPEND", (3, usize::MAX), pairs_type, |cx, call, values| {
        change(cx, call, values, |node, path, v| {
            edit::append(node, path.legs(), v);
            Ok(())
        })
    })
    .documents(),
    Function::new("JSON_ARRAY_INSERT", (3, usize::MAX), pairs_type, |cx, call, values| {
        change(cx, call, values, |node, path, v| match edit::insert_cell(node, path.legs(), v) {
            true => Ok(()),
            false => Err(MysqlError::json_path_no_cell()),
        })
    })
    .documents(),
    Function::new("JSON_REMOVE", (2, usize::MAX), json, remove).documents(),
    Function::new("JSON_MERGE_PRESERVE", (2, usize::MAX), json, merge_preserve).documents(),
    Function::new("JSON_MERGE", (2, usize::MAX), json, |cx, call, values| {
        let old = "JSON_MERGE";
        cx.warnings.warn(MysqlError::deprecated_syntax(old, "JSON_MERGE_PRESERVE/JSON_MERGE_PATCH"));
        merge_preserve(cx, call, values)
    })
    .documents(),
    Function::new("JSON_MERGE_PATCH", (2, usize::MAX), json, merge_patch).documents(),
];

/// Types a call with a document, then pairs of a path and a value.
fn pairs_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    match args.len() % 2 {
        1 => Ok(ExprType::json(true)),
        _ => Err(MysqlError::wrong_parameter_count("json_set")),
    }
}

/// Makes a change for each pair of a path and a value, one after another. A NULL document or path gives NULL.
fn change(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    apply: impl Fn(&mut Node, &Path, Node) -> Result<(), MysqlError>,
) -> Result<Value, MysqlError> {
    let Some(json) = document(cx, call, values, 0)? else { return Ok(Value::Null) };
    fits(cx, values)?;
    let mut node = json.to_node()?;
    for n in (1..values.len()).step_by(2) {
        cx.cancel.check()?;
        let Some(path) = path_to_one(cx, call, values, n)? else { return Ok(Value::Null) };
        apply(&mut node, &path, value(call, values, n + 1)?)?;
    }
    of_node(&node)
}

fn put(node: &mut Node, path: &Path, v: Node, mode: Mode) -> Result<(), MysqlError> {
    edit::put(node, path.legs(), v, mode);
    Ok(())
}

fn remove(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json = document(cx, call, values, 0)?;
    let mut paths = Vec::with_capacity(values.len());
    for n in 1..values.len() {
        let path = path_to_one(cx, call, values, n)?;
        if path.as_ref().is_some_and(|path| path.legs().is_empty()) {
            return Err(MysqlError::json_vacuous_path());
        }
        paths.push(path);
    }
    let (Some(json), Some(paths)) = (json, paths.into_iter().collect::<Option<Vec<_>>>()) else {
        return Ok(Value::Null);
    };
    let mut node = json.to_node()?;
    for path in &paths {
        cx.cancel.check()?;
        edit::remove(&mut node, path.legs());
    }
    of_node(&node)
}

/// Returns all documents; None if one is NULL. An invalid document behind a NULL is still an error.
fn documents(
    cx: &EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
) -> Result<Option<Vec<Node>>, MysqlError> {
    fits(cx, values)?;
    let nodes =
        (0..values.len()).map(|n| document(cx, call, values, n)?.map(|json| json.to_node()).transpose());
    let nodes = nodes.collect::<Result<Vec<Option<Node>>, MysqlError>>()?;
    Ok(nodes.into_iter().collect())
}

fn merge_preserve(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(nodes) = documents(cx, call, values)? else { return Ok(Value::Null) };
    match nodes.into_iter().reduce(Node::merged_preserving) {
        Some(node) => of_node(&node),
        None => Ok(Value::Null),
    }
}

/// Computes JSON_MERGE_PATCH. A NULL patch gives NULL, unless a later patch replaces everything.
fn merge_patch(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    fits(cx, values)?;
    let mut merged = document(cx, call, values, 0)?.map(|json| json.to_node()).transpose()?;
    for n in 1..values.len() {
        let patch = document(cx, call, values, n)?.map(|json| json.to_node()).transpose()?;
        merged = match (merged, patch) {
            (_, None) => None,
            (None, Some(Node::Object(_))) => None,
            (None, Some(patch)) => Some(patch),
            (Some(node), Some(patch)) => Some(Node::patched(node, patch)),
        };
    }
    merged.map_or(Ok(Value::Null), |node| of_node(&node))
}
