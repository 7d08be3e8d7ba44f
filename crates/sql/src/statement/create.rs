//! CREATE TABLE: from a definition, LIKE another table, or from a query; temporary or not.
//!
//! A table from a query is a private table while an ordinary INSERT fills it. One commit then makes it known. After any failure
//! and any crash the table exists with all its rows or not at all.

use super::change::of_table;
use super::definitions::{database_of, note_options, refuse_taken_names};
use super::partitions::partitioning;
use super::{fulltext, storage_engines};
use crate::result::Done;
use crate::session::{Outcome, Session};
use crate::show;
use leafline_planner::binder::{
    add_key_columns, bind_kind, check_expressions, check_owners, selected_columns, table_spec,
};
use leafline_planner::bound::BoundKind;
use leafline_syntax::ast::{
    CreateTable, CreateTableLike, Ident, Insert, InsertSource, Span, Statement, StatementKind, TableName,
    TableSource,
};
use leafline_table::{ColumnDef, IndexSpecKind, TableDef, TableSpec};
use leafline_types::error::errno;
use leafline_types::{Collation, ExprType, MysqlError, Value};
use std::sync::Arc;

/// The name of a table that CREATE TABLE .. SELECT or IMPORT TABLE is filling. No other table can have it.
pub(super) const BEING_FILLED: &str = "\0";

/// A statement with its text and its parameters.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) statement: &'a Statement,
    pub(super) sql: &'a str,
    pub(super) parameters: &'a [Value],
}

/// Runs CREATE TABLE, with or without a query.
pub(super) fn create_table(
    session: &mut Session,
    create: &CreateTable,
    text: Text<'_>,
) -> Result<Done, MysqlError> {
    let database = database_of(session, &create.name)?;
    if create.source.is_some() && !create.foreign_keys.is_empty() && !create.temporary {
        return Err(MysqlError::foreign_key_with_create_select());
    }
    let selected = create.source.as_ref().map(|source| query_columns(session, source, text));
    if let Some(Err(error)) = &selected
        && [errno::ER_NO_SUCH_TABLE, errno::ER_BAD_DB_ERROR].contains(&error.code)
    {
        return Err(error.clone());
    }
    if is_there(session, &create.name, create.temporary, create.if_not_exists)? {
        return Ok(Done::default());
    }
    let selected = selected.unwrap_or_else(|| Ok(Vec::new()))?;
    let names: Vec<String> = selected.iter().map(|column| column.name.clone()).collect();
    let mut spec = specification(session, create, &database, selected)?;
    check_primary_key(session, &spec)?;
    if create.temporary && !spec.fulltext.is_empty() {
        return Err(MysqlError::fulltext_on_temporary_table());
    }
    if let Some(by) = &create.partition_by {
        if create.temporary {
            return Err(MysqlError::partitioned_temporary_table());
        }
        spec.partitioning = Some(partitioning(session, by, &spec)?);
    }
    let Some(source) = &create.source else {
        match create.temporary {
            true => drop(session.create_own_table(&spec, None)?),
            false => create_stored(session, &spec, create.if_not_exists)?,
        }
        return Ok(Done::default());
    };
    let table = session.create_own_table(&spec, Some(BEING_FILLED))?;
    let filled = fill(session, &database, source, names, text);
    if create.temporary && filled.is_ok() {
        let engine = session.instance.engine().clone();
        session.replace_own_table(&table, engine.ddl().private_table(table.id)?);
        return filled;
    }
    let published = filled.and_then(|done| publish(session, &table, &spec).map(|()| done));
    if published.is_err() {
        if !create.temporary {
            session.rollback();
        }
        session.drop_own_tables(&[table])?;
    }
    published
}

/// Commits the rows of the session's own table, and makes the table known to all sessions.
pub(super) fn publish(
    session: &mut Session,
    table: &Arc<TableDef>,
    spec: &TableSpec,
) -> Result<(), MysqlError> {
    session.commit()?;
    let published = session.instance.engine().ddl().publish_table(table, spec.unchecked_references);
    published.map_err(|error| of_table(error, session.as_view()))?;
    session.forget_own_table(table);
    Ok(())
}

/// Runs CREATE TABLE .. LIKE: copies the columns, keys and constraints of another table, and none of its rows.
pub(super) fn create_table_like(session: &mut Session, create: &CreateTableLike) -> Result<Done, MysqlError> {
    let database = database_of(session, &create.name)?;
    let model = show::base_table(session, &create.like)?;
    if is_there(session, &create.name, create.temporary, create.if_not_exists)? {
        return Ok(Done::default());
    }
    let name = &create.name.name.value;
    let mut spec = TableSpec::of(&model);
    spec.indexes.iter_mut().for_each(|index| (index.existing, index.for_foreign_key) = (None, false));
    spec.fulltext.iter_mut().for_each(|index| index.existing = None);
    // CHECKs get new names, as if the statement named none.
    for (number, check) in (1..).zip(&mut spec.checks) {
        check.name = format!("{name}_chk_{number}");
    }
    spec.options.auto_increment_start = None;
    (spec.database, spec.name) = (database, name.clone());
    spec.unchecked_references = !session.settings.foreign_key_checks;
    check_primary_key(session, &spec)?;
    if create.temporary {
        if spec.partitioning.is_some() {
            return Err(MysqlError::partitioned_temporary_table());
        }
        if !spec.fulltext.is_empty() {
            return Err(MysqlError::fulltext_on_temporary_table());
        }
        session.create_own_table(&spec, None)?;
        return Ok(Done::default());
    }
    refuse_taken_names(session, &spec.database, None, &spec.checks)?;
    create_stored(session, &spec, create.if_not_exists)?;
    Ok(Done::default())
}

