//! Bound statements: what a statement means, every name looked up and every expression typed.
//!
//! The binder makes them, the optimizer plans them, and the plan cache may keep them: they depend on the catalog
//! version, the session's database, sql_mode and collation, not on parameter values.
//!
//! **Columns** are numbers ([`ColumnId`]) that are unique within one query block. First come the columns of the
//! relations, relation by relation, all columns of a relation in table order (`Relation::columns`); then, when the
//! block aggregates, the group keys and the aggregates; then the window functions. `filter`, join conditions, group key expressions
//! and aggregate arguments refer to relation columns. `having`, `windows`, `output` and `order_by` refer to relation columns when
//! the block does not aggregate, and to nothing but group keys and aggregates when it does; `output` and `order_by` to window
//! functions, too. A derived table is a block with numbers of its own; its outputs are, in order, the columns of its relation.
//!
//! **Subqueries** of expressions are numbered through the whole statement ([`BoundStatement::subqueries`]); the expression says
//! which columns of the blocks around it a subquery depends on, and inside the subquery, whatever its depth, these are
//! `ExprKind::Outer`, by their position in that list.
//!
//! The order of evaluation is MySQL's: from, filter, aggregation, having, windows, output, distinct, order_by, limit. An
//! `order_by` expression that equals an `output` expression is that output, not evaluated again (RAND()). With
//! `distinct`, all of them do.

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

use crate::window::WindowCall;
use leafline_syntax::Privileges;
use leafline_types::result_column::ColumnMeta;

/// Most relations of a query block, MySQL's limit less the three bits it keeps for itself (error 1116).
pub(crate) const MAX_RELATIONS: usize = 61;

/// A column of a query block: the number in `ExprKind::Column`.
pub type ColumnId = usize;

/// A bound statement.
#[derive(Debug, Clone)]
pub struct BoundStatement {
    /// What it does.
    pub kind: BoundKind,
    /// How many parameters it has.
    pub parameters: usize,
    /// Warnings that binding gave; they are raised again at every execution.
    pub warnings: Vec<MysqlError>,
    /// Values of variables were put in: bind again for each execution.
    pub reads_variables: bool,
    /// Parameters that are compared with dates or times, and the types of these: it is bound for values that can be.
    pub beside_times: Vec<(usize, SqlType)>,
    /// Parameters that are compared with columns of numbers: a text of digits is the number there.
    pub beside_numbers: Vec<usize>,
    /// The subqueries of its expressions, by their numbers.
    pub subqueries: Vec<BoundSubquery>,
    /// The views it names, by database and name.
    pub views: Vec<(String, String)>,
}

/// An expression that stands alone.
#[derive(Debug, Clone)]
pub struct BoundExpression {
    /// The expression.
    pub expr: Expr,
    /// The subqueries in it, by their numbers.
    pub subqueries: Vec<BoundSubquery>,
}

/// A subquery of an expression.
#[derive(Debug, Clone)]
pub struct BoundSubquery {
    /// The query.
    pub query: BoundSelect,
    /// It depends on the rows of the query around it, or has to be run again for another reason.
    pub is_dependent: bool,
}

/// The statements that are planned.
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
    /// The tables of FROM, in the order written.
    pub relations: Vec<Relation>,
    /// Every column of the block, by its number.
    pub columns: Vec<BlockColumn>,
    /// How the relations are joined; `None` without FROM: one row without columns.
    pub from: Option<JoinTree>,
    /// With STRAIGHT_JOIN after SELECT: relations are joined in the order written.
    pub straight_join: bool,
    /// What optimizer hints say of the block.
    pub hints: BlockHints,
    /// WHERE, as conjuncts.
    pub filter: Vec<Expr>,
    /// Grouping; `None` when there is neither GROUP BY nor an aggregate.
    pub aggregation: Option<Aggregation>,
    /// HAVING, as conjuncts.
    pub having: Vec<Expr>,
    /// Window functions, by their windows.
    pub windows: Vec<BoundWindow>,
    /// The select list, wildcards expanded; never empty.
    pub output: Vec<BoundOutput>,
    /// With DISTINCT.
    pub distinct: bool,
    /// ORDER BY; constants left out.
    pub order_by: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Option<BoundLimit>,
    /// Columns of FROM that are seen under another's name only, as NATURAL JOIN or USING has joined the two.
    pub joined: Vec<ColumnId>,
}

/// A table of FROM.
#[derive(Debug, Clone)]
pub struct Relation {
    /// The name by which the statement refers to it.
    pub alias: String,
    /// Its database; empty for derived tables.
    pub database: String,
    /// Where its rows come from.
    pub source: RelationSource,
    /// Its columns: number `columns.start + i` is column `i` of the table.
    pub columns: Range<ColumnId>,
    /// What hints say of it.
    pub hints: TableHints,
    /// Its rows are locked; base tables only.
    pub lock: Option<RowLocking>,
    /// The view that it is.
    pub view: Option<Arc<ViewDef>>,
    /// The generated columns of a base table that are in an index.
    pub generated: Arc<[IndexedExpression]>,
    /// What may be done with it: by whoever runs the statement, or by the definer of the view that it is read by.
    pub granted: Privileges,
}

