//! Expressions that the catalog stores as text: defaults, generated columns and CHECK constraints.
//!
//! The stored text means the same under every `sql_mode`: names are bare or in backquotes, and strings in single
//! quotes with backslashes doubled.

use super::ParseLimits;
use super::ast::{CheckDefinition, GeneratedDefinition, TableName};
use super::cursor::{Concatenation, Parsed, Parser};
use super::lex_mode::LexMode;
use super::lexer::{Symbol, Token, TokenKind, tokenize};
use super::literal::unquote;

impl Parser<'_> {
    /// Parses `(expression)` into text, without further parentheses around the whole: SHOW CREATE TABLE writes some,
    /// and its text may be parsed again.
    pub(super) fn stored_expression(&mut self) -> Parsed<String> {
        let pairs = match self.pairs_around() {
            // The innermost pair belongs to the query.
            pairs if self.is_query_at(pairs) => pairs.saturating_sub(1).max(1),
            pairs => pairs.max(1),
        };
        (0..pairs).try_for_each(|_| self.expect_symbol(Symbol::LeftParen))?;
        let text = self.stored_text()?;
        (0..pairs).try_for_each(|_| self.expect_symbol(Symbol::RightParen))?;
        Ok(text)
    }

    /// From here on, the columns in expressions are those of `table`, whose name may qualify them.
    pub(super) fn define(&mut self, table: &TableName) {
        let database = table.database.as_ref().map(|database| database.value.clone());
        self.defined = Some((database, table.name.value.clone()));
    }

    fn is_query_at(&self, ahead: usize) -> bool {
        ["SELECT", "WITH", "TABLE", "VALUES"].iter().any(|word| self.is_word_at(ahead, word))
    }

    /// The number of pairs of parentheses that enclose the whole of the next expression.
    fn pairs_around(&self) -> usize {
        let leading = (0..).take_while(|ahead| self.is_symbol_at(*ahead, Symbol::LeftParen)).count();
        // The number of open parentheses, the number of leading ones among them, and how many leading ones have just
        // closed with nothing between them.
        let (mut open, mut leading_open, mut closed) = (leading, leading, 0);
        for ahead in leading.. {
            if open == 0 || self.is_end_at(ahead) {
                break;
            }
            let closes = self.is_symbol_at(ahead, Symbol::RightParen);
            let closes_leading = closes && open == leading_open;
            closed = if closes_leading { closed + 1 } else { 0 };
            leading_open -= usize::from(closes_leading);
            open -= usize::from(closes);
            open += usize::from(self.is_symbol_at(ahead, Symbol::LeftParen));
        }
        closed
    }

    /// Parses an expression into text.
    pub(super) fn stored_text(&mut self) -> Parsed<String> {
        let start = self.span();
        self.expression()?;
        let source = self.span_from(start).text(self.sql);
        match canonical(source, self.mode, false, self.defined.as_ref())? {
            Some(text) => Ok(text),
            None => self.refuse("subqueries, parameters and variables in expressions of a table"),
        }
    }

    /// `[GENERATED ALWAYS] AS (expression) [VIRTUAL | STORED]`.
    pub(super) fn generated_column(&mut self) -> Parsed<GeneratedDefinition> {
        if self.accept_word("GENERATED") {
            self.expect_word("ALWAYS")?;
        }
        self.expect_word("AS")?;
        let expression = self.stored_expression()?;
        let stored = self.accept_word("STORED");
        if !stored {
            self.accept_word("VIRTUAL");
        }
        Ok(GeneratedDefinition { expression, stored })
    }

    /// Returns whether a CHECK constraint comes next.
    pub(super) fn at_check(&self) -> bool {
        self.at_word("CHECK")
            || (self.at_word("CONSTRAINT") && (self.is_word_at(1, "CHECK") || self.is_word_at(2, "CHECK")))
    }

    /// `[CONSTRAINT [name]] CHECK (expression) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self) -> Parsed<CheckDefinition> {
        let mut name = None;
        if self.accept_word("CONSTRAINT") && !self.at_word("CHECK") {
            name = Some(self.ident()?);
        }
        self.expect_word("CHECK")?;
        let expression = self.stored_expression()?;
        let enforced = !self.accept_words(&["NOT", "ENFORCED"]);
        if enforced {
            self.accept_word("ENFORCED");
        }
        Ok(CheckDefinition { name, expression, enforced })
    }
}

