//! Roles: accounts that are granted to others.

use super::AccountName;

/// The roles that a statement selects among those granted to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleSelection {
    /// NONE.
    None,
    /// DEFAULT: the account's default roles.
    Default,
    /// ALL: every role granted to the account but these.
    AllExcept(Vec<AccountName>),
    /// The roles listed.
    These(Vec<AccountName>),
}

/// A statement about roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleStatement {
    /// CREATE ROLE.
    Create {
        /// Whether IF NOT EXISTS was written.
        if_not_exists: bool,
        /// The roles.
        roles: Vec<AccountName>,
    },
    /// DROP ROLE.
    Drop {
        /// Whether IF EXISTS was written.
        if_exists: bool,
        /// The roles.
        roles: Vec<AccountName>,
    },
    /// GRANT of roles.
    Grant {
        /// The roles.
        roles: Vec<AccountName>,
        /// The accounts that receive them.
        to: Vec<AccountName>,
        /// WITH ADMIN OPTION: the accounts may grant and revoke the roles.
        with_admin_option: bool,
    },
    /// REVOKE of roles.
    Revoke {
        /// IF EXISTS: a role that does not exist or was not granted causes a warning.
        if_exists: bool,
        /// The roles.
        roles: Vec<AccountName>,
        /// The accounts that lose them.
        from: Vec<AccountName>,
        /// IGNORE UNKNOWN USER: an account that does not exist causes a warning.
        ignore_unknown: bool,
    },
    /// SET ROLE.
    Set(RoleSelection),
    /// SET DEFAULT ROLE, ALTER USER .. DEFAULT ROLE.
    SetDefault {
        /// IF EXISTS of ALTER USER.
        if_exists: bool,
        /// The roles; DEFAULT cannot be written.
        roles: RoleSelection,
        /// The accounts.
        accounts: Vec<AccountName>,
    },
}
