//! Turns a syntax tree into a plan.
//!
//! | module | is |
//! |---|---|
//! | [`binder`], [`bound`] | syntax tree to bound statement: names looked up, expressions typed |
//! | [`optimizer`], [`plan`] | bound query to immutable plan |
//! | `params` | tuning constants |
//! | [`window`] | window functions and their frames |
//! | [`explain`] | a plan in words |
//! | `profile` | figures of an execution, node by node |
//! | `authority` | the rights of a statement |
//! | `system_rows` | rows of tables that are not stored |

mod authority;
pub mod binder;
pub mod bound;
pub mod explain;
pub mod optimizer;
mod params;
pub mod plan;
mod profile;
mod system_rows;
pub mod window;

pub use authority::{Authority, TableRights, Unlimited, definer_of};
pub use profile::{NodeProfile, Profile};
pub use system_rows::SystemRows;

/// `@@error_count` and `@@warning_count`: conditions of the preceding statement. Both belong to the session and change with each
/// statement, so an expression computes them (the function with the name in capitals).
pub const CONDITION_COUNTS: &[&str] = &["error_count", "warning_count"];
