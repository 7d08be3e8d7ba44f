//! CREATE TRIGGER, and the rows OLD and NEW.

use super::super::ast::{
    Ident, ProgramForm, ProgramStatement, SetItem, Trigger, TriggerEvent, TriggerOrder, TriggerTime,
};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::Symbol;
use super::super::scope::Scope;
use leafline_types::error::MysqlError;

impl Parser<'_> {
    /// `BEFORE|AFTER event ON table FOR EACH ROW [FOLLOWS|PRECEDES other] body`.
    pub(super) fn create_trigger(&mut self) -> Parsed<(ProgramForm, ProgramStatement)> {
        let time = match self.accept_word("BEFORE") {
            true => TriggerTime::Before,
            false => {
                self.expect_word("AFTER")?;
                TriggerTime::After
            }
        };
        let events = [
            ("INSERT", TriggerEvent::Insert),
            ("UPDATE", TriggerEvent::Update),
            ("DELETE", TriggerEvent::Delete),
        ];
        let event = events.into_iter().find(|(word, _)| self.accept_word(word));
        let (_, event) = event.ok_or_else(|| self.syntax_error())?;
        self.expect_word("ON")?;
        let table = self.table_name()?;
        self.expect_words(&["FOR", "EACH", "ROW"])?;
        let mut order = None;
        if self.at_any_word(&["FOLLOWS", "PRECEDES"]) && !self.is_symbol_at(1, Symbol::Colon) {
            let follows = self.at_word("FOLLOWS");
            self.advance();
            order = Some(TriggerOrder { follows, other: self.ident()? });
        }
        let trigger = Trigger { table, time, event, order };
        self.program_body(Scope::of_trigger(time, event), || ProgramForm::Trigger(trigger))
    }

    /// Returns whether `OLD.` or `NEW.` of a trigger comes next.
    pub(crate) fn at_trigger_row(&self) -> bool {
        let fires = self.program_context().is_some_and(|context| context.fires.is_some());
        fires && self.is_symbol_at(1, Symbol::Dot) && self.is_ident_at(0) && {
            let text = self.text(self.token(0)).trim_matches(['`', '"']);
            text.eq_ignore_ascii_case("NEW") || text.eq_ignore_ascii_case("OLD")
        }
    }

    /// Checks that a column's qualifier is no row that the trigger does not have (error 1363).
    pub(crate) fn check_trigger_row(&self, qualifier: &Ident) -> Parsed<()> {
        let Some((_, event)) = self.program_context().and_then(|context| context.fires) else {
            return Ok(());
        };
        match event {
            TriggerEvent::Insert if qualifier.value.eq_ignore_ascii_case("OLD") => {
                Err(MysqlError::no_such_trigger_row("OLD", "on INSERT"))
            }
            TriggerEvent::Delete if qualifier.value.eq_ignore_ascii_case("NEW") => {
                Err(MysqlError::no_such_trigger_row("NEW", "on DELETE"))
            }
            _ => Ok(()),
        }
    }

    /// `NEW.column = value` of SET. Returns error 1362 or 1363 if the trigger cannot change the row.
    pub(crate) fn set_new(&mut self) -> Parsed<SetItem> {
        let row = self.ident()?;
        self.expect_symbol(Symbol::Dot)?;
        let column = self.ident_after_dot()?;
        let fires = self.program_context().and_then(|context| context.fires);
        if row.value.eq_ignore_ascii_case("OLD") {
            return Err(MysqlError::cannot_change_trigger_row("OLD", ""));
        }
        match fires {
            Some((_, TriggerEvent::Delete)) => {
                return Err(MysqlError::no_such_trigger_row("NEW", "on DELETE"));
            }
            Some((TriggerTime::After, _)) => {
                return Err(MysqlError::cannot_change_trigger_row("NEW", "after "));
            }
            _ => {}
        }
        self.assignment_sign()?;
        if self.at_word("DEFAULT") && !self.is_symbol_at(1, Symbol::LeftParen) {
            return self.refuse("SET NEW.column = DEFAULT");
        }
        Ok(SetItem::New { column, value: self.set_value()? })
    }
}