/// Error 3750 if a table would have no primary key though `sql_require_primary_key` asks for one.
pub(super) fn check_primary_key(session: &Session, spec: &TableSpec) -> Result<(), MysqlError> {
    let has_one = || spec.indexes.iter().any(|index| index.kind == IndexSpecKind::Primary);
    match session.settings.requires_primary_key && !has_one() {
        true => Err(MysqlError::table_without_primary_key()),
        false => Ok(()),
    }
}

/// Creates a table that all sessions know. If another session has created it meanwhile, that is a note under `if_not_exists`,
/// and an error otherwise.
fn create_stored(session: &mut Session, spec: &TableSpec, if_not_exists: bool) -> Result<(), MysqlError> {
    let made = session.instance.engine().ddl().create_table(spec, if_not_exists);
    if !made.map_err(|error| of_table(error, session.as_view()))? {
        session.warnings.note(MysqlError::table_exists(&spec.name));
    }
    Ok(())
}

/// Returns whether the table exists already, which is a note under `if_not_exists` and error 1050 otherwise. A temporary table
/// may hide another table.
pub(super) fn is_there(
    session: &mut Session,
    name: &TableName,
    temporary: bool,
    if_not_exists: bool,
) -> Result<bool, MysqlError> {
    let is_there = match temporary {
        true => session.own_table_named(name).is_some(),
        false => {
            let database = database_of(session, name)?;
            let catalog = session.instance.engine().catalog();
            catalog.table(&database, &name.name.value).is_some()
                || catalog.view(&database, &name.name.value).is_some()
        }
    };
    match (is_there, if_not_exists) {
        (true, false) => Err(MysqlError::table_exists(&name.name.value)),
        (true, true) => {
            session.warnings.note(MysqlError::table_exists(&name.name.value));
            Ok(true)
        }
        (false, _) => Ok(false),
    }
}

/// Makes the specification of the new table. Columns that only the definition has come first. The query's columns follow, as
/// the definition says where it names them.
pub(super) fn specification(
    session: &mut Session,
    create: &CreateTable,
    database: &str,
    selected: Vec<ColumnDef>,
) -> Result<TableSpec, MysqlError> {
    let organisation = storage_engines::of_new_table(session, create)?;
    let times = session.settings.time_settings();
    let default = session.instance.engine().catalog().database(database).map(|database| database.collation);
    let (mut spec, warnings) = table_spec(create, database, default.unwrap_or(Collation::DEFAULT), times)?;
    note_options(session, warnings);
    fulltext::settle(session, &mut spec);
    spec.options.organisation = organisation;
    if !organisation.has_foreign_keys() {
        spec.foreign_keys.clear();
    }
    spec.unchecked_references = !session.settings.foreign_key_checks;
    let is_called = |column: &ColumnDef, other: &ColumnDef| column.name.eq_ignore_ascii_case(&other.name);
    let written = std::mem::take(&mut spec.columns);
    let alone = written.iter().filter(|column| !selected.iter().any(|other| is_called(column, other)));
    spec.columns = alone.cloned().collect();
    spec.columns.extend(selected.into_iter().map(|column| {
        match written.iter().find(|known| is_called(known, &column)) {
            Some(known) => ColumnDef { name: column.name, ..known.clone() },
            None => column,
        }
    }));
    add_key_columns(&mut spec, &create.keys, &session.bind_context(&[]))?;
    if !session.settings.time_settings().strict {
        note_options(session, spec.shorten(session.instance.engine().limits()));
    }
    let owner = |owner: Option<usize>| {
        let column = written.get(owner?)?;
        spec.columns.iter().position(|other| is_called(column, other))
    };
    let owners: Vec<Option<usize>> = check_owners(create).into_iter().map(owner).collect();
    check_expressions(&spec, &owners, &session.bind_context(&[]))?;
    if !create.temporary {
        refuse_taken_names(session, database, None, &spec.checks)?;
    }
    Ok(spec)
}

/// Returns the columns that a table gets from a query.
fn query_columns(
    session: &Session,
    source: &TableSource,
    text: Text<'_>,
) -> Result<Vec<ColumnDef>, MysqlError> {
    let collation = session.settings.collation;
    let types: Vec<ExprType> = text
        .parameters
        .iter()
        .map(|value| crate::plans::parameters::parameter_type(value, collation))
        .collect();
    let query = StatementKind::Query(source.query.clone());
    let bound = bind_kind(&query, text.statement.parameters, text.sql, &session.bind_context(&types))?;
    match bound.kind {
        BoundKind::Select(select) => selected_columns(&select),
        _ => Err(MysqlError::internal("a query that is bound as something else")),
    }
}

/// Inserts the query's rows into the new table.
fn fill(
    session: &mut Session,
    database: &str,
    source: &TableSource,
    columns: Vec<String>,
    text: Text<'_>,
) -> Result<Done, MysqlError> {
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    let insert = Insert {
        replace: source.replace,
        ignore: source.ignore,
        delayed: false,
        table: TableName { database: Some(ident(database)), name: ident(BEING_FILLED) },
        partitions: Vec::new(),
        columns: Some(columns.iter().map(|name| ident(name)).collect()),
        source: InsertSource::Query(source.query.clone()),
        alias: None,
        on_duplicate: Vec::new(),
    };
    let insert = Statement { kind: StatementKind::Insert(Box::new(insert)), ..text.statement.clone() };
    let planned = session.plan_statement(&insert, text.sql, Some(text.parameters))?;
    let planned = planned.ok_or_else(|| MysqlError::internal("an INSERT that is not planned"))?;
    match session.run_part(&planned, text.parameters)? {
        Outcome::Done(done) => Ok(done),
        Outcome::Rows(_) => Err(MysqlError::internal("an INSERT that gives rows")),
    }
}
