//! Physical plans: what runs, and what EXPLAIN prints.
//!
//! A plan is immutable and shared between executions; parameters, the snapshot and every other piece of run state
//! live in the `ExecutionContext` of the executor. Columns in the expressions of a node are positions
//! in the batches of its input: for the conditions of an access path see [`AccessPath`], for joins the
//! columns of the left input come first.

use crate::bound::RowLocking;
use crate::window::{Reach, WindowCall};
use leafline_access::{AccessPath, Demand, JoinRows, Share};
use leafline_expr::aggregate::AggregateCall;
use leafline_expr::{CompareDomain, Expr};
use leafline_table::TableDef;
use leafline_types::convert::cast;
use leafline_types::temporal::DateRules;
use leafline_types::{ExprType, SqlType, Value, Warnings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A query ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operator that delivers the result.
    pub root: Node,
    /// Number of nodes: ids are below it.
    pub node_count: usize,
}

/// What the plans of a statement refer to by number.
#[derive(Clone, Debug, Default)]
pub struct PlanParts {
    /// The subqueries of expressions, by number; those that became joins are there only where they are needed besides.
    pub subqueries: BTreeMap<usize, SubqueryPlan>,
    /// The queries of WITH that are run by themselves.
    pub commons: BTreeMap<usize, CommonPlan>,
    /// The statement assigns user variables in its expressions; see [`leafline_expr::EvalContext::row_by_row`].
    pub row_by_row: bool,
}

/// A query of WITH ready to run.
#[derive(Clone, Debug)]
pub struct CommonPlan {
    /// Its name.
    pub name: Arc<str>,
    /// The query.
    pub plan: Plan,
    /// It depends on the rows of a query around it.
    pub is_dependent: bool,
}

impl PlanParts {
    /// The subqueries that did not become joins, by number.
    pub fn run_by_themselves(&self) -> impl Iterator<Item = (usize, &SubqueryPlan)> {
        let subqueries = self.subqueries.iter().map(|(number, subquery)| (*number, subquery));
        subqueries.filter(|(_, subquery)| !subquery.became_join)
    }

    /// Their plans.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        let subqueries = self.subqueries.values().map(|subquery| &subquery.plan);
        subqueries.chain(self.commons.values().map(|common| &common.plan))
    }

    /// Whether a subquery locks rows.
    pub fn locks_rows(&self) -> bool {
        self.plans().any(Plan::locks_rows)
    }
}

/// A subquery ready to run.
#[derive(Clone, Debug)]
pub struct SubqueryPlan {
    /// The query.
    pub plan: Plan,
    /// It depends on the rows of the query around it.
    pub is_dependent: bool,
    /// It became a join, and is run by itself only for rows that have changed since they were read, or are checked afterwards.
    pub became_join: bool,
}

impl Plan {
    /// The aliases of the tables whose rows it locks.
    pub fn locked(&self) -> Vec<&str> {
        fn collect<'p>(node: &'p Node, found: &mut Vec<&'p str>) {
            if let Operator::LockRows(locking) = &node.operator {
                found.extend(locking.tables.iter().map(|table| &*table.alias));
            }
            node.inputs().into_iter().for_each(|input| collect(input, found));
        }
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        found
    }

    /// Whether it locks rows: then it runs in a transaction that holds them, and no row is shown before all are locked.
    pub fn locks_rows(&self) -> bool {
        fn locks(node: &Node) -> bool {
            matches!(node.operator, Operator::LockRows(_)) || node.inputs().into_iter().any(locks)
        }
        locks(&self.root)
    }

    /// Calls `found` with every path that it may go along.
    pub fn for_each_path(&self, found: &mut dyn FnMut(&AccessPath)) {
        fn of_node(node: &Node, found: &mut dyn FnMut(&AccessPath)) {
            if let Operator::Scan(scan) | Operator::LookupJoin { inner: scan, .. } = &node.operator {
                scan.path.locators.iter().flat_map(|set| set.paths()).for_each(|path| found(path));
                found(&scan.path);
            }
            node.inputs().into_iter().for_each(|input| of_node(input, found));
        }
        of_node(&self.root, found);
    }

    /// The scans that might not have been chosen for other values of the parameters. `None`: an index is read in full
    /// though there were bounds for another, or leapt through, so that only planning again tells what is best for other values.
    pub fn chosen_by_value(&self) -> Option<Vec<Arc<Scan>>> {
        fn collect(node: &Node, alone: bool, chosen: &mut Vec<Arc<Scan>>) -> bool {
            let scan = match &node.operator {
                Operator::Scan(scan) => Some(scan),
                Operator::LookupJoin { inner, .. } => Some(inner),
                _ => None,
            };
            let alone =
                alone && node.inputs().len() < 2 && !matches!(node.operator, Operator::LookupJoin { .. });
            if let Some(scan) = scan {
                let path = &scan.path;
                let only = alone && path.is_clustered() && scan.possible_keys.len() < 2;
                let settled = scan.possible_keys.is_empty()
                    || path.is_unique_lookup()
                    || path.constraint.is_correlated()
                    || if path.constraint.is_unbounded() { scan.examined <= SMALL } else { only };
                if !settled && (path.constraint.is_unbounded() || path.leaps) {
                    return false;
                }
                if !settled {
                    chosen.push(scan.clone());
                }
            }
            node.inputs().into_iter().all(|input| collect(input, alone, chosen))
        }
        let mut chosen = Vec::new();
        collect(&self.root, true, &mut chosen).then_some(chosen)
    }
}

