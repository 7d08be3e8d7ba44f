//! GET DIAGNOSTICS.

use super::super::ast::{
    DiagnosticsCondition, DiagnosticsWanted, GetDiagnostics, StatementItem, StatementKind, VariableTarget,
};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::{Symbol, TokenKind};

impl Parser<'_> {
    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`.
    pub(crate) fn get_diagnostics(&mut self) -> Parsed<StatementKind> {
        self.expect_word("GET")?;
        let stacked = self.accept_word("STACKED");
        if !stacked {
            self.accept_word("CURRENT");
        }
        self.expect_word("DIAGNOSTICS")?;
        let wanted = match self.accept_word("CONDITION") {
            true => {
                let number = self.simple_value()?;
                let items = self.comma_list(|parser| {
                    let target = parser.assigned_target()?;
                    Ok((target, parser.condition_item()?))
                })?;
                DiagnosticsWanted::Condition { number, items }
            }
            false => DiagnosticsWanted::Statement(self.comma_list(|parser| {
                let target = parser.assigned_target()?;
                Ok((target, parser.statement_item()?))
            })?),
        };
        Ok(StatementKind::GetDiagnostics(GetDiagnostics { stacked, wanted }))
    }

    /// `target =`.
    fn assigned_target(&mut self) -> Parsed<VariableTarget> {
        let target = self.variable_target()?;
        self.expect_symbol(Symbol::Eq)?;
        Ok(target)
    }

    /// Parses `@name`, or the name of a variable of the program (error 1327).
    pub(crate) fn variable_target(&mut self) -> Parsed<VariableTarget> {
        match self.token(0).kind {
            TokenKind::UserVariable => self.user_variable().map(VariableTarget::User),
            _ => self.declared_variable().map(VariableTarget::Local),
        }
    }

    fn statement_item(&mut self) -> Parsed<StatementItem> {
        if self.accept_word("NUMBER") {
            return Ok(StatementItem::Number);
        }
        self.expect_word("ROW_COUNT")?;
        Ok(StatementItem::RowCount)
    }

    fn condition_item(&mut self) -> Parsed<DiagnosticsCondition> {
        if self.accept_word("RETURNED_SQLSTATE") {
            return Ok(DiagnosticsCondition::ReturnedSqlstate);
        }
        let (_, item) = self.signal_item()?;
        Ok(DiagnosticsCondition::Item(item))
    }
}
