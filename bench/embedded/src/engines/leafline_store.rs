//! Leafline, through its interface without SQL.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings, TEXT_BYTES, text};
use leafline::{Database, OpenOptions, Table, ToValue};
use std::path::Path;

struct Store {
    database: Database,
    table: Table,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let mut options = OpenOptions::new().buffer_pool_size(settings.memory);
    if settings.page_size > 0 {
        options = options.page_size(settings.page_size);
    }
    let database = options.open(path.join("db")).expect("opens");
    let mut connection = database.connect().expect("a connection");
    let ty = match settings.keys {
        Keys::Int => "BIGINT UNSIGNED",
        Keys::Text => "VARCHAR(30) COLLATE utf8mb4_0900_bin",
    };
    connection.execute("CREATE DATABASE d", ()).expect("a database");
    connection
        .execute(&format!("CREATE TABLE d.t (k {ty} PRIMARY KEY, v VARCHAR(100) NOT NULL)"), ())
        .expect("a table");
    let table = database.table("d", "t").expect("the table");
    Box::new(Store { database, table, keys: settings.keys })
}

impl Store {
    /// Calls `f` with key number `n`.
    fn with_key<R>(&self, n: u64, f: impl FnOnce(&dyn ToValue) -> R) -> R {
        match self.keys {
            Keys::Int => f(&n),
            Keys::Text => f(&text(n, &mut [0; TEXT_BYTES])),
        }
    }
}

impl Engine for Store {
    fn client(&self) -> Box<dyn Client + '_> {
        Box::new(self)
    }
}

impl Client for &Store {
    fn put(&mut self, rows: &[(u64, String)]) {
        let mut writer = self.database.begin();
        for (n, value) in rows {
            self.with_key(*n, |key| writer.put(&self.table, (key, value.as_str()))).expect("puts");
        }
        writer.commit().expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let snapshot = self.database.snapshot();
        let reader = snapshot.read(&self.table).expect("reads");
        let mut bytes = 0;
        while let Some(n) = next() {
            let length = |row: leafline::RowView<'_>| row.bytes(1).expect("a string").map_or(0, <[u8]>::len);
            bytes += self.with_key(n, |key| reader.get((key,), length)).expect("gets").unwrap_or(0) as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let snapshot = self.database.snapshot();
        let reader = snapshot.read(&self.table).expect("reads");
        let mut rows = 0;
        while let Some(n) = next() {
            let mut left = SCAN_ROWS;
            let mut bytes = 0;
            let visit = |row: leafline::RowView<'_>| {
                bytes += row.bytes(1).expect("a string").map_or(0, <[u8]>::len);
                left -= 1;
                left > 0
            };
            self.with_key(n, |key| reader.scan((key,), visit)).expect("scans");
            rows += (SCAN_ROWS - left) as u64;
            std::hint::black_box(bytes);
        }
        rows
    }
}
