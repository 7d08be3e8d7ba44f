//! EXPORT TABLE writes a table to a file. IMPORT TABLE reads the file into this database or another.
//!
//! An export has the rows that the statement sees, whatever pages, buffered changes and old versions they come from. An import
//! reads the whole file once to check it, creates a table without a name, fills it like a load, which checks the file again, and
//! makes it known by one commit. Foreign keys are not exported, because they are about other tables.

use super::create::{BEING_FILLED, is_there, publish, specification};
use super::definitions::database_of;
use super::metadata;
use super::partitions::partitioning;
use crate::accounts::Privilege;
use crate::definition_text;
use crate::result::Done;
use crate::session::{Outcome, Session};
use crate::settings::{Modes, TimeZone};
use crate::show::base_table;
use crate::table_file::{Definition, RowCodec, TableReader, TableWriter, damaged};
use crate::text_file;
use leafline_syntax::TextFormat;
use leafline_syntax::ast::{
    CreateTable, Ident, Load, LoadField, LoadSource, Span, Statement, StatementKind, TableName,
};
use leafline_syntax::quoted;
use leafline_table::{ColumnDef, TableDef, TableSpec};
use leafline_types::{MysqlError, SqlType, value_at};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::sync::Arc;

/// Bytes of the file that are read or written at once.
const BUFFER: usize = 1 << 20;

/// Returns the columns whose values the file has: all but hidden and generated ones.
fn exported(table: &TableDef) -> impl Iterator<Item = &ColumnDef> {
    table.named_columns().map(|(_, column)| column).filter(|column| column.generated.is_none())
}

/// Formats the definitions of the exported columns. Tables with equal lines can exchange rows.
fn lines(table: &TableDef) -> Vec<String> {
    let zone = leafline_types::temporal::Zone::UTC;
    exported(table).map(|column| definition_text::column(column, &zone)).collect()
}

/// Runs `f` under fixed settings, so that definitions and values do not depend on the session's `sql_mode` and time zone.
fn in_plain_settings<T>(
    session: &mut Session,
    f: impl FnOnce(&mut Session) -> Result<T, MysqlError>,
) -> Result<T, MysqlError> {
    let mode = Modes::parse("STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES")?;
    let zone = TimeZone::parse("+00:00")?;
    let before = std::mem::replace(&mut session.settings.sql_mode, mode);
    let zone_before = std::mem::replace(&mut session.settings.time_zone, zone);
    let done = f(session);
    session.settings.sql_mode = before;
    session.settings.time_zone = zone_before;
    done
}

/// Runs EXPORT TABLE.
///
/// # Errors
/// 1290, 1086 and 1026 for the file; errors of reading the table. No file is left after an error.
pub(super) fn export_table(session: &mut Session, name: &TableName, path: &str) -> Result<Done, MysqlError> {
    let table = base_table(session, name)?;
    let allowed = session.instance.facts().secure_file_priv.clone();
    let (file, place) = text_file::create(path, allowed.as_deref())?;
    let written = in_plain_settings(session, |session| write_table(session, &table, file, path));
    if written.is_err() {
        // A part of the file is useless, and would make another attempt fail.
        let _ = std::fs::remove_file(place);
    }
    written.map(|affected| Done { affected, ..Done::default() })
}

/// Writes the file and makes it durable. Returns the number of rows.
fn write_table(
    session: &mut Session,
    table: &Arc<TableDef>,
    file: File,
    path: &str,
) -> Result<u64, MysqlError> {
    let alone = TableDef { foreign_keys: Vec::new(), is_private: false, ..TableDef::clone(table) };
    let next = session.instance.engine().next_auto_increment(table.id);
    let zone = leafline_types::temporal::Zone::UTC;
    let definition = Definition {
        name: table.name.clone(),
        create: definition_text::create_table(&alone, next, &zone),
        columns: lines(table),
    };
    let codec = RowCodec::new(exported(table));
    let names: Vec<String> = exported(table).map(|column| quoted(&column.name)).collect();
    let (database, name) = (quoted(&table.database), quoted(&table.name));
    let sql = format!("SELECT {} FROM {database}.{name}", names.join(","));
    let statement = session.parse(&sql)?;
    let planned = session.plan_statement(&statement, &sql, Some(&[]))?;
    let planned = planned.ok_or_else(|| MysqlError::internal("a SELECT that is not planned"))?;
    let Outcome::Rows(stream) = session.run_part(&planned, &[])? else {
        return Err(MysqlError::internal("a SELECT without rows"));
    };
    let mut stream = stream.kept();
    let types: Vec<SqlType> = exported(table).map(|column| column.ty.clone()).collect();
    let mut writer = TableWriter::new(BufWriter::with_capacity(BUFFER, file), path, &definition)?;
    let (mut rows, mut row, mut bytes) = (0, Vec::new(), Vec::new());
    while let Some(batch) = stream.next_batch(session)? {
        for at in 0..batch.rows {
            row.clear();
            row.extend(batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, at, ty)));
            let encoded = codec.encode(&row, &mut bytes);
            encoded.ok_or_else(|| MysqlError::internal("a row that is not of its columns' types"))?;
            writer.row(&bytes)?;
            rows += 1;
        }
    }
    let failed = |error: std::io::Error| text_file::write_error(path, &error);
    let file = writer.finish()?.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(rows)
}

