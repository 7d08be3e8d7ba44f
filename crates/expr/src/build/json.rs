//! JSON_VALUE: its type, and its result if there is no value.

use super::{CastTarget, cast, literal};
use crate::ir::Expr;
use leafline_types::collation::Collation;
use leafline_types::convert::{self, parse_json};
use leafline_types::error::MysqlError;
use leafline_types::statement::Warnings;
use leafline_types::temporal::DateRules;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// The result in place of a value.
#[derive(Debug, Clone)]
pub enum JsonResponse {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// A literal.
    Default(Expr),
}

/// The most characters of the value if no type is asked for.
const DEFAULT_CHARACTERS: u32 = 512;

/// Makes `JSON_VALUE(document, path RETURNING returning on_empty ON EMPTY on_error ON ERROR)`; `collation` is that of
/// CHAR, if a character set is named.
///
/// # Errors
/// 1210 for a default that is not a literal; 1292, 1690 and 3141 for one that does not convert to the type.
pub fn json_value(
    document: Expr,
    path: &str,
    returning: Option<(CastTarget, Option<Collation>)>,
    on_empty: JsonResponse,
    on_error: JsonResponse,
) -> Result<Expr, MysqlError> {
    let (target, collation) = returning.unwrap_or((CastTarget::Char(Some(DEFAULT_CHARACTERS)), None));
    let text = |sql| {
        ExprType::string(sql, true, collation.unwrap_or(Collation::Utf8mb4_0900Bin), Coercibility::Implicit)
    };
    let ty = match target {
        CastTarget::Char(None) => text(SqlType::Text { max_bytes: u32::MAX }),
        CastTarget::Char(Some(len)) => text(super::text_type(len.into())),
        CastTarget::Binary(len) => {
            let sql = len.map_or(SqlType::Blob { max_bytes: u32::MAX }, |len| SqlType::Varbinary { len });
            ExprType::string(sql, true, Collation::Binary, Coercibility::Implicit)
        }
        other => ExprType { nullable: true, ..cast(super::null(), other, Collation::DEFAULT)?.ty },
    };
    let (empty_mode, empty) = response(on_empty, &ty)?;
    let (error_mode, error) = response(on_error, &ty)?;
    let path = literal(Value::from(path));
    super::call::json_value(vec![document, path, empty_mode, empty, error_mode, error], ty)
}

/// Encodes a response as two literals: its kind (0 NULL, 1 an error, 2 a default), and the default.
fn response(response: JsonResponse, ty: &ExprType) -> Result<(Expr, Expr), MysqlError> {
    let default = match response {
        JsonResponse::Null => return Ok((literal(Value::Int(0)), super::null())),
        JsonResponse::Error => return Ok((literal(Value::Int(1)), super::null())),
        JsonResponse::Default(default) => default,
    };
    let Some(given) = default.as_literal() else { return Err(MysqlError::wrong_arguments("json_value")) };
    if let (SqlType::Json, Value::String(text)) = (&ty.sql, given) {
        let json = parse_json(text, "json_value", 1)?;
        return Ok((literal(Value::Int(2)), literal(Value::Json(json))));
    }
    let mut warnings = Warnings::new();
    let value = convert::cast(given, &default.ty.sql, &ty.sql, DateRules::DAYS, &mut warnings)?;
    if let Some(warning) = warnings.iter().next() {
        return Err(match ty.sql.is_string() {
            true => MysqlError::data_out_of_range("CHAR DEFAULT", "json_value"),
            false => MysqlError::with_message(warning.code, warning.message.clone()),
        });
    }
    let mut value = literal(value);
    value.ty = ty.clone();
    Ok((literal(Value::Int(2)), value))
}
