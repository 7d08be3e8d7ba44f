//! Accounts and their rights.
//!
//! Accounts and grants are rows of MySQL's grant tables in the database `mysql`, so that they are as durable
//! as any other data. Memory holds one `AccountSet` of all of them. A statement that changes accounts writes
//! a new set and then replaces the set as a whole; a version number that grows with it tells sessions to look
//! again.
//!
//! | module | does |
//! |---|---|
//! | [`password`] | stores and checks passwords |
//! | `password_policy` | says which passwords the component `validate_password` accepts |
//! | `password_rules` | says which passwords may be set, and when they end |
//! | `usage` | counts uses per hour |
//! | `requirement` | checks what REQUIRE demands of connections |
//! | `restrictions` | holds partial revokes |
//! | `attributes` | converts rules and restrictions to and from the document of an account |
//! | `row_values` | converts values of rows |
//! | `user_rows` | converts accounts to and from rows |
//! | `host` | matches the host parts of accounts |
//! | `set` | holds accounts and grants at one moment |
//! | `roles` | holds the graph of roles |
//! | `role_rows` | converts it to and from rows |
//! | `stored` | reads and writes them on disk |
//! | `grant_tables` | defines their tables |
//! | `access` | computes the rights of one account |
//! | `described` | answers SHOW PRIVILEGES |
//!
//! The statements about accounts (CREATE USER, GRANT, SHOW GRANTS and so on) are in `statement::account`.
//!
//! An account without a password accepts clients of this machine only (a Unix socket, a loopback address),
//! whatever its host part says; with a password its host part decides. A program that embeds the database has
//! no account and may do everything.
//!
//! Only a new database gets an account, `root`, without a password. If the accounts cannot be read, because a
//! page is damaged or a repair has lost them, the server refuses all logins until a program with access to
//! the database's files sets root's password.

mod access;
mod attributes;
mod described;
pub(crate) mod grant_tables;
mod host;
pub mod password;
pub(crate) mod password_policy;
pub(crate) mod password_rules;
mod requirement;
pub(crate) mod restrictions;
mod role_rows;
#[cfg(test)]
mod role_tests;
pub(crate) mod roles;
mod row_values;
pub(crate) mod set;
pub(crate) mod stored;
#[cfg(test)]
mod tests;
pub(crate) mod usage;
mod user_rows;

pub use access::Access;
pub(crate) use described::privileges;
pub use host::LOCALHOST;
pub(crate) use leafline_planner::definer_of;
pub use leafline_syntax::{AccountId, Privilege, Privileges, Reach};
pub use password_policy::{PasswordPolicy, PolicyLevel};
pub use password_rules::{Blocked, SharedPasswordRules};
pub use requirement::{CertificateNames, TlsClient};
pub(crate) use roles::mandatory_roles;

use host::ClientHost;
use leafline_table::Engine;
use leafline_types::{DateTime, MysqlError};
use parking_lot::{Mutex, MutexGuard, RwLock};
use password::{AuthPlugin, StoredPassword};
use password_rules::FailedLogins;
use roles::{Active, RoleRules};
use set::{Account, AccountSet, Secret};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use usage::Usage;

/// Name of the first account.
pub const ROOT: &str = "root";

/// Advice for unlocking the accounts.
const SET_PASSWORD: &str = "To set a password, open the database in the shell (`leafline DIR`) while no server has it open, and say: \
                            ALTER USER root IDENTIFIED BY '...'";

/// How the server lets a client in. A program that embeds the database needs no login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Login {
    /// The client has to prove this password; an account without one accepts clients of this machine.
    Password(StoredPassword),
    /// No login is possible: the account is locked or its stored password cannot be read. Holds the reason
    /// and the remedy.
    Locked(String),
    /// Failed logins have locked the account.
    Blocked(Blocked),
}

impl Login {
    /// True if clients of this machine need no password.
    pub fn is_without_password(&self) -> bool {
        matches!(self, Login::Password(password) if password.is_none())
    }
}

