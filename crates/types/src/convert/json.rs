//! From documents to SQL values and back.

use super::number::{decimal_prefix, f64_prefix, whole_prefix};
use super::store::{StoreContext, store_cast};
use crate::error::MysqlError;
use crate::json::{Item, Json, Node, View, parse::Failure, scalar, text};
use crate::memory::MemoryBudget;
use crate::statement::{CancelToken, Warnings};
use crate::temporal::DateRules;
use crate::value::{SqlType, Value};

/// What messages call a document that comes from no column.
const NO_COLUMN: &str = "json";

/// The document of a text; 3141 says whose argument it is.
///
/// # Errors
/// 3141, 3151, 3157.
pub fn parse_json(text: &str, function: &str, argument: usize) -> Result<Json, MysqlError> {
    Json::parse(text).map_err(|failure| argument_error(failure, function, argument))
}

/// The same within the bounds of a statement.
///
/// # Errors
/// Besides, 1038 where its tree is too large, and that of a statement that has to end.
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

/// A value as a document: a string as a string of JSON.
///
/// # Errors
/// 3157 for a document that is too deep.
pub fn to_json(v: &Value, ty: &SqlType) -> Result<Json, MysqlError> {
    match v {
        Value::Json(json) => Ok(json.clone()),
        other => Json::new(&scalar::node_of(other, ty)?),
    }
}

/// `CAST(v AS JSON)`: a text is read.
pub(super) fn cast_to_json(v: &Value, from: &SqlType) -> Result<Value, MysqlError> {
    Ok(Value::Json(match v {
        Value::String(text) if !from.has_members() => parse_json(text, "cast_as_json", 1)?,
        other => to_json(other, from)?,
    }))
}

/// The SQL value of which a value of `to` is made; None, with warning 3156, if there is none.
pub(super) fn meant_value(json: &Json, to: &SqlType, warnings: &mut Warnings) -> Option<Value> {
    let found = convertible(json, to);
    if found.is_none() {
        warnings.warn(MysqlError::json_value_for_cast(target_name(to), NO_COLUMN, 1));
    }
    found
}

/// The value of a document that a column of another type is given. Text takes the document's text.
pub(super) fn store_from_json(
    json: &Json,
    to: &SqlType,
    nullable: bool,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    match convertible(json, to) {
        Some(v) => store_cast(&v, &SqlType::Null, to, nullable, cx),
        None => {
            cx.refuse(MysqlError::json_value_for_cast(target_name(to), cx.column, cx.row))?;
            if to.is_temporal() && nullable {
                return Ok(Value::Null);
            }
            store_cast(&Value::Int(0), &SqlType::BIGINT, to, nullable, cx)
        }
    }
}

/// A column's document: text is read, other documents are taken, nothing else is. Error 1301 if it is too large.
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

fn target_name(to: &SqlType) -> &'static str {
    match to {
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Date => "DATE",
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => "DATETIME",
        SqlType::Time { .. } => "TIME",
        real if real.is_real() => "DOUBLE",
        _ => "INTEGER",
    }
}

/// The SQL value of a document, if a value of type `to` can be made of it: numbers of numbers, truth values and texts that are
/// all number, dates of dates and texts.
fn convertible(json: &Json, to: &SqlType) -> Option<Value> {
    let v = scalar::sql_value(json.view())?;
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

/// What JSON_VALUE makes of a part of a document: NULL of null, a value of `to` of all else.
///
/// # Errors
/// 1406, 3155 and 3156 where it would not be the same.
pub fn returned(part: View<'_>, to: &SqlType) -> Result<Value, MysqlError> {
    let column = "json_value";
    let mut warnings = Warnings::new();
    let converted = match part.item() {
        Item::Null => return Ok(Value::Null),
        _ if *to == SqlType::Json => return Ok(Value::Json(Json::of_view(part))),
        _ if to.is_string() => {
            let text = Value::string(text::unquoted(part));
            let converted = super::cast(&text, &SqlType::Null, to, DateRules::DAYS, &mut warnings)?;
            return match warnings.count() {
                0 => Ok(converted),
                _ => Err(MysqlError::data_too_long(column, 1)),
            };
        }
        _ => {
            let refused = || MysqlError::json_value_for_cast(target_name(to), column, 1);
            convertible(&Json::of_view(part), to).ok_or_else(refused)?
        }
    };
    let v = super::cast(&converted, &SqlType::Null, to, DateRules::DAYS, &mut warnings)?;
    let wrapped = to.is_unsigned() && matches!(converted, Value::Int(..0));
    if warnings.count() > 0 || wrapped || v.is_null() {
        return Err(MysqlError::json_value_out_of_range(target_name(to), column, 1));
    }
    Ok(v)
}

/// What a column of JSON_TABLE makes of a part of a document that is a value.
///
/// # Errors
/// 3156 where no value of the type is made of such a part, 3669 where the column cannot hold it.
pub fn stored_part(part: View<'_>, to: &SqlType, cx: &mut StoreContext<'_>) -> Result<Value, MysqlError> {
    let v = match to.is_string() || to.has_members() {
        true => Value::string(text::unquoted(part)),
        false => {
            let refused = || MysqlError::json_value_for_cast(target_name(to), cx.column, cx.row);
            convertible(&Json::of_view(part), to).ok_or_else(refused)?
        }
    };
    let column = cx.column;
    store_cast(&v, &SqlType::Null, to, true, cx)
        .map_err(|_| MysqlError::json_table_value_out_of_range(column))
}

/// A truth value as a document.
pub fn truth_json(truth: bool) -> Result<Json, MysqlError> {
    Json::new(&Node::Bool(truth))
}
