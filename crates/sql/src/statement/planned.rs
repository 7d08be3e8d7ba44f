//! SELECT, INSERT, UPDATE, DELETE and EXPLAIN: binds and plans a statement once, and executes it any number of times.

use super::change;
use super::limits::{limit_by_setting, window_of};
use crate::index_uses::PlanExecutions;
use crate::optimizer_trace::OptimizerTrace;
use crate::plan_facts::{PlanFacts, reads_whole_table};
use crate::plans::TableUse;
use crate::plans::parameters::{Parameters, with_numbers};
use crate::plans::{ExplainForm, Planned, RunningPlan, ValueDependence, Work};
use crate::properties::{Runs, properties};
use crate::result::{ColumnMeta, Done};
use crate::session::Execution;
use crate::session::{CatalogWithHypothetical, Outcome, RowStream, Session, clock_micros};
use crate::statement::account::authorize;
use crate::system_table::SYSTEM_DATABASE;
use leafline_access::{Planner, StatementSamples};
use leafline_executor::{self as operator, RowWindow};
use leafline_planner::bound::{BoundKind, BoundSelect, BoundStatement, BoundSubquery, InsertRows};
use leafline_planner::optimizer::{
    OptimizerContext, Parallelism, Trace, plan_parts, plan_rows_to_change, plan_select,
};
use leafline_planner::plan::{Plan, PlanParts, RowLimit};
use leafline_planner::{binder, explain};
use leafline_syntax::ast::{Statement, StatementKind};
use leafline_table::ChangeReads;
use leafline_types::{ExprType, MysqlError, Value, error::errno};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The detail in which the optimizer records its choices.
#[derive(Clone, Copy)]
struct ExplainDetail {
    /// Candidates that were not chosen.
    of_other_ways: bool,
    /// Each comparison of candidates.
    of_steps: bool,
}

/// The result of planning.
struct PlannedWork {
    work: Work,
    parts: PlanParts,
    trace: Option<Trace>,
}

/// Factor by which a table's row count may grow or shrink before its plans are made anew.
const GROWTH: u64 = 2;
/// Factor by which the examined entries may exceed the expected ones before the values get a plan of their own.
const WORSE: f64 = 4.0;
/// Fewer examined entries than this never need a plan of their own.
const LEAST_ENTRIES_OF_OWN_PLAN: f64 = 1000.0;
/// Runs after which a plan for given values is made again, because other pages may be in memory by then.
const RUNS: u32 = 50;

impl Planned {
    /// Counts a run: notes the use of the indexes that the plan reads.
    fn tell_uses(&self, session: &Session) {
        let Some((runs, is_first)) = self.runs.run() else { return };
        session.instance.index_uses().note(self.indexes(), runs);
        if let Some(plan) = self.facts.digest.filter(|_| is_first) {
            self.digest.note_plan(plan, clock_micros().unwrap_or_default());
        }
    }

    /// Returns whether the plan is current, and keeps its tables' definitions from changing from now on.
    ///
    /// # Errors
    /// Errors of waiting for a session that changes a definition.
    pub(in crate::statement) fn is_held(
        &self,
        session: &mut Session,
        parameters: &[Value],
    ) -> Result<bool, MysqlError> {
        if !self.is_current(session, parameters) {
            return Ok(false);
        }
        session.use_tables(&self.uses)?;
        Ok(session.instance.engine().catalog_version() == self.catalog_version)
    }

    /// Returns whether the plan is current: the definitions, accounts and settings are the same, and tables have about the same
    /// size.
    fn is_current(&self, session: &Session, parameters: &[Value]) -> bool {
        let engine = session.instance.engine();
        let about = |then: u64, now: u64| now <= then.max(16) * GROWTH && then <= now.max(16) * GROWTH;
        !self.reads_variables
            && self.has_types_of(session, parameters)
            && self.catalog_version == engine.catalog_version()
            && self.own_tables == session.own_tables_version()
            && self.access == session.login.access.key()
            && self.database.as_deref() == session.database()
            && self.settings == session.settings
            && self.sizes.iter().all(|&(table, rows)| about(rows, engine.row_count(table)))
    }

