//! Runs the steps of programs.
//!
//! A [`Run`] is a machine that its caller pulls: it goes on until a query gives rows, which the caller reads,
//! and is suspended meanwhile. Expressions and jumps run in a loop of their own, without the cost of a
//! statement. Each backward jump and each statement checks whether the statement was cancelled; no handler
//! takes that.

use super::conditions;
use super::context;
use super::evaluate::{self, Surroundings, Use};
use super::frame::{ActiveHandler, Frame, Target};
use super::integers;
use crate::program_code::StepKind;
use crate::result::Done;
use crate::session::{CallingStatement, Outcome, RowStream, Session, SuspendedProgram};
use leafline_types::error::errno;
use leafline_types::memory::MemoryBudget;
use leafline_types::words::ProgramKind;
use leafline_types::{ExprType, MysqlError, Value, Warning, WarningLevel, WarningsMark};
use std::sync::Arc;

/// The most frames of one run, whatever `max_sp_recursion_depth` allows: procedures may call each other.
const MAX_FRAMES: usize = 1024;

/// A running call of a program, with the calls inside it.
pub(crate) struct Run {
    pub(super) frames: Vec<Frame>,
    pub(super) memory: MemoryBudget,
    calling: Option<CallingStatement>,
    text: String,
    /// An error of the rows that the caller has read.
    pending: Option<MysqlError>,
    /// The place in the diagnostics at which the last statement began.
    pub(super) statement_mark: WarningsMark,
    /// Whether it is GET DIAGNOSTICS or another that leaves the diagnostics before it.
    pub(super) keeps_diagnostics: bool,
    /// The step whose rows the caller reads.
    pub(super) rows_at: usize,
    /// The place in the diagnostics at which its statement began, until the caller has read the rows: the warnings that they
    /// give are the statement's.
    pub(super) rows_mark: Option<WarningsMark>,
    /// The value of RETURN.
    pub(super) returned: Option<Value>,
    /// The variables of a trigger when it ended, and which of them were assigned.
    pub(super) last_slots: Vec<Value>,
    pub(super) last_assigned: Vec<bool>,
    /// The values of OUT and INOUT parameters that the client wants, with their names and types.
    pub(super) client_values: Vec<(usize, String, Value, ExprType)>,
}

/// The way on from a step.
pub(super) enum Next {
    /// The next step.
    Step,
    /// Rows for the caller.
    Rows(RowStream),
}

impl Run {
    /// Begins the call that `frame` describes, for a statement with the text `text`.
    ///
    /// # Errors
    /// 1041 and others if its arguments are too large.
    pub(crate) fn new(session: &mut Session, text: &str, frame: Frame) -> Result<Run, MysqlError> {
        let memory = MemoryBudget::of_statement(session.settings.query_memory);
        if let Err(error) = memory.take(held_bytes(&frame)) {
            leave_frame(session, frame);
            return Err(error);
        }
        Ok(Run {
            frames: vec![frame],
            memory,
            rows_at: 0,
            rows_mark: None,
            calling: Some(session.set_statement_aside()),
            text: text.to_owned(),
            pending: None,
            statement_mark: session.warnings.mark(),
            keeps_diagnostics: false,
            returned: None,
            last_slots: Vec::new(),
            last_assigned: Vec::new(),
            client_values: Vec::new(),
        })
    }

    /// Goes on until a query gives rows; `None` at the end.
    ///
    /// # Errors
    /// The error that no handler takes.
    pub(crate) fn go(&mut self, session: &mut Session) -> Result<Option<RowStream>, MysqlError> {
        if let Some(mark) = self.rows_mark.take()
            && self.pending.is_none()
        {
            self.end_statement(session, mark);
        }
        loop {
            let next = match self.pending.take() {
                Some(error) => {
                    session.warnings.push(WarningLevel::Error, error.clone());
                    Err(error)
                }
                None if self.frames.is_empty() => return Ok(None),
                None => self.step(session),
            };
            match next {
                Ok(Next::Step) => {}
                Ok(Next::Rows(rows)) => return Ok(Some(rows)),
                Err(error) => self.handle_error(session, error)?,
            }
        }
    }

    /// Ends the run: leaves the settings of all programs.
    pub(crate) fn end(&mut self, session: &mut Session) {
        while !self.frames.is_empty() {
            self.drop_frame(session);
        }
        if let Some(mut calling) = self.calling.take() {
            session.take_statement_back(&mut calling);
        }
    }

