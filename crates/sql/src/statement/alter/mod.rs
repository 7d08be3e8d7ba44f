//! ALTER TABLE, CREATE INDEX, DROP INDEX and RENAME TABLE. Each statement commits the open transaction first, and is atomic.

mod rows;

use super::change::of_table;
use super::create;
use super::definitions::{database_of, note_options, refuse_system, refuse_taken_names};
use super::fulltext;
use super::metadata::{ConcurrentUse, check_concurrency, others};
use super::partitions::{change_partitions, divide};
use super::storage_engines;
use crate::result::Done;
use crate::session::Execution;
use crate::session::Session;
use crate::settings::Modes;
use crate::show::base_table;
use leafline_planner::binder::{AlterWork, AlteredTable, altered_table, check_expressions, row_rules};
use leafline_syntax::ast::{AlterAction, AlterAlgorithm, AlterTable, RenameTable};
use leafline_table::implicit_default;
use leafline_table::{
    Alteration, ColumnDef, DefaultValue, IndexSpecKind, IndexSpecPart, Limits, MetadataMode, Organisation,
    QualifiedName, Rebuild, RowCheck, Switch, TableDef, TableId, TableSpec,
};
use leafline_types::Collation;
use leafline_types::error::errno;
use leafline_types::{MysqlError, Value};
use rows::{Checks, Converter, Source, added, refuse_zero_dates};
use std::sync::Arc;

/// Attempts of a statement before it fails because other sessions keep changing the table's definition.
const ATTEMPTS: usize = 16;

/// Most bytes of a string that the definition keeps as a new column's value in older rows. A longer value needs new rows.
const MAX_OLDER_BYTES: usize = 512;

/// Runs ALTER TABLE.
pub(super) fn alter_table(session: &mut Session, alter: &AlterTable) -> Result<Done, MysqlError> {
    let given = session.warnings.clone();
    for _ in 1..ATTEMPTS {
        match attempt(session, alter) {
            Err(error) if error.code == errno::ER_TABLE_DEF_CHANGED => {
                session.warnings.clone_from(&given);
            }
            done => return renamed(session, alter, done),
        }
    }
    let done = attempt(session, alter);
    renamed(session, alter, done)
}

/// Renames the session's LOCK TABLES lock when the statement has renamed its table.
fn renamed(
    session: &mut Session,
    alter: &AlterTable,
    done: Result<Done, MysqlError>,
) -> Result<Done, MysqlError> {
    if done.is_ok() {
        for action in &alter.actions {
            if let AlterAction::Rename(name) = action {
                session.lock_renamed(&alter.table, name);
            }
        }
    }
    done
}

