//! Runs the statements of steps.
//!
//! A statement is planned once and kept with the plans of the call. The slots that its text names are its
//! parameters. CALL, also as the statement of EXECUTE, pushes a frame and runs nothing here.

use super::call;
use super::evaluate::{self, Surroundings};
use super::frame::Frame;
use super::run::{Next, Run};
use crate::program_code::{Code, StatementCode};
use crate::properties::{Commits, Diagnostics, Properties, Runs, properties};
use crate::session::{Outcome, ProgramStep, Session};
use leafline_syntax::ast::StatementKind;
use leafline_types::error::errno;
use leafline_types::words::TriggerTime;
use leafline_types::{MysqlError, SqlType, Value, WarningLevel, WarningsMark};
use std::sync::Arc;

impl Run {
    /// Runs the statement of a step.
    pub(super) fn sql(&mut self, session: &mut Session, number: usize) -> Result<Next, MysqlError> {
        let Some(frame) = self.frames.last() else { return Ok(Next::Step) };
        let code = frame.code.clone();
        let Some(written) = code.statements.get(number) else {
            return Err(MysqlError::internal("a step without its statement"));
        };
        let called = match &written.statement.kind {
            StatementKind::Call(_) => true,
            StatementKind::Execute { name, .. } if !session.is_inner() => {
                session.is_prepared_call(&name.value)
            }
            _ => false,
        };
        let mark = session.warnings.mark();
        if called {
            let pushed = self.call_inside(session, &code, written);
            return pushed.map(|()| Next::Step).inspect_err(|error| {
                session.warnings.drop_before(mark);
                session.warnings.push(WarningLevel::Error, error.clone());
            });
        }
        let outcome = self.statement(session, &code, number);
        let outcome = match outcome {
            Ok(Outcome::Rows(rows)) if session.is_inner() => {
                drop(rows);
                let kind = self.frames.first().map_or(code.kind, |outermost| outermost.code.kind);
                Err(MysqlError::no_result_set(kind.name().to_lowercase()))
            }
            Ok(Outcome::Rows(rows)) if !session.several_results => {
                drop(rows);
                Err(MysqlError::result_set_not_allowed(&code.name))
            }
            outcome => outcome,
        };
        match outcome {
            Ok(Outcome::Rows(rows)) => {
                self.rows_at = self.frames.last().map_or(0, |frame| frame.at);
                self.rows_mark = Some(self.statement_mark);
                Ok(Next::Rows(rows))
            }
            Ok(Outcome::Done(_)) => {
                self.end_statement(session, self.statement_mark);
                Ok(Next::Step)
            }
            Err(error) => {
                session.warnings.push(WarningLevel::Error, error.clone());
                Err(error)
            }
        }
    }

    /// Goes on behind a statement that began at `mark` in the diagnostics, or with the handler of its warnings.
    pub(super) fn end_statement(&mut self, session: &mut Session, mark: WarningsMark) {
        if !self.handle_warnings(session, mark)
            && let Some(frame) = self.frames.last_mut()
        {
            frame.at += 1;
        }
    }

    /// Runs a statement of the innermost call, and assigns what it gives to variables. Its conditions replace
    /// the ones before if it uses tables or gives any.
    pub(super) fn statement(
        &mut self,
        session: &mut Session,
        code: &Arc<Code>,
        number: usize,
    ) -> Result<Outcome, MysqlError> {
        let handled = self.frames.iter().rev().find_map(|frame| frame.active.last());
        let handled = handled.map(|active| active.handled.clone());
        let (Some(frame), Some(written)) = (self.frames.last_mut(), code.statements.get(number)) else {
            return Err(MysqlError::internal("a step without its statement"));
        };
        let parameters = parameters_of(frame, written);
        let text = written.span.text(&code.text);
        let mark = session.warnings.mark();
        self.statement_mark = mark;
        let step = ProgramStep { handled, ..ProgramStep::of(written) };
        let properties = properties(&written.statement.kind);
        session.begin_program_step(text, step);
        let outcome = run_kept(session, frame, (code, written, number), (&properties, &parameters));
        let (outcome, step) = session.finish_program_step(outcome, text);
        self.keeps_diagnostics = properties.diagnostics == Diagnostics::OfBefore;
        if !self.keeps_diagnostics {
            let uses_tables =
                properties.commits == Commits::First || step.as_ref().is_some_and(|step| step.uses_tables);
            if uses_tables || outcome.is_err() || session.warnings.raised_since(mark) {
                session.warnings.drop_before(mark);
            }
        }
        let assigned = step.map_or_else(Vec::new, |step| step.assigned);
        if !assigned.is_empty() {
            check_computed(session, mark)?;
            self.assign_parameters(session, written, assigned)?;
        }
        outcome
    }

