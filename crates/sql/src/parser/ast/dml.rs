//! INSERT, UPDATE and DELETE.

use super::{ColumnName, Expr, Ident, OrderItem, Query, TableName, TableReference};

/// `INSERT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The table.
    pub table: TableName,
    /// The column list; `None` without one.
    pub columns: Option<Vec<Ident>>,
    /// Where the rows come from.
    pub source: InsertSource,
}

/// The rows of an INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)`. `INSERT .. SET a = 1` arrives as a column list and one row.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`.
    Query(Box<Query>),
}

/// `UPDATE` of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The table, its alias and index hints.
    pub table: TableReference,
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

/// `DELETE` from one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The table, its alias and index hints.
    pub table: TableReference,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT, a count only.
    pub limit: Option<Expr>,
}