/// The accounts, the same in memory as on disk.
pub struct Accounts {
    engine: Arc<Engine>,
    /// `default_authentication_plugin`.
    pub(crate) default_plugin: AuthPlugin,
    current: RwLock<Arc<AccountSet>>,
    /// Version of `current`; grows after `current` was replaced.
    version: AtomicU64,
    changing: Mutex<()>,
    /// `partial_revokes`.
    names_are_literal: AtomicBool,
    /// Uses per hour.
    pub(crate) usage: Usage,
    pub(crate) failed_logins: FailedLogins,
}

impl Accounts {
    /// Reads the accounts. A new database gets the account `root` without a password. If the accounts cannot
    /// be read, all are locked, so that damage opens no server to anybody.
    pub(crate) fn open(engine: &Arc<Engine>, default_plugin: AuthPlugin) -> Result<Accounts, MysqlError> {
        let damaged = |why: String| AccountSet { damage: Some(why), ..AccountSet::default() };
        let set = if stored::is_new(engine) {
            let root = Accounts::administrator(default_plugin);
            let set = AccountSet { accounts: [(AccountId::root(), root)].into(), ..AccountSet::default() };
            stored::make(engine, &set)?;
            set
        } else {
            match stored::read(engine) {
                Ok(Some(set)) if !set.accounts.is_empty() => set,
                Ok(Some(_)) => damaged(format!("mysql.user has lost its rows. {SET_PASSWORD}")),
                Ok(None) => damaged(format!("there is no table mysql.user. {SET_PASSWORD}")),
                Err(error) => damaged(format!(
                    "the accounts cannot be read ({error}). Run `leafline repair` on the database, then {SET_PASSWORD}"
                )),
            }
        };
        Ok(Accounts {
            engine: engine.clone(),
            default_plugin,
            current: RwLock::new(Arc::new(set)),
            version: AtomicU64::new(1),
            changing: Mutex::default(),
            names_are_literal: AtomicBool::new(false),
            usage: Usage::default(),
            failed_logins: FailedLogins::default(),
        })
    }

    /// A new account with all privileges and without a password.
    pub(crate) fn administrator(plugin: AuthPlugin) -> Account {
        let mut account = Account::new(StoredPassword::none(plugin));
        account.global = Privileges::EVERYTHING;
        account.grantable = Privileges::DYNAMIC;
        account
    }

    /// The account for a client at `host` (`localhost`, or an address) that names itself `user`, and how it
    /// logs in. `None` if no account matches, or if it has no password and the client is not on this machine.
    pub fn login(&self, user: &str, host: &str) -> Option<(AccountId, Login)> {
        let set = self.set();
        if let Some(why) = &set.damage {
            let root = AccountId::root();
            return (user == root.user).then(|| (root, Login::Locked(why.clone())));
        }
        let client = ClientHost::new(host);
        let (id, account) = set.account_for(user, &client)?;
        if let Some(blocked) = self.failed_logins.lock_of(id, &account.rules) {
            return Some((id.clone(), Login::Blocked(blocked)));
        }
        let login = match &account.secret {
            _ if account.locked => Login::Locked(format!("the account {id} is locked")),
            Secret::Password(password) if password.is_none() && !client.is_here() => return None,
            Secret::Password(password) => Login::Password(password.clone()),
            Secret::Unreadable(..) => {
                Login::Locked(format!("mysql.user holds no password hash for {id}. {SET_PASSWORD}"))
            }
        };
        Some((id.clone(), login))
    }

    /// Counts a login with a wrong password. Returns the lock of the account, if this one or an earlier one began it.
    pub fn login_failed(&self, account: &AccountId) -> Option<Blocked> {
        self.failed_logins.failed(account, &self.set().accounts.get(account)?.rules)
    }

    /// Forgets the failed logins of an account that has logged in.
    pub fn login_succeeded(&self, account: &AccountId) {
        self.failed_logins.forget(account);
    }

