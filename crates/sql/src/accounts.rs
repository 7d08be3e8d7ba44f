//! Who may connect: the account `root`, with or without a password.
//!
//! The account is a row of the table `mysql.user`, as in MySQL, so that it is as durable as anything else. Without a
//! password it may be used from this machine only (a Unix socket, a loopback address); with one, from wherever the server
//! listens. The password is kept as `mysql_native_password` keeps it: `*` and the hexadecimal SHA-1 of its SHA-1. The
//! server never needs more than that to check an answer to its challenge.
//!
//! Only a database that was just made gets an account without a password. Where the row cannot be read, because a page is damaged, or
//! a repair has lost it, the account is *locked*: the server turns everybody away, until the password is set by a program that has the
//! database's files.

use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_table::{ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use parking_lot::RwLock;
use sha1::{Digest, Sha1};
use std::sync::Arc;

const USER_TABLE: &str = "user";
/// The one account.
pub const ROOT: &str = "root";
const PLUGIN: &str = "mysql_native_password";

/// What unlocks the account.
const SET_PASSWORD: &str = "To set a password, open the database in the shell (`leafline DIR`) while no server has it open, and say: \
                            ALTER USER root IDENTIFIED BY '...'";

/// Bytes of a password hash.
pub const HASH_BYTES: usize = 20;

/// How an account is let in by the server. A program that embeds the database needs no account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Login {
    /// Without a password, from this machine.
    WithoutPassword,
    /// By the password of which this is the double SHA-1.
    Password([u8; HASH_BYTES]),
    /// Not at all, until it gets a password: what is on disk does not say which one it has. Why, and what to do about it.
    Locked(String),
}

/// The accounts, in memory as on disk.
pub struct Accounts {
    engine: Arc<Engine>,
    root: RwLock<Login>,
}

impl Accounts {
    /// Reads the accounts, making the account `root`, without a password, in a database that was just made. Where it cannot be read it is
    /// locked, so that no damage opens a server to anybody.
    pub(crate) fn open(engine: &Arc<Engine>) -> Result<Accounts, MysqlError> {
        let root = if engine.catalog().table(SYSTEM_DATABASE, USER_TABLE).is_some() {
            read_login(engine).unwrap_or_else(|error| {
                Login::Locked(format!(
                    "mysql.user cannot be read ({error}). Run `leafline repair` on the database, then {SET_PASSWORD}"
                ))
            })
        } else if is_new(engine) {
            system_table::make(engine, &user_table(), &user_row(""))?;
            Login::WithoutPassword
        } else {
            Login::Locked(format!("there is no table mysql.user. {SET_PASSWORD}"))
        };
        Ok(Accounts { engine: engine.clone(), root: RwLock::new(root) })
    }

    /// How `user` is let in: `None` if there is no such account.
    pub fn login(&self, user: &str) -> Option<Login> {
        (user == ROOT).then(|| self.root.read().clone())
    }

    /// Changes the password of `user`; an empty one is none. This unlocks the account, and makes what is missing of it on disk.
    ///
    /// # Errors
    /// 1396 if there is no such account; what the engine returns.
    pub fn set_password(&self, user: &str, password: &str) -> Result<(), MysqlError> {
        if user != ROOT {
            return Err(MysqlError::cannot_user("ALTER USER", format_args!("'{user}'@'%'")));
        }
        let hash = (!password.is_empty()).then(|| double_sha1(password.as_bytes()));
        let text = hash.map_or(String::new(), |hash| format_hash(&hash));
        let mut root = self.root.write();
        system_table::put(&self.engine, &user_table(), is_root, Some(&user_row(&text)))?;
        *root = hash.map_or(Login::WithoutPassword, Login::Password);
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
    let stored = row.get(3).and_then(Value::as_str);
    if stored == Some("") {
        return Ok(Login::WithoutPassword);
    }
    Ok(stored.and_then(parse_hash).map_or_else(
        || Login::Locked(format!("mysql.user holds no password hash for {ROOT}. {SET_PASSWORD}")),
        Login::Password,
    ))
}

/// SHA-1 of the SHA-1 of a password.
pub fn double_sha1(password: &[u8]) -> [u8; HASH_BYTES] {
    Sha1::digest(Sha1::digest(password)).into()
}

fn format_hash(hash: &[u8; HASH_BYTES]) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("*{digits}")
}

fn parse_hash(text: &str) -> Option<[u8; HASH_BYTES]> {
    let digits = text.strip_prefix('*')?.as_bytes();
    let mut hash = [0; HASH_BYTES];
    if digits.len() != 2 * HASH_BYTES {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

fn user_row(authentication: &str) -> [Value; 4] {
    ["%", ROOT, PLUGIN, authentication].map(Value::string)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_back_as_written_and_is_mysqls() {
        let hash = double_sha1(b"secret");
        let text = format_hash(&hash);
        assert_eq!(text, "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
        assert_eq!(parse_hash(&text), Some(hash));
        for wrong in ["", "*", "14E65567ABDB5135D0CFD9A70B3032C179A49EE7", "*14E6é", &text[..40]] {
            assert_eq!(parse_hash(wrong), None, "{wrong}");
        }
    }
}
