//! GRANT and REVOKE.

use super::ast::{
    AccountName, Grant, GrantLevel, NamedPrivilege, PrivilegeList, ProgramKind, Revoke, StatementKind,
    TableName,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use crate::{Privilege, Privileges};
use leafline_types::MysqlError;

/// The maximum number of words in the name of a privilege.
const MOST_WORDS: usize = 3;

/// The first words of the static privileges.
const PRIVILEGE_FIRST_WORDS: &[&str] = &[
    "ALL",
    "ALTER",
    "CREATE",
    "DELETE",
    "DROP",
    "EVENT",
    "EXECUTE",
    "FILE",
    "GRANT",
    "INDEX",
    "INSERT",
    "LOCK",
    "PROCESS",
    "PROXY",
    "REFERENCES",
    "RELOAD",
    "REPLICATION",
    "SELECT",
    "SHOW",
    "SHUTDOWN",
    "SUPER",
    "TRIGGER",
    "UPDATE",
    "USAGE",
];

impl Parser<'_> {
    /// GRANT.
    pub(super) fn grant(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.names_roles("TO")? {
            return self.grant_roles();
        }
        let privileges = self.privilege_list()?;
        self.expect_word("ON")?;
        let level = self.grant_level()?;
        self.expect_word("TO")?;
        let accounts = self.grantees()?;
        let with_grant_option = self.accept_words(&["WITH", "GRANT", "OPTION"]);
        if self.at_word("AS") {
            return self.refuse("GRANT ... AS");
        }
        Ok(StatementKind::Grant(Box::new(Grant { privileges, level, accounts, with_grant_option })))
    }

    /// REVOKE.
    pub(super) fn revoke(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let if_exists = self.if_exists()?;
        let from_all_levels = self.accept_words(&["ALL", "PRIVILEGES"]) || self.accept_word("ALL");
        let (privileges, level) = if from_all_levels && self.accept_symbol(Symbol::Comma) {
            self.expect_words(&["GRANT", "OPTION"])?;
            (PrivilegeList::All, None)
        } else {
            if !from_all_levels && self.names_roles("FROM")? {
                return self.revoke_roles(if_exists);
            }
            let privileges = if from_all_levels { PrivilegeList::All } else { self.privilege_list()? };
            self.expect_word("ON")?;
            (privileges, Some(self.grant_level()?))
        };
        self.expect_word("FROM")?;
        let accounts = self.grantees()?;
        let ignore_unknown = self.accept_words(&["IGNORE", "UNKNOWN", "USER"]);
        let revoke = Revoke { privileges, level, accounts, if_exists, ignore_unknown };
        Ok(StatementKind::Revoke(Box::new(revoke)))
    }

    /// Returns whether roles are granted, as is the case without ON. The first words of privileges cannot name roles
    /// unless they are quoted.
    fn names_roles(&self, end: &str) -> Parsed<bool> {
        let mut begins = true;
        let mut wrong = None;
        for ahead in 0.. {
            if self.is_end_at(ahead) || self.is_word_at(ahead, "ON") {
                break;
            }
            if self.is_word_at(ahead, end) {
                return wrong.map_or(Ok(true), |at| Err(self.syntax_error_at(self.token(at).span)));
            }
            if begins && PRIVILEGE_FIRST_WORDS.iter().any(|word| self.is_word_at(ahead, word)) {
                wrong = wrong.or(Some(ahead));
            }
            begins = self.is_symbol_at(ahead, Symbol::Comma);
        }
        Ok(false)
    }

    fn grantees(&mut self) -> Parsed<Vec<AccountName>> {
        self.comma_list(Self::account_name)
    }

    fn privilege_list(&mut self) -> Parsed<PrivilegeList> {
        if self.accept_word("ALL") {
            self.accept_word("PRIVILEGES");
            return Ok(PrivilegeList::All);
        }
        if self.at_word("PROXY") {
            return self.refuse("PROXY");
        }
        let named = self.comma_list(Self::privilege)?;
        Ok(PrivilegeList::These(named.into_iter().flatten().collect()))
    }

    /// Parses a privilege; `None` for USAGE.
    fn privilege(&mut self) -> Parsed<Option<NamedPrivilege>> {
        let start = self.span();
        if self.accept_word("USAGE") {
            return Ok(None);
        }
        let mut words = Vec::new();
        while words.len() < MOST_WORDS
            && matches!(self.token(0).kind, TokenKind::Word | TokenKind::QuotedIdent)
            && !self.at_any_word(&["ON", "FROM", "TO"])
        {
            words.push(self.any_word()?.value.to_ascii_uppercase());
        }
        if words.is_empty() {
            return Err(self.syntax_error());
        }
        let Some(privilege) = Privilege::from_name(&words.join(" ")) else {
            // A single word may name a dynamic privilege of a component, but no component is installed.
            return Err(match words.len() {
                1 => MysqlError::syntax_error(),
                _ => self.syntax_error_at(start),
            });
        };
        let mut columns = Vec::new();
        if Privileges::OF_COLUMNS.has(privilege) && self.accept_symbol(Symbol::LeftParen) {
            columns = self.comma_list(Self::ident)?;
            self.expect_symbol(Symbol::RightParen)?;
        }
        Ok(Some(NamedPrivilege { privilege, columns }))
    }

    fn grant_level(&mut self) -> Parsed<GrantLevel> {
        for (word, kind) in [("PROCEDURE", ProgramKind::Procedure), ("FUNCTION", ProgramKind::Function)] {
            if self.accept_word(word) {
                return Ok(GrantLevel::Routine(kind, self.program_name()?));
            }
        }
        if self.is_word_at(0, "TABLE") {
            self.advance();
        }
        if self.accept_symbol(Symbol::Star) {
            if !self.accept_symbol(Symbol::Dot) {
                return Ok(GrantLevel::Database(None));
            }
            self.expect_symbol(Symbol::Star)?;
            return Ok(GrantLevel::Global);
        }
        let first = self.ident()?;
        if !self.accept_symbol(Symbol::Dot) {
            return Ok(GrantLevel::Table(TableName { database: None, name: first }));
        }
        if self.accept_symbol(Symbol::Star) {
            return Ok(GrantLevel::Database(Some(first)));
        }
        let name = self.ident_after_dot()?;
        Ok(GrantLevel::Table(TableName { database: Some(first), name }))
    }
}
