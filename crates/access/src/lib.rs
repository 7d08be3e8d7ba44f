//! From predicates to rows: ranges, the leap scan, index condition pushdown, statistics and costs.
//!
//! | module | is |
//! |---|---|
//! | [`constraint`] | what conditions say about an index: key ranges and tests on key parts |
//! | [`path`] | the immutable description of how a table is read |
//! | `plan` | the candidates for a table, with what they examine, deliver and cost |
//! | `run` | a path at work |
//! | [`stats`] | sampled statistics |
//! | [`cost`] | prices |
//! | [`params`] | tuning constants |
//! | [`Counters`] | what a session did |

pub mod constraint;
pub mod cost;
mod counters;
mod error;
pub mod params;
pub mod path;
mod plan;
mod run;
pub mod stats;
#[cfg(test)]
mod testing;

pub use cost::{CostModel, CpuCosts};
pub use counters::Counters;
pub use error::{AccessError, Result};
pub use path::{
    AccessPath, Condition, FirstOf, IndexWalk, JoinType, Located, LocatorSet, PartUse, PathKind, Pruning,
    ScanOrder, Scores, Searched, Source,
};
pub use plan::{
    AllowsIndex, AnyIndex, BaseRelation, Batches, Candidate, Merging, PathRequest, Permission, Planner,
    Price, Strategy, index_position,
};
pub use run::{
    Budget, Demand, FilterValues, PathScan, PointRead, RuntimeFilter, ScanBatch, ScanContext, ScanPiece,
    ScanPieces, Share,
};
pub use stats::{StatementSamples, Statistics};
