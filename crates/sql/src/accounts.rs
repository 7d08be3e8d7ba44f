//! Who may connect: the account `root`, with or without a password.
//!
//! The account is a row of the table `mysql.user`, as in MySQL, so that it is as durable as anything else. Without a
//! password it may be used from this machine only (a Unix socket, a loopback address); with one, from wherever the server
//! listens. The password is kept as `mysql_native_password` keeps it: `*` and the hexadecimal SHA-1 of its SHA-1. The
//! server never needs more than that to check an answer to its challenge.

use leafline_table::{
    ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, Isolation, TableDef, TableSpec, TxnMode,
};
use leafline_types::column::value_at;
use leafline_types::{Collation, ColumnBuilder, MysqlError, SqlType, Value};
use parking_lot::RwLock;
use sha1::{Digest, Sha1};
use std::sync::Arc;

/// The database of the server's own tables.
pub const SYSTEM_DATABASE: &str = "mysql";
const USER_TABLE: &str = "user";
/// The one account.
pub const ROOT: &str = "root";
const PLUGIN: &str = "mysql_native_password";

/// Bytes of a password hash.
pub const HASH_BYTES: usize = 20;

/// The accounts, in memory as on disk.
pub struct Accounts {
    engine: Arc<Engine>,
    root: RwLock<Option<[u8; HASH_BYTES]>>,
}

impl Accounts {
    /// Reads the accounts, making the account `root` in a new database.
    pub(crate) fn open(engine: &Arc<Engine>) -> Result<Accounts, MysqlError> {
        if engine.catalog().table(SYSTEM_DATABASE, USER_TABLE).is_none() {
            engine.create_database(SYSTEM_DATABASE, Collation::DEFAULT, true)?;
            engine.create_table(&user_table(), true)?;
        }
        let table = engine.table(SYSTEM_DATABASE, USER_TABLE)?;
        let stored = match read_password(engine, &table)? {
            Some((_, row)) => row.get(3).cloned().unwrap_or_default(),
            None => {
                let mut transaction = engine.begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
                transaction.begin_statement();
                transaction.insert(&table, &user_row(""))?;
                transaction.commit()?;
                Value::string("")
            }
        };
        let root = match stored.as_str() {
            Some("") | None => None,
            Some(text) => Some(parse_hash(text).ok_or_else(|| {
                MysqlError::unknown_error(
                    "the password of root in mysql.user is not one that this server wrote",
                )
            })?),
        };
        Ok(Accounts { engine: engine.clone(), root: RwLock::new(root) })
    }

    /// The double SHA-1 of the password of `user`: `None` if there is no such account, `Some(None)` if it has no
    /// password.
    pub fn password(&self, user: &str) -> Option<Option<[u8; HASH_BYTES]>> {
        (user == ROOT).then(|| *self.root.read())
    }

    /// Changes the password of `user`; an empty one is none.
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
        let table = self.engine.table(SYSTEM_DATABASE, USER_TABLE)?;
        let (locator, old) = read_password(&self.engine, &table)?
            .ok_or_else(|| MysqlError::unknown_error("root is not in mysql.user"))?;
        let mut transaction = self.engine.begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        transaction.begin_statement();
        transaction.update(&table, &locator, &old, &user_row(&text))?;
        transaction.commit()?;
        *root = hash;
        Ok(())
    }
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

/// A row and the clustered key it is found by.
type LocatedRow = (Vec<u8>, Vec<Value>);

/// The row of root with its locator.
fn read_password(engine: &Arc<Engine>, table: &Arc<TableDef>) -> Result<Option<LocatedRow>, MysqlError> {
    let mut transaction = engine.begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    let view = transaction.view();
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let decoder = leafline_table::row_decoder(table, &columns)?;
    let mut found = None;
    let mut cursor = view.entries(table, table.clustered())?;
    cursor.seek(&[]);
    let mut failure = None;
    while cursor.visit(leafline_table::Direction::Forward, &mut |entry| {
        let mut builders: Vec<ColumnBuilder> =
            table.columns.iter().map(|column| ColumnBuilder::for_type(&column.ty)).collect();
        match decoder.decode(entry.key, entry.payload, &mut builders) {
            Ok(()) => {
                let row: Vec<Value> = builders
                    .iter_mut()
                    .zip(&table.columns)
                    .map(|(builder, column)| value_at(&builder.finish(), 0, &column.ty))
                    .collect();
                if row.get(1).and_then(Value::as_str) == Some(ROOT) {
                    found = Some((entry.key.to_vec(), row));
                }
            }
            Err(error) => failure = Some(error),
        }
        leafline_table::EntryStep::Next
    })? {}
    match failure {
        Some(error) => Err(MysqlError::unknown_error(error)),
        None => Ok(found),
    }
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
