//! Who may connect, and what each may do.
//!
//! Accounts and what is granted to them are rows of MySQL's grant tables in the database `mysql`, so that they are as durable as anything
//! else. In memory there is one `AccountSet` of all of them, which is replaced as a whole when a statement has written another one; a
//! number that goes up with it tells sessions to look again.
//!
//! | module | is |
//! |---|---|
//! | [`password`] | how passwords are kept, and checked |
//! | `host` | the host parts of accounts |
//! | `set` | accounts and grants as they are at one moment |
//! | `stored` | the same on disk |
//! | `grant_tables` | the tables that they are in |
//! | `access` | what one account may do |
//! | `authorize` | what each kind of statement asks for |
//! | `visible` | what a session may know of |
//! | `users` | CREATE, ALTER, DROP, RENAME USER and SET PASSWORD |
//! | `grants` | GRANT and REVOKE |
//! | `described` | SHOW PRIVILEGES |
//! | `shown` | SHOW GRANTS and SHOW CREATE USER, the privileges of information_schema |
//!
//! An account without a password may be used from this machine only (a Unix socket, a loopback address), whatever its host part says; with
//! one, from wherever that says. A program that embeds the database has no account and may do everything.
//!
//! Only a database that was just made gets an account, `root`, without a password. Where the accounts cannot be read, because a page is
//! damaged or a repair has lost them, everybody is *locked* out: the server turns them away, until root's password is set by a program that
//! has the database's files.

mod access;
mod described;
pub(crate) mod grant_tables;
mod host;
pub mod password;
pub(crate) mod set;
pub(crate) mod stored;
#[cfg(test)]
mod tests;

pub use access::Access;
pub(crate) use described::privileges;
pub use host::LOCALHOST;
pub(crate) use leafline_planner::definer_of;
pub use leafline_syntax::{AccountId, Privilege, Privileges, Reach};

use host::ClientHost;
use leafline_table::Engine;
use leafline_types::MysqlError;
use parking_lot::{Mutex, MutexGuard, RwLock};
use password::{AuthPlugin, StoredPassword};
use set::{Account, AccountSet, Secret};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The user of the first account.
pub const ROOT: &str = "root";

/// What unlocks the account.
const SET_PASSWORD: &str = "To set a password, open the database in the shell (`leafline DIR`) while no server has it open, and say: \
                            ALTER USER root IDENTIFIED BY '...'";

/// How a client is let in by the server. A program that embeds the database needs no account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Login {
    /// By this password. Where there is none, from this machine.
    Password(StoredPassword),
    /// Not at all: the account is locked, or what is on disk does not say which password it has. Why, and what to do about it.
    Locked(String),
}

impl Login {
    /// Whether everybody on this machine is let in.
    pub fn is_without_password(&self) -> bool {
        matches!(self, Login::Password(password) if password.is_none())
    }
}

/// The accounts, in memory as on disk.
pub struct Accounts {
    engine: Arc<Engine>,
    /// `default_authentication_plugin`.
    pub(crate) default_plugin: AuthPlugin,
    current: RwLock<Arc<AccountSet>>,
    /// How often they have changed; it goes up after `current` was replaced.
    version: AtomicU64,
    changing: Mutex<()>,
}

impl Accounts {
    /// Reads the accounts, making the account `root`, without a password, in a database that was just made. Where they cannot be read they
    /// are locked, so that no damage opens a server to anybody.
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
        })
    }

    /// An account without a password that may do everything.
    pub(crate) fn administrator(plugin: AuthPlugin) -> Account {
        let mut account = Account::new(StoredPassword::none(plugin));
        account.global = Privileges::EVERYTHING;
        account.grantable = Privileges::DYNAMIC;
        account
    }

    /// The account that lets in a client at `host` (`localhost`, or an address) who calls itself `user`, and how. `None` if there is none,
    /// or if it has no password and the client is not on this machine.
    pub fn login(&self, user: &str, host: &str) -> Option<(AccountId, Login)> {
        let set = self.set();
        if let Some(why) = &set.damage {
            let root = AccountId::root();
            return (user == root.user).then(|| (root, Login::Locked(why.clone())));
        }
        let client = ClientHost::new(host);
        let (id, account) = set.account_for(user, &client)?;
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

    /// Whether an account lets clients in by TLS alone.
    pub fn requires_tls(&self, account: &AccountId) -> bool {
        self.set().accounts.get(account).is_some_and(|account| account.requires_tls)
    }

    /// How many sessions an account may have at a time; `None` for any number.
    pub(crate) fn most_sessions(&self, account: &AccountId) -> Option<u32> {
        let set = self.set();
        let most = set.accounts.get(account)?.max_user_connections;
        (most > 0).then_some(most)
    }

    /// Why nobody can log in, if what is on disk does not say who may, and what to do about it.
    pub fn damage(&self) -> Option<String> {
        self.set().damage.clone()
    }

    /// The accounts as they are now.
    pub(crate) fn set(&self) -> Arc<AccountSet> {
        self.current.read().clone()
    }

    /// Whether there is an account for a view that names this one.
    pub(crate) fn has_definer(&self, named: &AccountId) -> bool {
        self.set().definer(named).is_some()
    }

    /// How often the accounts have changed.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What a client at `host` may do that was let in by `account` when the accounts had the number `admitted`; everything without an account.
    pub(crate) fn access(&self, account: Option<&AccountId>, host: &str, admitted: u64) -> Access {
        // A set that is newer than its number is looked at again.
        let version = self.version();
        match account {
            Some(account) => Access::of(version, &self.set(), account, (host, admitted)),
            None => Access::everything(version),
        }
    }

    /// Keeps others from changing accounts.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// Puts `set` in the place of the accounts that are there, on disk and then in memory.
    pub(crate) fn put(&self, set: AccountSet, _alone: &MutexGuard<'_, ()>) -> Result<(), MysqlError> {
        stored::write(&self.engine, &set)?;
        self.replace(set);
        Ok(())
    }

    /// Has what is on disk be in force. Where it has no accounts those that there were stay.
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
