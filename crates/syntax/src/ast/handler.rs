//! HANDLER, which reads a table row by row.

use super::{Expr, Ident, Limit, TableName};

/// A HANDLER statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `HANDLER table OPEN [[AS] alias]`.
    Open {
        /// The table.
        table: TableName,
        /// The name by which later statements refer to the handler; the table's if `None`.
        alias: Option<Ident>,
    },
    /// `HANDLER name READ ..`.
    Read {
        /// The name of the handler.
        name: Ident,
        /// The rows to read: their order, the first of them, and how many.
        read: Box<HandlerRead>,
    },
    /// `HANDLER name CLOSE`.
    Close(Ident),
}

/// The rows that HANDLER READ asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerRead {
    /// The index that gives the order; `None` reads in the order in which rows are stored.
    pub index: Option<Ident>,
    /// The starting point, which also gives the direction.
    pub start: HandlerStart,
    /// WHERE.
    pub condition: Option<Expr>,
    /// LIMIT; `None` reads one row.
    pub limit: Option<Limit>,
}

/// The starting point of HANDLER READ.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerStart {
    /// FIRST.
    First,
    /// LAST.
    Last,
    /// NEXT.
    Next,
    /// PREV.
    Previous,
    /// `= (values)`, or another comparison with the values of an index's columns.
    Key(KeyComparison, Vec<Expr>),
}

/// How HANDLER READ compares an index's keys with the given values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyComparison {
    /// `=`.
    Equal,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}
