//! From predicates to rows: ranges, the leap scan, index condition pushdown, statistics and costs.

//!
//! | module | is |
//! |---|---|
//! | [`constraint`] | what conditions say about an index: key ranges and tests on key parts |
//! | [`path`] | the immutable description of how a table is read |
//! | [`path_scan`] | a path at work; `row_scan`: the short way along it, to few rows |
//! | `leap_scan`, `merge_scan`, `targets`, `walk`, `condition`, `row_fetch`, `read_ahead`, `page_order` | its steps |
//! | `partition_scan` | a path over the partitions of a table; `pruning`: over which |
//! | `pieces`, `row_pieces` | a scan cut up for several threads |
//! | `runtime_filter` | keys of a hash join as constraints of a scan |
//! | `path_builder` | from a table, an index and conditions to a path |
//! | [`choose`] | the candidates for a table, with what they examine, deliver and cost |
//! | [`stats`] | sampled statistics; [`cost`]: prices |
//! | [`Counters`] | what a session did |

mod candidate;
pub mod choose;
mod condition;
pub mod constraint;
pub mod cost;
mod counters;
mod error;
mod extents;
mod in_order;
mod index_merge;
mod leap_scan;
mod locators;
mod merge_scan;
mod page_order;
mod part_use;
mod partition_scan;
pub mod path;
mod path_builder;
pub mod path_scan;
mod pieces;
mod pruning;
mod read_ahead;
mod row_fetch;
mod row_pieces;
mod row_scan;
mod runtime_filter;
pub mod stats;
mod strategy;
mod targets;
mod walk;

pub use candidate::{Candidate, Price, index_position};
pub use choose::{AllowsIndex, AnyIndex, Planner, Question};
pub use cost::{CostModel, CpuCosts};
pub use counters::Counters;
pub use error::{AccessError, Result};
pub use index_merge::{Located, LocatorSet, Merging};
pub use part_use::PartUse;
pub use path::{AccessPath, Condition, FirstOf, JoinType, ScanOrder};
pub use path_builder::{Batches, PathRequest};
pub use path_scan::{Budget, Demand, PathScan, ScanBatch, ScanContext};
pub use pieces::{ScanPiece, ScanPieces, Share};
pub use pruning::Pruning;
pub use row_scan::RowScan;
pub use runtime_filter::{FilterValues, MOST_FILTER_VALUES, RuntimeFilter};
pub use stats::{Judged, Statistics};
pub use strategy::{Permission, Strategy};

#[cfg(test)]
mod narrowed_tests;
#[cfg(test)]
mod path_scan_tests;
#[cfg(test)]
mod testing;
