//! SQL of Leafline: binder, optimizer, operators, statements and sessions.
//!
//! | module | is |
//! |---|---|
//! | [`binder`], [`bound`] | from a syntax tree to a bound statement: names looked up, expressions typed |
//! | [`optimizer`], [`plan`] | from a bound query to an immutable plan |
//! | [`operator`] | a plan at work, batch by batch |
//! | [`explain`] | a plan in words |
//! | `statement` | statements at work: queries, changes, definitions, SET, maintenance |
//! | `show` | SHOW and DESCRIBE |
//! | `command` | kinds of statements, as they are counted |
//! | `digest`, `sample_text`, `index_uses`, `statement_times` | what was run so far |
//! | [`observed`] | what is told to who watches a server |
//! | `plan_facts`, `slow_log` | what is told of a plan, and of statements that took long |
//! | `upkeep` | what of that is kept when the database is closed |
//! | `advice` | which indexes would make that faster |
//! | [`session`], [`instance`], [`accounts`], [`status`] | who runs them |
//! | `start`, `machine` | what an instance is opened with, and the memory there is |
//! | `resource_group` | where the threads of statements may run |
//! | [`result`], [`text_format`] | what comes out |

pub mod accounts;
mod advice;
pub mod binder;
pub mod bound;
mod command;
mod digest;
pub mod explain;
mod index_uses;
pub mod information_schema;
pub mod instance;
mod machine;
pub mod observed;
pub mod operator;
pub mod optimizer;
pub mod plan;
mod plan_facts;
mod resource_group;
pub mod result;
mod sample_text;
pub mod session;
mod show;
mod slow_log;
mod start;
mod statement;
mod statement_times;
pub mod status;
mod system_table;
mod table_file;
#[cfg(test)]
mod testing;
mod text_file;
pub mod text_format;
mod upkeep;
pub mod window;

pub use instance::{Instance, InstanceOptions};
pub use machine::machine_memory;
pub use observed::IndexUse;
pub use result::{ColumnFlags, ColumnMeta, Done};
pub use session::{Chunk, ChunkValues, Cut, Outcome, Prepared, QueryPieces, RowStream, Session};
pub use statement::evaluate::type_of;
pub use statement::load_values::RowSource;
pub use statement_times::KindTimes;
pub use text_file::{ClientFiles, OwnFiles};
