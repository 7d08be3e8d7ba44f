//! The statements of stored programs, as parts of the statement that called the program, and results that
//! wait to be taken.
//!
//! Each statement of a program is counted, logged and shown by itself. It sees the program's variables as
//! parameters, which [`ProgramStep`] names. CALL gives a result for each query of the procedure: between two
//! of them the program is suspended.

use super::prepared::Executed;
use super::running::StatementAccounting;
use super::{Outcome, RowStream, Session};
use crate::program_code::StatementCode;
use crate::result::{ColumnMeta, RowSet, column};
use crate::session_entry::StatementText;
use leafline_planner::binder::LocalLookup;
use leafline_syntax::ast::{Ident, Span};
use leafline_types::{ExprType, MysqlError, SqlType, Value, Warning, Warnings};
use std::sync::Arc;
use std::time::Instant;

/// The statement of a stored program that runs.
#[derive(Clone)]
pub(crate) struct ProgramStep {
    /// The names of variables.
    pub(crate) names: Arc<dyn LocalLookup + Send + Sync>,
    /// The types of the parameters.
    pub(crate) types: Arc<[ExprType]>,
    /// The place of the statement in the program's text.
    pub(crate) span: Span,
    /// The values that the statement has assigned to variables of the program: the number of the parameter, and the type of the
    /// value.
    pub(crate) assigned: Vec<(usize, Value, SqlType)>,
    /// In a handler: the condition that it handles, and the diagnostics when it began.
    pub(crate) handled: Option<Arc<(Warning, Warnings)>>,
    /// Whether the statement uses tables, so that it clears the diagnostics of the statement before.
    pub(crate) uses_tables: bool,
}

impl ProgramStep {
    /// The description of a step's statement.
    pub(crate) fn of(written: &StatementCode) -> ProgramStep {
        ProgramStep {
            names: written.names.clone(),
            types: written.types.clone(),
            span: written.span,
            assigned: Vec::new(),
            handled: None,
            uses_tables: false,
        }
    }
}

/// A program that waits until its caller takes the next result.
pub(crate) trait SuspendedProgram: Send {
    /// Goes on to the next result; `Outcome::Done` is the last.
    fn resume(&mut self, session: &mut Session) -> Result<Outcome, MysqlError>;
    /// Ends the program, whose other results nobody wants.
    fn give_up(&mut self, session: &mut Session);
    /// Takes an error of the rows that the caller reads, if the program handles it.
    fn takes(&mut self, error: &MysqlError) -> bool;
    /// The text of the statement that called the program.
    fn text(&self) -> &str;
}

/// The state of the calling statement while a statement of its program runs.
pub(crate) struct CallingStatement {
    began: Instant,
    running: StatementAccounting,
}

