//! The compiled form of stored programs, and what a session keeps of it.
//!
//! | module | does |
//! |---|---|
//! | `code` | defines the compiled form: steps, slots, scopes of handlers |
//! | `names` | finds the variables that are visible at a step |
//! | `compile` | turns the syntax tree into steps |
//! | `triggers` | defines the compiled triggers of a table |
//! | `trigger_rights` | defines the privileges of their definers |
//! | `kept` | keeps compiled programs, triggers and plans for a session |
//! | `shared` | keeps compiled programs for all sessions |
//!
//! Nothing here runs a program or knows a session: `program` does.

mod code;
mod compile;
mod kept;
mod names;
mod shared;
mod trigger_rights;
mod triggers;

pub(crate) use code::{Code, Condition, Slot, StatementCode, StepKind};
pub(crate) use compile::{CompileContext, compile};
pub(crate) use kept::{KeptPrograms, StepPlans};
pub(crate) use shared::SharedPrograms;
pub(crate) use trigger_rights::{TriggerRights, check_columns};
pub(crate) use triggers::{RowColumn, TableTriggers, Trigger, When};
