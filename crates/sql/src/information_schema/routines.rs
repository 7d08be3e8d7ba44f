//! `information_schema.ROUTINES` and `PARAMETERS`.

use super::columns::type_values;
use super::triggers::{context, modes, moment};
use super::{
    CATALOG, Columns, Rows, SystemView, long_text, name_column, nullable_column, nullable_name,
    number_column, text, text_column, yes_no,
};
use crate::accounts::{Access, Privilege};
use crate::program_text;
use leafline_planner::Authority;
use leafline_planner::binder::{TypeRules, column_type};
use leafline_syntax::ast::{CreateProgram, DataType, Direction, ProgramForm};
use leafline_table::{ColumnDef, ProgramDef};
use leafline_types::words::{ProgramKind, Security};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

const SECOND: i64 = 1_000_000;

/// The columns that describe a type.
fn type_columns() -> Columns {
    let number = |name| nullable_column(name, SqlType::BigInt { unsigned: false });
    vec![
        long_text("DATA_TYPE"),
        number("CHARACTER_MAXIMUM_LENGTH"),
        number("CHARACTER_OCTET_LENGTH"),
        nullable_column("NUMERIC_PRECISION", SqlType::Int { unsigned: true }),
        nullable_column("NUMERIC_SCALE", SqlType::Int { unsigned: true }),
        nullable_column("DATETIME_PRECISION", SqlType::Int { unsigned: true }),
        nullable_name("CHARACTER_SET_NAME"),
        nullable_name("COLLATION_NAME"),
        long_text("DTD_IDENTIFIER"),
    ]
}

pub(super) fn columns() -> Columns {
    let mut columns = vec![
        name_column("SPECIFIC_NAME"),
        name_column("ROUTINE_CATALOG"),
        name_column("ROUTINE_SCHEMA"),
        name_column("ROUTINE_NAME"),
        name_column("ROUTINE_TYPE"),
    ];
    columns.extend(type_columns());
    columns.extend([
        name_column("ROUTINE_BODY"),
        long_text("ROUTINE_DEFINITION"),
        nullable_name("EXTERNAL_NAME"),
        name_column("EXTERNAL_LANGUAGE"),
        name_column("PARAMETER_STYLE"),
        name_column("IS_DETERMINISTIC"),
        name_column("SQL_DATA_ACCESS"),
        nullable_name("SQL_PATH"),
        name_column("SECURITY_TYPE"),
        nullable_column("CREATED", SqlType::DateTime { fsp: 0 }),
        nullable_column("LAST_ALTERED", SqlType::DateTime { fsp: 0 }),
        text_column("SQL_MODE", SqlType::Varchar { len: 1024 }),
        long_text("ROUTINE_COMMENT"),
        text_column("DEFINER", SqlType::Varchar { len: 288 }),
        name_column("CHARACTER_SET_CLIENT"),
        name_column("COLLATION_CONNECTION"),
        name_column("DATABASE_COLLATION"),
    ]);
    columns
}

pub(super) fn parameter_columns() -> Columns {
    let mut columns = vec![
        name_column("SPECIFIC_CATALOG"),
        name_column("SPECIFIC_SCHEMA"),
        name_column("SPECIFIC_NAME"),
        number_column("ORDINAL_POSITION", SqlType::BIGINT_UNSIGNED),
        nullable_name("PARAMETER_MODE"),
        nullable_name("PARAMETER_NAME"),
    ];
    columns.extend(type_columns());
    columns.push(name_column("ROUTINE_TYPE"));
    columns
}

/// Whether the session may know that a routine exists.
pub(crate) fn is_visible(access: &Access, program: &ProgramDef) -> bool {
    let any = Privilege::CreateRoutine | Privilege::AlterRoutine | Privilege::Execute;
    shows_text(access, program)
        || access.on_routine(program.kind, &program.database, &program.name).has_any(any)
}

/// Whether the session may see the body of a routine.
pub(crate) fn shows_text(access: &Access, program: &ProgramDef) -> bool {
    access.holds_everywhere(Privilege::Select.into())
        || access.on_everything().has(Privilege::ShowRoutine)
        || access.account() == program_text::definer(program)
}

