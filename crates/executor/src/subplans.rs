//! Runs subqueries when an expression asks for them, and remembers their answers.
//!
//! A subquery runs once for each set of values that it depends on, as long as its answers fit into [`MEMO_BYTES`]; an
//! uncorrelated one runs once. The operators of one run serve the next, unless they must be built again.

use super::known_searches::Searches;
use super::members::Members;
use super::memo_key::{memo_key, value_bytes};
use super::stored_rows::StoredRows;
use super::{BoxedOperator, ExecutionContext, Profile, StatementLocks, build};
use crate::params::MEMO_BYTES;
use leafline_access::{Budget, Counters};
use leafline_expr::subquery::compare_with_row;
use leafline_expr::{EvalContext, Expr, FoundRows, Subquery, SubqueryRunner, SubqueryUse, bytes_of};
use leafline_planner::plan::{CommonPlan, PlanParts, SubqueryPlan};
use leafline_table::ReadView;
use leafline_types::memory::{Held, MemoryBudget};
use leafline_types::{Batch, MysqlError, Value, value_at};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The subqueries of a statement in one execution.
#[derive(Default)]
pub struct Subplans {
    /// `None`: the statement has no subqueries.
    parts: Option<Arc<PlanParts>>,
    memos: BTreeMap<usize, RefCell<Memo>>,
    /// The counters since the last call of `take_counters`, if anything was counted.
    counters: RefCell<Option<Box<Counters>>>,
    /// The bytes that remembered answers and the rows of common tables take.
    remembered: Cell<usize>,
    /// The rows of common tables, by number.
    commons: RefCell<HashMap<usize, CommonRows>>,
    /// The work table of each recursive common table: the rows that the last round added.
    work_tables: RefCell<HashMap<usize, Arc<StoredRows>>>,
    max_recursion: u64,
    /// Figures of the parts that ran, for EXPLAIN ANALYZE.
    profiles: RefCell<BTreeMap<Part, Profile>>,
    /// The searches that have run.
    searches: Searches,
    /// Operators that wait for the next run, by the numbers of their subqueries.
    idle: RefCell<HashMap<usize, BoxedOperator>>,
}

/// A query of a statement that runs by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A subquery of an expression, by its number.
    Subquery(usize),
    /// A common table, by its number.
    Common(usize),
}

/// The rows of a common table, for the values that it depends on.
struct CommonRows {
    key: Vec<u8>,
    rows: Arc<StoredRows>,
}

/// The answers of a subquery by the values that it depends on.
#[derive(Default)]
struct Memo {
    answers: HashMap<Vec<u8>, Answer>,
    bytes: usize,
}

#[derive(Clone)]
enum Answer {
    Value(Value),
    /// The only row, or NULLs.
    Row(Vec<Value>),
    Members(Arc<Members>),
}

impl Subplans {
    /// Makes the state for one execution of a statement with these parts. A recursion runs at most `max_recursion` rounds.
    pub fn new(parts: &Arc<PlanParts>, max_recursion: u64) -> Subplans {
        let memos = parts.subqueries.keys().map(|number| (*number, RefCell::default())).collect();
        Subplans { parts: Some(parts.clone()), memos, max_recursion, ..Subplans::default() }
    }

    /// Records figures of every part that runs.
    pub fn keep_profiles(&mut self) {
        let Some(parts) = &self.parts else { return };
        let subqueries = parts.subqueries.iter();
        let subqueries = subqueries.map(|(number, part)| (Part::Subquery(*number), part.plan.node_count));
        let commons = parts.commons.iter();
        let commons = commons.map(|(number, part)| (Part::Common(*number), part.plan.node_count));
        let profiles = subqueries.chain(commons).map(|(part, nodes)| (part, Profile::new(nodes)));
        *self.profiles.get_mut() = profiles.collect();
    }

    /// Takes the figures of a part, if they are recorded and the part is not running. The caller puts them back.
    pub fn take_profile(&self, part: Part) -> Option<Profile> {
        self.profiles.borrow_mut().remove(&part)
    }

