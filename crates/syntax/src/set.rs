//! SET in all its forms.

use super::ast::{Expr, ExprKind, Ident, IsolationLevel, Literal, SetItem, StatementKind, VariableScope};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::error::MysqlError;

impl Parser<'_> {
    pub(super) fn set(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_words(&["DEFAULT", "ROLE"]) {
            return self.set_default_role();
        }
        let is_assigned = self.is_symbol_at(1, Symbol::Eq) || self.is_symbol_at(1, Symbol::Assign);
        if self.at_word("ROLE") && !is_assigned {
            return self.set_role();
        }
        if self.at_resource_group() {
            return self.set_resource_group();
        }
        // A scope applies to the names after it, up to the next scope (MySQL manual, "SET Syntax for Variable
        // Assignment").
        let mut scope = None;
        Ok(StatementKind::Set(self.comma_list(|parser| parser.set_item(&mut scope))?))
    }

    fn set_item(&mut self, last_scope: &mut Option<VariableScope>) -> Parsed<SetItem> {
        if self.token(0).kind == TokenKind::UserVariable {
            let name = self.user_variable()?;
            self.assignment_sign()?;
            return Ok(SetItem::User { name, value: self.expression()? });
        }
        if self.at_symbol(Symbol::AtAt) {
            let ExprKind::SystemVariable { scope, name } = self.operand()?.kind else {
                return Err(self.syntax_error());
            };
            let name = Ident { value: name, span: self.span() };
            return self.system_assignment((scope, scope.is_none()), name);
        }
        if self.at_any_word(&["NAMES", "PASSWORD"])
            && self.is_local(self.text(self.token(0)))
            && self.is_symbol_at(1, Symbol::Eq)
        {
            return Err(MysqlError::shadowing_variable(self.text(self.token(0))));
        }
        if self.accept_word("NAMES") {
            return self.set_names();
        }
        if self.accept_charset() {
            self.accept_symbol(Symbol::Eq);
            let charset =
                if self.accept_word("DEFAULT") { None } else { Some(self.charset_or_collation_name()?) };
            return Ok(SetItem::CharacterSet(charset));
        }
        if self.at_word("PASSWORD") {
            return self.set_password();
        }
        if self.at_trigger_row() {
            return self.set_new();
        }
        let scope = self.set_scope();
        if self.at_word("TRANSACTION") && !self.is_symbol_at(1, Symbol::Eq) {
            self.advance();
            return self.set_transaction(scope);
        }
        let mut name = self.ident()?;
        if scope.is_none() && self.is_local(&name.value) && !self.at_symbol(Symbol::Dot) {
            return self.set_local(name);
        }
        if self.accept_symbol(Symbol::Dot) {
            let part = self.ident_after_dot()?;
            name = Ident { value: format!("{}.{}", name.value, part.value), span: name.span.to(part.span) };
        }
        *last_scope = scope.or(*last_scope);
        self.system_assignment((*last_scope, false), name)
    }

    fn set_scope(&mut self) -> Option<VariableScope> {
        let scopes = [
            ("GLOBAL", VariableScope::Global),
            ("SESSION", VariableScope::Session),
            ("LOCAL", VariableScope::Session),
            ("PERSIST", VariableScope::Persist),
            ("PERSIST_ONLY", VariableScope::PersistOnly),
        ];
        // `SET local = 1` assigns to a variable called `local`.
        let scope = scopes.iter().find(|(word, _)| self.at_word(word)).map(|&(_, scope)| scope)?;
        if self.token(1).kind != TokenKind::Word && self.token(1).kind != TokenKind::QuotedIdent {
            return None;
        }
        self.advance();
        Some(scope)
    }

    pub(super) fn assignment_sign(&mut self) -> Parsed<()> {
        if self.accept_symbol(Symbol::Assign) { Ok(()) } else { self.expect_symbol(Symbol::Eq) }
    }

    /// Parses `= value` for a system variable with this scope, possibly written `@@name`.
    fn system_assignment(
        &mut self,
        (scope, is_of_next): (Option<VariableScope>, bool),
        name: Ident,
    ) -> Parsed<SetItem> {
        self.assignment_sign()?;
        let is_last = !matches!(self.token(1).kind, TokenKind::Symbol(Symbol::LeftParen));
        if self.at_word("DEFAULT") && is_last {
            self.advance();
            return Ok(SetItem::System { scope, is_of_next, name, value: None });
        }
        let value = self.set_value()?;
        Ok(SetItem::System { scope, is_of_next, name, value: Some(value) })
    }

    /// `= value` for a variable of the program.
    fn set_local(&mut self, name: Ident) -> Parsed<SetItem> {
        self.assignment_sign()?;
        let start = self.span();
        if !self.at_word("DEFAULT") || self.is_symbol_at(1, Symbol::LeftParen) {
            return Ok(SetItem::Local { name, value: self.set_value()? });
        }
        self.advance();
        let variable = self.scope.as_ref().and_then(|scope| scope.variable(&name.value));
        match variable.and_then(|variable| variable.default.clone()) {
            Some(literal) => {
                let value = Expr { kind: ExprKind::Literal(literal), span: start };
                Ok(SetItem::Local { name, value })
            }
            None => self.refuse("SET variable = DEFAULT where the default is no literal"),
        }
    }

    /// Parses the value of an assignment: an expression, or one of the reserved words that stand for a value.
    pub(super) fn set_value(&mut self) -> Parsed<Expr> {
        let is_last = !matches!(self.token(1).kind, TokenKind::Symbol(Symbol::LeftParen));
        if self.at_any_word(&["ON", "ALL", "BINARY", "ROW", "SYSTEM"]) && is_last {
            let word = self.any_word()?;
            let span = word.span;
            let column = super::ast::ColumnName { database: None, table: None, column: word };
            Ok(Expr { kind: ExprKind::Column(column), span })
        } else if self.token(0).kind == TokenKind::QuotedIdent && self.text(self.token(0)).len() == 2 {
            // Under ANSI_QUOTES `""` is a name, and a name stands for its text here.
            let span = self.advance().span;
            let kind = Literal::String { value: String::new(), first_part: 0, charset: None };
            Ok(Expr { kind: ExprKind::Literal(kind), span })
        } else {
            self.expression()
        }
    }

    fn set_names(&mut self) -> Parsed<SetItem> {
        self.accept_symbol(Symbol::Eq);
        if self.accept_word("DEFAULT") {
            return Ok(SetItem::Names { charset: None, collation: None });
        }
        let charset = Some(self.charset_or_collation_name()?);
        let collation = match self.accept_word("COLLATE") {
            true if self.accept_word("DEFAULT") => None,
            true => Some(self.charset_or_collation_name()?),
            false => None,
        };
        Ok(SetItem::Names { charset, collation })
    }

    fn set_password(&mut self) -> Parsed<SetItem> {
        self.advance();
        let account = match self.accept_word("FOR") {
            true => Some(self.account_name()?),
            false => None,
        };
        if self.at_word("TO") {
            return self.refuse("SET PASSWORD ... TO RANDOM");
        }
        self.assignment_sign()?;
        let password = self.string()?;
        let replaced = if self.accept_word("REPLACE") { Some(self.string()?) } else { None };
        if self.at_word("RETAIN") {
            return self.refuse("SET PASSWORD ... RETAIN");
        }
        Ok(SetItem::Password { account, password, replaced })
    }

    fn set_transaction(&mut self, scope: Option<VariableScope>) -> Parsed<SetItem> {
        let mut isolation = None;
        let mut read_only = None;
        loop {
            if isolation.is_none() && self.accept_word("ISOLATION") {
                self.expect_word("LEVEL")?;
                isolation = Some(self.isolation_level()?);
            } else {
                if read_only.is_some() {
                    return Err(self.syntax_error());
                }
                self.expect_word("READ")?;
                read_only = Some(self.at_word("ONLY"));
                self.expect_any_word(&["ONLY", "WRITE"])?;
            }
            if !self.accept_symbol(Symbol::Comma) {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
        }
    }

    fn isolation_level(&mut self) -> Parsed<IsolationLevel> {
        if self.accept_word("SERIALIZABLE") {
            return Ok(IsolationLevel::Serializable);
        }
        if self.accept_word("REPEATABLE") {
            self.expect_word("READ")?;
            return Ok(IsolationLevel::RepeatableRead);
        }
        self.expect_word("READ")?;
        if self.accept_word("COMMITTED") {
            return Ok(IsolationLevel::ReadCommitted);
        }
        self.expect_word("UNCOMMITTED")?;
        Ok(IsolationLevel::ReadUncommitted)
    }
}
