//! Bound statements: statements whose names are looked up and whose expressions are typed.
//!
//! The binder makes bound statements, the optimizer plans them, and the plan cache may keep them. A bound statement depends on
//! the catalog version and the session's database, sql_mode and collation, not on parameter values.
//!
//! **Columns** are numbers ([`ColumnId`]) that are unique within one query block. First come the columns of the relations,
//! relation by relation, all columns of a relation in table order (`Relation::columns`). When the block aggregates, the group
//! keys and the aggregates follow. The window functions come last.
//!
//! `filter`, join conditions, group key expressions and aggregate arguments refer to relation columns. `having`, `windows`,
//! `output` and `order_by` refer to relation columns when the block does not aggregate, and only to group keys and aggregates
//! when it does; `output` and `order_by` may also refer to window functions. A derived table is a block with numbers of its own;
//! its outputs are, in order, the columns of its relation.
//!
//! **Subqueries** of expressions are numbered through the whole statement ([`BoundStatement::subqueries`]). The expression lists
//! the columns of the surrounding blocks that a subquery depends on. Inside the subquery, at any depth, these columns are
//! `ExprKind::Outer`, by their position in that list.
//!
//! Clauses are evaluated in MySQL's order: from, filter, aggregation, having, windows, output, distinct, order_by, limit. An
//! `order_by` expression that equals an `output` expression reads that output and is not evaluated again (RAND()). With
//! `distinct`, every `order_by` expression reads outputs.

mod blocks;
mod change;
mod foreign_keys;
mod hints;
pub mod merge;

pub use blocks::{blocks_of, tables_of, tables_of_query};
pub use change::*;
pub use hints::*;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use leafline_expr::aggregate::AggregateCall;
use leafline_expr::functions::JsonTableLevel;
use leafline_expr::{Expr, build};
use leafline_table::{ColumnDef, LockStrength, LockWait, TableDef, ViewDef};
use leafline_types::{ExprType, MysqlError, SqlType};

use crate::authority::TableRights;
use crate::window::WindowCall;
use leafline_types::result_column::ColumnMeta;

/// Maximum number of relations of a query block: MySQL's limit, less the three bits that MySQL keeps for itself (error 1116).
pub(crate) const MAX_RELATIONS: usize = 61;

/// A column of a query block: the number in `ExprKind::Column`.
pub type ColumnId = usize;

/// A bound statement.
#[derive(Debug, Clone)]
pub struct BoundStatement {
    /// The statement itself.
    pub kind: BoundKind,
    /// Number of parameters.
    pub parameters: usize,
    /// Warnings of binding; every execution raises them again.
    pub warnings: Vec<MysqlError>,
    /// The statement contains values of variables and must be bound again for each execution.
    pub reads_variables: bool,
    /// Parameters that are compared with dates or times, with the types of these. The statement is bound for values that convert
    /// to the type.
    pub compared_with_times: Vec<(usize, SqlType)>,
    /// Parameters that are compared with numeric columns. A text of digits counts as a number there.
    pub compared_with_numbers: Vec<usize>,
    /// The subqueries of the statement's expressions, by number.
    pub subqueries: Vec<BoundSubquery>,
    /// The views that the statement names, by database and name.
    pub views: Vec<(String, String)>,
    /// Whether the statement calls stored functions or fires triggers.
    pub calls_programs: bool,
}

/// An expression outside any statement.
#[derive(Debug, Clone)]
pub struct BoundExpression {
    /// The expression.
    pub expr: Expr,
    /// The subqueries of the expression, by number.
    pub subqueries: Vec<BoundSubquery>,
    /// Whether it calls a stored function.
    pub calls_programs: bool,
    /// The expression contains values of variables, so that it has to be bound anew when they change.
    pub reads_variables: bool,
}

