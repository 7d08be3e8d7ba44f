//! Sessions and statements: everything between the protocol and the planner.
//!
//! | module | does |
//! |---|---|
//! | `statement` | runs statements: queries, changes, definitions, SET, maintenance |
//! | `properties` | says for each kind of statement its command, the privileges it needs and whether it commits |
//! | `plans` | keeps plans for sessions |
//! | `handlers` | keeps a session's open handlers of HANDLER |
//! | `show` | answers SHOW and DESCRIBE |
//! | `command` | names the kinds of statements, as they are counted |
//! | `digest`, `sample_text`, `index_uses`, `statement_times` | count the statements that have run |
//! | [`observed`] | gives figures to monitoring |
//! | `plan_facts`, `slow_log` | describe plans, and log slow statements |
//! | `upkeep` | writes digests and device figures to the directory |
//! | `events`, `event_runs` | schedule events, and run them |
//! | `error_log` | takes messages that have no client |
//! | `advice` | proposes indexes for a workload |
//! | [`session`], [`instance`], [`accounts`], [`status`] | run statements, share state, check rights, count |
//! | [`settings`] | holds the values of system variables |
//! | [`session_entry`] | is the part of a session that other sessions see |
//! | `start`, `machine` | derive the options of a new instance, and the memory of the machine |
//! | `components` | says which components of MySQL are installed |
//! | `resource_group` | assigns processors and priorities to the threads of statements |
//! | [`result`] | describes results |

pub mod accounts;
mod advice;
mod command;
mod components;
mod definition_text;
mod digest;
mod error_log;
mod evaluate;
mod event_runs;
mod events;
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
mod program;
mod program_code;
mod program_text;
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

pub use error_log::ErrorLog;
pub use instance::{Instance, InstanceOptions};
pub use machine::machine_memory;
pub use observed::IndexUse;
pub use plans::parameters::type_of;
pub use result::{ColumnFlags, ColumnMeta, Done};
pub use row_source::RowSource;
pub use session::{Chunk, ChunkValues, Cut, Outcome, Prepared, QueryPieces, RowStream, Session};
pub use statement_times::KindTimes;
pub use text_file::{ClientFiles, OwnFiles};
