//! ALTER TABLE, CREATE INDEX, DROP INDEX and RENAME TABLE. Each commits the open transaction first, and is done as a whole or not at
//! all.

use super::change::{of_functional_index, of_table};
use super::definitions::{DEFAULT_COLLATION, database_of, note_options, refuse_system, refuse_taken_names};
use super::execution::{Execution, StoreRules, implicit_default};
use super::metadata::may_build_beside_writers;
use super::partitions::{change_partitions, divide};
use crate::binder::{AlterWork, AlteredTable, altered_table, check_expressions, row_rules};
use crate::bound::RowRules;
use crate::parser::ast::{AlterAction, AlterAlgorithm, AlterLock, AlterTable, RenameTable};
use crate::result::Done;
use crate::session::Session;
use crate::session::settings::Modes;
use crate::show::base_table;
use leafline_table::{
    Alteration, ColumnDef, DefaultValue, IndexSpec, IndexSpecKind, IndexSpecPart, Limits, MetadataMode,
    Organisation, QualifiedName, Rebuild, RowConverter, Switch, TableDef, TableId, TableSpec,
};
use leafline_types::error::errno;
use leafline_types::expr::{evaluate_row, truth};
use leafline_types::{MysqlError, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a statement begins anew because another has changed the table meanwhile.
const ATTEMPTS: usize = 16;

/// Most bytes of a string that rows older than a column hold in it. Of a longer one rows are made that have it.
const MAX_OLDER_BYTES: usize = 512;

/// ALTER TABLE.
pub(super) fn alter_table(session: &mut Session, alter: &AlterTable) -> Result<Done, MysqlError> {
    let given = session.warnings.clone();
    for _ in 1..ATTEMPTS {
        match attempt(session, alter) {
            Err(error) if error.code == errno::ER_TABLE_DEF_CHANGED => {
                session.warnings.clone_from(&given);
            }
            done => return done,
        }
    }
    attempt(session, alter)
}

fn attempt(session: &mut Session, alter: &AlterTable) -> Result<Done, MysqlError> {
    let database = database_of(session, &alter.table)?;
    let table = base_table(session, &alter.table)?;
    if let [AlterAction::Partitions(action)] = alter.actions.as_slice()
        && let Some(done) = change_partitions(session, &table, action)?
    {
        return Ok(done);
    }
    let times = session.settings.time_settings();
    let catalog = session.instance.engine().catalog();
    let collation = catalog.database(&database).map_or(DEFAULT_COLLATION, |database| database.collation);
    let current = session.database().unwrap_or(&database).to_owned();
    let mut altered = altered_table(&table, alter, (&current, collation), times, &session.bind_context(&[]))?;
    refuse_system(session, &altered.spec.database)?;
    altered.spec.unchecked_references = !session.settings.foreign_key_checks;
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
    let may_build = may_build_beside_writers(session, alter);
    let beside_writers = may_build
        && match altered.work {
            AlterWork::Definition => false,
            AlterWork::Indexes => adds_indexes_alone(&altered, &table),
            AlterWork::Rows | AlterWork::Conversion => renews_rows_alone(&altered, &table),
        };
    check_concurrency(alter, altered.work, beside_writers)?;
    // Indexes alone are nothing to those who read.
    let only_indexes = altered.work == AlterWork::Indexes && altered.spec.columns == table.columns;
    let mode = if only_indexes { MetadataMode::NoWrite } else { MetadataMode::Exclusive };
    let keep_away = session.keep_away(&table, mode);
    let waits = !table.is_private && !beside_writers && may_build;
    let _away = waits.then(&keep_away).transpose()?;
    let switch = || keep_away().map(Some);
    let switch: Option<Switch<'_>> = if beside_writers { Some(&switch) } else { None };
    let order_needs_sort = !altered.order.is_empty();
    let (copied, id);
    if altered.work < AlterWork::Rows {
        let next_auto_increment = altered.next_auto_increment;
        let AlteredTable { spec, sources, foreign_keys, .. } = altered;
        let control = session.build_control();
        let older = older.unwrap_or_default();
        let alteration = Alteration {
            spec,
            sources,
            older,
            next_auto_increment,
            foreign_keys,
            rebuild: None,
            switch,
            control,
        };
        let altered = engine.alter_table(&table, alteration);
        (copied, id) = altered.map_err(|error| of_table(error, session))?;
        session.instance.statistics().forget(&table);
    } else {
        if order_needs_sort && has_clustered_key(&altered.spec) {
            let text = format!(
                "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                table.name
            );
            session.warnings.warn(MysqlError::unknown_error(text));
        }
        (copied, id) = rebuild(session, &table, altered, switch)?;
    }
    if table.is_private {
        session.replace_own_table(&table, engine.private_table(id)?);
    }
    let warnings = session.warnings.count() - warnings_before;
    Ok(Done {
        affected: copied,
        info: format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}"),
        ..Done::default()
    })
}

