//! Rows that a search for words finds, and their scores.

use leafline_expr::Expr;
use leafline_table::IndexDef;
use std::sync::Arc;

/// Rows that a search finds by a FULLTEXT index, and whose score meets a condition.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The number of the search: that of the subquery that counts its words.
    pub number: usize,
    /// The FULLTEXT index.
    pub index: Arc<IndexDef>,
    /// The condition, over the score as column 0. Rows that are not found have the score 0.
    pub condition: Expr,
    /// How many rows are expected.
    pub expected: f64,
}

impl Searched {
    /// Whether the condition rejects rows that are not found, whatever the values of parameters.
    pub fn is_certain(&self) -> bool {
        self.condition.as_column().is_some()
    }
}

/// The scores of the rows of a path, which it delivers as its last column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// The number of the search.
    pub number: usize,
    /// Rows come in the order of descending scores, those with equal ones in the order of their locators.
    pub in_order: bool,
    /// The number of rows that are enough, from the first on.
    pub most: Option<usize>,
    /// Rows that are not found come, too, with the score 0.
    pub all_rows: bool,
}
