//! Makes documents of values, and returns properties of documents.

use super::super::args::{Made, bigint_or_null, bounded_text, nullable};
use super::{document, fits, json, name, of_node, path_to_one, value};
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build, truth};
use leafline_types::collation::Collation;
use leafline_types::convert::{parse_json_within, truth_json};
use leafline_types::error::{MysqlError, errno};
use leafline_types::json::{Item, Json, Key, Node, kind, text};
use leafline_types::output::room_for;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(in super::super) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_ARRAY", (0, usize::MAX), |_| Ok(ExprType::json(false)), array).documents(),
    Function::new("JSON_OBJECT", (0, usize::MAX), object_type, object).documents(),
    Function::new("JSON_QUOTE", (1, 1), quote_type, quote).documents(),
    Function::new("JSON_UNQUOTE", (1, 1), unquote_type, unquote).documents(),
    Function::new("JSON_PRETTY", (1, 1), long_text, pretty).documents(),
    Function::new("JSON_TRUTH", (1, 1), |args| Ok(ExprType::json(nullable(args))), truth_value).special(),
    Function::new("JSON_TYPE", (1, 1), |_| Ok(bounded_text(51, true)), json_type).documents(),
    Function::new("JSON_VALID", (1, 1), |args| Ok(build::bigint(nullable(args))), valid)
        .condition()
        .documents(),
    Function::new("JSON_DEPTH", (1, 1), bigint_or_null, depth).documents(),
    Function::new("JSON_LENGTH", (1, 2), bigint_or_null, length).documents(),
    Function::new("JSON_KEYS", (1, 2), json, keys).documents(),
    Function::new("JSON_STORAGE_SIZE", (1, 1), bigint_or_null, storage_size).documents(),
    Function::new("JSON_STORAGE_FREE", (1, 1), bigint_or_null, storage_free).documents(),
];

fn array(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    fits(cx, values)?;
    let cells: Result<Vec<Node>, MysqlError> = (0..values.len()).map(|n| value(call, values, n)).collect();
    of_node(&Node::Array(cells?))
}

fn object_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    match args.len().is_multiple_of(2) {
        true => Ok(ExprType::json(false)),
        false => Err(MysqlError::wrong_parameter_count("json_object")),
    }
}

fn object(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    fits(cx, values)?;
    let mut members = leafline_types::json::node::Members::new();
    for n in (0..values.len()).step_by(2) {
        members.insert(member_name(&values[n], &call.args[n].ty.sql)?, value(call, values, n + 1)?);
    }
    of_node(&Node::Object(members))
}

/// Returns the name of a member.
///
/// # Errors
/// 3158 for NULL, 3144 for bytes.
pub(crate) fn member_name(v: &Value, ty: &SqlType) -> Result<Key, MysqlError> {
    if let Value::Bytes(_) = v {
        return Err(MysqlError::invalid_json_charset("binary"));
    }
    let name = match v {
        Value::Json(json) => Some(text::unquoted(json.view()).into()),
        other => leafline_types::convert::to_text(other, ty),
    };
    name.map(|name| Key(name.to_string())).ok_or_else(MysqlError::json_null_key)
}

fn long_text(_: &[Expr]) -> Result<ExprType, MysqlError> {
    let sql = SqlType::Text { max_bytes: u32::MAX };
    Ok(ExprType::string(sql, true, Collation::Utf8mb4Bin, Coercibility::Implicit))
}

fn text_argument(args: &[Expr], function: &str) -> Result<(), MysqlError> {
    let ty = &args[0].ty.sql;
    let fits = ty.is_string() || matches!(ty, SqlType::Json | SqlType::Null);
    if fits || args[0].ty.coercibility == Coercibility::Ignorable {
        return Ok(());
    }
    Err(MysqlError::incorrect_type(1, function))
}

fn quote_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    text_argument(args, "json_quote")?;
    let characters = build::text_length(&args[0].ty.sql).saturating_mul(6).saturating_add(2);
    let sql = build::text_type(characters.min(u32::MAX.into()));
    Ok(ExprType::string(sql, nullable(args), Collation::Utf8mb4Bin, Coercibility::Implicit))
}

