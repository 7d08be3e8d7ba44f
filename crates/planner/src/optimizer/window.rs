//! Plans window functions above joins and groups: chooses which windows share a sort, and the order of the sorts.
//!
//! A window needs its rows partition by partition, with the keys of PARTITION BY in any order and direction, and each partition
//! in the order of ORDER BY. So the sort for one window also serves a window whose keys it begins with. The first sort is omitted
//! if an index provides the order, and the query's ORDER BY costs nothing if the last sort provides its order.

use super::block_node::{BlockNode, bind, node};
use super::settings::OptimizerContext;
use crate::bound::{BoundSelect, BoundWindow, OrderKey};
use crate::plan::{self, Node, Operator, SortKey};
use crate::window::WindowCall;
use leafline_expr::{Expr, build};
use leafline_types::MysqlError;
use std::sync::Arc;

/// Windows that share a sort.
struct Group<'s> {
    order: Vec<OrderKey>,
    windows: Vec<&'s BoundWindow>,
}

/// Returns the sort keys that a window needs, each once.
fn wanted(window: &BoundWindow) -> (Vec<OrderKey>, usize) {
    let mut keys: Vec<OrderKey> = Vec::new();
    let mut parting = 0;
    let partition = window.partition.iter().map(|expr| OrderKey { expr: expr.clone(), descending: false });
    for (at, key) in partition.chain(window.order.iter().cloned()).enumerate() {
        if !keys.iter().any(|known| known.expr == key.expr) {
            keys.push(key);
        }
        if at + 1 == window.partition.len() {
            parting = keys.len();
        }
    }
    (keys, parting)
}

/// Whether rows in this order serve a window.
fn serves(order: &[OrderKey], window: &BoundWindow) -> bool {
    let (wanted, parting) = wanted(window);
    let (Some(head), Some(tail)) = (order.get(..parting), order.get(parting..wanted.len())) else {
        return false;
    };
    let parts = wanted.iter().take(parting).all(|key| head.iter().any(|known| known.expr == key.expr));
    parts && wanted.get(parting..).is_some_and(|rest| rest == tail)
}

/// Returns an order for a window that also serves another one, if all keys of such an order partition the rows of this window.
fn arranged(window: &BoundWindow, others: &[&BoundWindow]) -> Vec<OrderKey> {
    let (keys, parting) = wanted(window);
    let (partition, order) = keys.split_at(parting);
    let parts = |key: &OrderKey| partition.iter().any(|known| known.expr == key.expr);
    let heads = others.iter().map(|other| wanted(other).0).filter(|head| head.iter().all(parts));
    let mut arranged = heads.max_by_key(Vec::len).unwrap_or_default();
    for key in partition {
        if !arranged.iter().any(|known| known.expr == key.expr) {
            arranged.push(key.clone());
        }
    }
    arranged.extend_from_slice(order);
    arranged
}

/// Groups the windows of a query by the sorts that serve them, in the order of computation.
fn groups<'s>(select: &'s BoundSelect) -> Vec<Group<'s>> {
    let mut windows: Vec<&BoundWindow> = select.windows.iter().collect();
    windows.sort_by_key(|window| std::cmp::Reverse(wanted(window).0.len()));
    let mut groups: Vec<Group<'s>> = Vec::new();
    for (at, window) in windows.iter().enumerate() {
        match groups.iter_mut().find(|group| serves(&group.order, window)) {
            Some(group) => group.windows.push(window),
            None => {
                let order = arranged(window, &windows[at + 1..]);
                groups.push(Group { order, windows: vec![window] });
            }
        }
    }
    // Windows that need no order come first, and the order of the result last.
    groups.sort_by_key(|group| (is_prefix(&select.order_by, &group.order), !group.order.is_empty()));
    groups
}

fn is_prefix(keys: &[OrderKey], order: &[OrderKey]) -> bool {
    !keys.is_empty() && order.get(..keys.len()).is_some_and(|head| head == keys)
}

/// Returns the order in which the rows of a query's joins are wanted: the order of the first sort for windows, or of ORDER BY.
pub(super) fn first_order(select: &BoundSelect) -> Vec<OrderKey> {
    match groups(select).into_iter().next() {
        Some(group) => group.order,
        None => select.order_by.clone(),
    }
}

