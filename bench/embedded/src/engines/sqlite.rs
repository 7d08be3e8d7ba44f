//! SQLite in WAL mode with synchronous=FULL, through prepared statements. Writers wait for each other.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings, TEXT_BYTES, text};
use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Store {
    path: PathBuf,
    keys: Keys,
    memory: u64,
}

struct Session {
    connection: Connection,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let store = Store { path: path.join("db"), keys: settings.keys, memory: settings.memory };
    let connection = store.connect();
    let table = match settings.keys {
        Keys::Int => "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL)",
        Keys::Text => "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
    };
    connection.execute(table, ()).expect("a table");
    Box::new(store)
}

impl Store {
    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.path).expect("opens");
        connection.busy_timeout(Duration::from_secs(60)).expect("a timeout");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL");
        connection.pragma_update(None, "synchronous", "FULL").expect("FULL");
        connection.pragma_update(None, "cache_size", -((self.memory / 1024) as i64)).expect("a cache");
        connection
    }
}

impl Engine for Store {
    fn client(&self) -> Box<dyn Client + '_> {
        Box::new(Session { connection: self.connect(), keys: self.keys })
    }
}

fn key(keys: Keys, n: u64) -> Value {
    match keys {
        Keys::Int => Value::Integer(n as i64),
        Keys::Text => Value::Text(text(n, &mut [0; TEXT_BYTES]).to_owned()),
    }
}

impl Client for Session {
    fn put(&mut self, rows: &[(u64, String)]) {
        let keys = self.keys;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
        {
            let mut put =
                transaction.prepare_cached("INSERT OR REPLACE INTO t VALUES (?, ?)").expect("a statement");
            for (n, value) in rows {
                put.execute(params![key(keys, *n), value]).expect("puts");
            }
        }
        transaction.commit().expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let keys = self.keys;
        let transaction = self.connection.transaction().expect("a transaction");
        let mut get = transaction.prepare_cached("SELECT v FROM t WHERE k = ?").expect("a statement");
        let mut bytes = 0;
        while let Some(n) = next() {
            let length = get.query_row([key(keys, n)], |row| Ok(row.get_ref(0)?.as_bytes()?.len()));
            bytes += length.expect("gets") as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let keys = self.keys;
        let transaction = self.connection.transaction().expect("a transaction");
        let sql = "SELECT k, v FROM t WHERE k >= ? ORDER BY k LIMIT ?";
        let mut scan = transaction.prepare_cached(sql).expect("a statement");
        let mut found = 0;
        while let Some(n) = next() {
            let mut rows = scan.query(params![key(keys, n), SCAN_ROWS as i64]).expect("scans");
            let mut bytes = 0;
            while let Some(row) = rows.next().expect("a row") {
                bytes += row.get_ref(1).expect("a value").as_bytes().expect("text").len();
                found += 1;
            }
            std::hint::black_box(bytes);
        }
        found
    }
}
