//! Chooses the parts of a plan that several threads share.
//!
//! A part over one table (a scan, and filters, projections and index lookups over it) can run in several threads at once, each on
//! some pieces of the table, if no row's result depends on work for other rows. Subqueries are excluded, because one thread
//! remembers their answers, and so are volatile functions. Sharing pays where there is much work, and where all rows are read.
//!
//! ```text
//! Aggregate                         Aggregate (of the results of parts)
//!   part over one table      =>       Parallel
//!                                       Aggregate (of a part)
//!                                         part over one table
//! ```
//! The threads also group, where that leaves few rows and gives the same result (`AggregateCall::parts`). The rows of a scan come
//! in its order, so that sums of DOUBLE above it are the same with any number of threads. Where the order does not matter, rows
//! are fetched and looked up in the order of their keys, a batch at a time, and batches end with pieces.

use super::block_node::node;
use super::settings::Parallelism;
use crate::params::{PARALLEL_EXAMINED_PER_ROW, PARALLEL_ROWS_PER_GROUP};
use crate::plan::{self, Node, Operator};
use crate::window::Reach;
use leafline_access::{Demand, Share};
use leafline_expr::aggregate::AggregateCall;
use leafline_expr::{Expr, build};
use std::sync::Arc;

/// Returns the part of a plan that any thread can read in pieces, if the plan is nothing else.
pub fn read_in_pieces(root: &Node) -> Option<&Node> {
    let part = match &root.operator {
        Operator::Parallel(plan::Parallel { input, .. }) => input,
        _ => root,
    };
    can_be_shared(part).then_some(part)
}

/// Lets threads share the parts where that pays.
pub(super) fn shared_by_threads(root: &mut Node, parallelism: Parallelism) {
    if parallelism.threads > 1 {
        share(root, false, parallelism);
    }
}

/// Shares parts below a node. `consumed`: the rows of the node are collected before they are used.
fn share(at: &mut Node, consumed: bool, parallelism: Parallelism) {
    if can_be_shared(at) {
        if at.estimate.cost_us >= parallelism.least_cost_us && (consumed || is_selective(at)) {
            wrap(at, parallelism);
        }
        return;
    }
    if let Operator::AdaptivePlan(plan::AdaptivePlan { fallback, .. }) = &mut at.operator {
        return share(fallback, consumed, parallelism);
    }
    let consumed = match &at.operator {
        Operator::Limit(_) => false,
        Operator::LockRows(_) => return,
        Operator::Aggregate(plan::Aggregate { input, .. }) => {
            if can_be_shared(input)
                && input.estimate.cost_us >= parallelism.least_cost_us
                && group_in_threads(at, parallelism)
            {
                return;
            }
            true
        }
        Operator::Sort(_) | Operator::TopN(_) => true,
        Operator::Window(plan::Window { spec, .. }) => consumed || spec.reach() != Reach::Row,
        _ => consumed,
    };
    let collects_last = matches!(at.operator, Operator::HashJoin(_) | Operator::SetOp(_));
    let inputs = at.inputs_mut();
    let last = inputs.len().saturating_sub(1);
    for (number, input) in inputs.into_iter().enumerate() {
        share(input, consumed || (collects_last && number == last), parallelism);
    }
}

/// Removes the fallbacks of lookup joins: each thread would hold the table for itself.
fn only_lookups(at: &mut Node) {
    if let Operator::LookupJoin(plan::LookupJoin { fallback, .. }) = &mut at.operator {
        *fallback = None;
    }
    at.inputs_mut().into_iter().for_each(only_lookups);
}

/// Puts a node under one that runs it in threads.
fn wrap(at: &mut Node, parallelism: Parallelism) {
    only_lookups(at);
    let (types, estimate) = (at.types.to_vec(), at.estimate);
    let nothing = node(Operator::Values(plan::Values { rows: Arc::from([]) }), Vec::new(), 0.0, 0.0);
    let input = Arc::new(std::mem::replace(at, nothing));
    let share =
        Share { threads: parallelism.degree(estimate.cost_us), most_leaves: parallelism.piece_leaves };
    *at = node(Operator::Parallel(plan::Parallel { input, share }), types, estimate.rows, estimate.cost_us);
}

/// Splits an aggregation into one of parts and one of their results. Returns false if that is impossible or does not pay.
fn group_in_threads(at: &mut Node, parallelism: Parallelism) -> bool {
    let Operator::Aggregate(plan::Aggregate { input, keys, grouping, aggregates }) = &at.operator else {
        return false;
    };
    let exprs = keys.iter().chain(aggregates.iter().flat_map(|call| &call.args));
    if at.estimate.rows * PARALLEL_ROWS_PER_GROUP > input.estimate.rows
        || !exprs.into_iter().all(is_repeatable)
    {
        return false;
    }
    let mut parts: Vec<AggregateCall> = Vec::new();
    let mut merging = Vec::with_capacity(aggregates.len());
    for call in aggregates.iter() {
        let Some(of_call) = call.parts() else { return false };
        let column = |part: AggregateCall| {
            let ty = part.ty.clone();
            let known = parts.iter().position(|other| *other == part).unwrap_or_else(|| {
                parts.push(part);
                parts.len() - 1
            });
            build::column(keys.len() + known, ty)
        };
        let columns = of_call.into_iter().map(column).collect();
        merging.push(call.merging(columns));
    }
    let merged_keys: Arc<[Expr]> =
        keys.iter().enumerate().map(|(at, key)| build::column(at, key.ty.clone())).collect();
    let types = keys.iter().map(|key| &key.ty).chain(parts.iter().map(|part| &part.ty)).cloned().collect();
    let of_parts = Operator::Aggregate(plan::Aggregate {
        input: input.clone(),
        keys: keys.clone(),
        grouping: *grouping,
        aggregates: parts.into(),
    });
    let mut below = node(of_parts, types, at.estimate.rows, at.estimate.cost_us);
    wrap(&mut below, parallelism);
    at.operator = Operator::Aggregate(plan::Aggregate {
        input: Box::new(below),
        keys: merged_keys,
        grouping: *grouping,
        aggregates: merging.into(),
    });
    true
}

/// Whether a node is a part of the plan that threads can share.
fn can_be_shared(at: &Node) -> bool {
    let is_part = match &at.operator {
        Operator::Scan(scan) => scan.path.can_be_cut() && scan.demand == Demand::All,
        Operator::LookupJoin(join) => join.inner.demand == Demand::All,
        Operator::Filter(_) | Operator::Project(_) | Operator::DerivedTable(_) => true,
        _ => false,
    };
    if !is_part {
        return false;
    }
    let mut repeatable = true;
    at.operator.as_node().expressions(&mut |_, expr| repeatable &= is_repeatable(expr));
    repeatable && at.inputs().into_iter().all(can_be_shared)
}

fn is_repeatable(expr: &Expr) -> bool {
    !expr.is_volatile() && !expr.has_subquery()
}

/// Whether few of the examined rows are delivered.
fn is_selective(at: &Node) -> bool {
    fn examined(at: &Node) -> f64 {
        match &at.operator {
            Operator::Scan(scan) => scan.examined,
            _ => at.inputs().into_iter().map(examined).sum(),
        }
    }
    at.estimate.rows * PARALLEL_EXAMINED_PER_ROW <= examined(at)
}