/// So few entries are read as quickly in one way as in another.
const SMALL: f64 = 128.0;

/// What the optimizer expects of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rows delivered per execution.
    pub rows: f64,
    /// Time until the last row, inputs included, microseconds.
    pub cost_us: f64,
}

/// One operator of a plan with its inputs.
#[derive(Clone, Debug)]
pub struct Node {
    /// Position of its run-time figures in the execution context.
    pub id: usize,
    /// What it does.
    pub operator: Operator,
    /// Types of the columns it delivers.
    pub types: Arc<[ExprType]>,
    /// What was expected of it.
    pub estimate: Estimate,
}

/// The operators.
#[derive(Clone, Debug)]
pub enum Operator {
    /// Rows of constant expressions; `SELECT 1` is one row.
    Values(Arc<[Vec<Expr>]>),
    /// The rows of JSON_TABLE.
    JsonTable(Arc<crate::bound::JsonTable>),
    /// No row at all, and why: EXPLAIN's `Extra`.
    Empty(EmptyReason),
    /// Rows of one table.
    Scan(Arc<Scan>),
    /// The rows of an input over one table, which several threads read piece by piece; in the order in which one would read it.
    Parallel {
        /// Runs in each of the threads.
        input: Arc<Node>,
        /// How many there are at most, and how much each takes at a time.
        share: Share,
    },
    /// Rows for which every condition is true.
    Filter {
        /// Where the rows come from.
        input: Box<Node>,
        /// Conditions, all to be true.
        conditions: Arc<[Expr]>,
    },
    /// Expressions over each row.
    Project {
        /// Where the rows come from.
        input: Box<Node>,
        /// One expression per column delivered.
        expressions: Arc<[Expr]>,
    },
    /// For each outer row the matching rows of a table, found through an index.
    LookupJoin {
        /// The rows to find partners for.
        outer: Box<Node>,
        /// How the table is entered; its bounds and conditions may use the outer columns.
        inner: Arc<Scan>,
        /// What becomes of outer rows without partner.
        rows: JoinRows,
        /// Deliver the rows in the order of the outer ones.
        keep_order: bool,
        /// What it goes on with if there are many more outer rows than were expected.
        instead: Option<Box<HashInstead>>,
    },
    /// For each outer row the rows of a query that depends on it.
    LateralJoin(Box<LateralJoin>),
    /// Rows of two inputs with equal keys.
    HashJoin(Box<HashJoin>),
    /// One row per group, or one row in all if there are no keys.
    Aggregate {
        /// Where the rows come from.
        input: Box<Node>,
        /// The grouping expressions, delivered first.
        keys: Arc<[Expr]>,
        /// How many of them, from the first, make a group; the others are determined by these.
        grouping: usize,
        /// The aggregates, delivered after the keys.
        aggregates: Arc<[AggregateCall]>,
    },
    /// Each row once for every level of WITH ROLLUP. Behind the columns of the input come the keys, NULL where the level leaves them
    /// out, and the level.
    Rollup {
        /// Where the rows come from.
        input: Box<Node>,
        /// The group keys.
        keys: Arc<[Expr]>,
        /// How many levels there are.
        rollup: Levels,
    },
    /// Rows that come partition by partition and in order, each with the values of window functions behind its columns.
    Window {
        /// Where the rows come from.
        input: Box<Node>,
        /// The functions.
        window: Arc<Window>,
    },
    /// All rows in order.
    Sort {
        /// Where the rows come from.
        input: Box<Node>,
        /// What to order by, most significant first.
        keys: Arc<[SortKey]>,
    },
    /// The first rows in order.
    TopN {
        /// Where the rows come from.
        input: Box<Node>,
        /// What to order by, most significant first.
        keys: Arc<[SortKey]>,
        /// The rows come in the order of so many keys, from the first: when enough are known, no more are read.
        presorted: usize,
        /// Which of the ordered rows.
        limit: RowLimit,
    },
    /// The first rows of a plan that was chosen because few entries were expected to be examined for them. No row is delivered before all
    /// are known; if more is to be done than what the other plan costs, that is run.
    Guarded {
        /// What is expected to be the cheaper one.
        first: Box<Node>,
        /// The other one.
        instead: Box<Node>,
        /// Entries that the first may examine.
        entries: u64,
        /// How many rows are delivered: with too many to be held it is not guarded.
        limit: RowLimit,
    },
    /// The first rows as they come.
    Limit {
        /// Where the rows come from.
        input: Box<Node>,
        /// Which rows.
        limit: RowLimit,
    },
    /// The rows that could be locked, as they were then.
    LockRows(Box<LockRows>),
    /// Each row once.
    Distinct {
        /// Where the rows come from.
        input: Box<Node>,
    },
    /// The rows of all inputs, one input after the other.
    Append {
        /// Inputs of the same types, two or more.
        inputs: Vec<Node>,
    },
    /// INTERSECT and EXCEPT.
    Matched {
        /// The rows that are kept or not.
        left: Box<Node>,
        /// The rows they are compared with; of the same types.
        right: Box<Node>,
        /// Which are kept.
        kept: KeptRows,
        /// With ALL: a right row counts for one left row.
        all: bool,
    },
    /// The rows of a query of WITH, under an alias.
    Common {
        /// Its number in [`PlanParts::commons`].
        number: usize,
        /// The alias.
        alias: Arc<str>,
    },
    /// The rows that the last round has added to a recursive table, under an alias.
    Working {
        /// The table's number.
        number: usize,
        /// The alias.
        alias: Arc<str>,
    },
    /// The rows of a recursive table.
    Recursive(Arc<RecursiveUnion>),
    /// A subquery in FROM, under its alias: rows pass through.
    Derived {
        /// The subquery.
        input: Box<Node>,
        /// Its alias.
        alias: Arc<str>,
    },
}