impl Session {
    /// Returns the part of a text that the current statement is: of a program's text its statement.
    pub(crate) fn own_text<'t>(&self, sql: &'t str) -> &'t str {
        self.program_step.as_ref().map_or(sql, |step| step.span.text(sql))
    }

    /// The types of the parameters of the current statement.
    pub(crate) fn parameter_types(&self, parameters: &[Value]) -> Vec<ExprType> {
        match &self.program_step {
            Some(step) => step.types.to_vec(),
            None => crate::plans::parameters::types_of(parameters, self.settings.collation),
        }
    }

    /// Assigns a value to a variable of the program, when the statement has ended.
    ///
    /// # Errors
    /// 1327 outside of programs, and for a variable that the program does not have.
    pub(crate) fn assign_local(&mut self, name: &Ident, value: Value, ty: SqlType) -> Result<(), MysqlError> {
        let step = self.program_step.as_mut();
        let found = step.and_then(|step| Some((step.names.local(None, &name.value)?, step)));
        let (parameter, step) = found.ok_or_else(|| MysqlError::undeclared_variable(&name.value))?;
        step.assigned.push((parameter, value, ty));
        Ok(())
    }

    /// Sets the statement of CALL aside; its program's statements follow.
    pub(crate) fn set_statement_aside(&mut self) -> CallingStatement {
        let running = std::mem::replace(&mut self.statement.running, StatementAccounting::over());
        CallingStatement { began: self.statement.began, running }
    }

    /// Goes on with the statement that was set aside.
    pub(crate) fn take_statement_back(&mut self, calling: &mut CallingStatement) {
        self.count_executed(false);
        self.statement.began = calling.began;
        self.statement.running = std::mem::replace(&mut calling.running, StatementAccounting::over());
    }

    /// Begins a statement of a program.
    pub(crate) fn begin_program_step(&mut self, text: &str, step: ProgramStep) {
        self.end_hints();
        self.count_executed(false);
        self.statement.began = Instant::now();
        self.begin_counting(StatementText::Of(text));
        self.statement.told_insert_id = None;
        (self.facts.warning_count, self.facts.error_count) = (self.warnings.count(), self.warnings.errors());
        // While functions and triggers run, the session shows the statement that called them.
        if !self.is_inner() {
            self.entry.begin(StatementText::Of(text), self.statement.began);
        }
        self.program_step = Some(step);
    }

    /// Ends a statement of a program; one with rows to compute ends later.
    pub(crate) fn finish_program_step(
        &mut self,
        mut outcome: Result<Outcome, MysqlError>,
        text: &str,
    ) -> (Result<Outcome, MysqlError>, Option<ProgramStep>) {
        let step = self.program_step.take();
        match &mut outcome {
            Ok(Outcome::Rows(rows)) if rows.is_whole() => self.end_step(),
            Ok(Outcome::Rows(_)) => {}
            Ok(Outcome::Done(done)) => {
                self.note_done(done);
                self.end_step();
            }
            Err(error) => {
                self.count_failed(text, error.code);
                self.facts.row_count = -1;
                self.statement.running.error = Some(error.code);
                self.end_step();
            }
        }
        (outcome, step)
    }

    /// Ends the accounting of a program's statement; the statement that called the program goes on.
    pub(super) fn end_step(&mut self) {
        if !self.is_inner() {
            self.cancel.set_deadline(None);
        }
        self.count_executed(true);
        self.end_hints();
        self.end_uses();
    }

    /// Notes whether the current statement of a program uses tables.
    pub(crate) fn note_table_use(&mut self, uses_tables: bool) {
        if let Some(step) = &mut self.program_step {
            step.uses_tables = uses_tables;
        }
    }

    /// Runs `work` as a statement that does not belong to the program around it, such as the one of EXECUTE.
    pub(crate) fn outside_program<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> T {
        let step = self.program_step.take();
        let is_in_program = std::mem::replace(&mut self.statement.is_in_program, step.is_some());
        let result = work(self);
        self.statement.is_in_program = is_in_program;
        self.program_step = step;
        result
    }

    /// Runs a program that no statement calls, as if `text` were the statement.
    ///
    /// # Errors
    /// The errors of `run`.
    pub(crate) fn run_as_statement(
        &mut self,
        text: &str,
        run: impl FnOnce(&mut Session) -> Result<Outcome, MysqlError>,
    ) -> Result<Outcome, MysqlError> {
        self.contained(|session| {
            session.begin_statement(StatementText::Of(text));
            let outcome = run(session);
            session.finish(outcome, text)
        })
    }

    /// Whether the current statement is one of a stored program, or was executed by one.
    pub(crate) fn is_in_program(&self) -> bool {
        self.program_step.is_some() || self.statement.is_in_program || self.is_inner()
    }

    /// Keeps a program until its next result is wanted.
    pub(crate) fn suspend(&mut self, program: Box<dyn SuspendedProgram>) {
        self.suspended = Some(program);
    }

    /// Whether the program that waits handles an error of its rows.
    pub(super) fn suspended_takes(&mut self, error: &MysqlError) -> bool {
        self.suspended.as_mut().is_some_and(|program| program.takes(error))
    }

    /// Whether CALL may give several results. Without that a procedure with a query fails with error 1312.
    pub fn allow_several_results(&mut self, allow: bool) {
        self.several_results = allow;
    }

    /// Whether the last statement has more results to give: [`next_result`](Self::next_result).
    pub fn has_more_results(&self) -> bool {
        self.suspended.is_some()
    }

    /// The next result of the last statement, once its rows were read or dropped; `None` if it has no more.
    /// The last result of CALL is always `Outcome::Done`.
    ///
    /// # Errors
    /// MySQL's errors; an error ends the results.
    pub fn next_result(&mut self) -> Result<Option<Outcome>, MysqlError> {
        let Some(mut program) = self.suspended.take() else { return Ok(None) };
        self.contained(|session| {
            session.take_thread();
            let text = program.text().to_owned();
            session.entry.begin(StatementText::Of(&text), Instant::now());
            let outcome = program.resume(session);
            if matches!(outcome, Ok(Outcome::Rows(_))) {
                session.suspend(program);
            }
            session.finish(outcome, &text).map(Some)
        })
    }

    /// Keeps the values of OUT and INOUT parameters for the client.
    pub(crate) fn keep_out_parameters(&mut self, values: Vec<(usize, String, Value, ExprType)>) {
        self.out_parameters = (!values.is_empty()).then(|| {
            let numbers = values.iter().map(|(number, ..)| *number).collect();
            let columns = values.iter().map(|(_, name, _, ty)| ColumnMeta {
                collation: ty.collation,
                ..column(name.clone(), ty.sql.clone())
            });
            let columns = columns.collect();
            let row = values.into_iter().map(|(_, _, value, _)| value).collect();
            (numbers, RowSet { columns, rows: vec![row] })
        });
    }

    /// The values of the parameters `?` of a prepared CALL that are OUT or INOUT, as one row; after the last
    /// result.
    ///
    /// # Errors
    /// Errors of making the row.
    pub fn out_parameters(&mut self) -> Result<Option<RowStream>, MysqlError> {
        self.out_parameters.take().map(|(_, row)| RowStream::ready(row)).transpose()
    }

    /// Returns which parameters `?` of the last prepared CALL are OUT or INOUT: numbers from 0, one for each column
    /// of [`out_parameters`](Self::out_parameters), which takes them.
    pub fn out_parameter_numbers(&self) -> &[usize] {
        self.out_parameters.as_ref().map_or(&[], |(numbers, _)| numbers)
    }

    /// Takes the EXECUTE that runs a CALL: its user variables take OUT parameters.
    pub(crate) fn take_executed(&mut self) -> Option<Executed> {
        self.executed.take()
    }

    /// Ends the last statement, whose other results nobody wants.
    pub fn give_up_results(&mut self) {
        if let Some(mut program) = self.suspended.take() {
            program.give_up(self);
            self.statement_ended();
        }
    }
}
