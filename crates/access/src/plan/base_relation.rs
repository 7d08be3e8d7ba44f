//! A table under conditions, and what may be done with its indexes.

use super::path_builder::PathRequest;
use super::permission::Permission;
use crate::path::LocatorSet;
use leafline_expr::Expr;

/// A table of a query block under its conditions, as the planner is asked about it (PostgreSQL's base relation).
#[derive(Clone, Debug)]
pub struct BaseRelation<'a> {
    /// Table, conjuncts, columns.
    pub request: PathRequest<'a>,
    /// Conjuncts that follow from others together with the tables read before, such as what the branches of an OR have in common for
    /// this table (derived conjuncts). They sharpen estimates and are not evaluated.
    pub derived_conjuncts: &'a [Expr],
    /// Which indexes may be used, by position in the table.
    pub allowed: &'a dyn AllowsIndex,
    /// Include indexes that would be read in full, for their order.
    pub every_index: bool,
    /// Whether scans may leap over entries that fail.
    pub skip_scan: Permission<'a>,
    /// Which indexes may be put together.
    pub merging: Merging<'a>,
    /// The searches whose scores are delivered if rows are found by them, by number, each with the columns that are
    /// wanted then.
    pub scored: &'a [(usize, Vec<usize>)],
    /// Look at rows to learn how many the conditions leave: where more depends on that than what is shown.
    pub sample_rows: bool,
}

/// Which indexes may be used.
pub trait AllowsIndex: std::fmt::Debug {
    /// Whether the index at this position may be used to find rows.
    fn allows(&self, index: usize) -> bool;
    /// Whether a table scan is the last resort (FORCE INDEX).
    fn avoids_scan(&self) -> bool;
}

/// Every index may be used.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyIndex;

impl AllowsIndex for AnyIndex {
    fn allows(&self, _index: usize) -> bool {
        true
    }

    fn avoids_scan(&self) -> bool {
        false
    }
}

/// The index merges that a plan may have, as `optimizer_switch` and hints allow.
#[derive(Clone, Copy, Debug)]
pub struct Merging<'a> {
    /// Rows that several indexes name each.
    pub intersection: bool,
    /// Rows that one of several indexes names, in the order of their locators.
    pub union: bool,
    /// Unions in any order.
    pub sort_union: bool,
    /// Looking the entries of an index up in such a set.
    pub rowid_filter: bool,
    /// The indexes that may be put together.
    pub indexes: Permission<'a>,
}

impl Merging<'_> {
    /// Whatever is cheapest.
    pub const ANY: Merging<'static> = Merging {
        intersection: true,
        union: true,
        sort_union: true,
        rowid_filter: true,
        indexes: Permission::GIVEN,
    };

    pub(super) fn allows(&self, position: usize) -> bool {
        self.indexes.allows(position)
    }

    pub(super) fn allows_set(&self, set: &LocatorSet) -> bool {
        match set {
            LocatorSet::Entries(_) | LocatorSet::Search(_) => true,
            LocatorSet::All(_) => self.intersection,
            LocatorSet::Any(_) if set.is_in_order() => self.union,
            LocatorSet::Any(_) => self.sort_union,
        }
    }
}
