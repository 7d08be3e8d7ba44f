//! SHOW and DESCRIBE: the catalog, the variables and the counters as rows, under MySQL's headings.

mod absent;
mod accounts;
mod bare_names;
mod computed;
mod databases;
mod engine_status;
mod programs;
mod server;
mod tables;
mod views;

use crate::information_schema::{self, character_sets, collations, engines, view_as_table};
use crate::like::like;
use crate::result::RowSet;
use crate::session::Session;
use crate::system_names;
use bare_names::with_bare_names;
use leafline_syntax::ast::{Ident, Show, ShowKind, TableName};
use leafline_table::{TableDef, ViewDef};
use leafline_types::words::ProgramKind;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// The rows of a SHOW statement, before its LIKE or WHERE.
pub(crate) fn show(session: &Session, show: &Show) -> Result<RowSet, MysqlError> {
    let rows = match &show.kind {
        ShowKind::Databases => databases::databases(session),
        ShowKind::Tables { full, database } => {
            tables::tables(session, *full, &database_name(session, database.as_ref())?, show.filter.as_ref())?
        }
        ShowKind::TableStatus { database } => {
            tables::table_status(session, &database_name(session, database.as_ref())?)?
        }
        ShowKind::Columns { full, table } => columns(session, table, *full)?,
        ShowKind::Index { table } => indexes(session, table)?,
        ShowKind::CreateTable(table) => match (computed(session, table), views::find(session, table)?) {
            (Some(definition), _) => computed::create(session, definition),
            (None, Some(view)) => views::create_view(&view),
            (None, None) => tables::create_table(session, &resolve(session, table)?),
        },
        ShowKind::Help(topic) => help(topic),
        ShowKind::CreateView(name) => match views::find(session, name)? {
            Some(view) => views::create_view(&view),
            None => {
                let table = resolve(session, name)?;
                return Err(MysqlError::wrong_object(&table.database, &table.name, "VIEW"));
            }
        },
        ShowKind::CreateDatabase { name, if_not_exists } => {
            databases::create_database(session, &name.value, *if_not_exists)?
        }
        ShowKind::Status { global } => server::status(session, *global),
        ShowKind::Variables { global } => server::variables(session, *global),
        ShowKind::Warnings { limit } => server::diagnostics(session, false, *limit),
        ShowKind::Errors { limit } => server::diagnostics(session, true, *limit),
        ShowKind::WarningCount => server::diagnostics_count(session, false),
        ShowKind::ErrorCount => server::diagnostics_count(session, true),
        ShowKind::DeviceProfile => server::device_profile(session),
        ShowKind::Engines => engines(session.settings.organisation),
        ShowKind::EngineStatus { name } => engine_status::engine_status(session, &name.value)?,
        ShowKind::ProcessList { full } => server::process_list(session, *full),
        ShowKind::Triggers { database } => {
            programs::triggers(session, &database_name(session, database.as_ref())?)?
        }
        ShowKind::Events { database } => {
            programs::events(session, &database_name(session, database.as_ref())?)?
        }
        ShowKind::Procedures => programs::routines(session, ProgramKind::Procedure)?,
        ShowKind::Functions => programs::routines(session, ProgramKind::Function)?,
        ShowKind::CreateProgram(kind, name) => programs::create(session, *kind, name)?,
        ShowKind::NotThere(what) => absent::list(*what),
        ShowKind::BinaryLogs => return Err(MysqlError::no_binary_logging()),
        ShowKind::Privileges => crate::accounts::privileges(),
        ShowKind::Plugins => server::plugins(),
        ShowKind::Grants(account, roles) => accounts::grants(session, account.as_ref(), roles)?,
        ShowKind::CreateUser(account) => accounts::create_user(session, account)?,
        ShowKind::Collation => collations(),
        ShowKind::CharacterSet => character_sets(),
    };
    let rows = match &show.kind {
        ShowKind::CreateTable(_) | ShowKind::CreateView(_) | ShowKind::CreateDatabase { .. }
            if !session.settings.quotes_shown_names =>
        {
            with_bare_names_in(rows)
        }
        _ => rows,
    };
    Ok(rows)
}

/// The place of the column that LIKE compares: the table of a trigger, the name of an event or routine, else the first.
pub(crate) fn name_column(kind: &ShowKind) -> usize {
    match kind {
        ShowKind::Triggers { .. } => 2,
        ShowKind::Events { .. } | ShowKind::Procedures | ShowKind::Functions => 1,
        _ => 0,
    }
}

