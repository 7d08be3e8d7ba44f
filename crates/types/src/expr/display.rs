//! Expressions as SQL text.

use std::fmt;

use super::ir::Expr;

impl Expr {
    /// The text of the expression, with the names that `name` gives to columns.
    pub fn display_with<'a>(&'a self, _name: &'a dyn Fn(usize) -> String) -> impl fmt::Display + 'a {
        ""
    }
}

impl fmt::Display for Expr {
    /// With columns as `#0`, `#1`, ...
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