    /// Whether an account's password is too old.
    pub(crate) fn is_over(&self, account: &AccountId, shared: SharedPasswordRules, now: DateTime) -> bool {
        let set = self.set();
        set.accounts.get(account).is_some_and(|account| account.rules.is_over(account.changed, shared, now))
    }

    /// Counts a connection of the account.
    ///
    /// # Errors
    /// 1226 beyond its limit per hour.
    pub(crate) fn count_connection(&self, account: &AccountId) -> Result<(), MysqlError> {
        let limits = self.set().accounts.get(account).map(|account| account.limits);
        limits.map_or(Ok(()), |limits| self.usage.connection(account, limits))
    }

    /// True if a connection meets what REQUIRE demands of the account's connections; `None` for one without TLS.
    pub fn accept(&self, account: &AccountId, client: Option<&TlsClient>) -> bool {
        let set = self.set();
        set.accounts.get(account).is_none_or(|account| requirement::is_met(&account.requirement, client))
    }

    /// Limit of the account's sessions; `None` for no limit.
    pub(crate) fn most_sessions(&self, account: &AccountId) -> Option<u32> {
        let set = self.set();
        let most = set.accounts.get(account)?.max_user_connections;
        (most > 0).then_some(most)
    }

    /// Why all accounts are locked, and the remedy; `None` if they could be read.
    pub fn damage(&self) -> Option<String> {
        self.set().damage.clone()
    }

    /// The current accounts.
    pub(crate) fn set(&self) -> Arc<AccountSet> {
        self.current.read().clone()
    }

    /// True if some account can be the definer `named` of a view.
    pub(crate) fn has_definer(&self, named: &AccountId) -> bool {
        self.set().definer(named).is_some()
    }

    /// Number of changes of the accounts.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Rights of a client at `host` that logged in as `account` when the accounts had version `admitted`, with
    /// these roles; all rights without an account.
    pub(crate) fn access(
        &self,
        account: Option<&AccountId>,
        (host, admitted): (&str, u64),
        roles: (Active<'_>, &Arc<RoleRules>),
    ) -> Access {
        // The version is read first: if the set is newer than it, the session looks again.
        let version = self.version();
        match account {
            Some(account) => Access::of(version, &self.set(), account, (host, admitted), roles),
            None => Access::everything((version, &self.set()), roles),
        }
    }

    /// Locks the accounts against other changes.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// Whether an account has restrictions.
    pub(crate) fn have_restrictions(&self) -> bool {
        self.set().accounts.values().any(|account| !account.restrictions.is_empty())
    }

    /// Makes the names of databases in grants literal, or patterns (`partial_revokes`). Sessions look again.
    pub(crate) fn make_names_literal(&self, literal: bool) {
        if self.names_are_literal.swap(literal, Ordering::AcqRel) != literal {
            let _alone = self.alone();
            self.replace((*self.set()).clone());
        }
    }

    /// Replaces the accounts by `set`, on disk and then in memory.
    pub(crate) fn put(&self, set: AccountSet, _alone: &MutexGuard<'_, ()>) -> Result<(), MysqlError> {
        stored::write(&self.engine, &set)?;
        self.replace(set);
        Ok(())
    }

    /// Reloads the accounts from disk. If the tables are empty, the accounts in memory stay.
    pub(crate) fn reload(&self, _alone: &MutexGuard<'_, ()>) -> Result<(), MysqlError> {
        if let Some(set) = stored::read(&self.engine)?.filter(|set| !set.accounts.is_empty()) {
            self.replace(set);
        }
        Ok(())
    }

    fn replace(&self, mut set: AccountSet) {
        let number = self.version() + 1;
        for id in self.set().accounts.keys().filter(|id| !set.accounts.contains_key(*id)) {
            set.ended.insert(id.clone(), number);
        }
        *self.current.write() = Arc::new(set);
        self.version.fetch_add(1, Ordering::Release);
    }
}
