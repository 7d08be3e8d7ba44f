//! Plans of statements, which sessions keep: what a plan is, what it was made for, and for whom.
//!
//! | module | has |
//! |---|---|
//! | `planned` | a planned statement |
//! | `parameters` | the types that parameters had when a plan was made |
//! | `table_use` | a table that a plan uses |
//! | `by_key` | the row of an UPDATE or DELETE that names it by its primary key |
//! | `short_read` | a SELECT of a few rows along one access path |

mod by_key;
pub(crate) mod parameters;
mod planned;
mod short_read;
mod table_use;

pub(crate) use by_key::ByKey;
pub(crate) use planned::{Chosen, How, Planned, RunningPlan, Work};
pub(crate) use short_read::ShortWay;
pub(crate) use table_use::TableUse;
