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

/// Flags of `optimizer_switch` that decide plans. A cached plan belongs to one setting of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OptimizerSwitches {
    /// `index_condition_pushdown`: evaluate conditions on index entries before rows are fetched.
    pub index_condition_pushdown: bool,
    /// `skip_scan`: leap over entries of an index that cannot match, or are not needed for GROUP BY or DISTINCT, from one value of its
    /// leading parts to the next.
    pub skip_scan: bool,
    /// `ordered_merge`: merge the ranges of several values of the parts before those that give the order.
    pub ordered_merge: bool,
    /// `index_merge`: fetch rows that several indexes name together, as the three flags below allow.
    pub index_merge: bool,
    /// `index_merge_union`: rows that one of several indexes names, where these give them in the order of the primary key.
    pub index_merge_union: bool,
    /// `index_merge_sort_union`: the same where they do not.
    pub index_merge_sort_union: bool,
    /// `index_merge_intersection`: rows that each of several indexes names.
    pub index_merge_intersection: bool,
    /// `rowid_filter`: look the entries of an index up among those of others before their rows are fetched.
    pub rowid_filter: bool,
    /// `mrr`: fetch rows by an index many at a time, sorted by clustered key.
    pub multi_range_read: bool,
    /// `batched_key_access`: so look up the rows for many rows of a join at a time.
    pub batched_key_access: bool,
    /// `block_nested_loop`: join by hashing where it is cheaper; off: only where there is no index to look rows up in.
    pub hash_join: bool,
    /// `runtime_filter`: tell the scans of one side of a hash join of the keys of the other.
    pub runtime_filter: bool,
    /// `derived_merge`: make simple derived tables part of the query around them.
    pub derived_merge: bool,
    /// `semijoin`: make EXISTS, IN and ANY of WHERE semi joins, and NOT EXISTS and NOT IN anti joins.
    pub semijoin: bool,
    /// `subquery_to_derived`: make a subquery that is one aggregate, of rows equal to the query's around it, a grouped table.
    pub subquery_to_derived: bool,
    /// `derived_condition_pushdown`: evaluate conditions on a subquery in FROM inside it.
    pub derived_condition_pushdown: bool,
    /// `use_invisible_indexes`: as if there were no INVISIBLE indexes.
    pub use_invisible_indexes: bool,
    /// `materialization`: join with the distinct rows of a subquery, by themselves.
    pub materialization: bool,
    /// `firstmatch`: look for the first partner of each row; off: only where there is no other way.
    pub first_match: bool,
    /// Flags of MySQL's that no plan depends on here, kept as they are set: bit n is that of `UNUSED_SWITCHES[n]`.
    pub unused: u16,
}

/// Flags of MySQL's that no plan depends on here: of strategies that there are not, of choices that are always made by price, and such as MySQL
/// does not heed either. All are on by default.
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
    /// The index merges of a table that they allow. A hint stands above them.
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

/// How many threads may share a part of a plan, and which parts they share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// `max_parallel_degree`: at most so many; one is the statement's own.
    pub threads: usize,
    /// The least price of a part that two threads share, microseconds; half of it more for each further thread.
    pub least_cost_us: f64,
    /// How many leaves a thread takes at a time.
    pub piece_leaves: usize,
}

impl Parallelism {
    /// For so many threads.
    pub fn new(threads: usize) -> Parallelism {
        Parallelism { threads, least_cost_us: PARALLEL_LEAST_COST_US, piece_leaves: PARALLEL_PIECE_LEAVES }
    }

    /// How many threads share a part that costs so much.
    pub fn degree(&self, cost_us: f64) -> usize {
        let each = self.least_cost_us / 2.0;
        if each > 0.0 { self.threads.min((cost_us / each).max(2.0) as usize) } else { self.threads }
    }

    /// Nothing is shared.
    pub const NONE: Parallelism =
        Parallelism { threads: 1, least_cost_us: f64::INFINITY, piece_leaves: PARALLEL_PIECE_LEAVES };
}

/// Which keys of hash joins scans are told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuntimeFilterSettings {
    /// Joins that are expected to leave this part of the rows at most have filters.
    pub most_left: f64,
    /// Scans that are expected to examine so many entries at least.
    pub least_entries: f64,
}

