//! How often a scan leaps, estimated.
//!
//! For each value of the parts before a node that it meets, a scan leaps once to leave it, and once to every edge that has entries. Behind a
//! point the next node is met once per value of the parts before; behind an interval once for every value inside, which can be
//! as often as there are entries.

use crate::constraint::{Bounds, Link, Node};
use crate::params::{LEAP_ESTIMATE_EDGES, LEAP_ESTIMATE_RANGES};
use crate::stats::IndexStatistics;
use std::collections::HashMap;
use std::sync::Arc;

/// Statistics of an index, and the shares of its parts' values that conditions leave.
pub struct LeapEstimate<'a> {
    /// Entries per value of the leading parts.
    pub statistics: &'a IndexStatistics,
    /// The share of the values of a part that is in the intervals it is tested for.
    pub share: &'a dyn Fn(usize) -> f64,
}

impl LeapEstimate<'_> {
    /// How often a scan of the ranges leaps that examines so many entries if it does not; `None`: its entries are not tested.
    pub fn leaps(&self, bounds: &Bounds, examined: f64) -> Option<f64> {
        let count = bounds.ranges.len() as f64;
        let mut known = HashMap::new();
        let (mut leaps, mut seen, mut tested) = (0.0, 0.0, false);
        for range in bounds.ranges.iter().step_by(bounds.ranges.len().div_ceil(LEAP_ESTIMATE_RANGES).max(1)) {
            seen += 1.0;
            if let Link::To(node) = &range.key_filter {
                tested = true;
                let groups = (examined / count / self.statistics.entries_per(node.part)).max(1.0);
                leaps += groups * self.per_group(node, &mut known);
            }
        }
        tested.then(|| (leaps * count / seen).min(examined))
    }

    /// Estimates the leaps of a test of a part whose values are not known yet.
    pub fn leaps_to_one_place(&self, part: usize, examined: f64) -> f64 {
        (2.0 * (examined / self.statistics.entries_per(part)).max(1.0)).min(examined)
    }

    /// Leaps for one value of the parts before a node.
    fn per_group(&self, node: &Arc<Node>, known: &mut HashMap<*const Node, f64>) -> f64 {
        if let Some(leaps) = known.get(&Arc::as_ptr(node)) {
            return *leaps;
        }
        let values = self.values_within(node.part, node.part + 1);
        let edges = node.edges.len() as f64;
        let met = edges.min(values);
        let (mut behind, mut seen) = (0.0, 0.0);
        for edge in node.edges.iter().step_by(node.edges.len().div_ceil(LEAP_ESTIMATE_EDGES).max(1)) {
            seen += 1.0;
            if let Link::To(next) = &edge.next {
                let inside =
                    if edge.interval.point { 1.0 } else { (values * (self.share)(node.part)).max(1.0) };
                let groups = inside * self.values_within(node.part + 1, next.part);
                behind += groups * self.per_group(next, known);
            }
        }
        let leaps = 1.0 + met + behind * met / f64::max(seen, 1.0);
        known.insert(Arc::as_ptr(node), leaps);
        leaps
    }

    /// Distinct values of the parts `from` to `to` per value of the parts before.
    fn values_within(&self, from: usize, to: usize) -> f64 {
        (self.statistics.entries_per(from) / self.statistics.entries_per(to)).max(1.0)
    }
}
