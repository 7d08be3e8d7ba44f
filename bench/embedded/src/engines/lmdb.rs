//! LMDB through heed. Commits are synced (its default).

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};
use std::ops::Bound;
use std::path::Path;

struct Store {
    env: Env,
    database: Database<Bytes, Bytes>,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let mut options = EnvOpenOptions::new();
    options.map_size(64 << 30);
    if settings.beyond_memory {
        // SAFETY: the flag only tells the kernel not to read ahead of page faults.
        unsafe { options.flags(EnvFlags::NO_READ_AHEAD) };
    }
    // SAFETY: nobody else uses the directory, which was just made.
    let env = unsafe { options.open(path) }.expect("opens");
    let mut transaction = env.write_txn().expect("a transaction");
    let database = env.create_database(&mut transaction, None).expect("a database");
    transaction.commit().expect("commits");
    Box::new(Store { env, database, keys: settings.keys })
}

impl Engine for Store {
    fn client(&self) -> Box<dyn Client + '_> {
        Box::new(self)
    }
}

impl Client for &Store {
    fn put(&mut self, rows: &[(u64, String)]) {
        let mut key = Vec::new();
        let mut transaction = self.env.write_txn().expect("a transaction");
        for (n, value) in rows {
            self.keys.bytes(*n, &mut key);
            self.database.put(&mut transaction, &key, value.as_bytes()).expect("puts");
        }
        transaction.commit().expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let transaction = self.env.read_txn().expect("a transaction");
        let (mut key, mut bytes) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            bytes += self.database.get(&transaction, &key).expect("gets").map_or(0, <[u8]>::len) as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let transaction = self.env.read_txn().expect("a transaction");
        let (mut key, mut rows) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            let range = self
                .database
                .range(&transaction, &(Bound::Included(key.as_slice()), Bound::Unbounded))
                .expect("a range");
            let mut bytes = 0;
            for entry in range.take(SCAN_ROWS) {
                bytes += entry.expect("an entry").1.len();
                rows += 1;
            }
            std::hint::black_box(bytes);
        }
        rows
    }
}