fn attempt(session: &mut Session, alter: &AlterTable) -> Result<Done, MysqlError> {
    let database = database_of(session, &alter.table)?;
    let table = base_table(session, &alter.table)?;
    if let [AlterAction::Partitions(action)] = alter.actions.as_slice()
        && let Some(done) = change_partitions(session, &table, alter, action)?
    {
        return Ok(done);
    }
    storage_engines::of_altered_table(session, alter, &table)?;
    let times = session.settings.time_settings();
    let catalog = session.instance.engine().catalog();
    let collation = catalog.database(&database).map_or(Collation::DEFAULT, |database| database.collation);
    let current = session.database().unwrap_or(&database).to_owned();
    let mut altered = altered_table(&table, alter, (&current, collation), times, &session.bind_context(&[]))?;
    fulltext::settle(session, &mut altered.spec);
    refuse_system(session, &altered.spec.database)?;
    refuse_zero_dates(session, &table, &altered)?;
    if !session.settings.time_settings().strict {
        altered.warnings.extend(altered.spec.shorten(session.instance.engine().limits()));
    }
    altered.spec.unchecked_references = !session.settings.foreign_key_checks;
    create::check_primary_key(session, &altered.spec)?;
    check_expressions(&altered.spec, &altered.owners, &session.bind_context(&[]))?;
    if divide(session, alter, &table, &mut altered.spec)? {
        altered.work = altered.work.max(AlterWork::Rows);
    }
    if altered.spec.partitioning.is_some() && !altered.foreign_keys.added.is_empty() {
        return Err(MysqlError::foreign_key_on_partitioned());
    }
    check_names(session, &table, &altered)?;
    let warnings_before = session.warnings.count();
    note_options(session, std::mem::take(&mut altered.warnings));
    let engine = session.instance.engine().clone();
    let lowers_number = altered.next_auto_increment.is_some_and(|next| {
        altered.spec.columns.iter().any(|column| column.auto_increment)
            && next < engine.next_auto_increment(table.id)
    });
    let older = in_older_rows(session, &table, &altered, engine.limits());
    if alter.algorithm == AlterAlgorithm::Copy
        || lowers_number
        || older.is_none()
        || keeps_more(&altered, &table, engine.limits())
    {
        if alter.algorithm == AlterAlgorithm::Instant
            && altered.work == AlterWork::Definition
            && table.is_last_version(&altered.spec.columns, &altered.sources)
        {
            return Err(MysqlError::too_many_row_versions(format!("{database}/{}", table.name)));
        }
        altered.work = altered.work.max(AlterWork::Rows);
    }
    let same_columns = has_columns_of(&altered, &table);
    if !altered.unproven_checks.is_empty() && !same_columns {
        altered.work = altered.work.max(AlterWork::Rows);
    }
    let others = others(session, alter);
    let beside_others = others != ConcurrentUse::Wait
        && !table.is_private
        && match altered.work {
            AlterWork::Definition => false,
            AlterWork::Indexes => same_columns && asks_rows(&altered),
            AlterWork::Rows | AlterWork::Conversion => renews_rows_alone(session, &altered, &table)?,
        };
    let keeps_writers = altered.work >= AlterWork::Rows || asks_rows(&altered);
    let beside_writers = beside_others && others == ConcurrentUse::Write;
    check_concurrency(alter, altered.work, keeps_writers && !beside_writers)?;
    // Readers may go on while only indexes and constraints change.
    let mode = match altered.work == AlterWork::Indexes && same_columns {
        true => MetadataMode::NoWrite,
        false => MetadataMode::Exclusive,
    };
    let keep_away = session.keep_away(&concerned(&table, &altered), mode);
    let waits = others != ConcurrentUse::Wait && !table.is_private && !beside_others;
    let _away = waits.then(&keep_away).transpose()?;
    let switch = || keep_away().map(Some);
    let switch: Option<Switch<'_>> = if beside_others { Some(&switch) } else { None };
    let (copied, id) = match altered.work < AlterWork::Rows {
        true => redefine(session, &table, altered, older.unwrap_or_default(), switch)?,
        false => {
            if !altered.order.is_empty() && has_clustered_key(&altered.spec) {
                let text = format!(
                    "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                    table.name
                );
                session.warnings.warn(MysqlError::unknown_error(text));
            }
            rebuild(session, &table, altered, switch)?
        }
    };
    if table.is_private {
        session.replace_own_table(&table, engine.ddl().private_table(id)?);
    }
    let warnings = session.warnings.count() - warnings_before;
    Ok(Done {
        affected: copied,
        info: format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}"),
        ..Done::default()
    })
}

/// Checks that the names of the table and of its constraints are free.
fn check_names(session: &Session, table: &TableDef, altered: &AlteredTable) -> Result<(), MysqlError> {
    let (database, name) = (&altered.spec.database, &altered.spec.name);
    if !table.is_private {
        let added = &altered.spec.checks[altered.old_checks..];
        return refuse_taken_names(session, database, Some(table.id), added);
    }
    match session.own_table(database, name).is_some_and(|other| other.id != table.id) {
        true => Err(MysqlError::table_exists(name)),
        false => Ok(()),
    }
}

/// Returns whether a new index has prefixes of overflow values: rows have to keep these prefixes then.
fn keeps_more(altered: &AlteredTable, old: &Arc<TableDef>, limits: &Limits) -> bool {
    let may_be_outside = |part: &IndexSpecPart| {
        let is_named = |column: &ColumnDef| column.name.eq_ignore_ascii_case(&part.column);
        let at = altered.spec.columns.iter().position(is_named);
        let source = at.and_then(|at| altered.sources.get(at).copied().flatten());
        part.prefix.is_some() && source.is_some_and(|source| old.may_overflow(source, limits))
    };
    let new = altered.spec.indexes.iter().filter(|index| index.existing.is_none());
    old.stored().any(|stored| stored.overflow.is_some())
        && new.flat_map(|index| &index.parts).any(may_be_outside)
}