    /// Returns whether the values have the types that the plan assumes for its parameters.
    pub(in crate::statement) fn has_types_of(&self, session: &Session, parameters: &[Value]) -> bool {
        self.parameters.are(parameters, session.settings.collation)
    }

    /// Returns the parameters as the plan takes them: a text of digits that is compared with a column of numbers becomes a number,
    /// as a literal does.
    pub(crate) fn converted<'v>(&self, parameters: &'v [Value]) -> Cow<'v, [Value]> {
        with_numbers(parameters, &self.parameters.compared_with_numbers)
    }

    /// Returns whether the plan can be used again by later statements.
    pub(crate) fn can_be_kept(&self) -> bool {
        !self.reads_variables && !self.settings.optimizer_trace.enabled
    }

    /// Returns whether the plan is good for these values of its parameters, too. Dives into the ranges of each scan whose choice
    /// depended on them. Where a dive finds fewer entries than expected, another plan might be better still, but this one costs no
    /// more than when it was chosen.
    fn is_good_for(&self, session: &mut Session, parameters: &[Value]) -> bool {
        let chosen = match &self.chosen {
            ValueDependence::Scans(chosen) if chosen.is_empty() => return true,
            ValueDependence::Scans(chosen) => chosen,
            ValueDependence::For(values, runs) => {
                let left = runs.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
                return left.is_ok() && values == parameters;
            }
        };
        let instance = session.instance.clone();
        let model = instance.cost_model(&session.settings.device);
        let (statistics, samples) = (instance.statistics(), StatementSamples::default());
        let planner = Planner { engine: instance.engine(), model: &model, statistics, samples: &samples };
        let view = session.latest_view();
        let mut execution = Execution::new(session, view, parameters, false);
        execution.with(session, |cx| {
            chosen.iter().all(|scan| {
                let entries = planner.entries(&scan.path, &mut cx.exec.eval);
                entries.is_ok_and(|entries| entries <= (scan.examined * WORSE).max(LEAST_ENTRIES_OF_OWN_PLAN))
            })
        })
    }
}

/// Returns how the choice of a plan that was made for `parameters` depends on them.
fn value_dependence(work: &Work, parameters: &[Value]) -> ValueDependence {
    match work.plan().map_or_else(|| Some(Vec::new()), |plan| plan.chosen_by_value()) {
        Some(scans) => ValueDependence::Scans(scans),
        None => ValueDependence::For(parameters.to_vec(), AtomicU32::new(RUNS)),
    }
}

