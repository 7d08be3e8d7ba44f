//! Access paths: how one table is read. An immutable description, part of a plan.
//!
//! Every path walks one index. The clustered index without a constraint is the table scan. A secondary index gives
//! *entries*; conditions on their columns are evaluated there (index condition pushdown), and only what passes is looked
//! up in the clustered index, unless the entry holds all that is wanted (a covering path).
//!
//! Column numbering. Expressions of a path see a *working row* followed by the outer row, if the path is the inner side of
//! a join: `Column(i)` is working column `i` for `i < working.len()`, and outer column `i - working.len()` beyond. For
//! [`entry_conditions`](AccessPath::entry_conditions) the working row is
//! [`entry_columns`](AccessPath::entry_columns), for [`row_conditions`](AccessPath::row_conditions) it is
//! [`columns`](AccessPath::columns). Bounds of the constraint see the outer row alone.

use crate::constraint::Constraint;
use crate::index_merge::LocatorSet;
use crate::pruning::Pruning;
use leafline_expr::{Expr, ExprKind};
use leafline_table::{IndexDef, TableDef};
use std::sync::Arc;

/// The direction in which an index is walked, and whether anybody relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOrder {
    /// The order of the rows does not matter: whatever is fastest.
    Any,
    /// Rows come in index order.
    Forward,
    /// Rows come in reverse index order.
    Reverse,
}

/// The type of a join: which rows of its left side it delivers, and with which columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinType {
    /// Each left row with every partner.
    Inner,
    /// Each left row with every partner, or once with NULLs where it has none.
    LeftOuter,
    /// Left rows that have a partner, once each, without columns of the right side.
    Semi,
    /// Left rows that have no partner, without columns of the right side.
    Anti,
}

impl JoinType {
    /// Whether the join delivers the columns of its right side.
    pub fn delivers_partners(self) -> bool {
        matches!(self, JoinType::Inner | JoinType::LeftOuter)
    }
}

/// A condition of a path.
#[derive(Clone, Debug)]
pub struct Condition {
    /// To be true. Columns are numbered as the module says.
    pub expr: Expr,
    /// The key ranges imply it when they come out exact; then it is not evaluated.
    pub implied: bool,
}

/// Of entries with the same first parts, the first few are enough (loose index scan).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstOf {
    /// How many parts.
    pub parts: usize,
    /// How many entries.
    pub count: usize,
    /// As many of the last are wanted, too: the scan goes through the index once in each direction.
    pub both_ends: bool,
    /// The bytes of a NULL in the part behind them, if an entry with it is not enough where there is one without.
    pub null: Option<Vec<u8>>,
}

/// How a table is read.
#[derive(Clone, Debug)]
pub struct AccessPath {
    /// The table.
    pub table: Arc<TableDef>,
    /// The index that is walked.
    pub index: Arc<IndexDef>,
    /// Which part of it.
    pub constraint: Constraint,
    /// In which order.
    pub order: ScanOrder,
    /// Every column that is wanted is in the entry: no row is fetched.
    pub covering: bool,
    /// Ordinals of the table columns that the conditions on entries need.
    pub entry_columns: Vec<usize>,
    /// Conditions evaluated on entries. On a path that fetches rows this is index condition pushdown.
    pub entry_conditions: Vec<Condition>,
    /// Ordinals of the table columns of the working row.
    pub columns: Vec<usize>,
    /// How many of them, from the first, are delivered; the others serve the conditions only.
    pub delivered: usize,
    /// Conditions evaluated on rows.
    pub row_conditions: Vec<Condition>,
    /// Where an entry fails, the scan goes on where the next one can be that does not; else with the next entry.
    pub leaps: bool,
    /// Of entries with the same first parts some are enough: the first that are visible and pass, where the bounds come out exact. More
    /// may be delivered. Such a path leaps.
    pub first_of: Option<FirstOf>,
    /// The ranges, which begin with values of so many parts, are walked side by side and merged in the order of the parts behind.
    pub merged: Option<usize>,
    /// Only rows whose locators are in this set. On the clustered index these are looked up, and nothing else is read (index merge); on
    /// another one entries with other locators are passed over before rows are fetched (rowid filter).
    pub locators: Option<Arc<LocatorSet>>,
    /// Rows are fetched many at a time, sorted by clustered key (multi-range read), and looked up for many outer rows at a time (batched
    /// key access); else one by one, in the order of the index.
    pub batched: bool,
    /// Deliver the locator of each row as a last column of bytes: for UPDATE and DELETE.
    pub deliver_locators: bool,
    /// Which partitions are read, if the table has any.
    pub pruning: Option<Arc<Pruning>>,
}

