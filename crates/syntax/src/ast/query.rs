//! Queries: SELECT, its FROM clause, set operations and WITH.

use super::{DataType, Expr, Hint, Ident, JsonResponse, NamedWindow, Span, TableName};
use leafline_types::words::{LockStrength, LockWait};

/// A query expression: one SELECT, or several joined by set operations, with the clauses that apply to the whole.
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
    /// The place of the whole query in the text.
    pub span: Span,
}

/// The part of a query before its ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`.
    Select(Box<Select>),
    /// `first UNION [ALL] query`, INTERSECT and EXCEPT: one list from left to right, however long.
    SetOperation {
        /// The first query.
        first: Box<Query>,
        /// The operations applied to the rows of the queries before, in order; at least one.
        steps: Vec<SetStep>,
    },
    /// `VALUES ROW(..), ROW(..)`.
    Values(Vec<Vec<Expr>>),
    /// `(query)` with clauses of its own, followed by more clauses.
    Parenthesised(Box<Query>),
}

/// A set operator and the query after it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetStep {
    /// The operation.
    pub operation: SetOperation,
    /// Whether ALL was written.
    pub all: bool,
    /// The query.
    pub query: Query,
    /// The place of the operator's words.
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
    /// Whether RECURSIVE was written.
    pub recursive: bool,
    /// The named queries.
    pub tables: Vec<CommonTable>,
    /// The place of the WITH keyword.
    pub span: Span,
}

/// One named query of WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// Its name.
    pub name: Ident,
    /// The names of its columns; empty if not written.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: Query,
}

/// One SELECT.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    /// The hints after SELECT that apply to this block.
    pub hints: Vec<Hint>,
    /// The block's number in the statement, from 1: `select#1`.
    pub number: usize,
    /// Whether DISTINCT was written.
    pub distinct: bool,
    /// Whether STRAIGHT_JOIN follows SELECT.
    pub straight_join: bool,
    /// Whether SQL_CALC_FOUND_ROWS was written.
    pub calc_found_rows: bool,
    /// The select list, never empty.
    pub items: Vec<SelectItem>,
    /// The FROM clause: comma-separated references. Empty without FROM and for `FROM DUAL`.
    pub from: Vec<TableReference>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// The place of WITH ROLLUP.
    pub rollup: Option<Span>,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<NamedWindow>,
    /// Its place, from SELECT to the end of WINDOW.
    pub span: Span,
}

impl Query {
    /// Whether the query has a WITH, ORDER BY, LIMIT or locking clause.
    pub fn has_clauses(&self) -> bool {
        self.with.is_some() || !self.order_by.is_empty() || self.limit.is_some() || !self.locking.is_empty()
    }

    /// The SELECT that the query begins with; `None` if it begins with VALUES.
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
        /// The table, if written.
        table: Option<TableName>,
        /// The item's place.
        span: Span,
    },
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr,
        /// Its alias.
        alias: Option<Ident>,
        /// The place of the expression, outer parentheses included: its text is the heading if there is no alias.
        span: Span,
    },
}

/// One entry of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The expression; a bare integer is a position in the select list.
    pub expr: Expr,
    /// Whether DESC was written.
    pub descending: bool,
}

/// `LIMIT [offset,] count`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The number of rows to skip: an integer literal or a parameter.
    pub offset: Option<Expr>,
    /// The number of rows to return: an integer literal or a parameter.
    pub count: Expr,
}

/// A locking clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Locking {
    /// FOR UPDATE or FOR SHARE.
    pub strength: LockStrength,
    /// OF: the tables that it locks; empty for all.
    pub of: Vec<TableName>,
    /// NOWAIT, SKIP LOCKED.
    pub wait: LockWait,
    /// Its place in the text.
    pub span: Span,
}

/// An entry of the FROM clause.
#[derive(Debug, Clone, PartialEq)]
pub enum TableReference {
    /// A stored table.
    Table {
        /// Its name.
        name: TableName,
        /// PARTITION: the only partitions read; empty for all.
        partitions: Vec<Ident>,
        /// Its alias.
        alias: Option<Ident>,
        /// USE, FORCE and IGNORE INDEX.
        index_hints: Vec<IndexHint>,
    },
    /// `[LATERAL] (query) [AS] alias [(columns)]`.
    Derived {
        /// Whether LATERAL was written: the query sees the tables before it.
        lateral: bool,
        /// The query.
        query: Box<Query>,
        /// Its name. MySQL requires one and reports error 1248 without.
        alias: Option<Ident>,
        /// The names of its columns; empty where the query names them.
        columns: Vec<Ident>,
        /// The place of the parenthesised query.
        span: Span,
    },
    /// `JSON_TABLE(..) [AS] alias`.
    JsonTable(Box<JsonTable>),
    /// Two references joined.
    Join(Box<Join>),
    /// `(a, b, c)`: at least two references as one operand of a join.
    List(Vec<TableReference>),
}

/// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub document: Expr,
    /// Its rows and columns.
    pub level: JsonTableLevel,
    /// Its name. MySQL requires one and reports error 3667 without.
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

/// A column of JSON_TABLE.
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
        /// The information it takes from the path.
        source: JsonTableSource,
    },
    /// `NESTED [PATH] path COLUMNS (..)`.
    Nested(JsonTableLevel),
}

/// The information that a column of JSON_TABLE takes from its path.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableSource {
    /// EXISTS: whether the path leads anywhere.
    Exists,
    /// The value at the path.
    Part {
        /// The answer if the path leads nowhere.
        on_empty: Box<JsonResponse>,
        /// The answer if the column cannot hold the value.
        on_error: Box<JsonResponse>,
    },
}

/// A join.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The join's kind.
    pub kind: JoinKind,
    /// Left operand.
    pub left: TableReference,
    /// Right operand.
    pub right: TableReference,
    /// ON or USING.
    pub constraint: JoinConstraint,
    /// Whether NATURAL was written.
    pub natural: bool,
    /// The place of the join's keywords.
    pub span: Span,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    /// STRAIGHT_JOIN: the left table is read before the right one.
    Straight,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
}

/// The condition of a join.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinConstraint {
    /// No condition.
    None,
    /// ON condition.
    On(Expr),
    /// USING (columns).
    Using(Vec<Ident>),
}

/// `USE|FORCE|IGNORE INDEX|KEY [FOR JOIN|ORDER BY|GROUP BY] (names)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// The hint's request.
    pub action: IndexHintAction,
    /// The purposes that the hint applies to.
    pub scope: IndexHintScope,
    /// The indexes; empty only for `USE INDEX ()`, which forbids every index.
    pub indexes: Vec<Ident>,
}

/// The request of an index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintAction {
    /// USE: only the named indexes, or a table scan.
    Use,
    /// FORCE: only the named indexes; a table scan only if none of them can be used.
    Force,
    /// IGNORE: none of the named indexes.
    Ignore,
}

/// The purposes that an index hint applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    /// Every purpose: FOR was not written.
    All,
    /// FOR JOIN: to find rows.
    Join,
    /// FOR ORDER BY: to order rows.
    OrderBy,
    /// FOR GROUP BY: to group rows.
    GroupBy,
}