    pub(super) fn put_profile(&self, part: Part, profile: Option<Profile>) {
        self.profiles.borrow_mut().extend(profile.map(|profile| (part, profile)));
    }

    /// Takes the counters of subqueries since the last call.
    pub fn take_counters(&self) -> Option<Box<Counters>> {
        self.counters.take()
    }

    /// Returns the bytes that are held beyond the run of a subquery.
    pub(super) fn remembered(&self) -> usize {
        self.remembered.get()
    }

    /// Adds bytes that are held until the end of the execution.
    pub(super) fn add_remembered(&self, bytes: usize) {
        self.remembered.set(self.remembered.get() + bytes);
    }

    /// Returns the searches that have run.
    pub(super) fn searches(&self) -> &Searches {
        &self.searches
    }

    pub(super) fn max_recursion(&self) -> u64 {
        self.max_recursion
    }

    pub(super) fn common_plan(&self, number: usize) -> Option<&CommonPlan> {
        self.parts.as_ref()?.commons.get(&number)
    }

    /// Returns the key of a common table's rows: the values of the surrounding row that the table depends on.
    fn common_key(&self, number: usize, outer: &[Value]) -> Vec<u8> {
        let is_dependent = self.common_plan(number).is_some_and(|plan| plan.is_dependent);
        if is_dependent { memo_key(outer) } else { Vec::new() }
    }

    /// Returns the rows of a common table, if they were made.
    pub(super) fn common(&self, number: usize, outer: &[Value]) -> Option<Arc<StoredRows>> {
        let key = self.common_key(number, outer);
        let commons = self.commons.borrow();
        commons.get(&number).filter(|known| known.key == key).map(|known| known.rows.clone())
    }

    /// Keeps the rows of a common table.
    pub(super) fn keep_common(
        &self,
        number: usize,
        outer: &[Value],
        rows: Arc<StoredRows>,
        budget: &MemoryBudget,
    ) {
        let key = self.common_key(number, outer);
        let bytes = rows.bytes();
        let before = self.commons.borrow_mut().insert(number, CommonRows { key, rows });
        let freed = before.map_or(0, |before| before.rows.bytes());
        budget.give_back(freed);
        self.remembered.set((self.remembered.get() + bytes).saturating_sub(freed));
    }

    /// Returns the rows that the last round added to a recursive common table.
    pub(super) fn work_table(&self, number: usize) -> Arc<StoredRows> {
        self.work_tables.borrow().get(&number).cloned().expect("a recursive table is read in its rounds")
    }

    pub(super) fn set_work_table(&self, number: usize, rows: StoredRows, budget: &MemoryBudget) {
        let before = self.work_tables.borrow_mut().insert(number, Arc::new(rows));
        budget.give_back(before.map_or(0, |before| before.bytes()));
    }

    fn known(&self, number: usize, key: &[u8]) -> Option<Answer> {
        self.memos.get(&number)?.borrow().answers.get(key).cloned()
    }

    fn remember(
        &self,
        number: usize,
        key: Vec<u8>,
        answer: &Answer,
        budget: &MemoryBudget,
    ) -> Result<(), MysqlError> {
        let memo = &self.memos[&number];
        let mut memo = memo.borrow_mut();
        let bytes = key.len() + answer.memory_bytes() + size_of::<(Vec<u8>, Answer)>();
        if memo.bytes + bytes > MEMO_BYTES {
            budget.give_back(memo.bytes);
            self.remembered.set(self.remembered.get().saturating_sub(memo.bytes));
            *memo = Memo::default();
        }
        budget.take(bytes)?;
        self.remembered.set(self.remembered.get() + bytes);
        memo.bytes += bytes;
        memo.answers.insert(key, answer.clone());
        Ok(())
    }
}

impl Answer {
    fn memory_bytes(&self) -> usize {
        match self {
            Answer::Value(value) => value_bytes(value),
            Answer::Row(row) => row.iter().map(value_bytes).sum(),
            Answer::Members(members) => members.memory_bytes(),
        }
    }
}

