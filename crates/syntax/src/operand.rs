//! Operands of expressions: literals, names, variables, parentheses, CASE, CAST and function calls.

use super::ast::{
    BytesForm, CastKind, CastTarget, ColumnName, Expr, ExprKind, Ident, IntervalUnit, Literal, Query, Span,
    TableName, TemporalKind, VariableScope,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, Token, TokenKind};
use super::literal::{bit_bytes, hex_bytes, unquote};
use super::reserved::is_reserved;

/// Character sets that may introduce a literal.
const INTRODUCERS: &[&str] = &[
    "_armscii8",
    "_ascii",
    "_big5",
    "_binary",
    "_cp1250",
    "_cp1251",
    "_cp1256",
    "_cp1257",
    "_cp850",
    "_cp852",
    "_cp866",
    "_cp932",
    "_dec8",
    "_eucjpms",
    "_euckr",
    "_gb18030",
    "_gb2312",
    "_gbk",
    "_geostd8",
    "_greek",
    "_hebrew",
    "_hp8",
    "_keybcs2",
    "_koi8r",
    "_koi8u",
    "_latin1",
    "_latin2",
    "_latin5",
    "_latin7",
    "_macce",
    "_macroman",
    "_sjis",
    "_swe7",
    "_tis620",
    "_ucs2",
    "_ujis",
    "_utf16",
    "_utf16le",
    "_utf32",
    "_utf8",
    "_utf8mb3",
    "_utf8mb4",
];

