//! Accounts and their privileges.

use super::{Ident, Span, TableName};
use crate::Privilege;

/// `'user'@'host'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName {
    /// The user; empty for `CURRENT_USER()`, which `current` marks.
    pub user: String,
    /// The host, `%` when not written.
    pub host: String,
    /// CURRENT_USER, CURRENT_USER(), USER().
    pub current: bool,
    /// Where it stands.
    pub span: Span,
}

/// An account with how it is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    /// The account.
    pub account: AccountName,
    /// The plugin of IDENTIFIED WITH.
    pub plugin: Option<Ident>,
    /// What follows BY or AS.
    pub secret: Option<Secret>,
}

/// What an account is let in by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// BY: a password, in clear.
    Password(String),
    /// AS: what `mysql.user` keeps of one.
    Stored(String),
}

/// What CREATE USER and ALTER USER say of all their accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserOptions {
    /// ACCOUNT LOCK: `Some(true)`, ACCOUNT UNLOCK: `Some(false)`.
    pub locked: Option<bool>,
    /// PASSWORD EXPIRE.
    pub expiry: Option<Expiry>,
    /// REQUIRE SSL: `Some(true)`, REQUIRE NONE: `Some(false)`.
    pub requires_tls: Option<bool>,
    /// WITH MAX_USER_CONNECTIONS; 0 for any number.
    pub max_user_connections: Option<u32>,
}

/// When a password expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// PASSWORD EXPIRE: it has.
    Now,
    /// PASSWORD EXPIRE NEVER.
    Never,
    /// PASSWORD EXPIRE DEFAULT, which is never, too.
    Default,
}

/// What a GRANT or REVOKE is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`.
    Global,
    /// `database.*`, or `*` for the current one. The name is a pattern.
    Database(Option<Ident>),
    /// A table.
    Table(TableName),
}

/// The privileges of GRANT or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeList {
    /// ALL PRIVILEGES.
    All,
    /// These.
    These(Vec<Privilege>),
}

/// GRANT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What is granted.
    pub privileges: PrivilegeList,
    /// On what.
    pub level: GrantLevel,
    /// To whom.
    pub accounts: Vec<AccountName>,
    /// WITH GRANT OPTION.
    pub with_grant_option: bool,
}

/// REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// What is revoked.
    pub privileges: PrivilegeList,
    /// On what; `None` for `REVOKE ALL PRIVILEGES, GRANT OPTION`, which is of every level.
    pub level: Option<GrantLevel>,
    /// From whom.
    pub accounts: Vec<AccountName>,
    /// IF EXISTS: what was not granted is a warning.
    pub if_exists: bool,
    /// IGNORE UNKNOWN USER: accounts that are not there are a warning.
    pub ignore_unknown: bool,
}
