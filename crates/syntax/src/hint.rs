//! Optimizer hints: the grammar inside `/*+ .. */`.
//!
//! A mistake causes a warning, and the rest of the comment is ignored. The binder resolves the blocks, tables and
//! indexes that a hint names.

use super::ParseLimits;
use super::ast::{Hint, HintTable, HintTarget};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::Value;
use leafline_types::error::MysqlError;

/// Hints about tables.
const TABLE_HINTS: &[&str] = &[
    "BKA",
    "NO_BKA",
    "BNL",
    "NO_BNL",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "MERGE",
    "NO_MERGE",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "JOIN_FIXED_ORDER",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
];

/// Hints about indexes of a table.
const INDEX_HINTS: &[&str] = &[
    "INDEX",
    "NO_INDEX",
    "JOIN_INDEX",
    "NO_JOIN_INDEX",
    "ORDER_INDEX",
    "NO_ORDER_INDEX",
    "GROUP_INDEX",
    "NO_GROUP_INDEX",
    "NO_ICP",
    "MRR",
    "NO_MRR",
    "INDEX_MERGE",
    "NO_INDEX_MERGE",
    "SKIP_SCAN",
    "NO_SKIP_SCAN",
    "NO_RANGE_OPTIMIZATION",
];

/// Hints about the strategy that runs a subquery.
const SUBQUERY_HINTS: &[&str] = &["SEMIJOIN", "NO_SEMIJOIN", "SUBQUERY"];

/// The names of the strategies in such hints.
const STRATEGIES: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION", "INTOEXISTS"];

