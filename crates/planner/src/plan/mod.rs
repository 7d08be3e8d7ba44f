//! Physical plans: the executor runs them, and EXPLAIN prints them.
//!
//! A plan is immutable and shared between executions. Parameters, the snapshot and all other run-time state live in the
//! `ExecutionContext` of the executor. Columns in the expressions of a node are positions in the batches of its input. For the
//! conditions of an access path see [`AccessPath`](leafline_access::AccessPath); in joins the columns of the left input come
//! first.
//!
//! # Adding an operator
//!
//! 1. Here: a file with a struct for the node and its [`PlanNode`], named in the list [`nodes!`](crate::nodes).
//! 2. In the executor: a file with the operator and `Build` for the node.
//! 3. In the optimizer: the rule that emits it.
//!
//! The walks over a plan (inputs, expressions, numbers, demand, runtime filters, EXPLAIN in each format) use only the trait. A
//! new node stands at the end of the list: the digests of plans depend on its order.

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
mod point_plan;
mod project;
mod rollup;
mod scan;
mod set_operation;
mod sort;
mod text;
mod values;
mod window;

pub use access_label::{access_label, access_type};
pub(crate) use access_label::{is_hypothetical, search_hints};
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
pub use parts::{CommonPlan, Plan, PlanParts, SearchPlan, SubqueryPlan};
pub use point_plan::{PointLock, PointPlan, PointRows};
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
            /// No rows.
            Empty(Empty),
            /// Rows of one table.
            Scan(Arc<Scan>),
            /// Rows of an input over one table, read by several threads.
            Parallel(Parallel),
            /// Rows for which every condition is true.
            Filter(Filter),
            /// Expressions computed for each row.
            Project(Project),
            /// For each outer row, the matching rows of a table, found through an index.
            LookupJoin(LookupJoin),
            /// For each outer row, the rows of a query that depends on it.
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
            /// The first rows in the order of the input.
            Limit(Limit),
            /// The locked rows, in their versions at that time.
            LockRows(Box<LockRows>),
            /// Each distinct row once.
            Distinct(Distinct),
            /// The rows of all inputs, one input after another.
            Append(Append),
            /// INTERSECT and EXCEPT.
            SetOp(SetOp),
            /// The rows of a common table.
            CommonTableScan(CommonTableScan),
            /// The work table of a recursive common table.
            WorkTableScan(WorkTableScan),
            /// The rows of a recursive common table.
            RecursiveUnion(Arc<RecursiveUnion>),
            /// A derived table: its rows pass through.
            DerivedTable(DerivedTable),
        }
    };
}

/// Defines the enum of the nodes, and the dispatch to each node's [`PlanNode`].
macro_rules! define_operator {
    ($($(#[$doc:meta])* $name:ident($held:ty),)*) => {
        /// The operators.
        #[derive(Clone, Debug)]
        pub enum Operator {
            $($(#[$doc])* $name($held),)*
        }

        impl Operator {
            /// Returns the node as its trait.
            pub fn as_node(&self) -> &dyn PlanNode {
                match self {
                    $(Operator::$name(held) => {
                        let node: &$name = held;
                        node
                    })*
                }
            }

            /// Returns the node as its trait, to change it; a shared node is copied first.
            pub fn as_node_mut(&mut self) -> &mut dyn PlanNode {
                match self {
                    $(Operator::$name(held) => Held::<$name>::node_mut(held),)*
                }
            }
        }
    };
}

nodes!(define_operator);

/// The forms in which [`Operator`] holds a node: by value, boxed or shared.
trait Held<N> {
    /// Returns the node, to change it.
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

/// The optimizer's estimate for a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rows delivered per execution.
    pub rows: f64,
    /// Time until the last row, inputs included, microseconds.
    pub cost_us: f64,
}

/// An operator of a plan with its inputs.
#[derive(Clone, Debug)]
pub struct Node {
    /// Position of the node's run-time figures in the execution context.
    pub id: usize,
    /// The operator.
    pub operator: Operator,
    /// Types of the columns that the node delivers.
    pub types: Arc<[ExprType]>,
    /// The expected rows and price.
    pub estimate: Estimate,
}

/// A kind of plan node, in the form that the walks over plans need.
pub trait PlanNode {
    /// Returns the inputs, in the order in which their columns are delivered.
    fn inputs(&self) -> Vec<&Node>;

    /// Returns the inputs, to change them.
    fn inputs_mut(&mut self) -> Vec<&mut Node>;

    /// Calls `each` with each expression that the node evaluates and its role; bounds of LIMIT are excluded.
    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr));

    /// Returns the names of the delivered columns; columns after the last name have none.
    fn column_names(&self) -> Vec<String>;

    /// Returns the node's description for EXPLAIN.
    fn explain(&self) -> Explained<'_>;

    /// Returns the table that the node reads for each of its outer rows, if it is such a join.
    fn inner_scan(&self) -> Option<&Arc<Scan>> {
        None
    }

    /// Returns the table that the node reads for each of its outer rows, to change it.
    fn inner_scan_mut(&mut self) -> Option<&mut Arc<Scan>> {
        None
    }

    /// Returns the plan that the node falls back to where estimates turn out to be wrong, if it is not one of the inputs.
    fn fallback_mut(&mut self) -> Option<&mut Node> {
        None
    }

    /// Whether all rows of an input, by its number, are read. `all`: all rows of the node itself are read.
    fn asks_for_all(&self, _input: usize, all: bool) -> bool {
        all
    }

    /// Returns the place where a runtime filter on a delivered column can be evaluated instead with the same result.
    fn column_origin(&self, _column: usize) -> Option<ColumnOrigin> {
        None
    }

    /// Whether rows pass through the node without an operator: its figures are the figures of its input.
    fn is_transparent(&self) -> bool {
        false
    }
}

/// The origin of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// A column of an input: the input's number, and the column's position there.
    Input(usize, usize),
    /// A column of the table that the node reads, by its position among the delivered ones.
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
    /// To run a query that depends on the value.
    Capture,
    /// To make the levels of WITH ROLLUP.
    RollupKey,
    /// To compute window functions.
    Window,
    /// To check the newest version of a locked row.
    Recheck,
}

/// A node's description for EXPLAIN. The table, the tree and the JSON document render it.
pub struct Explained<'n> {
    /// The text of the step: its line in FORMAT=TREE.
    pub label: String,
    /// The place of the node among the tables of its query block.
    pub step: Step<'n>,
}

