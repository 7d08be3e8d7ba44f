//! The session inside a session: it runs the statements of the stored functions and triggers that a statement calls.
//!
//! While a statement evaluates expressions, its session lends parts of itself and cannot run statements. An inner session can: it
//! has settings, facts and plans of its own, shares the entry, the locks and the cancel token, and borrows for the time of one
//! step the temporary tables, and for the time of one call the user variables and the diagnostics. Its transaction is an inner
//! handle of the calling statement's ([`Transaction::inner`]): an inner statement is undone by itself, and ends nothing.
//!
//! LAST_INSERT_ID(), ROW_COUNT() and FOUND_ROWS() of the calling session stay as they are, as in MySQL: the inner session begins
//! with copies. NOW() stands still.

use super::context::Now;
use super::parts::{CurrentStatement, KeptStatements, Login, SessionObjects};
use super::transaction::TransactionState;
use super::{ClientFileState, Session, StateTracker};
use crate::program;
use crate::status::SessionCounters;
use leafline_expr::{EvalContext, ProgramCall, ProgramRunner, UserVariables};
use leafline_table::{ProgramDef, Transaction};
use leafline_types::{MysqlError, Value, Warnings};
use std::cell::RefCell;
use std::sync::Arc;

/// How deep sessions may stand in each other: a function whose query calls a function, and so on. Each level takes stack of the
/// thread, which has 2 MiB.
const MAX_LEVELS: usize = 12;

/// The calls of stored functions by one execution of a statement.
pub(crate) struct Calls {
    transaction: Option<Transaction>,
    /// Results of calls that need one evaluation in an execution.
    kept: Vec<(ProgramCall, Value)>,
}

impl Calls {
    /// Calls inside a statement of `transaction`.
    ///
    /// # Errors
    /// 1436 if the session stands too deep in others.
    pub(super) fn within(session: &Session, transaction: &mut Transaction) -> Result<Calls, MysqlError> {
        if session.level >= MAX_LEVELS {
            return Err(MysqlError::nested_too_deeply(MAX_LEVELS));
        }
        Ok(Calls { transaction: Some(transaction.inner()), kept: Vec::new() })
    }

    /// Lends parts of the session to its inner session, for one step of the statement.
    pub(super) fn enter(&mut self, session: &mut Session, now: Now) -> CallHost {
        let mut inner = session.inner.take().unwrap_or_else(|| Box::new(Session::inside(session)));
        inner.begin_inner(session, now);
        inner.transaction.open = self.transaction.take();
        CallHost { inner: RefCell::new(inner), kept: RefCell::new(std::mem::take(&mut self.kept)) }
    }

    /// Takes back what [`enter`](Self::enter) lent.
    pub(super) fn leave(&mut self, host: CallHost, session: &mut Session) {
        let mut inner = host.inner.into_inner();
        self.transaction = inner.transaction.open.take();
        self.kept = host.kept.into_inner();
        session.objects = std::mem::take(&mut inner.objects);
        session.counters += std::mem::take(&mut inner.counters);
        session.inner = Some(inner);
    }
}

/// The inner session during one step of a statement.
pub(crate) struct CallHost {
    inner: RefCell<Box<Session>>,
    kept: RefCell<Vec<(ProgramCall, Value)>>,
}

impl CallHost {
    /// Runs `step` in the inner session, with the variables of the calling statement and diagnostics of its own.
    ///
    /// # Errors
    /// The errors of `step`.
    pub(crate) fn run<R>(
        &self,
        variables: &mut UserVariables,
        warnings: &mut Warnings,
        step: impl FnOnce(&mut Session) -> Result<R, MysqlError>,
    ) -> Result<R, MysqlError> {
        let mut inner = self
            .inner
            .try_borrow_mut()
            .map_err(|_| MysqlError::internal("a stored program was called from its own session"))?;
        std::mem::swap(&mut inner.user_variables, variables);
        // The program clears its own diagnostics; those of the statement stay, and the program's come behind them.
        inner.warnings = warnings.another();
        let result = step(&mut inner);
        std::mem::swap(&mut inner.user_variables, variables);
        warnings.append(std::mem::take(&mut inner.warnings));
        result
    }
}

impl ProgramRunner for CallHost {
    fn call(
        &self,
        call: &ProgramCall,
        args: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        if !call.is_volatile
            && let Some((_, value)) = self.kept.borrow().iter().find(|(kept, _)| kept == call)
        {
            return Ok(value.clone());
        }
        let value = self
            .run(&mut cx.state.variables, cx.warnings, |inner| program::call_function(inner, call, args))?;
        if !call.is_volatile {
            self.kept.borrow_mut().push((call.clone(), value.clone()));
        }
        Ok(value)
    }
}

impl Session {
    /// Makes the session inside `outer`.
    fn inside(outer: &Session) -> Session {
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
            execute_variables: None,
        }
    }

    /// Takes over the state of the calling session for one step.
    fn begin_inner(&mut self, outer: &mut Session, now: Now) {
        self.login.access = outer.login.access.clone();
        self.login.roles = outer.login.roles.clone();
        if self.settings != outer.settings {
            self.settings.clone_from(&outer.settings);
        }
        self.facts.clone_from(&outer.facts);
        self.objects = std::mem::take(&mut outer.objects);
        self.statement.fixed_now = Some(now);
        self.statement.programs.clone_from(&outer.statement.programs);
        self.statement.around.clear();
        self.statement.around.extend(outer.statement.around.iter().chain(&outer.statement.uses).copied());
    }

    /// Runs the body of a stored function or trigger.
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
        self.statement.programs.push(program.clone());
        let result = body(self);
        self.statement.programs.pop();
        result
    }

    /// Whether the session runs the statements of stored functions and triggers, inside a statement of another.
    pub(crate) fn is_inner(&self) -> bool {
        self.level > 0
    }
}
