//! EXPLAIN shows the plan of a statement. EXPLAIN ANALYZE runs a SELECT and shows the figures of its operators.

use crate::plans::{ExplainForm, Work};
use crate::result::RowSet;
use crate::session::Execution;
use crate::session::{Outcome, RowStream, Session};
use leafline_executor as operator;
use leafline_executor::{Part, Profile};
use leafline_planner::Authority;
use leafline_planner::bound::{ChangedTable, OnDuplicate};
use leafline_planner::explain::{self, Change, ExplainRow, PlanPicture};
use leafline_planner::plan::{Plan, PlanParts};
use leafline_syntax::ast::{Explain, ExplainFormat, Statement, StatementKind};
use leafline_table::ChangeReads;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

impl Work {
    /// Formats the plan as a tree, below a line with the tables that the statement changes.
    fn tree(&self) -> String {
        let rows = self.plan().map(|plan| explain::explain_tree(plan, None)).unwrap_or_default();
        match self.title() {
            Some(head) => rows.lines().fold(format!("-> {head}\n"), |text, line| text + "    " + line + "\n"),
            None => rows,
        }
    }

    /// Returns the line that says which tables are changed; `None` for a query.
    fn title(&self) -> Option<String> {
        let targets = |targets: &[ChangedTable]| {
            targets.iter().map(|target| target.table.name.clone()).collect::<Vec<_>>().join(", ")
        };
        match self {
            Work::Insert { insert, .. } => Some(format!("Insert into {}", insert.table.name)),
            Work::Update { update, .. } => Some(format!("Update {}", targets(&update.targets))),
            Work::Delete { delete, .. } => Some(format!("Delete from {}", targets(&delete.targets))),
            Work::Select { .. } | Work::Explain { .. } | Work::Into { .. } => None,
        }
    }

    /// Returns the plan as EXPLAIN FORMAT=JSON shows it.
    pub(super) fn document(&self, parts: &PlanParts) -> explain::Object {
        let targets = self.plan().map(Plan::locked).unwrap_or_default();
        let change = match self {
            Work::Insert { insert, .. } => {
                let replaces = matches!(insert.on_duplicate, OnDuplicate::Replace);
                Change::Insert(&insert.table.name, if replaces { "replace" } else { "insert" })
            }
            Work::Update { .. } => Change::Of(&targets, "update"),
            Work::Delete { .. } => Change::Of(&targets, "delete"),
            Work::Select { .. } | Work::Explain { .. } | Work::Into { .. } => Change::None,
        };
        explain::explain_json(self.plan(), parts, change)
    }
}

impl Session {
    /// Runs EXPLAIN FOR CONNECTION: shows the plan that a session is running; no rows if it runs no statement.
    ///
    /// # Errors
    /// 1094 for an unknown session, 3012 if its statement has no plan.
    pub(super) fn explain_connection(
        &mut self,
        id: u64,
        format: Option<ExplainFormat>,
    ) -> Result<Outcome, MysqlError> {
        let session = self.instance.sessions().into_iter().find(|session| session.id == id);
        let session = session.ok_or_else(|| MysqlError::no_such_thread(id))?;
        if session.activity().statement.is_none() {
            return Ok(Outcome::Rows(RowStream::ready(tabular(Vec::new()))?));
        }
        let running = session.plan().ok_or_else(MysqlError::statement_not_explainable)?;
        if !running.explainable && !self.login.access.is_unlimited() {
            return Err(MysqlError::view_not_explainable());
        }
        let work = match &*running.work {
            Work::Into { work, .. } => work,
            work => work,
        };
        self.explain(
            work,
            &running.parts,
            ExplainForm::with_format(format.unwrap_or(self.settings.explain_format)),
            &[],
        )
    }

    pub(super) fn explain(
        &mut self,
        work: &Work,
        parts: &Arc<PlanParts>,
        how: ExplainForm,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        let rows = match work {
            Work::Select { plan, .. } if how == ExplainForm::Analyze => {
                self.analyze(plan, parts, parameters)?
            }
            work if how == ExplainForm::Tree => text(tree(work.tree(), parts, &|_| None)),
            work if how == ExplainForm::Json => text(work.document(parts).document()),
            Work::Select { plan, .. } => tabular(explain::explain_rows(Some(plan), parts)),
            Work::Insert { insert, plan } => {
                let replaces = matches!(insert.on_duplicate, OnDuplicate::Replace);
                let target = ExplainRow {
                    id: 1,
                    select_type: if replaces { "REPLACE" } else { "INSERT" },
                    table: Some(insert.table.name.clone()),
                    access: Some("ALL"),
                    ..ExplainRow::default()
                };
                let mut rows = vec![target];
                rows.extend(explain::explain_rows(plan.as_deref(), parts));
                tabular(rows)
            }
            Work::Update { plan, .. } => tabular(changing(plan, parts, "UPDATE")),
            Work::Delete { plan, .. } => tabular(changing(plan, parts, "DELETE")),
            Work::Explain { .. } | Work::Into { .. } => {
                return Err(MysqlError::not_supported("EXPLAIN of EXPLAIN"));
            }
        };
        Ok(Outcome::Rows(RowStream::ready(rows)?))
    }

