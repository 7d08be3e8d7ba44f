//! INSERT, UPDATE and DELETE.

use super::ast::{
    Assignment, Delete, Expr, Ident, Insert, InsertSource, StatementKind, TableReference, Update,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.skip_hint()?;
        self.write_priority("INSERT")?;
        if self.at_word("IGNORE") {
            return self.refuse("INSERT IGNORE");
        }
        self.accept_word("INTO");
        let table = self.table_name()?;
        if self.at_word("PARTITION") {
            return self.refuse("PARTITION selection");
        }
        let (columns, source) = self.insert_source()?;
        if self.at_word("AS") {
            return self.refuse("INSERT ... AS");
        }
        if self.at_words(&["ON", "DUPLICATE"]) {
            return self.refuse("INSERT ... ON DUPLICATE KEY UPDATE");
        }
        Ok(StatementKind::Insert(Box::new(Insert { table, columns, source })))
    }

    fn insert_source(&mut self) -> Parsed<(Option<Vec<Ident>>, InsertSource)> {
        if self.accept_word("SET") {
            let assignments = self.comma_list(Self::assignment)?;
            let (columns, row) = assignments.into_iter().map(|a| (a.column.column, a.value)).unzip();
            return Ok((Some(columns), InsertSource::Values(vec![row])));
        }
        let mut columns = None;
        if self.at_symbol(Symbol::LeftParen)
            && !self.starts_query(1)
            && !self.is_symbol_at(1, Symbol::LeftParen)
        {
            columns = Some(self.insert_columns()?);
        }
        if self.at_any_word(&["VALUES", "VALUE"]) && !self.is_word_at(1, "ROW") {
            self.advance();
            let rows = self.comma_list(Self::insert_row)?;
            return Ok((columns, InsertSource::Values(rows)));
        }
        if self.at_symbol(Symbol::LeftParen) || self.starts_query(0) {
            return Ok((columns, InsertSource::Query(Box::new(self.query()?))));
        }
        Err(self.syntax_error())
    }

    /// `(a, t.b, ..)`, possibly empty.
    fn insert_columns(&mut self) -> Parsed<Vec<Ident>> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut columns = Vec::new();
        if !self.at_symbol(Symbol::RightParen) {
            columns = self.comma_list(|p| Ok(p.column_name()?.column))?;
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(columns)
    }

    fn insert_row(&mut self) -> Parsed<Vec<Expr>> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut row = Vec::new();
        if !self.at_symbol(Symbol::RightParen) {
            row = self.expressions()?;
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(row)
    }

    fn assignment(&mut self) -> Parsed<Assignment> {
        let column = self.column_name()?;
        if !self.accept_symbol(Symbol::Assign) {
            self.expect_symbol(Symbol::Eq)?;
        }
        let value = self.expression()?;
        Ok(Assignment { column, value })
    }

    pub(super) fn update(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.skip_hint()?;
        self.write_priority("UPDATE")?;
        if self.at_word("IGNORE") {
            return self.refuse("UPDATE IGNORE");
        }
        let table = self.single_table("multi-table UPDATE")?;
        self.expect_word("SET")?;
        let assignments = self.comma_list(Self::assignment)?;
        let filter = self.optional_expression("WHERE")?;
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        Ok(StatementKind::Update(Box::new(Update { table, assignments, filter, order_by, limit })))
    }

    pub(super) fn delete(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.skip_hint()?;
        self.write_priority("DELETE")?;
        self.accept_word("QUICK"); // concerns MyISAM's index leaves only
        if self.at_word("IGNORE") {
            return self.refuse("DELETE IGNORE");
        }
        if !self.accept_word("FROM") {
            // `DELETE a, b FROM ..` or a mistake
            self.ident()?;
            return match self.at_word("FROM") || self.at_symbol(Symbol::Comma) || self.at_symbol(Symbol::Dot)
            {
                true => self.refuse("multi-table DELETE"),
                false => Err(self.syntax_error()),
            };
        }
        let table = self.single_table("multi-table DELETE")?;
        let filter = self.optional_expression("WHERE")?;
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        Ok(StatementKind::Delete(Box::new(Delete { table, filter, order_by, limit })))
    }

    /// One table; `refused` names the statement when there are more.
    fn single_table(&mut self, refused: &str) -> Parsed<TableReference> {
        if self.at_symbol(Symbol::LeftParen) {
            return self.refuse(refused);
        }
        let reference = self.base_table()?;
        let more = self.at_any_word(&[
            "USING",
            "JOIN",
            "INNER",
            "CROSS",
            "LEFT",
            "RIGHT",
            "NATURAL",
            "STRAIGHT_JOIN",
        ]);
        if more
            || self.at_symbol(Symbol::Comma)
            || (self.at_symbol(Symbol::Dot) && self.is_symbol_at(1, Symbol::Star))
        {
            return self.refuse(refused);
        }
        Ok(reference)
    }

    fn row_limit(&mut self) -> Parsed<Option<Expr>> {
        if self.accept_word("LIMIT") { Ok(Some(self.limit_value()?)) } else { Ok(None) }
    }

    /// Priorities of table locks, which mean nothing where rows have versions; DELAYED is gone from MySQL.
    fn write_priority(&mut self, verb: &str) -> Parsed<()> {
        if self.at_word("DELAYED") {
            return self.refuse(&format!("{verb} DELAYED"));
        }
        self.accept_any_word(&["LOW_PRIORITY", "HIGH_PRIORITY"]);
        Ok(())
    }

    fn skip_hint(&mut self) -> Parsed<()> {
        if self.token(0).kind == TokenKind::Hint {
            self.refuse("optimizer hints outside SELECT")
        } else {
            Ok(())
        }
    }
}