/// Comparisons in whose time a function is called.
const COMPARISONS_PER_CALL: usize = 2;

/// How many comparisons conditions make, those of ORs and ANDs inside them, and the functions that they call, beyond one each.
pub(crate) fn more_comparisons(conditions: &[Condition]) -> f64 {
    let evaluated = conditions.iter().filter(|condition| !condition.implied);
    evaluated.map(|condition| comparisons(&condition.expr).saturating_sub(1) as f64).sum()
}

fn comparisons(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::And(all) | ExprKind::Or(all) => all.iter().map(comparisons).sum(),
        ExprKind::Not(inner) => comparisons(inner),
        _ => 1 + COMPARISONS_PER_CALL * calls(expr),
    }
}

fn calls(expr: &Expr) -> usize {
    let mut count = usize::from(matches!(expr.kind, ExprKind::Call { .. }));
    expr.for_each_child(&mut |child| count += calls(child));
    count
}

impl AccessPath {
    /// Is the index the table itself?
    pub fn is_clustered(&self) -> bool {
        self.index.is_clustered()
    }

    /// Is it a scan of the whole table?
    pub fn is_table_scan(&self) -> bool {
        self.is_clustered() && self.constraint.is_unbounded() && !self.leaps && self.locators.is_none()
    }

    /// Is nothing said about the leading part, and the scan leaps from one of its values to the next (skip scan)?
    pub fn is_skip_scan(&self) -> bool {
        self.constraint.is_unbounded() && self.leaps && self.first_of.is_none()
    }

    /// Does it fetch rows by locator?
    pub fn fetches(&self) -> bool {
        self.is_index_merge() || (!self.is_clustered() && !self.covering)
    }

    /// Are rows looked up that several indexes name?
    pub fn is_index_merge(&self) -> bool {
        self.is_clustered() && self.locators.is_some()
    }

    /// The same without index merge: what is read where its locators are too many.
    pub(crate) fn without_merge(&self) -> AccessPath {
        AccessPath { locators: None, ..self.clone() }
    }

    /// Are rows put back into the order of the index after they were fetched in theirs?
    pub(crate) fn restores_order(&self) -> bool {
        self.batched && self.order != ScanOrder::Any
    }

    /// The set that entries are looked up in before their rows are fetched.
    pub fn rowid_filter(&self) -> Option<&LocatorSet> {
        self.locators.as_deref().filter(|_| !self.is_clustered())
    }

    /// Are conditions evaluated before rows are fetched, where the key ranges come out exact?
    pub fn pushes_conditions(&self) -> bool {
        self.evaluates_on_entries(true)
    }

    /// Are conditions evaluated before rows are fetched, with key ranges that are exact or not?
    pub(crate) fn evaluates_on_entries(&self, exact: bool) -> bool {
        let evaluated = |condition: &Condition| !(exact && condition.implied);
        self.fetches() && (self.constraint.has_tests() || self.entry_conditions.iter().any(evaluated))
    }

    /// Is every entry of the key ranges, where these come out exact, a row that is delivered?
    pub fn delivers_all(&self) -> bool {
        !self.constraint.has_tests()
            && !self.evaluates()
            && self.first_of.is_none()
            && self.locators.is_none()
    }

    /// Do conditions have to be evaluated on entries or rows that pass the tests on bytes, where the bounds come out exact?
    pub fn evaluates(&self) -> bool {
        self.entry_conditions.iter().chain(&self.row_conditions).any(|condition| !condition.implied)
    }

    /// The columns of the working row that are read: those of conditions only where one is evaluated.
    pub(crate) fn columns_read(&self, exact: bool) -> &[usize] {
        match exact && self.row_conditions.iter().all(|condition| condition.implied) {
            true => &self.columns[..self.delivered],
            false => &self.columns,
        }
    }

    /// The path for key ranges that are known not to be exact: every condition is evaluated, and is seen to be.
    pub(crate) fn evaluate_all(&mut self) {
        for condition in self.entry_conditions.iter_mut().chain(&mut self.row_conditions) {
            condition.implied = false;
        }
    }

    /// Does it find one row at most for each set of bounds: a unique key, all of whose parts are fixed and not NULL?
    pub fn is_unique_lookup(&self) -> bool {
        self.index.is_unique()
            && self.index.parts.iter().all(|part| part.prefix.is_none())
            && self.constraint.equal_not_null_parts() >= self.index.parts.len()
            && !self.index.parts.is_empty()
    }
}
