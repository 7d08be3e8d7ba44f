//! Operators with the positions of their block's columns in their batches.

use crate::bound::BoundSelect;
use crate::params::LISTED_POSITIONS;
use crate::plan::{self, EmptyReason, Estimate, Node, Operator};
use leafline_expr::Expr;
use leafline_types::{ExprType, MysqlError, SqlType};
use std::collections::HashMap;

/// An operator, and the column of the block at each position of its batches.
pub(super) struct BlockNode {
    pub node: Node,
    pub layout: Vec<usize>,
}

impl BlockNode {
    /// Rewrites an expression over columns of the block as one over positions.
    pub fn bind(&self, expr: &Expr) -> Result<Expr, MysqlError> {
        bind(expr, &self.layout)
    }

    /// Rewrites expressions over columns of the block as expressions over positions.
    pub fn bind_all<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Expr>, MysqlError> {
        let mut positions = Positions::of(&self.layout);
        exprs.into_iter().map(|expr| positions.bind(expr)).collect()
    }
}

/// Returns the number of the column with the locators of a relation whose rows are locked. These columns follow the columns of
/// the block.
pub(super) fn locator_column(select: &BoundSelect, relation: usize) -> usize {
    select.columns.len() + relation
}

/// Returns the number of the column with the scores of a relation that a search finds. These columns follow the
/// locators.
pub(super) fn score_column(select: &BoundSelect, relation: usize) -> usize {
    select.columns.len() + select.relations.len() + relation
}

/// Returns the type of scores.
pub(super) fn score_type() -> ExprType {
    ExprType::numeric(SqlType::Double, false)
}

/// Returns the first number behind the columns of the block, locators and scores.
pub(super) fn free_column(select: &BoundSelect) -> usize {
    select.columns.len() + 2 * select.relations.len()
}

/// Replaces column numbers of the block by their positions in a layout.
pub(super) fn bind(expr: &Expr, layout: &[usize]) -> Result<Expr, MysqlError> {
    Positions::of(layout).bind(expr)
}

/// The positions of columns in a layout.
struct Positions<'l> {
    layout: &'l [usize],
    /// Number of searches of the layout.
    searched: usize,
    /// The layout as a map, made after enough searches.
    by_column: Option<HashMap<usize, usize>>,
}

impl<'l> Positions<'l> {
    fn of(layout: &'l [usize]) -> Positions<'l> {
        Positions { layout, searched: 0, by_column: None }
    }

    fn find(&mut self, column: usize) -> Option<usize> {
        if let Some(positions) = &self.by_column {
            return positions.get(&column).copied();
        }
        self.searched += 1;
        if self.searched > LISTED_POSITIONS && self.layout.len() > LISTED_POSITIONS {
            let places = self.layout.iter().enumerate().rev();
            self.by_column = Some(places.map(|(position, column)| (*column, position)).collect());
        }
        self.layout.iter().position(|known| *known == column)
    }

    fn bind(&mut self, expr: &Expr) -> Result<Expr, MysqlError> {
        let mut missing = None;
        let bound = expr.map_columns(&mut |column| {
            self.find(column).unwrap_or_else(|| {
                missing = Some(column);
                0
            })
        });
        match missing {
            Some(column) => Err(MysqlError::internal(format_args!(
                "column {column} is not delivered to where it is used"
            ))),
            None => Ok(bound),
        }
    }
}

/// Makes a node without an id; `finish::number` gives ids when the plan is complete.
pub(super) fn node(operator: Operator, types: Vec<ExprType>, rows: f64, cost_us: f64) -> Node {
    Node { id: 0, operator, types: types.into(), estimate: Estimate { rows, cost_us } }
}

/// Makes a node that delivers no rows.
pub(super) fn empty(reason: EmptyReason, types: Vec<ExprType>) -> Node {
    node(Operator::Empty(plan::Empty { reason }), types, 0.0, 0.0)
}