/// Finds the `||` operators that concatenate strings, as they do only under PIPES_AS_CONCAT, and the positions of the
/// NOTs that bind like `!`, as they do under HIGH_NOT_PRECEDENCE.
fn mode_dependent_operators(
    text: &str,
    mode: LexMode,
    is_query: bool,
) -> Parsed<(Vec<Concatenation>, Vec<u32>)> {
    let is_moded = mode.high_not_precedence || mode.pipes_as_concat && text.contains("||");
    if !is_moded {
        return Ok(Default::default());
    }
    let mut parser = Parser::new(text, mode, ParseLimits::default())?;
    match is_query {
        true => drop(parser.query()?),
        false => drop(parser.expression()?),
    }
    Ok((parser.concatenations, parser.high_negations))
}

/// The number of leading tokens that qualify a column with the table's name, and possibly its database's: each name
/// and the dot after it.
fn qualifier_at(
    text: &str,
    mode: LexMode,
    tokens: &[Token],
    (database, table): &(Option<String>, String),
) -> usize {
    let name = |at: usize| {
        let token = tokens.get(at)?;
        let source = token.span.text(text);
        match token.kind {
            TokenKind::Word => Some(source.to_owned()),
            TokenKind::QuotedIdent => Some(unquote(source, mode)),
            _ => None,
        }
    };
    let point = |at: usize| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Symbol(Symbol::Dot));
    let is = |at: usize, wanted: &str| name(at).is_some_and(|name| name == wanted) && point(at + 1);
    if is(0, table) && name(2).is_some() && !point(3) {
        return 2;
    }
    let in_database = database.as_ref().map_or_else(|| name(0).is_some() && point(1), |known| is(0, known));
    if in_database && is(2, table) && name(4).is_some() { 4 } else { 0 }
}

/// The text of an expression or query that means the same under an empty `sql_mode`: CONCAT in place of a `||` that
/// concatenates, `!` in place of a NOT that binds like it, and FLOAT in place of a REAL that means it. `None` if the
/// text contains something other than what a row determines. The name of `table` before its columns is left out.
///
/// # Errors
/// 1064 and related errors if the text cannot be parsed.
pub(super) fn canonical(
    text: &str,
    mode: LexMode,
    is_query: bool,
    table: Option<&(Option<String>, String)>,
) -> Parsed<Option<String>> {
    let (concatenations, high_negations) = mode_dependent_operators(text, mode, is_query)?;
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    let tokens = tokenize(text, mode);
    let mut qualifier = 0;
    for (at, token) in tokens.iter().copied().enumerate() {
        if let Some(table) = table
            && qualifier == 0
        {
            qualifier = qualifier_at(text, mode, tokens.get(at..).unwrap_or_default(), table);
        }
        if qualifier > 0 {
            // The text after the qualifier takes its place.
            qualifier -= 1;
            end = if out.is_empty() || token.span.start > end { end } else { token.span.end };
            continue;
        }
        if concatenations.iter().any(|of| of.operators.binary_search(&token.span.start).is_ok()) {
            out.push(',');
            end = token.span.end;
            continue;
        }
        if out.is_empty() || token.span.start > end {
            out.push_str(if out.is_empty() { "" } else { " " });
        }
        let begun = concatenations.iter().filter(|of| of.start == token.span.start);
        out.push_str(&"concat(".repeat(begun.count()));
        end = token.span.end;
        let source = token.span.text(text);
        match token.kind {
            TokenKind::End => break,
            TokenKind::Parameter | TokenKind::UserVariable => return Ok(None),
            TokenKind::Word if high_negations.contains(&token.span.start) => out.push('!'),
            TokenKind::Word if !is_query && source.eq_ignore_ascii_case("SELECT") => return Ok(None),
            // REAL is reserved: it is a type, unless it is a name after a dot.
            TokenKind::Word
                if mode.real_as_float && source.eq_ignore_ascii_case("REAL") && !out.ends_with('.') =>
            {
                out.push_str("float");
            }
            TokenKind::QuotedIdent => {
                out.push_str(&format!("`{}`", unquote(source, mode).replace('`', "``")));
            }
            TokenKind::String => {
                let value = unquote(source, mode).replace('\\', "\\\\").replace('\'', "''");
                // Decoding kept `\%` and `\_` as they are, for LIKE.
                let value = value.replace("\\\\%", "\\%").replace("\\\\_", "\\_");
                out.push_str(&format!("'{value}'"));
            }
            _ => out.push_str(source),
        }
        out.push_str(&")".repeat(concatenations.iter().filter(|of| of.end == end).count()));
    }
    Ok(Some(out.trim_end().to_owned()))
}
