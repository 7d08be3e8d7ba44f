//! Converts parts of documents, for JSON_VALUE and JSON_TABLE.

use super::cast::cast;
use super::context::StoreContext;
use super::json::{convertible, target_name};
use super::store::store_cast;
use crate::error::MysqlError;
use crate::json::{Item, Json, View, text};
use crate::statement::Warnings;
use crate::temporal::DateRules;
use crate::value::{SqlType, Value};

/// Computes JSON_VALUE's result from a part of a document: NULL for null, otherwise a value of type `to`.
///
/// # Errors
/// 1406, 3155 and 3156 if the conversion would change the value.
pub fn returned(part: View<'_>, to: &SqlType) -> Result<Value, MysqlError> {
    let column = "json_value";
    let mut warnings = Warnings::new();
    let converted = match part.item() {
        Item::Null => return Ok(Value::Null),
        _ if *to == SqlType::Json => return Ok(Value::Json(Json::of_view(part))),
        _ if to.is_string() => {
            let text = Value::string(text::unquoted(part));
            let converted = cast(&text, &SqlType::Null, to, DateRules::DAYS, &mut warnings)?;
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
    let v = cast(&converted, &SqlType::Null, to, DateRules::DAYS, &mut warnings)?;
    let wrapped = to.is_unsigned() && matches!(converted, Value::Int(..0));
    if warnings.count() > 0 || wrapped || v.is_null() {
        return Err(MysqlError::json_value_out_of_range(target_name(to), column, 1));
    }
    Ok(v)
}

/// Converts a part of a document, which is not null, for a column of JSON_TABLE.
///
/// # Errors
/// 3156 if the part does not convert to the type, 3669 if the column cannot hold the value.
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
