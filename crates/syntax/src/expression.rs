//! Expressions: operators by precedence (Pratt), after MySQL's grammar.
//!
//! The table goes from the loosest to the tightest operators. The operands of a rule have the powers named.
//!
//! | power | operators | operands |
//! |---|---|---|
//! | 1 | `OR`, `\|\|` | flat list |
//! | 2 | `XOR` | joined in pairs, and the pairs in pairs: XOR is associative, and the tree stays low |
//! | 3 | `AND`, `&&` | flat list |
//! | 4 | `NOT x` | a condition; only where a condition may stand: `1 = NOT 0` is an error, as in MySQL |
//! | 5 | `IS [NOT] TRUE, FALSE, UNKNOWN` | does not chain |
//! | 6 | `= <=> <> < <= > >=`, `IS [NOT] NULL` | left-associative |
//! | 7 | `[NOT] IN, BETWEEN, LIKE, REGEXP`, `SOUNDS LIKE` | operands of 8 and up; does not chain |
//! | 8..13 | `\|`, `&`, `<< >>`, `+ -`, `* / % DIV MOD`, `^` | left-associative |
//! | 14 | `\|\|` under PIPES_AS_CONCAT | flat list |
//! | 15 | `- + ~ !`, `BINARY x` | prefix |
//! | 16 | `COLLATE` | postfix |
//!
//! A rule of some power can continue an expression only if its left operand may be of the power of the rule that
//! built the expression: `a LIKE b + c` ends before `+`.