/// Runs IMPORT TABLE.
///
/// # Errors
/// 1142 if the session may not create the table, 1050 if it exists, 1033 for a file that is damaged or no table file, 1808 if
/// the rows do not fit the definition; errors of loading. No table is left after an error.
pub(super) fn import_table(
    session: &mut Session,
    name: Option<&TableName>,
    path: &str,
) -> Result<Done, MysqlError> {
    let definition = checked(session, path)?;
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    let as_exported = TableName { database: None, name: ident(&definition.name) };
    let name = name.unwrap_or(&as_exported);
    let database = database_of(session, name)?;
    session.login.access.check_table(Privilege::Create | Privilege::Insert, &database, &name.name.value)?;
    is_there(session, name, false, false)?;
    in_plain_settings(session, |session| {
        let create = statement(session, &definition, (&database, &name.name.value), path)?;
        let _excluding = metadata::excluded_by(session, &create)?;
        let StatementKind::CreateTable(create) = create else { return Ok(Done::default()) };
        let (table, spec) = created(session, &create, &database, &definition)?;
        let filled = filled(session, &table, &definition, path);
        let published = filled.and_then(|done| publish(session, &table, &spec).map(|()| done));
        if published.is_err() {
            session.rollback();
            session.drop_own_tables(&[table])?;
        }
        published
    })
}

/// Reads the whole file to check it. Returns its definition.
fn checked(session: &Session, path: &str) -> Result<Definition, MysqlError> {
    let allowed = session.instance.facts().secure_file_priv.clone();
    let file = text_file::open_regular(path, allowed.as_deref())?;
    let mut reader = TableReader::new(BufReader::with_capacity(BUFFER, file), path)?;
    while reader.next_row()?.is_some() {
        session.cancel.check()?;
    }
    Ok(reader.definition().clone())
}

/// Parses the CREATE TABLE of the file and gives it this name.
fn statement(
    session: &Session,
    definition: &Definition,
    (database, name): (&str, &str),
    path: &str,
) -> Result<StatementKind, MysqlError> {
    let Ok(Statement { kind: StatementKind::CreateTable(mut create), .. }) =
        session.parse(&definition.create)
    else {
        return Err(damaged(path, "its definition is none of a table"));
    };
    if create.source.is_some() || create.temporary || !create.foreign_keys.is_empty() {
        return Err(damaged(path, "its definition is none of a table alone"));
    }
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    create.name = TableName { database: Some(ident(database)), name: ident(name) };
    create.if_not_exists = false;
    if name != definition.name {
        // Names of constraints are unique in a database, and the exported table may still have these.
        (1..).zip(&mut create.checks).for_each(|(number, check)| {
            check.name = Some(ident(&format!("{name}_chk_{number}")));
        });
    }
    Ok(StatementKind::CreateTable(create))
}

/// Creates an empty table with the file's definition. Only the session knows it.
fn created(
    session: &mut Session,
    create: &CreateTable,
    database: &str,
    definition: &Definition,
) -> Result<(Arc<TableDef>, TableSpec), MysqlError> {
    let mut spec = specification(session, create, database, Vec::new())?;
    if let Some(by) = &create.partition_by {
        spec.partitioning = Some(partitioning(session, by, &spec)?);
    }
    let table = session.create_own_table(&spec, Some(BEING_FILLED))?;
    match lines(&table) == definition.columns {
        true => Ok((table, spec)),
        false => {
            session.drop_own_tables(&[table])?;
            Err(MysqlError::schema_mismatch("the rows of the file are of other columns than its definition"))
        }
    }
}

/// Inserts the rows of the file into the new table.
fn filled(
    session: &mut Session,
    table: &TableDef,
    definition: &Definition,
    path: &str,
) -> Result<Done, MysqlError> {
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    let load = Load {
        local: false,
        path: path.to_owned(),
        source: LoadSource::Table,
        replace: false,
        ignore: false,
        table: TableName { database: Some(ident(&table.database)), name: ident(BEING_FILLED) },
        partitions: Vec::new(),
        charset: None,
        format: TextFormat::default(),
        skip: 0,
        fields: Some(exported(table).map(|column| LoadField::Column(ident(&column.name))).collect()),
        assignments: Vec::new(),
    };
    let mut statement = session.parse(&definition.create)?;
    statement.kind = StatementKind::Load(Box::new(load));
    let planned = session.plan_statement(&statement, &definition.create, Some(&[]))?;
    let planned = planned.ok_or_else(|| MysqlError::internal("a load that is not planned"))?;
    match session.run_part(&planned, &[])? {
        Outcome::Done(done) => Ok(done),
        Outcome::Rows(_) => Err(MysqlError::internal("a load that gives rows")),
    }
}
