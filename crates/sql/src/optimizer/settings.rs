//! What the optimizer is told by the session, and what it reads.

use crate::bound::{BoundSubquery, IndexChoice};
use crate::plan::CommonPlan;
use leafline_access::{AllowsIndex, Planner};
use leafline_types::expr::EvalContext;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Flags of `optimizer_switch` that decide plans. A cached plan belongs to one setting of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OptimizerSwitches {
    /// `index_condition_pushdown`: evaluate conditions on index entries before rows are fetched.
    pub index_condition_pushdown: bool,
    /// `hash_join`: join by hashing where it is cheaper; off: only where there is no index to look rows up in.
    pub hash_join: bool,
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
}

impl Default for OptimizerSwitches {
    fn default() -> OptimizerSwitches {
        OptimizerSwitches {
            index_condition_pushdown: true,
            hash_join: true,
            derived_merge: true,
            semijoin: true,
            subquery_to_derived: true,
            derived_condition_pushdown: true,
            use_invisible_indexes: false,
        }
    }
}

/// What planning reads.
pub struct OptimizerContext<'c, 'a> {
    /// Data, prices, statistics.
    pub planner: Planner<'c>,
    /// To compute constants: parameters, time, session facts.
    pub eval: &'c mut EvalContext<'a>,
    /// The session's switches.
    pub switches: OptimizerSwitches,
    /// The queries of WITH planned so far that are run by themselves.
    pub commons: BTreeMap<usize, CommonPlan>,
    /// The subqueries of the statement's expressions, by their numbers.
    pub subqueries: &'c [BoundSubquery],
    /// Those that became joins.
    pub unnested: BTreeSet<usize>,
    /// What a run of a subquery costs, as far as it was asked for, microseconds.
    pub(super) subquery_costs: HashMap<usize, f64>,
    /// How many choices by price are being made, one inside the other.
    pub(super) choosing: usize,
}

impl<'c, 'a> OptimizerContext<'c, 'a> {
    /// To plan a statement with these subqueries in its expressions.
    pub fn new(
        planner: Planner<'c>,
        eval: &'c mut EvalContext<'a>,
        switches: OptimizerSwitches,
        subqueries: &'c [BoundSubquery],
    ) -> OptimizerContext<'c, 'a> {
        OptimizerContext {
            planner,
            eval,
            switches,
            commons: BTreeMap::new(),
            subqueries,
            unnested: BTreeSet::new(),
            subquery_costs: HashMap::new(),
            choosing: 0,
        }
    }
}

/// Index hints as the chooser of paths asks for them.
#[derive(Debug)]
pub(super) struct Hinted<'h>(pub &'h IndexChoice);

impl AllowsIndex for Hinted<'_> {
    fn allows(&self, index: usize) -> bool {
        self.0.only.as_ref().is_none_or(|only| only.contains(&index)) && !self.0.ignored.contains(&index)
    }

    fn avoids_scan(&self) -> bool {
        self.0.forced
    }
}
