//! Queries: SELECT, its FROM clause, set operations and WITH.

use super::{DataType, Expr, Hint, Ident, JsonResponse, NamedWindow, Span, TableName};
use leafline_types::words::{LockStrength, LockWait};

/// A query expression: one SELECT or several joined by set operations, with what applies to the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The WITH clause.
    pub with: Option<With>,
    /// The SELECT or set operation.
    pub body: QueryBody,
    /// ORDER BY of the whole query.
    pub order_by: Vec<OrderItem>,
    /// LIMIT of the whole query.
    pub limit: Option<Limit>,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    pub locking: Vec<Locking>,
    /// The whole query.
    pub span: Span,
}

/// What stands before ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`.
    Select(Box<Select>),
    /// `first UNION [ALL] query` and its relatives: one list, from left to right, however long.
    SetOperation {
        /// The first query.
        first: Box<Query>,
        /// What is done with the rows of those before; at least one.
        steps: Vec<SetStep>,
    },
    /// `VALUES ROW(..), ROW(..)`.
    Values(Vec<Vec<Expr>>),
    /// `(query)` with clauses of its own, before more of them.
    Parenthesised(Box<Query>),
}

/// A set operator and the query behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetStep {
    /// Which operation.
    pub operation: SetOperation,
    /// With ALL.
    pub all: bool,
    /// The query.
    pub query: Query,
    /// The operator's own words.
    pub span: Span,
}

/// Set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperation {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

/// `WITH [RECURSIVE] name [(columns)] AS (query), ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// With RECURSIVE.
    pub recursive: bool,
    /// The named queries.
    pub tables: Vec<CommonTable>,
    /// The WITH keyword.
    pub span: Span,
}

/// One named query of WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// Its name.
    pub name: Ident,
    /// Its column names, when given.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: Query,
}

/// One SELECT.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    /// The hints after SELECT that are for this block.
    pub hints: Vec<Hint>,
    /// Its number among the blocks of the statement, from 1: `select#1`.
    pub number: usize,
    /// With DISTINCT.
    pub distinct: bool,
    /// With STRAIGHT_JOIN after SELECT.
    pub straight_join: bool,
    /// With SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// The select list, never empty.
    pub items: Vec<SelectItem>,
    /// The FROM clause: comma-separated references. Empty without FROM and for `FROM DUAL`.
    pub from: Vec<TableReference>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// `WITH ROLLUP`, where it stands.
    pub rollup: Option<Span>,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<NamedWindow>,
    /// From SELECT to the end of WINDOW.
    pub span: Span,
}

impl Query {
    /// Whether WITH, ORDER BY, LIMIT or a locking clause is part of it.
    pub fn has_clauses(&self) -> bool {
        self.with.is_some() || !self.order_by.is_empty() || self.limit.is_some() || !self.locking.is_empty()
    }

    /// The SELECT that it begins with, if it is one or a set operation of some.
    pub fn first_select(&self) -> Option<&Select> {
        match &self.body {
            QueryBody::Select(select) => Some(select),
            QueryBody::SetOperation { first, .. } => first.first_select(),
            QueryBody::Parenthesised(query) => query.first_select(),
            QueryBody::Values(_) => None,
        }
    }
}

/// One entry of the select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`, `t.*`, `db.t.*`.
    Wildcard {
        /// The table, when written.
        table: Option<TableName>,
        /// The whole item.
        span: Span,
    },
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr,
        /// Its alias.
        alias: Option<Ident>,
        /// The expression's source, outer parentheses included: its heading when there is no alias.
        span: Span,
    },
}

/// One entry of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The expression, or a position when it is a bare integer.
    pub expr: Expr,
    /// With DESC.
    pub descending: bool,
}

/// `LIMIT [offset,] count`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Rows to skip: an integer literal or a parameter.
    pub offset: Option<Expr>,
    /// Rows to return: an integer literal or a parameter.
    pub count: Expr,
}