fn quote(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    if let Value::Bytes(_) = &values[0] {
        return Err(MysqlError::invalid_json_charset("binary"));
    }
    let Some(given) = leafline_types::convert::to_text(&values[0], &call.args[0].ty.sql) else {
        return Ok(Value::Null);
    };
    call.made(cx, values, |out| {
        text::put_quoted_to(&given, out)?;
        Ok(Made::String)
    })
}

fn unquote_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    text_argument(args, "json_unquote")?;
    long_text(args)
}

/// Returns the text of a JSON string without its quotes; any other document or text unchanged.
fn unquote(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let text = match &values[0] {
        Value::Null => return Ok(Value::Null),
        Value::Json(json) => return unquoted(cx, call, values, json),
        Value::Bytes(_) => return Err(MysqlError::invalid_json_charset("binary")),
        other => leafline_types::convert::to_text(other, &call.args[0].ty.sql).unwrap_or_default(),
    };
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return Ok(Value::String(text));
    }
    let json = parse_json_within(&text, &name(call), 1, cx.memory, cx.cancel)?;
    unquoted(cx, call, values, &json)
}

fn unquoted(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    json: &Json,
) -> Result<Value, MysqlError> {
    match json.view().item() {
        Item::Array(_) | Item::Object(_) => call.made(cx, values, |out| {
            text::put_text(json.view(), out)?;
            Ok(Made::String)
        }),
        _ => {
            room_for(json.as_bytes().len().saturating_mul(2))?;
            Ok(Value::string(text::unquoted(json.view())))
        }
    }
}

fn pretty(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(json) = document(cx, call, values, 0)? else { return Ok(Value::Null) };
    call.made(cx, values, |out| {
        text::put_pretty_text(json.view(), out)?;
        Ok(Made::String)
    })
}

fn truth_value(cx: &mut EvalContext<'_>, _: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    match truth(&values[0], cx)? {
        Some(truth) => truth_json(truth).map(Value::Json),
        None => Ok(Value::Null),
    }
}

fn json_type(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json = document(cx, call, values, 0)?;
    Ok(json.map_or(Value::Null, |json| Value::from(kind::type_name(json.view()))))
}

fn valid(cx: &mut EvalContext<'_>, _: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    Ok(match &values[0] {
        Value::Null => Value::Null,
        Value::Json(_) => Value::Int(1),
        Value::String(text) => match parse_json_within(text, "json_valid", 1, cx.memory, cx.cancel) {
            Err(e) if e.code != errno::ER_INVALID_JSON_TEXT_IN_PARAM => return Err(e),
            parsed => Value::Int(parsed.is_ok().into()),
        },
        _ => Value::Int(0),
    })
}

fn depth(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json = document(cx, call, values, 0)?;
    Ok(json.map_or(Value::Null, |json| Value::Int(json.view().depth() as i64)))
}

/// Calls a function with the part of document `0` that path `1`, if given, leads to; None for NULL.
fn with_part<T>(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    f: impl FnOnce(Item<'_>) -> Option<T>,
) -> Result<Option<T>, MysqlError> {
    let Some(json) = document(cx, call, values, 0)? else { return Ok(None) };
    if values.len() < 2 {
        return Ok(f(json.view().item()));
    }
    let Some(path) = path_to_one(cx, call, values, 1)? else { return Ok(None) };
    Ok(path.first(json.view(), cx.cancel)?.and_then(|part| f(part.item())))
}

fn length(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let length = with_part(cx, call, values, |item| {
        Some(match item {
            Item::Array(array) => array.len(),
            Item::Object(object) => object.len(),
            _ => 1,
        })
    })?;
    Ok(length.map_or(Value::Null, |length| Value::Int(length as i64)))
}

fn keys(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let keys = with_part(cx, call, values, |item| match item {
        Item::Object(object) => {
            Some(Node::Array(object.iter().map(|(name, _)| Node::String(name.to_owned())).collect()))
        }
        _ => None,
    })?;
    keys.map_or(Ok(Value::Null), |keys| of_node(&keys))
}

fn storage_size(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json: Option<Json> = document(cx, call, values, 0)?;
    Ok(json.map_or(Value::Null, |json| Value::Int(json.as_bytes().len() as i64)))
}

/// Returns 0, because documents are stored whole.
fn storage_free(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    Ok(document(cx, call, values, 0)?.map_or(Value::Null, |_| Value::Int(0)))
}
