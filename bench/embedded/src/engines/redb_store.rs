//! redb. Commits are synced (its default).

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings};
use redb::{Database, ReadableDatabase, TableDefinition};
use std::path::Path;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("t");

struct Store {
    database: Database,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let mut builder = Database::builder();
    builder.set_cache_size(settings.memory as usize);
    let database = builder.create(path.join("db")).expect("opens");
    let transaction = database.begin_write().expect("a transaction");
    transaction.open_table(TABLE).expect("a table");
    transaction.commit().expect("commits");
    Box::new(Store { database, keys: settings.keys })
}

impl Engine for Store {
    fn client(&self) -> Box<dyn Client + '_> {
        Box::new(self)
    }
}

impl Client for &Store {
    fn put(&mut self, rows: &[(u64, String)]) {
        let mut key = Vec::new();
        let transaction = self.database.begin_write().expect("a transaction");
        {
            let mut table = transaction.open_table(TABLE).expect("the table");
            for (n, value) in rows {
                self.keys.bytes(*n, &mut key);
                table.insert(key.as_slice(), value.as_bytes()).expect("puts");
            }
        }
        transaction.commit().expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let transaction = self.database.begin_read().expect("a transaction");
        let table = transaction.open_table(TABLE).expect("the table");
        let (mut key, mut bytes) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            bytes += table.get(key.as_slice()).expect("gets").map_or(0, |value| value.value().len()) as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let transaction = self.database.begin_read().expect("a transaction");
        let table = transaction.open_table(TABLE).expect("the table");
        let (mut key, mut rows) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            let mut bytes = 0;
            for entry in table.range(key.as_slice()..).expect("a range").take(SCAN_ROWS) {
                bytes += entry.expect("an entry").1.value().len();
                rows += 1;
            }
            std::hint::black_box(bytes);
        }
        rows
    }
}
