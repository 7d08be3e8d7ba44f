//! A session: one client's settings, transaction, prepared statements and diagnostics.
//!
//! One thread at a time uses a session. A statement comes as text or prepared and gives an [`Outcome`]: rows,
//! which the caller pulls batch by batch through the session, or a count of changes. To give a statement up,
//! the caller drops its rows.

mod calls;
mod client_file;
mod contained;
mod context;
mod controlled;
mod execution;
mod hypothetical;
mod inner;
mod limited;
mod lookup;
mod many;
mod now;
mod outcome;
mod own_tables;
mod parts;
mod picture;
mod pieces;
mod prepared;
mod program_step;
mod running;
mod stack;
mod state_changes;
mod statement_cache;
mod tables;
mod transaction;

pub(crate) use calls::CallHost;
use client_file::ClientFileState;
pub(crate) use client_file::WaitingLoad;
pub(crate) use context::{SessionView, StatementContext, StoreRules, bytes_for};
pub(crate) use execution::Execution;
pub(crate) use hypothetical::{CatalogWithHypothetical, HypotheticalIndexes};
use leafline_planner::Authority;
pub use many::BatchOutcome;
pub(crate) use now::Now;
pub(crate) use outcome::shown_value;
pub use outcome::{Chunk, ChunkValues, Outcome, RowStream};
pub use pieces::{Cut, QueryPieces};
use prepared::Executed;
pub use prepared::Prepared;
pub(crate) use program_step::{CallingStatement, ProgramStep, SuspendedProgram};
pub use state_changes::StateChange;
use state_changes::StateTracker;
pub(crate) use tables::StatementUses;

use crate::accounts::roles::Active;
use crate::accounts::{AccountId, LOCALHOST, ROOT};
use crate::instance::Instance;
use crate::optimizer_trace::OptimizerTrace;
use crate::result::{Done, RowSet};
use crate::session_entry::{ConnectAttributes, SessionEntry, SessionKind, StatementText};
use crate::settings::{ConnectionFacts, SessionIsolation, Settings, variables};
use crate::status::{SessionCounters, StorageCounters};
use crate::system_names;
use leafline_expr::{SessionFacts, SharedLocks, SharedPasswordStrength, UserVariables};
use leafline_syntax::ast::StatementHints;
use leafline_syntax::{MAX_NESTING, ParseLimits};
use leafline_table::{BuildControl, SessionLocks};
use leafline_types::memory::server;
use leafline_types::statement::CancelReason;
use leafline_types::{CancelToken, Collation, DateTime, MysqlError, Progress, Warnings};
use parts::{CurrentStatement, KeptStatements, Login, SessionObjects};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use transaction::TransactionState;

/// One client's session.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    pub(crate) entry: Arc<SessionEntry>,
    pub(crate) settings: Settings,
    /// The optimizer trace of the last traced statement.
    pub(crate) optimizer_trace: Option<OptimizerTrace>,
    pub(crate) facts: SessionFacts,
    pub(crate) connection: ConnectionFacts,
    pub(crate) login: Login,
    pub(crate) user_variables: UserVariables,
    pub(crate) warnings: Warnings,
    pub(crate) cancel: CancelToken,
    pub(crate) statement: CurrentStatement,
    /// Limit of nesting in statements ([`ParseLimits::nesting`]).
    nesting: usize,
    /// True after a statement panicked.
    is_broken: bool,
    pub(crate) counters: SessionCounters,
    /// The storage counters at the last FLUSH STATUS.
    pub(crate) storage_baseline: StorageCounters,
    transaction: TransactionState,
    /// Owner of the session's locks.
    pub(crate) locks: Arc<SessionLocks>,
    pub(crate) objects: SessionObjects,
    pub(crate) kept: KeptStatements,
    client_files: ClientFileState,
    pub(crate) tracker: StateTracker,
    /// The session inside this one, once a statement has called a stored function or fired a trigger.
    inner: Option<Box<Session>>,
    /// The number of sessions around this one.
    level: usize,
    /// The statement of a stored program that runs.
    pub(crate) program_step: Option<ProgramStep>,
    /// The program that waits until its next result is taken.
    suspended: Option<Box<dyn SuspendedProgram>>,
    /// Whether CALL may give several results.
    pub(crate) several_results: bool,
    /// The OUT parameters of the last prepared CALL: their numbers, and their values as a row.
    out_parameters: Option<(Vec<usize>, RowSet)>,
    /// The EXECUTE that runs.
    executed: Option<Executed>,
}

