//! Physical plans: what runs, and what EXPLAIN prints.
//!
//! A plan is immutable and shared between executions; parameters, the snapshot and every other piece of run state
//! live in the `ExecutionContext` of the executor. Columns in the expressions of a node are positions
//! in the batches of its input: for the conditions of an access path see [`AccessPath`](leafline_access::AccessPath), for joins the
//! columns of the left input come first.
//!
//! # Adding an operator
//!
//! 1. Here: a file with a struct for the node and its [`PlanNode`], named in the list [`nodes!`](crate::nodes).
//! 2. In the executor: a file with the operator and `Build` for the node.
//! 3. In the optimizer: the rule that emits it.
//!
//! The walks over a plan (inputs, expressions, numbers, demand, runtime filters, EXPLAIN in each format) ask the trait. A new node stands at
//! the end of the list: the digests of plans depend on its order.

mod access_label;
mod adaptive_plan;
mod aggregate;
mod common_table;
mod derived_table;
mod distinct;
mod filter;
mod hash_join;
mod lateral_join;
mod limit;
mod lock_rows;
mod lookup_join;
mod parallel;
mod parts;
mod project;
mod rollup;
mod scan;
mod set_operation;
mod sort;
mod text;
mod values;
mod window;

pub(crate) use access_label::is_hypothetical;
pub use access_label::{access_label, access_type};
pub use adaptive_plan::AdaptivePlan;
pub use aggregate::Aggregate;
pub use common_table::{CommonTableScan, RecursiveUnion, WorkTableScan};
pub use derived_table::DerivedTable;
pub use distinct::Distinct;
pub use filter::Filter;
pub use hash_join::{HashJoin, KeyFilter};
pub use lateral_join::LateralJoin;
pub use limit::{Limit, LimitValue, RowLimit};
pub use lock_rows::{LockRows, LockedTable, locator_type};
pub use lookup_join::{HashFallback, LookupJoin};
pub use parallel::Parallel;
pub use parts::{CommonPlan, Plan, PlanParts, SubqueryPlan};
pub use project::Project;
pub use rollup::{Levels, Rollup};
pub(crate) use scan::named_columns;
pub use scan::{Considered, Scan};
pub use set_operation::{Append, SetOp, SetOperationKind};
pub use sort::{Sort, SortKey, TopN};
pub(crate) use text::{column_name, conjunction, text};
pub use values::{Empty, EmptyReason, JsonTable, Values};
pub use window::{Window, WindowSpec};

use leafline_expr::Expr;
use leafline_types::ExprType;
use std::sync::Arc;

/// Hands the list of plan nodes, each with the type that [`Operator`] holds, to another macro.
#[macro_export]
macro_rules! nodes {
    ($then:ident) => {
        $then! {
            /// Rows of constant expressions.
            Values(Values),
            /// The rows of JSON_TABLE.
            JsonTable(JsonTable),
            /// No row at all.
            Empty(Empty),
            /// Rows of one table.
            Scan(Arc<Scan>),
            /// Rows of an input over one table, which several threads read.
            Parallel(Parallel),
            /// Rows for which every condition is true.
            Filter(Filter),
            /// Expressions over each row.
            Project(Project),
            /// For each outer row the matching rows of a table, found through an index.
            LookupJoin(LookupJoin),
            /// For each outer row the rows of a query that depends on it.
            LateralJoin(Box<LateralJoin>),
            /// Rows of two inputs with equal keys.
            HashJoin(Box<HashJoin>),
            /// One row per group.
            Aggregate(Aggregate),
            /// Each row once for every level of WITH ROLLUP.
            Rollup(Rollup),
            /// Each row with the values of window functions.
            Window(Window),
            /// All rows in order.
            Sort(Sort),
            /// The first rows in order.
            TopN(TopN),
            /// The first rows of one of two plans.
            AdaptivePlan(AdaptivePlan),
            /// The first rows as they come.
            Limit(Limit),
            /// The rows that could be locked, as they were then.
            LockRows(Box<LockRows>),
            /// Each row once.
            Distinct(Distinct),
            /// The rows of all inputs, one input after the other.
            Append(Append),
            /// INTERSECT and EXCEPT.
            SetOp(SetOp),
            /// The rows of a query of WITH.
            CommonTableScan(CommonTableScan),
            /// The rows that the last round has added to a recursive table.
            WorkTableScan(WorkTableScan),
            /// The rows of a recursive table.
            RecursiveUnion(Arc<RecursiveUnion>),
            /// A subquery in FROM: rows pass through.
            DerivedTable(DerivedTable),
        }
    };
}

