//! Support for tests of plans: a database in memory that runs queries from text to rows, and an interpreter that answers bound
//! queries row by row, to compare with.

mod plan_run;
mod reference;

use leafline_access::cost::DeviceClass;
use leafline_access::{CostModel, Counters, Planner, StatementSamples, Statistics};
use leafline_expr::{EvalContext, SessionFacts};
use leafline_planner::binder::{BindContext, CatalogLookup, VariableLookup, bind, table_spec};
use leafline_planner::bound::{BoundKind, BoundSelect, BoundSubquery};
use leafline_planner::explain::{explain_rows, explain_tree};
use leafline_planner::optimizer::{
    BudgetSettings, OptimizerContext, OptimizerSwitches, Parallelism, RuntimeFilterSettings, plan_parts,
    plan_rows_to_change, plan_select,
};
use leafline_planner::plan::{Plan, PlanParts};
use leafline_storage::device::SimulatedEnv;
use leafline_syntax::ast::{StatementKind, VariableScope};
use leafline_syntax::{LexMode, parse};
use leafline_table::{BuildControl, Engine, EngineOptions, Isolation, StoreOptions, TableDef, TxnMode};
use leafline_types::{CancelToken, Collation, DateTime, MysqlError, Value, Warnings, value_at};
use std::sync::Arc;

pub(crate) use reference::answer;

use plan_run::PlanRun;

/// Returns the seed of a random test: `LEAFLINE_SEED`, or a fixed one. Tests print it when they fail.
pub(crate) fn seed() -> u64 {
    std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_250_101)
}

