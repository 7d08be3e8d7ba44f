//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use super::ast::{CreateView, DropView, Query, StatementKind, ViewVerb};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;
use leafline_types::error::{MysqlError, errno};
use leafline_types::words::{CheckOption, ViewAlgorithm};

impl Parser<'_> {
    /// Returns whether a view, or an option of one, comes next after the verb.
    pub(super) fn at_view(&self) -> bool {
        let replace = if self.at_words(&["OR", "REPLACE"]) { 2 } else { 0 };
        if ["ALGORITHM", "VIEW"].iter().any(|word| self.is_word_at(replace, word)) {
            return true;
        }
        // DEFINER = user and SQL SECURITY may come before other objects too.
        let mut at = replace;
        while at < replace + 12 {
            if self.is_word_at(at, "VIEW") {
                return true;
            }
            let other = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "TABLE", "AGGREGATE"];
            if other.iter().any(|word| self.is_word_at(at, word)) || self.is_end_at(at) {
                return false;
            }
            at += 1;
        }
        false
    }

    /// Parses CREATE VIEW or ALTER VIEW after its verb.
    pub(super) fn create_view(&mut self, alters: bool) -> Parsed<StatementKind> {
        let mut verb = if alters { ViewVerb::Alter } else { ViewVerb::Create };
        if !alters && self.accept_words(&["OR", "REPLACE"]) {
            verb = ViewVerb::CreateOrReplace;
        }
        let mut algorithm = ViewAlgorithm::Undefined;
        if self.accept_word("ALGORITHM") {
            self.expect_symbol(Symbol::Eq)?;
            algorithm = if self.accept_word("MERGE") {
                ViewAlgorithm::Merge
            } else if self.accept_word("TEMPTABLE") {
                ViewAlgorithm::TempTable
            } else {
                self.expect_word("UNDEFINED")?;
                ViewAlgorithm::Undefined
            };
        }
        let mut definer = None;
        if self.accept_word("DEFINER") {
            self.expect_symbol(Symbol::Eq)?;
            definer = Some(self.account_name()?);
        }
        let mut by_invoker = None;
        if self.accept_words(&["SQL", "SECURITY"]) {
            by_invoker = Some(self.at_word("INVOKER"));
            self.expect_any_word(&["DEFINER", "INVOKER"])?;
        }
        self.expect_word("VIEW")?;
        let name = self.table_name()?;
        let columns = match self.at_symbol(Symbol::LeftParen) && !self.starts_query(1) {
            true => self.parenthesised_list(Self::ident)?,
            false => Vec::new(),
        };
        self.expect_word("AS")?;
        let start = self.span();
        let query = Box::new(self.query_of_view()?);
        let span = self.span_from(start);
        let check_option = match self.accept_word("WITH") {
            true => self.check_option()?,
            false => CheckOption::None,
        };
        let mode = self.mode;
        let create = CreateView {
            verb,
            algorithm,
            definer,
            by_invoker,
            name,
            columns,
            query,
            check_option,
            span,
            mode,
        };
        Ok(StatementKind::CreateView(Box::new(create)))
    }

    /// Parses the view's query, which must not have an INTO (error 1350).
    fn query_of_view(&mut self) -> Parsed<Query> {
        match self.query() {
            Err(error) if error.code == errno::ER_OPTION_PREVENTS_STATEMENT => {
                Err(MysqlError::view_with_clause("INTO"))
            }
            Ok(_) if self.into.is_some() => Err(MysqlError::view_with_clause("INTO")),
            query => query,
        }
    }

    /// `[CASCADED | LOCAL] CHECK OPTION`.
    fn check_option(&mut self) -> Parsed<CheckOption> {
        let check_option = match self.accept_word("LOCAL") {
            true => CheckOption::Local,
            false => CheckOption::Cascaded,
        };
        if check_option == CheckOption::Cascaded {
            self.accept_word("CASCADED"); // the default
        }
        self.expect_words(&["CHECK", "OPTION"])?;
        Ok(check_option)
    }

    /// Parses DROP VIEW after its two words.
    pub(super) fn drop_view(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let views = self.table_names()?;
        self.accept_any_word(&["RESTRICT", "CASCADE"]); // MySQL ignores them, too
        Ok(StatementKind::DropView(DropView { views, if_exists }))
    }
}
