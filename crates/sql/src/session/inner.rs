//! The session inside a session: it runs the statements of the stored functions and triggers that a statement calls.
//!
//! While a statement evaluates expressions, its session lends parts of itself and cannot run statements. An inner session can: it
//! has settings, facts and plans of its own, shares the entry, the locks and the cancel token, and borrows for the time of one
//! step the temporary tables, and for the time of one call the user variables and the diagnostics. Its transaction is an inner
//! handle of the calling statement's (`Transaction::inner`): an inner statement is undone by itself, and ends nothing.
//!
//! LAST_INSERT_ID(), ROW_COUNT() and FOUND_ROWS() of the calling session stay as they are, as in MySQL: the inner session begins
//! with copies. NOW() stands still.

use super::now::Now;
use super::parts::{CurrentStatement, KeptStatements, Login, SessionObjects};
use super::transaction::TransactionState;
use super::{ClientFileState, Session, StateTracker};
use crate::settings::Settings;
use crate::status::SessionCounters;
use leafline_expr::{SessionFacts, UserVariables};
use leafline_table::ProgramDef;
use leafline_types::{MysqlError, Warnings};
use std::sync::Arc;

impl Session {
    /// Makes the session inside `outer`.
    pub(super) fn inside(outer: &Session) -> Session {
        Session {
            cancel: outer.cancel.clone(),
            login: Login::inside(&outer.login),
            statement: CurrentStatement::none_yet(),
            nesting: outer.nesting,
            is_broken: false,
            locks: outer.locks.clone(),
            instance: outer.instance.clone(),
            entry: outer.entry.clone(),
            settings: outer.settings.clone(),
            optimizer_trace: None,
            facts: outer.facts.clone(),
            connection: outer.connection.clone(),
            user_variables: UserVariables::default(),
            warnings: Warnings::new(),
            counters: SessionCounters::default(),
            storage_baseline: outer.storage_baseline.clone(),
            transaction: TransactionState::default(),
            objects: SessionObjects::default(),
            kept: KeptStatements::default(),
            client_files: ClientFileState::default(),
            tracker: StateTracker::default(),
            inner: None,
            level: outer.level + 1,
            program_step: None,
            suspended: None,
            several_results: false,
            out_parameters: None,
            executed: None,
        }
    }

    /// Takes over the state of the calling session for one step.
    pub(super) fn begin_inner(&mut self, outer: &mut Session, now: Now) {
        self.login.access = outer.login.access.clone();
        self.login.roles = outer.login.roles.clone();
        if self.settings != outer.settings {
            self.settings.clone_from(&outer.settings);
        }
        copy_facts(&mut self.facts, &outer.facts);
        self.objects = std::mem::take(&mut outer.objects);
        self.statement.fixed_now = Some(now);
        self.statement.stack = outer.statement.stack;
        self.statement.programs.clone_from(&outer.statement.programs);
        self.statement.around.clear();
        self.statement.around.extend(outer.statement.around.iter().chain(&outer.statement.uses).copied());
    }

    /// Runs the body of a stored function or trigger, which has its own savepoints. LAST_INSERT_ID() and FOUND_ROWS() come back.
    ///
    /// # Errors
    /// 1424 if the program runs already in this session or one around it; the errors of `body`.
    pub(crate) fn inside_program<R>(
        &mut self,
        program: &Arc<ProgramDef>,
        body: impl FnOnce(&mut Session) -> Result<R, MysqlError>,
    ) -> Result<R, MysqlError> {
        if self.statement.programs.iter().any(|running| running.id == program.id) {
            return Err(MysqlError::recursive_function());
        }
        let insert_id = self.facts.last_insert_id;
        let found_rows = self.facts.found_rows;
        let savepoints = std::mem::take(&mut self.transaction.savepoints);
        let Settings { foreign_key_checks, safe_updates, sql_notes, sql_warnings, .. } = self.settings;
        self.statement.programs.push(program.clone());
        let result = body(self);
        self.statement.programs.pop();
        self.transaction.savepoints = savepoints;
        (self.facts.last_insert_id, self.facts.found_rows) = (insert_id, found_rows);
        // As in MySQL, SET keeps its effect for the caller, except on these.
        (self.settings.foreign_key_checks, self.settings.safe_updates) = (foreign_key_checks, safe_updates);
        (self.settings.sql_notes, self.settings.sql_warnings) = (sql_notes, sql_warnings);
        result
    }

    /// Whether the session runs the statements of stored functions and triggers, inside a statement of another.
    pub(crate) fn is_inner(&self) -> bool {
        self.level > 0
    }
}

/// Copies facts into the buffers of others.
fn copy_facts(into: &mut SessionFacts, from: &SessionFacts) {
    let SessionFacts {
        version,
        database,
        user,
        current_user,
        current_role,
        connection_id,
        last_insert_id,
        row_count,
        found_rows,
        warning_count,
        error_count,
        query_attributes,
        locks,
        passwords,
    } = into;
    version.clone_from(&from.version);
    database.clone_from(&from.database);
    user.clone_from(&from.user);
    current_user.clone_from(&from.current_user);
    current_role.clone_from(&from.current_role);
    query_attributes.clone_from(&from.query_attributes);
    locks.clone_from(&from.locks);
    passwords.clone_from(&from.passwords);
    (*connection_id, *last_insert_id) = (from.connection_id, from.last_insert_id);
    (*row_count, *found_rows) = (from.row_count, from.found_rows);
    (*warning_count, *error_count) = (from.warning_count, from.error_count);
}
