//! The place of evaluation of expressions that give another value each time: expressions that assign user variables, that read
//! variables which the statement assigns, and RAND() and other volatile functions.
//!
//! | where                  | evaluated                                                                              |
//! |------------------------|----------------------------------------------------------------------------------------|
//! | WHERE                  | on joined rows that meet all other conditions, in the order of the conjuncts           |
//! | ON                     | in the join                                                                            |
//! | select list            | on the rows of the result, after they are sorted, except in the next three cases       |
//! | select list, if ORDER BY uses such an expression of it | before rows are sorted: clients see the values that sort the rows |
//! | select list without aggregates, if groups are sorted | once a group, before they are sorted, as MySQL's temporary table has it |
//! | select list without window functions, next to entries with some | before windows, for the same reason                |
//! | HAVING without groups  | separately, before the select list: an alias there is evaluated twice, as in MySQL      |

use super::block_node::{BlockNode, free_column};
use super::operators::project;
use super::settings::OptimizerContext;
use crate::bound::{BoundSelect, OrderKey};
use leafline_expr::{Expr, build, fold};
use leafline_types::MysqlError;
use std::borrow::Cow;

/// Takes from WHERE the conditions that must be evaluated on joined rows, row by row, in the order written. Only statements that
/// assign variables have any.
pub(super) fn late_conditions(
    select: &mut BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Vec<Expr>, MysqlError> {
    if !cx.eval.row_by_row {
        return Ok(Vec::new());
    }
    let (late, early): (Vec<Expr>, Vec<Expr>) =
        std::mem::take(&mut select.filter).into_iter().partition(Expr::is_volatile);
    select.filter = early;
    late.into_iter().map(|condition| fold(condition, cx.eval)).collect()
}

/// Expressions of the select list that the rows already hold as columns.
#[derive(Default)]
pub(super) struct PrecomputedOutputs(Vec<(Expr, Expr)>);

impl PrecomputedOutputs {
    /// Replaces computed parts of an expression by their columns.
    pub(super) fn replaced(&self, expr: &Expr) -> Expr {
        let mut over = expr.clone();
        if !self.0.is_empty() {
            self.replace(&mut over);
        }
        over
    }

    fn replace(&self, expr: &mut Expr) {
        match self.0.iter().find(|(known, _)| known == expr) {
            Some((_, column)) => *expr = column.clone(),
            None => expr.for_each_child_mut(&mut |child| self.replace(child)),
        }
    }

    /// Replaces computed parts of ORDER BY by their columns.
    pub(super) fn order<'o>(&self, order: &'o [OrderKey]) -> Cow<'o, [OrderKey]> {
        if self.0.is_empty() {
            return Cow::Borrowed(order);
        }
        let key = |key: &OrderKey| OrderKey { expr: self.replaced(&key.expr), descending: key.descending };
        order.iter().map(key).collect()
    }
}

/// Adds the columns that are computed before sorts and windows. `ordered`: the rows come in the order of ORDER BY.
pub(super) fn computed_early(
    rows: BlockNode,
    select: &BoundSelect,
    ordered: bool,
    cx: &OptimizerContext<'_, '_>,
) -> Result<(BlockNode, PrecomputedOutputs), MysqlError> {
    let sorts = !ordered && !select.order_by.is_empty();
    let by_volatile = sorts && select.order_by.iter().any(|key| key.expr.is_volatile());
    let gathers = sorts && select.aggregation.is_some() || !select.windows.is_empty();
    if select.distinct || !(by_volatile || gathers && cx.eval.row_by_row) {
        return Ok((rows, PrecomputedOutputs::default()));
    }
    let aggregates: Vec<usize> =
        select.aggregation.iter().flat_map(|groups| groups.aggregates.iter().map(|call| call.out)).collect();
    let mut computed: Vec<&Expr> = Vec::new();
    for output in &select.output {
        let columns = output.expr.columns();
        let is_there = columns.iter().all(|column| rows.layout.contains(column));
        let is_late = !by_volatile && columns.iter().any(|column| aggregates.contains(column));
        if output.expr.is_volatile() && is_there && !is_late {
            computed.push(&output.expr);
        }
    }
    if computed.is_empty() {
        return Ok((rows, PrecomputedOutputs::default()));
    }
    let free = free_column(select);
    let known: Vec<Expr> = rows
        .layout
        .iter()
        .zip(rows.node.types.iter())
        .map(|(id, ty)| build::column(*id, ty.clone()))
        .collect();
    let mut layout = rows.layout.clone();
    layout.extend(free..free + computed.len());
    let all: Vec<&Expr> = known.iter().chain(computed.iter().copied()).collect();
    let node = project(rows, &all, &[])?;
    let columns = computed.iter().enumerate().map(|(at, expr)| build::column(free + at, expr.ty.clone()));
    let early = computed.iter().map(|expr| (*expr).clone()).zip(columns).collect();
    Ok((BlockNode { node, layout }, PrecomputedOutputs(early)))
}
