//! Subqueries as operands.

use super::Expr;

/// A subquery as an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subquery {
    /// Its number in the statement.
    pub number: usize,
    /// The use of its rows.
    pub question: SubqueryUse,
    /// The values that its rows are compared with.
    pub needle: Vec<Expr>,
    /// The values it depends on, by the number that `Outer` gives them inside.
    pub outer: Vec<Expr>,
    /// Whether two runs with the same values can differ, because it calls `RAND()` or the like.
    pub is_volatile: bool,
}

/// The rule by which the rows of a subquery give its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubqueryUse {
    /// The value of the only column of the only row; NULL without rows, error 1242 with more than one.
    Value,
    /// Whether there are rows.
    Exists,
    /// Whether the comparison is true for some row: TRUE if so, otherwise NULL if it is NULL for some row, otherwise
    /// FALSE. The needle is columns 0, 1, ... of the comparison; a row's columns follow.
    Any(Box<Expr>),
    /// The comparison with the only row, written as for `Any`; with NULLs if there is no row. Error 1242 with more
    /// than one row.
    Row(Box<Expr>),
}

impl Subquery {
    /// Whether its value is 0, 1 or NULL.
    pub fn is_condition(&self) -> bool {
        self.question != SubqueryUse::Value
    }

    /// Whether one answer holds for all rows of the enclosing query.
    pub fn is_independent(&self) -> bool {
        self.outer.is_empty() && !self.is_volatile
    }
}
