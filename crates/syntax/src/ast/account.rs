//! Accounts and their privileges.

use super::{Ident, ProgramKind, Span, TableName};
use crate::Privilege;

/// `'user'@'host'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName {
    /// The user; empty for `CURRENT_USER()`, which `current` marks.
    pub user: String,
    /// The host, `%` when not written.
    pub host: String,
    /// Whether it was written as CURRENT_USER, CURRENT_USER() or USER().
    pub current: bool,
    /// Its place in the text.
    pub span: Span,
}

/// An account, with the way it proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    /// The account.
    pub account: AccountName,
    /// The plugin of IDENTIFIED WITH.
    pub plugin: Option<Ident>,
    /// The secret after BY or AS.
    pub secret: Option<Secret>,
    /// REPLACE: the password that the account has.
    pub replaced: Option<String>,
}

/// The secret that an account proves itself with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// BY: a password, in clear text.
    Password(String),
    /// AS: a password in the form that `mysql.user` stores.
    Stored(String),
}

/// REQUIRE: what connections of an account need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    /// NONE.
    #[default]
    None,
    /// SSL: TLS.
    Tls,
    /// X509: TLS and a certificate that the server trusts.
    Certificate,
    /// SUBJECT, ISSUER and CIPHER.
    These(TlsDemands),
}

/// The parts of REQUIRE, at least one of which is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsDemands {
    /// SUBJECT: whose certificate the client needs.
    pub subject: Option<String>,
    /// ISSUER: who signed the client's certificate.
    pub issuer: Option<String>,
    /// CIPHER: the cipher of the connection.
    pub cipher: Option<String>,
}

/// The options of CREATE USER and ALTER USER, which apply to every account named. `None` leaves what the account has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserOptions {
    /// ACCOUNT LOCK: `Some(true)`, ACCOUNT UNLOCK: `Some(false)`.
    pub locked: Option<bool>,
    /// PASSWORD EXPIRE.
    pub expiry: Option<Expiry>,
    /// REQUIRE.
    pub requirement: Option<TlsRequirement>,
    /// WITH MAX_QUERIES_PER_HOUR; 0 allows any number.
    pub max_queries: Option<u32>,
    /// WITH MAX_UPDATES_PER_HOUR; 0 allows any number.
    pub max_updates: Option<u32>,
    /// WITH MAX_CONNECTIONS_PER_HOUR; 0 allows any number.
    pub max_connections: Option<u32>,
    /// WITH MAX_USER_CONNECTIONS; 0 allows any number.
    pub max_user_connections: Option<u32>,
    /// PASSWORD HISTORY: the number of earlier passwords that may not be used again.
    pub history: Option<OwnRule<u16>>,
    /// PASSWORD REUSE INTERVAL: the days after which an earlier password may be used again.
    pub reuse_days: Option<OwnRule<u16>>,
    /// PASSWORD REQUIRE CURRENT; OPTIONAL is `false`.
    pub require_current: Option<OwnRule<bool>>,
    /// FAILED_LOGIN_ATTEMPTS; 0 for no limit.
    pub failed_logins: Option<u16>,
    /// PASSWORD_LOCK_TIME.
    pub lock_time: Option<LockTime>,
}

/// When a password expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// PASSWORD EXPIRE: the password has expired.
    Now,
    /// PASSWORD EXPIRE NEVER.
    Never,
    /// PASSWORD EXPIRE DEFAULT: as `default_password_lifetime` says.
    Default,
    /// PASSWORD EXPIRE INTERVAL n DAY.
    Days(u16),
}

/// A rule that an account has of its own, or that a system variable sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnRule<T> {
    /// DEFAULT: the system variable.
    Default,
    /// The account's own.
    Own(T),
}

/// How long failed logins lock an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTime {
    /// That many days; 0 for not at all.
    Days(u16),
    /// UNBOUNDED: until it is unlocked.
    Unbounded,
}

/// The level of a GRANT or REVOKE: the objects that its privileges cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`.
    Global,
    /// `database.*`, or `*` for the current one. The name is a pattern.
    Database(Option<Ident>),
    /// `database.table`, or `table` of the current database.
    Table(TableName),
    /// `PROCEDURE database.name`, `FUNCTION database.name`.
    Routine(ProgramKind, TableName),
}

/// The privileges of GRANT or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeList {
    /// ALL PRIVILEGES.
    All,
    /// The privileges listed.
    These(Vec<NamedPrivilege>),
}

/// A privilege of GRANT or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPrivilege {
    /// The privilege.
    pub privilege: Privilege,
    /// The columns that it covers; empty for the whole level.
    pub columns: Vec<Ident>,
}

/// GRANT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The privileges granted.
    pub privileges: PrivilegeList,
    /// The level that they are granted at.
    pub level: GrantLevel,
    /// The accounts that receive them.
    pub accounts: Vec<AccountName>,
    /// WITH GRANT OPTION.
    pub with_grant_option: bool,
}

/// REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// The privileges revoked.
    pub privileges: PrivilegeList,
    /// The level that they are revoked at; `None` for `REVOKE ALL PRIVILEGES, GRANT OPTION`, which covers every
    /// level.
    pub level: Option<GrantLevel>,
    /// The accounts that lose them.
    pub accounts: Vec<AccountName>,
    /// IF EXISTS: a privilege that was never granted causes a warning, not an error.
    pub if_exists: bool,
    /// IGNORE UNKNOWN USER: an account that does not exist causes a warning, not an error.
    pub ignore_unknown: bool,
}