impl Relation {
    /// The name of the table or view that it is; its alias if it is neither.
    pub fn name(&self) -> &str {
        match (&self.view, &self.source) {
            (Some(view), _) => &view.name,
            (None, RelationSource::Base(table)) => &table.name,
            _ => &self.alias,
        }
    }

    /// The name of a column; empty where it has none.
    pub fn column_name(&self, ordinal: usize) -> String {
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

/// A generated column that is in an index.
#[derive(Debug, Clone)]
pub struct IndexedExpression {
    /// Its position in the table.
    pub ordinal: usize,
    /// What it is computed from, over the columns of the table by their positions.
    pub expr: Expr,
}

/// How the rows of a table are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLocking {
    /// FOR SHARE or FOR UPDATE.
    pub strength: LockStrength,
    /// What happens where somebody else has locked a row.
    pub wait: LockWait,
}

/// Where the rows of a relation come from.
#[derive(Debug, Clone)]
pub enum RelationSource {
    /// A stored table.
    Base(Arc<TableDef>),
    /// A query in FROM.
    Derived(Box<BoundSelect>),
    /// A query in FROM that depends on relations before it.
    Lateral(Box<LateralQuery>),
    /// The rows of several queries: of a block that stands for a set operation.
    SetOperation(Box<SetOperation>),
    /// VALUES: rows of the relation's width, of its types.
    Values(Vec<Vec<Expr>>),
    /// What JSON_TABLE makes of a document.
    JsonTable(Box<JsonTable>),
    /// A query of WITH.
    Common(Arc<CommonTable>),
    /// In the recursive part of a query of WITH, by its number: the rows that the round before has added.
    WorkTable(usize),
}

impl RelationSource {
    /// The query of a derived table.
    pub fn query(&self) -> Option<&BoundSelect> {
        match self {
            RelationSource::Derived(query) => Some(query),
            RelationSource::Lateral(lateral) => Some(&lateral.query),
            _ => None,
        }
    }

    /// The type that a column of a query in FROM is shown with, where `kept` has more digits.
    pub fn shown_type(&self, ordinal: usize, kept: &SqlType) -> Option<SqlType> {
        let query = match self {
            RelationSource::Common(common) if common.recursion.is_none() => &common.query,
            other => other.query()?,
        };
        let shown = &query.output.get(ordinal)?.meta.ty;
        let decimals = matches!((shown, kept), (SqlType::Decimal { .. }, SqlType::Decimal { .. }));
        (decimals && shown.scale() < kept.scale()).then(|| shown.clone())
    }

    /// Whether a column of it is one that statements cannot name: of a functional key part.
    pub fn hides(&self, ordinal: usize) -> bool {
        match self {
            RelationSource::Base(table) => table.columns.get(ordinal).is_some_and(ColumnDef::is_hidden),
            _ => false,
        }
    }
}

/// JSON_TABLE.
#[derive(Debug, Clone)]
pub struct JsonTable {
    /// The document; no columns of the block are in it.
    pub document: Expr,
    /// How rows are made of it.
    pub level: JsonTableLevel,
}

/// A query in FROM that is run for each row of the relations before it.
#[derive(Debug, Clone)]
pub struct LateralQuery {
    /// The query.
    pub query: BoundSelect,
    /// What it depends on, over columns of the block; `ExprKind::Outer` in the query.
    pub outer: Vec<Expr>,
    /// A relation before it.
    pub after: usize,
}

/// Queries whose rows are put together, from left to right. The columns of the relation have types that hold the values of all.
#[derive(Debug, Clone)]
pub struct SetOperation {
    /// The first query.
    pub first: BoundSelect,
    /// What is done with its rows.
    pub steps: Vec<SetStep>,
}

/// One more query of a set operation.
#[derive(Debug, Clone)]
pub struct SetStep {
    /// The operation.
    pub operator: SetOperator,
    /// With ALL: equal rows stay several.
    pub all: bool,
    /// The query on its right.
    pub operand: BoundSelect,
}

/// Set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// The rows of both.
    Union,
    /// The rows that are in both.
    Intersect,
    /// The left rows that are not in the right.
    Except,
}

/// A query of WITH.
#[derive(Debug)]
pub struct CommonTable {
    /// Its number in the statement.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The query; of a recursive one, the part that makes the first rows.
    pub query: BoundSelect,
    /// The part that is run on the rows of the round before.
    pub recursion: Option<Recursion>,
    /// It depends on the rows of a query around it.
    pub is_dependent: bool,
    /// How many places name it.
    pub references: AtomicUsize,
}

/// What makes a query of WITH recursive.
#[derive(Debug, Clone)]
pub struct Recursion {
    /// Each is run in every round, over the rows that the round before has added.
    pub steps: Vec<BoundSelect>,
    /// UNION DISTINCT: rows that are there already are not added.
    pub distinct: bool,
    /// Ends it when there are so many rows.
    pub limit: Option<BoundLimit>,
    /// The types of its columns.
    pub types: Vec<ExprType>,
}