/// The levels of WITH ROLLUP.
#[derive(Clone, Debug)]
pub struct Levels {
    /// The greatest level; the least is 0.
    pub greatest: usize,
    /// For each key, the greatest level that leaves it out.
    pub leave_out: Arc<[usize]>,
}

/// Window functions that see the same partitions in the same order.
#[derive(Clone, Debug)]
pub struct Window {
    /// The types of the rows that it goes over.
    pub input: Arc<[ExprType]>,
    /// What parts rows; in the directions in which they come.
    pub partition: Arc<[SortKey]>,
    /// What orders them within a partition.
    pub order: Arc<[SortKey]>,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

/// The rows that INTERSECT and EXCEPT keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptRows {
    /// INTERSECT.
    InBoth,
    /// EXCEPT.
    OnlyLeft,
}

/// A recursive query of WITH.
#[derive(Clone, Debug)]
pub struct RecursiveUnion {
    /// The table's number.
    pub number: usize,
    /// Makes the first rows.
    pub seed: Node,
    /// Make rows of those that the round before has added.
    pub steps: Vec<Node>,
    /// Rows that are there already are not added.
    pub distinct: bool,
}

/// Why a query has no rows, in the words of EXPLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// The condition is never true.
    ImpossibleWhere,
    /// The condition on the groups is never true.
    ImpossibleHaving,
    /// `LIMIT 0`.
    ZeroLimit,
}

impl EmptyReason {
    /// As EXPLAIN says it.
    pub fn phrase(self) -> &'static str {
        match self {
            EmptyReason::ImpossibleWhere => "Impossible WHERE",
            EmptyReason::ImpossibleHaving => "Impossible HAVING",
            EmptyReason::ZeroLimit => "Zero limit",
        }
    }
}

