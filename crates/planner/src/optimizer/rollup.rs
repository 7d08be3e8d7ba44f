//! WITH ROLLUP: multiplies rows by level below the grouping, and orders the groups above it.

use super::block_node::{BlockNode, node};
use super::settings::OptimizerContext;
use super::window::sorted;
use crate::bound::{Aggregation, Rollup};
use crate::plan::{self, Levels, Operator, SortKey};
use leafline_expr::{CompareOp, Expr, build};
use leafline_types::{ExprType, MysqlError, SqlType, Value};

/// Adds the keys and the level of groups to rows. Returns the expressions to group by, over their positions.
pub(super) fn expanded(rows: BlockNode, rollup: &Rollup, keys: Vec<Expr>) -> (BlockNode, Vec<Expr>) {
    let first = rows.node.types.len();
    let mut types = rows.node.types.to_vec();
    types.extend(keys.iter().map(|key| ExprType { nullable: true, ..key.ty.clone() }));
    types.push(ExprType::numeric(SqlType::BIGINT, false));
    let column = |(at, ty): (usize, &ExprType)| build::column(at, ty.clone());
    let grouped = types.iter().enumerate().skip(first).map(column).collect();
    let estimate = rows.node.estimate;
    let levels = (rollup.written + 1) as f64;
    let operator = Operator::Rollup(plan::Rollup {
        input: Box::new(rows.node),
        keys: keys.into(),
        levels: Levels { greatest: rollup.written, leave_out: rollup.positions.clone().into() },
    });
    let node = node(operator, types, estimate.rows * levels, estimate.cost_us);
    (BlockNode { node, layout: rows.layout }, grouped)
}

/// Sorts the groups into MySQL's default order: by the keys, with each group of fewer keys after the groups that it sums up.
pub(super) fn in_order(
    rows: BlockNode,
    aggregation: &Aggregation,
    rollup: &Rollup,
    cx: &OptimizerContext<'_, '_>,
) -> Result<BlockNode, MysqlError> {
    let level = build::column(rollup.level, ExprType::numeric(SqlType::BIGINT, false));
    let mut keys = Vec::new();
    for (key, position) in aggregation.keys.iter().zip(&rollup.positions) {
        let position = build::literal(Value::Int(i64::try_from(*position).unwrap_or(i64::MAX)));
        let left_out = build::compare(CompareOp::Le, level.clone(), position)?;
        keys.push(left_out);
        keys.push(build::column(key.out, ExprType { nullable: true, ..key.expr.ty.clone() }));
    }
    let ascending = rows.bind_all(&keys)?.into_iter();
    let mut keys: Vec<SortKey> = ascending.map(|expr| SortKey { expr, descending: false }).collect();
    keys.push(SortKey { expr: rows.bind(&level)?, descending: true });
    Ok(BlockNode { node: sorted(rows.node, keys.into(), cx), layout: rows.layout })
}
