//! INSERT, REPLACE, UPDATE and DELETE.

use super::ast::{
    Assignment, Delete, Expr, ExprKind, Ident, Insert, InsertSource, Literal, QueryBody, RowAlias,
    StatementKind, TableName, Update, With,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use super::literal::unquote;

impl Parser<'_> {
    /// INSERT and REPLACE.
    pub(super) fn insert(&mut self) -> Parsed<StatementKind> {
        let replace = self.at_word("REPLACE");
        self.advance();
        let hints = self.hints()?;
        // Priorities of table locks mean nothing here, because readers see versions and do not block writers.
        let delayed = self.accept_word("DELAYED");
        if !delayed && !self.accept_word("LOW_PRIORITY") && !replace {
            self.accept_word("HIGH_PRIORITY");
        }
        let ignore = !replace && self.accept_word("IGNORE");
        self.accept_word("INTO");
        let table = self.table_name()?;
        let partitions = self.partition_selection()?;
        let (columns, mut source) = self.insert_source()?;
        let mut alias = None;
        if !replace && matches!(source, InsertSource::Values(_)) && self.accept_word("AS") {
            let name = self.ident()?;
            let columns = match self.at_symbol(Symbol::LeftParen) {
                true => self.parenthesised_list(Self::ident)?,
                false => Vec::new(),
            };
            alias = Some(RowAlias { name, columns });
        }
        let mut on_duplicate = Vec::new();
        if !replace && self.accept_words(&["ON", "DUPLICATE"]) {
            self.expect_words(&["KEY", "UPDATE"])?;
            on_duplicate = self.comma_list(Self::assignment)?;
        }
        // An INSERT has no query block of its own: its hints belong to the query's block.
        if let InsertSource::Query(query) = &mut source
            && let QueryBody::Select(select) = &mut query.body
        {
            select.hints.splice(0..0, hints);
        }
        let insert =
            Insert { replace, ignore, delayed, table, partitions, columns, source, alias, on_duplicate };
        Ok(StatementKind::Insert(Box::new(insert)))
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
        if self.at_any_word(&["VALUES", "VALUE"]) {
            let constructors = self.at_words(&["VALUES", "ROW"]);
            self.advance();
            let mut values = 0;
            let rows = self.comma_list(|p| {
                if constructors {
                    p.expect_word("ROW")?;
                }
                let row = p.insert_row(values)?;
                values = row.len();
                Ok(row)
            })?;
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

    /// Parses a row. `values` is the length of the row before, a guess at this row's length.
    fn insert_row(&mut self, values: usize) -> Parsed<Vec<Expr>> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut row = Vec::with_capacity(values);
        if self.accept_symbol(Symbol::RightParen) {
            return Ok(row);
        }
        loop {
            row.push(match self.plain_literal() {
                Some(literal) => literal,
                None => self.expression()?,
            });
            if !self.accept_symbol(Symbol::Comma) {
                break;
            }
        }
        self.expect_symbol(Symbol::RightParen)?;
        self.check_cancelled()?;
        Ok(row)
    }

    /// Takes a number or string that is a whole value, as most values are; takes nothing otherwise.
    fn plain_literal(&mut self) -> Option<Expr> {
        if !self.is_symbol_at(1, Symbol::Comma) && !self.is_symbol_at(1, Symbol::RightParen) {
            return None;
        }
        let token = self.token(0);
        let text = self.text(token);
        let literal = match token.kind {
            TokenKind::Integer => Literal::Integer(text.parse().ok()?),
            TokenKind::Decimal => Literal::Decimal(text.to_owned()),
            TokenKind::String => {
                let value = unquote(text, self.mode);
                Literal::String { first_part: value.len(), value, charset: None }
            }
            _ => return None,
        };
        self.advance();
        Some(Expr { kind: ExprKind::Literal(literal), span: token.span })
    }

    pub(super) fn assignment(&mut self) -> Parsed<Assignment> {
        let column = self.column_name()?;
        if !self.accept_symbol(Symbol::Assign) {
            self.expect_symbol(Symbol::Eq)?;
        }
        let value = self.expression()?;
        Ok(Assignment { column, value })
    }

    /// Parses UPDATE; `with` is the WITH clause before it.
    pub(super) fn update(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.advance();
        let hints = self.hints()?;
        self.accept_word("LOW_PRIORITY");
        let ignore = self.accept_word("IGNORE");
        let tables = self.comma_list(Self::table_reference)?;
        self.expect_word("SET")?;
        let assignments = self.comma_list(Self::assignment)?;
        let filter = self.optional_expression("WHERE")?;
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        let update = Update { with, hints, ignore, tables, assignments, filter, order_by, limit };
        Ok(StatementKind::Update(Box::new(update)))
    }

    /// Parses `DELETE FROM t ..`, `DELETE a, b FROM ..` or `DELETE FROM a, b USING ..`.
    pub(super) fn delete(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.advance();
        let hints = self.hints()?;
        self.accept_word("LOW_PRIORITY");
        self.accept_word("QUICK"); // concerns MyISAM's index leaves only
        let ignore = self.accept_word("IGNORE");
        let (mut targets, mut tables) = (Vec::new(), Vec::new());
        if !self.accept_word("FROM") {
            targets = self.comma_list(Self::delete_target)?;
            self.expect_word("FROM")?;
        } else if self.names_targets() {
            targets = self.comma_list(Self::delete_target)?;
            self.expect_word("USING")?;
        } else {
            tables.push(self.base_table()?);
        }
        let (mut order_by, mut limit) = (Vec::new(), None);
        let several = !targets.is_empty();
        if several {
            tables = self.comma_list(Self::table_reference)?;
        }
        let filter = self.optional_expression("WHERE")?;
        if !several {
            order_by = self.order_by()?;
            limit = self.row_limit()?;
        }
        let delete = Delete { with, hints, ignore, targets, tables, filter, order_by, limit };
        Ok(StatementKind::Delete(Box::new(delete)))
    }

    /// `t`, `t.*`, `db.t` or `db.t.*`.
    fn delete_target(&mut self) -> Parsed<TableName> {
        let first = self.ident()?;
        if !self.accept_symbol(Symbol::Dot) || self.accept_symbol(Symbol::Star) {
            return Ok(TableName { database: None, name: first });
        }
        let name = self.ident_after_dot()?;
        if self.accept_symbol(Symbol::Dot) {
            self.expect_symbol(Symbol::Star)?;
        }
        Ok(TableName { database: Some(first), name })
    }

    /// Returns whether a list of targets followed by USING comes next.
    fn names_targets(&self) -> bool {
        let mut at = 0;
        loop {
            at += 1;
            while self.is_symbol_at(at, Symbol::Dot) {
                at += 2;
            }
            if !self.is_symbol_at(at, Symbol::Comma) {
                // `DELETE FROM t.*` cannot be anything else, either.
                return self.is_word_at(at, "USING") || self.is_symbol_at(at - 1, Symbol::Star);
            }
            at += 1;
        }
    }

    fn row_limit(&mut self) -> Parsed<Option<Expr>> {
        if self.accept_word("LIMIT") { Ok(Some(self.limit_value()?)) } else { Ok(None) }
    }
}