impl Parser<'_> {
    /// Parses the hints after a verb and returns those for the block. Keeps those for the whole statement in the
    /// parser.
    pub(super) fn hints(&mut self) -> Parsed<Vec<Hint>> {
        // Subqueries and the queries of WITH are deeper.
        let top = self.depth <= 1;
        self.blocks += 1;
        let token = self.token(0);
        if token.kind != TokenKind::Hint {
            return Ok(Vec::new());
        }
        self.advance();
        let sql = self.text(token);
        let text = sql.get(3..sql.len().saturating_sub(2)).unwrap_or("");
        let mut inside = Parser::new(text, self.mode, ParseLimits::default())?;
        let mut hints = Vec::new();
        while !inside.at_end() {
            match inside.hint(top) {
                Ok(Some(hint)) if hint.names_another_block() => inside.statement_hints.elsewhere.push(hint),
                Ok(found) => hints.extend(found),
                Err(error) if error.code == leafline_types::error::errno::ER_PARSE_ERROR => {
                    let rest = text.get(inside.span().start as usize..).unwrap_or("");
                    let line = 1 + sql.get(..sql.len() - rest.len()).unwrap_or("").matches('\n').count();
                    let message = format!("Optimizer hint syntax error near '{rest}' at line {line}");
                    inside.statement_hints.warnings.push(MysqlError::with_message(error.code, message));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let found = inside.statement_hints;
        let kept = &mut self.statement_hints;
        kept.max_execution_time = kept.max_execution_time.or(found.max_execution_time);
        kept.resource_group = kept.resource_group.take().or(found.resource_group);
        kept.variables.extend(found.variables);
        kept.elsewhere.extend(found.elsewhere);
        kept.warnings.extend(found.warnings);
        Ok(hints)
    }

    /// Parses one hint; `None` for a hint that applies to the whole statement.
    fn hint(&mut self, top: bool) -> Parsed<Option<Hint>> {
        let token = self.token(0);
        if token.kind != TokenKind::Word {
            return Err(self.syntax_error());
        }
        let name = self.text(token).to_ascii_uppercase();
        let known = |names: &[&str]| names.contains(&name.as_str());
        let is_any = known(TABLE_HINTS)
            || known(INDEX_HINTS)
            || known(SUBQUERY_HINTS)
            || known(&["QB_NAME", "MAX_EXECUTION_TIME", "SET_VAR", "RESOURCE_GROUP"]);
        if !is_any || !self.is_symbol_at(1, Symbol::LeftParen) {
            return Err(self.syntax_error());
        }
        self.advance();
        self.advance();
        let mut block = None;
        let about = match name.as_str() {
            "MAX_EXECUTION_TIME" => {
                self.execution_time(top)?;
                None
            }
            "SET_VAR" => {
                self.hinted_variable(top)?;
                None
            }
            "QB_NAME" => Some(HintTarget::BlockName(self.ident()?.value)),
            "RESOURCE_GROUP" => {
                self.hinted_group(top)?;
                None
            }
            _ => {
                if self.token(0).kind == TokenKind::UserVariable {
                    block = Some(self.user_variable()?);
                }
                Some(match () {
                    () if known(TABLE_HINTS) => HintTarget::Tables(self.hint_tables()?),
                    () if known(INDEX_HINTS) => {
                        let table = self.hint_table()?;
                        HintTarget::Indexes(table, self.names_in_parentheses(Self::hint_name)?)
                    }
                    () => HintTarget::Strategies(self.names_in_parentheses(Self::strategy)?),
                })
            }
        };
        self.expect_symbol(Symbol::RightParen)?;
        Ok(about.map(|about| Hint { name, block, about }))
    }

    /// Parses the names before the closing parenthesis, separated by commas; possibly none.
    fn names_in_parentheses<T>(&mut self, name: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        if self.at_symbol(Symbol::RightParen) { Ok(Vec::new()) } else { self.comma_list(name) }
    }

    fn hint_tables(&mut self) -> Parsed<Vec<HintTable>> {
        self.names_in_parentheses(Self::hint_table)
    }

    /// `table`, `table@block`.
    fn hint_table(&mut self) -> Parsed<HintTable> {
        let name = self.hint_name()?;
        let block = match self.token(0).kind {
            TokenKind::UserVariable => Some(self.user_variable()?),
            _ => None,
        };
        Ok(HintTable { name, block })
    }

    /// Parses a name, which may be a reserved word: `INDEX(t PRIMARY)`.
    fn hint_name(&mut self) -> Parsed<String> {
        self.any_word().map(|name| name.value)
    }

    fn strategy(&mut self) -> Parsed<String> {
        match STRATEGIES.iter().find(|known| self.at_word(known)) {
            Some(known) => {
                self.advance();
                Ok((*known).to_owned())
            }
            None => Err(self.syntax_error()),
        }
    }

    fn execution_time(&mut self, top: bool) -> Parsed<()> {
        let millis = self.integer()?;
        let kept = &mut self.statement_hints;
        if !top {
            kept.warnings.push(MysqlError::unsupported_max_execution_time());
        } else if kept.max_execution_time.is_some() {
            let hint = format_args!("MAX_EXECUTION_TIME({millis})");
            kept.warnings.push(MysqlError::conflicting_hint(hint));
        } else {
            kept.max_execution_time = Some(millis);
        }
        Ok(())
    }

    fn hinted_group(&mut self, top: bool) -> Parsed<()> {
        let group = self.ident()?.value;
        let kept = &mut self.statement_hints;
        if !top {
            let what = "RESOURCE_GROUP in another block than the first";
            kept.warnings.push(MysqlError::not_supported(what));
        } else if kept.resource_group.is_some() {
            let hint = format_args!("RESOURCE_GROUP({group})");
            kept.warnings.push(MysqlError::conflicting_hint(hint));
        } else {
            kept.resource_group = Some(group);
        }
        Ok(())
    }

    fn hinted_variable(&mut self, top: bool) -> Parsed<()> {
        let variable = self.ident()?.value.to_ascii_lowercase();
        self.expect_symbol(Symbol::Eq)?;
        let negative = self.accept_symbol(Symbol::Minus);
        let token = self.token(0);
        let value = match token.kind {
            TokenKind::Integer => {
                let number = self.integer()?;
                match (negative, i64::try_from(number)) {
                    (true, Ok(number)) => Value::Int(-number),
                    (false, _) => Value::UInt(number),
                    (true, Err(_)) => return Err(self.syntax_error_at(token.span)),
                }
            }
            TokenKind::String if !negative => Value::string(self.string()?),
            TokenKind::Word if !negative => sized(&self.any_word()?.value),
            _ => return Err(self.syntax_error()),
        };
        let kept = &mut self.statement_hints;
        if !top {
            let what = "SET_VAR in another block than the first";
            kept.warnings.push(MysqlError::not_supported(what));
        } else if kept.variables.iter().any(|(known, _)| *known == variable) {
            let hint = format_args!("SET_VAR({variable}=..)");
            kept.warnings.push(MysqlError::conflicting_hint(hint));
        } else {
            kept.variables.push((variable, value));
        }
        Ok(())
    }
}

/// The value of a hint's word: a number if it ends in a unit (`16M`), otherwise a text.
fn sized(word: &str) -> Value {
    let unit = match word.as_bytes().last() {
        Some(b'K' | b'k') => 1 << 10,
        Some(b'M' | b'm') => 1 << 20,
        Some(b'G' | b'g') => 1 << 30,
        _ => return Value::string(word),
    };
    let number = word.get(..word.len() - 1).and_then(|digits| digits.parse::<u64>().ok());
    match number.and_then(|number| number.checked_mul(unit)) {
        Some(number) => Value::UInt(number),
        None => Value::string(word),
    }
}
