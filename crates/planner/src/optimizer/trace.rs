//! What the optimizer compared, in the order in which it did: for `information_schema.OPTIMIZER_TRACE`.

use super::graph::Relations;
use super::members::JoinPlanner;
use super::partial::{Partial, Step};
use crate::plan::Considered;
use leafline_access::Candidate;

/// The steps of planning a statement.
#[derive(Debug, Default)]
pub struct Trace {
    /// One after the other.
    pub steps: Vec<TraceStep>,
}

/// A comparison.
#[derive(Debug)]
pub enum TraceStep {
    /// The ways to read a table.
    Access {
        /// Its alias.
        table: String,
        /// For their order as well.
        for_order: bool,
        /// With their prices for one run; those that depend on other tables are for a row of these.
        ways: Vec<Considered>,
    },
    /// A way to join one more table.
    Join {
        /// The aliases of those that are joined already.
        joined: Vec<String>,
        /// That of the next.
        next: Vec<String>,
        /// How.
        how: String,
        /// Rows of the join.
        rows: f64,
        /// What it costs, with what was joined before, microseconds.
        cost_us: f64,
        /// Nothing cheaper is known for these tables.
        cheapest: bool,
    },
    /// Rows in the order of an index, or sorted.
    Order {
        /// What the first costs, if there is such a plan, microseconds.
        in_order_us: Option<f64>,
        /// What the second does.
        sorted_us: f64,
        /// The first was taken.
        in_order: bool,
    },
}

impl JoinPlanner<'_, '_, '_> {
    /// Notes a step, if anybody wants to know.
    pub(super) fn note(&mut self, step: impl FnOnce(&Self) -> TraceStep) {
        if self.cx.trace.is_none() {
            return;
        }
        let step = step(self);
        if let Some(trace) = &mut self.cx.trace {
            trace.steps.push(step);
        }
    }

    /// The step of comparing candidates.
    pub(super) fn access_step(&self, relation: usize, candidates: &[Candidate]) -> TraceStep {
        let table = self.select.relations[relation].alias.clone();
        let ways = candidates.iter().map(|candidate| self.as_considered(candidate)).collect();
        TraceStep::Access { table, for_order: self.every_index, ways }
    }

    /// A candidate, as one that was compared with others.
    pub(super) fn as_considered(&self, candidate: &Candidate) -> Considered {
        Considered {
            path: candidate.path.clone().into(),
            cost_us: candidate.price(1.0, self.cx.planner.model).total_us,
            examined: candidate.examined,
        }
    }

    /// The step of joining `next` to `left`.
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

/// The last step of a plan in a few words.
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