/// A locking clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Locking {
    /// FOR UPDATE or FOR SHARE.
    pub strength: LockStrength,
    /// OF: the tables it is for; empty = all.
    pub of: Vec<TableName>,
    /// NOWAIT, SKIP LOCKED.
    pub wait: LockWait,
    /// Where it stands.
    pub span: Span,
}

/// An entry of the FROM clause.
#[derive(Debug, Clone, PartialEq)]
pub enum TableReference {
    /// A stored table.
    Table {
        /// Its name.
        name: TableName,
        /// PARTITION: the only partitions that are looked at; none: all of them.
        partitions: Vec<Ident>,
        /// Its alias.
        alias: Option<Ident>,
        /// USE, FORCE and IGNORE INDEX.
        index_hints: Vec<IndexHint>,
    },
    /// `[LATERAL] (query) [AS] alias [(columns)]`.
    Derived {
        /// With LATERAL: it sees the tables before it.
        lateral: bool,
        /// The query.
        query: Box<Query>,
        /// Its name; MySQL wants one (error 1248 without).
        alias: Option<Ident>,
        /// Names for its columns.
        columns: Vec<Ident>,
        /// The parenthesised query.
        span: Span,
    },
    /// `JSON_TABLE(..) [AS] alias`.
    JsonTable(Box<JsonTable>),
    /// Two references joined.
    Join(Box<Join>),
    /// `(a, b, c)`: several references as one operand of a join; at least two.
    List(Vec<TableReference>),
}

/// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub document: Expr,
    /// Its rows and columns.
    pub level: JsonTableLevel,
    /// Its name; MySQL wants one (error 3667 without).
    pub alias: Option<Ident>,
}

/// `path COLUMNS (..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTableLevel {
    /// The path.
    pub path: String,
    /// The columns.
    pub columns: Vec<JsonTableColumn>,
}

/// One of the COLUMNS of JSON_TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident),
    /// `name type [EXISTS] PATH path`.
    Value {
        /// Its name.
        name: Ident,
        /// Its type.
        data_type: Box<DataType>,
        /// The path.
        path: String,
        /// What of the path.
        source: JsonTableSource,
    },
    /// `NESTED [PATH] path COLUMNS (..)`.
    Nested(JsonTableLevel),
}

/// What a column of JSON_TABLE takes from its path.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableSource {
    /// EXISTS: whether it leads anywhere.
    Exists,
    /// The value.
    Part {
        /// What is given where the path leads nowhere.
        on_empty: Box<JsonResponse>,
        /// What is given where the column cannot hold what is there.
        on_error: Box<JsonResponse>,
    },
}

/// A join.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Which kind.
    pub kind: JoinKind,
    /// Left operand.
    pub left: TableReference,
    /// Right operand.
    pub right: TableReference,
    /// ON or USING.
    pub constraint: JoinConstraint,
    /// With NATURAL.
    pub natural: bool,
    /// The join's keywords.
    pub span: Span,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    /// STRAIGHT_JOIN: left is read before right.
    Straight,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
}

/// The condition of a join.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinConstraint {
    /// None.
    None,
    /// ON condition.
    On(Expr),
    /// USING (columns).
    Using(Vec<Ident>),
}

/// `USE|FORCE|IGNORE INDEX|KEY [FOR JOIN|ORDER BY|GROUP BY] (names)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// What to do with the indexes.
    pub action: IndexHintAction,
    /// Where the hint applies.
    pub scope: IndexHintScope,
    /// The indexes; empty only for `USE INDEX ()`: no index at all.
    pub indexes: Vec<Ident>,
}

/// What an index hint asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintAction {
    /// Only these (or a table scan).
    Use,
    /// Only these, and a table scan only if none can be used.
    Force,
    /// Not these.
    Ignore,
}

/// For which purpose an index hint applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    /// All purposes: without FOR.
    All,
    /// FOR JOIN: finding rows.
    Join,
    /// FOR ORDER BY.
    OrderBy,
    /// FOR GROUP BY.
    GroupBy,
}