use super::ast::{BinaryOp, CastKind, CastTarget, CompareOp, Expr, ExprKind, Ident, IsTest, Span, UnaryOp};
use super::cursor::{Concatenation, Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

pub(super) const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const IS: u8 = 5;
const COMPARE: u8 = 6;
const PREDICATE: u8 = 7;
pub(super) const BIT_OR: u8 = 8;
const CONCAT: u8 = 14;
const PREFIX: u8 = 15;
const COLLATE: u8 = 16;

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.expression_from(OR)
    }

    /// Expressions separated by commas.
    pub(super) fn expressions(&mut self) -> Parsed<Vec<Expr>> {
        self.comma_list(Self::expression)
    }

    /// An expression whose operators outside parentheses are of at least this power.
    pub(super) fn expression_from(&mut self, least: u8) -> Parsed<Expr> {
        self.enter()?;
        let outer = std::mem::take(&mut self.height);
        let result = self.operators(least);
        self.leave();
        self.height = self.height.max(outer);
        result
    }

    fn operators(&mut self, least: u8) -> Parsed<Expr> {
        let start = self.span();
        // The power of the last rule applied; a tighter rule cannot continue it.
        let mut ceiling = COLLATE;
        let mut left = if self.at_word("NOT") && !self.mode.high_not_precedence {
            ceiling = NOT;
            self.negation(least)?
        } else {
            self.prefixed()?
        };
        while let Some((power, chains)) = self.next_operator() {
            if power < least || power > ceiling {
                break;
            }
            left = self.apply(power, start, left)?;
            ceiling = if chains { power } else { power - 1 };
        }
        Ok(left)
    }

    /// `NOT condition`.
    fn negation(&mut self, least: u8) -> Parsed<Expr> {
        if least > NOT {
            return Err(self.syntax_error());
        }
        let start = self.span();
        self.advance();
        let operand = Box::new(self.expression_from(NOT)?);
        self.built(start, ExprKind::Not(operand))
    }

    /// The power of the operator that stands next, and whether it can follow itself.
    fn next_operator(&self) -> Option<(u8, bool)> {
        let token = self.token(0);
        let power = match token.kind {
            TokenKind::Symbol(symbol) => match symbol {
                Symbol::OrOr if self.mode.pipes_as_concat => CONCAT,
                Symbol::OrOr => OR,
                Symbol::AndAnd => AND,
                Symbol::Plus | Symbol::Minus => 11,
                _ if compare_op(symbol).is_some() => COMPARE,
                _ => binary_op(symbol)?.0,
            },
            TokenKind::Word => {
                let word = self.text(token);
                let is = |k: &str| word.eq_ignore_ascii_case(k);
                let predicate_at = |i: usize| {
                    ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"].iter().any(|w| self.is_word_at(i, w))
                };
                match word.as_bytes().first()?.to_ascii_uppercase() {
                    b'O' if is("OR") => OR,
                    b'X' if is("XOR") => XOR,
                    b'A' if is("AND") => AND,
                    b'D' if is("DIV") => 12,
                    b'M' if is("MOD") => 12,
                    b'C' if is("COLLATE") => COLLATE,
                    b'I' if is("IS") => return Some(self.is_power()),
                    b'N' if is("NOT") && predicate_at(1) => return Some((PREDICATE, false)),
                    b'S' if self.at_words(&["SOUNDS", "LIKE"]) => return Some((PREDICATE, false)),
                    b'M' if self.at_words(&["MEMBER", "OF"]) => return Some((PREDICATE, false)),
                    b'I' | b'B' | b'L' | b'R' if predicate_at(0) => return Some((PREDICATE, false)),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some((power, true))
    }

    /// `IS NULL` chains like a comparison, the other tests do not chain.
    fn is_power(&self) -> (u8, bool) {
        let what = if self.is_word_at(1, "NOT") { 2 } else { 1 };
        if self.is_word_at(what, "NULL") { (COMPARE, true) } else { (IS, false) }
    }

    /// Takes the operator that stands next and its right operand.
    fn apply(&mut self, power: u8, start: Span, left: Expr) -> Parsed<Expr> {
        let kind = match power {
            OR => return self.flat(start, left, OR),
            AND => return self.flat(start, left, AND),
            XOR => return self.exclusive(left),
            COMPARE | IS if self.at_word("IS") => self.is_test(left)?,
            COMPARE => self.comparison(left)?,
            PREDICATE => self.predicate(left)?,
            CONCAT => self.concatenation(start, left)?,
            COLLATE => {
                self.advance();
                let collation = self.charset_or_collation_name()?;
                ExprKind::Collate { operand: Box::new(left), collation }
            }
            _ => self.arithmetic(power, left)?,
        };
        self.built(start, kind)
    }

    /// `a || b || c` that puts strings together.
    fn concatenation(&mut self, start: Span, left: Expr) -> Parsed<ExprKind> {
        let name = Ident { value: "CONCAT".to_owned(), span: self.span() };
        let (mut args, mut operators) = (vec![left], Vec::new());
        while self.token(0).kind == TokenKind::Symbol(Symbol::OrOr) {
            operators.push(self.advance().span.start);
            args.push(self.expression_from(CONCAT + 1)?);
        }
        let end = self.span_from(start).end;
        self.concatenations.push(Concatenation { start: start.start, operators, end });
        Ok(ExprKind::Function { name, args })
    }

    /// `a XOR b XOR c`.
    fn exclusive(&mut self, left: Expr) -> Parsed<Expr> {
        let mut terms = vec![left];
        while self.accept_word("XOR") {
            terms.push(self.expression_from(XOR + 1)?);
        }
        loop {
            let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
            let mut left = terms.into_iter();
            while let Some(first) = left.next() {
                pairs.push(match left.next() {
                    Some(second) => {
                        let span = Span { start: first.span.start, end: second.span.end };
                        Expr { kind: ExprKind::Xor(Box::new(first), Box::new(second)), span }
                    }
                    None => first,
                });
            }
            self.grow()?;
            terms = pairs;
            if terms.len() <= 1 {
                return terms.pop().ok_or_else(|| self.syntax_error());
            }
        }
    }

    /// A node over what was parsed since `start`; the tree is one level taller.
    pub(super) fn built(&mut self, start: Span, kind: ExprKind) -> Parsed<Expr> {
        self.grow()?;
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// Collects `a OR b OR c` (or AND) in one node.
    fn flat(&mut self, start: Span, left: Expr, power: u8) -> Parsed<Expr> {
        let (symbol, word) = if power == OR { (Symbol::OrOr, "OR") } else { (Symbol::AndAnd, "AND") };
        let mut terms = vec![left];
        let by_symbol = !(power == OR && self.mode.pipes_as_concat);
        while by_symbol && self.accept_symbol(symbol) || self.accept_word(word) {
            terms.push(self.expression_from(power + 1)?);
        }
        self.built(start, if power == OR { ExprKind::Or(terms) } else { ExprKind::And(terms) })
    }

    fn is_test(&mut self, left: Expr) -> Parsed<ExprKind> {
        self.advance();
        let negated = self.accept_word("NOT");
        let tests = [
            ("NULL", IsTest::Null),
            ("TRUE", IsTest::True),
            ("FALSE", IsTest::False),
            ("UNKNOWN", IsTest::Unknown),
        ];
        let Some(&(_, test)) = tests.iter().find(|(word, _)| self.at_word(word)) else {
            return Err(self.syntax_error());
        };
        self.advance();
        Ok(ExprKind::Is { operand: Box::new(left), test, negated })
    }

    fn comparison(&mut self, left: Expr) -> Parsed<ExprKind> {
        let TokenKind::Symbol(symbol) = self.advance().kind else { return Err(self.syntax_error()) };
        let Some(op) = compare_op(symbol) else { return Err(self.syntax_error()) };
        let left = Box::new(left);
        if self.at_any_word(&["ALL", "ANY", "SOME"]) && self.is_symbol_at(1, Symbol::LeftParen) {
            let all = self.at_word("ALL");
            self.advance();
            let query = Box::new(self.parenthesised_query()?);
            return Ok(ExprKind::CompareQuantified { op, all, left, query });
        }
        let right = Box::new(self.expression_from(COMPARE + 1)?);
        Ok(ExprKind::Compare { op, left, right })
    }

    fn predicate(&mut self, left: Expr) -> Parsed<ExprKind> {
        let negated = self.accept_word("NOT");
        let operand = Box::new(left);
        let word = self.advance();
        let word = self.text(word).to_ascii_uppercase();
        match word.as_str() {
            "IN" => self.in_list(operand, negated),
            "BETWEEN" => {
                let low = Box::new(self.expression_from(BIT_OR)?);
                self.expect_word("AND")?;
                let high = Box::new(self.expression_from(PREDICATE)?);
                Ok(ExprKind::Between { operand, low, high, negated })
            }
            "LIKE" => {
                let pattern = Box::new(self.expression_from(CONCAT)?);
                let escape = match self.accept_word("ESCAPE") {
                    true => Some(Box::new(self.expression_from(CONCAT)?)),
                    false => None,
                };
                Ok(ExprKind::Like { operand, pattern, escape, negated })
            }
            "REGEXP" | "RLIKE" => {
                let pattern = Box::new(self.expression_from(BIT_OR)?);
                Ok(ExprKind::Regexp { operand, pattern, negated })
            }
            "SOUNDS" => {
                self.expect_word("LIKE")?;
                let right = self.expression_from(BIT_OR)?;
                let soundex = |arg: Expr| {
                    let name = Ident { value: "SOUNDEX".to_owned(), span: arg.span };
                    let span = arg.span;
                    Box::new(Expr { kind: ExprKind::Function { name, args: vec![arg] }, span })
                };
                Ok(ExprKind::Compare { op: CompareOp::Eq, left: soundex(*operand), right: soundex(right) })
            }
            _ => {
                self.expect_word("OF")?;
                let name = Ident { value: "MEMBER OF".to_owned(), span: self.span() };
                self.expect_symbol(Symbol::LeftParen)?;
                let array = self.expression()?;
                self.expect_symbol(Symbol::RightParen)?;
                Ok(ExprKind::Function { name, args: vec![*operand, array] })
            }
        }
    }

    fn in_list(&mut self, operand: Box<Expr>, negated: bool) -> Parsed<ExprKind> {
        if self.is_symbol_at(0, Symbol::LeftParen) && self.starts_query(1) {
            let query = Box::new(self.parenthesised_query()?);
            return Ok(ExprKind::InQuery { operand, query, negated });
        }
        self.in_expressions(operand, negated)
    }

    fn in_expressions(&mut self, operand: Box<Expr>, negated: bool) -> Parsed<ExprKind> {
        self.expect_symbol(Symbol::LeftParen)?;
        let first = self.expression()?;
        self.in_list_behind(operand, negated, first)
    }

    /// The rest of what stands behind IN, from behind its first expression.
    fn in_list_behind(&mut self, operand: Box<Expr>, negated: bool, first: Expr) -> Parsed<ExprKind> {
        let mut list = vec![first];
        if self.accept_symbol(Symbol::Comma) {
            list.append(&mut self.expressions()?);
        } else if list.first().is_some_and(|first| matches!(first.kind, ExprKind::Subquery(_))) {
            return self.in_query_behind(operand, negated, list);
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::InList { operand, list, negated })
    }

    /// `((SELECT 1) UNION (SELECT 2))`: the inner parenthesis was the first operand of the query.
    fn in_query_behind(&mut self, operand: Box<Expr>, negated: bool, list: Vec<Expr>) -> Parsed<ExprKind> {
        let first = list.into_iter().find_map(|first| match first.kind {
            ExprKind::Subquery(query) => Some(query),
            _ => None,
        });
        let Some(first) = first else { return Err(self.syntax_error()) };
        let query = Box::new(self.query_after(*first)?);
        self.expect_symbol(Symbol::RightParen)?;
        Ok(ExprKind::InQuery { operand, query, negated })
    }

    fn arithmetic(&mut self, power: u8, left: Expr) -> Parsed<ExprKind> {
        let token = self.advance();
        let op = match token.kind {
            TokenKind::Symbol(symbol) => binary_op(symbol).map(|(_, op)| op),
            _ if self.text(token).eq_ignore_ascii_case("DIV") => Some(BinaryOp::IntegerDivide),
            _ => Some(BinaryOp::Modulo),
        };
        let Some(op) = op else { return Err(self.syntax_error_at(token.span)) };
        let additive = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
        if additive && self.at_word("INTERVAL") && !self.at_interval_function() {
            let subtract = op == BinaryOp::Subtract;
            self.advance();
            let amount = Box::new(self.expression()?);
            let unit = self.interval_unit()?;
            return Ok(ExprKind::DateArithmetic { operand: Box::new(left), amount, unit, subtract });
        }
        let right = Box::new(self.expression_from(power + 1)?);
        Ok(ExprKind::Binary { op, left: Box::new(left), right })
    }

    /// Prefix operators and what they stand before.
    fn prefixed(&mut self) -> Parsed<Expr> {
        match self.token(0).kind {
            TokenKind::Symbol(Symbol::Minus) => self.unary(UnaryOp::Minus),
            TokenKind::Symbol(Symbol::Plus) => self.plus(),
            TokenKind::Symbol(Symbol::Tilde) => self.unary(UnaryOp::BitNot),
            TokenKind::Symbol(Symbol::Bang) => self.bang(),
            TokenKind::Word if self.at_word("BINARY") => self.binary_prefix(),
            TokenKind::Word if self.mode.high_not_precedence && self.at_word("NOT") => {
                self.high_negations.push(self.span().start);
                self.bang()
            }
            _ => self.operand(),
        }
    }

    fn unary(&mut self, op: UnaryOp) -> Parsed<Expr> {
        let start = self.advance().span;
        let operand = Box::new(self.expression_from(PREFIX)?);
        self.built(start, ExprKind::Unary { op, operand })
    }

    /// A plus says nothing, as in MySQL's grammar: `+0x10` is `0x10`.
    fn plus(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let Expr { kind, .. } = self.expression_from(PREFIX)?;
        self.built(start, kind)
    }

    /// `!`, or NOT under HIGH_NOT_PRECEDENCE.
    fn bang(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let operand = Box::new(self.expression_from(PREFIX)?);
        self.built(start, ExprKind::Not(operand))
    }

    fn binary_prefix(&mut self) -> Parsed<Expr> {
        let start = self.advance().span;
        let target = CastTarget { kind: CastKind::Binary { length: None }, span: start };
        let operand = Box::new(self.expression_from(PREFIX)?);
        self.built(start, ExprKind::Cast { operand, target })
    }
}

fn compare_op(symbol: Symbol) -> Option<CompareOp> {
    Some(match symbol {
        Symbol::Eq => CompareOp::Eq,
        Symbol::NullSafeEq => CompareOp::NullSafeEq,
        Symbol::Ne => CompareOp::Ne,
        Symbol::Lt => CompareOp::Lt,
        Symbol::Le => CompareOp::Le,
        Symbol::Gt => CompareOp::Gt,
        Symbol::Ge => CompareOp::Ge,
        _ => return None,
    })
}

fn binary_op(symbol: Symbol) -> Option<(u8, BinaryOp)> {
    Some(match symbol {
        Symbol::Pipe => (BIT_OR, BinaryOp::BitOr),
        Symbol::Ampersand => (9, BinaryOp::BitAnd),
        Symbol::ShiftLeft => (10, BinaryOp::ShiftLeft),
        Symbol::ShiftRight => (10, BinaryOp::ShiftRight),
        Symbol::Plus => (11, BinaryOp::Add),
        Symbol::Minus => (11, BinaryOp::Subtract),
        Symbol::Star => (12, BinaryOp::Multiply),
        Symbol::Slash => (12, BinaryOp::Divide),
        Symbol::Percent => (12, BinaryOp::Modulo),
        Symbol::Caret => (13, BinaryOp::BitXor),
        _ => return None,
    })
}
