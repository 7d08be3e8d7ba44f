//! CREATE EVENT and ALTER EVENT.

use super::super::ast::{
    AlterEvent, AlterProgram, Event, EventStatus, IntervalUnit, ProgramForm, ProgramKind, ProgramStatement,
    Schedule, StatementKind,
};
use super::super::cursor::{Parsed, Parser};
use super::super::scope::Scope;
use leafline_types::error::MysqlError;

impl Parser<'_> {
    /// Parses CREATE EVENT after the name.
    pub(super) fn create_event(&mut self) -> Parsed<(ProgramForm, ProgramStatement)> {
        self.expect_words(&["ON", "SCHEDULE"])?;
        let schedule = self.schedule()?;
        let preserve = self.on_completion()?;
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        self.expect_word("DO")?;
        let event = Event { schedule, preserve, status, comment };
        self.program_body(Scope::new(ProgramKind::Event), || ProgramForm::Event(event))
    }

    /// Parses ALTER EVENT after the verb.
    pub(crate) fn alter_event(&mut self) -> Parsed<StatementKind> {
        let definer = self.definer()?;
        self.expect_word("EVENT")?;
        let name = self.program_name()?;
        let start = self.span();
        let mut schedule = None;
        if self.accept_words(&["ON", "SCHEDULE"]) {
            schedule = Some(self.schedule()?);
        }
        let preserve = self.on_completion()?;
        let mut rename = None;
        if self.accept_word("RENAME") {
            self.expect_word("TO")?;
            rename = Some(self.program_name()?);
        }
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        let mut body = None;
        if self.accept_word("DO") {
            if self.scope.is_some() {
                return Err(MysqlError::event_recursion());
            }
            self.scope = Some(Box::new(Scope::new(ProgramKind::Event)));
            let parsed = self.program_statement();
            self.scope = None;
            body = Some(parsed?);
        }
        if self.span() == start {
            return Err(self.syntax_error());
        }
        let alter = AlterEvent { definer, name, schedule, preserve, rename, status, comment, body };
        Ok(StatementKind::AlterProgram(AlterProgram::Event(Box::new(alter))))
    }

    /// `AT moment | EVERY amount unit [STARTS moment] [ENDS moment]`.
    fn schedule(&mut self) -> Parsed<Schedule> {
        if self.accept_word("AT") {
            return Ok(Schedule::At(self.expression()?));
        }
        self.expect_word("EVERY")?;
        let amount = Box::new(self.expression()?);
        let unit = self.interval_unit()?;
        if unit.parts().contains(&IntervalUnit::Microsecond) {
            return self.refuse("MICROSECOND");
        }
        let starts = self.optional_expression("STARTS")?;
        let ends = self.optional_expression("ENDS")?;
        Ok(Schedule::Every { amount, unit, starts, ends })
    }

    /// `[ON COMPLETION [NOT] PRESERVE]`.
    fn on_completion(&mut self) -> Parsed<Option<bool>> {
        if !self.accept_words(&["ON", "COMPLETION"]) {
            return Ok(None);
        }
        let preserve = !self.accept_word("NOT");
        self.expect_word("PRESERVE")?;
        Ok(Some(preserve))
    }

    /// `[ENABLE | DISABLE [ON REPLICA | ON SLAVE]]`.
    fn event_status(&mut self) -> Parsed<Option<EventStatus>> {
        if self.accept_word("ENABLE") {
            return Ok(Some(EventStatus::Enabled));
        }
        if !self.accept_word("DISABLE") {
            return Ok(None);
        }
        if !self.accept_word("ON") {
            return Ok(Some(EventStatus::Disabled));
        }
        self.expect_any_word(&["REPLICA", "SLAVE"])?;
        Ok(Some(EventStatus::DisabledOnReplica))
    }

    /// `[COMMENT 'text']`.
    fn event_comment(&mut self) -> Parsed<Option<String>> {
        if self.accept_word("COMMENT") { self.string().map(Some) } else { Ok(None) }
    }
}