/// Makes the enum of the nodes, and the dispatch to each one's [`PlanNode`].
macro_rules! define_operator {
    ($($(#[$doc:meta])* $name:ident($held:ty),)*) => {
        /// The operators.
        #[derive(Clone, Debug)]
        pub enum Operator {
            $($(#[$doc])* $name($held),)*
        }

        impl Operator {
            /// The node as its trait.
            pub fn as_node(&self) -> &dyn PlanNode {
                match self {
                    $(Operator::$name(held) => {
                        let node: &$name = held;
                        node
                    })*
                }
            }

            /// The node as its trait, to be changed; a shared one is copied first.
            pub fn as_node_mut(&mut self) -> &mut dyn PlanNode {
                match self {
                    $(Operator::$name(held) => Held::<$name>::node_mut(held),)*
                }
            }
        }
    };
}

nodes!(define_operator);

/// How [`Operator`] holds a node.
trait Held<N> {
    /// The node, to be changed.
    fn node_mut(&mut self) -> &mut N;
}

impl<N> Held<N> for N {
    fn node_mut(&mut self) -> &mut N {
        self
    }
}

impl<N> Held<N> for Box<N> {
    fn node_mut(&mut self) -> &mut N {
        self
    }
}

impl<N: Clone> Held<N> for Arc<N> {
    fn node_mut(&mut self) -> &mut N {
        Arc::make_mut(self)
    }
}

/// The rows and the price that the optimizer expects of a node.
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
    /// The operator.
    pub operator: Operator,
    /// Types of the columns it delivers.
    pub types: Arc<[ExprType]>,
    /// The expected rows and price.
    pub estimate: Estimate,
}

/// A kind of plan node: everything that walks over plans needs of it.
pub trait PlanNode {
    /// The inputs, in the order in which their columns are delivered.
    fn inputs(&self) -> Vec<&Node>;

    /// The inputs, to be changed.
    fn inputs_mut(&mut self) -> Vec<&mut Node>;

    /// Calls `each` with the expressions that it evaluates, but for those of bounds of LIMIT, and the role of each.
    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr));

    /// The names of the columns that it delivers; those behind the last name have none.
    fn column_names(&self) -> Vec<String>;

    /// Returns what EXPLAIN says of it.
    fn explain(&self) -> Explained<'_>;

    /// The table that it reads for each of its outer rows, if it is such a join.
    fn inner_scan(&self) -> Option<&Arc<Scan>> {
        None
    }

    /// The table that it reads for each of its outer rows, to be changed.
    fn inner_scan_mut(&mut self) -> Option<&mut Arc<Scan>> {
        None
    }

    /// The plan that it goes on with where estimates turn out to be wrong, and that is none of its inputs.
    fn fallback_mut(&mut self) -> Option<&mut Node> {
        None
    }

    /// Whether all rows of an input, by its number, are asked for. `all`: all of its own rows are.
    fn asks_for_all(&self, _input: usize, all: bool) -> bool {
        all
    }

    /// Where a runtime filter on a column that it delivers can be evaluated instead, if that leaves the same rows.
    fn column_origin(&self, _column: usize) -> Option<ColumnOrigin> {
        None
    }

    /// Rows pass through it and no operator runs for it: its figures are those of its input.
    fn is_transparent(&self) -> bool {
        false
    }
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// From a column of an input: the input's number, and the column's position there.
    Input(usize, usize),
    /// From a column of the table that the node reads, by its position among those delivered.
    Scan(usize),
}

/// The purpose for which a node evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To deliver the rows for which it is true.
    Filter,
    /// To compute a column of the select list, or the argument of an aggregate.
    Output,
    /// To group rows.
    GroupKey,
    /// To order rows.
    SortKey,
    /// To join rows with equal keys.
    JoinKey,
    /// To make a row of VALUES.
    Value,
    /// To find the bounds of key ranges.
    Bound,
    /// To run a query that depends on it.
    Capture,
    /// To make the levels of WITH ROLLUP.
    RollupKey,
    /// To compute window functions.
    Window,
    /// To look at the newest version of a row that was locked.
    Recheck,
}