/// How a table is read: the path, and what EXPLAIN says about the choice.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Position of its run-time figures in the execution context: the node's, or its own on the inner side of a join.
    pub id: usize,
    /// The path that runs.
    pub path: Arc<AccessPath>,
    /// The table's alias.
    pub alias: Arc<str>,
    /// How many rows will be asked for.
    pub demand: Demand,
    /// Indexes that could have been used.
    pub possible_keys: Vec<Arc<str>>,
    /// Rows examined, as expected, per execution or per outer row.
    pub examined: f64,
    /// Percentage of the examined rows expected to be left after the conditions.
    pub filtered: f64,
    /// EXPLAIN's `ref`: what the leading equal parts are compared with.
    pub references: Vec<Arc<str>>,
    /// The ways that were compared, cheapest first, if the plan was made to be explained.
    pub considered: Vec<Considered>,
    /// The runtime filters that it is told of, with their columns by ordinal.
    pub filters: Vec<(usize, usize)>,
    /// The names of the partitions that are left for the values that the plan was made for, if the table has any and the plan was made
    /// to be explained.
    pub partitions: Option<Arc<str>>,
}

/// A way to read a table that was looked at.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The way. Its outer columns are numbered otherwise than in the path that runs.
    pub path: Arc<AccessPath>,
    /// What it costs, once or for one outer row, microseconds.
    pub cost_us: f64,
    /// Rows examined.
    pub examined: f64,
}

/// A join with a query that is run for each row.
#[derive(Clone, Debug)]
pub struct LateralJoin {
    /// The rows that it is run for.
    pub outer: Node,
    /// The query.
    pub inner: Node,
    /// What it depends on, over the outer columns; `ExprKind::Outer` in the query.
    pub captures: Arc<[Expr]>,
    /// Conditions over the columns of both.
    pub conditions: Arc<[Expr]>,
    /// What becomes of outer rows without partner.
    pub rows: JoinRows,
    /// The query's alias.
    pub alias: Arc<str>,
}

/// A join by hashing.
#[derive(Clone, Debug)]
pub struct HashJoin {
    /// The input that streams; its columns come first.
    pub probe: Node,
    /// The input that is held in memory.
    pub build: Node,
    /// Equal expressions: over the probe's columns, over the build's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// `<=>` rather than `=`, per key.
    pub null_safe: Arc<[bool]>,
    /// Further conditions over the columns of both.
    pub conditions: Arc<[Expr]>,
    /// What becomes of probe rows.
    pub rows: JoinRows,
    /// The rows come in the order of the probe rows.
    pub keep_order: bool,
    /// The build input comes first in the order of the joins: EXPLAIN lists it first.
    pub build_is_first: bool,
    /// What both sides of each key are converted to to be compared.
    pub domains: Arc<[CompareDomain]>,
    /// What scans below the probe side are told of the keys when the build side was read.
    pub filters: Vec<KeyFilter>,
}

/// The keys of a hash join as a filter of a scan.
#[derive(Clone, Debug)]
pub struct KeyFilter {
    /// The number by which the scan knows it, in [`Scan::filters`].
    pub number: usize,
    /// Position of the key among the columns of the build side.
    pub build: usize,
    /// Its type.
    pub ty: SqlType,
    /// What both sides are converted to.
    pub domain: CompareDomain,
    /// The table that is scanned.
    pub table: Arc<TableDef>,
    /// The column that is compared with the key, by its ordinal there.
    pub column: usize,
}

/// A hash join that a lookup join goes on with: it costs as much as the lookups that were made by then.
#[derive(Clone, Debug)]
pub struct HashInstead {
    /// Outer rows that are looked up, and entries that are examined for them, at most, together.
    pub after: u64,
    /// The rows of the table.
    pub build: Node,
    /// Equal expressions: over the outer columns, over the table's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// `<=>` rather than `=`, per key.
    pub null_safe: Arc<[bool]>,
    /// Further conditions over the columns of both.
    pub conditions: Arc<[Expr]>,
    /// The positions, among the columns of both, of those that the lookup join delivers.
    pub columns: Arc<[usize]>,
}

/// Locking the rows of tables.
#[derive(Clone, Debug)]
pub struct LockRows {
    /// Where the rows come from.
    pub input: Node,
    /// The tables.
    pub tables: Arc<[LockedTable]>,
    /// What a row of the only table has to meet, over the table's columns, if its newest version may take the place of the
    /// one read. Otherwise, a row that was changed is a conflict, and the statement has to be run again.
    pub recheck: Option<Arc<[Expr]>>,
    /// Which of the rows: no row beyond these is locked.
    pub limit: Option<RowLimit>,
}

/// A table whose rows are locked.
#[derive(Clone, Debug)]
pub struct LockedTable {
    /// The table.
    pub table: Arc<TableDef>,
    /// Its alias.
    pub alias: Arc<str>,
    /// Position of its rows' locators; NULL where an outer join found no row.
    pub locator: usize,
    /// Positions of its columns, with their ordinals in the table.
    pub columns: Vec<(usize, usize)>,
    /// How.
    pub lock: RowLocking,
}

