//! Stored programs: compiles and runs the bodies of procedures, functions, triggers and events.
//!
//! | module | does |
//! |---|---|
//! | `code` | defines the compiled form: steps, slots, scopes of handlers |
//! | `names` | finds the variables that are visible at a step |
//! | `compile` | turns the syntax tree into steps |
//! | `loaded` | compiles the programs of the catalog |
//! | `kept` | keeps compiled programs and plans for a session |
//! | `frame` | holds the state of one call |
//! | `evaluate` | evaluates expressions of steps over the slots |
//! | `conditions` | chooses the handler of a condition |
//! | `run` | runs steps, and suspends between results |
//! | `inner` | runs the statements of steps |
//! | `cursor` | OPEN, FETCH, CLOSE |
//! | `context` | enters and leaves the settings of a program |
//! | `call` | CALL, calls of functions, and runs of events |
//! | `triggers` | the triggers of a table |
//! | `diagnostics` | SIGNAL, RESIGNAL, GET DIAGNOSTICS |

mod call;
mod code;
mod compile;
mod conditions;
mod context;
mod cursor;
mod diagnostics;
mod evaluate;
mod frame;
mod inner;
mod kept;
mod loaded;
mod names;
mod run;
#[cfg(test)]
mod tests;
mod triggers;

pub(crate) use call::{call, call_function, run_event};
pub(crate) use diagnostics::{get_diagnostics, signal};
pub(crate) use kept::KeptPrograms;
pub(crate) use loaded::stored_function;
pub(crate) use triggers::{TableTriggers, check_trigger};
