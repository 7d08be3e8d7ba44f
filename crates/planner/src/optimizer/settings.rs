//! The settings of the optimizer, and the context that it reads.

use super::trace::Trace;
use crate::bound::{BoundSelect, BoundSubquery, IndexChoice};
use crate::params::{
    MAX_JOINS_TO_CHOOSE, MAX_JOINS_TO_COMPARE, MAX_JOINS_TO_SEARCH, PARALLEL_LEAST_COST_US,
    PARALLEL_PIECE_LEAVES,
};
use crate::plan::{CommonPlan, Node};
use leafline_access::{AllowsIndex, Merging, Permission, Planner, Strategy};
use leafline_expr::EvalContext;
use leafline_expr::{Expr, ExprKind};
use leafline_types::MysqlError;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Flags of `optimizer_switch` that affect plans. A cached plan belongs to one setting of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OptimizerSwitches {
    /// `index_condition_pushdown`: evaluate conditions on index entries before rows are fetched.
    pub index_condition_pushdown: bool,
    /// `skip_scan`: leap from one value of an index's leading parts to the next, past entries that cannot match or that GROUP BY
    /// or DISTINCT does not need.
    pub skip_scan: bool,
    /// `ordered_merge`: merge the ranges of several values of the index parts before those that provide the order.
    pub ordered_merge: bool,
    /// `index_merge`: fetch rows by the locators of several indexes, as the three flags below allow.
    pub index_merge: bool,
    /// `index_merge_union`: union of locators that the indexes deliver in the order of the primary key.
    pub index_merge_union: bool,
    /// `index_merge_sort_union`: union of locators that need sorting.
    pub index_merge_sort_union: bool,
    /// `index_merge_intersection`: intersection of the locators of several indexes.
    pub index_merge_intersection: bool,
    /// `rowid_filter`: test index entries against a locator set of other indexes before rows are fetched.
    pub rowid_filter: bool,
    /// `mrr`: fetch rows of index entries many at a time, sorted by clustered key.
    pub multi_range_read: bool,
    /// `batched_key_access`: look up the rows for many outer rows of a join at a time.
    pub batched_key_access: bool,
    /// `block_nested_loop`: join by hash where it is cheaper; off: only where no index allows lookups.
    pub hash_join: bool,
    /// `runtime_filter`: give the keys of a hash join's build side to scans of its probe side.
    pub runtime_filter: bool,
    /// `derived_merge`: merge simple derived tables into the query around them.
    pub derived_merge: bool,
    /// `semijoin`: turn EXISTS, IN and ANY of WHERE into semi joins, and NOT EXISTS and NOT IN into anti joins.
    pub semijoin: bool,
    /// `subquery_to_derived`: turn a correlated subquery of one aggregate into a grouped table.
    pub subquery_to_derived: bool,
    /// `derived_condition_pushdown`: evaluate conditions on a derived table inside it.
    pub derived_condition_pushdown: bool,
    /// `use_invisible_indexes`: treat INVISIBLE indexes as visible.
    pub use_invisible_indexes: bool,
    /// `materialization`: join with the materialized distinct rows of a subquery.
    pub materialization: bool,
    /// `firstmatch`: look for the first match of each row; off: only where there is no other method.
    pub first_match: bool,
    /// MySQL's flags that no plan depends on here, kept as set: bit n stands for `UNUSED_SWITCHES[n]`.
    pub unused: u16,
}

/// MySQL's flags that no plan depends on here: flags of missing strategies, of choices that the price always decides, and flags
/// that MySQL ignores too. All are on by default.
pub const UNUSED_SWITCHES: [&str; 10] = [
    "engine_condition_pushdown",
    "mrr_cost_based",
    "loosescan",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "hash_join",
    "prefer_ordering_index",
    "hash_set_operations",
];

impl Default for OptimizerSwitches {
    fn default() -> OptimizerSwitches {
        OptimizerSwitches {
            index_condition_pushdown: true,
            skip_scan: true,
            ordered_merge: true,
            index_merge: true,
            index_merge_union: true,
            index_merge_sort_union: true,
            index_merge_intersection: true,
            rowid_filter: true,
            multi_range_read: true,
            batched_key_access: true,
            hash_join: true,
            runtime_filter: true,
            derived_merge: true,
            semijoin: true,
            subquery_to_derived: true,
            derived_condition_pushdown: true,
            use_invisible_indexes: false,
            materialization: true,
            first_match: true,
            unused: u16::MAX,
        }
    }
}

