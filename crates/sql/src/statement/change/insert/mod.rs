//! INSERT, REPLACE and LOAD DATA: complete each row, check it, and write it or give it to a load.

mod load;

use super::bulk::{Bulk, Finished, begin_progress};
use super::foreign::ignoring;
use super::{
    ChangeContext, Triggers, after_triggers, computed, default_of, generate, has_no_partition, meets_checks,
    number_or_zero, of_table, settle, stays_in_view, touch,
};
use crate::result::Done;
use crate::row_source::RowSource;
use crate::session::Execution;
use crate::session::Session;
use crate::session::{StatementContext, StoreRules, bytes_for};
use crate::statement::account::check_row;
use crate::system_table::SYSTEM_DATABASE;
use crate::text_file::{self, ClientInput};
use leafline_expr::build::type_of;
use leafline_planner::bound::{BoundAssignment, BoundInsert, GivenValue, InsertRows, NewValue, OnDuplicate};
use leafline_planner::plan::{Plan, PlanParts};
use leafline_table::implicit_default;
use leafline_table::{DefaultValue, TableDef, TableError, Transaction};
use leafline_types::column::value_at;
use leafline_types::words::{TriggerEvent, TriggerTime};
use leafline_types::{MysqlError, Value};
use load::{load, load_values};
use std::borrow::Cow;
use std::sync::Arc;

/// The input of a load that its client gives.
pub(in crate::statement) enum LoadInput<'g, 'f> {
    /// A file.
    File(&'g mut ClientInput<'f>),
    /// Rows. They can be read once: a load of them allows no duplicates, so it never begins again.
    Rows(&'g mut dyn RowSource),
}

impl<'f> LoadInput<'_, 'f> {
    fn again(&mut self) -> LoadInput<'_, 'f> {
        match self {
            LoadInput::File(file) => LoadInput::File(file),
            LoadInput::Rows(rows) => LoadInput::Rows(*rows),
        }
    }
}

/// Runs an INSERT, REPLACE or LOAD DATA. `plan` is the plan of its SELECT; `input` has the rows or the file of the client.
pub(in crate::statement) fn insert(
    session: &mut Session,
    transaction: &mut Transaction,
    insert: &BoundInsert,
    (plan, mut input): (Option<&Arc<Plan>>, Option<LoadInput<'_, '_>>),
    parts: &Arc<PlanParts>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    // Rows that a load takes back would take back the writes of triggers and functions with them.
    let bulk = match parts.calls_programs {
        true => Bulk::Off,
        false => Bulk::new(insert, session.as_view(), transaction),
    };
    let before = match bulk.may_begin_again(insert) {
        true => Some((session.warnings.clone(), transaction.savepoint())),
        false => None,
    };
    if let (Some(_), Some(LoadInput::File(input))) = (&before, &mut input) {
        input.keep(session.instance.engine().temporary_run()?);
    }
    let mut execution = execution_of(session, transaction, insert, parts, parameters)?;
    let finished = execution.with(session, |statement| {
        let cx = &mut ChangeContext { statement, transaction };
        attempt(insert, bulk, (plan, input.as_mut().map(LoadInput::again)), cx)
    })?;
    match (finished, before) {
        (Attempt::Inserted(done), _) => return Ok(done),
        (Attempt::Built(done), _) => {
            session.refresh_own_table(&insert.table);
            return Ok(done);
        }
        (Attempt::Duplicates, None) => {
            return Err(MysqlError::internal("a bulk load that cannot begin again met duplicates"));
        }
        (Attempt::Duplicates, Some((warnings, mark))) => {
            session.warnings = warnings;
            transaction.rollback_to(mark);
        }
    }
    // The load met duplicates: the second attempt goes row by row.
    if let Some(LoadInput::File(input)) = &mut input {
        input.rewind()?;
    }
    let mut execution = execution_of(session, transaction, insert, parts, parameters)?;
    let finished = execution.with(session, |statement| {
        attempt(insert, Bulk::Off, (plan, input), &mut ChangeContext { statement, transaction })
    })?;
    match finished {
        Attempt::Inserted(done) => Ok(done),
        Attempt::Built(_) | Attempt::Duplicates => {
            Err(MysqlError::internal("an INSERT row by row has built trees"))
        }
    }
}

