//! Stored programs: runs the compiled bodies of procedures, functions, triggers and events.
//!
//! | module | does |
//! |---|---|
//! | `loaded` | compiles the programs of the catalog |
//! | `frame` | holds the state of one call |
//! | `evaluate` | evaluates expressions of steps over the slots |
//! | `integers` | runs steps on integers |
//! | `conditions` | chooses the handler of a condition |
//! | `run` | runs steps, and suspends between results |
//! | `inner` | runs the statements of steps |
//! | `cursor` | OPEN, FETCH, CLOSE |
//! | `context` | enters and leaves the settings of a program |
//! | `call` | CALL, calls of functions, and runs of events |
//! | `triggers` | the triggers of a table |
//! | `diagnostics` | SIGNAL, RESIGNAL, GET DIAGNOSTICS |

mod call;
mod conditions;
mod context;
mod cursor;
mod diagnostics;
mod evaluate;
mod frame;
mod inner;
#[cfg(test)]
mod inner_tests;
mod integers;
mod loaded;
mod run;
#[cfg(test)]
mod tests;
mod triggers;

pub(crate) use call::{call, run_event};
pub(crate) use context::entered;
pub(crate) use diagnostics::{get_diagnostics, signal};
pub(crate) use loaded::{check_body, program as load};
pub(crate) use triggers::{check_trigger, fire, triggers_of};
