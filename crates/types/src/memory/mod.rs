//! Accounting of memory.
//!
//! | account | counts | limit |
//! |---|---|---|
//! | [`MemoryBudget`] | the memory that the operators and expressions of one execution report | `leafline_query_memory` |
//! | [`server`] | the memory that the process has allocated, counted by its allocator | `leafline_server_memory` |

mod budget;
pub mod server;

pub use budget::{Held, MemoryBudget};
