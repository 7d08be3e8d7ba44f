//! INSERT, REPLACE, UPDATE and DELETE.

use super::{ColumnName, Expr, Hint, Ident, OrderItem, Query, TableName, TableReference, With};

/// `INSERT` or `REPLACE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// REPLACE: rows in the way are deleted.
    pub replace: bool,
    /// With IGNORE.
    pub ignore: bool,
    /// With DELAYED, which means nothing any more.
    pub delayed: bool,
    /// The table.
    pub table: TableName,
    /// The column list; `None` without one.
    pub columns: Option<Vec<Ident>>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `AS new (a, b)` behind the values.
    pub alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE, in order; empty without it.
    pub on_duplicate: Vec<Assignment>,
}

/// The name of an INSERT's new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    /// Its name.
    pub name: Ident,
    /// Names of its columns; empty: those of the table.
    pub columns: Vec<Ident>,
}

/// The rows of an INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)` or `VALUES ROW(..), ..`. `INSERT .. SET a = 1` arrives as a column list and one row.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`.
    Query(Box<Query>),
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The WITH clause.
    pub with: Option<With>,
    /// The hints after UPDATE.
    pub hints: Vec<Hint>,
    /// With IGNORE.
    pub ignore: bool,
    /// The tables, some of which are changed.
    pub tables: Vec<TableReference>,
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT, a count only.
    pub limit: Option<Expr>,
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnName,
    /// The value.
    pub value: Expr,
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The WITH clause.
    pub with: Option<With>,
    /// The hints after DELETE.
    pub hints: Vec<Hint>,
    /// With IGNORE.
    pub ignore: bool,
    /// The tables whose rows are deleted, by the names they have in `tables`. Empty for `DELETE FROM t`: the only one.
    pub targets: Vec<TableName>,
    /// The tables.
    pub tables: Vec<TableReference>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT, a count only.
    pub limit: Option<Expr>,
}
