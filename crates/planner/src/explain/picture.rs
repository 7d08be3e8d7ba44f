//! A plan as data to draw: its steps with estimates, the figures of an execution if there was one, and the paths that were not
//! taken.

use super::scan_notes::{condition_lines, rejected};
use crate::plan::{Node, Plan, Scan, Step, access_label};
use crate::profile::{NodeProfile, Profile};
use std::time::Duration;

/// The plans of a statement.
#[derive(Clone, Debug)]
pub struct PlanPicture {
    /// The expected price of the plan and its parts, microseconds.
    pub cost_us: f64,
    /// The plan, and the plans of subqueries and common tables, each with its title.
    pub parts: Vec<(String, PlanStep)>,
}

/// A step of a plan.
#[derive(Clone, Debug)]
pub struct PlanStep {
    /// The text of the step.
    pub label: String,
    /// The step reads a table.
    pub is_access: bool,
    /// The conditions on the rows, each with the step that evaluates it.
    pub conditions: Vec<String>,
    /// Expected rows per execution.
    pub rows: f64,
    /// The expected price of the step and its inputs, microseconds; none on the inner side of a lookup join, whose price includes
    /// it.
    pub cost_us: Option<f64>,
    /// The figures of the execution, if the step was run.
    pub actual: Option<ActualStep>,
    /// The access paths that were not taken, cheapest first.
    pub rejected: Vec<RejectedPath>,
    /// The inputs of the step.
    pub inputs: Vec<PlanStep>,
}

/// The figures of a step that was run.
#[derive(Clone, Copy, Debug)]
pub struct ActualStep {
    /// Rows delivered, in all executions.
    pub rows: u64,
    /// Number of starts.
    pub loops: u64,
    /// Time in the step and its inputs.
    pub time: Duration,
    /// Index entries examined, inputs included.
    pub entries_examined: u64,
    /// Rows fetched by locator, inputs included.
    pub rows_fetched: u64,
    /// Pages requested, inputs included.
    pub pages_requested: u64,
    /// Pages read from the device, inputs included.
    pub pages_read: u64,
}

/// An access path that was not taken.
#[derive(Clone, Debug)]
pub struct RejectedPath {
    /// The label of the path.
    pub label: String,
    /// The expected price, once or for one outer row, microseconds.
    pub cost_us: f64,
    /// Number of entries that the path was expected to examine.
    pub rows: f64,
}

/// Returns the steps of a plan, with the figures of an execution if there was one.
pub fn plan_steps(plan: &Plan, profile: Option<&Profile>) -> PlanStep {
    step(&plan.root, profile)
}

fn step(node: &Node, profile: Option<&Profile>) -> PlanStep {
    let mut inputs: Vec<PlanStep> = node.inputs().into_iter().map(|input| step(input, profile)).collect();
    let (mut conditions, mut ways) = (Vec::new(), Vec::new());
    let explained = node.explain();
    match explained.step {
        Step::Table(scan) => {
            conditions = condition_lines(scan, &[]);
            ways = not_taken(scan, false);
        }
        Step::LookupJoin(join) => {
            let inner = &join.inner;
            inputs.push(PlanStep {
                label: access_label(&inner.path, &inner.alias, true),
                is_access: true,
                conditions: condition_lines(inner, &join.outer.column_names()),
                rows: inner.examined * inner.filtered / 100.0,
                cost_us: None,
                actual: profile.map(|profile| actual(&profile.node(inner.id))),
                rejected: not_taken(inner, true),
                inputs: Vec::new(),
            });
            if let Some(fallback) = &join.fallback {
                conditions.push(format!("after {} outer rows and entries: a hash join", fallback.after));
            }
        }
        _ => {}
    }
    let has_figures = !node.operator.as_node().is_transparent();
    PlanStep {
        is_access: matches!(explained.step, Step::Table(_)),
        label: explained.label,
        conditions,
        rows: node.estimate.rows,
        cost_us: Some(node.estimate.cost_us),
        actual: profile.filter(|_| has_figures).map(|profile| actual(&profile.node(node.id))),
        rejected: ways,
        inputs,
    }
}

fn actual(node: &NodeProfile) -> ActualStep {
    ActualStep {
        rows: node.rows,
        loops: node.loops,
        time: node.time,
        entries_examined: node.counters.leafline_entries_examined,
        rows_fetched: node.counters.leafline_rows_fetched,
        pages_requested: node.page_requests,
        pages_read: node.pages_read,
    }
}

fn not_taken(scan: &Scan, inner: bool) -> Vec<RejectedPath> {
    let chosen = access_label(&scan.path, &scan.alias, inner);
    let ways = rejected(scan, &chosen).into_iter();
    ways.map(|(label, way)| RejectedPath { label, cost_us: way.cost_us, rows: way.examined }).collect()
}