/// A column of a query block.
#[derive(Debug, Clone)]
pub struct BlockColumn {
    /// What it is.
    pub origin: ColumnOrigin,
    /// Its type; nullable when an outer join can leave it out.
    pub ty: ExprType,
}

/// What a column of a query block is.
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
    /// By how many keys a group of WITH ROLLUP is made.
    Level,
}

/// How relations are joined.
#[derive(Debug, Clone)]
pub enum JoinTree {
    /// A relation, by its position.
    Relation(usize),
    /// All combinations of the children's rows for which the conditions hold.
    Inner {
        /// At least two.
        children: Vec<JoinTree>,
        /// Conjuncts of ON and USING.
        conditions: Vec<Expr>,
        /// STRAIGHT_JOIN: the children are to be joined in this order.
        straight: bool,
    },
    /// The left rows, each with the right rows for which the conditions hold, or with NULLs when there is none.
    /// RIGHT JOIN arrives with its sides exchanged.
    Left {
        /// The rows that are kept.
        left: Box<JoinTree>,
        /// The rows that are looked for.
        right: Box<JoinTree>,
        /// Conjuncts of ON and USING.
        conditions: Vec<Expr>,
    },
    /// The left rows for which there is a right row that fulfils the conditions, or there is none. Nothing outside refers to the
    /// right side. The optimizer makes it of subqueries.
    Semi {
        /// The rows that are kept or not.
        left: Box<JoinTree>,
        /// The rows that are looked for.
        right: Box<JoinTree>,
        /// What a left and a right row have to fulfil.
        conditions: Vec<Expr>,
        /// The rows without partner are kept.
        negated: bool,
    },
}

/// Grouping and aggregates.
#[derive(Debug, Clone)]
pub struct Aggregation {
    /// Group keys, over relation columns. Without any there is one group, also when there are no rows.
    pub keys: Vec<GroupKey>,
    /// Aggregates, each one once.
    pub aggregates: Vec<BoundAggregate>,
    /// WITH ROLLUP.
    pub rollup: Option<Rollup>,
}

/// WITH ROLLUP: besides the groups by all keys written, those by all but the last, by all but the last two, and so on to one group of
/// all rows, with NULL for the keys that are left out.
#[derive(Debug, Clone)]
pub struct Rollup {
    /// How many keys were written; one that was written twice is one of `Aggregation::keys`.
    pub written: usize,
    /// Where each of the keys was written first. It is left out of groups by no more than so many.
    pub positions: Vec<usize>,
    /// By how many of the keys written a group is made: a column of the block.
    pub level: ColumnId,
}

/// One group key.
#[derive(Debug, Clone)]
pub struct GroupKey {
    /// The expression.
    pub expr: Expr,
    /// Its number after grouping.
    pub out: ColumnId,
    /// Not written in GROUP BY, but determined by the keys that are: grouping by it changes nothing.
    pub dependent: bool,
}

/// One aggregate.
#[derive(Debug, Clone)]
pub struct BoundAggregate {
    /// The function and its arguments, over relation columns.
    pub call: AggregateCall,
    /// Its number after grouping.
    pub out: ColumnId,
}

/// Window functions that see the same partitions in the same order.
#[derive(Debug, Clone)]
pub struct BoundWindow {
    /// PARTITION BY; constants left out.
    pub partition: Vec<Expr>,
    /// ORDER BY; constants left out.
    pub order: Vec<OrderKey>,
    /// The calls, each one once.
    pub calls: Vec<BoundWindowCall>,
}

/// One window function.
#[derive(Debug, Clone)]
pub struct BoundWindowCall {
    /// The function, its arguments and its frame.
    pub call: WindowCall,
    /// Its number.
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
    /// Its value.
    pub expr: Expr,
    /// What clients are told of it.
    pub meta: ColumnMeta,
}

impl BoundSelect {
    /// Gives quotients of the select list with all their digits, for a query around this one to compute and compare with, as it would with
    /// the quotients themselves; `meta` keeps the types with which they are shown. DISTINCT compares what is shown.
    pub fn keep_digits(&mut self) {
        if self.distinct {
            return;
        }
        for output in &mut self.output {
            let taken = std::mem::replace(&mut output.expr, build::null());
            output.expr = build::without_rounding(taken);
        }
    }

    /// An ORDER BY expression of distinct rows, over the select list by position: what it says that is selected, or computed from
    /// what is, rounded as it is shown.
    ///
    /// # Errors
    /// The column that it reads and that is not selected.
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
    /// An output that no client sees.
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
    /// With DESC.
    pub descending: bool,
}

/// LIMIT: integer literals or parameters.
#[derive(Debug, Clone)]
pub struct BoundLimit {
    /// Rows to skip.
    pub offset: Option<Expr>,
    /// Rows to return.
    pub count: Expr,
}
