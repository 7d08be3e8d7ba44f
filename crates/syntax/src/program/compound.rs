//! Blocks, flow of control, and the other statements of a program's body.

use super::super::ast::{Block, Expr, Ident, ProgramKind, ProgramStatement, ProgramStatementKind};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::{Symbol, TokenKind};
use super::super::scope::Scope;
use leafline_types::error::MysqlError;
use leafline_types::memory::server;

/// Words that are names elsewhere, but no labels unless they are quoted.
const NO_LABELS: &[&str] = &[
    "ASCII",
    "BEGIN",
    "BYTE",
    "CACHE",
    "CHARSET",
    "CHECKSUM",
    "CLONE",
    "COMMENT",
    "COMMIT",
    "CONTAINS",
    "DEALLOCATE",
    "DO",
    "END",
    "EXECUTE",
    "FLUSH",
    "FOLLOWS",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSTALL",
    "LANGUAGE",
    "NO",
    "PRECEDES",
    "PREPARE",
    "REPAIR",
    "RESET",
    "RESTART",
    "ROLLBACK",
    "SAVEPOINT",
    "SHUTDOWN",
    "SIGNED",
    "SLAVE",
    "START",
    "STOP",
    "TRUNCATE",
    "UNICODE",
    "UNINSTALL",
    "XA",
];

