//! Records the steps of comparing plans.

use super::graph::Relations;
use super::members::JoinPlanner;
use super::partial::{Partial, Step};
use super::trace::TraceStep;
use crate::plan::Considered;
use leafline_access::Candidate;

impl JoinPlanner<'_, '_, '_> {
    /// Records a step if a trace is wanted.
    pub(super) fn note(&mut self, step: impl FnOnce(&Self) -> TraceStep) {
        if self.cx.trace.is_none() {
            return;
        }
        let step = step(self);
        if let Some(trace) = &mut self.cx.trace {
            trace.steps.push(step);
        }
    }

    /// Makes the step of comparing candidates.
    pub(super) fn access_step(&self, relation: usize, candidates: &[Candidate]) -> TraceStep {
        let table = self.select.relations[relation].alias.clone();
        let ways = candidates.iter().map(|candidate| self.as_considered(candidate)).collect();
        TraceStep::Access { table, for_order: self.every_index, ways }
    }

    /// Returns a candidate in the form that the trace shows.
    pub(super) fn as_considered(&self, candidate: &Candidate) -> Considered {
        Considered {
            path: candidate.path.clone().into(),
            cost_us: candidate.price(1.0, self.cx.planner.model).total_us,
            examined: candidate.examined,
        }
    }

    /// Makes the step of joining `next` to `left`.
    pub(super) fn join_step(
        &self,
        left: Relations,
        next: Relations,
        joined: &Partial,
        cheapest: bool,
    ) -> TraceStep {
        TraceStep::Join {
            joined: self.aliases(left),
            next: self.aliases(next),
            how: how(joined),
            rows: joined.rows,
            cost_us: joined.cost_us,
            cheapest,
        }
    }

    fn aliases(&self, relations: Relations) -> Vec<String> {
        let among = |(at, _): &(usize, _)| relations.contains(Relations::one(*at));
        self.select.relations.iter().enumerate().filter(among).map(|(_, bound)| bound.alias.clone()).collect()
    }
}

/// Describes the last step of a plan in a few words.
fn how(joined: &Partial) -> String {
    match &joined.step {
        Step::Access { .. } | Step::Derived { .. } => "read".to_owned(),
        Step::Filter { input, .. } => how(input),
        Step::Lookup { candidate, .. } => format!("lookup by {}", candidate.path.index.name),
        Step::Lateral { .. } => "a run for each row".to_owned(),
        Step::Hash { build_left: true, .. } => "hash join, the rows so far in memory".to_owned(),
        Step::Hash { build_left: false, .. } => "hash join, the table's rows in memory".to_owned(),
    }
}