/// The record of what EXPLAIN says of a node. The table, the tree and the JSON document render it.
pub struct Explained<'n> {
    /// The step in words: its line in FORMAT=TREE.
    pub label: String,
    /// Its place among the tables of its query block.
    pub step: Step<'n>,
}

/// How a node stands in the formats that list the tables of a query block.
pub enum Step<'n> {
    /// No table is read; why, in MySQL's words.
    NoTable(&'static str),
    /// A table function is read; its name in MySQL's words.
    TableFunction(&'static str),
    /// A table is read.
    Table(&'n Scan),
    /// The rows of a derived table, under its alias.
    DerivedTable(&'n Node, &'n str),
    /// The rows of a query of WITH: its number, and the alias.
    CommonTable(usize, &'n str),
    /// The rows that the last round has added to a recursive table, under an alias.
    WorkTable(&'n str),
    /// For each outer row a table is read.
    LookupJoin(&'n LookupJoin),
    /// A table is joined by hashing.
    HashJoin(&'n HashJoin),
    /// For each outer row a query is run.
    LateralJoin(&'n LateralJoin),
    /// Conditions on the rows of the input. `is_having`: on groups.
    Condition {
        /// The rows.
        input: &'n Node,
        /// They are groups.
        is_having: bool,
    },
    /// Something is done with all rows of the block.
    Operation(Operation<'n>),
    /// The rows of the input pass; only the tree has a line for it.
    Rows(&'n Node),
    /// The rows of the input, read by several threads: its steps belong to the tables of the block.
    Threads(&'n Node),
    /// Rows of several queries are put together.
    SetOperation {
        /// How.
        kind: SetKind,
        /// The queries.
        inputs: Vec<&'n Node>,
        /// Rows are compared, in a temporary table of their own.
        compares: bool,
    },
    /// The rows of a recursive table.
    RecursiveUnion(&'n RecursiveUnion),
}

/// Something that is done with all rows of a query block.
pub struct Operation<'n> {
    /// The rows.
    pub input: &'n Node,
    /// MySQL's phrase in `Extra`.
    pub phrase: &'static str,
    /// MySQL's key in FORMAT=JSON.
    pub key: &'static str,
    /// The facts under that key.
    pub flags: &'static [(&'static str, bool)],
    /// The window functions that are computed.
    pub window_functions: Vec<String>,
}

/// How the rows of several queries are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

impl Node {
    /// The inputs, in the order in which their columns are delivered.
    pub fn inputs(&self) -> Vec<&Node> {
        self.operator.as_node().inputs()
    }

    /// The inputs, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Node> {
        self.operator.as_node_mut().inputs_mut()
    }

    /// The names of the columns that it delivers; `#` and the position for one that has none.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = self.operator.as_node().column_names();
        for position in names.len()..self.types.len() {
            names.push(format!("#{position}"));
        }
        names
    }

    /// Returns what EXPLAIN says of it.
    pub fn explain(&self) -> Explained<'_> {
        self.operator.as_node().explain()
    }

    /// The table that it reads by itself: once, or for each of its outer rows.
    pub fn scan(&self) -> Option<&Arc<Scan>> {
        match &self.operator {
            Operator::Scan(scan) => Some(scan),
            operator => operator.as_node().inner_scan(),
        }
    }

    /// The table that it reads by itself, to be changed.
    pub fn scan_mut(&mut self) -> Option<&mut Arc<Scan>> {
        match &mut self.operator {
            Operator::Scan(scan) => Some(scan),
            operator => operator.as_node_mut().inner_scan_mut(),
        }
    }
}
