//! From a syntax tree to a plan.
//!
//! | module | is |
//! |---|---|
//! | [`binder`], [`bound`] | from a syntax tree to a bound statement: names looked up, expressions typed |
//! | [`optimizer`], [`plan`] | from a bound query to an immutable plan |
//! | `params` | tuning constants |
//! | [`window`] | window functions and their frames |
//! | [`explain`] | a plan in words |
//! | `profile` | what an execution of a plan did, node by node |
//! | `authority` | whose rights a statement has |
//! | `system_rows` | rows of tables that are no stored ones |

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

pub use authority::{Authority, Unlimited, definer_of};
pub use profile::{NodeProfile, Profile};
pub use system_rows::SystemRows;

/// `@@error_count` and `@@warning_count`: what the statement before has said. They are of the session at hand and change with each
/// statement, so that expressions compute them (the function of the name in capitals).
pub const CONDITION_COUNTS: &[&str] = &["error_count", "warning_count"];