/// Adds the window functions of a query to its rows. `ordered`: the rows come in the order of [`first_order`]. Returns the rows,
/// and whether they come in the order of ORDER BY.
pub(super) fn windows(
    rows: BlockNode,
    select: &BoundSelect,
    ordered: bool,
    cx: &OptimizerContext<'_, '_>,
) -> Result<(BlockNode, bool), MysqlError> {
    if select.windows.is_empty() {
        return Ok((rows, ordered));
    }
    let groups = groups(select);
    let (mut rows, computed) = with_keys(rows, &groups)?;
    let mut last = false;
    for (at, group) in groups.iter().enumerate() {
        if !(group.order.is_empty() || ordered && at == 0) {
            let keys = sort_keys(&group.order, &rows, &computed)?;
            rows.node = sorted(rows.node, keys, cx);
        }
        for window in &group.windows {
            rows = computed_over(rows, window, group, &computed, cx)?;
        }
        last = is_prefix(&select.order_by, &group.order);
    }
    Ok((rows, last))
}

/// Computes keys that are not columns once, below the sorts, because a volatile key would not have the same value again.
fn with_keys(rows: BlockNode, groups: &[Group<'_>]) -> Result<(BlockNode, Vec<(Expr, usize)>), MysqlError> {
    let mut computed: Vec<(Expr, usize)> = Vec::new();
    let keys = groups
        .iter()
        .flat_map(|group| group.windows.iter())
        .flat_map(|window| window.partition.iter().chain(window.order.iter().map(|key| &key.expr)));
    for key in keys.filter(|key| key.as_column().is_none()) {
        if !computed.iter().any(|(known, _)| known == key) {
            computed.push((key.clone(), usize::MAX - computed.len()));
        }
    }
    if computed.is_empty() {
        return Ok((rows, computed));
    }
    let mut expressions: Vec<Expr> =
        rows.node.types.iter().enumerate().map(|(at, ty)| build::column(at, ty.clone())).collect();
    let mut layout = rows.layout.clone();
    for (key, number) in &computed {
        expressions.push(rows.bind(key)?);
        layout.push(*number);
    }
    let types = expressions.iter().map(|expr| expr.ty.clone()).collect();
    let estimate = rows.node.estimate;
    let operator =
        Operator::Project(plan::Project { input: Box::new(rows.node), expressions: expressions.into() });
    Ok((BlockNode { node: node(operator, types, estimate.rows, estimate.cost_us), layout }, computed))
}

fn sort_keys(
    keys: &[OrderKey],
    rows: &BlockNode,
    computed: &[(Expr, usize)],
) -> Result<Arc<[SortKey]>, MysqlError> {
    keys.iter()
        .map(|key| {
            let expr = match computed.iter().find(|(known, _)| *known == key.expr) {
                Some((_, number)) => build::column(*number, key.expr.ty.clone()),
                None => key.expr.clone(),
            };
            Ok(SortKey { expr: rows.bind(&expr)?, descending: key.descending })
        })
        .collect()
}

/// Sorts all rows.
pub(super) fn sorted(input: Node, keys: Arc<[SortKey]>, cx: &OptimizerContext<'_, '_>) -> Node {
    let (estimate, types) = (input.estimate, input.types.to_vec());
    let cost = estimate.rows * estimate.rows.max(2.0).log2() * cx.planner.model.cpu.sort;
    node(
        Operator::Sort(plan::Sort { input: Box::new(input), keys }),
        types,
        estimate.rows,
        estimate.cost_us + cost,
    )
}

fn computed_over(
    rows: BlockNode,
    window: &BoundWindow,
    group: &Group<'_>,
    computed: &[(Expr, usize)],
    cx: &OptimizerContext<'_, '_>,
) -> Result<BlockNode, MysqlError> {
    let (wanted, parting) = wanted(window);
    let partition = sort_keys(&group.order[..parting], &rows, computed)?;
    let order = sort_keys(&wanted[parting..], &rows, computed)?;
    let mut types = rows.node.types.to_vec();
    let mut layout = rows.layout.clone();
    let mut calls: Vec<WindowCall> = Vec::new();
    for bound in &window.calls {
        let mut call = bound.call.clone();
        let mut result = Ok(());
        call.for_each_expr_mut(&mut |expr| match bind(expr, &rows.layout) {
            Ok(at_positions) => *expr = at_positions,
            Err(error) => result = Err(error),
        });
        result?;
        types.push(call.ty.clone());
        layout.push(bound.out);
        calls.push(call);
    }
    let estimate = rows.node.estimate;
    let cost = estimate.rows * cx.planner.model.cpu.hash_probe * calls.len() as f64;
    let spec = Arc::new(plan::WindowSpec { input: rows.node.types.clone(), partition, order, calls });
    let operator = Operator::Window(plan::Window { input: Box::new(rows.node), spec });
    Ok(BlockNode { node: node(operator, types, estimate.rows, estimate.cost_us + cost), layout })
}
