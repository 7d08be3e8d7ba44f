//! The state that a statement owns from its first batch of rows to its last.

use super::Session;
use super::calls::Calls;
use super::context::{SessionView, StatementContext, StoreRules};
use super::now::Now;
use leafline_access::{Budget, ScanPiece};
use leafline_executor::{ExecutionContext, Part, Profile, Runner, StatementLocks, Subplans};
use leafline_expr::{CallState, EvalContext, ProgramRunner};
use leafline_planner::plan::PlanParts;
use leafline_table::{ReadView, Transaction};
use leafline_types::memory::MemoryBudget;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// One execution of a statement. The session lends its diagnostics and counters for each call, so that it is
/// free between batches.
pub(crate) struct Execution {
    view: ReadView,
    parameters: Arc<[Value]>,
    now: Now,
    stores: bool,
    rules: StoreRules,
    state: CallState,
    memory: MemoryBudget,
    locks: Option<StatementLocks>,
    profile: Option<Profile>,
    subplans: Subplans,
    row_by_row: bool,
    max_recursion: u64,
    /// The piece of its table to read, until the scan begins; `None` for the whole table.
    piece: Option<ScanPiece>,
    /// The calls of stored functions, if the statement has any.
    calls: Option<Box<Calls>>,
}

impl Execution {
    /// An execution that reads at `view`. `stores` is true if its values are stored.
    pub(crate) fn new(session: &Session, view: ReadView, parameters: &[Value], stores: bool) -> Execution {
        Execution {
            view: view.with_read_ahead(session.settings.read_ahead),
            parameters: parameters.into(),
            now: session.now(),
            stores,
            rules: StoreRules::default(),
            state: CallState::default(),
            memory: MemoryBudget::of_statement(session.settings.query_memory),
            locks: None,
            profile: None,
            subplans: Subplans::default(),
            row_by_row: false,
            max_recursion: session.settings.cte_max_recursion_depth,
            piece: None,
            calls: None,
        }
    }

    /// Makes the execution read a piece of its table, as a part of a query that began at `now`.
    pub(crate) fn reading(self, piece: Option<ScanPiece>, now: Now) -> Execution {
        Execution { piece, now, ..self }
    }

    /// Sets the rules for values that do not fit their columns.
    pub(crate) fn storing(mut self, rules: StoreRules) -> Execution {
        self.rules = rules;
        self
    }

    /// Prepares the execution for another run of its statement, with other parameters.
    pub(crate) fn renew(&mut self, session: &Session, parameters: &[Value]) {
        match Arc::get_mut(&mut self.parameters) {
            Some(own) if own.len() == parameters.len() => own.clone_from_slice(parameters),
            _ => self.parameters = parameters.into(),
        }
        self.now = session.now();
        self.state = CallState::default();
    }

    /// Gives the subqueries of a statement to its expressions.
    pub(crate) fn with_parts(mut self, parts: &Arc<PlanParts>) -> Execution {
        self.row_by_row = parts.row_by_row;
        if !parts.subqueries.is_empty() || !parts.commons.is_empty() {
            self.subplans = Subplans::new(parts, self.max_recursion);
        }
        self
    }

    /// Allows the execution to lock rows for `transaction`.
    pub(crate) fn locking(mut self, transaction: &mut Transaction) -> Execution {
        let restartable = transaction.can_restart();
        self.locks = Some(StatementLocks { locker: transaction.row_locker(), restartable });
        self
    }

    /// Allows the execution to run stored functions and triggers in `transaction`, if its statement has any.
    ///
    /// # Errors
    /// 1436 if the session stands too deep in others.
    pub(crate) fn calling(
        mut self,
        has_any: bool,
        session: &Session,
        transaction: &mut Transaction,
    ) -> Result<Execution, MysqlError> {
        if has_any {
            self.calls = Some(Box::new(Calls::within(session, transaction)?));
        }
        Ok(self)
    }

    /// Profiles a plan of `nodes` nodes, and its subplans.
    pub(crate) fn profiled(mut self, nodes: usize) -> Execution {
        self.profile = Some(Profile::new(nodes));
        self.subplans.keep_profiles();
        self
    }

    /// Gives up the calls of stored functions, before their transaction ends.
    pub(crate) fn end_calls(&mut self) {
        self.calls = None;
    }

    /// The profile, if one was kept.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The profile of a subplan, if one was kept.
    pub(crate) fn part_profile(&self, part: Part) -> Option<Profile> {
        self.subplans.take_profile(part)
    }

    /// Runs one step of the statement.
    pub(crate) fn with<R>(
        &mut self,
        session: &mut Session,
        step: impl FnOnce(&mut StatementContext<'_>) -> R,
    ) -> R {
        let mut calls = self.calls.take();
        let host = calls.as_mut().map(|calls| calls.enter(session, self.now));
        let mut sql_mode = session.settings.evaluation_mode();
        sql_mode.strict &= !self.rules.ignore;
        let room = session.room_for_variables();
        self.state.variables = std::mem::take(&mut session.user_variables);
        self.state.variables.set_room(room);
        let runner = Runner {
            subplans: &self.subplans,
            view: &self.view,
            locks: self.locks.as_ref(),
            memory: &self.memory,
        };
        let exec = ExecutionContext {
            eval: EvalContext {
                parameters: &self.parameters,
                outer: &[],
                subqueries: Some(&runner),
                programs: host.as_ref().map(|host| host as &dyn ProgramRunner),
                now: self.now.local,
                utc_now: self.now.utc,
                zone: session.settings.time_zone.zone(),
                sql_mode,
                stores: self.stores,
                session: &session.facts,
                warnings: &mut session.warnings,
                cancel: &session.cancel,
                memory: &self.memory,
                ignores: self.rules.ignore,
                row_by_row: self.row_by_row,
                state: std::mem::take(&mut self.state),
            },
            view: &self.view,
            counters: &mut session.counters.access,
            locks: self.locks.as_ref(),
            memory: &self.memory,
            subplans: &self.subplans,
            profile: self.profile.as_mut(),
            piece: self.piece.take(),
            budget: Budget::default(),
        };
        let view = SessionView {
            instance: &session.instance,
            entry: &session.entry,
            settings: &session.settings,
            access: &session.login.access,
            locks: &session.locks,
            cancel: &session.cancel,
        };
        let mut cx = StatementContext {
            exec,
            session: view,
            rules: self.rules,
            now: self.now,
            programs: host.as_ref(),
        };
        let result = step(&mut cx);
        self.state = std::mem::take(&mut cx.exec.eval.state);
        if let (Some(calls), Some(host)) = (&mut calls, host) {
            calls.leave(host, session);
        }
        self.calls = calls;
        session.user_variables = std::mem::take(&mut self.state.variables);
        if let Some(id) = self.state.last_insert_id.take() {
            session.facts.last_insert_id = id;
            session.statement.told_insert_id = Some(id);
        }
        if let Some(counters) = self.subplans.take_counters() {
            session.counters.access += *counters;
        }
        result
    }
}
