//! Names of accounts.

use crate::quoted;
use std::fmt;

/// The name of an account: a user, and the pattern of the hosts that it is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccountId {
    /// The user; empty for anybody.
    pub user: String,
    /// The host pattern.
    pub host: String,
}

impl AccountId {
    /// `user`@`host`.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> AccountId {
        AccountId { user: user.into(), host: host.into() }
    }

    /// `root`@`%`.
    pub fn root() -> AccountId {
        AccountId::new("root", "%")
    }

    /// As `CURRENT_USER()` shows it.
    pub fn plain(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// As SHOW GRANTS quotes it.
    pub fn backquoted(&self) -> String {
        format!("{}@{}", quoted(&self.user), quoted(&self.host))
    }
}

/// As errors quote it.
impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host)
    }
}