impl OptimizerSwitches {
    /// Returns the allowed index merges of a table. A hint overrides the switches.
    pub(super) fn merging<'h>(&self, hint: Option<&'h Strategy>) -> Merging<'h> {
        let demanded = hint.is_some_and(|strategy| strategy.wanted);
        let allows = |flag: bool| demanded || (self.index_merge && flag);
        Merging {
            intersection: allows(self.index_merge_intersection),
            union: allows(self.index_merge_union),
            sort_union: allows(self.index_merge_sort_union),
            rowid_filter: self.rowid_filter,
            indexes: Permission { switch: true, hint },
        }
    }
}

/// The limits of parallel execution: number of threads, and the least work that they share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// `max_parallel_degree`: maximum number of threads, the statement's own included.
    pub threads: usize,
    /// The least price of a part that two threads share, microseconds. Each further thread needs half of it more.
    pub least_cost_us: f64,
    /// Number of leaves that a thread takes at a time.
    pub piece_leaves: usize,
}

impl Parallelism {
    /// Makes the settings for that many threads.
    pub fn new(threads: usize) -> Parallelism {
        Parallelism { threads, least_cost_us: PARALLEL_LEAST_COST_US, piece_leaves: PARALLEL_PIECE_LEAVES }
    }

    /// Returns how many threads share a part of that price.
    pub fn degree(&self, cost_us: f64) -> usize {
        let each = self.least_cost_us / 2.0;
        if each > 0.0 { self.threads.min((cost_us / each).max(2.0) as usize) } else { self.threads }
    }

    /// No part is shared.
    pub const NONE: Parallelism =
        Parallelism { threads: 1, least_cost_us: f64::INFINITY, piece_leaves: PARALLEL_PIECE_LEAVES };
}

/// The conditions for placing a runtime filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuntimeFilterSettings {
    /// Greatest share of the probe rows that the join may be expected to leave.
    pub most_left: f64,
    /// Least number of entries that the scan must be expected to examine.
    pub least_entries: f64,
}

impl Default for RuntimeFilterSettings {
    fn default() -> RuntimeFilterSettings {
        RuntimeFilterSettings { most_left: 0.8, least_entries: 2_000.0 }
    }
}

/// The limits of a plan for first rows before it is given up, and of a lookup join before it becomes a hash join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetSettings {
    /// Multiple of the expected entries that may be examined, whatever the other plan costs: passing rows may be spread unevenly.
    pub uneven: f64,
    /// A plan whose first rows may be rejected is taken for its order if sorting is expected to cost this many times more.
    pub bet: f64,
    /// Number of entries that may be examined in any case.
    pub least: f64,
    /// Lookups end when they have cost this multiple of reading and hashing the table.
    pub lookups: f64,
    /// Least further price of the lookups, microseconds, for which a fallback is planned.
    pub least_us: f64,
}

impl Default for BudgetSettings {
    fn default() -> BudgetSettings {
        BudgetSettings { uneven: 2.0, bet: 1.3, least: 1_000.0, lookups: 1.0, least_us: 50_000.0 }
    }
}

/// Plans query blocks inside others, so that the planner of a block's tables need not know how a whole block is planned.
pub(super) trait BlockPlanner: Sync {
    /// Plans a derived table.
    fn plan_derived(
        &self,
        select: &BoundSelect,
        cx: &mut OptimizerContext<'_, '_>,
    ) -> Result<Node, MysqlError>;
}