/// A subquery of an expression.
#[derive(Debug, Clone)]
pub struct BoundSubquery {
    /// The query.
    pub query: BoundSelect,
    /// The subquery depends on rows of the query around it, or must run again for another reason.
    pub is_dependent: bool,
}

/// The kinds of statements that are planned.
#[derive(Debug, Clone)]
pub enum BoundKind {
    /// SELECT.
    Select(Box<BoundSelect>),
    /// INSERT.
    Insert(Box<BoundInsert>),
    /// UPDATE.
    Update(Box<BoundUpdate>),
    /// DELETE.
    Delete(Box<BoundDelete>),
}

/// One query block.
#[derive(Debug, Clone)]
pub struct BoundSelect {
    /// The relations of FROM, in the order written.
    pub relations: Vec<Relation>,
    /// Every column of the block, by its number.
    pub columns: Vec<BlockColumn>,
    /// The join of the relations; `None` without FROM: one row without columns.
    pub from: Option<JoinTree>,
    /// STRAIGHT_JOIN after SELECT: join relations in the order written.
    pub straight_join: bool,
    /// The optimizer hints of the block.
    pub hints: BlockHints,
    /// The conjuncts of WHERE.
    pub filter: Vec<Expr>,
    /// The grouping; `None` when there is neither GROUP BY nor an aggregate.
    pub aggregation: Option<Aggregation>,
    /// The conjuncts of HAVING.
    pub having: Vec<Expr>,
    /// The window functions, grouped by window.
    pub windows: Vec<BoundWindow>,
    /// The select list with wildcards expanded; never empty.
    pub output: Vec<BoundOutput>,
    /// The block has DISTINCT.
    pub distinct: bool,
    /// The keys of ORDER BY without constants.
    pub order_by: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Option<BoundLimit>,
    /// Columns of FROM that are visible only under another column's name, because NATURAL JOIN or USING merged the two.
    pub joined: Vec<ColumnId>,
}

/// A member of FROM.
#[derive(Debug, Clone)]
pub struct Relation {
    /// The name by which the statement refers to the relation.
    pub alias: String,
    /// The database of the relation; empty for derived tables.
    pub database: String,
    /// The source of the rows.
    pub source: RelationSource,
    /// The column numbers: `columns.start + i` is column `i` of the table.
    pub columns: Range<ColumnId>,
    /// The hints of the relation.
    pub hints: TableHints,
    /// The lock that is taken on the rows; base tables only.
    pub lock: Option<RowLocking>,
    /// The view, if the relation names one.
    pub view: Option<Arc<ViewDef>>,
    /// The indexed generated columns of a base table.
    pub generated: Arc<[IndexedExpression]>,
    /// The privileges on the relation: those of the account that runs the statement, or of the definer of the view that reads the
    /// relation.
    pub granted: TableRights,
}

impl Relation {
    /// Returns the name of the table or view; the alias if the relation is neither.
    pub fn name(&self) -> &str {
        match (&self.view, &self.source) {
            (Some(view), _) => &view.name,
            (None, RelationSource::Base(table)) => &table.name,
            _ => &self.alias,
        }
    }

    /// Returns the name of a column; empty where it has none.
    pub fn column_name(&self, ordinal: usize) -> String {
        if let Some(view) = &self.view {
            return view.columns.get(ordinal).cloned().unwrap_or_default();
        }
        match &self.source {
            RelationSource::Base(table) => table.columns.get(ordinal).map(|column| column.name.clone()),
            source @ (RelationSource::Derived(_) | RelationSource::Lateral(_)) => {
                let output = source.query().and_then(|query| query.output.get(ordinal));
                output.map(|output| output.meta.name.clone())
            }
            RelationSource::Common(table) => {
                table.query.output.get(ordinal).map(|output| output.meta.name.clone())
            }
            RelationSource::JsonTable(table) => table.level.column_name(ordinal).map(str::to_owned),
            RelationSource::SetOperation(_) | RelationSource::Values(_) | RelationSource::WorkTable(_) => {
                None
            }
        }
        .unwrap_or_default()
    }
}

