//! DECLARE: variables, conditions, cursors and handlers.

use super::super::ast::{
    ConditionValue, Declaration, HandlerAction, HandlerDeclaration, Ident, StatementKind,
};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::Symbol;
use super::super::scope::Variable;
use leafline_types::error::MysqlError;

impl Parser<'_> {
    /// Parses one DECLARE, without the semicolon after it.
    pub(super) fn declaration(&mut self) -> Parsed<Declaration> {
        self.expect_word("DECLARE")?;
        if self.at_any_word(&["CONTINUE", "EXIT", "UNDO"]) && self.is_word_at(1, "HANDLER") {
            return self.handler_declaration();
        }
        let name = self.ident()?;
        if self.accept_words(&["CONDITION", "FOR"]) {
            return self.condition_declaration(name);
        }
        if self.accept_words(&["CURSOR", "FOR"]) {
            return self.cursor_declaration(name);
        }
        self.variable_declaration(name)
    }

    fn variable_declaration(&mut self, first: Ident) -> Parsed<Declaration> {
        let mut names = vec![first];
        if self.accept_symbol(Symbol::Comma) {
            names.extend(self.comma_list(Self::ident)?);
        }
        let data_type = Box::new(self.data_type()?);
        let default = self.optional_expression("DEFAULT")?;
        let variable = Variable::new(data_type.name, default.as_ref());
        let scope = self.scope_of_body()?;
        names.iter().try_for_each(|name| scope.add_variable(name, variable.clone()))?;
        scope.declares_name()?;
        Ok(Declaration::Variables { names, data_type, default })
    }

    fn condition_declaration(&mut self, name: Ident) -> Parsed<Declaration> {
        let value = self.condition_code()?;
        let scope = self.scope_of_body()?;
        scope.add_condition(&name, value.clone())?;
        scope.declares_name()?;
        Ok(Declaration::Condition { name, value })
    }

    fn cursor_declaration(&mut self, name: Ident) -> Parsed<Declaration> {
        let start = self.span();
        if !self.starts_query(0) && !self.at_symbol(Symbol::LeftParen) {
            return Err(self.syntax_error());
        }
        let query = Box::new(self.statement_in_body()?);
        let span = self.span_from(start);
        match &query.kind {
            StatementKind::Query(_) => {}
            StatementKind::SelectInto { .. } => return Err(MysqlError::cursor_with_into()),
            _ => return Err(self.syntax_error_at(start)),
        }
        let scope = self.scope_of_body()?;
        scope.add_cursor(&name)?;
        scope.declares_cursor()?;
        Ok(Declaration::Cursor { name, query, span })
    }

    #[inline(never)]
    fn handler_declaration(&mut self) -> Parsed<Declaration> {
        if self.at_word("UNDO") {
            return Err(self.syntax_error());
        }
        let action = match self.accept_word("CONTINUE") {
            true => HandlerAction::Continue,
            false => {
                self.expect_word("EXIT")?;
                HandlerAction::Exit
            }
        };
        self.expect_words(&["HANDLER", "FOR"])?;
        let conditions = self.comma_list(Self::handled_condition)?;
        let scope = self.scope_of_body()?;
        scope.enter_handler();
        let body = self.program_statement()?;
        let scope = self.scope_of_body()?;
        scope.pop_label();
        scope.declares_handler();
        Ok(Declaration::Handler(Box::new(HandlerDeclaration { action, conditions, body })))
    }

    /// Parses a condition of a handler, which no other handler of the block may have (error 1413).
    fn handled_condition(&mut self) -> Parsed<ConditionValue> {
        let value = if self.accept_words(&["NOT", "FOUND"]) {
            ConditionValue::NotFound
        } else if self.accept_word("SQLWARNING") {
            ConditionValue::Warning
        } else if self.accept_word("SQLEXCEPTION") {
            ConditionValue::Exception
        } else if self.is_ident_at(0) {
            let name = self.ident()?;
            self.scope_of_body()?.condition(&name)?
        } else {
            self.condition_code()?
        };
        self.scope_of_body()?.add_handled(&value)?;
        Ok(value)
    }
}
