//! What the optimizer is told by the session, and what it reads.

use crate::bound::IndexChoice;
use crate::plan::CommonPlan;
use leafline_access::{AllowsIndex, Planner};
use leafline_types::expr::EvalContext;
use std::collections::BTreeMap;

/// Flags of `optimizer_switch` that decide plans. A cached plan belongs to one setting of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OptimizerSwitches {
    /// `index_condition_pushdown`: evaluate conditions on index entries before rows are fetched.
    pub index_condition_pushdown: bool,
    /// `hash_join`: join by hashing where it is cheaper; off: only where there is no index to look rows up in.
    pub hash_join: bool,
    /// `derived_merge`: make simple derived tables part of the query around them.
    pub derived_merge: bool,
}

impl Default for OptimizerSwitches {
    fn default() -> OptimizerSwitches {
        OptimizerSwitches { index_condition_pushdown: true, hash_join: true, derived_merge: true }
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
