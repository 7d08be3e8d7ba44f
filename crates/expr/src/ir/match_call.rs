//! `MATCH .. AGAINST` as an operand.

use super::{Expr, ExprKind};
use crate::search::Search;
use std::sync::Arc;

/// The score of a row in a search for words.
///
/// A call has a subquery, so it is never evaluated under a latch or by a thread of a parallel scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchCall {
    /// The search.
    pub search: Arc<Search>,
    /// The texts of the row, in the order of the index's columns.
    pub columns: Vec<Expr>,
    /// The words that are sought, a constant.
    pub query: Expr,
    /// The counts over the table: a subquery that does not depend on the row.
    pub statistics: Expr,
    /// The words of the rows that are found, WITH QUERY EXPANSION: a subquery that does not depend on the row.
    pub expansion: Option<Expr>,
}

impl MatchCall {
    /// The number of the subquery that counts the words, which also names the search.
    pub fn number(&self) -> Option<usize> {
        match &self.statistics.kind {
            ExprKind::Subquery(subquery) => Some(subquery.number),
            _ => None,
        }
    }

    /// Whether another call has the score of the same search.
    pub fn is_same_search(&self, other: &MatchCall) -> bool {
        self.search == other.search && self.columns == other.columns && self.query == other.query
    }

    /// The operands: columns, query, statistics, expansion.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().chain([&self.query, &self.statistics]).chain(&self.expansion)
    }

    /// The operands, to be changed.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.columns.iter_mut().chain([&mut self.query, &mut self.statistics]).chain(&mut self.expansion)
    }
}