    /// Runs a query and shows the figures of each node.
    fn analyze(
        &mut self,
        plan: &Plan,
        parts: &Arc<PlanParts>,
        parameters: &[Value],
    ) -> Result<RowSet, MysqlError> {
        let execution = self.profiled(plan, parts, parameters)?;
        let main = explain::explain_tree(plan, execution.profile());
        Ok(text(tree(main, parts, &|part| execution.part_profile(part))))
    }

    /// Runs a query, drops its rows, and returns the execution with the figures of its operators.
    fn profiled(
        &mut self,
        plan: &Plan,
        parts: &Arc<PlanParts>,
        parameters: &[Value],
    ) -> Result<Execution, MysqlError> {
        if plan.locks_rows() || parts.locks_rows() {
            return Err(MysqlError::not_supported("EXPLAIN ANALYZE of a statement that locks"));
        }
        // A query that calls stored functions runs in one transaction with them.
        if parts.calls_programs {
            return self.change(ChangeReads::Snapshot, |session, transaction| {
                let execution = Execution::new(session, transaction.view(), parameters, false);
                let execution = execution.with_parts(parts).calling(true, session, transaction)?;
                drained(session, execution, plan)
            });
        }
        let view = self.read_view();
        let execution = Execution::new(self, view, parameters, false).with_parts(parts);
        drained(self, execution, plan)
    }

    /// Plans a statement. Runs it, for at most `time`, if it is a query and `time` is given.
    pub(crate) fn picture_of(
        &mut self,
        sql: &str,
        time: Option<Duration>,
    ) -> Result<PlanPicture, MysqlError> {
        let statement = self.parse(sql)?;
        self.apply_hints(&statement.hints);
        let explain = Explain {
            analyze: false,
            format: Some(ExplainFormat::Tree),
            statement: Box::new(statement.kind),
        };
        let explain = Statement { kind: StatementKind::Explain(explain), ..statement };
        let planned = self.plan_statement(&explain, sql, Some(&[]))?;
        let planned = planned.ok_or_else(|| MysqlError::not_supported("a plan of this statement"))?;
        let Work::Explain { work, .. } = planned.work() else {
            return Err(MysqlError::not_supported("a plan of this statement"));
        };
        let (work, parts) = (&**work, planned.parts());
        let execution = match (work, time) {
            (_, None) => None,
            (Work::Select { plan, .. }, Some(time)) => {
                self.limit_time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                Some(self.profiled(plan, parts, &[])?)
            }
            (_, Some(_)) => {
                return Err(MysqlError::not_supported("EXPLAIN ANALYZE of a statement that writes"));
            }
        };
        let mut steps = Vec::new();
        if let Some(plan) = work.plan() {
            let profile = execution.as_ref().and_then(Execution::profile);
            steps.push((work.title().unwrap_or_default(), explain::plan_steps(plan, profile)));
        }
        for_each_part(parts, &mut |head, plan, part| {
            let profile = execution.as_ref().and_then(|execution| execution.part_profile(part));
            steps.push((head, explain::plan_steps(plan, profile.as_ref())));
        });
        Ok(PlanPicture { cost_us: planned.cost_us(), parts: steps })
    }
}

/// Runs a query to its end without its rows, and returns the execution with the figures of its operators.
fn drained(session: &mut Session, execution: Execution, plan: &Plan) -> Result<Execution, MysqlError> {
    let mut execution = execution.profiled(plan.node_count);
    let mut root = operator::build(&plan.root, true);
    while execution.with(session, |cx| root.next(&mut cx.exec))?.is_some() {}
    execution.end_calls();
    Ok(execution)
}

/// Makes EXPLAIN's rows for a statement that changes the rows of its plan. As in MySQL, the changed tables have `select_type`
/// UPDATE or DELETE.
fn changing(plan: &Plan, parts: &PlanParts, select_type: &'static str) -> Vec<ExplainRow> {
    let mut rows = explain::explain_rows(Some(plan), parts);
    let changed = plan.locked();
    for row in rows.iter_mut().filter(|row| row.id == 1) {
        if row.table.as_deref().is_none_or(|table| changed.contains(&table)) {
            row.select_type = select_type;
        }
    }
    rows
}

fn tabular(rows: Vec<ExplainRow>) -> RowSet {
    let mut set = RowSet::new(explain::explain_columns());
    rows.iter().for_each(|row| set.push(row.values()));
    set
}

fn text(text: String) -> RowSet {
    let mut set = RowSet::new([("EXPLAIN", SqlType::Text { max_bytes: u32::MAX })]);
    set.push(vec![Value::string(text)]);
    set
}

/// Appends to a tree the trees of the subplans.
fn tree(mut text: String, parts: &PlanParts, profile: &dyn Fn(Part) -> Option<Profile>) -> String {
    for_each_part(parts, &mut |head, plan, part| {
        text.push_str(&format!("-> {head}\n"));
        for line in explain::explain_tree(plan, profile(part).as_ref()).lines() {
            text.push_str(&format!("    {line}\n"));
        }
    });
    text
}

