//! Accounts of memory.
//!
//! | account | of | bound |
//! |---|---|---|
//! | [`MemoryBudget`] | what the operators and expressions of one execution say that they hold | `leafline_query_memory` |
//! | [`server`] | what the process has allocated, counted by its allocator | `leafline_server_memory` |

mod budget;
pub mod server;

pub use budget::{Held, MemoryBudget};