/// An indexed generated column.
#[derive(Debug, Clone)]
pub struct IndexedExpression {
    /// The position of the column in the table.
    pub ordinal: usize,
    /// The expression of the column, over the columns of the table by position.
    pub expr: Expr,
}

/// The lock that a statement takes on rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLocking {
    /// FOR SHARE or FOR UPDATE.
    pub strength: LockStrength,
    /// The action where another transaction has locked a row.
    pub wait: LockWait,
}

/// The source of the rows of a relation.
#[derive(Debug, Clone)]
pub enum RelationSource {
    /// A stored table.
    Base(Arc<TableDef>),
    /// A query in FROM.
    Derived(Box<BoundSelect>),
    /// A query in FROM that depends on earlier relations.
    Lateral(Box<LateralQuery>),
    /// The rows of a set operation; the only relation of the block that stands for it.
    SetOperation(Box<SetOperation>),
    /// VALUES: rows with the width and types of the relation.
    Values(Vec<Vec<Expr>>),
    /// JSON_TABLE: rows made of a document.
    JsonTable(Box<JsonTable>),
    /// A common table.
    Common(Arc<CommonTable>),
    /// The work table of a recursive common table, by the number of that table.
    WorkTable(usize),
}

impl RelationSource {
    /// Returns the query of a derived table.
    pub fn query(&self) -> Option<&BoundSelect> {
        match self {
            RelationSource::Derived(query) => Some(query),
            RelationSource::Lateral(lateral) => Some(&lateral.query),
            _ => None,
        }
    }

    /// Returns the type that clients see of a column of a query in FROM, where `kept` has more digits.
    pub fn shown_type(&self, ordinal: usize, kept: &SqlType) -> Option<SqlType> {
        let query = match self {
            RelationSource::Common(common) if common.recursion.is_none() => &common.query,
            other => other.query()?,
        };
        let shown = &query.output.get(ordinal)?.meta.ty;
        let decimals = matches!((shown, kept), (SqlType::Decimal { .. }, SqlType::Decimal { .. }));
        (decimals && shown.scale() < kept.scale()).then(|| shown.clone())
    }

    /// Whether a column is hidden from statements: the generated column of a functional key part.
    pub fn hides(&self, ordinal: usize) -> bool {
        match self {
            RelationSource::Base(table) => table.columns.get(ordinal).is_some_and(ColumnDef::is_hidden),
            _ => false,
        }
    }
}

/// A JSON_TABLE.
#[derive(Debug, Clone)]
pub struct JsonTable {
    /// The document; it reads no columns of the block.
    pub document: Expr,
    /// The rules that make rows of the document.
    pub level: JsonTableLevel,
}

/// A query in FROM that runs for each row of earlier relations.
#[derive(Debug, Clone)]
pub struct LateralQuery {
    /// The query.
    pub query: BoundSelect,
    /// The expressions that the query depends on, over columns of the block; `ExprKind::Outer` in the query.
    pub outer: Vec<Expr>,
    /// The relation that the query comes after when `outer` reads no column of the block.
    pub after: usize,
}

/// Queries combined from left to right. The columns of the relation have types that hold the values of all queries.
#[derive(Debug, Clone)]
pub struct SetOperation {
    /// The first query.
    pub first: BoundSelect,
    /// The operations on the rows of the first query, in order.
    pub steps: Vec<SetStep>,
}

/// One further query of a set operation.
#[derive(Debug, Clone)]
pub struct SetStep {
    /// The operation.
    pub operator: SetOperator,
    /// ALL: equal rows are kept.
    pub all: bool,
    /// The query on the right of the operator.
    pub operand: BoundSelect,
}

/// The set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// The rows of both.
    Union,
    /// The rows that are in both.
    Intersect,
    /// The left rows that are not on the right.
    Except,
}

