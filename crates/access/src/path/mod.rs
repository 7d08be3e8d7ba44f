//! Access paths: how one table is read. An immutable description, part of a plan.
//!
//! Every path walks one index. The clustered index without a constraint is the table scan. A secondary index gives
//! *entries*; conditions on their columns are evaluated there (index condition pushdown), and only what passes is looked
//! up in the clustered index, unless the entry holds all that is wanted (a covering path).
//!
//! Column numbering. Expressions of a path see a *working row* followed by the outer row, if the path is the inner side of
//! a join: `Column(i)` is working column `i` for `i < working.len()`, and outer column `i - working.len()` beyond. For
//! [`index_conditions`](AccessPath::index_conditions) the working row is
//! [`index_condition_columns`](AccessPath::index_condition_columns), for [`residual_filter`](AccessPath::residual_filter) it is
//! [`columns`](AccessPath::columns). Bounds of the constraint see the outer row alone.

mod locator_set;
mod part_use;
pub(crate) mod pruning;
mod searched;

pub(crate) use locator_set::continues_as_locator;
pub use locator_set::{Located, LocatorSet};
pub use part_use::PartUse;
pub use pruning::Pruning;
pub use searched::{Scores, Searched};

use crate::constraint::Constraint;
use crate::params::{CALLS_PER_SEARCH, COMPARISONS_PER_CALL};
use leafline_expr::{Expr, ExprKind};
use leafline_table::{IndexDef, Partition, TableDef};
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

/// How the index of a path is walked within its key ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexWalk {
    /// From one entry to the next.
    EveryEntry,
    /// Where an entry fails, the scan goes on where the next one can be that does not (leap scan).
    Leaps,
    /// Of entries with the same first parts some are enough: the first that are visible and pass, where the bounds come out exact. More
    /// may be delivered. The scan leaps from one group to the next.
    FirstOf(FirstOf),
}

/// Where the rows of a path come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The entries are the rows: the index is the clustered one.
    Rows,
    /// The entries hold every column that is wanted (covering index).
    Entries,
    /// Rows are fetched by the locators of the entries.
    Fetched {
        /// Entries with locators that are not in this set are passed over before their rows are fetched (rowid filter).
        rowid_filter: Option<Arc<LocatorSet>>,
    },
    /// The rows of these locators are looked up in the clustered index, and nothing else is read (index merge, search).
    Merged(Arc<LocatorSet>),
}

impl Source {
    /// The set of locators that is collected before the first row is read.
    pub fn locators(&self) -> Option<&Arc<LocatorSet>> {
        match self {
            Source::Rows | Source::Entries => None,
            Source::Fetched { rowid_filter } => rowid_filter.as_ref(),
            Source::Merged(set) => Some(set),
        }
    }

    /// Returns the source with another set of locators.
    fn map_locators(&self, map: impl FnOnce(&LocatorSet) -> LocatorSet) -> Source {
        match self {
            Source::Fetched { rowid_filter: Some(set) } => {
                Source::Fetched { rowid_filter: Some(Arc::new(map(set))) }
            }
            Source::Merged(set) => Source::Merged(Arc::new(map(set))),
            source => source.clone(),
        }
    }
}

/// The kinds of paths that EXPLAIN and the planner tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// All rows, in the order of the table.
    TableScan,
    /// All entries of an index.
    IndexScan,
    /// One row at most for each set of bounds: a unique key, all of whose parts are fixed and not NULL.
    UniqueLookup,
    /// The entries of some key ranges.
    RangeScan,
    /// Nothing is said about the leading part: the scan leaps from one of its values to the next.
    SkipScan,
    /// The first entries of groups (loose index scan).
    LooseScan,
    /// Rows that several indexes name together.
    IndexMerge,
    /// Rows that a search for words finds.
    Search,
}

