//! Accounts: CREATE USER, ALTER USER, DROP USER, RENAME USER and account names.

use super::ast::{
    AccountName, Expiry, LockTime, OwnRule, Secret, StatementKind, TlsDemands, TlsRequirement, UserOptions,
    UserSpec,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::error::MysqlError;

/// The greatest FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const MOST_FAILURES: u16 = i16::MAX as u16;

impl Parser<'_> {
    pub(super) fn create_user(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.comma_list(Self::user_spec)?;
        let roles = match self.accept_words(&["DEFAULT", "ROLE"]) {
            true => self.role_names()?,
            false => Vec::new(),
        };
        let options = self.user_options("CREATE USER")?;
        Ok(StatementKind::CreateUser { if_not_exists, users, roles, options })
    }

    pub(super) fn alter_user(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let mut users = self.comma_list(Self::user_spec)?;
        if self.at_words(&["DEFAULT", "ROLE"]) {
            return match (users.pop(), users.is_empty()) {
                (Some(UserSpec { account, plugin: None, secret: None, .. }), true) => {
                    self.alter_default_role(if_exists, account)
                }
                _ => Err(self.syntax_error()),
            };
        }
        let options = self.user_options("ALTER USER")?;
        Ok(StatementKind::AlterUser { if_exists, users, options })
    }

    pub(super) fn drop_user(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let users = self.comma_list(Self::account_name)?;
        Ok(StatementKind::DropUser { if_exists, users })
    }

    /// RENAME USER.
    pub(super) fn rename_user(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let users = self.comma_list(|parser| {
            let from = parser.account_name()?;
            parser.expect_word("TO")?;
            Ok((from, parser.account_name()?))
        })?;
        Ok(StatementKind::RenameUser(users))
    }

    /// Parses the options after the accounts. Options that only restate the default are accepted, because SHOW CREATE
    /// USER writes them.
    fn user_options(&mut self, verb: &str) -> Parsed<UserOptions> {
        let mut options = UserOptions::default();
        if self.accept_word("REQUIRE") {
            options.requirement = Some(self.tls_requirement()?);
        }
        if self.accept_word("WITH") {
            self.user_limits(&mut options)?;
        }
        loop {
            if self.accept_word("ACCOUNT") {
                options.locked = Some(self.at_word("LOCK"));
                self.expect_any_word(&["LOCK", "UNLOCK"])?;
            } else if self.accept_words(&["PASSWORD", "EXPIRE"]) {
                options.expiry = Some(self.expiry()?);
            } else if self.accept_words(&["PASSWORD", "HISTORY"]) {
                options.history = Some(self.own_rule(|parser| parser.up_to(u16::MAX))?);
            } else if self.accept_words(&["PASSWORD", "REUSE", "INTERVAL"]) {
                options.reuse_days = Some(self.own_rule(Self::days)?);
            } else if self.accept_words(&["PASSWORD", "REQUIRE", "CURRENT"]) {
                options.require_current = Some(match self.accept_word("OPTIONAL") {
                    true => OwnRule::Own(false),
                    false if self.accept_word("DEFAULT") => OwnRule::Default,
                    false => OwnRule::Own(true),
                });
            } else if self.accept_word("FAILED_LOGIN_ATTEMPTS") {
                options.failed_logins = Some(self.up_to(MOST_FAILURES)?);
            } else if self.accept_word("PASSWORD_LOCK_TIME") {
                options.lock_time = Some(match self.accept_word("UNBOUNDED") {
                    true => LockTime::Unbounded,
                    false => LockTime::Days(self.up_to(MOST_FAILURES)?),
                });
            } else if self.at_any_word(&["COMMENT", "ATTRIBUTE"]) {
                return self.refuse(&format!("{verb} with attributes"));
            } else {
                return Ok(options);
            }
        }
    }

    /// Parses what follows REQUIRE.
    fn tls_requirement(&mut self) -> Parsed<TlsRequirement> {
        for (word, requirement) in [
            ("NONE", TlsRequirement::None),
            ("SSL", TlsRequirement::Tls),
            ("X509", TlsRequirement::Certificate),
        ] {
            if self.accept_word(word) {
                return Ok(requirement);
            }
        }
        let mut demands = TlsDemands::default();
        loop {
            let (name, demand) = match () {
                () if self.accept_word("SUBJECT") => ("SUBJECT", &mut demands.subject),
                () if self.accept_word("ISSUER") => ("ISSUER", &mut demands.issuer),
                () if self.accept_word("CIPHER") => ("CIPHER", &mut demands.cipher),
                () if demands == TlsDemands::default() => return Err(self.syntax_error()),
                () => return Ok(TlsRequirement::These(demands)),
            };
            if demand.replace(self.string()?).is_some() {
                return Err(MysqlError::duplicate_argument(name));
            }
            if self.at_word("AND") && self.next_is_demand() {
                self.advance();
            }
        }
    }

    /// Whether a demand follows the next word.
    fn next_is_demand(&self) -> bool {
        ["SUBJECT", "ISSUER", "CIPHER"].iter().any(|word| self.is_word_at(1, word))
    }

    /// Parses the limits after WITH.
    fn user_limits(&mut self, options: &mut UserOptions) -> Parsed<()> {
        let start = self.span();
        loop {
            let limit = match () {
                () if self.accept_word("MAX_USER_CONNECTIONS") => &mut options.max_user_connections,
                () if self.accept_word("MAX_QUERIES_PER_HOUR") => &mut options.max_queries,
                () if self.accept_word("MAX_UPDATES_PER_HOUR") => &mut options.max_updates,
                () if self.accept_word("MAX_CONNECTIONS_PER_HOUR") => &mut options.max_connections,
                () if self.span() == start => return Err(self.syntax_error()),
                () => return Ok(()),
            };
            *limit = Some(u32::try_from(self.integer()?).unwrap_or(u32::MAX));
        }
    }

    /// DEFAULT, or an account's own rule.
    fn own_rule<T>(&mut self, own: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<OwnRule<T>> {
        if self.accept_word("DEFAULT") { Ok(OwnRule::Default) } else { own(self).map(OwnRule::Own) }
    }

    /// An integer, which error 1064 bounds.
    fn up_to(&mut self, most: u16) -> Parsed<u16> {
        let start = self.span();
        let number = u16::try_from(self.integer()?).ok().filter(|number| *number <= most);
        number.ok_or_else(|| self.syntax_error_at(start))
    }

    fn days(&mut self) -> Parsed<u16> {
        let days = self.up_to(u16::MAX)?;
        self.expect_word("DAY")?;
        Ok(days)
    }

    fn expiry(&mut self) -> Parsed<Expiry> {
        Ok(match () {
            () if self.accept_word("INTERVAL") => {
                let start = self.span();
                match self.days()? {
                    0 => return Err(self.syntax_error_at(start)),
                    days => Expiry::Days(days),
                }
            }
            () if self.accept_word("NEVER") => Expiry::Never,
            () if self.accept_word("DEFAULT") => Expiry::Default,
            () => Expiry::Now,
        })
    }

    fn user_spec(&mut self) -> Parsed<UserSpec> {
        let account = self.account_name()?;
        let mut user = UserSpec { account, plugin: None, secret: None, replaced: None };
        if self.accept_word("IDENTIFIED") {
            if self.accept_word("WITH") {
                user.plugin = Some(self.ident_or_string()?);
                if self.accept_word("AS") {
                    user.secret = Some(Secret::Stored(self.string()?));
                } else if self.accept_word("BY") {
                    user.secret = Some(Secret::Password(self.password()?));
                }
            } else {
                self.expect_word("BY")?;
                user.secret = Some(Secret::Password(self.password()?));
            }
            if matches!(user.secret, Some(Secret::Password(_))) && self.accept_word("REPLACE") {
                user.replaced = Some(self.string()?);
            }
            if self.at_any_word(&["RETAIN", "AND", "INITIAL"]) {
                return self.refuse("changing a password with RETAIN or further factors");
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