/// Runs subqueries for the expressions of one step of an execution.
#[derive(Clone, Copy)]
pub struct Runner<'r> {
    /// The subqueries and their remembered answers.
    pub subplans: &'r Subplans,
    /// The snapshot, which decides the visible rows.
    pub view: &'r ReadView,
    /// The row locks, for subqueries that lock rows.
    pub locks: Option<&'r StatementLocks>,
    /// The memory that operators may hold.
    pub memory: &'r MemoryBudget,
}

impl Runner<'_> {
    /// Runs a subquery and passes each of its batches to `each`, until that returns false.
    fn run(
        &self,
        number: usize,
        plan: &SubqueryPlan,
        outer: &[Value],
        cx: &mut EvalContext<'_>,
        each: &mut dyn FnMut(&Batch, &mut EvalContext<'_>) -> Result<bool, MysqlError>,
    ) -> Result<(), MysqlError> {
        cx.cancel.check()?;
        let held = self.memory.used().saturating_sub(self.subplans.remembered.get());
        let mut counters = Counters::default();
        let mut profile = self.subplans.take_profile(Part::Subquery(number));
        let mut inner = ExecutionContext {
            eval: within(cx, outer),
            view: self.view,
            counters: &mut counters,
            locks: self.locks,
            memory: self.memory,
            profile: profile.as_mut(),
            subplans: self.subplans,
            piece: None,
            budget: Budget::default(),
        };
        let profiled = inner.profile.is_some();
        let idle = self.subplans.idle.borrow_mut().remove(&number);
        let mut root = idle.unwrap_or_else(|| build(&plan.plan.root, profiled));
        let mut result = Ok(());
        loop {
            match root
                .next(&mut inner)
                .and_then(|batch| batch.map(|batch| each(&batch, &mut inner.eval)).transpose())
            {
                Ok(Some(true)) => {}
                Ok(_) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        cx.state = std::mem::take(&mut inner.eval.state);
        self.subplans.put_profile(Part::Subquery(number), profile);
        self.count(counters);
        if root.reset() {
            self.subplans.idle.borrow_mut().insert(number, root);
        }
        // The operators have released their memory.
        self.memory.shrink_to(held + self.subplans.remembered.get());
        result
    }

    /// Returns the only row. Error 1242 when there are more; with IGNORE a warning and no row.
    fn only_row(
        &self,
        number: usize,
        plan: &SubqueryPlan,
        outer: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Option<Vec<Value>>, MysqlError> {
        let mut only = None;
        self.run(number, plan, outer, cx, &mut |batch, cx| {
            if batch.rows > 1 || only.is_some() {
                if !cx.ignores {
                    return Err(MysqlError::subquery_more_than_one_row());
                }
                cx.warnings.warn(MysqlError::subquery_more_than_one_row());
                only = None;
                return Ok(false);
            }
            only = Some(row_of(plan, batch, 0));
            Ok(true)
        })?;
        Ok(only)
    }

    /// Returns the plan of a subquery.
    fn plan(&self, number: usize) -> Result<&SubqueryPlan, MysqlError> {
        let plan = self.subplans.parts.as_ref().and_then(|parts| parts.subqueries.get(&number));
        plan.ok_or_else(|| MysqlError::internal(format_args!("subquery {number} is not there")))
    }

    /// Adds what parts of the statement counted.
    pub(super) fn count(&self, counters: Counters) {
        **self.subplans.counters.borrow_mut().get_or_insert_default() += counters;
    }

    /// Returns the counts of a search's words, as the subquery with this number finds them in the texts of the table.
    pub(super) fn counted(&self, number: usize, cx: &mut EvalContext<'_>) -> Result<Vec<u8>, MysqlError> {
        let row = self.only_row(number, self.plan(number)?, &[], cx)?;
        Ok(row.and_then(|row| row.first().map(|counts| bytes_of(counts).to_vec())).unwrap_or_default())
    }

    fn result(
        &self,
        plan: &SubqueryPlan,
        subquery: &Subquery,
        outer: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Answer, MysqlError> {
        if let Some(search) = &plan.search {
            let found = self.found(search, subquery.number, Some(0), cx)?;
            return Ok(Answer::Value(Value::bytes(found.statistics().to_vec())));
        }
        Ok(match &subquery.question {
            SubqueryUse::Value => {
                let row = self.only_row(subquery.number, plan, outer, cx)?;
                Answer::Value(row.and_then(|row| row.into_iter().next()).unwrap_or_default())
            }
            SubqueryUse::Exists => {
                let mut exists = false;
                self.run(subquery.number, plan, outer, cx, &mut |_, _| {
                    exists = true;
                    Ok(false)
                })?;
                Answer::Value(Value::Int(exists.into()))
            }
            SubqueryUse::Row(_) => {
                let nulls = || vec![Value::Null; plan.plan.root.types.len()];
                Answer::Row(self.only_row(subquery.number, plan, outer, cx)?.unwrap_or_else(nulls))
            }
            SubqueryUse::Any(comparison) => {
                let mut held = Held::default();
                let mut members = Members::new(comparison, &subquery.needle, &plan.plan.root.types);
                self.run(subquery.number, plan, outer, cx, &mut |batch, cx| {
                    for at in 0..batch.rows {
                        members.add(row_of(plan, batch, at), cx)?;
                    }
                    // The memory is returned with the memory of the operators.
                    held.set(members.memory_bytes(), self.memory)?;
                    Ok(true)
                })?;
                Answer::Members(Arc::new(members))
            }
        })
    }
}

/// Makes the context of a query that depends on these values. The context takes the state that calls keep between rows; the
/// caller puts it back.
pub(super) fn within<'x>(cx: &'x mut EvalContext<'_>, outer: &'x [Value]) -> EvalContext<'x> {
    EvalContext {
        parameters: cx.parameters,
        outer,
        subqueries: cx.subqueries,
        programs: cx.programs,
        now: cx.now,
        utc_now: cx.utc_now,
        zone: cx.zone,
        sql_mode: cx.sql_mode,
        stores: cx.stores,
        session: cx.session,
        warnings: &mut *cx.warnings,
        cancel: cx.cancel,
        memory: cx.memory,
        ignores: cx.ignores,
        row_by_row: cx.row_by_row,
        state: std::mem::take(&mut cx.state),
    }
}

impl SubqueryRunner for Runner<'_> {
    fn answer(
        &self,
        subquery: &Subquery,
        needle: &[Value],
        outer: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        let number = subquery.number;
        let plan = self.plan(number)?;
        let key = memo_key(outer);
        let known = if subquery.is_volatile { None } else { self.subplans.known(number, &key) };
        let answer = match known {
            Some(known) => known,
            None => {
                let answer = self.result(plan, subquery, outer, cx)?;
                if !subquery.is_volatile {
                    self.subplans.remember(number, key, &answer, self.memory)?;
                }
                answer
            }
        };
        match (&answer, &subquery.question) {
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Row(row), SubqueryUse::Row(comparison)) => compared(comparison, needle, row, cx),
            (Answer::Members(members), SubqueryUse::Any(comparison)) => {
                members.contain(comparison, needle, cx).map(condition_value)
            }
            _ => Err(MysqlError::internal("a subquery that answers another question")),
        }
    }

    fn search(
        &self,
        number: usize,
        most: Option<usize>,
        cx: &mut EvalContext<'_>,
    ) -> Result<Arc<FoundRows>, MysqlError> {
        match &self.plan(number)?.search {
            Some(plan) => self.found(plan, number, most, cx),
            None => Err(MysqlError::internal(format_args!("subquery {number} is no search"))),
        }
    }
}

fn compared(
    comparison: &Expr,
    needle: &[Value],
    row: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    compare_with_row(comparison, needle, row, cx).map(condition_value)
}

fn condition_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |truth| Value::Int(truth.into()))
}

fn row_of(plan: &SubqueryPlan, batch: &Batch, row: usize) -> Vec<Value> {
    let columns = batch.columns.iter().zip(plan.plan.root.types.iter());
    columns.map(|(column, ty)| value_at(column, row, &ty.sql)).collect()
}