/// Whether the table can have its name and its constraints theirs.
fn check_names(session: &Session, table: &TableDef, altered: &AlteredTable) -> Result<(), MysqlError> {
    let (database, name) = (&altered.spec.database, &altered.spec.name);
    if !table.is_private {
        let added = altered.spec.checks.get(altered.old_checks..).unwrap_or_default();
        return refuse_taken_names(session, database, Some(table.id), added);
    }
    match session.own_table(database, name).is_some_and(|other| other.id != table.id) {
        true => Err(MysqlError::table_exists(name)),
        false => Ok(()),
    }
}

/// Whether a new index has the beginnings of values that may be stored outside their rows: the rows have to keep these then.
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

/// What rows that there are hold in the new columns, in their order, if they can stay as they are.
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
    let view = session.passing_view();
    let execution = Execution::new(session, view, &[], true);
    let new = spec.columns.iter().zip(sources).filter(|(_, source)| source.is_none());
    let value = |(column, _): (&ColumnDef, _)| match added(&execution, column) {
        Source::Constant(value) => Some(value),
        Source::Missing => implicit_default(column).ok(),
        _ => None,
    };
    new.map(value).map(|value| value.filter(|value| !is_long(value))).collect()
}

/// Whether a value is too long to be kept with the definition.
fn is_long(value: &Value) -> bool {
    value.as_bytes().is_some_and(|bytes| bytes.len() > MAX_OLDER_BYTES)
}

/// Whether nothing becomes of a table but that it gets indexes, and loses some: they are built beside those who write.
fn adds_indexes_alone(altered: &AlteredTable, old: &TableDef) -> bool {
    altered.work == AlterWork::Indexes
        && altered.spec.indexes.iter().any(|index| index.existing.is_none())
        && altered.sources.iter().copied().eq((0..old.columns.len()).map(Some))
        && altered.spec.columns == old.columns
        && altered.foreign_keys.added.is_empty()
        && !old.is_private
}

/// Whether a table is built anew, and nothing else becomes of it, in such a way that what a row becomes follows from the row and nothing else:
/// that can be done beside those who write.
fn renews_rows_alone(altered: &AlteredTable, old: &TableDef) -> bool {
    let AlteredTable { spec, sources, order, foreign_keys, .. } = altered;
    let is_divided = old.is_partitioned() || spec.partitioning.is_some();
    // Rows that have no clustered key keep their hidden numbers.
    let keeps_numbers = old.has_hidden_row_id() && !is_divided && order.is_empty();
    let follows = |(column, source): (&ColumnDef, &Option<usize>)| match source {
        Some(source) => old.columns.get(*source).is_some_and(|old| old.name == column.name),
        None => !matches!(column.default, Some(DefaultValue::Expression(_))),
    };
    (has_clustered_key(spec) || keeps_numbers)
        && spec.columns.iter().zip(sources).all(follows)
        && !gives_numbers(spec, sources, old)
        && foreign_keys.added.is_empty()
        && (&spec.database, &spec.name) == (&old.database, &old.name)
        && !old.is_private
}