/// The entries that are enough of those with the same first parts (loose index scan).
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
    /// How it is walked.
    pub walk: IndexWalk,
    /// Where the rows come from.
    pub source: Source,
    /// Ordinals of the table columns that the conditions on entries need.
    pub index_condition_columns: Vec<usize>,
    /// Conditions evaluated on entries. On a path that fetches rows this is index condition pushdown.
    pub index_conditions: Vec<Condition>,
    /// Ordinals of the table columns of the working row.
    pub columns: Vec<usize>,
    /// How many of them, from the first, are delivered; the others serve the conditions only.
    pub delivered: usize,
    /// Conditions evaluated on rows.
    pub residual_filter: Vec<Condition>,
    /// The ranges, which begin with values of so many parts, are walked side by side and merged in the order of the parts behind.
    pub merged: Option<usize>,
    /// Rows are fetched many at a time, sorted by clustered key (multi-range read), and looked up for many outer rows at a time (batched
    /// key access); else one by one, in the order of the index.
    pub batched: bool,
    /// Deliver the locator of each row as a last column of bytes: for UPDATE and DELETE.
    pub deliver_locators: bool,
    /// The scores that are delivered, behind the locators.
    pub scores: Option<Scores>,
    /// Which partitions are read, if the table has any.
    pub pruning: Option<Arc<Pruning>>,
}

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

/// The functions that an expression calls; a search of the texts counts as many.
fn calls(expr: &Expr) -> usize {
    let mut count = match expr.kind {
        ExprKind::Call { .. } => 1,
        ExprKind::Match(_) => CALLS_PER_SEARCH,
        _ => 0,
    };
    expr.for_each_child(&mut |child| count += calls(child));
    count
}

impl AccessPath {
    /// The kind of path that it is.
    pub fn kind(&self) -> PathKind {
        match (&self.source, &self.walk) {
            (Source::Merged(set), _) if matches!(**set, LocatorSet::Search(_)) => PathKind::Search,
            (Source::Merged(_), _) => PathKind::IndexMerge,
            (_, IndexWalk::FirstOf(_)) => PathKind::LooseScan,
            (_, IndexWalk::Leaps) if self.constraint.is_unbounded() => PathKind::SkipScan,
            _ if self.constraint.is_unbounded() => match self.is_clustered() {
                true => PathKind::TableScan,
                false => PathKind::IndexScan,
            },
            _ if self.is_unique_lookup() => PathKind::UniqueLookup,
            _ => PathKind::RangeScan,
        }
    }

    /// Whether the index is the table itself.
    pub fn is_clustered(&self) -> bool {
        self.index.is_clustered()
    }

    /// Whether it is a scan of the whole table.
    pub fn is_table_scan(&self) -> bool {
        self.kind() == PathKind::TableScan
    }

    /// Whether the scan leaps over entries.
    pub fn leaps(&self) -> bool {
        self.walk != IndexWalk::EveryEntry
    }

    /// The entries that are enough of those with the same first parts, if some are.
    pub fn first_of(&self) -> Option<&FirstOf> {
        match &self.walk {
            IndexWalk::FirstOf(first_of) => Some(first_of),
            IndexWalk::EveryEntry | IndexWalk::Leaps => None,
        }
    }

    /// Whether it fetches rows by locator.
    pub fn fetches(&self) -> bool {
        matches!(self.source, Source::Fetched { .. } | Source::Merged(_))
    }

    /// Whether the entries hold every column that is wanted.
    pub fn is_covering(&self) -> bool {
        matches!(self.source, Source::Entries)
    }

    /// Whether rows are looked up that several indexes name, or a search.
    pub fn is_index_merge(&self) -> bool {
        matches!(self.source, Source::Merged(_))
    }

    /// The search that finds the rows, if one does.
    pub fn search(&self) -> Option<&Searched> {
        match &self.source {
            Source::Merged(set) => match &**set {
                LocatorSet::Search(searched) => Some(searched),
                _ => None,
            },
            _ => None,
        }
    }

    /// The path that is read where the locators of an index merge are too many, or a search has to deliver rows that
    /// it does not find: the clustered index. Its locators take the place of scores.
    pub(crate) fn without_merge(&self) -> AccessPath {
        if !self.is_index_merge() {
            return self.clone();
        }
        let deliver_locators = self.deliver_locators || self.scores.is_some();
        let mut path = AccessPath { source: Source::Rows, deliver_locators, scores: None, ..self.clone() };
        path.evaluate_all();
        path
    }