/// The context of planning: data, settings, and the plans made so far.
pub struct OptimizerContext<'c, 'a> {
    blocks: &'static dyn BlockPlanner,
    /// Data, prices and statistics.
    pub planner: Planner<'c>,
    /// Evaluates constants: has the parameters, the time and session facts.
    pub eval: &'c mut EvalContext<'a>,
    /// The session's switches.
    pub switches: OptimizerSwitches,
    /// The threads that the plan may use.
    pub parallelism: Parallelism,
    /// The limits after which a plan is given up for another.
    pub patience: BudgetSettings,
    /// The conditions for placing runtime filters.
    pub filtering: RuntimeFilterSettings,
    /// The statement calls stored functions or fires triggers.
    pub calls_programs: bool,
    /// The plan is made for EXPLAIN and records the paths that were not taken.
    pub explains: bool,
    /// Records the comparisons of plans, if wanted.
    pub trace: Option<Trace>,
    /// The common tables planned so far that run by themselves.
    pub commons: BTreeMap<usize, CommonPlan>,
    /// The subqueries of the statement's expressions, by number.
    pub subqueries: &'c [BoundSubquery],
    /// The subqueries that became joins.
    pub unnested: BTreeSet<usize>,
    /// Subqueries up to this number are planned by themselves even if they became joins.
    kept: Option<usize>,
    /// The price of a run of each subquery, once computed, microseconds.
    pub(super) subquery_costs: HashMap<usize, f64>,
    /// Number of nested choices by price being made.
    pub(super) choosing: usize,
    /// Number of joins of two inputs that were considered for the statement. The effort of planning grows with it.
    pub joins_considered: usize,
    /// Subqueries that are prepared for being pulled up, with their own subqueries turned into joins, by number.
    pub(super) flattened: HashMap<usize, PulledUpSubquery>,
}

/// A subquery in the form that is pulled up into the query around it.
#[derive(Clone)]
pub(super) struct PulledUpSubquery {
    pub query: BoundSelect,
    /// The subqueries that became joins in it.
    pub unnested: BTreeSet<usize>,
}

impl<'c, 'a> OptimizerContext<'c, 'a> {
    /// Plans a derived table.
    pub(super) fn plan_derived(&mut self, select: &BoundSelect) -> Result<Node, MysqlError> {
        self.blocks.plan_derived(select, self)
    }

    /// Makes the context for a statement with these subqueries in its expressions and one thread; `blocks` plans the queries
    /// inside others.
    pub(super) fn with(
        blocks: &'static dyn BlockPlanner,
        planner: Planner<'c>,
        eval: &'c mut EvalContext<'a>,
        switches: OptimizerSwitches,
        subqueries: &'c [BoundSubquery],
    ) -> OptimizerContext<'c, 'a> {
        OptimizerContext {
            blocks,
            planner,
            eval,
            switches,
            parallelism: Parallelism::NONE,
            patience: BudgetSettings::default(),
            filtering: RuntimeFilterSettings::default(),
            calls_programs: false,
            explains: false,
            trace: None,
            commons: BTreeMap::new(),
            subqueries,
            unnested: BTreeSet::new(),
            kept: None,
            subquery_costs: HashMap::new(),
            choosing: 0,
            joins_considered: 0,
            flattened: HashMap::new(),
        }
    }
}

impl OptimizerContext<'_, '_> {
    /// Whether rewritings of a query may still be compared by price.
    pub(super) fn may_choose(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_CHOOSE
    }

    /// Whether every order of joins may still be tried.
    pub(super) fn may_search(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_SEARCH
    }

    /// Whether the next table to join may still be chosen by comparison.
    pub(super) fn may_compare(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_COMPARE
    }

    /// Plans the subqueries of an expression by themselves even if they become joins elsewhere, because the expression is
    /// evaluated separately.
    pub fn keep_subqueries(&mut self, expr: &Expr) {
        expr.visit(&mut |e| {
            if let ExprKind::Subquery(subquery) = &e.kind {
                self.kept = self.kept.max(Some(subquery.number));
            }
            true
        });
    }

    /// Whether a subquery is planned by itself although it became a join. Subqueries inside a kept one have lower numbers.
    pub(super) fn is_kept(&self, number: usize) -> bool {
        self.kept.is_some_and(|last| number <= last)
    }
}

/// Index hints in the form that the path chooser asks for.
#[derive(Debug)]
pub(super) struct HintedIndexes<'h>(pub &'h IndexChoice);

impl AllowsIndex for HintedIndexes<'_> {
    fn allows(&self, index: usize) -> bool {
        self.0.only.as_ref().is_none_or(|only| only.contains(&index)) && !self.0.ignored.contains(&index)
    }

    fn avoids_scan(&self) -> bool {
        self.0.forced
    }
}
