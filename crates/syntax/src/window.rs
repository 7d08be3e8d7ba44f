//! OVER, the WINDOW clause, and the functions that have no meaning without them.

use super::ast::{
    Expr, ExprKind, Frame, FrameBound, FrameDistance, FrameUnit, NamedWindow, Over, Span, WindowCall,
    WindowFunction, WindowFunctionName, WindowSpec,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

/// The window function with this name, given in upper case.
pub(super) fn window_function(word: &str) -> Option<WindowFunctionName> {
    Some(match word {
        "ROW_NUMBER" => WindowFunctionName::RowNumber,
        "RANK" => WindowFunctionName::Rank,
        "DENSE_RANK" => WindowFunctionName::DenseRank,
        "PERCENT_RANK" => WindowFunctionName::PercentRank,
        "CUME_DIST" => WindowFunctionName::CumeDist,
        "NTILE" => WindowFunctionName::Ntile,
        "LAG" => WindowFunctionName::Lag,
        "LEAD" => WindowFunctionName::Lead,
        "FIRST_VALUE" => WindowFunctionName::FirstValue,
        "LAST_VALUE" => WindowFunctionName::LastValue,
        "NTH_VALUE" => WindowFunctionName::NthValue,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Parses a call of a function that needs OVER; its name comes next.
    pub(super) fn window_call(&mut self, start: Span, function: WindowFunctionName) -> Parsed<Expr> {
        use WindowFunctionName::{FirstValue, Lag, LastValue, Lead, NthValue, Ntile};
        self.advance();
        self.expect_symbol(Symbol::LeftParen)?;
        let mut args = Vec::new();
        match function {
            Ntile => args.push(self.stable_integer()?),
            Lag | Lead => {
                args.push(self.expression()?);
                if self.accept_symbol(Symbol::Comma) {
                    args.push(self.stable_integer()?);
                    if self.accept_symbol(Symbol::Comma) {
                        args.push(self.expression()?);
                    }
                }
            }
            FirstValue | LastValue => args.push(self.expression()?),
            NthValue => {
                args.push(self.expression()?);
                self.expect_symbol(Symbol::Comma)?;
                args.push(self.stable_integer()?);
            }
            _ => {}
        }
        self.expect_symbol(Symbol::RightParen)?;
        if function == NthValue && self.accept_word("FROM") {
            if self.at_word("LAST") {
                return self.refuse("FROM LAST");
            }
            self.expect_word("FIRST")?;
        }
        if matches!(function, Lag | Lead | FirstValue | LastValue | NthValue) {
            if self.at_words(&["IGNORE", "NULLS"]) {
                return self.refuse("IGNORE NULLS");
            }
            if self.accept_word("RESPECT") {
                self.expect_word("NULLS")?;
            }
        }
        if !self.at_word("OVER") {
            return Err(self.syntax_error());
        }
        self.over(start, WindowFunction::Own(function, args))
    }

    /// Parses a whole number, a parameter or a variable: a value that is the same for every row.
    fn stable_integer(&mut self) -> Parsed<Expr> {
        match self.token(0).kind {
            TokenKind::Integer | TokenKind::Parameter | TokenKind::UserVariable => self.operand(),
            _ => Err(self.syntax_error()),
        }
    }

    /// Returns the aggregate, with its window if OVER follows.
    pub(super) fn maybe_over(&mut self, start: Span, aggregate: ExprKind) -> Parsed<Expr> {
        if !self.at_word("OVER") {
            return self.built(start, aggregate);
        }
        let span = self.span_from(start);
        self.over(start, WindowFunction::Aggregate(Expr { kind: aggregate, span }))
    }

    fn over(&mut self, start: Span, function: WindowFunction) -> Parsed<Expr> {
        self.expect_word("OVER")?;
        let over = match self.at_symbol(Symbol::LeftParen) {
            true => Over::Spec(Box::new(self.nested(Self::window_spec)?)),
            false => Over::Name(self.ident()?),
        };
        self.built(start, ExprKind::Window(Box::new(WindowCall { function, over })))
    }

    /// `WINDOW name AS (..), ..`, or nothing.
    pub(super) fn window_clause(&mut self) -> Parsed<Vec<NamedWindow>> {
        if !self.accept_word("WINDOW") {
            return Ok(Vec::new());
        }
        self.comma_list(|p| {
            let name = p.ident()?;
            p.expect_word("AS")?;
            Ok(NamedWindow { name, spec: p.window_spec()? })
        })
    }

    fn window_spec(&mut self) -> Parsed<WindowSpec> {
        self.expect_symbol(Symbol::LeftParen)?;
        let base = if self.is_ident_at(0) { Some(self.ident()?) } else { None };
        let mut partition_by = Vec::new();
        if self.accept_word("PARTITION") {
            self.expect_word("BY")?;
            partition_by = self.expressions()?;
        }
        let order_by = self.order_by()?;
        let frame = self.frame()?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    fn frame(&mut self) -> Parsed<Option<Frame>> {
        let unit = if self.accept_word("ROWS") {
            FrameUnit::Rows
        } else if self.accept_word("RANGE") {
            FrameUnit::Range
        } else if self.at_word("GROUPS") {
            return self.refuse("GROUPS");
        } else {
            return Ok(None);
        };
        let (start, end) = if self.accept_word("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect_word("AND")?;
            (start, self.frame_bound()?)
        } else {
            let start = self.frame_bound()?;
            if matches!(start, FrameBound::Following(_) | FrameBound::UnboundedFollowing) {
                return Err(self.syntax_error());
            }
            (start, FrameBound::CurrentRow)
        };
        if self.at_word("EXCLUDE") {
            return self.refuse("EXCLUDE");
        }
        Ok(Some(Frame { unit, start, end }))
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.accept_words(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.accept_word("UNBOUNDED") {
            if self.accept_word("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let distance = if self.accept_word("INTERVAL") {
            let amount = self.expression()?;
            FrameDistance { amount, unit: Some(self.interval_unit()?) }
        } else {
            let plain = matches!(
                self.token(0).kind,
                TokenKind::Integer | TokenKind::Decimal | TokenKind::Float | TokenKind::Parameter
            );
            if !plain {
                return Err(self.syntax_error());
            }
            FrameDistance { amount: self.operand()?, unit: None }
        };
        if self.accept_word("PRECEDING") {
            return Ok(FrameBound::Preceding(distance));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(distance))
    }
}