impl Instance {
    /// Begins the session of connection `id` for `user` at `host` (`localhost`, or an address), which logged
    /// in as `account`. A program without an account may do everything.
    ///
    /// # Errors
    /// 1040 if there are `max_connections` sessions; an account that may kill other sessions may have one
    /// more. 1226 if the account has as many sessions as it may have.
    pub fn new_session(
        self: &Arc<Self>,
        id: u64,
        (user, host): (&str, &str),
        account: Option<AccountId>,
    ) -> Result<Session, MysqlError> {
        let entry = self.add_session(id, (user, host), account)?;
        Ok(Session::new(self.clone(), entry, self.globals().read().clone()))
    }

    /// Begins the session `id` for a run of an event, as the account `definer`.
    pub(crate) fn new_event_session(self: &Arc<Self>, id: u64, definer: AccountId) -> Session {
        let (user, host) = (definer.user.clone(), definer.host.clone());
        let entry = SessionEntry::new(id, &user, &host, (Some(definer), self.accounts().version()));
        let entry = self.add_own_session(entry.of_kind(SessionKind::Event));
        let mut session = Session::new(self.clone(), entry, self.globals().read().clone());
        session.several_results = true;
        session
    }

    /// Begins a session for the embedding program, which may do everything.
    ///
    /// # Errors
    /// 1040 if there are too many sessions.
    pub fn connect(self: &Arc<Self>) -> Result<Session, MysqlError> {
        self.new_session(self.new_connection_id(), (ROOT, LOCALHOST), None)
    }
}

impl Session {
    fn new(instance: Arc<Instance>, entry: Arc<SessionEntry>, settings: Settings) -> Session {
        let client = (entry.host.as_str(), entry.admitted);
        let access = instance.access_of(entry.account.as_ref(), client, Active::AtLogin);
        let facts = SessionFacts {
            version: instance.facts().version.clone(),
            database: None,
            user: format!("{}@{}", entry.user, entry.host),
            current_user: access.account().plain(),
            current_role: access.current_role(),
            connection_id: entry.id,
            last_insert_id: 0,
            row_count: -1,
            found_rows: 0,
            warning_count: 0,
            error_count: 0,
            query_attributes: Vec::new(),
            locks: SharedLocks(instance.user_locks().clone()),
            passwords: SharedPasswordStrength(instance.password_validation().clone()),
        };
        let storage_baseline = instance.storage_counters();
        Session {
            cancel: entry.cancel.clone(),
            login: Login::new(access, limited::has_old_password(&instance, &entry)),
            statement: CurrentStatement::none_yet(),
            nesting: MAX_NESTING,
            is_broken: false,
            locks: instance.engine().transactions().session_locks(),
            instance,
            entry,
            settings,
            optimizer_trace: None,
            facts,
            connection: ConnectionFacts::default(),
            user_variables: UserVariables::default(),
            warnings: Warnings::new(),
            counters: SessionCounters::default(),
            storage_baseline,
            transaction: TransactionState::default(),
            objects: SessionObjects::default(),
            kept: KeptStatements::default(),
            client_files: ClientFileState::default(),
            tracker: StateTracker::default(),
            inner: None,
            level: 0,
            program_step: None,
            suspended: None,
            several_results: false,
            out_parameters: None,
            executed: None,
        }
    }

    /// Runs one statement, with or without a semicolon at the end.
    ///
    /// # Errors
    /// MySQL's errors. A failed statement leaves nothing behind.
    pub fn execute(&mut self, sql: &str) -> Result<Outcome, MysqlError> {
        self.contained(|session| {
            session.begin_statement(StatementText::Of(sql));
            let outcome = session.count_text(sql).and_then(|()| session.run_text(sql));
            session.finish(outcome, sql)
        })
    }

    /// Sets the limit of nesting in statements, for a session whose thread has more stack than others.
    pub fn nest_up_to(&mut self, levels: usize) {
        self.nesting = levels;
    }