/// The routines that the session may know of.
fn visible(system: &SystemView<'_>) -> Vec<Arc<ProgramDef>> {
    let catalog = system.instance.engine().catalog();
    let is_seen =
        |program: &&Arc<ProgramDef>| program.routine().is_some() && is_visible(system.access, program);
    catalog.programs().filter(is_seen).cloned().collect()
}

/// A parameter, or the result, of a routine as a column.
fn typed(name: &str, written: &DataType, program: &ProgramDef) -> Result<ColumnDef, MysqlError> {
    let of_type = column_type(name, written, program.context.database_collation, TypeRules::STRICT)?;
    Ok(ColumnDef::new(name, of_type.ty, true, of_type.collation))
}

/// The type that RETURNS names.
fn returned(create: &CreateProgram, program: &ProgramDef) -> Result<Option<ColumnDef>, MysqlError> {
    match &create.form {
        ProgramForm::Function { returns, .. } => typed("", returns, program).map(Some),
        _ => Ok(None),
    }
}

/// The type of a function's result as SHOW CREATE FUNCTION writes it.
///
/// # Errors
/// The errors of the parser and of types.
pub(crate) fn returns_text(program: &ProgramDef) -> Result<Option<String>, MysqlError> {
    let column = returned(&program_text::parsed(program)?, program)?;
    Ok(column.map(|column| {
        let mut text = column.ty.to_string();
        if column.ty.is_character() || column.ty.has_members() {
            let charset = column.collation.charset();
            text += &format!(" CHARSET {}", charset.name());
            if charset.default_collation() != column.collation {
                text += &format!(" COLLATE {}", column.collation.name());
            }
        }
        text
    }))
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    visible(system).iter().map(|program| row(system, program)).collect()
}

fn row(system: &SystemView<'_>, program: &ProgramDef) -> Result<Vec<Value>, MysqlError> {
    let create = program_text::parsed(program)?;
    let names = [&program.name, CATALOG, &program.database, &program.name, program.kind.name()].map(text);
    let types = match returned(&create, program)? {
        Some(column) => type_values(&column),
        None => [
            text(""),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ],
    };
    let body = create.body.span.text(&program.text);
    let own = program.routine().copied().unwrap_or_default();
    let rest = [
        text("SQL"),
        text(shows_text(system.access, program).then_some(body)),
        Value::Null,
        text("SQL"),
        text("SQL"),
        yes_no(own.deterministic),
        text(own.data.name()),
        Value::Null,
        text(if own.security == Security::Invoker { "INVOKER" } else { "DEFINER" }),
        moment(system, program.created, SECOND),
        moment(system, program.modified, SECOND),
        text(modes(program.context.sql_mode).as_str()),
        text(program.comment.as_str()),
        text(program_text::definer(program).plain().as_str()),
    ];
    Ok([&names[..], &types, &rest, &context(program)].concat())
}

pub(super) fn parameter_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for program in visible(system) {
        let create = program_text::parsed(&program)?;
        let names = [CATALOG, &program.database, &program.name].map(text);
        let kind = [text(program.kind.name())];
        if let Some(column) = returned(&create, &program)? {
            let place = [Value::UInt(0), Value::Null, Value::Null];
            rows.push([&names[..], &place, &type_values(&column), &kind].concat());
        }
        let routine = program_text::routine(&create);
        let parameters = routine.map_or(&[][..], |routine| routine.parameters.as_slice());
        for (number, parameter) in (1u64..).zip(parameters) {
            let name = parameter.name.value.as_str();
            let mode = match parameter.direction {
                Direction::In => "IN",
                Direction::Out => "OUT",
                Direction::InOut => "INOUT",
            };
            let column = typed(name, &parameter.data_type, &program)?;
            let place = [Value::UInt(number), text(mode), text(name)];
            rows.push([&names[..], &place, &type_values(&column), &kind].concat());
        }
    }
    Ok(rows)
}

/// Whether a routine of this name is there and the session may know of it.
pub(crate) fn known(
    system: &SystemView<'_>,
    kind: ProgramKind,
    database: &str,
    name: &str,
) -> Option<Arc<ProgramDef>> {
    let catalog = system.instance.engine().catalog();
    catalog.program(kind, database, name).filter(|program| is_visible(system.access, program)).cloned()
}
