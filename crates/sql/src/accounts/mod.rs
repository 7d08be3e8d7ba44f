//! Who may connect: the account `root`, with or without a password.
//!
//! The account is a row of the table `mysql.user`, as in MySQL, so that it is as durable as anything else. Without a
//! password it may be used from this machine only (a Unix socket, a loopback address); with one, from wherever the server
//! listens. How a password is kept, and checked, is said in [`password`].
//!
//! Only a database that was just made gets an account without a password. Where the row cannot be read, because a page is damaged, or
//! a repair has lost it, the account is *locked*: the server turns everybody away, until the password is set by a program that has the
//! database's files.

pub mod password;

use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_table::{ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use parking_lot::RwLock;
use password::{AuthPlugin, StoredPassword};
use std::sync::Arc;

const USER_TABLE: &str = "user";
/// The one account.
pub const ROOT: &str = "root";

/// What unlocks the account.
const SET_PASSWORD: &str = "To set a password, open the database in the shell (`leafline DIR`) while no server has it open, and say: \
                            ALTER USER root IDENTIFIED BY '...'";

/// How an account is let in by the server. A program that embeds the database needs no account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Login {
    /// By this password. Where there is none, from this machine.
    Password(StoredPassword),
    /// Not at all, until it gets a password: what is on disk does not say which one it has. Why, and what to do about it.
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
    default_plugin: AuthPlugin,
    root: RwLock<Login>,
}

impl Accounts {
    /// Reads the accounts, making the account `root`, without a password, in a database that was just made. Where it cannot be read it is
    /// locked, so that no damage opens a server to anybody.
    pub(crate) fn open(engine: &Arc<Engine>, default_plugin: AuthPlugin) -> Result<Accounts, MysqlError> {
        let root = if engine.catalog().table(SYSTEM_DATABASE, USER_TABLE).is_some() {
            read_login(engine).unwrap_or_else(|error| {
                Login::Locked(format!(
                    "mysql.user cannot be read ({error}). Run `leafline repair` on the database, then {SET_PASSWORD}"
                ))
            })
        } else if is_new(engine) {
            let none = StoredPassword::none(default_plugin);
            system_table::make(engine, &user_table(), &user_row(&none))?;
            Login::Password(none)
        } else {
            Login::Locked(format!("there is no table mysql.user. {SET_PASSWORD}"))
        };
        Ok(Accounts { engine: engine.clone(), default_plugin, root: RwLock::new(root) })
    }

    /// How `user` is let in: `None` if there is no such account.
    pub fn login(&self, user: &str) -> Option<Login> {
        (user == ROOT).then(|| self.root.read().clone())
    }

    /// Changes the password of `user`; an empty one is none. It is kept for `plugin`, or else for the one of the password before. This
    /// unlocks the account, and makes what is missing of it on disk.
    ///
    /// # Errors
    /// 1396 if there is no such account; 1819 for a password that is too long; what the engine returns.
    pub fn set_password(
        &self,
        user: &str,
        plugin: Option<AuthPlugin>,
        password: &str,
    ) -> Result<(), MysqlError> {
        if user != ROOT {
            return Err(MysqlError::cannot_user("ALTER USER", format_args!("'{user}'@'%'")));
        }
        let mut root = self.root.write();
        let plugin = plugin.unwrap_or(match &*root {
            Login::Password(before) => before.plugin(),
            Login::Locked(_) => self.default_plugin,
        });
        let password = StoredPassword::new(plugin, password)?;
        system_table::put(&self.engine, &user_table(), is_root, Some(&user_row(&password)))?;
        *root = Login::Password(password);
        Ok(())
    }
}

/// Whether nothing was ever made in the database; a crash may have come between the making of the database `mysql` and of its table.
fn is_new(engine: &Engine) -> bool {
    let catalog = engine.catalog();
    catalog.databases().all(|database| database.name == SYSTEM_DATABASE)
        && catalog.tables(SYSTEM_DATABASE).next().is_none()
}

/// What the row of root says.
fn read_login(engine: &Arc<Engine>) -> Result<Login, MysqlError> {
    let table = engine.table(SYSTEM_DATABASE, USER_TABLE)?;
    let rows = system_table::rows(engine, &table)?;
    let Some((_, row)) = rows.into_iter().find(|(_, row)| is_root(row)) else {
        return Ok(Login::Locked(format!("mysql.user has lost the row of {ROOT}. {SET_PASSWORD}")));
    };
    let text = |column: usize| row.get(column).and_then(Value::as_str);
    let stored = text(2).and_then(AuthPlugin::from_name).zip(text(3));
    Ok(stored.and_then(|(plugin, text)| StoredPassword::parse(plugin, text)).map_or_else(
        || Login::Locked(format!("mysql.user holds no password hash for {ROOT}. {SET_PASSWORD}")),
        Login::Password,
    ))
}

fn user_row(password: &StoredPassword) -> [Value; 4] {
    ["%", ROOT, password.plugin().name(), &password.authentication_string()].map(Value::string)
}

fn user_table() -> TableSpec {
    let column = |name: &str, len: u32| {
        ColumnDef::new(name, SqlType::Varchar { len }, false, Collation::Utf8mb4_0900Bin)
    };
    let part = |column: &str| IndexSpecPart::new(column);
    TableSpec {
        database: SYSTEM_DATABASE.into(),
        name: USER_TABLE.into(),
        columns: vec![
            // As long as in MySQL 5.7: with 255 the key would be too long for pages of 4 KiB.
            column("Host", 60),
            column("User", 32),
            column("plugin", 64),
            column("authentication_string", 255),
        ],
        indexes: vec![IndexSpec {
            kind: IndexSpecKind::Primary,
            parts: vec![part("Host"), part("User")],
            ..IndexSpec::default()
        }],
        ..TableSpec::default()
    }
}

fn is_root(row: &[Value]) -> bool {
    row.get(1).and_then(Value::as_str) == Some(ROOT)
}
