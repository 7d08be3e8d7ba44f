//! The FROM clause: table references and joins.
//!
//! A join's condition belongs to the last join that has none yet (`a JOIN b JOIN c ON x ON y` nests to the
//! right), and joins without a condition lean left, as in MySQL: the joins of a chain wait on a stack until
//! their ON or USING, or the end of the chain, decides.

use super::ast::{
    Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinConstraint, JoinKind, Query, Span,
    TableReference,
};
use super::cursor::{MAX_HEIGHT, Parsed, Parser};
use super::lexer::Symbol;
use leafline_types::error::MysqlError;

/// A join whose right side or condition has not been parsed yet.
struct PendingJoin {
    left: Operand,
    kind: JoinKind,
    span: Span,
}

/// A table reference, and the number of joins without parentheses on the way to its left end.
struct Operand {
    reference: TableReference,
    left_joins: usize,
}

impl Parser<'_> {
    /// A table reference with the joins that follow it.
    pub(super) fn table_reference(&mut self) -> Parsed<TableReference> {
        self.nested(Self::join_chain)
    }

    fn join_chain(&mut self) -> Parsed<TableReference> {
        let mut pending: Vec<PendingJoin> = Vec::new();
        let mut current = self.closed_factor()?;
        let mut joins = 0;
        loop {
            // INSERT ... SELECT ... ON DUPLICATE KEY UPDATE
            if self.at_words(&["ON", "DUPLICATE", "KEY"]) {
                break;
            }
            if self.at_word("ON") || self.at_word("USING") {
                let Some(join) = pending.pop() else { return Err(self.syntax_error()) };
                let constraint = self.join_constraint()?;
                current = joined(join, current, constraint, false);
            } else if self.at_word("NATURAL") {
                let (kind, span) = self.natural_join()?;
                let right = self.closed_factor()?;
                current =
                    joined(PendingJoin { left: current, kind, span }, right, JoinConstraint::None, true);
                joins += 1;
            } else if let Some((kind, span)) = self.join_operator()? {
                pending.push(PendingJoin { left: current, kind, span });
                current = self.closed_factor()?;
                joins += 1;
            } else {
                break;
            }
            if joins > MAX_HEIGHT {
                return Err(MysqlError::nested_too_deeply(MAX_HEIGHT));
            }
        }
        while let Some(join) = pending.pop() {
            if matches!(join.kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.syntax_error()); // an outer join needs its condition
            }
            current = crossed(join, current);
        }
        Ok(current.reference)
    }

    fn closed_factor(&mut self) -> Parsed<Operand> {
        Ok(Operand { reference: self.table_factor()?, left_joins: 0 })
    }

    /// Takes the words of a join, up to its right side.
    fn join_operator(&mut self) -> Parsed<Option<(JoinKind, Span)>> {
        let start = self.span();
        let kind = if self.accept_word("JOIN") {
            JoinKind::Inner
        } else if self.accept_any_word(&["INNER", "CROSS"]) {
            self.expect_word("JOIN")?;
            JoinKind::Inner
        } else if self.accept_word("STRAIGHT_JOIN") {
            JoinKind::Straight
        } else if self.at_word("LEFT") || self.at_word("RIGHT") {
            let kind = if self.at_word("LEFT") { JoinKind::Left } else { JoinKind::Right };
            self.advance();
            self.accept_word("OUTER");
            self.expect_word("JOIN")?;
            kind
        } else {
            return Ok(None);
        };
        Ok(Some((kind, self.span_from(start))))
    }

    fn natural_join(&mut self) -> Parsed<(JoinKind, Span)> {
        let start = self.span();
        self.expect_word("NATURAL")?;
        let kind = if self.at_word("LEFT") || self.at_word("RIGHT") {
            let kind = if self.at_word("LEFT") { JoinKind::Left } else { JoinKind::Right };
            self.advance();
            self.accept_word("OUTER");
            kind
        } else {
            self.accept_word("INNER");
            JoinKind::Inner
        };
        self.expect_word("JOIN")?;
        Ok((kind, self.span_from(start)))
    }

    fn join_constraint(&mut self) -> Parsed<JoinConstraint> {
        if self.accept_word("ON") {
            return Ok(JoinConstraint::On(self.expression()?));
        }
        self.expect_word("USING")?;
        Ok(JoinConstraint::Using(self.parenthesised_list(Self::ident)?))
    }

    fn table_factor(&mut self) -> Parsed<TableReference> {
        if self.at_symbol(Symbol::LeftParen) {
            return self.nested(Self::parenthesised_reference);
        }
        if self.accept_word("LATERAL") {
            let start = self.span();
            let query = self.nested(Self::parenthesised_query)?;
            return self.derived(start, query, true);
        }
        if self.at_word("JSON_TABLE") {
            return self.json_table();
        }
        if self.accept_symbol(Symbol::LeftBrace) {
            // `{OJ a LEFT JOIN b ON ..}`, ODBC's outer join
            self.ident()?;
            let reference = self.table_reference()?;
            self.expect_symbol(Symbol::RightBrace)?;
            return Ok(reference);
        }
        self.base_table()
    }

    /// `[db.]table [AS alias] [index hints]`.
    pub(super) fn base_table(&mut self) -> Parsed<TableReference> {
        let name = self.table_name()?;
        let partitions = self.partition_selection()?;
        let alias = self.table_alias()?;
        let mut index_hints = Vec::new();
        while self.at_any_word(&["USE", "FORCE", "IGNORE"]) {
            self.index_hint(&mut index_hints)?;
        }
        Ok(TableReference::Table { name, partitions, alias, index_hints })
    }

    pub(super) fn table_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.accept_word("AS") || self.is_ident_at(0) { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    fn parenthesised_reference(&mut self) -> Parsed<TableReference> {
        let start = self.span();
        if self.starts_query(1) {
            let query = self.parenthesised_query()?;
            return self.derived(start, query, false);
        }
        self.expect_symbol(Symbol::LeftParen)?;
        let mut references = self.comma_list(Self::table_reference)?;
        if references.len() > 1 {
            self.expect_symbol(Symbol::RightParen)?;
            return Ok(TableReference::List(references));
        }
        match references.pop() {
            // `((SELECT 1) UNION (SELECT 2)) AS t`: the inner parenthesis was an operand of the query.
            Some(TableReference::Derived { lateral: false, query, alias: None, .. })
                if self.query_goes_on() || self.at_symbol(Symbol::RightParen) =>
            {
                let mut query = self.query_after(*query)?;
                self.expect_symbol(Symbol::RightParen)?;
                query.span = self.span_from(start);
                self.derived(start, query, false)
            }
            Some(reference) => {
                self.expect_symbol(Symbol::RightParen)?;
                Ok(reference)
            }
            None => Err(self.syntax_error()),
        }
    }

    /// Parses the alias and column names of a derived table, whose query is already parsed.
    fn derived(&mut self, start: Span, query: Query, lateral: bool) -> Parsed<TableReference> {
        let span = self.span_from(start);
        let alias = self.table_alias()?;
        let columns = match alias.is_some() && self.at_symbol(Symbol::LeftParen) {
            true => self.parenthesised_list(Self::ident)?,
            false => Vec::new(),
        };
        Ok(TableReference::Derived { lateral, query: Box::new(query), alias, columns, span })
    }

    fn index_hint(&mut self, hints: &mut Vec<IndexHint>) -> Parsed<()> {
        let action = match () {
            () if self.accept_word("USE") => IndexHintAction::Use,
            () if self.accept_word("FORCE") => IndexHintAction::Force,
            () => {
                self.expect_word("IGNORE")?;
                IndexHintAction::Ignore
            }
        };
        self.expect_any_word(&["INDEX", "KEY"])?;
        let mut scope = IndexHintScope::All;
        if self.accept_word("FOR") {
            scope = if self.accept_word("JOIN") {
                IndexHintScope::Join
            } else if self.accept_word("ORDER") {
                self.expect_word("BY")?;
                IndexHintScope::OrderBy
            } else {
                self.expect_words(&["GROUP", "BY"])?;
                IndexHintScope::GroupBy
            };
        }
        self.expect_symbol(Symbol::LeftParen)?;
        let mut indexes = Vec::new();
        if !(action == IndexHintAction::Use && self.at_symbol(Symbol::RightParen)) {
            indexes = self.comma_list(Self::index_name)?;
        }
        self.expect_symbol(Symbol::RightParen)?;
        hints.push(IndexHint { action, scope, indexes });
        Ok(())
    }

    /// Parses the name of an index; PRIMARY needs no quotes.
    pub(super) fn index_name(&mut self) -> Parsed<Ident> {
        if self.at_word("PRIMARY") { self.any_word() } else { self.ident() }
    }
}

fn joined(join: PendingJoin, right: Operand, constraint: JoinConstraint, natural: bool) -> Operand {
    let PendingJoin { left, kind, span } = join;
    let left_joins = left.left_joins + 1;
    let join = Join { kind, left: left.reference, right: right.reference, constraint, natural, span };
    Operand { reference: TableReference::Join(Box::new(join)), left_joins }
}

/// Places a join without condition at the left end of the unparenthesised join on its right: `a JOIN b LEFT JOIN c ON
/// x` is `(a JOIN b) LEFT JOIN c ON x`.
fn crossed(join: PendingJoin, right: Operand) -> Operand {
    let Operand { mut reference, left_joins } = right;
    let total = left_joins + join.left.left_joins + 1;
    let mut end = &mut reference;
    for _ in 0..left_joins {
        match end {
            TableReference::Join(inner) => end = &mut inner.left,
            other => {
                end = other;
                break;
            }
        }
    }
    let leaf = std::mem::replace(end, TableReference::List(Vec::new()));
    let leaf = Operand { reference: leaf, left_joins: 0 };
    *end = joined(join, leaf, JoinConstraint::None, false).reference;
    Operand { reference, left_joins: total }
}
