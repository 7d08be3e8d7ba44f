//! Stored programs: CREATE, ALTER and CALL of procedures, functions, triggers and events, and the statements of their
//! bodies.
//!
//! | file | rules |
//! |---|---|
//! | `routine` | procedures and functions: parameters, characteristics, CALL |
//! | `trigger` | CREATE TRIGGER |
//! | `event` | CREATE EVENT and ALTER EVENT, schedules |
//! | `compound` | blocks, flow of control, the statements of a body |
//! | `declare` | DECLARE |
//! | `condition` | SIGNAL and RESIGNAL, the values of conditions |
//! | `diagnostics` | GET DIAGNOSTICS |
//! | `restriction` | the statements that a program may not contain |

mod compound;
mod condition;
mod declare;
mod diagnostics;
mod event;
mod restriction;
mod routine;

mod text;
mod trigger;

use super::ast::{
    AccountName, CreateProgram, ProgramForm, ProgramKind, ProgramStatement, StatementKind, TableName,
};
use super::cursor::{Parsed, Parser, check_name};
use super::lexer::{Symbol, TokenKind};
use super::scope::{ProgramContext, Scope};
use leafline_types::error::MysqlError;

const KINDS: [(&str, ProgramKind); 4] = [
    ("PROCEDURE", ProgramKind::Procedure),
    ("FUNCTION", ProgramKind::Function),
    ("TRIGGER", ProgramKind::Trigger),
    ("EVENT", ProgramKind::Event),
];

impl Parser<'_> {
    /// Returns whether `[DEFINER = account]` and the word of a stored program come next.
    pub(super) fn at_program(&self) -> bool {
        let mut at = 0;
        if self.at_word("DEFINER") {
            // DEFINER = name[@host], DEFINER = CURRENT_USER[()]
            at = if self.is_symbol_at(3, Symbol::LeftParen) { 5 } else { 3 };
            if self.token(at).kind == TokenKind::UserVariable {
                at += 1;
            }
        }
        KINDS.iter().any(|(word, _)| self.is_word_at(at, word))
    }

    /// Parses CREATE of a stored program after its verb.
    pub(super) fn create_program(&mut self) -> Parsed<StatementKind> {
        let definer = self.definer()?;
        let start = self.span();
        let word = self.text(self.token(0));
        let kind = self.program_word().ok_or_else(|| self.syntax_error())?;
        if self.scope.is_some() {
            return Err(match kind {
                ProgramKind::Event => MysqlError::event_recursion(),
                _ => MysqlError::recursive_create(word.to_ascii_uppercase()),
            });
        }
        let if_not_exists = self.if_not_exists()?;
        let name = self.program_name()?;
        let (form, body) = match kind {
            ProgramKind::Procedure => self.create_procedure()?,
            ProgramKind::Function => self.create_function(&name)?,
            ProgramKind::Trigger => self.create_trigger()?,
            ProgramKind::Event => self.create_event()?,
        };
        let span = self.span_from(start);
        let create = CreateProgram { definer, if_not_exists, name, form, body, span };
        Ok(StatementKind::CreateProgram(Box::new(create)))
    }

    /// Parses a text that is a stored program without CREATE and DEFINER.
    pub(super) fn whole_program(&mut self) -> Parsed<CreateProgram> {
        let StatementKind::CreateProgram(create) = self.create_program()? else {
            return Err(self.syntax_error());
        };
        self.accept_symbol(Symbol::Semicolon);
        if self.at_end() { Ok(*create) } else { Err(self.syntax_error()) }
    }

    /// Takes the word of a kind of stored program, if one comes next.
    pub(super) fn program_word(&mut self) -> Option<ProgramKind> {
        KINDS.into_iter().find(|(word, _)| self.accept_word(word)).map(|(_, kind)| kind)
    }

    /// Parses a stored program from the verb CREATE or ALTER on, and returns the end of its text.
    pub(super) fn program_end(&mut self) -> Parsed<u32> {
        let start = self.span();
        match self.accept_word("CREATE") {
            true => drop(self.create_program()?),
            false => {
                self.expect_word("ALTER")?;
                drop(self.alter_event()?);
            }
        }
        Ok(self.span_from(start).end)
    }

    /// `[DEFINER = account]`.
    fn definer(&mut self) -> Parsed<Option<AccountName>> {
        if !self.accept_word("DEFINER") {
            return Ok(None);
        }
        self.expect_symbol(Symbol::Eq)?;
        self.account_name().map(Some)
    }

    /// Parses the name of a stored program. Returns error 1059, 1102 or 1458 if a program cannot have the name.
    pub(super) fn program_name(&mut self) -> Parsed<TableName> {
        let first = self.ident()?;
        let name = match self.accept_symbol(Symbol::Dot) {
            true => TableName { name: self.ident_after_dot()?, database: Some(first) },
            false => TableName { database: None, name: first },
        };
        if let Some(database) = &name.database {
            check_name(&database.value, MysqlError::wrong_database_name)?;
        }
        check_name(&name.name.value, MysqlError::wrong_program_name)?;
        Ok(name)
    }

    /// Parses a program's body, whose parameters `scope` holds. Returns the form that `form` makes, and the body.
    fn program_body(
        &mut self,
        scope: Scope,
        form: impl FnOnce() -> ProgramForm,
    ) -> Parsed<(ProgramForm, ProgramStatement)> {
        self.scope = Some(Box::new(scope));
        let body = self.program_statement();
        let scope = self.scope.take();
        self.assigns_variables = false;
        let body = body?;
        scope.map_or(Ok(()), |scope| scope.check_body())?;
        Ok((form(), body))
    }

    /// The context of the program whose body is parsed; `None` outside a body.
    pub(super) fn program_context(&self) -> Option<ProgramContext> {
        self.scope.as_ref().map(|scope| scope.context())
    }
}
