//! Makes calls of the function table, and of the functions whose syntax is not `name(args)`.

use super::plain::number_of_temporal_text;
use super::{charset, control, literal, variable};
use crate::ir::{Expr, ExprKind, FunctionId};
use leafline_types::collation::Charset;
use leafline_types::error::MysqlError;
use leafline_types::temporal::IntervalUnit;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};
pub use leafline_types::words::TrimSide;

/// Makes `name(args)`, a call of the function table; `name` is in any case. Error 1305 for a function that does not
/// exist, 1582 for a wrong number of arguments.
pub fn call(name: &str, args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let count = args.len();
    let control = |low, high| {
        if (low..=high).contains(&count) { Ok(()) } else { Err(MysqlError::wrong_parameter_count(name)) }
    };
    match name.to_ascii_uppercase().as_str() {
        "IF" => control(3, 3).and_then(|()| control::if_(args)),
        "IFNULL" => control(2, 2).and_then(|()| control::coalesce("ifnull", args)),
        "COALESCE" => control(1, usize::MAX).and_then(|()| control::coalesce("coalesce", args)),
        "NULLIF" => control(2, 2).and_then(|()| control::nullif(args)),
        "ISNULL" => {
            control(1, 1)?;
            Ok(super::and(args.into_iter().map(|e| super::is_null(e, false)).collect()))
        }
        "LAST_INSERT_ID" if count == 1 => special("LAST_INSERT_ID_OF", args),
        // As in MySQL, two calls in one.
        "FROM_UNIXTIME" if count == 2 => {
            let [time, format] =
                <[Expr; 2]>::try_from(args).map_err(|_| MysqlError::wrong_parameter_count(name))?;
            call("DATE_FORMAT", vec![call("FROM_UNIXTIME", vec![time])?, format])
        }
        "MOD" => {
            control(2, 2)?;
            let [left, right] =
                <[Expr; 2]>::try_from(args).map_err(|_| MysqlError::wrong_parameter_count(name))?;
            super::arithmetic(crate::ArithmeticOp::Modulo, left, right)
        }
        upper => {
            if let Some(by_variables) = by_variables(upper, &args) {
                return special(by_variables, args);
            }
            let function = FunctionId::named(name).filter(|f| !f.definition().special);
            make(function.ok_or_else(|| MysqlError::does_not_exist("FUNCTION", name))?, args)
        }
    }
}

/// Whether the server has a function of that name, in any case, which expressions can call.
pub fn is_function(name: &str) -> bool {
    const OF_CONTROL: [&str; 7] = ["IF", "IFNULL", "COALESCE", "NULLIF", "ISNULL", "MOD", "FROM_UNIXTIME"];
    OF_CONTROL.iter().any(|known| known.eq_ignore_ascii_case(name))
        || FunctionId::named(name).is_some_and(|function| !function.definition().special)
}

/// Returns the function to call for `name` with these arguments: the one for expressions that may name user
/// variables, or `name` itself.
fn by_variables(name: &str, args: &[Expr]) -> Option<&'static str> {
    let by_variables = match name {
        "EXTRACTVALUE" if args.len() == 2 => "EXTRACTVALUE_BY_VARIABLES",
        "UPDATEXML" if args.len() == 3 => "UPDATEXML_BY_VARIABLES",
        _ => return None,
    };
    let names_none = args[1].as_literal().is_some_and(|v| v.as_str().is_none_or(|path| !path.contains('$')));
    (!names_none).then_some(by_variables)
}

/// Makes a call of a function of the table.
fn make(function: FunctionId, args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let definition = function.definition();
    if !(definition.min_args..=definition.max_args).contains(&args.len()) {
        return Err(MysqlError::wrong_parameter_count(definition.name));
    }
    let convert = match definition {
        d if d.numeric => super::number,
        d if d.documents => super::plain::document,
        d if d.bytes => charset::bytes,
        _ => super::plain,
    };
    let args: Vec<Expr> = args.into_iter().map(convert).collect();
    let args = variable::arguments(definition, args);
    let args = charset::arguments(definition, args);
    let ty = (definition.type_rule)(&args)?;
    let args = match definition.numeric {
        true => args.into_iter().map(super::without_rounding).collect(),
        false => args,
    };
    Ok(Expr { kind: ExprKind::Call { function, args }, ty })
}

/// Whether no operand has a collation.
fn none_is_text<'e>(operands: impl IntoIterator<Item = &'e Expr>) -> bool {
    let is_text = |e: &Expr| e.ty.sql.is_string() || e.ty.sql.has_members() || e.ty.sql == SqlType::Json;
    !operands.into_iter().any(is_text)
}