/// Whether the rows of a table are to lie in the order of its primary key.
fn has_clustered_key(spec: &TableSpec) -> bool {
    spec.options.organisation == Organisation::Clustered
        && spec.indexes.iter().any(|index| index.kind == IndexSpecKind::Primary)
}

/// Errors 1845 and 1846 if the alteration cannot be done the way it is asked for: building takes a lock against writers.
fn check_concurrency(alter: &AlterTable, work: AlterWork, beside_writers: bool) -> Result<(), MysqlError> {
    let only_definition = work == AlterWork::Definition;
    match (alter.algorithm, alter.lock) {
        (AlterAlgorithm::Instant, AlterLock::None | AlterLock::Shared | AlterLock::Exclusive) => {
            Err(MysqlError::wrong_usage("ALGORITHM=INSTANT", "LOCK=NONE/SHARED/EXCLUSIVE"))
        }
        (AlterAlgorithm::Instant, _) if !only_definition => {
            Err(MysqlError::alter_operation_not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"))
        }
        (AlterAlgorithm::Inplace, _) if work == AlterWork::Conversion => {
            Err(MysqlError::alter_not_supported(
                "ALGORITHM=INPLACE",
                "Cannot change column type INPLACE",
                "ALGORITHM=COPY",
            ))
        }
        (AlterAlgorithm::Copy, AlterLock::None) => {
            Err(MysqlError::alter_not_supported("LOCK=NONE", "COPY algorithm requires a lock", "LOCK=SHARED"))
        }
        (_, AlterLock::None) if !only_definition && !beside_writers => {
            Err(MysqlError::alter_operation_not_supported("LOCK=NONE", "LOCK=SHARED"))
        }
        _ => Ok(()),
    }
}

/// Builds the table anew. Returns the number of its rows, and its own.
fn rebuild(
    session: &mut Session,
    table: &Arc<TableDef>,
    altered: AlteredTable,
    switch: Option<Switch<'_>>,
) -> Result<(u64, TableId), MysqlError> {
    let AlteredTable { spec, sources, foreign_keys, order, next_auto_increment, .. } = altered;
    let rules = row_rules(&spec.columns, &spec.checks, &session.bind_context(&[]))?;
    let view = session.passing_view();
    let execution = Execution::new(session, view, &[], true).storing(StoreRules::default());
    let engine = session.instance.engine().clone();
    let numbers = gives_numbers(&spec, &sources, table);
    let zero_is_number = session.settings.sql_mode.has(Modes::NO_AUTO_VALUE_ON_ZERO);
    let control = session.build_control();
    let mut converter = Converter::new(session, execution, rules, table, &spec, &sources);
    let rebuild = Rebuild { converter: &mut converter, order, numbers, zero_is_number };
    let alteration = Alteration {
        spec: spec.clone(),
        sources: sources.clone(),
        older: Vec::new(),
        next_auto_increment,
        foreign_keys,
        rebuild: Some(rebuild),
        switch,
        control,
    };
    let altered = engine.alter_table(table, alteration);
    altered.map_err(|error| of_table(error, session))
}

/// Whether rows get numbers in an AUTO_INCREMENT column. One that had them already may have a zero among them.
fn gives_numbers(spec: &TableSpec, sources: &[Option<usize>], old: &TableDef) -> bool {
    spec.columns.iter().zip(sources).any(|(column, source)| {
        let old = source.and_then(|source| old.columns.get(source));
        column.auto_increment && !old.is_some_and(|old| old.auto_increment)
    })
}

/// Where the value of a column comes from.
enum Source {
    /// A column of the old row, as it is.
    Same(usize),
    /// A column of the old row, converted from its type.
    Converted(usize),
    /// The same value in every row.
    Constant(Value),
    /// It is computed from the others.
    Computed,
    /// The column is new and has no default.
    Missing,
}

/// Makes rows of the new table.
struct Converter<'a> {
    session: &'a mut Session,
    execution: Execution,
    rules: RowRules,
    old: &'a TableDef,
    columns: &'a [ColumnDef],
    /// The names of the indexes that columns of functional key parts are for.
    indexes: BTreeMap<usize, String>,
    sources: Vec<Source>,
    /// Number of the row at hand, from 1.
    row: u64,
}