impl Parser<'_> {
    /// Parses one statement of a body, without the semicolon after it.
    pub(super) fn program_statement(&mut self) -> Parsed<ProgramStatement> {
        self.enter()?;
        let start = self.span();
        let kind = self.program_statement_kind()?;
        self.leave();
        Ok(ProgramStatement { kind, span: self.span_from(start) })
    }

    /// Dispatches; the rules called are never inlined here, because they recurse and the stack is small.
    fn program_statement_kind(&mut self) -> Parsed<ProgramStatementKind> {
        if self.is_ident_at(0) && self.is_symbol_at(1, Symbol::Colon) {
            return self.labelled();
        }
        let token = self.token(0);
        if token.kind != TokenKind::Word {
            return self.program_sql();
        }
        if self.is_symbol_at(1, Symbol::Colon) {
            // A reserved word is no label.
            return Err(self.syntax_error());
        }
        match self.text(token).to_ascii_uppercase().as_str() {
            "BEGIN" => self.block(None),
            "IF" => self.if_statement(),
            "CASE" => self.case_statement(),
            "LOOP" => self.loop_statement(None),
            "WHILE" => self.while_statement(None),
            "REPEAT" => self.repeat_statement(None),
            "LEAVE" => {
                self.advance();
                let label = self.ident()?;
                self.scope_of_body()?.check_label("LEAVE", &label)?;
                Ok(ProgramStatementKind::Leave(label))
            }
            "ITERATE" => {
                self.advance();
                let label = self.ident()?;
                self.scope_of_body()?.check_label("ITERATE", &label)?;
                Ok(ProgramStatementKind::Iterate(label))
            }
            "RETURN" => self.return_statement(),
            "OPEN" => {
                self.advance();
                Ok(ProgramStatementKind::Open(self.declared_cursor()?))
            }
            "CLOSE" => {
                self.advance();
                Ok(ProgramStatementKind::Close(self.declared_cursor()?))
            }
            "FETCH" => self.fetch(),
            _ => self.program_sql(),
        }
    }

    /// The scope of the body that is parsed.
    pub(super) fn scope_of_body(&mut self) -> Parsed<&mut Scope> {
        let error = self.syntax_error();
        self.scope.as_deref_mut().ok_or(error)
    }

    /// `label: BEGIN | LOOP | WHILE | REPEAT`.
    fn labelled(&mut self) -> Parsed<ProgramStatementKind> {
        if self.at_any_word(NO_LABELS) {
            return Err(self.syntax_error());
        }
        let label = self.ident()?;
        self.expect_symbol(Symbol::Colon)?;
        let is_block = self.at_word("BEGIN");
        if !is_block && !self.at_any_word(&["LOOP", "WHILE", "REPEAT"]) {
            return Err(self.syntax_error());
        }
        self.scope_of_body()?.push_label(&label, !is_block)?;
        let kind = match () {
            () if is_block => self.block(Some(label))?,
            () if self.at_word("LOOP") => self.loop_statement(Some(label))?,
            () if self.at_word("WHILE") => self.while_statement(Some(label))?,
            () => self.repeat_statement(Some(label))?,
        };
        self.scope_of_body()?.pop_label();
        Ok(kind)
    }

    /// Parses the label after END, which must be that of the begin (error 1310).
    fn end_label(&mut self, label: Option<&Ident>) -> Parsed<()> {
        let Some(label) = label else { return Ok(()) };
        if !self.is_ident_at(0) {
            return Ok(());
        }
        let end = self.ident()?;
        match end.value.to_lowercase() == label.value.to_lowercase() {
            true => Ok(()),
            false => Err(MysqlError::label_mismatch(end.value)),
        }
    }

    /// `BEGIN declarations statements END [label]`.
    #[inline(never)]
    fn block(&mut self, label: Option<Ident>) -> Parsed<ProgramStatementKind> {
        self.expect_word("BEGIN")?;
        self.scope_of_body()?.enter_block();
        let mut block = Box::new(Block { label, ..Block::default() });
        while self.at_word("DECLARE") {
            let declaration = self.declaration()?;
            server::push(&mut block.declarations, declaration)?;
            self.expect_symbol(Symbol::Semicolon)?;
        }
        block.body = self.program_statements(&["END"])?;
        self.expect_word("END")?;
        self.end_label(block.label.as_ref())?;
        self.scope_of_body()?.leave_block();
        Ok(ProgramStatementKind::Block(block))
    }

    /// Parses statements, each with its semicolon, up to one of the words `ends`.
    fn program_statements(&mut self, ends: &[&str]) -> Parsed<Vec<ProgramStatement>> {
        let mut statements = Vec::new();
        while !self.at_any_word(ends) || self.is_symbol_at(1, Symbol::Colon) {
            let statement = self.program_statement()?;
            server::push(&mut statements, statement)?;
            self.expect_symbol(Symbol::Semicolon)?;
        }
        Ok(statements)
    }

    /// Parses at least one statement up to one of the words `ends`.
    fn some_statements(&mut self, ends: &[&str]) -> Parsed<Vec<ProgramStatement>> {
        let statements = self.program_statements(ends)?;
        if statements.is_empty() { Err(self.syntax_error()) } else { Ok(statements) }
    }

    #[inline(never)]
    fn if_statement(&mut self) -> Parsed<ProgramStatementKind> {
        self.expect_word("IF")?;
        let mut branches: Vec<(Expr, Vec<ProgramStatement>)> = Vec::new();
        loop {
            let condition = self.expression()?;
            self.expect_word("THEN")?;
            let body = self.some_statements(&["ELSEIF", "ELSE", "END"])?;
            server::push(&mut branches, (condition, body))?;
            if !self.accept_word("ELSEIF") {
                break;
            }
        }
        let otherwise = match self.accept_word("ELSE") {
            true => Some(self.some_statements(&["END"])?),
            false => None,
        };
        self.expect_words(&["END", "IF"])?;
        Ok(ProgramStatementKind::If { branches, otherwise })
    }

    #[inline(never)]
    fn case_statement(&mut self) -> Parsed<ProgramStatementKind> {
        self.expect_word("CASE")?;
        let operand = if self.at_word("WHEN") { None } else { Some(self.expression()?) };
        let mut branches: Vec<(Expr, Vec<ProgramStatement>)> = Vec::new();
        self.expect_word("WHEN")?;
        loop {
            let value = self.expression()?;
            self.expect_word("THEN")?;
            let body = self.some_statements(&["WHEN", "ELSE", "END"])?;
            server::push(&mut branches, (value, body))?;
            if !self.accept_word("WHEN") {
                break;
            }
        }
        let otherwise = match self.accept_word("ELSE") {
            true => Some(self.some_statements(&["END"])?),
            false => None,
        };
        self.expect_words(&["END", "CASE"])?;
        Ok(ProgramStatementKind::Case { operand, branches, otherwise })
    }

    #[inline(never)]
    fn loop_statement(&mut self, label: Option<Ident>) -> Parsed<ProgramStatementKind> {
        self.expect_word("LOOP")?;
        let body = self.some_statements(&["END"])?;
        self.expect_words(&["END", "LOOP"])?;
        self.end_label(label.as_ref())?;
        Ok(ProgramStatementKind::Loop { label, body })
    }

    #[inline(never)]
    fn while_statement(&mut self, label: Option<Ident>) -> Parsed<ProgramStatementKind> {
        self.expect_word("WHILE")?;
        let condition = self.expression()?;
        self.expect_word("DO")?;
        let body = self.some_statements(&["END"])?;
        self.expect_words(&["END", "WHILE"])?;
        self.end_label(label.as_ref())?;
        Ok(ProgramStatementKind::While { label, condition, body })
    }

    #[inline(never)]
    fn repeat_statement(&mut self, label: Option<Ident>) -> Parsed<ProgramStatementKind> {
        self.expect_word("REPEAT")?;
        let body = self.some_statements(&["UNTIL"])?;
        self.expect_word("UNTIL")?;
        let until = self.expression()?;
        self.expect_words(&["END", "REPEAT"])?;
        self.end_label(label.as_ref())?;
        Ok(ProgramStatementKind::Repeat { label, body, until })
    }

    fn return_statement(&mut self) -> Parsed<ProgramStatementKind> {
        self.expect_word("RETURN")?;
        let scope = self.scope_of_body()?;
        if scope.context().kind != ProgramKind::Function {
            return Err(MysqlError::return_outside_function());
        }
        scope.returns = true;
        Ok(ProgramStatementKind::Return(self.expression()?))
    }

    fn declared_cursor(&mut self) -> Parsed<Ident> {
        let cursor = self.ident()?;
        self.scope_of_body()?.check_cursor(&cursor)?;
        Ok(cursor)
    }

    /// Parses the name of a variable of the program (error 1327).
    pub(crate) fn declared_variable(&mut self) -> Parsed<Ident> {
        let name = self.ident()?;
        match self.is_local(&name.value) {
            true => Ok(name),
            false => Err(MysqlError::undeclared_variable(name.value)),
        }
    }

    /// Returns whether a variable or parameter of this name is declared.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.variable(name).is_some())
    }

    /// `FETCH [[NEXT] FROM] cursor INTO variables`.
    fn fetch(&mut self) -> Parsed<ProgramStatementKind> {
        self.expect_word("FETCH")?;
        if !self.accept_words(&["NEXT", "FROM"]) {
            self.accept_word("FROM");
        }
        let cursor = self.declared_cursor()?;
        self.expect_word("INTO")?;
        let into = self.comma_list(Self::declared_variable)?;
        Ok(ProgramStatementKind::Fetch { cursor, into })
    }

    /// Parses a statement that could stand outside a program too.
    #[inline(never)]
    fn program_sql(&mut self) -> Parsed<ProgramStatementKind> {
        self.check_first_words()?;
        let statement = Box::new(self.statement_in_body()?);
        self.check_in_body(&statement.kind)?;
        Ok(ProgramStatementKind::Sql(statement))
    }
}
