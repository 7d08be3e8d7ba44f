//! Function calls: the general form, aggregates, and the forms with words between their arguments.

use super::ast::{
    AggregateFunction, CastKind, Expr, ExprKind, Ident, IntervalUnit, JsonResponse, JsonValue, Literal, Span,
    TrimSide,
};
use super::cursor::{Parsed, Parser};
use leafline_types::error::MysqlError;

use super::error::unsupported;
use super::lexer::{Symbol, TokenKind};
use super::reserved::is_reserved;
use super::window::window_function;

/// Functions whose parenthesis must follow without a gap; after a space the word is a plain name.
const NO_GAP: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "CAST",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "EXTRACT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MID",
    "MIN",
    "NOW",
    "POSITION",
    "SESSION_USER",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSDATE",
    "SYSTEM_USER",
    "TRIM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Words of [`NO_GAP`] that may also be the name of a function before a parenthesis with a gap.
const NO_GAP_NAMES: &[&str] = &["ADDDATE", "SESSION_USER", "SUBDATE", "SYSTEM_USER"];

/// Reserved words that name a function if a parenthesis follows.
const RESERVED_FUNCTIONS: &[&str] = &[
    "CHAR",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATABASE",
    "IF",
    "INSERT",
    "LEFT",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "MOD",
    "REPEAT",
    "REPLACE",
    "RIGHT",
    "SCHEMA",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

/// Functions that may be called without parentheses.
const BARE_FUNCTIONS: &[&str] = &[
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

impl Parser<'_> {
    /// Returns whether no gap separates the token `ahead` from the one before it, or whether the mode ignores gaps.
    pub(super) fn is_adjacent(&self, ahead: usize) -> bool {
        self.mode.ignore_space || ahead > 0 && self.token(ahead - 1).span.end == self.token(ahead).span.start
    }

    /// Returns whether the word `ahead` is a function's keyword rather than a name, because its parenthesis follows.
    pub(super) fn is_function_keyword_at(&self, ahead: usize) -> bool {
        self.is_symbol_at(ahead + 1, Symbol::LeftParen)
            && self.is_adjacent(ahead + 1)
            && NO_GAP.iter().any(|word| self.is_word_at(ahead, word))
            && !NO_GAP_NAMES.iter().any(|word| self.is_word_at(ahead, word))
    }

    /// Returns whether a function that needs no parentheses comes next.
    pub(super) fn is_bare_function(&self) -> bool {
        self.token(0).kind == TokenKind::Word && self.at_any_word(BARE_FUNCTIONS)
    }

    /// Parses a function call, whose name comes next.
    pub(super) fn call(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let token = self.token(0);
        if token.kind == TokenKind::QuotedIdent {
            let name = self.ident()?;
            return self.plain_call(start, name);
        }
        let word = self.text(token).to_ascii_uppercase();
        let parenthesis = self.is_symbol_at(1, Symbol::LeftParen);
        if parenthesis && let Some(function) = window_function(&word) {
            return self.window_call(start, function);
        }
        if word == "VALUES" && parenthesis {
            return self.inserted_value(start);
        }
        if word == "GROUPING" && parenthesis {
            self.advance();
            let keys = self.parenthesised_list(Self::expression)?;
            return self.built(start, ExprKind::Grouping(keys));
        }
        if is_reserved(&word) && !RESERVED_FUNCTIONS.contains(&word.as_str()) {
            return Err(self.syntax_error());
        }
        if parenthesis && NO_GAP.contains(&word.as_str()) && !self.is_adjacent(1) {
            self.advance();
            self.advance();
            return Err(match self.operand_may_start() {
                true => MysqlError::unknown_function(self.text(token)),
                false => self.syntax_error(),
            });
        }
        self.advance();
        let name = Ident { value: self.text(token).to_owned(), span: token.span };
        if !parenthesis {
            return self.built(start, ExprKind::Function { name, args: Vec::new() });
        }
        if let Some(function) = aggregate_name(&word) {
            return self.aggregate(start, function);
        }
        match word.as_str() {
            "GROUP_CONCAT" => self.group_concat(start),
            "JSON_VALUE" => self.json_value(start),
            "ST_COLLECT" => Err(unsupported(&format!("{word}()"))),
            "TRIM" | "EXTRACT" | "POSITION" | "SUBSTRING" | "SUBSTR" | "MID" | "DATE_ADD" | "ADDDATE"
            | "DATE_SUB" | "SUBDATE" | "TIMESTAMPADD" | "TIMESTAMPDIFF" | "GET_FORMAT" | "WEIGHT_STRING" => {
                self.special_call(start, name, &word)
            }
            _ => self.plain_call(start, name),
        }
    }

    /// Parses `VALUES(column)` of ON DUPLICATE KEY UPDATE.
    fn inserted_value(&mut self, start: Span) -> Parsed<Expr> {
        self.advance();
        self.expect_symbol(Symbol::LeftParen)?;
        let column = self.column_name()?;
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::InsertedValue(column))
    }

    /// Parses a call whose arguments have a grammar of their own.
    fn special_call(&mut self, start: Span, name: Ident, word: &str) -> Parsed<Expr> {
        let kind = match word {
            "TRIM" => self.trim()?,
            "EXTRACT" => self.extract()?,
            "POSITION" => self.position(name)?,
            "DATE_ADD" | "ADDDATE" => self.date_arithmetic(word, false)?,
            "DATE_SUB" | "SUBDATE" => self.date_arithmetic(word, true)?,
            "TIMESTAMPADD" => self.timestamp_add()?,
            "TIMESTAMPDIFF" => self.timestamp_diff(name)?,
            "GET_FORMAT" => self.get_format(name)?,
            "WEIGHT_STRING" => self.weight_string(name)?,
            _ => self.substring(name)?,
        };
        self.built(start, kind)
    }

    fn operand_may_start(&self) -> bool {
        !matches!(self.token(0).kind, TokenKind::Symbol(Symbol::Star | Symbol::Comma) | TokenKind::End)
    }

    /// Parses the arguments of a call whose name is already taken.
    fn plain_call(&mut self, start: Span, name: Ident) -> Parsed<Expr> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut args = Vec::new();
        if !self.at_symbol(Symbol::RightParen) {
            args = self.expressions()?;
        }
        if name.value.eq_ignore_ascii_case("CHAR") && self.accept_word("USING") {
            let charset = self.charset_or_collation_name()?;
            self.expect_symbol(Symbol::RightParen)?;
            return self.built(start, ExprKind::CharUsing { codes: args, charset });
        }
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::Function { name, args })
    }

    fn aggregate(&mut self, start: Span, function: AggregateFunction) -> Parsed<Expr> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut distinct = false;
        let mut args = Vec::new();
        let count = function == AggregateFunction::Count;
        let mut function = function;
        if count && self.accept_symbol(Symbol::Star) {
            function = AggregateFunction::CountAll;
        } else {
            let takes_distinct = count
                || matches!(
                    function,
                    AggregateFunction::Sum
                        | AggregateFunction::Avg
                        | AggregateFunction::Min
                        | AggregateFunction::Max
                );
            distinct = takes_distinct && self.accept_word("DISTINCT");
            if !distinct {
                self.accept_word("ALL");
            }
            args.push(self.expression()?);
            while count && distinct && self.accept_symbol(Symbol::Comma) {
                args.push(self.expression()?);
            }
            if function == AggregateFunction::JsonObject {
                self.expect_symbol(Symbol::Comma)?;
                args.push(self.expression()?);
            }
        }
        self.expect_symbol(Symbol::RightParen)?;
        self.maybe_over(start, ExprKind::Aggregate { function, distinct, args })
    }

    /// `GROUP_CONCAT([DISTINCT] x, .. [ORDER BY ..] [SEPARATOR '..'])`.
    fn group_concat(&mut self, start: Span) -> Parsed<Expr> {
        self.expect_symbol(Symbol::LeftParen)?;
        let distinct = self.accept_word("DISTINCT");
        let args = self.expressions()?;
        let order_by = self.order_by()?;
        let separator = match self.accept_word("SEPARATOR") {
            true => self.string()?,
            false => ",".to_owned(),
        };
        self.expect_symbol(Symbol::RightParen)?;
        self.maybe_over(start, ExprKind::GroupConcat { distinct, args, order_by, separator })
    }

    /// `JSON_VALUE(document, 'path' [RETURNING type] [response ON EMPTY] [response ON ERROR])`.
    fn json_value(&mut self, start: Span) -> Parsed<Expr> {
        self.expect_symbol(Symbol::LeftParen)?;
        let document = self.expression()?;
        self.expect_symbol(Symbol::Comma)?;
        let path = self.string()?;
        let returning = if self.accept_word("RETURNING") { Some(self.cast_target()?) } else { None };
        let (on_empty, on_error) = self.json_responses()?;
        self.expect_symbol(Symbol::RightParen)?;
        let value = JsonValue { document, path, returning, on_empty, on_error };
        self.built(start, ExprKind::JsonValue(Box::new(value)))
    }

    /// Parses `[response ON EMPTY] [response ON ERROR]`. A response that is not written is NULL.
    pub(super) fn json_responses(&mut self) -> Parsed<(JsonResponse, JsonResponse)> {
        let (mut on_empty, mut on_error) = (JsonResponse::Null, JsonResponse::Null);
        let Some(first) = self.json_response()? else { return Ok((on_empty, on_error)) };
        if !self.accept_word("EMPTY") {
            self.expect_word("ERROR")?;
            return Ok((on_empty, first));
        }
        on_empty = first;
        if let Some(second) = self.json_response()? {
            self.expect_word("ERROR")?;
            on_error = second;
        }
        Ok((on_empty, on_error))
    }

    /// `NULL ON`, `ERROR ON`, `DEFAULT literal ON`.
    fn json_response(&mut self) -> Parsed<Option<JsonResponse>> {
        let response = if self.accept_word("NULL") {
            JsonResponse::Null
        } else if self.accept_word("ERROR") {
            JsonResponse::Error
        } else if self.accept_word("DEFAULT") {
            if self.at_word("NULL") {
                return Err(self.syntax_error());
            }
            JsonResponse::Default(self.operand()?)
        } else {
            return Ok(None);
        };
        self.expect_word("ON")?;
        Ok(Some(response))
    }

    /// `GET_FORMAT(DATE | TIME | DATETIME | TIMESTAMP, standard)`.
    fn get_format(&mut self, name: Ident) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let span = self.span();
        let words = [("DATETIME", "DATETIME"), ("TIMESTAMP", "DATETIME"), ("DATE", "DATE"), ("TIME", "TIME")];
        let Some(&(_, what)) = words.iter().find(|(word, _)| self.at_word(word)) else {
            return Err(self.syntax_error());
        };
        self.advance();
        let value = what.to_owned();
        let what = ExprKind::Literal(Literal::String { first_part: value.len(), value, charset: None });
        self.expect_symbol(Symbol::Comma)?;
        let standard = self.expression()?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Function { name, args: vec![Expr { kind: what, span }, standard] })
    }

    /// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])`.
    fn weight_string(&mut self, name: Ident) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let start = self.span();
        let operand = self.expression()?;
        let mut args = Vec::new();
        if self.accept_word("AS") {
            let target = self.cast_target()?;
            match target.kind {
                CastKind::Char { length: Some(length @ 1..), charset: None, binary: false } => {
                    let count = Expr { kind: ExprKind::Literal(Literal::Integer(length)), span: target.span };
                    args.extend([operand, count]);
                }
                CastKind::Binary { length: Some(1..) } => {
                    args.push(self.built(start, ExprKind::Cast { operand: Box::new(operand), target })?);
                }
                _ => return Err(self.syntax_error_at(target.span)),
            }
        } else {
            args.push(operand);
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Function { name, args })
    }

    fn trim(&mut self) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let sides =
            [("LEADING", TrimSide::Leading), ("TRAILING", TrimSide::Trailing), ("BOTH", TrimSide::Both)];
        let side = sides.iter().find(|(word, _)| self.at_word(word)).map(|&(_, side)| side);
        let mut remove = None;
        let operand;
        if side.is_some() {
            self.advance();
            if !self.accept_word("FROM") {
                remove = Some(Box::new(self.expression()?));
                self.expect_word("FROM")?;
            }
            operand = Box::new(self.expression()?);
        } else {
            let first = Box::new(self.expression()?);
            if self.accept_word("FROM") {
                remove = Some(first);
                operand = Box::new(self.expression()?);
            } else {
                operand = first;
            }
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Trim { side: side.unwrap_or(TrimSide::Both), remove, operand })
    }

    fn extract(&mut self) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let unit = self.interval_unit()?;
        self.expect_word("FROM")?;
        let operand = Box::new(self.expression()?);
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Extract { unit, operand })
    }

    /// Parses `POSITION(a IN b)`, which is LOCATE(a, b).
    fn position(&mut self, name: Ident) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let needle = self.expression_from(super::expression::BIT_OR)?;
        self.expect_word("IN")?;
        let haystack = self.expression()?;
        self.expect_symbol(Symbol::RightParen)?;
        let name = Ident { value: "LOCATE".to_owned(), span: name.span };
        Ok(ExprKind::Function { name, args: vec![needle, haystack] })
    }

    fn substring(&mut self, name: Ident) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let mut args = vec![self.expression()?];
        if self.accept_word("FROM") {
            args.push(self.expression()?);
            if self.accept_word("FOR") {
                args.push(self.expression()?);
            }
        } else {
            self.expect_symbol(Symbol::Comma)?;
            args.push(self.expression()?);
            if self.accept_symbol(Symbol::Comma) {
                args.push(self.expression()?);
            }
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Function { name, args })
    }

    fn date_arithmetic(&mut self, word: &str, subtract: bool) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let operand = Box::new(self.expression()?);
        self.expect_symbol(Symbol::Comma)?;
        let days_allowed = matches!(word, "ADDDATE" | "SUBDATE");
        let (amount, unit) = if days_allowed && !self.at_word("INTERVAL") {
            (self.expression()?, IntervalUnit::Day)
        } else {
            self.expect_word("INTERVAL")?;
            (self.expression()?, self.interval_unit()?)
        };
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::DateArithmetic { operand, amount: Box::new(amount), unit, subtract })
    }

    fn timestamp_add(&mut self) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let unit = self.interval_unit()?;
        self.expect_symbol(Symbol::Comma)?;
        let amount = Box::new(self.expression()?);
        self.expect_symbol(Symbol::Comma)?;
        let operand = Box::new(self.expression()?);
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::DateArithmetic { operand, amount, unit, subtract: false })
    }

    fn timestamp_diff(&mut self, name: Ident) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let span = self.span();
        let unit = self.interval_unit()?;
        let mut args = vec![Expr { kind: ExprKind::Unit(unit), span }];
        for _ in 0..2 {
            self.expect_symbol(Symbol::Comma)?;
            args.push(self.expression()?);
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::Function { name, args })
    }
}

fn aggregate_name(upper: &str) -> Option<AggregateFunction> {
    Some(match upper {
        "COUNT" => AggregateFunction::Count,
        "SUM" => AggregateFunction::Sum,
        "AVG" => AggregateFunction::Avg,
        "MIN" => AggregateFunction::Min,
        "MAX" => AggregateFunction::Max,
        "STD" | "STDDEV" | "STDDEV_POP" => AggregateFunction::StddevPop,
        "STDDEV_SAMP" => AggregateFunction::StddevSamp,
        "VARIANCE" | "VAR_POP" => AggregateFunction::VarPop,
        "VAR_SAMP" => AggregateFunction::VarSamp,
        "BIT_AND" => AggregateFunction::BitAnd,
        "BIT_OR" => AggregateFunction::BitOr,
        "BIT_XOR" => AggregateFunction::BitXor,
        "JSON_ARRAYAGG" => AggregateFunction::JsonArray,
        "JSON_OBJECTAGG" => AggregateFunction::JsonObject,
        _ => return None,
    })
}