/// A common table: a query of WITH.
#[derive(Debug)]
pub struct CommonTable {
    /// The number of the common table in the statement.
    pub number: usize,
    /// The name of the common table.
    pub name: String,
    /// The query; of a recursive common table, the part that makes the first rows.
    pub query: BoundSelect,
    /// The recursive part, which runs on the rows of the round before.
    pub recursion: Option<Recursion>,
    /// The query depends on the rows of a query around it.
    pub is_dependent: bool,
    /// Number of references to the common table.
    pub references: AtomicUsize,
}

/// The recursive part of a common table.
#[derive(Debug, Clone)]
pub struct Recursion {
    /// Queries that run in every round, over the rows that the round before added.
    pub steps: Vec<BoundSelect>,
    /// UNION DISTINCT: a row that exists already is not added.
    pub distinct: bool,
    /// The recursion ends with this many rows.
    pub limit: Option<BoundLimit>,
    /// The types of the columns.
    pub types: Vec<ExprType>,
}

/// A column of a query block.
#[derive(Debug, Clone)]
pub struct BlockColumn {
    /// The origin of the column.
    pub origin: ColumnOrigin,
    /// The type; nullable when an outer join can supply NULLs.
    pub ty: ExprType,
}

/// The origin of a column of a query block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// A column of a relation.
    Relation {
        /// Position in `relations`.
        relation: usize,
        /// Position in the table, or among the derived table's outputs.
        ordinal: usize,
    },
    /// A group key, by its position.
    GroupKey(usize),
    /// An aggregate, by its position.
    Aggregate(usize),
    /// A window function.
    Window,
    /// The number of keys that a group of WITH ROLLUP is made by.
    Level,
}

/// A join of relations.
#[derive(Debug, Clone)]
pub enum JoinTree {
    /// A relation, by its position.
    Relation(usize),
    /// An inner join: all combinations of the children's rows for which the conditions hold.
    Inner {
        /// At least two.
        children: Vec<JoinTree>,
        /// Conjuncts of ON and USING.
        conditions: Vec<Expr>,
        /// STRAIGHT_JOIN: the children are to be joined in this order.
        straight: bool,
    },
    /// The left rows, each with the matching right rows, or with NULLs when no right row matches. A RIGHT JOIN is bound with its
    /// sides exchanged.
    Left {
        /// The preserved side.
        left: Box<JoinTree>,
        /// The side that is searched for matches.
        right: Box<JoinTree>,
        /// Conjuncts of ON and USING.
        conditions: Vec<Expr>,
    },
    /// Semi join or anti join: the left rows with, or without, a matching right row. Nothing outside refers to the right side.
    /// The optimizer makes these joins of subqueries.
    Semi {
        /// The side whose rows are delivered.
        left: Box<JoinTree>,
        /// The side that is searched for matches.
        right: Box<JoinTree>,
        /// The conditions that make two rows match.
        conditions: Vec<Expr>,
        /// Anti join: the left rows without match are delivered.
        negated: bool,
    },
}

/// The grouping and the aggregates of a block.
#[derive(Debug, Clone)]
pub struct Aggregation {
    /// Group keys, over relation columns. Without keys there is one group, even of no rows.
    pub keys: Vec<GroupKey>,
    /// Aggregates, each once.
    pub aggregates: Vec<BoundAggregate>,
    /// The ROLLUP, if there is one.
    pub rollup: Option<Rollup>,
}

/// WITH ROLLUP: groups by all keys as written, by all but the last, by all but the last two, and so on to one group of all rows.
/// Omitted keys are NULL.
#[derive(Debug, Clone)]
pub struct Rollup {
    /// Number of keys as written. A repeated key occurs once in `Aggregation::keys`.
    pub written: usize,
    /// The position where each key was first written. A group made by this many keys or fewer omits the key.
    pub positions: Vec<usize>,
    /// The column of the block that holds the number of keys that a group is made by.
    pub level: ColumnId,
}