fn execution_of(
    session: &Session,
    transaction: &mut Transaction,
    insert: &BoundInsert,
    parts: &Arc<PlanParts>,
    parameters: &[Value],
) -> Result<Execution, MysqlError> {
    let execution = Execution::new(session, transaction.view(), parameters, true).with_parts(parts);
    let execution = execution.storing(rules(insert)).locking(transaction);
    execution.calling(parts.calls_programs, session, transaction)
}

/// The result of an attempt to run an INSERT.
enum Attempt {
    /// Row by row, all rows are in the write set.
    Inserted(Done),
    /// The trees of the table were built from the rows.
    Built(Done),
    /// Some rows have the same key and the statement says what becomes of them, so trees cannot be built. Nothing was done.
    Duplicates,
}

fn attempt(
    insert: &BoundInsert,
    bulk: Bulk,
    rows: (Option<&Arc<Plan>>, Option<LoadInput<'_, '_>>),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<Attempt, MysqlError> {
    let mut inserter = RowInserter::new(insert, bulk, cx)?;
    if let Err(error) = inserter.give_rows(rows, cx) {
        return Err(inserter.bulk.first_error(error, insert, cx));
    }
    let RowInserter { bulk, counts, .. } = inserter;
    Ok(match bulk.finish(insert, cx)? {
        Finished::Rows => Attempt::Inserted(counts.done(insert, cx)),
        Finished::Built => Attempt::Built(counts.done(insert, cx)),
        Finished::Duplicates => Attempt::Duplicates,
    })
}

/// Says what becomes of values that do not fit their columns.
pub(super) fn rules(insert: &BoundInsert) -> StoreRules {
    StoreRules { ignore: insert.ignore, null_is_default: !is_one_row(insert), ..StoreRules::default() }
}

fn is_one_row(insert: &BoundInsert) -> bool {
    matches!(&insert.rows, InsertRows::Values(rows) if rows.len() == 1)
}

/// Returns the value of a column that the statement does not name and that has no default.
fn missing_value(
    insert: &BoundInsert,
    column: &leafline_table::ColumnDef,
    cx: &mut StatementContext<'_>,
) -> Result<Value, MysqlError> {
    match &insert.view {
        Some((database, view)) => {
            cx.default_or(column, MysqlError::no_default_for_view_field(database, view))
        }
        None => cx.missing_value(column),
    }
}

/// A running INSERT.
pub(in crate::statement) struct RowInserter<'a> {
    pub(super) insert: &'a BoundInsert,
    pub(super) table: &'a Arc<TableDef>,
    /// Positions of the columns that the statement does not name, with a value for those without a default.
    omitted: Vec<(usize, Option<Value>)>,
    /// Positions of those whose value a BEFORE trigger may give. A row in which none does fails.
    given_by_triggers: Vec<usize>,
    /// The current row.
    pub(super) row: Vec<Value>,
    /// Columns of the row whose defaults are expressions. They wait until the other columns are known.
    late: Vec<usize>,
    /// Further values of the query's row that assignments need.
    others: Vec<Value>,
    pub(super) counts: Counts,
    bulk: Bulk,
    /// The table is a grant table: its rows have to be readable as accounts and privileges.
    is_of_accounts: bool,
    /// The AUTO_INCREMENT number of a row that was left out. The next row takes it.
    unused: Option<u64>,
    triggers: Triggers,
}

/// Counts of an INSERT.
#[derive(Default)]
pub(super) struct Counts {
    /// Rows read.
    pub(super) records: u64,
    /// Rows that did not meet a condition, under IGNORE.
    left_out: u64,
    inserted: u64,
    /// Rows deleted by REPLACE.
    deleted: u64,
    /// Rows changed by ON DUPLICATE KEY UPDATE; `unchanged` counts rows that it left as they were.
    updated: u64,
    unchanged: u64,
    first_generated: Option<u64>,
    /// The AUTO_INCREMENT number of the last row that was stored, changed, or left unchanged.
    last_number: u64,
}

