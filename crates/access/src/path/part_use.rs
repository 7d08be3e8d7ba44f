//! The use that a path makes of each part of its index, for EXPLAIN.

use super::{AccessPath, Condition};
use std::fmt;

/// The use of a key part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartUse {
    /// It bounds the ranges that are sought.
    Seeks,
    /// Where it fails, or from one of its values to the next, the scan leaps.
    Leaps,
    /// Entries of the ranges are tested by it.
    Filters,
    /// Nothing.
    Unused,
}

impl fmt::Display for PartUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PartUse::Seeks => "seeks",
            PartUse::Leaps => "leaps",
            PartUse::Filters => "filters",
            PartUse::Unused => "unused",
        })
    }
}

impl AccessPath {
    /// Returns the use of each part that the index is declared with, in order.
    pub fn part_uses(&self) -> Vec<PartUse> {
        let tested = self.constraint.filtered_parts();
        let leaps_to = self.first_of().map_or(0, |first| first.parts);
        let leaps_to =
            if self.leaps() { tested.iter().map(|part| part + 1).fold(leaps_to, usize::max) } else { 0 };
        let (conditions, columns) = match self.fetches() {
            true => (&self.index_conditions, &self.index_condition_columns),
            false => (&self.residual_filter, &self.columns),
        };
        let reads = |condition: &Condition, column: usize| {
            let at = columns.iter().position(|known| *known == column);
            at.is_some_and(|at| condition.expr.columns().contains(&at))
        };
        let parts = self.index.key_columns.iter().take(self.index.parts.len()).enumerate();
        parts
            .map(|(part, column)| match part {
                _ if part < self.constraint.used_parts() => PartUse::Seeks,
                _ if part < leaps_to => PartUse::Leaps,
                _ if tested.contains(&part) => PartUse::Filters,
                _ if conditions.iter().any(|condition| reads(condition, *column)) => PartUse::Filters,
                _ => PartUse::Unused,
            })
            .collect()
    }
}