/// Returns the values that existing rows hold in the new columns, in column order; `None` if the rows cannot stay as they are.
fn in_older_rows(
    session: &mut Session,
    table: &TableDef,
    altered: &AlteredTable,
    limits: &Limits,
) -> Option<Vec<Value>> {
    let AlteredTable { spec, sources, .. } = altered;
    if !table.can_keep_rows(&spec.columns, sources, limits) {
        return None;
    }
    let now = session.now();
    let new = spec.columns.iter().zip(sources).filter(|(_, source)| source.is_none());
    let value = |(column, _): (&ColumnDef, _)| match added(now, column) {
        Source::Constant(value) => Some(value),
        Source::Missing => implicit_default(column).ok(),
        _ => None,
    };
    new.map(value).map(|value| value.filter(|value| !is_long(value))).collect()
}

/// Returns whether a value is too long to be kept with the definition.
fn is_long(value: &Value) -> bool {
    value.as_bytes().is_some_and(|bytes| bytes.len() > MAX_OLDER_BYTES)
}

/// Returns whether the columns stay as they are.
fn has_columns_of(altered: &AlteredTable, old: &TableDef) -> bool {
    altered.sources.iter().copied().eq((0..old.columns.len()).map(Some))
        && altered.spec.columns == old.columns
}

/// Returns whether the alteration reads the rows: to build indexes, or to check constraints.
fn asks_rows(altered: &AlteredTable) -> bool {
    altered.spec.indexes.iter().any(|index| index.existing.is_none())
        || altered.spec.fulltext.iter().any(|index| index.existing.is_none())
        || !altered.unproven_checks.is_empty()
        || !altered.foreign_keys.added.is_empty()
}

/// Returns whether the alteration only rebuilds the table, and each new row follows from the old row and its AUTO_INCREMENT
/// number. Such a rebuild can run beside writers.
fn renews_rows_alone(session: &Session, altered: &AlteredTable, old: &TableDef) -> Result<bool, MysqlError> {
    let AlteredTable { spec, sources, foreign_keys, .. } = altered;
    if !foreign_keys.added.is_empty() || (&spec.database, &spec.name) != (&old.database, &old.name) {
        return Ok(false);
    }
    // Foreign keys of other tables name the column: renaming it changes their definitions, too.
    let keeps_name = |(column, source): (&ColumnDef, &Option<usize>)| {
        source.and_then(|source| old.columns.get(source)).is_none_or(|old| old.name == column.name)
    };
    let catalog = session.instance.engine().catalog();
    let is_referred_to = catalog.references(&old.database, &old.name).next().is_some();
    if is_referred_to && !spec.columns.iter().zip(sources).all(keeps_name) {
        return Ok(false);
    }
    let is_computed = |(column, source): (&ColumnDef, &Option<usize>)| {
        source.is_none() && matches!(column.default, Some(DefaultValue::Expression(_)))
    };
    if !spec.columns.iter().zip(sources).any(is_computed) {
        return Ok(true);
    }
    let rules = row_rules(&spec.columns, &[], &session.bind_context(&[]))?;
    let is_new = |at: usize| sources.get(at).is_some_and(Option::is_none);
    Ok(!rules.defaults.iter().any(|(at, expr)| is_new(*at) && expr.is_volatile()))
}

/// Returns the tables whose users the alteration keeps away: the table, and the parents of new foreign keys.
fn concerned<'a>(table: &'a TableDef, altered: &'a AlteredTable) -> Vec<QualifiedName<'a>> {
    let parents = altered.foreign_keys.added.iter();
    let parents = parents.map(|key| (key.parent_database.as_str(), key.parent_table.as_str()));
    [(table.database.as_str(), table.name.as_str())].into_iter().chain(parents).collect()
}

/// Returns whether the new table stores its rows in the order of its primary key.
fn has_clustered_key(spec: &TableSpec) -> bool {
    spec.options.organisation == Organisation::Clustered
        && spec.indexes.iter().any(|index| index.kind == IndexSpecKind::Primary)
}