impl<'a> RowInserter<'a> {
    fn new(
        insert: &'a BoundInsert,
        bulk: Bulk,
        cx: &mut StatementContext<'_>,
    ) -> Result<RowInserter<'a>, MysqlError> {
        let table = &insert.table;
        let triggers = Triggers::of(table, cx)?;
        cx.rules.null_waits = triggers.has(TriggerTime::Before, TriggerEvent::Insert)
            || triggers.has(TriggerTime::Before, TriggerEvent::Update);
        let (mut omitted, mut given_by_triggers) = (Vec::new(), Vec::new());
        for (at, column) in table.columns.iter().enumerate() {
            if !insert.columns.contains(&at) {
                // A column without a default gives one warning or error, not one for each row.
                let has_none =
                    column.has_no_default() && !column.auto_increment && column.generated.is_none();
                let missing = has_none.then(|| match triggers.assigns(TriggerEvent::Insert, at) {
                    true => {
                        given_by_triggers.push(at);
                        implicit_default(column)
                    }
                    false => missing_value(insert, column, cx),
                });
                omitted.push((at, missing.transpose()?));
            }
        }
        Ok(RowInserter {
            insert,
            table,
            omitted,
            given_by_triggers,
            row: vec![Value::Null; table.columns.len()],
            late: Vec::new(),
            others: Vec::new(),
            counts: Counts::default(),
            bulk,
            is_of_accounts: table.database == SYSTEM_DATABASE,
            unused: None,
            triggers,
        })
    }

    /// Makes an inserter that never becomes a load. `None` if the statement warns of columns that it does not name.
    pub(super) fn one_by_one(
        insert: &'a BoundInsert,
        cx: &mut StatementContext<'_>,
    ) -> Result<Option<RowInserter<'a>>, MysqlError> {
        let run = RowInserter::new(insert, Bulk::Off, cx)?;
        Ok(Some(run).filter(|run| run.omitted.iter().all(|(_, missing)| missing.is_none())))
    }

    /// Runs an INSERT of VALUES once more.
    pub(super) fn again(&mut self, cx: &mut ChangeContext<'_, '_>) -> Result<Done, MysqlError> {
        (self.counts, self.unused) = (Counts::default(), None);
        self.give_rows((None, None), cx)?;
        Ok(std::mem::take(&mut self.counts).done(self.insert, cx))
    }

    /// Inserts all rows of the statement.
    fn give_rows(
        &mut self,
        (plan, input): (Option<&Arc<Plan>>, Option<LoadInput<'_, '_>>),
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError> {
        match (&self.insert.rows, plan, input) {
            (InsertRows::Values(rows), ..) => {
                begin_progress(cx.session, rows.len() as u64);
                for row in rows {
                    self.begin_row(cx)?;
                    for (value, &column) in row.iter().zip(&self.insert.columns) {
                        self.give(column, value, cx)?;
                    }
                    self.finish_row(cx)?;
                }
                Ok(())
            }
            (InsertRows::Select(_), Some(plan), _) => self.give_query(plan, cx),
            (InsertRows::File(lines), _, Some(LoadInput::Rows(rows))) => {
                begin_progress(cx.session, 0);
                load_values(self, (lines, rows), cx)
            }
            (InsertRows::File(lines), _, Some(LoadInput::File(input))) => {
                begin_progress(cx.session, 0);
                load(self, (lines, input), cx)
            }
            (InsertRows::File(lines), _, None) => {
                let allowed = cx.session.instance.facts().secure_file_priv.clone();
                let mut file = text_file::open(&lines.path, allowed.as_deref())?;
                begin_progress(cx.session, file.metadata().map_or(0, |file| file.len()));
                load(self, (lines, &mut file), cx)
            }
            (InsertRows::Select(_), None, _) => {
                Err(MysqlError::unknown_error("INSERT .. SELECT without a plan"))
            }
        }
    }

    fn give_query(&mut self, plan: &Arc<Plan>, cx: &mut ChangeContext<'_, '_>) -> Result<(), MysqlError> {
        begin_progress(cx.session, plan.root.estimate.rows as u64);
        let mut root = leafline_executor::build(&plan.root, false);
        while let Some(batch) = root.next(&mut cx.exec)? {
            for at in 0..batch.rows {
                self.begin_row(cx)?;
                let mut values = batch.columns.iter().zip(plan.root.types.iter());
                for ((array, ty), &column) in values.by_ref().zip(&self.insert.columns) {
                    let value = value_at(array, at, &ty.sql);
                    let definition = self.column(column)?;
                    let number = self.counts.records + 1;
                    let value = bytes_for(&value, ty.collation, definition);
                    let value = cx.store(&value, &ty.sql, definition, number)?;
                    self.set(column, value);
                }
                let others = batch.columns.iter().zip(plan.root.types.iter()).skip(self.insert.columns.len());
                self.others = others.map(|(array, ty)| value_at(array, at, &ty.sql)).collect();
                self.finish_row(cx)?;
            }
        }
        Ok(())
    }

    pub(super) fn column(&self, at: usize) -> Result<&'a leafline_table::ColumnDef, MysqlError> {
        let column = self.table.columns.get(at);
        column.ok_or_else(|| MysqlError::unknown_error("a column that the table does not have"))
    }

    pub(super) fn set(&mut self, at: usize, value: Value) {
        if let Some(slot) = self.row.get_mut(at) {
            *slot = value;
        }
    }

    /// Begins a row of NULLs, or of defaults if values refer to columns that have no value yet.
    pub(super) fn begin_row(&mut self, cx: &mut StatementContext<'_>) -> Result<(), MysqlError> {
        self.row.fill(Value::Null);
        self.late.clear();
        if self.insert.reads_row {
            for (at, column) in self.table.columns.iter().enumerate() {
                let value = match (&column.default, column.nullable) {
                    (Some(DefaultValue::Expression(_) | DefaultValue::Dropped), true) => Value::Null,
                    (Some(DefaultValue::Expression(_) | DefaultValue::Dropped) | None, false) => {
                        implicit_default(column)?
                    }
                    _ => default_of(at, column, &self.insert.rules, &[], cx)?,
                };
                self.set(at, value);
            }
        }
        Ok(())
    }

    /// Gives a column the value that VALUES has for it.
    fn give(
        &mut self,
        at: usize,
        value: &GivenValue,
        cx: &mut StatementContext<'_>,
    ) -> Result<(), MysqlError> {
        let (column, number) = (self.column(at)?, self.counts.records + 1);
        let new = match value {
            GivenValue::New(new) => &**new,
            GivenValue::Literal(literal) => {
                self.set(at, cx.store(literal, &type_of(literal), column, number)?);
                return Ok(());
            }
        };
        let value = match new {
            NewValue::Expr(expr) => computed(expr, &self.row, column, number, cx)?,
            NewValue::Default if matches!(column.default, Some(DefaultValue::Expression(_))) => {
                self.late.push(at);
                return Ok(());
            }
            NewValue::Default => default_of(at, column, &self.insert.rules, &[], cx)?,
        };
        self.set(at, value);
        Ok(())
    }

    /// Gives the omitted columns their defaults, and computes the columns that depend on others.
    fn complete_row(&mut self, cx: &mut StatementContext<'_>) -> Result<(), MysqlError> {
        for (at, missing) in &self.omitted {
            let value = match (missing, self.table.columns.get(*at)) {
                (Some(value), _) => value.clone(),
                (None, Some(column)) if matches!(column.default, Some(DefaultValue::Expression(_))) => {
                    self.late.push(*at);
                    continue;
                }
                (None, Some(column)) => default_of(*at, column, &self.insert.rules, &[], cx)?,
                (None, None) => continue,
            };
            if let Some(slot) = self.row.get_mut(*at) {
                *slot = value;
            }
        }
        self.late.sort_unstable();
        for at in std::mem::take(&mut self.late) {
            let column = self.column(at)?;
            let value = default_of(at, column, &self.insert.rules, &self.row, cx)?;
            self.set(at, value);
        }
        generate(self.table, &self.insert.rules, &mut self.row, self.counts.records + 1, cx)
    }

    /// Completes the row, checks it and stores it.
    pub(super) fn finish_row(&mut self, cx: &mut ChangeContext<'_, '_>) -> Result<(), MysqlError> {
        self.complete_row(cx)?;
        self.fire_before(cx)?;
        if self.is_of_accounts {
            check_row(&self.table.name, &self.row)?;
        }
        self.counts.records += 1;
        let BoundInsert { view_checks, ignore, .. } = self.insert;
        if !stays_in_view(view_checks, &self.row, *ignore, cx)?
            || !meets_checks(&self.insert.rules, &self.row, *ignore, cx)?
        {
            self.counts.left_out += 1;
            return Ok(());
        }
        if !matches!(self.insert.rows, InsertRows::File(_)) {
            cx.session.entry.progress.add(1);
        }
        let generated = cx.transaction.fill_auto_increment(self.table, &mut self.row, &mut self.unused);
        // The number stays unused until the row is stored.
        self.unused = self.unused.or(generated);
        if self.bulk.takes_rows() {
            let mark = cx.transaction.savepoint();
            let result =
                super::foreign::inserted(&self.insert.foreign, self.table, &self.row, cx.transaction);
            if ignoring(result, self.insert.ignore, mark, cx)? {
                match self.bulk.take(&self.row) {
                    Err(error) if self.insert.ignore && has_no_partition(&error) => {
                        cx.warn(error.into());
                        return Ok(());
                    }
                    taken => taken?,
                }
                self.unused = self.unused.filter(|_| generated.is_none());
                self.counts.inserted += 1;
                self.counts.first_generated = self.counts.first_generated.or(generated);
                self.counts.note_number(self.table, &self.row);
            }
            return Ok(());
        }
        loop {
            cx.exec.eval.cancel.check()?;
            let mark = cx.transaction.savepoint();
            let (index, locator, error) = match cx.transaction.insert(self.table, &self.row) {
                Ok(_) => {
                    let result =
                        super::foreign::inserted(&self.insert.foreign, self.table, &self.row, cx.transaction);
                    if !ignoring(result, self.insert.ignore, mark, cx)? {
                        return Ok(());
                    }
                    self.unused = self.unused.filter(|_| generated.is_none());
                    self.counts.inserted += 1;
                    self.counts.first_generated = self.counts.first_generated.or(generated);
                    self.counts.note_number(self.table, &self.row);
                    self.triggers.after(TriggerEvent::Insert, &[], &self.row, cx)?;
                    return self.bulk.note(self.table, &self.row, cx);
                }
                Err(TableError::DuplicateEntry { entry, table, index, locator }) => {
                    let zone = cx.session.settings.time_zone.zone();
                    let key = format!("{table}.{index}");
                    (index, locator, MysqlError::duplicate_entry(&entry.in_zone(zone), &key))
                }
                Err(error) if self.insert.ignore && has_no_partition(&error) => {
                    cx.warn(error.into());
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            let stored = match &self.insert.on_duplicate {
                OnDuplicate::Fail if self.insert.ignore => {
                    cx.warn(error);
                    true
                }
                OnDuplicate::Fail => return Err(error),
                OnDuplicate::Replace => {
                    let stored = self.replace(&index, &locator, cx)?;
                    self.unused = self.unused.filter(|_| !stored || generated.is_none());
                    if stored {
                        self.triggers.after(TriggerEvent::Insert, &[], &self.row, cx)?;
                    }
                    stored
                }
                OnDuplicate::Update(assignments) => self.update(assignments, &locator, cx)?,
            };
            if stored {
                return Ok(());
            }
        }
    }

    /// Fires the BEFORE INSERT triggers. They see the number 0 in an AUTO_INCREMENT column that asks for the next one.
    fn fire_before(&mut self, cx: &mut ChangeContext<'_, '_>) -> Result<(), MysqlError> {
        if !cx.rules.null_waits {
            return Ok(());
        }
        let asking =
            self.table.auto_increment_column().filter(|at| self.row.get(*at).is_some_and(Value::is_null));
        let zero = asking.map(|at| implicit_default(self.column(at)?)).transpose()?;
        if let (Some(at), Some(zero)) = (asking, &zero) {
            self.set(at, zero.clone());
        }
        let assigned = self.triggers.before(TriggerEvent::Insert, &[], &mut self.row, cx)?;
        for at in self.given_by_triggers.iter().filter(|at| !assigned.contains(at)) {
            if let Some((slot, column)) = self.row.get_mut(*at).zip(self.table.columns.get(*at)) {
                *slot = missing_value(self.insert, column, cx)?;
            }
        }
        if let (Some(at), Some(zero)) = (asking, &zero)
            && self.row.get(at) == Some(zero)
        {
            self.set(at, Value::Null);
        }
        settle(self.table, &self.insert.rules, &mut self.row, self.counts.records + 1, cx)
    }

    /// Removes the row that has the same key. Returns true if the new row has taken its place, which needs that no other unique key
    /// is left to be checked. As in MySQL, replacing an equal row does not count as a deletion.
    fn replace(
        &mut self,
        index: &str,
        locator: &[u8],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<bool, MysqlError> {
        let foreign = &self.insert.foreign;
        let Some(old) = cx.transaction.current_row(self.table, locator)? else { return Ok(false) };
        let last = self.table.indexes.iter().rfind(|index| index.is_unique());
        let event = TriggerEvent::Delete;
        let fires =
            self.triggers.has(TriggerTime::Before, event) || self.triggers.has(TriggerTime::After, event);
        if last.is_none_or(|last| last.name != index) || foreign.refer_to(self.table) || fires {
            self.triggers.before(event, &old, &mut [], cx)?;
            let Some(old) = after_triggers(self.table, locator, (&old, &mut []), cx)? else {
                return Ok(false);
            };
            cx.transaction.delete_locked(self.table, locator, &old)?;
            self.counts.deleted += 1;
            super::foreign::deleted(foreign, self.table, &old, cx)?;
            self.triggers.after(event, &old, &[], cx)?;
            return Ok(false);
        }
        if old != self.row {
            let place = cx.transaction.update_locked(self.table, locator, &old, &self.row);
            let place = place.map_err(|error| of_table(error, cx.session))?;
            super::foreign::updated(foreign, self.table, (&old, &self.row), place != locator, cx)?;
            self.counts.deleted += 1;
        }
        self.counts.inserted += 1;
        self.counts.note_number(self.table, &self.row);
        Ok(true)
    }

    /// Applies ON DUPLICATE KEY UPDATE to the row of the same key. Returns false if that row is gone.
    fn update(
        &mut self,
        assignments: &[BoundAssignment],
        locator: &[u8],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<bool, MysqlError> {
        let Some(mut old) = cx.transaction.current_row(self.table, locator)? else { return Ok(false) };
        let columns = old.len();
        let mut values = old.clone();
        values.extend_from_slice(&self.row);
        values.extend_from_slice(&self.others);
        for BoundAssignment { column, value, .. } in assignments {
            let definition = self.column(*column)?;
            let stored = match value {
                NewValue::Expr(expr) => computed(expr, &values, definition, self.counts.records, cx)?,
                NewValue::Default => default_of(*column, definition, &self.insert.rules, &values, cx)?,
            };
            let stored = number_or_zero(stored, definition)?;
            if let Some(slot) = values.get_mut(*column) {
                *slot = stored;
            }
        }
        values.truncate(columns);
        let rules = &self.insert.rules;
        generate(self.table, rules, &mut values, self.counts.records, cx)?;
        let is_assigned = |column| assignments.iter().any(|assignment| assignment.column == column);
        if values != old && touch(self.table, &mut values, is_assigned, cx)? {
            generate(self.table, rules, &mut values, self.counts.records, cx)?;
        }
        if cx.rules.null_waits {
            self.triggers.before(TriggerEvent::Update, &old, &mut values, cx)?;
            let again = after_triggers(self.table, locator, (&old, &mut values), cx)?;
            match again {
                Some(Cow::Owned(newest)) => old = newest,
                Some(Cow::Borrowed(_)) => {}
                None => return Ok(false),
            }
            settle(self.table, rules, &mut values, self.counts.records, cx)?;
        }
        self.counts.note_number(self.table, &values);
        if values == old {
            self.counts.unchanged += 1;
            self.triggers.after(TriggerEvent::Update, &old, &values, cx)?;
            return Ok(true);
        }
        let BoundInsert { view_checks, ignore, .. } = self.insert;
        if !stays_in_view(view_checks, &values, *ignore, cx)? {
            return Ok(true);
        }
        if !meets_checks(rules, &values, self.insert.ignore, cx)? {
            return Ok(true);
        }
        let mark = cx.transaction.savepoint();
        match cx.transaction.update_locked(self.table, locator, &old, &values) {
            Ok(place) => {
                let foreign = &self.insert.foreign;
                let result =
                    super::foreign::updated(foreign, self.table, (&old, &values), place != locator, cx);
                if ignoring(result, self.insert.ignore, mark, cx)? {
                    self.counts.updated += 1;
                    self.triggers.after(TriggerEvent::Update, &old, &values, cx)?;
                }
            }
            Err(error) => {
                let may_be_ignored = matches!(error, TableError::DuplicateEntry { .. });
                let (foreign, rows) = (&self.insert.foreign, (&old[..], &values[..]));
                let error = super::foreign::ran_into(foreign, error, self.table, rows, cx)?;
                if !(self.insert.ignore && may_be_ignored) {
                    return Err(error);
                }
                cx.warn(error);
            }
        }
        Ok(true)
    }
}

impl Counts {
    fn note_number(&mut self, table: &TableDef, row: &[Value]) {
        let value = table.auto_increment_column().and_then(|column| row.get(column));
        self.last_number = match value {
            Some(Value::Int(number)) => *number as u64,
            Some(Value::UInt(number)) => *number,
            _ => 0,
        };
    }

    fn done(self, insert: &BoundInsert, cx: &mut StatementContext<'_>) -> Done {
        let warnings = cx.exec.eval.warnings.count();
        // As in MySQL, the client gets the number of a row that ON DUPLICATE KEY UPDATE has changed; LAST_INSERT_ID() does not.
        let number = if self.inserted + self.updated > 0 { self.last_number } else { 0 };
        let counters = &mut cx.exec.counters;
        counters.handler_write += self.inserted;
        counters.handler_update += self.updated;
        counters.handler_delete += self.deleted;
        // A changed row counts twice, so that clients can tell it from an inserted one.
        let affected = self.inserted + self.deleted + 2 * self.updated;
        let records = self.records - self.left_out;
        let duplicates = match &insert.on_duplicate {
            OnDuplicate::Fail => records - self.inserted,
            OnDuplicate::Replace => self.deleted,
            OnDuplicate::Update(_) if insert.ignore => records - self.inserted - self.updated,
            OnDuplicate::Update(_) => self.updated,
        };
        let info = match (is_one_row(insert), &insert.rows) {
            (true, _) if !(cx.session.settings.sql_warnings && warnings > 0) => String::new(),
            (_, InsertRows::File(_)) => {
                let (deleted, skipped) = (self.deleted, self.records.saturating_sub(self.inserted));
                let records = self.records;
                format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}")
            }
            (_, _) => format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}"),
        };
        Done {
            affected,
            matched: affected + self.unchanged,
            last_insert_id: self.first_generated.unwrap_or(0),
            insert_id: self.first_generated.unwrap_or(number),
            info,
        }
    }
}