impl<'a> Converter<'a> {
    fn new(
        session: &'a mut Session,
        execution: Execution,
        rules: RowRules,
        old: &'a TableDef,
        spec: &'a TableSpec,
        from: &[Option<usize>],
    ) -> Converter<'a> {
        let index_of = |column: &ColumnDef| {
            let is_part = |index: &&IndexSpec| index.parts.iter().any(|part| part.column == column.name);
            spec.indexes.iter().find(is_part).and_then(|index| index.name.clone())
        };
        let hidden = spec.columns.iter().enumerate().filter(|(_, column)| column.is_hidden());
        let indexes = hidden.filter_map(|(at, column)| Some((at, index_of(column)?))).collect();
        let mut sources = Vec::with_capacity(spec.columns.len());
        for (column, source) in spec.columns.iter().zip(from) {
            let known = source.and_then(|at| Some((at, old.columns.get(at)?)));
            sources.push(match known {
                _ if column.generated.is_some() => Source::Computed,
                Some((at, was)) if unchanged(was, column) => Source::Same(at),
                Some((at, _)) => Source::Converted(at),
                None => added(&execution, column),
            });
        }
        Converter { session, execution, rules, old, columns: &spec.columns, indexes, sources, row: 0 }
    }

    /// A value of an old column for a new one.
    fn converted(&mut self, value: &Value, from: &ColumnDef, to: &ColumnDef) -> Result<Value, MysqlError> {
        if value.is_null() && !to.nullable && !to.auto_increment {
            let truncated = MysqlError::data_truncated(&to.name, self.row);
            if self.session.settings.evaluation_mode().strict {
                let same_type = (&from.ty, from.collation) == (&to.ty, to.collation);
                return Err(if same_type { MysqlError::invalid_use_of_null() } else { truncated });
            }
            self.session.warnings.warn(truncated);
            return implicit_default(to);
        }
        let stored = self.execution.store(self.session, value, &from.ty, to, self.row);
        stored.map_err(|error| match error.code {
            errno::ER_DATA_TOO_LONG if cuts_field(from, to) => MysqlError::data_truncated(&to.name, self.row),
            _ => error,
        })
    }

    /// Computes what depends on the other columns of a row.
    fn compute(&mut self, row: &mut [Value]) -> Result<(), MysqlError> {
        let rules = std::mem::take(&mut self.rules);
        for (at, expr) in rules.defaults.iter().chain(&rules.generated) {
            let (Some(column), Some(Source::Computed)) = (self.columns.get(*at), self.sources.get(*at))
            else {
                continue;
            };
            let value = self.execution.with(self.session, |cx| evaluate_row(expr, row, &mut cx.eval));
            let value = value
                .and_then(|value| self.execution.store(self.session, &value, &expr.ty.sql, column, self.row));
            let value = value.map_err(|error| match self.indexes.get(at) {
                Some(index) => of_functional_index(error, index, self.row),
                None => error,
            })?;
            if let Some(slot) = row.get_mut(*at) {
                *slot = value;
            }
        }
        for (name, condition) in &rules.checks {
            let holds = self.execution.with(self.session, |cx| {
                let value = evaluate_row(condition, row, &mut cx.eval)?;
                truth(&value, &mut cx.eval)
            })?;
            if holds == Some(false) {
                return Err(MysqlError::check_violated(name));
            }
        }
        self.rules = rules;
        Ok(())
    }
}

