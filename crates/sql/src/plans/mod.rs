//! Kept plans: a plan, the values it was made for, and the conditions under which it is valid.
//!
//! | module | has |
//! |---|---|
//! | `planned` | a planned statement |
//! | `parameters` | the types of parameters that a plan was made for |
//! | `table_use` | a table that a plan uses |
//! | `kept_read` | the reader of a kept point plan |

mod kept_read;
pub(crate) mod parameters;
mod planned;
mod table_use;

pub(crate) use kept_read::KeptRead;
pub(crate) use planned::{ExplainForm, Planned, RunningPlan, ValueDependence, Work};
pub(crate) use table_use::TableUse;