/// Changes the definition and the indexes, and leaves the rows. Returns 0 copied rows, and the id of the table. `older` has the
/// values of existing rows in new columns.
fn redefine(
    session: &mut Session,
    table: &Arc<TableDef>,
    altered: AlteredTable,
    older: Vec<Value>,
    switch: Option<Switch<'_>>,
) -> Result<(u64, TableId), MysqlError> {
    let AlteredTable { spec, sources, foreign_keys, next_auto_increment, unproven_checks, .. } = altered;
    let (control, engine) = (session.build_control(), session.instance.engine().clone());
    let rules = row_rules(&spec.columns, &unproven_checks, &session.bind_context(&[]))?;
    let view = session.latest_view();
    let mut execution = Execution::new(session, view, &[], true);
    let altered = execution.with(session, |cx| {
        let mut checks = Checks { cx, rules };
        let check: Option<&mut dyn RowCheck> =
            if unproven_checks.is_empty() { None } else { Some(&mut checks) };
        let alteration = Alteration {
            spec,
            sources,
            older,
            next_auto_increment,
            foreign_keys,
            check,
            rebuild: None,
            switch,
            control,
        };
        engine.ddl().alter_table(table, alteration)
    });
    let altered = altered.map_err(|error| of_table(error, session.as_view()))?;
    session.instance.statistics().forget(table);
    Ok(altered)
}

/// Builds the table anew. Returns the number of its rows, and its id.
fn rebuild(
    session: &mut Session,
    table: &Arc<TableDef>,
    altered: AlteredTable,
    switch: Option<Switch<'_>>,
) -> Result<(u64, TableId), MysqlError> {
    let AlteredTable { spec, sources, foreign_keys, order, next_auto_increment, .. } = altered;
    let rules = row_rules(&spec.columns, &spec.checks, &session.bind_context(&[]))?;
    let view = session.latest_view();
    let mut execution = Execution::new(session, view, &[], true);
    let engine = session.instance.engine().clone();
    let numbers = gives_numbers(&spec, &sources, table);
    let zero_is_number = session.settings.sql_mode.has(Modes::NO_AUTO_VALUE_ON_ZERO);
    let control = session.build_control();
    let altered = execution.with(session, |cx| {
        let mut converter = Converter::new(cx, rules, table, &spec, &sources);
        let alteration = Alteration {
            spec: spec.clone(),
            sources: sources.clone(),
            older: Vec::new(),
            next_auto_increment,
            foreign_keys,
            check: None,
            rebuild: Some(Rebuild { converter: &mut converter, order, numbers, zero_is_number }),
            switch,
            control,
        };
        engine.ddl().alter_table(table, alteration)
    });
    altered.map_err(|error| of_table(error, session.as_view()))
}

/// Returns whether rows get numbers in an AUTO_INCREMENT column. A column that had AUTO_INCREMENT before keeps its values, even
/// a zero.
fn gives_numbers(spec: &TableSpec, sources: &[Option<usize>], old: &TableDef) -> bool {
    spec.columns.iter().zip(sources).any(|(column, source)| {
        let old = source.and_then(|source| old.columns.get(source));
        column.auto_increment && !old.is_some_and(|old| old.auto_increment)
    })
}

/// Runs RENAME TABLE.
pub(super) fn rename_tables(session: &mut Session, rename: &RenameTable) -> Result<Done, MysqlError> {
    let mut names = Vec::with_capacity(rename.tables.len());
    for (from, to) in &rename.tables {
        let from = (database_of(session, from)?, from.name.value.as_str());
        names.push((from, (database_of(session, to)?, to.name.value.as_str())));
    }
    let names: Vec<(QualifiedName<'_>, QualifiedName<'_>)> =
        names.iter().map(|((d, t), (e, u))| ((d.as_str(), *t), (e.as_str(), *u))).collect();
    let unchecked = !session.settings.foreign_key_checks;
    let renamed = session.instance.engine().ddl().rename_tables(&names, unchecked);
    renamed.map_err(|error| of_table(error, session.as_view()))?;
    for (from, to) in &rename.tables {
        session.lock_renamed(from, to);
    }
    Ok(Done::default())
}
