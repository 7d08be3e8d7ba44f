//! The calls of stored functions and triggers by a running statement: lends parts of the session to its inner session, and takes
//! them back.

use super::Session;
use super::now::Now;
use leafline_expr::{ProgramCall, UserVariables};
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value, Warnings};
use std::cell::RefCell;

/// How deep sessions may stand in each other: a function whose query calls a function, and so on.
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
    /// 1436 if the session stands too deep in others, or its thread's stack is used up.
    pub(super) fn within(session: &Session, transaction: &mut Transaction) -> Result<Calls, MysqlError> {
        if session.level >= MAX_LEVELS {
            return Err(MysqlError::nested_too_deeply(MAX_LEVELS));
        }
        session.check_stack()?;
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
        if std::mem::take(&mut inner.statement.has_set) {
            session.settings.clone_from(&inner.settings);
            session.statement.has_set = true;
        }
        session.inner = Some(inner);
    }
}

/// The inner session during one step of a statement.
pub(crate) struct CallHost {
    inner: RefCell<Box<Session>>,
    kept: RefCell<Vec<(ProgramCall, Value)>>,
}

impl CallHost {
    /// Returns the result of a call that needs one evaluation in an execution, if it was evaluated.
    pub(crate) fn kept(&self, call: &ProgramCall) -> Option<Value> {
        let kept = self.kept.borrow();
        kept.iter().find(|(known, _)| known == call).map(|(_, value)| value.clone())
    }

    /// Keeps the result of such a call.
    pub(crate) fn keep(&self, call: &ProgramCall, value: &Value) {
        self.kept.borrow_mut().push((call.clone(), value.clone()));
    }

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
