//! SQL of Leafline: statements and sessions.
//!
//! | module | is |
//! |---|---|
//! | `statement` | statements at work: queries, changes, definitions, SET, maintenance |
//! | `properties` | the row of each kind of statement: its command, the privileges it asks for, whether it commits |
//! | `plans` | plans that sessions keep |
//! | `handlers` | the handlers of HANDLER that a session has open |
//! | `show` | SHOW and DESCRIBE |
//! | `command` | kinds of statements, as they are counted |
//! | `digest`, `sample_text`, `index_uses`, `statement_times` | what was run so far |
//! | [`observed`] | what is told to who watches a server |
//! | `plan_facts`, `slow_log` | what is told of a plan, and of statements that took long |
//! | `upkeep` | what of that is kept when the database is closed |
//! | `advice` | which indexes would make that faster |
//! | [`session`], [`instance`], [`accounts`], [`status`] | who runs them |
//! | [`settings`] | system variables and their values |
//! | [`session_entry`] | a session as others see it |
//! | `start`, `machine` | what an instance is opened with, and the memory there is |
//! | `resource_group` | where the threads of statements may run |
//! | [`result`] | what comes out |

pub mod accounts;
mod advice;
mod command;
mod definition_text;
mod digest;
mod handlers;
mod index_uses;
pub mod information_schema;
pub mod instance;
mod like;
mod machine;
pub mod observed;
mod optimizer_trace;
mod plan_facts;
mod plans;
mod properties;
mod resource_group;
pub mod result;
mod row_source;
mod sample_text;
pub mod session;
pub mod session_entry;
pub mod settings;
mod show;
mod slow_log;
mod start;
mod statement;
mod statement_times;
pub mod status;
mod system_names;
mod system_table;
mod table_file;
mod text_file;
mod upkeep;
mod user_locks;

pub use instance::{Instance, InstanceOptions};
pub use machine::machine_memory;
pub use observed::IndexUse;
pub use plans::parameters::type_of;
pub use result::{ColumnFlags, ColumnMeta, Done};
pub use row_source::RowSource;
pub use session::{Chunk, ChunkValues, Cut, Outcome, Prepared, QueryPieces, RowStream, Session};
pub use statement_times::KindTimes;
pub use text_file::{ClientFiles, OwnFiles};