/// Makes the names bare in the definition of SHOW CREATE, which is the second column.
fn with_bare_names_in(mut rows: RowSet) -> RowSet {
    for definition in rows.rows.iter_mut().filter_map(|row| row.get_mut(1)) {
        if let Some(quoted) = definition.as_str() {
            *definition = text(with_bare_names(quoted));
        }
    }
    rows
}

/// HELP: the same topic for every question, in the columns of a single topic.
fn help(topic: &str) -> RowSet {
    let long = || SqlType::Text { max_bytes: 65_535 };
    let mut rows =
        RowSet::new([("name", SqlType::Varchar { len: 64 }), ("description", long()), ("example", long())]);
    let description = "There are no help texts here. Leafline's SQL is that of MySQL 8.0, whose manual is at\n\
                       https://dev.mysql.com/doc/refman/8.0/en/. What differs is in docs/compat.\n";
    rows.push(vec![text(topic), text(description), text("")]);
    rows
}

/// DESCRIBE: SHOW COLUMNS of one column, or of columns that match a pattern.
pub(crate) fn describe(
    session: &Session,
    table: &TableName,
    column: Option<&str>,
) -> Result<RowSet, MysqlError> {
    let mut rows = columns(session, table, false)?;
    if let Some(pattern) = column {
        rows.rows.retain(|row| row.first().and_then(Value::as_str).is_some_and(|name| like(name, pattern)));
    }
    Ok(rows)
}

fn database_name(session: &Session, database: Option<&Ident>) -> Result<String, MysqlError> {
    let name = match database {
        Some(name) => name.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    if let Some(known) = system_names::database(&name) {
        return Ok(known.to_owned());
    }
    match session.instance.engine().catalog().database(&name) {
        Some(_) => Ok(name),
        None => Err(MysqlError::unknown_database(name)),
    }
}

/// The table of this name, or a table with the columns of the view of this name.
fn shown(session: &Session, table: &TableName) -> Result<Arc<TableDef>, MysqlError> {
    match views::find(session, table)? {
        Some(view) => view_as_table(&session.system_view(), &view),
        None => resolve(session, table),
    }
}

/// The system view of this name.
fn computed(session: &Session, table: &TableName) -> Option<&'static information_schema::Definition> {
    let database = table.database.as_ref().map(|name| name.value.as_str()).or(session.database())?;
    information_schema::definition(database, &table.name.value)
}

/// SHOW COLUMNS of a table, view or system view.
fn columns(session: &Session, table: &TableName, full: bool) -> Result<RowSet, MysqlError> {
    let rows = match computed(session, table) {
        Some(definition) => information_schema::columns::rows_of_computed(&session.system_view(), definition),
        None => information_schema::columns::rows_of(&session.system_view(), &*shown(session, table)?),
    };
    Ok(tables::columns(rows, full))
}

/// SHOW INDEX of a table, view or system view.
fn indexes(session: &Session, table: &TableName) -> Result<RowSet, MysqlError> {
    let rows = match computed(session, table) {
        Some(_) => Vec::new(),
        None => information_schema::of_current(&session.system_view(), &shown(session, table)?, |table| {
            let table = session.with_hypothetical(table.clone());
            information_schema::statistics::rows_of(&session.system_view(), &table)
        })?,
    };
    Ok(tables::indexes(rows))
}

/// The table of this name, in its database or in the current one.
pub(crate) fn resolve(session: &Session, table: &TableName) -> Result<Arc<TableDef>, MysqlError> {
    let database = match &table.database {
        Some(name) => &name.value,
        None => session.database().ok_or_else(MysqlError::no_database_selected)?,
    };
    session.table(database, &table.name.value)
}

/// The view of this name, if there is one.
pub(crate) fn view(session: &Session, name: &TableName) -> Result<Option<Arc<ViewDef>>, MysqlError> {
    views::find(session, name)
}

/// Like [`resolve`]; error 1347 for a view.
pub(crate) fn base_table(session: &Session, table: &TableName) -> Result<Arc<TableDef>, MysqlError> {
    match views::find(session, table)? {
        Some(view) => Err(MysqlError::wrong_object(&view.database, &view.name, "BASE TABLE")),
        None => resolve(session, table),
    }
}

/// A string or NULL.
fn text(value: impl Into<Arc<str>>) -> Value {
    Value::string(value)
}