impl Default for RuntimeFilterSettings {
    fn default() -> RuntimeFilterSettings {
        RuntimeFilterSettings { most_left: 0.8, least_entries: 2_000.0 }
    }
}

/// How much a plan may do for its first rows before it is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// So many times more entries than were expected may be examined, whatever the other plan costs: rows that pass may be spread unevenly.
    pub uneven: f64,
    /// A plan whose first rows may be rejected is taken for their order where it is expected to cost so many times less than sorting.
    pub bet: f64,
    /// So many entries may be examined in any case.
    pub least: f64,
    /// A join by lookups goes on by hash when it has cost so many times what reading and hashing the table costs.
    pub lookups: f64,
    /// And only where it could cost so much more, microseconds.
    pub least_us: f64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { uneven: 2.0, bet: 1.3, least: 1_000.0, lookups: 1.0, least_us: 50_000.0 }
    }
}

/// Plans query blocks inside others, so that what plans the tables of a block need not know how a whole block is planned.
pub(super) trait BlockPlanner: Sync {
    /// Plans a derived table.
    fn plan_derived(
        &self,
        select: &BoundSelect,
        cx: &mut OptimizerContext<'_, '_>,
    ) -> Result<Node, MysqlError>;
}

/// The context of planning: data, settings, and what was planned so far.
pub struct OptimizerContext<'c, 'a> {
    blocks: &'static dyn BlockPlanner,
    /// Data, prices, statistics.
    pub planner: Planner<'c>,
    /// To compute constants: parameters, time, session facts.
    pub eval: &'c mut EvalContext<'a>,
    /// The session's switches.
    pub switches: OptimizerSwitches,
    /// The threads that it may have.
    pub parallelism: Parallelism,
    /// When a plan is given up for another.
    pub patience: Patience,
    /// Which scans are told of the keys of hash joins.
    pub filtering: RuntimeFilterSettings,
    /// The plan is made to be explained: it tells of the ways that were not taken.
    pub explains: bool,
    /// The steps of comparing plans are noted here.
    pub trace: Option<Trace>,
    /// The queries of WITH planned so far that are run by themselves.
    pub commons: BTreeMap<usize, CommonPlan>,
    /// The subqueries of the statement's expressions, by their numbers.
    pub subqueries: &'c [BoundSubquery],
    /// The subqueries that became joins.
    pub unnested: BTreeSet<usize>,
    /// The subqueries up to this number are planned by themselves even if they became joins.
    kept: Option<usize>,
    /// The price of a run of each subquery, as far as it was asked for, microseconds.
    pub(super) subquery_costs: HashMap<usize, f64>,
    /// How many choices by price are being made, one inside the other.
    pub(super) choosing: usize,
    /// How many joins of two inputs were considered for the statement: what planning it takes grows with that.
    pub joins_considered: usize,
    /// The subqueries whose own subqueries were made joins for being pulled up, by their numbers.
    pub(super) flattened: HashMap<usize, PulledUpSubquery>,
}

/// A subquery as it is pulled up into the query around it.
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

    /// To plan a statement with these subqueries in its expressions, for one thread; `blocks` plans the queries inside others.
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
            patience: Patience::default(),
            filtering: RuntimeFilterSettings::default(),
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
    /// Whether ways to write a query may still be compared by price.
    pub(super) fn may_choose(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_CHOOSE
    }

    /// Whether every order of joins may still be tried.
    pub(super) fn may_search(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_SEARCH
    }

    /// Whether it may still be compared which table to join next.
    pub(super) fn may_compare(&self) -> bool {
        self.joins_considered < MAX_JOINS_TO_COMPARE
    }

    /// Plans the subqueries of an expression by themselves whatever becomes of them elsewhere: it is evaluated on its own.
    pub fn keep_subqueries(&mut self, expr: &Expr) {
        expr.visit(&mut |e| {
            if let ExprKind::Subquery(subquery) = &e.kind {
                self.kept = self.kept.max(Some(subquery.number));
            }
            true
        });
    }

    /// Whether a subquery is planned by itself although it became a join: those inside one that is kept have lower numbers.
    pub(super) fn is_kept(&self, number: usize) -> bool {
        self.kept.is_some_and(|last| number <= last)
    }
}

/// Index hints as the chooser of paths asks for them.
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
