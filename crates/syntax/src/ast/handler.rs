//! HANDLER.

use super::{Expr, Ident, Limit, TableName};

/// A HANDLER statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `HANDLER table OPEN [[AS] alias]`.
    Open {
        /// The table.
        table: TableName,
        /// The name that the other statements call it by, in place of the table's.
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
    /// The index whose order it follows; `None`: the order in which the rows are stored.
    pub index: Option<Ident>,
    /// Where it begins, and in which direction it goes on.
    pub start: HandlerStart,
    /// WHERE.
    pub condition: Option<Expr>,
    /// LIMIT; one row without it.
    pub limit: Option<Limit>,
}

/// Where HANDLER READ begins.
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
    /// `= (values)` and the like.
    Key(KeyComparison, Vec<Expr>),
}

/// How the keys that HANDLER READ reads compare with the values it is given.
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