/// Returns the factor by which a random test repeats more than usual.
pub(crate) fn scale() -> usize {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Calls `f` with a context for expressions.
pub(crate) fn with_eval<R>(parameters: &[Value], f: impl FnOnce(&mut EvalContext<'_>) -> R) -> R {
    let (session, mut warnings, cancel) = (SessionFacts::default(), Warnings::new(), CancelToken::new());
    let now = DateTime::from_epoch_micros(1_700_000_000_000_000).expect("a time of our days");
    let mut eval = EvalContext::new(now, &session, &mut warnings, &cancel);
    eval.parameters = parameters;
    f(&mut eval)
}

/// A database in memory.
pub(crate) struct Database {
    pub engine: Arc<Engine>,
    pub statistics: Statistics,
    pub model: CostModel,
    pub switches: OptimizerSwitches,
    pub parallelism: Parallelism,
    pub patience: BudgetSettings,
    pub filtering: RuntimeFilterSettings,
    pub memory_limit: usize,
    pub group_concat_max_len: u64,
}

struct NoVariables;

impl VariableLookup for NoVariables {
    fn user(&self, _name: &str) -> Value {
        Value::Null
    }

    fn system(&self, _scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError> {
        Err(MysqlError::unknown_system_variable(name))
    }
}

impl CatalogLookup for Database {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        self.engine.table(database, name).map_err(MysqlError::from)
    }
}

/// The result of a query.
pub(crate) struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub counters: Counters,
    pub warnings: Vec<String>,
}

impl Database {
    /// Makes an empty database. Its plans do not depend on the contents of the buffer pool.
    pub fn new() -> Database {
        let store = StoreOptions {
            page_size: 4096,
            buffer_pool_bytes: 32 << 20,
            log_capacity_bytes: 32 << 20,
            background: false,
            io_threads: 1,
            ..StoreOptions::default()
        };
        let options = EngineOptions { store, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(SimulatedEnv::new()), options).expect("an engine in memory");
        engine.ddl().create_database("test", Collation::DEFAULT, true).expect("a database");
        let mut model = CostModel::new(DeviceClass::Nvme, 4096);
        model.use_residency = false;
        Database {
            engine,
            statistics: Statistics::new(),
            model,
            switches: OptimizerSwitches::default(),
            parallelism: Parallelism::NONE,
            patience: BudgetSettings::default(),
            filtering: RuntimeFilterSettings::default(),
            memory_limit: 64 << 20,
            group_concat_max_len: 1024,
        }
    }

    /// Makes and fills a table.
    pub fn table(&self, create: &str, rows: &[Vec<Value>]) {
        let statement = parse(create, LexMode::default()).unwrap_or_else(|e| panic!("{create}: {e}"));
        let StatementKind::CreateTable(create) = statement.kind else { panic!("{create}") };
        let (spec, _) =
            table_spec(&create, "test", Collation::Utf8mb4Bin, Default::default()).expect("a table");
        self.engine.ddl().create_table(&spec, false).expect("a new table");
        self.fill(&spec.name, rows);
    }

    /// Fills an empty table.
    pub fn fill(&self, name: &str, rows: &[Vec<Value>]) {
        let table = self.engine.table("test", name).expect("the table");
        let mut loader =
            self.engine.ddl().bulk_load(&table, &BuildControl::of(&self.engine)).expect("a loader");
        rows.iter().for_each(|row| loader.push(row).unwrap_or_else(|e| panic!("{row:?}: {e}")));
        loader.finish().expect("a loaded table");
    }

    /// Binds a query.
    pub fn bind(&self, sql: &str) -> Result<BoundSelect, MysqlError> {
        self.bind_all(sql).map(|(select, _)| select)
    }

    /// Binds a query, and returns the subqueries in its expressions.
    fn bind_all(&self, sql: &str) -> Result<(BoundSelect, Vec<BoundSubquery>), MysqlError> {
        let statement = parse(sql, LexMode::default())?;
        let context = BindContext {
            locals: None,
            catalog: self,
            variables: &NoVariables,
            database: Some("test"),
            collation: Collation::Utf8mb4Bin,
            only_full_group_by: true,
            modes: Default::default(),
            dates: Default::default(),
            foreign_key_checks: true,
            derived_merge: true,
            use_invisible_indexes: false,
            default_week_format: 0,
            group_concat_max_len: self.group_concat_max_len,
            assigns_variables: statement.assigns_variables,
            parameter_types: &[],
            parameters: &[],
            cancel: &CancelToken::new(),
            hints: &statement.hints.elsewhere,
            access: &leafline_planner::Unlimited,
        };
        let bound = bind(&statement, sql, &context)?;
        let select = match bound.kind {
            BoundKind::Select(select) => *select,
            BoundKind::Update(update) => update.rows,
            BoundKind::Delete(delete) => delete.rows,
            BoundKind::Insert(_) => panic!("{sql}: not a query"),
        };
        Ok((select, bound.subqueries))
    }

    /// Plans a query and the subqueries in its expressions.
    pub fn plan_all(&self, sql: &str) -> Result<(Arc<Plan>, Arc<PlanParts>), MysqlError> {
        let (select, subqueries) = self.bind_all(sql)?;
        self.optimize(&subqueries, |cx| {
            let plan = plan_select(&select, cx)?;
            Ok((Arc::new(plan), Arc::new(plan_parts(cx)?)))
        })
    }

    /// Returns how many joins of two inputs and how many access paths the planning of a query considers.
    pub fn effort(&self, sql: &str) -> Result<(usize, usize), MysqlError> {
        let (select, subqueries) = self.bind_all(sql)?;
        self.optimize(&subqueries, |cx| {
            plan_select(&select, cx)?;
            plan_parts(cx)?;
            Ok((cx.joins_considered, cx.planner.samples.paths_priced()))
        })
    }

    /// Plans a bound query.
    pub fn plan_bound(&self, select: &BoundSelect, to_change: bool) -> Result<Arc<Plan>, MysqlError> {
        self.optimize(&[], |cx| {
            let plan = if to_change { plan_rows_to_change(select, cx) } else { plan_select(select, cx) };
            plan.map(Arc::new)
        })
    }

    fn optimize<T>(
        &self,
        subqueries: &[BoundSubquery],
        plan: impl FnOnce(&mut OptimizerContext<'_, '_>) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        with_eval(&[], |eval| {
            let (engine, model, statistics, samples) =
                (&self.engine, &self.model, &self.statistics, &StatementSamples::default());
            let planner = Planner { engine, model, statistics, samples };
            let mut cx = OptimizerContext::new(planner, eval, self.switches, subqueries);
            (cx.parallelism, cx.patience, cx.filtering) = (self.parallelism, self.patience, self.filtering);
            plan(&mut cx)
        })
    }

    /// Plans a query.
    pub fn plan(&self, sql: &str) -> Arc<Plan> {
        let select = self.bind(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        self.plan_bound(&select, false).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// Runs a plan.
    pub fn run(&self, plan: &Arc<Plan>) -> Result<Answer, MysqlError> {
        self.run_with(plan, &Arc::default())
    }

    /// Runs a plan with the plans of its subqueries.
    pub fn run_with(&self, plan: &Arc<Plan>, parts: &Arc<PlanParts>) -> Result<Answer, MysqlError> {
        self.run_profiled(plan, parts, false).map(|(answer, _)| answer)
    }

    fn run_profiled(
        &self,
        plan: &Arc<Plan>,
        parts: &Arc<PlanParts>,
        profiled: bool,
    ) -> Result<(Answer, PlanRun), MysqlError> {
        let mut transaction = self.engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        let view = transaction.view();
        let mut counters = Counters::default();
        let (mut rows, mut warnings) = (Vec::new(), Warnings::new());
        let mut execution = PlanRun::new(plan, parts, self.memory_limit, profiled).locking(&mut transaction);
        while let Some(batch) = with_eval(&[], |eval| {
            let (session, cancel) = (eval.session, eval.cancel);
            let eval = EvalContext::new(eval.now, session, &mut warnings, cancel);
            execution.next(eval, &view, &mut counters)
        })? {
            assert!(batch.rows > 0, "an empty batch");
            for row in 0..batch.rows {
                let values = batch.columns.iter().zip(plan.root.types.iter());
                rows.push(values.map(|(column, ty)| value_at(column, row, &ty.sql)).collect());
            }
        }
        let warnings = warnings.iter().map(|warning| warning.message.clone()).collect();
        Ok((Answer { rows, counters, warnings }, execution))
    }

    /// Returns the rows of a query as text.
    pub fn query(&self, sql: &str) -> Vec<String> {
        let answer = self.run(&self.plan(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        answer.rows.iter().map(|row| show(row)).collect()
    }

    /// Returns the counters of a query.
    pub fn counters(&self, sql: &str) -> Counters {
        self.run(&self.plan(sql)).unwrap_or_else(|e| panic!("{sql}: {e}")).counters
    }

    /// Returns EXPLAIN, a line per row: table, type, key, key_len, ref, rows, Extra.
    pub fn explain(&self, sql: &str) -> Vec<String> {
        let rows = explain_rows(Some(&self.plan(sql)), &PlanParts::default());
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_string());
        rows.iter()
            .map(|row| {
                format!(
                    "{} {} {} {} {} {} {} {}",
                    row.select_type,
                    text(&row.table),
                    row.access.unwrap_or("-"),
                    text(&row.key),
                    text(&row.key_len),
                    text(&row.reference),
                    row.rows.map_or("-".to_string(), |rows| rows.to_string()),
                    if row.extra.is_empty() { "-".to_string() } else { row.extra.join("; ") }
                )
            })
            .collect()
    }

    /// Returns EXPLAIN ANALYZE.
    pub fn explain_analyze(&self, sql: &str) -> String {
        let plan = self.plan(sql);
        let (_, execution) =
            self.run_profiled(&plan, &Arc::default(), true).unwrap_or_else(|e| panic!("{sql}: {e}"));
        explain_tree(&plan, execution.profile())
    }
}

/// Runs a plan that is expected to fail. `each` is called after every batch with the token that cancels the query.
pub(crate) fn run_until(
    database: &Database,
    plan: &Arc<Plan>,
    each: &mut dyn FnMut(&CancelToken),
) -> MysqlError {
    let view = database.engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly).view();
    let (session, cancel) = (SessionFacts::default(), CancelToken::new());
    let now = DateTime::from_epoch_micros(0).expect("a time");
    let mut counters = Counters::default();
    let mut execution = PlanRun::new(plan, &Arc::default(), database.memory_limit, false);
    loop {
        let mut warnings = Warnings::new();
        let eval = EvalContext::new(now, &session, &mut warnings, &cancel);
        match execution.next(eval, &view, &mut counters) {
            Ok(Some(_)) => each(&cancel),
            Ok(None) => panic!("the query came to its end"),
            Err(error) => return error,
        }
    }
}

/// Writes a row as text.
pub(crate) fn show(row: &[Value]) -> String {
    let texts: Vec<String> = row
        .iter()
        .map(|value| match value {
            Value::Null => "NULL".to_string(),
            Value::Double(number) => format!("{}", number + 0.0),
            value => leafline_types::convert::to_text(value, &leafline_types::SqlType::DateTime { fsp: 0 })
                .map_or("NULL".to_string(), |text| text.to_string()),
        })
        .collect();
    texts.join("|")
}
