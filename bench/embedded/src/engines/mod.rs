//! The engines, one module each: how each is opened so that commits are durable, and how it puts, gets and scans.

mod fjall_store;
mod leafline_store;
mod lmdb;
mod redb_store;
#[cfg(feature = "rocksdb")]
mod rocksdb_store;
mod sqlite;

use crate::engine::{Engine, Settings};
use std::path::Path;

/// Opens an engine in an empty directory.
pub type Open = fn(&Path, &Settings) -> Box<dyn Engine>;

/// All engines by name.
pub const ALL: &[(&str, Open)] = &[
    ("leafline", leafline_store::open),
    ("lmdb", lmdb::open),
    ("redb", redb_store::open),
    ("fjall", fjall_store::open),
    #[cfg(feature = "rocksdb")]
    ("rocksdb", rocksdb_store::open),
    ("sqlite", sqlite::open),
];
