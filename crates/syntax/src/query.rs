//! SELECT, set operations, WITH, ORDER BY and LIMIT.

use super::ast::{
    CommonTable, Expr, ExprKind, Limit, Literal, Locking, OrderItem, Query, QueryBody, Select, SelectItem,
    SetOperation, SetStep, Span, TableName, TableReference, With,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::error::MysqlError;
use leafline_types::words::{LockStrength, LockWait};

const SET_OPERATORS: &[&str] = &["UNION", "INTERSECT", "EXCEPT"];

impl Parser<'_> {
    /// Returns whether a query begins at the token `ahead`.
    pub(super) fn starts_query(&self, ahead: usize) -> bool {
        self.is_word_at(ahead, "SELECT")
            || self.is_word_at(ahead, "WITH")
            || (self.is_word_at(ahead, "VALUES") && self.is_word_at(ahead + 1, "ROW"))
            || (self.is_word_at(ahead, "TABLE") && self.is_ident_at(ahead + 1))
    }

    /// `(query)`.
    pub(super) fn parenthesised_query(&mut self) -> Parsed<Query> {
        let start = self.span();
        self.expect_symbol(Symbol::LeftParen)?;
        let mut query = self.query()?;
        self.expect_symbol(Symbol::RightParen)?;
        query.span = self.span_from(start);
        Ok(query)
    }

    /// A query expression.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        self.nested(Self::query_expression)
    }

    /// Parses the query after WITH.
    pub(super) fn query_behind(&mut self, with: With) -> Parsed<Query> {
        self.enter()?;
        let start = with.span;
        let query = self.query_with(start, Some(with));
        self.leave();
        query
    }

    fn query_expression(&mut self) -> Parsed<Query> {
        let start = self.span();
        let with = if self.at_word("WITH") { Some(self.with()?) } else { None };
        self.query_with(start, with)
    }

    fn query_with(&mut self, start: Span, with: Option<With>) -> Parsed<Query> {
        let first = self.query_operand()?;
        let mut query = self.query_after(first)?;
        if with.is_some() && query.with.is_some() {
            parenthesise(&mut query);
        }
        query.with = query.with.or(with);
        query.span = self.span_from(start);
        Ok(query)
    }

    fn query_operand(&mut self) -> Parsed<Query> {
        if self.at_symbol(Symbol::LeftParen) {
            return self.nested(Self::parenthesised_query);
        }
        self.simple_query()
    }

    /// Parses SELECT or VALUES, without parentheses and without the clauses of the whole query.
    fn simple_query(&mut self) -> Parsed<Query> {
        let start = self.span();
        let body = if self.at_word("SELECT") {
            QueryBody::Select(Box::new(self.select()?))
        } else if self.at_words(&["VALUES", "ROW"]) {
            self.advance();
            QueryBody::Values(self.comma_list(|p| {
                p.expect_word("ROW")?;
                p.parenthesised_list(Self::expression)
            })?)
        } else if self.at_word("TABLE") && self.is_ident_at(1) {
            QueryBody::Select(Box::new(self.table_query()?))
        } else {
            return Err(self.syntax_error());
        };
        Ok(Query {
            with: None,
            body,
            order_by: Vec::new(),
            limit: None,
            locking: Vec::new(),
            span: self.span_from(start),
        })
    }

    /// Parses `TABLE name`, which selects all columns and rows.
    fn table_query(&mut self) -> Parsed<Select> {
        let start = self.span();
        self.expect_word("TABLE")?;
        let name = self.table_name()?;
        let span = self.span_from(start);
        Ok(Select {
            items: vec![SelectItem::Wildcard { table: None, span }],
            from: vec![TableReference::Table {
                name,
                partitions: Vec::new(),
                alias: None,
                index_hints: Vec::new(),
            }],
            span,
            ..Select::default()
        })
    }

    /// Parses the part after a query's first operand: set operators, then the clauses of the whole.
    pub(super) fn query_after(&mut self, first: Query) -> Parsed<Query> {
        let mut query = self.intersections(first)?;
        while self.at_any_word(&["UNION", "EXCEPT"]) {
            let operation = if self.at_word("UNION") { SetOperation::Union } else { SetOperation::Except };
            let (all, span) = self.set_operator()?;
            let right = self.query_operand()?;
            let right = self.intersections(right)?;
            query = combined(operation, all, span, query, right);
        }
        self.query_tail(query)
    }

    fn intersections(&mut self, first: Query) -> Parsed<Query> {
        let mut query = first;
        while self.at_word("INTERSECT") {
            let (all, span) = self.set_operator()?;
            let right = self.query_operand()?;
            query = combined(SetOperation::Intersect, all, span, query, right);
        }
        Ok(query)
    }

    fn set_operator(&mut self) -> Parsed<(bool, Span)> {
        let start = self.span();
        self.advance();
        let all = self.accept_word("ALL");
        if !all {
            self.accept_word("DISTINCT");
        }
        Ok((all, self.span_from(start)))
    }

    /// Parses ORDER BY, LIMIT, INTO and locking at the end of a query.
    fn query_tail(&mut self, mut query: Query) -> Parsed<Query> {
        let only_ordered = query.limit.is_none() && query.locking.is_empty();
        let own_clauses = !query.order_by.is_empty() || !only_ordered;
        let goes_on = self.at_any_word(&["ORDER", "LIMIT", "FOR", "LOCK"]);
        // LIMIT after `(query ORDER BY ..)` applies to the query itself: its first rows are those of its order.
        if own_clauses && goes_on && !(only_ordered && self.at_word("LIMIT")) {
            parenthesise(&mut query);
        }
        if self.at_word("ORDER") {
            query.order_by = self.order_by()?;
        }
        if self.at_word("LIMIT") {
            query.limit = Some(self.limit()?);
        }
        self.behind_into()?;
        while self.at_word("FOR") || self.at_words(&["LOCK", "IN"]) {
            query.locking.push(self.locking()?);
        }
        self.behind_into()?;
        Ok(query)
    }

    /// `ORDER BY list`, or nothing.
    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        if !self.accept_word("ORDER") {
            return Ok(Vec::new());
        }
        self.expect_word("BY")?;
        self.comma_list(|p| {
            let expr = p.expression()?;
            let descending = p.accept_word("DESC");
            if !descending {
                p.accept_word("ASC");
            }
            Ok(OrderItem { expr, descending })
        })
    }

    pub(super) fn limit(&mut self) -> Parsed<Limit> {
        self.expect_word("LIMIT")?;
        let first = self.limit_value()?;
        if self.accept_symbol(Symbol::Comma) {
            return Ok(Limit { offset: Some(first), count: self.limit_value()? });
        }
        let offset = match self.accept_word("OFFSET") {
            true => Some(self.limit_value()?),
            false => None,
        };
        Ok(Limit { offset, count: first })
    }

    /// An integer or a parameter.
    pub(super) fn limit_value(&mut self) -> Parsed<Expr> {
        let token = self.token(0);
        match token.kind {
            TokenKind::Integer => {
                let value = self.integer()?;
                Ok(Expr { kind: ExprKind::Literal(Literal::Integer(value)), span: token.span })
            }
            TokenKind::Parameter => self.operand(),
            _ => self.limit_variable(),
        }
    }

    fn locking(&mut self) -> Parsed<Locking> {
        let start = self.span();
        if self.accept_words(&["LOCK", "IN"]) {
            self.expect_words(&["SHARE", "MODE"])?;
            let (strength, wait) = (LockStrength::Share, LockWait::Wait);
            return Ok(Locking { strength, of: Vec::new(), wait, span: self.span_from(start) });
        }
        self.expect_word("FOR")?;
        let strength = if self.at_word("UPDATE") { LockStrength::Update } else { LockStrength::Share };
        self.expect_any_word(&["UPDATE", "SHARE"])?;
        let of = if self.accept_word("OF") { self.table_names()? } else { Vec::new() };
        let wait = if self.accept_word("SKIP") {
            self.expect_word("LOCKED")?;
            LockWait::SkipLocked
        } else if self.accept_word("NOWAIT") {
            LockWait::NoWait
        } else {
            LockWait::Wait
        };
        Ok(Locking { strength, of, wait, span: self.span_from(start) })
    }

    pub(super) fn with(&mut self) -> Parsed<With> {
        let span = self.span();
        self.expect_word("WITH")?;
        let recursive = self.accept_word("RECURSIVE");
        let tables = self.comma_list(|p| {
            let name = p.ident()?;
            let columns = match p.at_symbol(Symbol::LeftParen) {
                true => p.parenthesised_list(Self::ident)?,
                false => Vec::new(),
            };
            p.expect_word("AS")?;
            Ok(CommonTable { name, columns, query: p.parenthesised_query()? })
        })?;
        Ok(With { recursive, tables, span })
    }

    fn select(&mut self) -> Parsed<Select> {
        let start = self.span();
        self.expect_word("SELECT")?;
        let hints = self.hints()?;
        let number = self.blocks;
        let (distinct, straight_join, calc_found_rows) = self.select_options()?;
        let items = self.comma_list(Self::select_item)?;
        self.behind_into()?;
        let from = match self.accept_word("FROM") {
            true if self.accept_word("DUAL") => Vec::new(),
            true => self.comma_list(Self::table_reference)?,
            false => Vec::new(),
        };
        let filter = self.optional_expression("WHERE")?;
        let mut group_by = Vec::new();
        let mut rollup = None;
        if self.accept_word("GROUP") {
            self.expect_word("BY")?;
            group_by = self.expressions()?;
            let span = self.span();
            if self.accept_words(&["WITH", "ROLLUP"]) {
                rollup = Some(self.span_from(span));
            }
        }
        let having = self.optional_expression("HAVING")?;
        let windows = self.window_clause()?;
        let span = self.span_from(start);
        let clauses = Select { filter, group_by, rollup, having, windows, ..Select::default() };
        Ok(Select { hints, number, distinct, straight_join, calc_found_rows, items, from, span, ..clauses })
    }

    /// `word expression`, or nothing.
    pub(super) fn optional_expression(&mut self, word: &str) -> Parsed<Option<Expr>> {
        if self.accept_word(word) { Ok(Some(self.expression()?)) } else { Ok(None) }
    }

    /// Parses DISTINCT, STRAIGHT_JOIN and SQL_CALC_FOUND_ROWS after SELECT.
    fn select_options(&mut self) -> Parsed<(bool, bool, bool)> {
        let (mut all, mut distinct, mut straight_join, mut calc_found_rows) = (false, false, false, false);
        loop {
            if self.accept_any_word(&["DISTINCT", "DISTINCTROW"]) {
                distinct = true;
            } else if self.accept_word("ALL") {
                all = true;
            } else if self.accept_word("STRAIGHT_JOIN") {
                straight_join = true;
            } else if self.accept_word("SQL_CALC_FOUND_ROWS") {
                calc_found_rows = true;
            } else if !self.accept_any_word(&[
                // Accepted without effect: they advise on write-locked tables, on result sizes and on a cache that
                // MySQL itself has dropped.
                "HIGH_PRIORITY",
                "SQL_SMALL_RESULT",
                "SQL_BIG_RESULT",
                "SQL_BUFFER_RESULT",
                "SQL_NO_CACHE",
            ]) {
                break;
            }
        }
        if all && distinct {
            return Err(MysqlError::wrong_usage("ALL", "DISTINCT"));
        }
        Ok((distinct, straight_join, calc_found_rows))
    }

    fn select_item(&mut self) -> Parsed<SelectItem> {
        let start = self.span();
        if self.accept_symbol(Symbol::Star) {
            return Ok(SelectItem::Wildcard { table: None, span: start });
        }
        if let Some(table) = self.qualified_wildcard()? {
            return Ok(SelectItem::Wildcard { table: Some(table), span: self.span_from(start) });
        }
        let expr = self.expression()?;
        let span = self.span_from(start);
        let alias =
            if self.accept_word("AS") || self.is_ident_at(0) || self.token(0).kind == TokenKind::String {
                Some(self.ident_or_string()?)
            } else {
                None
            };
        Ok(SelectItem::Expr { expr, alias, span })
    }

    /// `t.*` or `db.t.*`.
    fn qualified_wildcard(&mut self) -> Parsed<Option<TableName>> {
        if !self.is_ident_at(0) || !self.is_symbol_at(1, Symbol::Dot) {
            return Ok(None);
        }
        if self.is_symbol_at(2, Symbol::Star) {
            let name = self.ident()?;
            self.advance();
            self.advance();
            return Ok(Some(TableName { database: None, name }));
        }
        if self.is_symbol_at(3, Symbol::Dot) && self.is_symbol_at(4, Symbol::Star) {
            let name = self.table_name()?;
            self.advance();
            self.advance();
            return Ok(Some(name));
        }
        Ok(None)
    }

    /// Returns whether a set operator or a clause of a whole query comes next.
    pub(super) fn query_goes_on(&self) -> bool {
        self.at_any_word(SET_OPERATORS) || self.at_any_word(&["ORDER", "LIMIT"])
    }
}

/// Wraps a query in a new one that returns its rows.
fn parenthesise(query: &mut Query) {
    let inner = Query {
        with: query.with.take(),
        body: std::mem::replace(&mut query.body, QueryBody::Values(Vec::new())),
        order_by: std::mem::take(&mut query.order_by),
        limit: query.limit.take(),
        locking: std::mem::take(&mut query.locking),
        span: query.span,
    };
    query.body = QueryBody::Parenthesised(Box::new(inner));
}

/// Makes `left operation right`. An operation on the result of a set operation is appended to that one.
fn combined(operation: SetOperation, all: bool, span: Span, left: Query, right: Query) -> Query {
    let whole = left.span.to(right.span);
    let step = SetStep { operation, all, query: right, span };
    let goes_on = !left.has_clauses();
    let body = match left {
        Query { body: QueryBody::SetOperation { first, mut steps }, .. } if goes_on => {
            steps.push(step);
            QueryBody::SetOperation { first, steps }
        }
        left => QueryBody::SetOperation { first: Box::new(left), steps: vec![step] },
    };
    Query { with: None, body, order_by: Vec::new(), limit: None, locking: Vec::new(), span: whole }
}