/// One ORDER BY element.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Expression over the input's columns.
    pub expr: Expr,
    /// Largest first; NULL is the smallest value.
    pub descending: bool,
}

/// LIMIT and OFFSET: constants or parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLimit {
    /// Rows to skip.
    pub offset: LimitValue,
    /// Rows to deliver; `None` = all.
    pub count: Option<LimitValue>,
}

/// A number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitValue {
    /// Known when the statement was planned.
    Constant(u64),
    /// Position of the parameter that holds it.
    Parameter(usize),
}

impl LimitValue {
    /// The number, with the parameters of an execution; `None` if the parameter is negative. As in MySQL, a parameter
    /// of another type is made an integer (many drivers bind every value as text), and NULL is 0.
    pub fn resolve(self, parameters: &[Value]) -> Option<u64> {
        match self {
            LimitValue::Constant(rows) => Some(rows),
            LimitValue::Parameter(position) => match parameters.get(position)? {
                Value::Int(rows) => u64::try_from(*rows).ok(),
                Value::UInt(rows) => Some(*rows),
                Value::Null => Some(0),
                other => {
                    match cast(other, &SqlType::Null, &SqlType::BIGINT, DateRules::DAYS, &mut Warnings::new())
                    {
                        Ok(Value::Int(rows)) => u64::try_from(rows).ok(),
                        _ => None,
                    }
                }
            },
        }
    }
}

/// The type of locators; NULL for a row that an outer join has made up.
pub fn locator_type() -> ExprType {
    ExprType::numeric(SqlType::Varbinary { len: u32::MAX }, true)
}

impl Node {
    /// The inputs, in the order in which their columns are delivered.
    pub fn inputs(&self) -> Vec<&Node> {
        match &self.operator {
            Operator::Values(_)
            | Operator::JsonTable(_)
            | Operator::Empty(_)
            | Operator::Scan(_)
            | Operator::Common { .. }
            | Operator::Working { .. } => Vec::new(),
            Operator::Append { inputs } => inputs.iter().collect(),
            Operator::Parallel { input, .. } => vec![input],
            Operator::Matched { left, right, .. } => vec![left, right],
            Operator::Recursive(union) => std::iter::once(&union.seed).chain(&union.steps).collect(),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Rollup { input, .. }
            | Operator::Window { input, .. }
            | Operator::Sort { input, .. }
            | Operator::TopN { input, .. }
            | Operator::Limit { input, .. }
            | Operator::Distinct { input }
            | Operator::Derived { input, .. } => vec![input],
            Operator::LookupJoin { outer, .. } => vec![outer],
            Operator::LateralJoin(join) => vec![&join.outer, &join.inner],
            Operator::HashJoin(join) => vec![&join.probe, &join.build],
            Operator::Guarded { first, instead, .. } => vec![first, instead],
            Operator::LockRows(locking) => vec![&locking.input],
        }
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.operator {
            Operator::Values(_)
            | Operator::JsonTable(_)
            | Operator::Empty(_)
            | Operator::Scan(_)
            | Operator::Common { .. }
            | Operator::Working { .. } => Vec::new(),
            Operator::Append { inputs } => inputs.iter_mut().collect(),
            Operator::Parallel { input, .. } => vec![Arc::make_mut(input)],
            Operator::Matched { left, right, .. } => vec![left, right],
            Operator::Recursive(union) => {
                let union = Arc::make_mut(union);
                std::iter::once(&mut union.seed).chain(&mut union.steps).collect()
            }
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Rollup { input, .. }
            | Operator::Window { input, .. }
            | Operator::Sort { input, .. }
            | Operator::TopN { input, .. }
            | Operator::Limit { input, .. }
            | Operator::Distinct { input }
            | Operator::Derived { input, .. } => vec![input],
            Operator::LookupJoin { outer, .. } => vec![outer],
            Operator::LateralJoin(join) => vec![&mut join.outer, &mut join.inner],
            Operator::HashJoin(join) => vec![&mut join.probe, &mut join.build],
            Operator::Guarded { first, instead, .. } => vec![first, instead],
            Operator::LockRows(locking) => vec![&mut locking.input],
        }
    }
}

impl Window {
    /// How much of a partition has to be there before the values of a row are known.
    pub fn reach(&self) -> Reach {
        self.calls.iter().map(WindowCall::reach).max().unwrap_or(Reach::Row)
    }
}
