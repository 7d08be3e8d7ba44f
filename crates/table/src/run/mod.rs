//! Runs: the external sort for bulk loads, index builds, large commits and query operators, and the files
//! it writes.
//!
//! Entries (key and payload) are collected in memory. When they exceed the limit, they are sorted and
//! written to a file, a *run*. At the end all runs and the entries in memory are merged. If there are too
//! many runs to merge at once, some are merged into one first. Entries with equal keys come out in no
//! particular order.
//!
//! A run can also be searched: an `IndexedRun` has an index and a Bloom filter in memory, and cursors. The
//! writes of large transactions and large sets of keys are stored in such runs.

mod file;
mod filter;
mod indexed;
mod key_set;
mod merge;
mod sorter;

pub use file::{RunFile, RunReader, RunWriter};
pub(crate) use filter::filter_bytes;
pub(crate) use indexed::{IndexedRun, IndexedRunWriter, RunCursor};
pub use key_set::KeySet;
pub use merge::{EntrySource, Merge};
pub use sorter::Sorter;

use crate::error::{Result, TableError};
use leafline_storage::{Env, StorageError};
use std::io;
use std::sync::Arc;

/// The directory of temporary run files.
pub(crate) const TEMP: &str = "temp";

/// Removes run files that a crash has left behind.
pub(crate) fn remove_leftovers(env: &Arc<dyn Env>) -> Result<()> {
    let failed = |error| io_error("clear", TEMP, error);
    if !env.exists(TEMP).map_err(failed)? {
        return Ok(());
    }
    for name in env.list(TEMP).map_err(failed)? {
        if name.starts_with(file::PREFIX) {
            env.remove(&format!("{TEMP}/{name}")).map_err(failed)?;
        }
    }
    Ok(())
}

pub(crate) fn io_error(op: &'static str, name: &str, error: io::Error) -> TableError {
    TableError::Storage(StorageError::io(op, name, error))
}