    /// Adds the frame of a call inside the program.
    ///
    /// # Errors
    /// 1456 if the procedure stands too often in its own call.
    pub(super) fn push(&mut self, session: &mut Session, frame: Frame) -> Result<(), MysqlError> {
        let same = self.frames.iter().filter(|known| Arc::ptr_eq(&known.code, &frame.code)).count();
        let limit = session.settings.max_sp_recursion_depth;
        if same as u64 > limit || self.frames.len() >= MAX_FRAMES {
            let name = frame.code.name.rsplit('.').next().unwrap_or_default().to_owned();
            leave_frame(session, frame);
            return Err(MysqlError::recursion_limit(limit, name));
        }
        if let Err(error) = self.memory.take(held_bytes(&frame)) {
            leave_frame(session, frame);
            return Err(error);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Ends the innermost call.
    fn drop_frame(&mut self, session: &mut Session) {
        if let Some(frame) = self.frames.pop() {
            self.memory.give_back(held_bytes(&frame));
            leave_frame(session, frame);
        }
    }

    /// Runs pure steps, and then one other.
    fn step(&mut self, session: &mut Session) -> Result<Next, MysqlError> {
        let mark = session.warnings.mark();
        if let Err(error) = self.pure(session) {
            session.warnings.push(WarningLevel::Error, error.clone());
            return Err(error);
        }
        if session.warnings.raised_since(mark) {
            return Ok(Next::Step);
        }
        let Some(frame) = self.frames.last_mut() else { return Ok(Next::Step) };
        let code = frame.code.clone();
        let Some(step) = code.steps.get(frame.at) else {
            return Err(MysqlError::internal("a stored program went on behind its end"));
        };
        if let Err(error) = session.cancel.check() {
            session.warnings.push(WarningLevel::Error, error.clone());
            return Err(error);
        }
        match &step.kind {
            StepKind::Sql(statement) => self.sql(session, *statement),
            StepKind::Open(cursor) => self.simple(session, |run, session| run.open_cursor(session, *cursor)),
            StepKind::Fetch { cursor, into } => {
                self.simple(session, |run, session| run.fetch(session, *cursor, into))
            }
            StepKind::Close(cursor) => self.simple(session, |run, _| run.close_cursor(*cursor)),
            StepKind::CloseAll(cursors) => {
                self.close_cursors(cursors.clone());
                self.advance();
                Ok(Next::Step)
            }
            StepKind::CaseMissing => self.simple(session, |_, _| Err(MysqlError::case_not_found())),
            StepKind::EndHandler(exit) => {
                self.end_handler(session, *exit);
                Ok(Next::Step)
            }
            StepKind::Return(value) => self.simple(session, |run, session| run.return_value(session, *value)),
            StepKind::End => {
                self.end_frame(session)?;
                Ok(Next::Step)
            }
            // The loop of pure steps has run the others.
            _ => Ok(Next::Step),
        }
    }

    fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.at += 1;
        }
    }

    /// Runs a step that is no statement of its own; its conditions replace the ones before.
    fn simple(
        &mut self,
        session: &mut Session,
        work: impl FnOnce(&mut Run, &mut Session) -> Result<(), MysqlError>,
    ) -> Result<Next, MysqlError> {
        let (mark, depth) = (session.warnings.mark(), self.frames.len());
        match work(self, session) {
            Ok(()) => {
                if self.frames.len() == depth && !self.handle_warnings(session, mark) {
                    self.advance();
                }
                Ok(Next::Step)
            }
            Err(error) => {
                session.warnings.drop_before(mark);
                session.warnings.push(WarningLevel::Error, error.clone());
                Err(error)
            }
        }
    }

    /// Runs assignments and jumps up to another step, or until one gives a warning that a handler takes.
    fn pure(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let code = frame.code.clone();
        let around = Surroundings::of(session);
        loop {
            integers::run(frame, &session.cancel)?;
            let Some(step) = code.steps.get(frame.at) else { return Ok(()) };
            let mark = session.warnings.mark();
            let done = match &step.kind {
                StepKind::Clear(slot) => {
                    evaluate::put(frame, &self.memory, *slot, Value::Null).map(|()| frame.at + 1)
                }
                StepKind::Set { slot, value } => {
                    let value = evaluate::value(session, frame, *value, (&around, Use::Stored));
                    value
                        .and_then(|(value, from)| {
                            let place = (&mut *frame, &self.memory);
                            evaluate::assign(session, place, *slot, (value, &from), &around)
                        })
                        .map(|()| frame.at + 1)
                }
                StepKind::JumpUnless { condition, target } => {
                    if *target <= frame.at {
                        session.cancel.check()?;
                    }
                    let holds = evaluate::holds(session, frame, *condition, &around);
                    holds.map(|holds| if holds { frame.at + 1 } else { *target })
                }
                StepKind::Switch { branch, targets } => {
                    let branch = evaluate::value(session, frame, *branch, (&around, Use::Tested));
                    branch.map(|(branch, _)| {
                        let number = branch.as_integer().and_then(|number| usize::try_from(number).ok());
                        let target = number.and_then(|number| targets.get(number)).or(targets.last());
                        target.copied().unwrap_or(frame.at + 1)
                    })
                }
                _ => return Ok(()),
            };
            match done {
                Ok(next) if !session.warnings.raised_since(mark) => frame.at = next,
                Ok(next) => {
                    session.warnings.drop_before(mark);
                    let at = frame.at;
                    frame.at = next;
                    if taken(session, frame, at, mark) {
                        return Ok(());
                    }
                }
                Err(error) => {
                    session.warnings.drop_before(mark);
                    return Err(error);
                }
            }
        }
    }

