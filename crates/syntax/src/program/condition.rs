//! SIGNAL, RESIGNAL, and the values of conditions.

use super::super::ast::{ConditionValue, Expr, ExprKind, Signal, SignalItem, StatementKind};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::{Symbol, TokenKind};
use leafline_types::error::MysqlError;

const ITEMS: [(&str, SignalItem); 12] = [
    ("CLASS_ORIGIN", SignalItem::ClassOrigin),
    ("SUBCLASS_ORIGIN", SignalItem::SubclassOrigin),
    ("CONSTRAINT_CATALOG", SignalItem::ConstraintCatalog),
    ("CONSTRAINT_SCHEMA", SignalItem::ConstraintSchema),
    ("CONSTRAINT_NAME", SignalItem::ConstraintName),
    ("CATALOG_NAME", SignalItem::CatalogName),
    ("SCHEMA_NAME", SignalItem::SchemaName),
    ("TABLE_NAME", SignalItem::TableName),
    ("COLUMN_NAME", SignalItem::ColumnName),
    ("CURSOR_NAME", SignalItem::CursorName),
    ("MESSAGE_TEXT", SignalItem::MessageText),
    ("MYSQL_ERRNO", SignalItem::MysqlErrno),
];

impl Parser<'_> {
    /// Parses SIGNAL or RESIGNAL.
    pub(crate) fn signal(&mut self) -> Parsed<StatementKind> {
        let again = self.accept_word("RESIGNAL");
        if !again {
            self.expect_word("SIGNAL")?;
        }
        let (mut condition, mut declared) = (None, None);
        if self.at_word("SQLSTATE") {
            condition = Some(self.sqlstate()?);
        } else if self.is_ident_at(0) {
            let name = self.ident()?;
            let value = match &self.scope {
                Some(scope) => scope.condition(&name)?,
                None => return Err(MysqlError::undefined_condition(name.value)),
            };
            if !matches!(value, ConditionValue::State(_)) {
                return Err(MysqlError::signal_bad_condition());
            }
            declared = Some(value);
            condition = Some(ConditionValue::Name(name));
        } else if !again {
            return Err(self.syntax_error());
        }
        let items = match self.accept_word("SET") {
            true => self.signal_items()?,
            false => Vec::new(),
        };
        Ok(StatementKind::Signal(Box::new(Signal { again, condition, items, declared })))
    }

    fn signal_items(&mut self) -> Parsed<Vec<(SignalItem, Expr)>> {
        let mut seen = Vec::new();
        self.comma_list(|parser| {
            let (word, item) = parser.signal_item()?;
            if seen.contains(&item) {
                return Err(MysqlError::duplicate_signal_item(word));
            }
            seen.push(item);
            parser.expect_symbol(Symbol::Eq)?;
            Ok((item, parser.simple_value()?))
        })
    }

    /// Parses the name of an item of a condition.
    pub(super) fn signal_item(&mut self) -> Parsed<(&'static str, SignalItem)> {
        let found = ITEMS.iter().find(|(word, _)| self.accept_word(word));
        found.copied().ok_or_else(|| self.syntax_error())
    }

    /// Parses a literal, a variable or a name: the only values that SIGNAL and GET DIAGNOSTICS take.
    pub(super) fn simple_value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.at_symbol(Symbol::LeftParen) {
            return Err(self.syntax_error());
        }
        let value = self.operand()?;
        let is_simple = matches!(
            value.kind,
            ExprKind::Literal(_)
                | ExprKind::Column(_)
                | ExprKind::UserVariable(_)
                | ExprKind::SystemVariable { .. }
        );
        if is_simple { Ok(value) } else { Err(self.syntax_error_at(start)) }
    }

    /// Parses an error number or an SQLSTATE. Number 0 is error 1525.
    pub(super) fn condition_code(&mut self) -> Parsed<ConditionValue> {
        if self.token(0).kind != TokenKind::Integer {
            return self.sqlstate();
        }
        let number = self.integer()?;
        match u16::try_from(number) {
            Ok(number) if number > 0 => Ok(ConditionValue::Number(number)),
            _ => Err(MysqlError::wrong_value("CONDITION", number)),
        }
    }

    /// Parses `SQLSTATE [VALUE] 'xxxxx'`. A state that means success is error 1407, like one that is none.
    fn sqlstate(&mut self) -> Parsed<ConditionValue> {
        self.expect_word("SQLSTATE")?;
        self.accept_word("VALUE");
        let text = self.string()?;
        let valid = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        match <[u8; 5]>::try_from(text.as_bytes()) {
            Ok(state) if state.iter().all(valid) && !state.starts_with(b"00") => {
                Ok(ConditionValue::State(state))
            }
            _ => Err(MysqlError::bad_sqlstate(text)),
        }
    }
}
