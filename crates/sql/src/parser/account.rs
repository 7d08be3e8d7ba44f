//! Accounts: CREATE USER, ALTER USER, DROP USER and account names.

use super::ast::{AccountName, StatementKind, UserSpec};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn create_user(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.user_specs("CREATE USER")?;
        Ok(StatementKind::CreateUser { if_not_exists, users })
    }

    pub(super) fn alter_user(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let users = self.user_specs("ALTER USER")?;
        Ok(StatementKind::AlterUser { if_exists, users })
    }

    pub(super) fn drop_user(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let users = self.comma_list(Self::account_name)?;
        Ok(StatementKind::DropUser { if_exists, users })
    }

    fn user_specs(&mut self, verb: &str) -> Parsed<Vec<UserSpec>> {
        let users = self.comma_list(Self::user_spec)?;
        if self.at_any_word(&["REQUIRE", "WITH", "PASSWORD", "ACCOUNT", "COMMENT", "ATTRIBUTE", "DEFAULT"])
            || self.at_any_word(&["FAILED_LOGIN_ATTEMPTS", "PASSWORD_LOCK_TIME"])
        {
            return self.refuse(&format!("{verb} with account options"));
        }
        Ok(users)
    }

    fn user_spec(&mut self) -> Parsed<UserSpec> {
        let account = self.account_name()?;
        let mut user = UserSpec { account, plugin: None, password: None };
        if self.accept_word("IDENTIFIED") {
            if self.accept_word("WITH") {
                user.plugin = Some(self.ident_or_string()?);
                if self.at_word("AS") {
                    return self.refuse("IDENTIFIED WITH ... AS");
                }
                if self.accept_word("BY") {
                    user.password = Some(self.password()?);
                }
            } else {
                self.expect_word("BY")?;
                user.password = Some(self.password()?);
            }
            if self.at_any_word(&["REPLACE", "RETAIN", "AND"]) {
                return self.refuse("changing a password with REPLACE or RETAIN");
            }
        } else if self.at_any_word(&["DISCARD", "ADD", "MODIFY", "DROP"]) {
            return self.refuse("ALTER USER with several authentication methods");
        }
        Ok(user)
    }

    fn password(&mut self) -> Parsed<String> {
        if self.at_word("RANDOM") {
            return self.refuse("IDENTIFIED BY RANDOM PASSWORD");
        }
        self.string()
    }

    /// `'user'@'host'`, `user`, CURRENT_USER, USER().
    pub(super) fn account_name(&mut self) -> Parsed<AccountName> {
        let start = self.span();
        if self.at_word("CURRENT_USER") || (self.at_word("USER") && self.is_symbol_at(1, Symbol::LeftParen)) {
            self.advance();
            if self.accept_symbol(Symbol::LeftParen) {
                self.expect_symbol(Symbol::RightParen)?;
            }
            return Ok(AccountName {
                user: String::new(),
                host: String::new(),
                current: true,
                span: self.span_from(start),
            });
        }
        let user = self.ident_or_string()?.value;
        let mut host = "%".to_owned();
        if self.token(0).kind == TokenKind::UserVariable {
            host = self.user_variable()?.to_ascii_lowercase();
        }
        Ok(AccountName { user, host, current: false, span: self.span_from(start) })
    }
}
