//! Names of accounts.

use crate::quoted;
use std::fmt;

/// The name of an account: a user, and a pattern for the hosts that the user connects from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccountId {
    /// The user; empty for any user.
    pub user: String,
    /// The host pattern.
    pub host: String,
}

impl AccountId {
    /// Makes the name `user`@`host`.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> AccountId {
        AccountId { user: user.into(), host: host.into() }
    }

    /// Makes the name `root`@`%`.
    pub fn root() -> AccountId {
        AccountId::new("root", "%")
    }

    /// The name as `CURRENT_USER()` shows it.
    pub fn plain(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// The name as SHOW GRANTS quotes it.
    pub fn backquoted(&self) -> String {
        format!("{}@{}", quoted(&self.user), quoted(&self.host))
    }
}

/// The name as errors quote it.
impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host)
    }
}