    /// Lets a handler take the warnings that a step has given; returns whether one does.
    pub(super) fn handle_warnings(&mut self, session: &mut Session, mark: WarningsMark) -> bool {
        if !session.warnings.raised_since(mark) {
            return false;
        }
        if !std::mem::take(&mut self.keeps_diagnostics) {
            session.warnings.drop_before(mark);
        }
        let Some(frame) = self.frames.last_mut() else { return false };
        let at = frame.at;
        taken(session, frame, at, mark)
    }

    /// Lets a handler take an error, which is the last condition in the diagnostics. Ends the calls that have
    /// no handler.
    fn handle_error(&mut self, session: &mut Session, error: MysqlError) -> Result<(), MysqlError> {
        // Below a function or trigger a conflict ends the statement that called it, which may run again.
        let is_final = matches!(error.code, errno::ER_QUERY_INTERRUPTED | errno::ER_QUERY_TIMEOUT)
            || error.code == errno::ER_LOCK_DEADLOCK && session.is_inner()
            || session.cancel.check().is_err();
        while let Some(frame) = self.frames.last_mut().filter(|_| !is_final) {
            let raised = as_condition(&error);
            if let Some(found) = conditions::find(&frame.code, frame.at, &raised) {
                let at = frame.at;
                activate(session, frame, at, found, raised);
                return Ok(());
            }
            self.drop_frame(session);
        }
        // The statement around notes the error itself.
        session.warnings.take_last_error();
        Err(error)
    }

    fn end_handler(&mut self, session: &mut Session, exit: Option<usize>) {
        let Some(frame) = self.frames.last_mut() else { return };
        let Some(ended) = frame.active.pop() else { return };
        session.warnings.drop_before(ended.mark);
        match exit {
            Some(exit) => {
                while frame.active.last().is_some_and(|inner| inner.depth > ended.depth) {
                    frame.active.pop();
                }
                frame.at = exit;
            }
            None => frame.at = ended.resume,
        }
    }

    fn return_value(&mut self, session: &mut Session, value: usize) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        // A handler that takes an error of the value and continues leaves NULL, as in MySQL.
        self.returned = Some(Value::Null);
        let around = Surroundings::of(session);
        let (value, from) = evaluate::value(session, frame, value, (&around, Use::Stored))?;
        let code = frame.code.clone();
        let Some(returns) = &code.returns else {
            return Err(MysqlError::internal("RETURN outside of a function"));
        };
        self.returned = Some(evaluate::converted(session, returns, value, &from, &around)?);
        self.drop_frame(session);
        Ok(())
    }

    /// Ends the innermost call at its last step, and gives the OUT parameters to the caller.
    fn end_frame(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        if frame.code.returns.is_some() && self.returned.is_none() {
            let error = MysqlError::no_return_at_end(frame.code.name.rsplit('.').next().unwrap_or_default());
            session.warnings.push(WarningLevel::Error, error.clone());
            self.frames.push(frame);
            return Err(error);
        }
        let mark = frame.mark;
        let outputs = std::mem::take(&mut frame.outputs);
        let values: Vec<Value> =
            outputs.iter().map(|(slot, _)| frame.slots.get(*slot).cloned().unwrap_or(Value::Null)).collect();
        let code = frame.code.clone();
        self.memory.give_back(held_bytes(&frame));
        if code.kind == ProgramKind::Trigger {
            self.last_slots = std::mem::take(&mut frame.slots);
            self.last_assigned = std::mem::take(&mut frame.assigned);
        }
        leave_frame(session, frame);
        let assigned = outputs.into_iter().zip(values).try_for_each(|((slot, target), value)| {
            let Some(declared) = code.slots.get(slot) else { return Ok(()) };
            let ty = declared.expr_type();
            match target {
                Target::User(name) => session.set_user_variable(&name, value, &ty),
                Target::Client(number) => {
                    self.client_values.push((number, declared.name.clone(), value, ty));
                    Ok(())
                }
                Target::Slot(to) => {
                    let around = Surroundings::of(session);
                    let Some(caller) = self.frames.last_mut() else { return Ok(()) };
                    let place = (caller, &self.memory);
                    evaluate::assign(session, place, to, (value, &ty.sql), &around)
                }
            }
        });
        if let Err(error) = assigned {
            session.warnings.push(WarningLevel::Error, error.clone());
            return Err(error);
        }
        // The caller goes on behind its CALL, unless a handler takes a warning.
        if let Some(caller) = self.frames.last_mut() {
            let at = caller.at;
            caller.at += 1;
            taken(session, caller, at, mark);
        }
        Ok(())
    }
}

