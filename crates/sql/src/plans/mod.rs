//! Kept plans: a plan, the values it was made for, and the conditions under which it is valid.
//!
//! | module | has |
//! |---|---|
//! | `planned` | a planned statement |
//! | `parameters` | the types of parameters that a plan was made for |
//! | `table_use` | a table that a plan uses |
//! | `by_key` | the lookup of an UPDATE or DELETE that names its row by the primary key |
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
