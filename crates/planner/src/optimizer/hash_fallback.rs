//! Decides when a lookup join falls back to a hash join.
//!
//! A lookup join is chosen because few left rows are expected. With many more rows, reading the table once is better. The number
//! of further rows is unknown, so lookups end when they have cost as much as reading and hashing the table will. The total is
//! then at most about twice the price of the better method. Delivered rows stay delivered: each left row is joined by one of the
//! two methods.

use super::members::{JoinConditions, JoinPlanner, PreparedMember};
use super::partial::{FallbackJoin, JoinPlanRef, Partial, Step};
use crate::bound::RelationSource;
use leafline_access::{Candidate, JoinType, Price};

impl JoinPlanner<'_, '_, '_> {
    /// Makes the hash join that a lookup join with `candidate`, for `price`, falls back to. `None`: the number of rows is certain
    /// enough, too little is at stake, or the member cannot be joined by hash.
    pub(super) fn fallback_of_lookup(
        &self,
        left: &JoinPlanRef,
        member: &PreparedMember,
        matching: &JoinConditions,
        (candidate, price): (&Candidate, Price),
        keep_order: bool,
    ) -> Option<FallbackJoin> {
        let relation = member.relation.and_then(|relation| self.select.relations.get(relation))?;
        if relation.lock.is_some() || !self.may_hash(member) {
            return None;
        }
        let (keys, conditions) = self.hash_keys(&matching.join_conjuncts, left.relations, member.relations);
        let loses_order = keep_order && matching.join_type == JoinType::LeftOuter && !conditions.is_empty();
        if keys.is_empty() || loses_order || conditions.iter().any(|condition| condition.is_volatile()) {
            return None;
        }
        let patience = self.cx.patience;
        let cpu = &self.cx.planner.model.cpu;
        let right = member.own.clone();
        let per_row = price.total_us / left.rows.max(1.0) - cpu.hash_probe;
        let other_us = right.cost_us + right.rows * cpu.hash_build;
        let rows =
            (patience.lookups * other_us / per_row).max(left.rows * patience.uneven).max(patience.least);
        let at_stake = (self.most_rows(left) - rows) * per_row;
        let worth = per_row > 0.0 && rows.is_finite() && at_stake >= patience.least_us;
        let after = rows * (1.0 + candidate.examined);
        worth.then_some(FallbackJoin { after, right, keys, conditions })
    }

    /// Returns the greatest number of rows that a partial plan can have if all conditions let all rows pass.
    fn most_rows(&self, partial: &Partial) -> f64 {
        match &partial.step {
            Step::Access { candidate, .. } if candidate.path.is_unique_lookup() => 1.0,
            // The number of unfiltered rows is known.
            Step::Access { relation, candidate }
                if candidate.rows < candidate.examined || !candidate.path.constraint.is_unbounded() =>
            {
                self.table_rows(*relation).unwrap_or(partial.rows)
            }
            Step::Access { .. } => partial.rows,
            Step::Derived { .. } => partial.rows,
            Step::Filter { input, .. } => self.most_rows(input),
            Step::Lookup { left, relation, candidate, join_type, .. } => {
                let each = match join_type {
                    JoinType::Semi | JoinType::Anti => 1.0,
                    _ if candidate.path.is_unique_lookup() => 1.0,
                    _ => self.table_rows(*relation).unwrap_or(1.0),
                };
                self.most_rows(left) * each
            }
            Step::Lateral { left, .. } => self.most_rows(left),
            Step::Hash { left, right, join_type, .. } => {
                let each = if join_type.delivers_partners() { self.most_rows(right) } else { 1.0 };
                self.most_rows(left) * each
            }
        }
    }

    fn table_rows(&self, relation: usize) -> Option<f64> {
        match &self.select.relations.get(relation)?.source {
            RelationSource::Base(table) => Some(self.cx.planner.engine.rows_of(table) as f64),
            _ => None,
        }
    }
}
