//! The parts of a session that belong together: its login, its current statement, its own objects, its kept statements.

use super::controlled::StatementGroups;
use super::hypothetical::HypotheticalIndexes;
use super::now::Now;
use super::outcome::Chunk;
use super::own_tables::OwnTables;
use super::prepared::PreparedStatements;
use super::running::{StatementAccounting, WallClock};
use super::statement_cache::StatementCache;
use super::tables::LockedTables;
use crate::accounts::{Access, AccountId};
use crate::handlers::OpenHandlers;
use crate::program_code::KeptPrograms;
use crate::settings::Settings;
use leafline_table::{MetadataKey, ProgramDef};
use std::sync::Arc;
use std::time::Instant;

/// The account of a session, and what it may do.
pub(crate) struct Login {
    /// The rights of the account, read at the begin of the current statement.
    pub(crate) access: Arc<Access>,
    /// The active roles.
    pub(super) roles: Arc<[AccountId]>,
    /// True if the account's password had expired at login and was not changed since.
    pub(super) has_expired_password: bool,
    /// True for a session that monitors the server; its statements are not counted.
    pub(super) is_watcher: bool,
}

impl Login {
    pub(super) fn new(access: Access, has_old_password: bool) -> Login {
        Login {
            has_expired_password: access.is_expired() || has_old_password,
            roles: access.active_roles().into(),
            access: Arc::new(access),
            is_watcher: false,
        }
    }

    /// The login of the session inside another.
    pub(super) fn inside(outer: &Login) -> Login {
        Login { access: outer.access.clone(), roles: outer.roles.clone(), ..*outer }
    }
}

/// The statement that runs, or ran last.
pub(crate) struct CurrentStatement {
    /// The moment at which the statement began.
    pub(super) began: Instant,
    /// The clock that gives the statement's end as a time of day.
    pub(super) wall: WallClock,
    /// The figures of the statement so far, which counters and logs receive at its end.
    pub(super) running: StatementAccounting,
    /// The settings that SET_VAR hints of the statement replaced; its end restores them.
    pub(super) unhinted: Option<Box<Settings>>,
    /// The argument of `LAST_INSERT_ID(value)` in the statement.
    pub(crate) told_insert_id: Option<u64>,
    /// Whether ROW_COUNT() stays what the statement before made it: after GET DIAGNOSTICS.
    pub(crate) keeps_row_count: bool,
    /// The resource groups in which the statement runs.
    pub(super) groups: StatementGroups,
    /// Whether the statement may set user variables: in its expressions, or in stored functions and triggers.
    pub(crate) sets_variables: bool,
    /// Whether a program has executed the statement, which it had prepared.
    pub(super) is_in_program: bool,
    /// Whether SET has changed settings of an inner session, which are the calling session's as well.
    pub(crate) has_set: bool,
    /// The place on the thread's stack where the statement began.
    pub(super) stack: usize,
    /// The tables of the statement, if it calls stored functions or fires triggers.
    pub(crate) uses: Vec<MetadataKey>,
    /// The tables of the statements around this one, which stored functions and triggers must not change.
    pub(super) around: Vec<MetadataKey>,
    /// The stored functions and triggers that run, from the outermost session to this one.
    pub(super) programs: Vec<Arc<ProgramDef>>,
    /// The time of the statement that calls stored functions, for the statements of these.
    pub(super) fixed_now: Option<Now>,
}

impl CurrentStatement {
    /// The state before the first statement.
    pub(super) fn none_yet() -> CurrentStatement {
        CurrentStatement {
            began: Instant::now(),
            wall: WallClock::now(),
            running: StatementAccounting::over(),
            unhinted: None,
            told_insert_id: None,
            keeps_row_count: false,
            sets_variables: false,
            is_in_program: false,
            has_set: false,
            stack: 0,
            groups: StatementGroups::default(),
            uses: Vec::new(),
            around: Vec::new(),
            programs: Vec::new(),
            fixed_now: None,
        }
    }
}

/// The objects that belong to one session alone, and the tables that it has opened or locked.
#[derive(Default)]
pub(crate) struct SessionObjects {
    /// Temporary tables.
    pub(super) own_tables: OwnTables,
    /// Tables opened with HANDLER.
    pub(crate) handlers: OpenHandlers,
    /// Hypothetical indexes that EXPLAIN assumes.
    pub(crate) hypothetical: HypotheticalIndexes,
    /// The tables of LOCK TABLES.
    pub(super) locked_tables: Option<LockedTables>,
}

/// Statements, plans and buffers that are kept for the next execution.
#[derive(Default)]
pub(crate) struct KeptStatements {
    pub(super) prepared: PreparedStatements,
    /// Plans of statements that came as text.
    pub(super) by_text: StatementCache,
    /// Compiled stored programs.
    pub(crate) programs: KeptPrograms,
    /// The rows of the last small result; its reader may still share them.
    pub(crate) rows: Option<Arc<Chunk>>,
}