/// Calls `add` for each subplan and common table, with its headline.
fn for_each_part(parts: &PlanParts, add: &mut dyn FnMut(String, &Plan, Part)) {
    for (number, subquery) in parts.run_by_themselves() {
        let dependent = if subquery.is_dependent { "; dependent" } else { "" };
        add(format!("Subquery #{number}{dependent}"), &subquery.plan, Part::Subquery(number));
    }
    for (number, common) in &parts.commons {
        add(format!("Common table {}", common.name), &common.plan, Part::Common(*number));
    }
}

#[cfg(test)]
mod tests {
    use crate::session::Outcome;
    use crate::{Instance, InstanceOptions};
    use leafline_storage::device::SimulatedEnv;
    use leafline_types::{SqlType, value_at};
    use std::sync::Arc;

    #[test]
    fn what_subqueries_and_common_tables_did_is_shown() {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut session = instance.connect().unwrap();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
            "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)",
            "SET optimizer_switch = 'semijoin=off,subquery_to_derived=off'",
        ] {
            session.execute(sql).unwrap();
        }
        let mut analyzed = |sql: &str| {
            let Ok(Outcome::Rows(mut rows)) = session.execute(sql) else { panic!("{sql}") };
            let batch = rows.next_batch(&mut session).unwrap().unwrap();
            let text = value_at(&batch.columns[0], 0, &SqlType::Text { max_bytes: u32::MAX });
            text.as_str().unwrap().to_owned()
        };
        let shown =
            analyzed("EXPLAIN ANALYZE SELECT (SELECT MAX(a) FROM d.t i WHERE i.id <= o.a) FROM d.t o");
        let behind = shown.split("-> Subquery #0; dependent").nth(1).expect("the subquery");
        // The subquery runs once for each outer row, over one, two and three rows.
        assert!(behind.contains("rows=6 loops=3"), "{shown}");
        let shown = analyzed(
            "EXPLAIN ANALYZE WITH q AS (SELECT a, COUNT(*) AS n FROM d.t GROUP BY a) \
             SELECT * FROM q x JOIN q y ON x.a = y.n",
        );
        let behind = shown.split("-> Common table q\n").nth(1).expect("the query of WITH");
        assert!(behind.contains("rows=3 loops=1"), "{shown}");
    }

    #[test]
    fn stored_functions_are_called_by_explain_analyze() {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut session = instance.connect().unwrap();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "CREATE TABLE called (id INT)",
            "INSERT INTO t VALUES (1), (2), (3)",
            "CREATE FUNCTION f(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO called VALUES (x); RETURN x; END",
        ] {
            session.execute(sql).unwrap();
        }
        let mut text = |sql: &str| {
            let Ok(Outcome::Rows(mut rows)) = session.execute(sql) else { panic!("{sql}") };
            let batch = rows.next_batch(&mut session).unwrap().unwrap();
            let types = rows.types();
            let value = value_at(&batch.columns[0], 0, &types[0]);
            value.as_str().map_or_else(|| format!("{value:?}"), str::to_owned)
        };
        let shown = text("EXPLAIN ANALYZE SELECT id FROM t WHERE f(id) > 1");
        assert!(shown.contains("rows=2 loops=1"), "{shown}");
        assert_eq!(text("SELECT COUNT(*) FROM called"), "Int(3)");
    }

    #[test]
    fn the_plan_of_a_running_statement_is_shown_to_others() {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut running = instance.connect().unwrap();
        for sql in
            ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2)"]
        {
            running.execute(sql).unwrap();
        }
        let mut watching = instance.connect().unwrap();
        let explain = format!("EXPLAIN FOR CONNECTION {}", running.entry.id);
        let mut shown = || -> Result<Option<String>, u16> {
            let Outcome::Rows(mut rows) = watching.execute(&explain).map_err(|error| error.code)? else {
                panic!("no rows")
            };
            let batch = rows.next_batch(&mut watching).map_err(|error| error.code)?;
            let table = batch.map(|batch| value_at(&batch.columns[2], 0, &SqlType::Varchar { len: 64 }));
            Ok(table.and_then(|table| table.as_str().map(str::to_owned)))
        };
        assert_eq!(shown(), Ok(None));
        // The statement runs until its rows are read.
        let rows = running.execute("SELECT id FROM d.t AS x WHERE id > 1").unwrap();
        assert_eq!(shown(), Ok(Some("x".into())));
        let Outcome::Rows(mut rows) = rows else { panic!("no rows") };
        while rows.next_batch(&mut running).unwrap().is_some() {}
        assert_eq!(shown(), Ok(None));
        let _given_up = running.execute("SELECT id FROM d.t").unwrap();
        assert_eq!(shown(), Ok(Some("t".into())));
        let _to_be_read = running.execute("SHOW DATABASES").unwrap();
        assert_eq!(shown(), Err(3012));
        let own = format!("EXPLAIN FOR CONNECTION {}", running.entry.id);
        assert_eq!(running.execute(&own).err().map(|error| error.code), Some(3012));
    }
}
