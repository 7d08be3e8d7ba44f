//! Which conditions are in a list.

use crate::params::LISTED_CONDITIONS;
use leafline_expr::Expr;
use std::collections::HashSet;

/// A list of conditions that answers which conditions are in it; hashed where it is long.
pub(crate) enum ConditionList<'a> {
    /// As they came.
    Listed(Vec<&'a Expr>),
    /// Hashed, so that thousands take no time that grows with their square.
    Hashed(HashSet<&'a Expr>),
}

impl<'a> ConditionList<'a> {
    pub(crate) fn of(conditions: impl IntoIterator<Item = &'a Expr>) -> ConditionList<'a> {
        let listed: Vec<&Expr> = conditions.into_iter().collect();
        match listed.len() > LISTED_CONDITIONS {
            true => ConditionList::Hashed(listed.into_iter().collect()),
            false => ConditionList::Listed(listed),
        }
    }

    pub(crate) fn contains(&self, condition: &Expr) -> bool {
        match self {
            ConditionList::Listed(listed) => listed.contains(&condition),
            ConditionList::Hashed(hashed) => hashed.contains(condition),
        }
    }
}
