//! Prices the first rows of a plan, where a LIMIT asks for no more, and bounds the work of a plan on them before it is given up.
//!
//! Rows are fetched in sweeps that begin small, and the first sweeps cost more per row than the average. An operator that builds
//! or sorts before it delivers is paid in full.

use super::members::JoinPlanner;
use super::partial::{Partial, Step};
use crate::params::{LEAST_SHARE, SHARE_HALVINGS};
use leafline_access::{AccessPath, Candidate, ScanOrder};

impl JoinPlanner<'_, '_, '_> {
    /// Returns the price of a plan of which only a share of the rows is read, microseconds.
    pub(super) fn partly(&self, plan: &Partial, share: f64) -> f64 {
        if share >= 1.0 {
            return plan.cost_us;
        }
        let model = self.cx.planner.model;
        // The price of a share of the rows: the startup in full, and that share of the rest.
        let even = |cost_us: f64, startup_us: f64| {
            let startup_us = startup_us.min(cost_us);
            startup_us + (cost_us - startup_us) * share
        };
        match &plan.step {
            Step::Access { candidate, .. } => {
                // The surcharge that makes the path a last resort comes on top of its own price.
                let beyond = plan.cost_us - candidate.price(1.0, model).total_us;
                beyond + candidate.part(share).price(1.0, model).total_us
            }
            Step::Filter { input, .. } => {
                self.partly(input, share) + (plan.cost_us - input.cost_us).max(0.0) * share
            }
            Step::Lookup { left, candidate, .. } => {
                let loops = left.rows.max(1.0);
                let all_us = candidate.price(loops, model).total_us;
                let first = self.for_first_rows(left, candidate, share);
                let part =
                    first.price((loops * share).max(1.0), model).total_us / all_us.max(f64::MIN_POSITIVE);
                self.partly(left, share) + (plan.cost_us - left.cost_us).max(0.0) * part.min(1.0)
            }
            Step::Hash { left, right, build_left, .. } => {
                let streamed = if *build_left { right } else { left };
                let own = plan.cost_us - streamed.cost_us;
                self.partly(streamed, share) + even(own, plan.startup_us - streamed.startup_us)
            }
            Step::Derived { .. } | Step::Lateral { .. } => even(plan.cost_us, plan.startup_us),
        }
    }

    /// Adjusts a candidate for the first of the left rows, where these come in the order of a table.
    fn for_first_rows(&self, left: &Partial, candidate: &Candidate, share: f64) -> Candidate {
        let outer = match &left.step {
            Step::Filter { input, .. } => &input.step,
            step => step,
        };
        let narrowed = || {
            let Step::Access { relation, candidate: outer } = outer else { return None };
            let bound = self.select.relations.get(*relation)?;
            let column = candidate.path.constraint.equal_values().first().copied()??.as_column()?;
            let column = column.checked_sub(bound.columns.start)?;
            let AccessPath { table, index, order, constraint, .. } = &outer.path;
            let (first, part) = (index.key_columns.first()?, index.key_parts.first()?);
            if column >= table.columns.len() || *order == ScanOrder::Any || !constraint.is_unbounded() {
                return None;
            }
            let reverse = (*order == ScanOrder::Reverse) != part.descending;
            let planner = &self.cx.planner;
            planner.for_first_rows_of(table, (*first, reverse), share, column, candidate).ok()
        };
        narrowed().unwrap_or_else(|| candidate.clone())
    }

    /// Returns how many entries a plan may examine for a share of its rows before the alternative, which takes `other_us`, would
    /// have been cheaper. `None`: no limit.
    pub(super) fn allowance(&self, plan: &Partial, share: f64, other_us: f64) -> Option<u64> {
        if is_certain(plan) {
            return None;
        }
        let (mut worth, mut too_much): (f64, f64) = (LEAST_SHARE, 1.0);
        for _ in 0..SHARE_HALVINGS {
            let middle = (worth * too_much).sqrt();
            let bound = if self.partly(plan, middle) <= other_us { &mut worth } else { &mut too_much };
            *bound = middle;
        }
        let patience = self.cx.patience;
        // A locator set that is larger than estimated does not delay the steps after it.
        let examined = |share| examined(plan, share, patience.uneven);
        let all = examined(1.0);
        let uneven = examined((share * patience.uneven).min(1.0));
        let entries = examined(worth).max(uneven).max(patience.least);
        (entries < all).then_some(entries as u64)
    }
}

/// Whether the plan delivers the wanted rows first, without rejecting any.
pub(super) fn is_certain(plan: &Partial) -> bool {
    matches!(&plan.step, Step::Access { candidate, .. } if candidate.path.delivers_all())
}

/// Returns the entries that a plan examines for a share of its rows; entries of locator sets count `times` over.
fn examined(plan: &Partial, share: f64, times: f64) -> f64 {
    match &plan.step {
        Step::Access { candidate, .. } => candidate.collected() * times + candidate.examined * share,
        Step::Derived { .. } => 0.0,
        Step::Filter { input, .. } => examined(input, share, times),
        Step::Lookup { left, candidate, .. } => {
            examined(left, share, times)
                + candidate.collected() * times
                + left.rows * share * candidate.examined
        }
        Step::Lateral { left, .. } => examined(left, share, times),
        Step::Hash { left, right, build_left, .. } => {
            let (held, streamed) = if *build_left { (left, right) } else { (right, left) };
            examined(held, 1.0, times) + examined(streamed, share, times)
        }
    }
}