/// The place of a node in the formats that list the tables of a query block.
pub enum Step<'n> {
    /// The block reads no table; the reason in MySQL's words.
    NoTable(&'static str),
    /// The node reads a table function; its name in MySQL's words.
    TableFunction(&'static str),
    /// The node reads a table.
    Table(&'n Scan),
    /// The rows of a derived table, with its alias.
    DerivedTable(&'n Node, &'n str),
    /// The rows of a common table: its number, and the alias.
    CommonTable(usize, &'n str),
    /// The work table of a recursive common table, with its alias.
    WorkTable(&'n str),
    /// The node reads a table for each outer row.
    LookupJoin(&'n LookupJoin),
    /// The node joins a table by hash.
    HashJoin(&'n HashJoin),
    /// The node runs a query for each outer row.
    LateralJoin(&'n LateralJoin),
    /// Conditions on the rows of the input.
    Condition {
        /// The rows.
        input: &'n Node,
        /// The rows are groups.
        is_having: bool,
    },
    /// A step on all rows of the block.
    Operation(Operation<'n>),
    /// The rows of the input pass through; only the tree has a line for it.
    Rows(&'n Node),
    /// Several threads read the rows of the input, whose steps belong to the tables of the block.
    Threads(&'n Node),
    /// The node combines the rows of several queries.
    SetOperation {
        /// The set operation.
        kind: SetKind,
        /// The queries.
        inputs: Vec<&'n Node>,
        /// The rows are compared, in a temporary table of their own.
        compares: bool,
    },
    /// The rows of a recursive common table.
    RecursiveUnion(&'n RecursiveUnion),
}

/// A step on all rows of a query block.
pub struct Operation<'n> {
    /// The rows.
    pub input: &'n Node,
    /// MySQL's phrase in `Extra`.
    pub phrase: &'static str,
    /// MySQL's key in FORMAT=JSON.
    pub key: &'static str,
    /// The facts under that key.
    pub flags: &'static [(&'static str, bool)],
    /// The window functions that the step computes.
    pub window_functions: Vec<String>,
}

/// The kinds of set operations.
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
    /// Returns the inputs, in the order in which their columns are delivered.
    pub fn inputs(&self) -> Vec<&Node> {
        self.operator.as_node().inputs()
    }

    /// Returns the inputs, to change them.
    pub fn inputs_mut(&mut self) -> Vec<&mut Node> {
        self.operator.as_node_mut().inputs_mut()
    }

    /// Returns the names of the delivered columns; `#` and the position for a column without a name.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = self.operator.as_node().column_names();
        for position in names.len()..self.types.len() {
            names.push(format!("#{position}"));
        }
        names
    }

    /// Returns the node's description for EXPLAIN.
    pub fn explain(&self) -> Explained<'_> {
        self.operator.as_node().explain()
    }

    /// Returns the table that the node itself reads: once, or for each of its outer rows.
    pub fn scan(&self) -> Option<&Arc<Scan>> {
        match &self.operator {
            Operator::Scan(scan) => Some(scan),
            operator => operator.as_node().inner_scan(),
        }
    }

    /// Returns the table that the node itself reads, to change it.
    pub fn scan_mut(&mut self) -> Option<&mut Arc<Scan>> {
        match &mut self.operator {
            Operator::Scan(scan) => Some(scan),
            operator => operator.as_node_mut().inner_scan_mut(),
        }
    }
}