    /// Whether rows are put back into the order of the index after they were fetched in theirs.
    pub(crate) fn restores_order(&self) -> bool {
        self.batched && self.order != ScanOrder::Any
    }

    /// The set that entries are looked up in before their rows are fetched.
    pub fn rowid_filter(&self) -> Option<&LocatorSet> {
        match &self.source {
            Source::Fetched { rowid_filter } => rowid_filter.as_deref(),
            _ => None,
        }
    }

    /// Whether conditions are evaluated before rows are fetched, where the key ranges come out exact.
    pub fn pushes_conditions(&self) -> bool {
        self.evaluates_on_entries(true)
    }

    /// Whether conditions are evaluated before rows are fetched, with key ranges that are exact or not.
    pub(crate) fn evaluates_on_entries(&self, exact: bool) -> bool {
        let evaluated = |condition: &Condition| !(exact && condition.implied);
        self.fetches() && (self.constraint.has_key_filter() || self.index_conditions.iter().any(evaluated))
    }

    /// Whether every entry of the key ranges, where these come out exact, is a row that is delivered.
    pub fn delivers_all(&self) -> bool {
        !self.constraint.has_key_filter()
            && !self.evaluates()
            && self.first_of().is_none()
            && self.source.locators().is_none()
    }

    /// Whether conditions have to be evaluated on entries or rows that pass the tests on bytes, where the bounds come out exact.
    pub fn evaluates(&self) -> bool {
        self.index_conditions.iter().chain(&self.residual_filter).any(|condition| !condition.implied)
    }

    /// Whether a [`PointRead`](crate::PointRead) can read the rows: each entry of one range is a row to deliver, the bounds are
    /// literals and parameters, and rows are fetched together.
    pub fn is_point_readable(&self) -> bool {
        self.constraint.has_known_values()
            && (!self.fetches() || self.batched)
            && self.merged.is_none()
            && !self.table.is_partitioned()
            && self.delivers_all()
            && !self.deliver_locators
    }

    /// The columns of the working row that are read: those of conditions only where one is evaluated.
    pub(crate) fn columns_read(&self, exact: bool) -> &[usize] {
        let evaluated = self.residual_filter.iter().filter(|condition| !(exact && condition.implied));
        let last = evaluated.filter_map(|condition| condition.expr.columns().last().copied()).max();
        let read = last.map_or(0, |last| last + 1).max(self.delivered);
        // Columns of outer rows stand behind all columns of the working row.
        self.columns.get(..read).unwrap_or(&self.columns)
    }

    /// The path for key ranges that are known not to be exact: every condition is evaluated, and is seen to be.
    pub(crate) fn evaluate_all(&mut self) {
        for condition in self.index_conditions.iter_mut().chain(&mut self.residual_filter) {
            condition.implied = false;
        }
    }

    /// Whether it finds one row at most for each set of bounds: a unique key, all of whose parts are fixed and not NULL.
    pub fn is_unique_lookup(&self) -> bool {
        self.index.is_unique()
            && self.index.parts.iter().all(|part| part.prefix.is_none())
            && self.constraint.equal_not_null_parts() >= self.index.parts.len()
            && !self.index.parts.is_empty()
    }
}

impl AccessPath {
    /// Returns the path over a partition of its table.
    pub(crate) fn in_partition(&self, partition: &Partition) -> AccessPath {
        let indexes = &self.table.indexes;
        let position = indexes.iter().position(|index| index.id == self.index.id);
        // One that only EXPLAIN knows is in no table.
        let own = position.map(|position| &partition.table.indexes[position]);
        AccessPath {
            table: partition.table.clone(),
            index: own.unwrap_or(&self.index).clone(),
            pruning: None,
            source: self.source.map_locators(|set| set.map_paths(&|path| path.in_partition(partition))),
            ..self.clone()
        }
    }

    /// Returns the path over all partitions of `table`, of which planning has left some out that other values of its parameters need.
    #[must_use]
    pub fn over(&self, table: &Arc<TableDef>) -> AccessPath {
        AccessPath {
            table: table.clone(),
            source: self.source.map_locators(|set| set.map_paths(&|path| path.over(table))),
            ..self.clone()
        }
    }
}