    /// Prepares one statement with parameters `?`.
    ///
    /// # Errors
    /// MySQL's errors, as far as they can be known without parameters.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, MysqlError> {
        self.give_up_results();
        self.contained(|session| {
            session.cancel.rearm();
            server::statement_begins();
            session.refresh_access();
            session.warnings.clear();
            let statement = session.parse(sql)?;
            session.prepare_statement(statement, sql)
        })
    }

    /// Reads the rights again if accounts have changed.
    #[inline]
    fn refresh_access(&mut self) {
        if self.login.access.version() != self.instance.accounts().version() {
            self.read_access();
        }
    }

    #[cold]
    fn read_access(&mut self) {
        let roles = self.login.roles.clone();
        self.read_access_with(Active::These(&roles));
    }

    /// Reads the rights that the account has with these roles.
    fn read_access_with(&mut self, active: Active<'_>) {
        let entry = &self.entry;
        let client = (entry.host.as_str(), entry.admitted);
        let access = self.instance.access_of(entry.account.as_ref(), client, active);
        self.login.has_expired_password &=
            access.is_expired() || limited::has_old_password(&self.instance, entry);
        self.login.roles = access.active_roles().into();
        self.facts.current_role = access.current_role();
        self.login.access = Arc::new(access);
    }

    /// Makes these the active roles, as far as they are granted.
    pub(crate) fn activate_roles(&mut self, roles: &[AccountId]) {
        self.read_access_with(Active::These(roles));
    }

    /// True if the session has to change its password first.
    pub(crate) fn has_to_change_password(&self) -> bool {
        self.login.has_expired_password
    }

    pub(crate) fn parse(&self, sql: &str) -> Result<leafline_syntax::ast::Statement, MysqlError> {
        let limits = ParseLimits {
            cancel: Some(&self.cancel),
            memory: self.settings.parser_memory,
            nesting: self.nesting,
        };
        leafline_syntax::parse_within(sql, self.settings.lex_mode(), limits)
    }

    /// Begins a statement. Rearms the cancel token, because a KILL QUERY that arrived earlier was meant for
    /// another statement.
    fn begin_statement(&mut self, sql: StatementText<'_>) {
        self.give_up_results();
        self.out_parameters = None;
        self.cancel.rearm();
        server::statement_begins();
        self.end_hints();
        self.refresh_access();
        self.instance.refresh_device(&mut self.settings.device);
        // Ends the counting of the previous statement, whose rows were given up.
        self.count_executed(false);
        self.statement.began = Instant::now();
        self.begin_counting(sql);
        self.statement.told_insert_id = None;
        (self.facts.warning_count, self.facts.error_count) = (self.warnings.count(), self.warnings.errors());
        self.warnings.keep_notes(self.settings.sql_notes);
        self.statement.groups.of_session = self.entry.begin(sql, self.statement.began);
        self.take_thread();
    }

    /// Applies the hints of the current statement until its end, with warnings for the ones that cannot be
    /// applied.
    pub(crate) fn apply_hints(&mut self, hints: &StatementHints) {
        if let Some(group) = &hints.resource_group {
            self.hint_group(group);
        }
        if hints.variables.is_empty() {
            return;
        }
        let before = self.settings.clone();
        for (name, value) in &hints.variables {
            let set = match variables::find(name) {
                Ok(variable) if variable.is_hintable() => {
                    let clipped = variable.set(&mut self.settings, Some(value.clone()));
                    clipped.and_then(|warning| warning.map_or(Ok(()), Err))
                }
                Ok(variable) => Err(MysqlError::not_hint_updatable(variable.name)),
                Err(_) => Err(MysqlError::unresolved_hint_name(format_args!("'{name}'"), "SET_VAR")),
            };
            if let Err(warning) = set {
                self.warnings.warn(warning);
            }
        }
        self.statement.unhinted.get_or_insert(Box::new(before));
    }

    fn end_hints(&mut self) {
        self.end_groups();
        if let Some(settings) = self.statement.unhinted.take() {
            self.settings = *settings;
        }
    }

    /// Limits the current statement to `millis` milliseconds from its begin; 0 for no limit.
    pub(crate) fn limit_time(&self, millis: u64) {
        // As in MySQL, the limit is one of statements outside of programs.
        if millis > 0 && !self.is_in_program() {
            self.cancel.set_deadline(self.statement.began.checked_add(Duration::from_millis(millis)));
        }
    }

    /// Ends a statement once its outcome is known; one with rows to compute ends later.
    fn finish(&mut self, mut outcome: Result<Outcome, MysqlError>, sql: &str) -> Result<Outcome, MysqlError> {
        self.leave_thread();
        self.transaction.used.has_sent |= matches!(outcome, Ok(Outcome::Rows(_)));
        match &mut outcome {
            Ok(Outcome::Rows(rows)) if rows.is_whole() => self.end_statement(true),
            // The rows are still to be computed, and may ask for the row count of the previous statement.
            Ok(Outcome::Rows(_)) => {}
            Ok(Outcome::Done(done)) => self.note_done(done),
            Err(error) => {
                self.count_failed(sql, error.code);
                self.note_error(error);
            }
        }
        if !matches!(outcome, Ok(Outcome::Rows(_))) {
            self.statement_ended();
        }
        outcome
    }

    /// Notes the counts of a statement without rows.
    fn note_done(&mut self, done: &mut Done) {
        self.statement.running.affected = done.affected;
        if !std::mem::take(&mut self.statement.keeps_row_count) {
            self.facts.row_count = i64::try_from(done.affected).unwrap_or(i64::MAX);
        }
        if done.last_insert_id == 0
            && let Some(told) = self.statement.told_insert_id
        {
            (done.last_insert_id, done.insert_id) = (told, told);
        }
        if done.last_insert_id != 0 {
            self.facts.last_insert_id = done.last_insert_id;
        }
    }

    /// Ends a statement after its last row was read or its rows were dropped.
    pub(crate) fn statement_ended(&mut self) {
        // The rows were those of a program's statement: the statement that called the program goes on.
        match self.program_step {
            Some(_) => self.end_step(),
            None => self.end_statement(false),
        }
    }

    fn end_statement(&mut self, is_point_read: bool) {
        // The statement around an inner session goes on, with its time limit.
        if self.is_inner() {
            return self.end_step();
        }
        self.cancel.set_deadline(None);
        let ended = self.count_executed(true);
        self.end_hints();
        self.end_uses();
        let since = (!is_point_read).then(|| ended.unwrap_or_else(Instant::now));
        self.entry.end(&self.counters, since);
        server::give_back();
    }

    /// Notes an error that ended a statement: SHOW WARNINGS shows it, and error 1213 has rolled the
    /// transaction back.
    pub(crate) fn note_error(&mut self, error: &MysqlError) {
        self.facts.row_count = -1;
        self.statement.running.error = Some(error.code);
        self.warnings.push(leafline_types::WarningLevel::Error, error.clone());
        self.end_failed_transaction();
    }

    /// FLUSH STATUS: sets the session's counters to zero.
    pub(crate) fn flush_status(&mut self) {
        self.instance.add_counters(std::mem::take(&mut self.counters), &self.entry);
        self.storage_baseline = self.instance.storage_counters();
    }

    /// The time of the current statement, in UTC and in the session's time zone: the clock's, unless
    /// `timestamp` is set.
    pub(crate) fn now(&self) -> Now {
        if let Some(now) = self.statement.fixed_now {
            return now;
        }
        let micros = self.settings.timestamp.or_else(clock_micros);
        let utc = micros.and_then(DateTime::from_epoch_micros).unwrap_or(DateTime::MAX);
        Now { utc, local: self.settings.time_zone.zone().to_local(utc).unwrap_or(DateTime::MAX) }
    }

    /// Borrows the parts of the session that its statements read.
    pub(crate) fn as_view(&self) -> SessionView<'_> {
        SessionView {
            instance: &self.instance,
            entry: &self.entry,
            settings: &self.settings,
            access: &self.login.access,
            locks: &self.locks,
            cancel: &self.cancel,
        }
    }

    /// The limits under which the current statement builds trees.
    pub(crate) fn build_control(&self) -> BuildControl {
        self.as_view().build_control()
    }

    /// The token with which another thread stops the session's statement.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// The progress of the current statement.
    pub fn progress(&self) -> Progress {
        self.entry.progress.clone()
    }

    /// The session's instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// `CONNECTION_ID()`.
    pub fn connection_id(&self) -> u64 {
        self.entry.id
    }

    /// The current database.
    pub fn database(&self) -> Option<&str> {
        self.facts.database.as_deref()
    }

    /// USE.
    ///
    /// # Errors
    /// 1044 if the session has no privilege on the database, 1820 if its password has expired, 1049 if there
    /// is no such database.
    pub fn set_database(&mut self, name: &str) -> Result<(), MysqlError> {
        self.give_up_results();
        self.refresh_access();
        if self.login.has_expired_password {
            return Err(MysqlError::must_change_password());
        }
        if !self.login.access.enters_database(name) {
            return Err(self.login.access.database_denied(name));
        }
        let catalog = self.instance.engine().catalog();
        let (name, collation) = match (system_names::database(name), catalog.database(name)) {
            (Some(known), _) => (known, Collation::Utf8mb3GeneralCi),
            (None, Some(database)) => (name, database.collation),
            (None, None) => return Err(MysqlError::unknown_database(name)),
        };
        self.settings.database_collation = collation;
        self.facts.database = Some(name.into());
        self.entry.set_database(Some(name));
        self.tracker.schema();
        Ok(())
    }

    pub(crate) fn forget_database(&mut self) {
        self.facts.database = None;
        self.settings.database_collation = self.settings.server_collation;
        self.entry.set_database(None);
    }

    /// The diagnostics of the last statement.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// `LAST_INSERT_ID()`.
    pub fn last_insert_id(&self) -> u64 {
        self.facts.last_insert_id
    }

    /// Gives an interactive client `interactive_timeout` as its idle time.
    fn take_idle_time(&mut self) {
        if self.connection.is_interactive {
            self.settings.wait_timeout = self.settings.interactive_timeout;
        }
    }

    /// Keeps the client's connection attributes.
    pub fn described(&mut self, attributes: ConnectAttributes) {
        self.entry.set_attributes(attributes);
    }

    /// Sets the facts of the connection that serves the session.
    pub fn connected(&mut self, facts: ConnectionFacts) {
        self.connection = facts;
        self.take_idle_time();
    }

    /// Applies the collation that a client named at login, like SET NAMES. An unknown collation, or one with
    /// a character set that clients cannot use, selects the server's, as in MySQL.
    pub fn greet(&mut self, collation: u16) {
        let collation = Collation::from_id(collation)
            .filter(|collation| collation.charset().is_for_clients())
            .unwrap_or(self.settings.server_collation);
        let charset = collation.charset();
        self.settings.collation = collation;
        (self.settings.client_charset, self.settings.results_charset) = (charset, Some(charset));
    }

    /// The session's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The session's counters.
    pub fn counters(&self) -> &SessionCounters {
        &self.counters
    }

    /// Resets the session: rolls back, drops temporary tables, forgets variables and prepared statements. The
    /// current database stays.
    pub fn reset(&mut self) {
        self.give_up_results();
        self.rollback();
        self.drop_all_own_tables();
        self.objects.handlers = Default::default();
        self.forget_hypothetical();
        self.objects.locked_tables = None;
        self.facts.locks.release_all(self.entry.id);
        let database_collation = self.settings.database_collation;
        self.settings = Settings { database_collation, ..self.instance.globals().read().clone() };
        self.take_idle_time();
        self.user_variables = UserVariables::default();
        self.kept = KeptStatements::default();
        // It shares the entry and the cancel token, which another user replaces.
        self.inner = None;
        self.entry.set_prepared(0);
        self.warnings.clear();
        self.facts.last_insert_id = 0;
        self.facts.row_count = -1;
        self.facts.found_rows = 0;
        self.forget_next_characteristics();
    }

    /// Makes this the session of `user` at `host`, logged in as `account`, as if it had just begun; it gets a
    /// new cancel token.
    pub fn change_user(&mut self, user: &str, host: &str, account: AccountId) -> Result<(), MysqlError> {
        let entry = self.instance.replace_session(self.entry.id, (user, host), account)?;
        self.reset();
        self.forget_database();
        self.flush_status();
        let before = std::mem::replace(&mut self.cancel, entry.cancel.clone());
        self.entry = entry;
        if let Some(reason @ CancelReason::ConnectionKilled) = before.reason() {
            self.cancel.cancel(reason);
        }
        self.read_access_with(Active::AtLogin);
        self.login.has_expired_password = self.login.access.is_expired();
        self.facts.user = format!("{user}@{host}");
        self.facts.current_user = self.login.access.account().plain();
        Ok(())
    }

    /// SET SESSION TRANSACTION overrides SET TRANSACTION for the next transaction, unless one is open.
    pub(crate) fn replace_next_transaction(&mut self, isolation: bool, read_only: bool) {
        if self.in_transaction() {
            return;
        }
        if isolation {
            self.transaction.next_isolation = None;
        }
        if read_only {
            self.transaction.next_read_only = None;
        }
    }

    /// SET TRANSACTION without a scope.
    pub(crate) fn set_next_transaction(
        &mut self,
        isolation: Option<SessionIsolation>,
        read_only: Option<bool>,
    ) -> Result<(), MysqlError> {
        if self.in_transaction() {
            return Err(MysqlError::cannot_change_transaction());
        }
        self.transaction.next_isolation = isolation.or(self.transaction.next_isolation);
        self.transaction.next_read_only = read_only.or(self.transaction.next_read_only);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // An inner session has given back what it borrowed, and shares the rest.
        if self.is_inner() {
            return;
        }
        self.give_up_results();
        self.count_executed(false);
        self.rollback();
        self.drop_all_own_tables();
        self.forget_hypothetical();
        self.facts.locks.release_all(self.entry.id);
        self.instance.add_counters(self.counters, &self.entry);
        self.instance.end_session(self.entry.id);
    }
}
/// Microseconds since 1970.
pub(crate) fn clock_micros() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).ok()
}
