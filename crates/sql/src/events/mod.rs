//! Events: when they are due, and the state of the scheduler. `event_runs` has the threads that use it.
//!
//! | module | does |
//! |---|---|
//! | `schedule` | computes the times at which an event runs |
//! | `queue` | knows which events are due, and when the next one is |
//! | `scheduler` | holds the scheduler's thread and the threads of running events |

mod queue;
mod schedule;
mod scheduler;

pub(crate) use queue::DueEvent;
#[cfg(test)]
pub(crate) use scheduler::MOST_RUNS;
pub(crate) use scheduler::{Daemon, EventScheduler};
