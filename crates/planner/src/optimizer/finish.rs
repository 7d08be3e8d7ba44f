//! The last steps of planning, on the finished tree of operators: demand, runtime filters, threads, numbers.

use super::parallel::shared_by_threads;
use super::runtime_filters::place_filters;
use super::settings::OptimizerContext;
use crate::plan::{Node, Operator, Plan};
use leafline_access::Demand;
use std::sync::Arc;

impl Plan {
    /// Makes the plan of a tree of operators.
    pub(super) fn of(mut root: Node, cx: &OptimizerContext<'_, '_>) -> Plan {
        demand_all(&mut root, true);
        if cx.switches.runtime_filter {
            place_filters(&mut root, cx.filtering, 0);
        }
        shared_by_threads(&mut root, cx.parallelism);
        let node_count = number(&mut root, 0);
        Plan { root, node_count, point: None }
    }
}

/// Tells scans that all of their rows will be read when no operator above can end the statement early. `all`: all rows of the
/// node are read.
fn demand_all(node: &mut Node, all: bool) {
    if all && let Some(scan) = node.scan_mut() {
        Arc::make_mut(scan).demand = Demand::All;
    }
    let operator = node.operator.as_node();
    let asked: Vec<bool> =
        (0..operator.inputs().len()).map(|input| operator.asks_for_all(input, all)).collect();
    let inputs = node.inputs_mut().into_iter().zip(asked);
    inputs.for_each(|(input, all)| demand_all(input, all));
    if let Some(fallback) = node.operator.as_node_mut().fallback_mut() {
        demand_all(fallback, true);
    }
}

/// Numbers nodes, parents first, and returns the next free number. The inner table of a lookup join has a number of its own.
fn number(node: &mut Node, next: usize) -> usize {
    node.id = next;
    if let Operator::Scan(scan) = &mut node.operator {
        Arc::make_mut(scan).id = next;
    }
    let mut next = node.inputs_mut().into_iter().fold(next + 1, |next, input| number(input, next));
    let operator = node.operator.as_node_mut();
    if let Some(inner) = operator.inner_scan_mut() {
        Arc::make_mut(inner).id = next;
        next += 1;
    }
    match operator.fallback_mut() {
        Some(fallback) => number(fallback, next),
        None => next,
    }
}