/// Whether `e` is text without a collation from an operand: that of numbers and dates, or a function's own words.
pub fn has_no_operand_collation(e: &Expr) -> bool {
    if !e.ty.sql.is_character()
        || e.ty.collation != super::TEXT_OF_NUMBER
        || e.ty.coercibility < Coercibility::Coercible
    {
        return false;
    }
    match &e.kind {
        ExprKind::Call { function, args } => function.definition().own_text || none_is_text(args),
        ExprKind::Coalesce(list) => none_is_text(list),
        ExprKind::Case { whens, otherwise, .. } => {
            none_is_text(whens.iter().map(|when| &when.result).chain(otherwise.iter().map(|e| &**e)))
        }
        _ => false,
    }
}

/// Makes `@@warning_count` or `@@error_count`, by its name.
///
/// # Errors
/// 1305 for another name.
pub fn condition_count(name: &str) -> Result<Expr, MysqlError> {
    special(&format!("@@{}", name.to_ascii_uppercase()), Vec::new())
}

/// Makes a call of the table's function `name`, whose syntax in SQL is not `name(args)`.
pub(super) fn special(name: &str, args: Vec<Expr>) -> Result<Expr, MysqlError> {
    let function = FunctionId::named(name).ok_or_else(|| MysqlError::internal(name))?;
    make(function, args)
}

/// Makes `DATE_ADD(date, INTERVAL count unit)`, `date + INTERVAL count unit`, or `DATE_SUB`.
pub fn date_add(date: Expr, count: Expr, unit: IntervalUnit, subtract: bool) -> Result<Expr, MysqlError> {
    let name = if subtract { "DATE_SUB" } else { "DATE_ADD" };
    special(name, vec![date, count, literal(Value::string(unit.name()))])
}

/// Makes `left op right` for a bit operation: `&`, `|`, `^`, `<<` or `>>`.
pub fn bits(op: &'static str, left: Expr, right: Expr) -> Result<Expr, MysqlError> {
    special(op, vec![number_of_temporal_text(left), number_of_temporal_text(right)])
}

/// Makes `~operand`.
pub fn invert_bits(operand: Expr) -> Result<Expr, MysqlError> {
    special("~", vec![number_of_temporal_text(operand)])
}

/// Makes `CHAR(codes USING charset)`; `charset` is not `binary`.
pub fn characters(codes: Vec<Expr>, charset: Charset) -> Result<Expr, MysqlError> {
    let mut e = special("CHAR_USING", codes)?;
    e.ty.collation = charset.default_collation();
    Ok(e)
}

/// Makes `INTERVAL(operand, bound, ..)`.
pub fn interval_of(args: Vec<Expr>) -> Result<Expr, MysqlError> {
    special("INTERVAL", args)
}

/// Makes `TIMESTAMPDIFF(unit, from, to)`.
pub fn timestamp_diff(unit: IntervalUnit, from: Expr, to: Expr) -> Result<Expr, MysqlError> {
    special("TIMESTAMPDIFF", vec![literal(Value::string(unit.name())), from, to])
}

/// Makes `GET_FORMAT(what, standard)`; `what` is `DATE`, `TIME` or `DATETIME`.
pub fn get_format(what: &str, standard: Expr) -> Result<Expr, MysqlError> {
    special("GET_FORMAT", vec![literal(Value::from(what)), standard])
}

/// Makes `EXTRACT(unit FROM operand)`.
pub fn extract(unit: IntervalUnit, operand: Expr) -> Result<Expr, MysqlError> {
    special("EXTRACT", vec![literal(Value::string(unit.name())), operand])
}

/// Makes `value MEMBER OF (array)`.
pub fn member_of(value: Expr, array: Expr) -> Result<Expr, MysqlError> {
    special("MEMBER OF", vec![value, array])
}

/// Makes a call of `JSON_VALUE`, whose type its arguments do not determine.
pub(super) fn json_value(args: Vec<Expr>, ty: ExprType) -> Result<Expr, MysqlError> {
    let call = special("JSON_VALUE", args)?;
    Ok(Expr { ty, ..call })
}

/// Makes `TRIM([LEADING | TRAILING | BOTH] [remove FROM] text)`.
pub fn trim(side: TrimSide, remove: Option<Expr>, text: Expr) -> Result<Expr, MysqlError> {
    let name = match side {
        TrimSide::Leading => "TRIM_LEADING",
        TrimSide::Trailing => "TRIM_TRAILING",
        TrimSide::Both => "TRIM_BOTH",
    };
    let remove = remove.unwrap_or_else(|| match text.ty.sql.is_character() {
        true => super::string(" ", text.ty.collation),
        false => literal(Value::from(" ")),
    });
    special(name, vec![text, remove])
}