impl Session {
    /// Binds and plans a statement; `None` for one that has no plan. Without `parameters` the statement is only prepared, and the
    /// types of its parameters are not known.
    pub(crate) fn plan_statement(
        &mut self,
        statement: &Statement,
        sql: &str,
        parameters: Option<&[Value]>,
    ) -> Result<Option<Planned>, MysqlError> {
        // Preparing a statement without a plan shows nothing, so its privileges are checked when it runs.
        let properties = properties(&statement.kind);
        if properties.runs != Runs::Directly || parameters.is_some() {
            authorize(self, properties.asks)?;
        }
        let (kind, how) = self.explained_kind(&statement.kind);
        if properties.runs == Runs::Directly {
            return match how {
                Some(_) => Err(MysqlError::not_supported("EXPLAIN of this statement")),
                None => Ok(None),
            };
        }
        if parameters.is_some() && how.is_none_or(|how| how == ExplainForm::Analyze) {
            self.limit_query(kind, statement.hints.max_execution_time);
        }
        let types = self.parameter_types(parameters.unwrap_or_default());
        let is_local = self.program_step.is_some();
        let catalog = self.instance.engine().catalog();
        let uses_supposed = how.is_some_and(|how| how != ExplainForm::Analyze);
        let (bound, assigns_variables) =
            self.bind_statement((kind, statement), (sql, parameters, &types), uses_supposed)?;
        let BoundStatement {
            kind: mut bound,
            mut warnings,
            reads_variables,
            compared_with_times,
            compared_with_numbers,
            subqueries,
            views,
            calls_programs,
            ..
        } = bound;
        // Variables of a program have their declared types.
        let compared_with_numbers = if is_local { Vec::new() } else { compared_with_numbers };
        if let Some(Cow::Owned(numbers)) =
            parameters.map(|values| with_numbers(values, &compared_with_numbers))
        {
            return self.plan_statement(statement, sql, Some(&numbers));
        }
        warnings.extend_from_slice(&statement.hints.warnings);
        self.refuse_system_table(&mut bound)?;
        let explainable = self.check_explained(how.is_some(), (&bound, &subqueries, &views))?;
        let (uses, sizes) = self.tables_used(&bound, &subqueries, &views);
        if parameters.is_some() {
            self.use_tables(&uses)?;
            if catalog.version() != self.instance.engine().catalog_version() {
                // Others changed definitions while the statement was bound. Its tables are held now: it is planned again.
                return self.plan_statement(statement, sql, parameters);
            }
        }
        limit_by_setting(kind, &mut bound, &self.settings);
        let window = window_of(kind, &mut bound)?;
        let traces = parameters.is_some() && explainable && self.traces(&uses);
        let tells = ExplainDetail { of_other_ways: how.is_some() || traces, of_steps: traces };
        let (values, told) = (parameters.unwrap_or_default(), (bound, assigns_variables, calls_programs));
        let PlannedWork { mut work, parts, trace } = self.plan_bound(told, &subqueries, values, tells)?;
        self.keep_trace(sql, trace, &work, &parts);
        work.set_window(window);
        let digest = self.sampled_digest(self.own_text(sql), if is_local { &[] } else { values });
        Ok(Some(Planned {
            facts: PlanFacts::of(work.plan(), &parts),
            chosen: value_dependence(&work, values),
            work: Arc::new(work.for_statement(kind, how)?),
            parts: Arc::new(parts),
            warnings,
            parameters: Parameters {
                types,
                compared_with_times,
                compared_with_numbers,
                are_declared: is_local,
            },
            reads_variables,
            catalog_version: catalog.version(),
            own_tables: self.own_tables_version(),
            access: self.login.access.key(),
            explainable,
            uses,
            settings: self.settings.clone(),
            database: self.database().map(str::to_owned),
            sizes,
            max_execution_time: statement.hints.max_execution_time,
            kept_read: Mutex::default(),
            digest,
            runs: PlanExecutions::default(),
        }))
    }

    /// Binds a statement, or the one that it explains, `kind`; also returns whether it may assign variables that it reads. Only a
    /// plain EXPLAIN may use hypothetical indexes: a statement that runs needs real ones.
    fn bind_statement(
        &self,
        (kind, statement): (&StatementKind, &Statement),
        (sql, parameters, types): (&str, Option<&[Value]>, &[ExprType]),
        uses_hypothetical: bool,
    ) -> Result<(BoundStatement, bool), MysqlError> {
        let supposed = CatalogWithHypothetical(self);
        let catalog: &dyn binder::CatalogLookup = if uses_hypothetical { &supposed } else { self };
        let bind = |assigns_variables| {
            let context = binder::BindContext {
                catalog,
                assigns_variables,
                hints: &statement.hints.elsewhere,
                parameters: parameters.unwrap_or_default(),
                ..self.bind_context(types)
            };
            binder::bind_kind(kind, statement.parameters, sql, &context)
        };
        let bound = bind(statement.assigns_variables)?;
        // A program that the statement calls may assign variables that the statement reads.
        match bound.calls_programs && bound.reads_variables && !statement.assigns_variables {
            true => Ok((bind(true)?, true)),
            false => Ok((bound, statement.assigns_variables)),
        }
    }