impl Parser<'_> {
    /// Parses an operand: everything that binds tighter than any operator.
    /// |
    /// This rule and the others between an expression and the one inside it only dispatch, because the less stack a
    /// rule takes, the deeper expressions can nest.
    pub(super) fn operand(&mut self) -> Parsed<Expr> {
        match self.token(0).kind {
            TokenKind::Symbol(Symbol::LeftParen) => self.parenthesised(),
            TokenKind::Word => self.word_operand(),
            TokenKind::QuotedIdent => self.named(),
            TokenKind::Symbol(Symbol::LeftBrace) => self.odbc_escape(),
            TokenKind::UserVariable => self.variable(),
            _ => self.constant_operand(),
        }
    }

    /// Literals, parameters and system variables.
    fn constant_operand(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.token(0).kind {
            TokenKind::Integer => {
                let digits = self.text(self.token(0));
                self.advance();
                let value = digits.parse().map(Literal::Integer);
                ExprKind::Literal(value.unwrap_or_else(|_| Literal::Decimal(digits.to_owned())))
            }
            TokenKind::Decimal => ExprKind::Literal(Literal::Decimal(self.taken_text())),
            TokenKind::Float => ExprKind::Literal(Literal::Float(self.taken_text())),
            TokenKind::String => self.string_literal(None)?,
            TokenKind::NationalString => self.string_literal(Some("utf8mb3"))?,
            TokenKind::Hex | TokenKind::Bit => ExprKind::Literal(self.bytes_literal()),
            TokenKind::Parameter if self.scope.is_none() => {
                self.advance();
                self.parameters += 1;
                ExprKind::Parameter(self.parameters - 1)
            }
            TokenKind::Symbol(Symbol::AtAt) => self.system_variable()?,
            _ => return Err(self.syntax_error()),
        };
        self.built(start, kind)
    }

    /// `@name`, `@name := value`.
    fn variable(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let name = self.user_variable()?;
        if self.accept_symbol(Symbol::Assign) {
            self.assigns_variables = true;
            let value = Box::new(self.expression()?);
            return self.built(start, ExprKind::AssignVariable { name, value });
        }
        self.built(start, ExprKind::UserVariable(name))
    }

    fn taken_text(&mut self) -> String {
        let token = self.advance();
        self.text(token).to_owned()
    }

    /// Parses a string literal and the adjacent ones after it; the first token comes next.
    fn string_literal(&mut self, charset: Option<&str>) -> Parsed<ExprKind> {
        let token = self.advance();
        let text = self.text(token);
        let quoted = if token.kind == TokenKind::NationalString { text.get(1..).unwrap_or("") } else { text };
        let mut value = unquote(quoted, self.mode);
        let first_part = value.len();
        while self.token(0).kind == TokenKind::String {
            value.push_str(&self.string()?);
        }
        if charset == Some("binary") {
            return Ok(ExprKind::Literal(Literal::Bytes {
                value: value.into_bytes(),
                form: BytesForm::String,
            }));
        }
        Ok(ExprKind::Literal(Literal::String { value, first_part, charset: charset.map(str::to_owned) }))
    }

    fn bytes_literal(&mut self) -> Literal {
        let token = self.advance();
        let text = self.text(token);
        match token.kind {
            TokenKind::Hex => Literal::Bytes { value: hex_bytes(text), form: BytesForm::Hex },
            _ => Literal::Bytes { value: bit_bytes(text), form: BytesForm::Bit },
        }
    }

    /// An operand that begins with an unquoted word.
    fn word_operand(&mut self) -> Parsed<Expr> {
        let parenthesis = self.is_symbol_at(1, Symbol::LeftParen);
        let next = self.token(1).kind;
        let word = self.text(self.token(0));
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        match word.as_bytes().first().map_or(0, u8::to_ascii_uppercase) {
            b'N' if is("NULL") => self.constant(Literal::Null),
            b'T' if is("TRUE") => self.constant(Literal::Boolean(true)),
            b'F' if is("FALSE") => self.constant(Literal::Boolean(false)),
            b'D' if is("DATE") && next == TokenKind::String => self.temporal_literal(TemporalKind::Date),
            b'T' if is("TIME") && next == TokenKind::String => self.temporal_literal(TemporalKind::Time),
            b'T' if is("TIMESTAMP") && next == TokenKind::String => {
                self.temporal_literal(TemporalKind::Timestamp)
            }
            b'C' if is("CASE") => self.case(),
            b'C' if is("CAST") && parenthesis && self.is_adjacent(1) => self.cast(),
            b'C' if is("CONVERT") && parenthesis => self.convert(),
            b'E' if is("EXISTS") => self.exists(),
            b'I' if is("INTERVAL") => self.interval_first(),
            b'D' if is("DEFAULT") => self.default_value(),
            b'R' if is("ROW") && parenthesis => self.row_constructor(),
            b'M' if is("MATCH") => self.match_against(),
            b'_' if matches!(next, TokenKind::String | TokenKind::Hex | TokenKind::Bit) => self.introduced(),
            _ => self.named(),
        }
    }

    /// Parses `_charset'..'`. A name with an underscore that is not a character set is just a name, even before a
    /// string.
    fn introduced(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let word = self.text(self.token(0)).to_ascii_lowercase();
        if !INTRODUCERS.contains(&word.as_str()) {
            return self.named();
        }
        self.advance();
        let kind = match self.token(0).kind {
            TokenKind::String => self.string_literal(word.get(1..))?,
            _ => ExprKind::Literal(match (self.bytes_literal(), word.get(1..)) {
                (Literal::Bytes { value, .. }, Some(charset)) if charset != "binary" => {
                    Literal::Encoded { value, charset: charset.to_owned() }
                }
                (bytes, _) => bytes,
            }),
        };
        self.built(start, kind)
    }

    fn constant(&mut self, literal: Literal) -> Parsed<Expr> {
        let start = self.advance().span;
        self.built(start, ExprKind::Literal(literal))
    }

    fn exists(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let query = Box::new(self.parenthesised_query()?);
        self.built(start, ExprKind::Exists(query))
    }

    fn row_constructor(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let items = self.parenthesised_list(Self::expression)?;
        self.built(start, ExprKind::Row(items))
    }

    fn temporal_literal(&mut self, kind: TemporalKind) -> Parsed<Expr> {
        let start = self.advance().span;
        let text = self.string()?;
        self.built(start, ExprKind::Literal(Literal::Temporal { kind, text }))
    }

    /// Parses ODBC's braces, as in `{d '2020-01-01'}`; around anything else they mean nothing.
    fn odbc_escape(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        let name = self.ident()?;
        let kind = match name.value.to_ascii_lowercase().as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let expr = match kind {
            Some(kind) if self.token(0).kind == TokenKind::String => {
                let text = self.string()?;
                self.built(start, ExprKind::Literal(Literal::Temporal { kind, text }))?
            }
            _ => self.expression()?,
        };
        self.expect_symbol(Symbol::RightBrace)?;
        Ok(Expr { span: self.span_from(start), ..expr })
    }

    /// Parses a parenthesis: an expression, a row or a query.
    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.starts_query(1) {
            return self.subquery();
        }
        self.advance();
        let first = self.expression()?;
        if self.at_symbol(Symbol::Comma) {
            return self.row(start, first);
        }
        if let ExprKind::Subquery(query) = first.kind {
            return self.query_in_parentheses(start, query);
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(first)
    }

    fn subquery(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let query = Box::new(self.parenthesised_query()?);
        self.built(start, ExprKind::Subquery(query))
    }

    /// Parses on in `((SELECT 1) UNION (SELECT 2))`, where the inner parenthesis was a query's first operand.
    fn query_in_parentheses(&mut self, start: Span, first: Box<Query>) -> Parsed<Expr> {
        let query = Box::new(self.query_after(*first)?);
        self.expect_symbol(Symbol::RightParen)?;
        Ok(Expr { kind: ExprKind::Subquery(query), span: self.span_from(start) })
    }

    /// Parses the rest of `(first, ..)` from the first comma on.
    fn row(&mut self, start: Span, first: Expr) -> Parsed<Expr> {
        self.expect_symbol(Symbol::Comma)?;
        let mut items = vec![first];
        items.extend(self.expressions()?);
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::Row(items))
    }

    fn case(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let operand = match self.at_word("WHEN") {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        let mut branches = Vec::new();
        self.expect_word("WHEN")?;
        loop {
            let condition = self.expression()?;
            self.expect_word("THEN")?;
            branches.push((condition, self.expression()?));
            if !self.accept_word("WHEN") {
                break;
            }
        }
        let otherwise = match self.accept_word("ELSE") {
            true => Some(Box::new(self.expression()?)),
            false => None,
        };
        self.expect_word("END")?;
        self.built(start, ExprKind::Case { operand, branches, otherwise })
    }

    fn cast(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let operand = Box::new(self.expression()?);
        if self.at_word("AT") {
            return self.refuse("CAST(... AT TIME ZONE ...)");
        }
        self.expect_word("AS")?;
        let target = self.cast_target()?;
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::Cast { operand, target })
    }

    fn convert(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let operand = Box::new(self.expression()?);
        let kind = if self.accept_word("USING") {
            ExprKind::ConvertUsing { operand, charset: self.charset_or_collation_name()? }
        } else {
            self.expect_symbol(Symbol::Comma)?;
            ExprKind::Cast { operand, target: self.cast_target()? }
        };
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, kind)
    }

    pub(super) fn cast_target(&mut self) -> Parsed<CastTarget> {
        let start = self.span();
        let token = self.token(0);
        if token.kind != TokenKind::Word {
            return Err(self.syntax_error());
        }
        let word = self.text(token).to_ascii_uppercase();
        self.advance();
        let kind = match word.as_str() {
            "SIGNED" | "UNSIGNED" => {
                self.accept_any_word(&["INTEGER", "INT"]);
                if word == "SIGNED" { CastKind::Signed } else { CastKind::Unsigned }
            }
            "DECIMAL" | "DEC" => {
                let (precision, scale) = self.precision_and_scale()?;
                CastKind::Decimal { precision, scale }
            }
            "FLOAT" => CastKind::Float { precision: self.optional_length()? },
            "DOUBLE" => {
                self.accept_word("PRECISION");
                CastKind::Double
            }
            "REAL" if self.mode.real_as_float => CastKind::Float { precision: None },
            "REAL" => CastKind::Double,
            "CHAR" | "CHARACTER" | "NCHAR" => {
                let length = self.optional_length()?;
                let binary = self.accept_word("BINARY");
                let charset = match self.optional_charset()?.or_else(|| self.charset_attribute()) {
                    None if word == "NCHAR" => Some(self.national_charset(start)),
                    charset => charset,
                };
                let binary = binary || self.accept_word("BINARY");
                CastKind::Char { length, charset, binary }
            }
            "BINARY" => CastKind::Binary { length: self.optional_length()? },
            "DATE" => CastKind::Date,
            "DATETIME" => CastKind::DateTime { fsp: self.optional_fraction()? },
            "TIME" => CastKind::Time { fsp: self.optional_fraction()? },
            "YEAR" => CastKind::Year,
            "JSON" => CastKind::Json,
            _ => return Err(self.syntax_error_at(token.span)),
        };
        if self.at_word("ARRAY") {
            return self.refuse("CAST ... AS ... ARRAY");
        }
        Ok(CastTarget { kind, span: self.span_from(start) })
    }

    /// Returns whether INTERVAL comes next as the function of that name, before a list of several values in
    /// parentheses.
    pub(super) fn at_interval_function(&self) -> bool {
        if !self.is_symbol_at(1, Symbol::LeftParen) {
            return false;
        }
        let mut open = 0usize;
        for ahead in 1.. {
            if self.is_end_at(ahead) {
                return false;
            } else if self.is_symbol_at(ahead, Symbol::LeftParen) {
                open += 1;
            } else if self.is_symbol_at(ahead, Symbol::RightParen) {
                open -= 1;
            } else if open == 1 && self.is_symbol_at(ahead, Symbol::Comma) {
                return true;
            }
            if open == 0 {
                return false;
            }
        }
        false
    }

    /// Parses INTERVAL at the start of an expression: `INTERVAL n unit + x`, or the function of that name.
    fn interval_first(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.at_interval_function() {
            self.advance();
            let args = self.parenthesised_list(Self::expression)?;
            let name = Ident { value: "INTERVAL".to_owned(), span: start };
            return self.built(start, ExprKind::Function { name, args });
        }
        self.advance();
        let amount = self.expression()?;
        let unit = self.interval_unit()?;
        self.expect_symbol(Symbol::Plus)?;
        let operand = Box::new(self.expression_from(super::expression::BIT_OR)?);
        self.built(
            start,
            ExprKind::DateArithmetic { operand, amount: Box::new(amount), unit, subtract: false },
        )
    }

    fn default_value(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        if !self.accept_symbol(Symbol::LeftParen) {
            return self.built(start, ExprKind::Default(None));
        }
        let column = self.column_name()?;
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::Default(Some(column)))
    }

    pub(super) fn interval_unit(&mut self) -> Parsed<IntervalUnit> {
        let token = self.token(0);
        let unit = match token.kind {
            TokenKind::Word => interval_unit(self.text(token)),
            _ => None,
        };
        let Some(unit) = unit else { return Err(self.syntax_error()) };
        self.advance();
        Ok(unit)
    }

    /// `@@[global.|session.]name[.part]`.
    fn system_variable(&mut self) -> Parsed<ExprKind> {
        let start = self.advance();
        let first = self.adjacent_name(start)?;
        let scope = match first.value.to_ascii_lowercase().as_str() {
            "global" => Some(VariableScope::Global),
            "session" | "local" => Some(VariableScope::Session),
            "persist" => Some(VariableScope::Persist),
            "persist_only" => Some(VariableScope::PersistOnly),
            _ => None,
        };
        let mut name = match scope {
            Some(_) => {
                self.expect_symbol(Symbol::Dot)?;
                self.ident_after_dot()?.value
            }
            None => first.value,
        };
        if self.accept_symbol(Symbol::Dot) {
            name = format!("{name}.{}", self.ident_after_dot()?.value);
        }
        Ok(ExprKind::SystemVariable { scope, name })
    }

    fn adjacent_name(&mut self, before: Token) -> Parsed<Ident> {
        if self.span().start != before.span.end {
            return Err(self.syntax_error());
        }
        self.ident_after_dot()
    }

    pub(super) fn column_name(&mut self) -> Parsed<ColumnName> {
        self.accept_symbol(Symbol::Dot); // `.column` is MySQL's old form of an unqualified name
        let first = self.ident()?;
        self.column_name_after(first)
    }

    /// Parses the rest of a column name, whose first part is already taken.
    pub(super) fn column_name_after(&mut self, first: Ident) -> Parsed<ColumnName> {
        if !self.accept_symbol(Symbol::Dot) {
            return Ok(ColumnName { database: None, table: None, column: first });
        }
        let second = self.ident_after_dot()?;
        if !self.at_symbol(Symbol::Dot) {
            self.check_trigger_row(&first)?;
        }
        if !self.accept_symbol(Symbol::Dot) {
            return Ok(ColumnName { database: None, table: Some(first), column: second });
        }
        let column = self.ident_after_dot()?;
        Ok(ColumnName { database: Some(first), table: Some(second), column })
    }

    /// Parses a name: a column or a function call.
    fn named(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is_symbol_at(1, Symbol::LeftParen) || self.is_bare_function() {
            return self.call();
        }
        let token = self.token(0);
        if token.kind == TokenKind::Word && is_reserved(self.text(token)) {
            return Err(self.syntax_error());
        }
        let column = self.column_name()?;
        if column.table.is_some() && column.database.is_none() && self.at_symbol(Symbol::LeftParen) {
            return self.stored_call_of(start, column);
        }
        let column = self.built(start, ExprKind::Column(column))?;
        if self.at_symbol(Symbol::Arrow) || self.at_symbol(Symbol::ArrowText) {
            return self.column_path(start, column);
        }
        Ok(column)
    }

    /// Parses `database.function(arguments)` after the name.
    fn stored_call_of(&mut self, start: Span, name: ColumnName) -> Parsed<Expr> {
        let call = self.stored_call(TableName { database: name.table, name: name.column })?;
        self.built(start, ExprKind::StoredCall(call))
    }

    /// Parses `column->'path'`, which is JSON_EXTRACT, or `column->>'path'`, which applies JSON_UNQUOTE to it.
    fn column_path(&mut self, start: Span, column: Expr) -> Parsed<Expr> {
        let arrow = self.advance();
        let unquoted = arrow.kind == TokenKind::Symbol(Symbol::ArrowText);
        let path_start = self.span();
        let value = self.string()?;
        let literal = Literal::String { first_part: value.len(), value, charset: None };
        let path = self.built(path_start, ExprKind::Literal(literal))?;
        let name = |name: &str| Ident { value: name.to_owned(), span: arrow.span };
        let args = vec![column, path];
        let part = self.built(start, ExprKind::Function { name: name("JSON_EXTRACT"), args })?;
        match unquoted {
            true => self.built(start, ExprKind::Function { name: name("JSON_UNQUOTE"), args: vec![part] }),
            false => Ok(part),
        }
    }
}

/// The interval unit of this name.
fn interval_unit(word: &str) -> Option<IntervalUnit> {
    use IntervalUnit::*;
    // ODBC's names begin with SQL_TSI_.
    let upper = word.to_ascii_uppercase();
    Some(match upper.strip_prefix("SQL_TSI_").unwrap_or(&upper) {
        "MICROSECOND" => Microsecond,
        "SECOND" => Second,
        "MINUTE" => Minute,
        "HOUR" => Hour,
        "DAY" => Day,
        "WEEK" => Week,
        "MONTH" => Month,
        "QUARTER" => Quarter,
        "YEAR" => Year,
        "SECOND_MICROSECOND" => SecondMicrosecond,
        "MINUTE_MICROSECOND" => MinuteMicrosecond,
        "MINUTE_SECOND" => MinuteSecond,
        "HOUR_MICROSECOND" => HourMicrosecond,
        "HOUR_SECOND" => HourSecond,
        "HOUR_MINUTE" => HourMinute,
        "DAY_MICROSECOND" => DayMicrosecond,
        "DAY_SECOND" => DaySecond,
        "DAY_MINUTE" => DayMinute,
        "DAY_HOUR" => DayHour,
        "YEAR_MONTH" => YearMonth,
        _ => return None,
    })
}
