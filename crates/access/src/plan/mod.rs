//! Planning how a table is read: the candidates, with what each examines, delivers and costs.
//!
//! | module | is |
//! |---|---|
//! | `planner` | the candidates for a table under conditions |
//! | `base_relation` | a table under conditions, and what may be done with its indexes |
//! | `path_builder` | from a table, an index and conditions to a path |
//! | `candidate` | a candidate and its price |
//! | `extents`, `leap_estimate` | how much lies in ranges, and how often a scan leaps |
//! | `index_merge` | candidates that put several indexes together |
//! | `search` | candidates that find rows by a search for words |
//! | `permission` | what hints and switches allow |

mod base_relation;
mod candidate;
mod condition_list;
mod extents;
mod index_merge;
mod leap_estimate;
mod path_builder;
mod permission;
mod planner;
mod search;

pub use base_relation::{AllowsIndex, AnyIndex, BaseRelation, Merging};
pub use candidate::{Candidate, Price, index_position};
pub use path_builder::{Batches, PathRequest};
pub use permission::{Permission, Strategy};
pub use planner::Planner;