/// Lets a handler take one of the diagnostics that were added after a mark; the last that has a handler
/// counts.
fn taken(session: &mut Session, frame: &mut Frame, at: usize, mark: WarningsMark) -> bool {
    let found = session.warnings.since(mark).iter().rev().find_map(|raised| {
        let is_error = raised.level == WarningLevel::Error;
        let found = if is_error { None } else { conditions::find(&frame.code, at, raised) };
        found.map(|found| (found, raised.clone()))
    });
    let Some((found, raised)) = found else { return false };
    activate(session, frame, at, found, raised);
    true
}

fn activate(session: &mut Session, frame: &mut Frame, at: usize, found: conditions::Found, raised: Warning) {
    let resume = frame.code.steps.get(at).map_or(at + 1, |step| step.resume);
    let handled = Arc::new((raised, session.warnings.clone()));
    let mark = session.warnings.mark();
    frame.active.push(ActiveHandler { depth: found.depth, resume, handled, mark });
    frame.at = found.entry;
}

fn as_condition(error: &MysqlError) -> Warning {
    let MysqlError { code, sqlstate, message, details } = error.clone();
    Warning { level: WarningLevel::Error, code, message, sqlstate, details }
}

/// Bytes that the variables and cursors of a call hold.
fn held_bytes(frame: &Frame) -> usize {
    let variables: usize = frame.slots.iter().map(evaluate::heap_bytes).sum();
    let cursors: usize = frame.cursors.iter().flatten().map(|open| open.bytes).sum();
    variables + cursors
}

/// Returns to the caller's settings, and keeps the plans of the call.
pub(super) fn leave_frame(session: &mut Session, frame: Frame) {
    let Frame { code, def, plans, caller, .. } = frame;
    if let Some(caller) = caller {
        context::leave(session, caller);
    }
    session.kept.programs.give_plans(def.as_ref(), &code, plans);
}

/// Runs a program until its first result, and keeps it for the next one.
pub(super) fn drive(mut run: Box<Run>, session: &mut Session) -> Result<Outcome, MysqlError> {
    let outcome = run.outcome(session);
    if matches!(outcome, Ok(Outcome::Rows(_))) {
        session.suspend(run);
    }
    outcome
}

impl Run {
    fn outcome(&mut self, session: &mut Session) -> Result<Outcome, MysqlError> {
        match self.go(session) {
            Ok(Some(rows)) => Ok(Outcome::Rows(rows)),
            Ok(None) => {
                self.end(session);
                session.keep_out_parameters(std::mem::take(&mut self.client_values));
                let affected = u64::try_from(session.facts.row_count).unwrap_or(0);
                Ok(Outcome::Done(Done { affected, matched: affected, ..Done::default() }))
            }
            Err(error) => {
                self.end(session);
                Err(error)
            }
        }
    }
}

impl SuspendedProgram for Run {
    fn resume(&mut self, session: &mut Session) -> Result<Outcome, MysqlError> {
        self.outcome(session)
    }

    fn give_up(&mut self, session: &mut Session) {
        self.end(session);
    }

    fn takes(&mut self, error: &MysqlError) -> bool {
        let raised = as_condition(error);
        let innermost = self.frames.len().saturating_sub(1);
        let takes = self.frames.iter().enumerate().any(|(level, frame)| {
            let at = if level == innermost { self.rows_at } else { frame.at };
            conditions::find(&frame.code, at, &raised).is_some()
        });
        if takes {
            if let Some(frame) = self.frames.last_mut() {
                frame.at = self.rows_at;
            }
            self.pending = Some(error.clone());
        }
        takes
    }

    fn text(&self) -> &str {
        &self.text
    }
}