    /// Assigns values to the slots that are these parameters of a statement.
    fn assign_parameters(
        &mut self,
        session: &mut Session,
        written: &StatementCode,
        assigned: Vec<(usize, Value, SqlType)>,
    ) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let around = Surroundings::of(session);
        for (parameter, value, ty) in assigned {
            let Some(slot) = written.slots.get(parameter) else {
                return Err(MysqlError::internal("an assigned parameter that is no variable"));
            };
            evaluate::assign(session, (&mut *frame, &self.memory), *slot, (value, &ty), &around)?;
        }
        Ok(())
    }

    /// Pushes the frame of a CALL inside the program.
    fn call_inside(
        &mut self,
        session: &mut Session,
        code: &Arc<Code>,
        written: &StatementCode,
    ) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let parameters = parameters_of(frame, written);
        let trigger = frame.def.as_ref().and_then(|def| def.trigger());
        let assigns_new = trigger.is_some_and(|trigger| trigger.time == TriggerTime::Before);
        let frame = match &written.statement.kind {
            StatementKind::Call(call) => {
                session.program_step = Some(ProgramStep::of(written));
                let source = call::Source {
                    sql: &code.text,
                    parameters: &parameters,
                    using: None,
                    caller: Some(written),
                    assigns_new,
                };
                let frame = call::frame(session, call, source);
                session.program_step = None;
                frame?
            }
            StatementKind::Execute { name, using } => {
                let entry = session.prepared_statement(&name.value)?;
                let (sql, statement) = (&entry.sql, &entry.statement);
                let StatementKind::Call(call) = &statement.kind else { return Ok(()) };
                let values: Vec<Value> =
                    using.iter().map(|name| session.user_variables.get(name).0).collect();
                if values.len() != statement.parameters {
                    return Err(MysqlError::wrong_arguments("EXECUTE"));
                }
                let source = call::Source {
                    sql,
                    parameters: &values,
                    using: Some(using),
                    caller: None,
                    assigns_new: false,
                };
                let mut frame = call::frame(session, call, source)?;
                frame.executed = Some(entry.calls.clone());
                frame
            }
            _ => return Ok(()),
        };
        self.push(session, frame)
    }
}

/// Fails if computing the values of SELECT .. INTO variables of the program gave a warning that is an error where values
/// are stored, in strict mode.
///
/// # Errors
/// 1365, 3020.
fn check_computed(session: &mut Session, mark: WarningsMark) -> Result<(), MysqlError> {
    if !session.settings.evaluation_mode().strict {
        return Ok(());
    }
    let error = session.warnings.since(mark).iter().find_map(|warning| match warning.code {
        errno::ER_DIVISION_BY_ZERO => Some(MysqlError::division_by_zero()),
        errno::ER_INVALID_ARGUMENT_FOR_LOGARITHM => Some(MysqlError::invalid_logarithm()),
        _ => None,
    });
    let Some(error) = error else { return Ok(()) };
    session.warnings.back_to(mark);
    Err(error)
}

fn parameters_of(frame: &Frame, written: &StatementCode) -> Vec<Value> {
    written.slots.iter().map(|slot| frame.slots.get(*slot).cloned().unwrap_or(Value::Null)).collect()
}

/// Runs a statement by its kept plan, or plans it first.
fn run_kept(
    session: &mut Session,
    frame: &mut Frame,
    (code, written, number): (&Arc<Code>, &StatementCode, usize),
    (properties, parameters): (&Properties<'_>, &[Value]),
) -> Result<Outcome, MysqlError> {
    let statement = &written.statement;
    if properties.runs != Runs::Planned {
        return session.run_statement(statement, &code.text, parameters);
    }
    session.apply_hints(&statement.hints);
    session.count_command(properties.command, true);
    if let Some(planned) = frame.plans.statements.get(number).and_then(|kept| kept.clone())
        && let Some(outcome) = session.run_again(&planned, parameters)?
    {
        session.note_table_use(!planned.uses().is_empty());
        return Ok(outcome);
    }
    let planned = session.plan_statement(statement, &code.text, Some(parameters))?;
    let Some(planned) = planned.map(Arc::new) else {
        return Err(MysqlError::internal("a statement that is planned has no plan"));
    };
    session.note_table_use(!planned.uses().is_empty());
    if let Some(place) = frame.plans.statements.get_mut(number) {
        *place = planned.can_be_kept().then(|| planned.clone());
    }
    session.run_planned(&planned, parameters)
}