/// One group key.
#[derive(Debug, Clone)]
pub struct GroupKey {
    /// The expression.
    pub expr: Expr,
    /// The column number after grouping.
    pub out: ColumnId,
    /// The key is not written in GROUP BY, but the written keys determine it: grouping by it changes nothing.
    pub dependent: bool,
}

/// One aggregate.
#[derive(Debug, Clone)]
pub struct BoundAggregate {
    /// The function and its arguments, over relation columns.
    pub call: AggregateCall,
    /// The column number after grouping.
    pub out: ColumnId,
}

/// Window functions with equal partitions and order.
#[derive(Debug, Clone)]
pub struct BoundWindow {
    /// The keys of PARTITION BY without constants.
    pub partition: Vec<Expr>,
    /// The keys of ORDER BY without constants.
    pub order: Vec<OrderKey>,
    /// The calls, each once.
    pub calls: Vec<BoundWindowCall>,
}

/// One window function.
#[derive(Debug, Clone)]
pub struct BoundWindowCall {
    /// The function, its arguments and its frame.
    pub call: WindowCall,
    /// The column number of the result.
    pub out: ColumnId,
}

impl BoundWindow {
    /// Calls `f` on each expression.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.partition.iter_mut().for_each(&mut *f);
        self.order.iter_mut().for_each(|key| f(&mut key.expr));
        self.calls.iter_mut().for_each(|call| call.call.for_each_expr_mut(f));
    }
}

/// One column of a result.
#[derive(Debug, Clone)]
pub struct BoundOutput {
    /// The value of the column.
    pub expr: Expr,
    /// The description that clients receive.
    pub meta: ColumnMeta,
}

impl BoundSelect {
    /// Keeps all digits of quotients in the select list, because a query around this one computes and compares with the quotients
    /// themselves. `meta` keeps the types that clients see. DISTINCT compares the values that clients see.
    pub fn keep_digits(&mut self) {
        if self.distinct {
            return;
        }
        for output in &mut self.output {
            let taken = std::mem::replace(&mut output.expr, build::null());
            output.expr = build::without_rounding(taken);
        }
    }

    /// Rewrites an ORDER BY expression of distinct rows over the select list, by position: each part that is selected becomes
    /// that output, rounded as clients see it.
    ///
    /// # Errors
    /// The unselected column that the expression reads.
    pub fn over_outputs(&self, expr: &Expr) -> Result<Expr, usize> {
        let is_it = |output: &BoundOutput| {
            output.expr == *expr || build::without_rounding(output.expr.clone()) == *expr
        };
        if let Some((position, output)) = self.output.iter().enumerate().find(|(_, output)| is_it(output)) {
            return Ok(build::column(position, output.expr.ty.clone()));
        }
        if let Some(column) = expr.as_column() {
            return Err(column);
        }
        let mut over = expr.clone();
        let mut missing = None;
        over.for_each_child_mut(&mut |child| match self.over_outputs(child) {
            Ok(found) => *child = found,
            Err(column) => missing = Some(column),
        });
        missing.map_or(Ok(over), Err)
    }
}

impl BoundOutput {
    /// Makes an output that no client sees.
    pub fn unnamed(expr: Expr) -> BoundOutput {
        let meta = ColumnMeta {
            database: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: String::new(),
            org_name: String::new(),
            ty: expr.ty.sql.clone(),
            collation: expr.ty.collation,
            flags: leafline_types::result_column::ColumnFlags::default(),
        };
        BoundOutput { expr, meta }
    }
}

/// One key of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKey {
    /// The expression.
    pub expr: Expr,
    /// The key has DESC.
    pub descending: bool,
}

/// A LIMIT; its operands are integer literals or parameters.
#[derive(Debug, Clone)]
pub struct BoundLimit {
    /// Number of rows to skip.
    pub offset: Option<Expr>,
    /// Number of rows to return.
    pub count: Expr,
}
