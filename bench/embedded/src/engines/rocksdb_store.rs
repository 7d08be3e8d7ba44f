//! RocksDB with a block cache and Bloom filters. Each transaction is a write batch, synced.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings};
use rocksdb::{BlockBasedOptions, Cache, DB, Direction, IteratorMode, Options, WriteBatch, WriteOptions};
use std::path::Path;

struct Store {
    database: DB,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(settings.memory as usize));
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.increase_parallelism(2);
    if settings.beyond_memory {
        options.set_db_write_buffer_size(settings.memory as usize / 2);
        options.set_write_buffer_size(settings.memory as usize / 8);
    }
    let database = DB::open(&options, path).expect("opens");
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
        let mut batch = WriteBatch::default();
        for (n, value) in rows {
            self.keys.bytes(*n, &mut key);
            batch.put(&key, value.as_bytes());
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.database.write_opt(batch, &options).expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let (mut key, mut bytes) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            bytes += self.database.get_pinned(&key).expect("gets").map_or(0, |value| value.len()) as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let (mut key, mut rows) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            let mut bytes = 0;
            for entry in self.database.iterator(IteratorMode::From(&key, Direction::Forward)).take(SCAN_ROWS)
            {
                bytes += entry.expect("an entry").1.len();
                rows += 1;
            }
            std::hint::black_box(bytes);
        }
        rows
    }
}