impl RowConverter for Converter<'_> {
    fn convert_again(&mut self, old: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        let others = self.session.warnings.another();
        let given = std::mem::replace(&mut self.session.warnings, others);
        let row = self.convert(old);
        self.session.warnings = given;
        row
    }

    fn convert(&mut self, mut old: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        self.session.cancel.check()?;
        self.row += 1;
        let mut row = Vec::with_capacity(self.columns.len());
        for at in 0..self.columns.len() {
            let value = match self.sources.get(at) {
                Some(Source::Same(from)) => old.get_mut(*from).map_or(Value::Null, std::mem::take),
                Some(Source::Constant(value)) => value.clone(),
                Some(&Source::Converted(from)) => {
                    let value = old.get_mut(from).map_or(Value::Null, std::mem::take);
                    match (self.old.columns.get(from), self.columns.get(at)) {
                        (Some(was), Some(column)) => self.converted(&value, was, column)?,
                        _ => value,
                    }
                }
                Some(Source::Missing) => self.columns.get(at).map_or(Ok(Value::Null), implicit_default)?,
                Some(Source::Computed) | None => Value::Null,
            };
            row.push(value);
        }
        self.compute(&mut row)?;
        Ok(row)
    }
}

/// Whether MySQL copies the bytes of such a column, and then says of what is too long that it was truncated (1265), where it
/// otherwise says that it is too long (1406): text of the same kind, whose length takes as many bytes.
fn cuts_field(from: &ColumnDef, to: &ColumnDef) -> bool {
    let bytes = |len: u32, column: &ColumnDef| len * column.collation.charset().max_bytes();
    from.collation.charset() == to.collation.charset()
        && match (&from.ty, &to.ty) {
            (SqlType::Varchar { len: old }, SqlType::Varchar { len: new }) => {
                (bytes(*old, from) > 255) == (bytes(*new, to) > 255)
            }
            (SqlType::Varbinary { len: old }, SqlType::Varbinary { len: new }) => {
                (*old > 255) == (*new > 255)
            }
            (SqlType::Char { .. }, SqlType::Char { .. }) => true,
            _ => false,
        }
}

/// Whether values of a column can stay as they are.
fn unchanged(old: &ColumnDef, new: &ColumnDef) -> bool {
    let charset = |column: &ColumnDef| column.collation.charset();
    let same_type = match (&old.ty, &new.ty) {
        // Their texts may have changed places.
        (SqlType::Enum(_) | SqlType::Set(_), _) => old.ty == new.ty,
        (old, new) => old == new,
    };
    same_type && charset(old) == charset(new) && (new.nullable || !old.nullable)
}

/// Where the values of a column that is new come from.
fn added(execution: &Execution, column: &ColumnDef) -> Source {
    match &column.default {
        Some(DefaultValue::Constant(value)) => Source::Constant(value.clone()),
        Some(DefaultValue::Expression(_)) => Source::Computed,
        Some(DefaultValue::CurrentTimestamp) => {
            Source::Constant(Value::DateTime(execution.now().of(&column.ty)))
        }
        None | Some(DefaultValue::Dropped) if column.nullable || column.auto_increment => {
            Source::Constant(Value::Null)
        }
        None | Some(DefaultValue::Dropped) => Source::Missing,
    }
}

/// RENAME TABLE.
pub(super) fn rename_tables(session: &mut Session, rename: &RenameTable) -> Result<Done, MysqlError> {
    let mut names = Vec::with_capacity(rename.tables.len());
    for (from, to) in &rename.tables {
        let from = (database_of(session, from)?, from.name.value.as_str());
        names.push((from, (database_of(session, to)?, to.name.value.as_str())));
    }
    let names: Vec<(QualifiedName<'_>, QualifiedName<'_>)> =
        names.iter().map(|((d, t), (e, u))| ((d.as_str(), *t), (e.as_str(), *u))).collect();
    let unchecked = !session.settings.foreign_key_checks;
    session.instance.engine().rename_tables(&names, unchecked)?;
    Ok(Done::default())
}