    /// The statement that EXPLAIN explains, and how; any other statement itself.
    fn explained_kind<'s>(&self, kind: &'s StatementKind) -> (&'s StatementKind, Option<ExplainForm>) {
        match kind {
            StatementKind::Explain(explain) => {
                (&*explain.statement, Some(ExplainForm::of(explain, &self.settings)))
            }
            kind => (kind, None),
        }
    }

    /// Limits the time of a query: by its hint, or by `max_execution_time`. Milliseconds.
    fn limit_query(&mut self, kind: &StatementKind, hinted: Option<u64>) {
        if matches!(kind, StatementKind::Query(_) | StatementKind::SelectInto { .. }) {
            self.limit_time(hinted.unwrap_or(self.settings.max_execution_time));
        }
    }

    /// Returns whether planning is traced. A statement without stored tables is not: it may read the trace of the statement before.
    fn traces(&self, uses: &[TableUse]) -> bool {
        self.settings.optimizer_trace.enabled && !uses.is_empty()
    }

    /// Keeps the optimizer trace of a statement.
    fn keep_trace(&mut self, sql: &str, trace: Option<Trace>, work: &Work, parts: &PlanParts) {
        if let Some(trace) = trace {
            let text = explain::explain_trace(sql, &trace, work.document(parts));
            self.optimizer_trace = Some(OptimizerTrace::new(sql, text, self.settings.optimizer_trace));
        }
    }

    /// Calls `plan` with an optimizer context for these parameters and subqueries.
    pub(crate) fn with_optimizer<T>(
        &mut self,
        parameters: &[Value],
        subqueries: &[BoundSubquery],
        plan: impl FnOnce(&mut OptimizerContext<'_, '_>) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        let instance = self.instance.clone();
        let switches = self.settings.optimizer_switch;
        let parallelism = self.settings.parallelism();
        let model = instance.cost_model(&self.settings.device);
        let (statistics, samples) = (instance.statistics(), StatementSamples::default());
        let planner = Planner { engine: instance.engine(), model: &model, statistics, samples: &samples };
        let view = self.latest_view();
        let mut execution = Execution::new(self, view, parameters, false);
        execution.with(self, |cx| {
            let mut optimizer = OptimizerContext::new(planner, &mut cx.exec.eval, switches, subqueries);
            optimizer.parallelism = parallelism;
            plan(&mut optimizer)
        })
    }

    fn plan_bound(
        &mut self,
        (bound, row_by_row, calls_programs): (BoundKind, bool, bool),
        subqueries: &[BoundSubquery],
        parameters: &[Value],
        tells: ExplainDetail,
    ) -> Result<PlannedWork, MysqlError> {
        self.with_optimizer(parameters, subqueries, |cx| {
            // Calls of stored functions may read and assign variables, too.
            cx.calls_programs = calls_programs;
            if row_by_row || calls_programs {
                (cx.eval.row_by_row, cx.parallelism) = (true, Parallelism::NONE);
            }
            cx.explains = tells.of_other_ways;
            cx.trace = tells.of_steps.then(Trace::default);
            let work = match bound {
                BoundKind::Select(select) => {
                    let columns = select.output.iter().map(|output| output.meta.clone()).collect();
                    Work::Select { plan: Arc::new(plan_select(&select, cx)?), columns, window: None }
                }
                BoundKind::Insert(insert) => {
                    let plan = match &insert.rows {
                        InsertRows::Select(select) => Some(Arc::new(plan_select(select, cx)?)),
                        InsertRows::Values(_) | InsertRows::File(_) => None,
                    };
                    Work::Insert { insert, plan }
                }
                BoundKind::Update(update) => {
                    let checks = update.targets.iter().flat_map(|target| &target.view_checks);
                    checks.for_each(|check| cx.keep_subqueries(&check.condition));
                    let plan = Arc::new(plan_rows_to_change(&update.rows, cx)?);
                    Work::Update { update, plan }
                }
                BoundKind::Delete(delete) => {
                    let plan = Arc::new(plan_rows_to_change(&delete.rows, cx)?);
                    Work::Delete { delete, plan }
                }
            };
            let parts = plan_parts(cx)?;
            Ok(PlannedWork { work, parts, trace: cx.trace.take() })
        })
    }

    /// Runs a statement that was planned before; `None` if it has to be planned again, because values or tables have changed.
    ///
    /// # Errors
    /// MySQL's.
    pub(crate) fn run_again(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Option<Outcome>, MysqlError> {
        let parameters = &*planned.converted(parameters);
        if !planned.is_held(self, parameters)? {
            return Ok(None);
        }
        if let Some(rows) = self.read_point(planned, parameters)? {
            planned.tell_uses(self);
            let count = rows.whole_rows();
            let outcome = match planned.into() {
                Some(into) => {
                    let done = self.select_into(rows, into);
                    Outcome::Done(done.inspect_err(|_| {
                        self.count_towards(&planned.digest, Some(&planned.facts), None);
                    })?)
                }
                None => Outcome::Rows(rows),
            };
            self.count_point_read(&planned.digest, &planned.facts, count);
            return Ok(Some(outcome));
        }
        if !planned.is_good_for(self, parameters) {
            return Ok(None);
        }
        self.begin_planned(planned);
        self.run_converted(planned, parameters).map(Some)
    }

    /// Runs a planned statement.
    pub(crate) fn run_planned(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        self.begin_planned(planned);
        self.run_part(planned, parameters)
    }

    /// Prepares the run of a planned statement: makes its plan visible to EXPLAIN FOR CONNECTION and counts it for its digest.
    pub(in crate::statement) fn begin_planned(&mut self, planned: &Planned) {
        if !matches!(*planned.work, Work::Explain { .. }) {
            // While functions and triggers run, the session shows the plan of the statement that called them.
            if !self.is_inner() {
                let (work, parts) = (planned.work.clone(), planned.parts.clone());
                self.entry.set_plan(RunningPlan { work, parts, explainable: planned.explainable });
            }
            planned.tell_uses(self);
        }
        let estimated = match &*planned.work {
            Work::Select { plan, .. } => Some(plan.root.estimate.rows),
            _ => None,
        };
        self.count_towards(&planned.digest, Some(&planned.facts), estimated);
    }

    /// Runs a planned statement as a part of another statement.
    pub(crate) fn run_part(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        self.run_converted(planned, &planned.converted(parameters))
    }

    /// Runs a planned statement with parameters that are converted for it.
    fn run_converted(&mut self, planned: &Planned, parameters: &[Value]) -> Result<Outcome, MysqlError> {
        if planned.work.runs_query() {
            self.limit_time(planned.time_limit(&self.settings));
        }
        let parts = &planned.parts;
        for warning in &planned.warnings {
            match warning.code {
                errno::ER_WINDOW_FUNCTION_IGNORES_FRAME | errno::ER_WARN_VIEW_WITHOUT_KEY => {
                    self.warnings.note(warning.clone());
                }
                _ => self.warnings.warn(warning.clone()),
            }
        }
        if planned.work.changes_shared_tables() && self.is_read_only() {
            if !self.in_transaction() {
                self.forget_next_characteristics();
            }
            return Err(MysqlError::read_only_transaction());
        }
        self.check_server_access(&planned.work)?;
        self.begin_calls(planned);
        match &*planned.work {
            Work::Select { plan, columns, window } => {
                self.select(planned, plan, (columns, window.as_ref()), parameters).map(Outcome::Rows)
            }
            Work::Into { work, into } => match &**work {
                Work::Select { plan, columns, .. } => {
                    let rows = self.select(planned, plan, (columns, None), parameters)?;
                    self.select_into(rows, into).map(Outcome::Done)
                }
                _ => Err(MysqlError::internal("INTO of a statement that gives no rows")),
            },
            Work::Explain { work, how } => self.explain(work, parts, *how, parameters),
            Work::Insert { insert, plan } => {
                if self.waits_for_file(planned.work.clone(), parts, parameters)? {
                    return Ok(Outcome::Done(Done::default()));
                }
                let run = |session: &mut Session, transaction: &mut _| {
                    change::insert(session, transaction, insert, (plan.as_ref(), None), parts, parameters)
                };
                let done = match insert.table.database == SYSTEM_DATABASE {
                    true => self.restore_accounts(run),
                    false => self.write(run),
                };
                self.settings.insert_id = None;
                done.map(Outcome::Done)
            }
            Work::Update { update, plan } => {
                self.change_rows(&update.rows, plan, || change::Update::new(update), parts, parameters)
            }
            Work::Delete { delete, plan } => {
                self.change_rows(&delete.rows, plan, || change::Delete::new(delete), parts, parameters)
            }
        }
    }

    /// Notes what the stored functions and triggers of a statement need to know of it.
    pub(in crate::statement) fn begin_calls(&mut self, planned: &Planned) {
        self.statement.sets_variables = planned.parts.row_by_row || planned.parts.calls_programs;
        if planned.parts.calls_programs {
            // Tables that foreign keys lead to may be changed, as in MySQL.
            let named = planned.uses.iter().filter(|used| used.alias.is_some());
            self.statement.uses = named.map(|used| used.key).collect();
        }
    }

    /// Changes the rows that a plan finds. Calls `change` for each attempt of the statement.
    fn change_rows<C: change::RowChange>(
        &mut self,
        rows: &BoundSelect,
        plan: &Arc<Plan>,
        change: impl Fn() -> C,
        parts: &Arc<PlanParts>,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        self.check_safety(rows, plan)?;
        let run = |session: &mut Session, transaction: &mut _| {
            change::change_rows(session, transaction, change(), plan, parts, parameters)
        };
        self.write(run).map(Outcome::Done)
    }

    /// Error 1175 under `sql_safe_updates` if the plan reads a whole table to change rows.
    fn check_safety(&self, rows: &BoundSelect, plan: &Plan) -> Result<(), MysqlError> {
        match self.settings.safe_updates && rows.limit.is_none() && reads_whole_table(plan) {
            true => Err(MysqlError::safe_update_mode("")),
            false => Ok(()),
        }
    }

    fn select(
        &mut self,
        planned: &Planned,
        plan: &Arc<Plan>,
        (columns, window): (&Arc<[ColumnMeta]>, Option<&RowLimit>),
        parameters: &[Value],
    ) -> Result<RowStream, MysqlError> {
        let parts = &planned.parts;
        let window = window.map(|window| RowWindow::new(window, parameters)).transpose()?;
        // A query that calls stored functions runs in one transaction with them, and a conflict of theirs runs it again.
        if plan.locks_rows() || parts.locks_rows() || parts.calls_programs {
            let reads = ChangeReads::of_query(plan.lock_wait().max(parts.lock_wait()));
            let rows = self.change(reads, |session, transaction| {
                let mut execution = Execution::new(session, transaction.view(), parameters, false)
                    .with_parts(parts)
                    .locking(transaction)
                    .calling(parts.calls_programs, session, transaction)?;
                execution.with(session, |cx| cx.collect(&plan.root))
            })?;
            return Ok(RowStream::collected(columns.clone(), rows, window));
        }
        // A query without tables does not make the transaction take its snapshot.
        let view = if planned.sizes.is_empty() { self.latest_view() } else { self.read_view() };
        let execution = Execution::new(self, view, parameters, false).with_parts(parts);
        let root = operator::build(&plan.root, false);
        Ok(RowStream::running(columns.clone(), root, execution, window, self.statement_uses()))
    }
}
