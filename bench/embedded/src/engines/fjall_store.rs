//! fjall (an LSM tree). Each transaction is a batch, synced.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, Settings};
use fjall::{Config, Keyspace, PartitionCreateOptions, PartitionHandle, PersistMode};
use std::path::Path;

struct Store {
    keyspace: Keyspace,
    partition: PartitionHandle,
    keys: Keys,
}

pub fn open(path: &Path, settings: &Settings) -> Box<dyn Engine> {
    let (mut config, mut partition) =
        (Config::new(path).cache_size(settings.memory), PartitionCreateOptions::default());
    if settings.beyond_memory {
        config = config.max_write_buffer_size(settings.memory / 2);
        partition = partition.max_memtable_size((settings.memory / 8) as u32);
    }
    let keyspace = config.open().expect("opens");
    let partition = keyspace.open_partition("t", partition).expect("a partition");
    Box::new(Store { keyspace, partition, keys: settings.keys })
}

impl Engine for Store {
    fn client(&self) -> Box<dyn Client + '_> {
        Box::new(self)
    }
}

impl Client for &Store {
    fn put(&mut self, rows: &[(u64, String)]) {
        let mut key = Vec::new();
        let mut batch = self.keyspace.batch().durability(Some(PersistMode::SyncData));
        for (n, value) in rows {
            self.keys.bytes(*n, &mut key);
            batch.insert(&self.partition, key.as_slice(), value.as_bytes());
        }
        batch.commit().expect("commits");
    }

    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let (mut key, mut bytes) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            bytes += self.partition.get(&key).expect("gets").map_or(0, |value| value.len()) as u64;
        }
        bytes
    }

    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64 {
        let (mut key, mut rows) = (Vec::new(), 0);
        while let Some(n) = next() {
            self.keys.bytes(n, &mut key);
            let mut bytes = 0;
            for entry in self.partition.range(key.clone()..).take(SCAN_ROWS) {
                bytes += entry.expect("an entry").1.len();
                rows += 1;
            }
            std::hint::black_box(bytes);
        }
        rows
    }
}
