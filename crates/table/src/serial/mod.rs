//! SERIALIZABLE: serializable snapshot isolation (Cahill, Roehm and Fekete, TODS 2009; Ports and Grittner, VLDB 2012).
//!
//! A SERIALIZABLE transaction reads at one snapshot, like one at REPEATABLE READ, and waits for nobody more than that
//! one does. In addition everybody at this level notes what is read and written, and a transaction that might make the
//! history not serializable fails with 1213. It holds among the transactions at this level; others take no part.
//!
//! | file | is |
//! |---|---|
//! | `ranges` | sets of keys of an index |
//! | `footprint` | what a transaction has read and written of a table |
//! | `graph` | transactions, the conflicts between them, and the structures that are forbidden |
//! | this one | the handle of a transaction, and the memory of all |
//!
//! *Reads* are ranges of keys of an index, registered before they are read: [`ReadView::register`] and its callers,
//! and [`Transaction::note_read`] for what is read in its current state (duplicates, parents, children). Rows that are
//! fetched for entries need no range of their own, because *writes* are listed with the entries of every written row
//! in every index, also in those that the write does not change.
//!
//! Every snapshot at this level shows what is durable, so that later ones show no less than earlier ones. Without that
//! two readers could see two commits in different orders, which no dangerous structure would tell.
//!
//! [`ReadView::register`]: crate::ReadView::register
//! [`Transaction::note_read`]: crate::Transaction::note_read

mod footprint;
mod graph;
mod ranges;
#[cfg(test)]
mod tests;

pub(crate) use footprint::Writes;
pub use ranges::KeyBounds;
pub(crate) use ranges::{KeyRanges, with_ranges_of_keys};

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::memory::{MemoryAccount, Terms};
use crate::mvcc::RegisteredSnapshot;
use graph::{Dangerous, Graph, Marks, Number};
use leafline_btree::CommitTs;
use leafline_storage::Store;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The terms of the account of all footprints. If the pool lends nothing, they become coarser.
static TERMS: Terms = Terms { allowance: 1 << 20, step: (256 << 10, 4 << 20), yields: true };
/// Footprints may take the memory of the buffer pool divided by this number.
const SHARE: u64 = 16;

/// The part of an engine that keeps its SERIALIZABLE transactions apart.
pub(crate) struct Serial {
    graph: Mutex<Graph>,
    memory: MemoryAccount,
    /// The lender of memory.
    store: Store,
    /// The memory of all footprints as it was last, in bytes.
    used: AtomicUsize,
    /// The number of transactions that were forbidden to read or to commit.
    refused: AtomicU64,
}

impl Serial {
    /// Makes the part of an engine whose memory `store` lends.
    pub(crate) fn new(store: Store) -> Serial {
        Serial {
            graph: Mutex::default(),
            memory: MemoryAccount::new(&TERMS),
            store,
            used: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Borrows memory if little is left. The caller holds neither a latch nor a mutex.
    fn find_memory(&self) -> Result<()> {
        let (used, granted) = (self.used.load(Ordering::Relaxed) as u64, self.memory.granted());
        if used > granted - granted / 4 {
            let most = self.store.memory_limit() / SHARE;
            if granted < most {
                self.memory.reach(&self.store, granted + granted / 4, most)?;
            }
        } else if granted > TERMS.allowance && used < granted / 4 {
            self.memory.give_back(used * 2);
        }
        Ok(())
    }

    /// Changes the graph, and keeps it within its memory.
    fn change<R>(&self, change: impl FnOnce(&mut Graph) -> R) -> R {
        let mut graph = self.graph.lock();
        let result = change(&mut graph);
        graph.keep_within(usize::try_from(self.memory.granted()).unwrap_or(usize::MAX));
        self.used.store(graph.bytes, Ordering::Relaxed);
        result
    }

    /// The number of transactions that were forbidden to read or to commit.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of open and of ended transactions that are kept, and the memory of their footprints in bytes.
    pub(crate) fn figures(&self) -> (usize, usize, usize) {
        let graph = self.graph.lock();
        let (open, ended) = graph.counts();
        (open, ended, graph.bytes)
    }
}

impl std::fmt::Debug for Serial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serial").field("figures", &self.figures()).finish_non_exhaustive()
    }
}

/// A SERIALIZABLE transaction among the others. The views of its statements share it. When the last of them is
/// dropped, it ends.
pub(crate) struct SerialTransaction {
    serial: Arc<Serial>,
    marks: Arc<Marks>,
    /// `None` for a reader that is safe from the beginning.
    number: Option<Number>,
    /// Whether it has committed, or only read, so that its end is not a rollback.
    counts: AtomicBool,
    /// Whether it must be rolled back.
    has_failed: AtomicBool,
}

impl SerialTransaction {
    /// Begins a transaction with a new snapshot, which `snapshot` takes.
    pub(crate) fn begin(
        serial: &Arc<Serial>,
        read_only: bool,
        snapshot: impl FnOnce() -> RegisteredSnapshot,
    ) -> (RegisteredSnapshot, Arc<SerialTransaction>) {
        let marks = Arc::default();
        let (snapshot, number) = serial.change(|graph| graph.begin(snapshot, read_only, &marks));
        let (counts, has_failed) = (AtomicBool::new(false), AtomicBool::new(false));
        (snapshot, Arc::new(SerialTransaction { serial: serial.clone(), marks, number, counts, has_failed }))
    }

    /// Registers ranges of an index that are about to be read.
    ///
    /// # Errors
    /// `WriteConflict` if the transaction must be rolled back; errors of the store.
    pub(crate) fn register(
        &self,
        table: &TableDef,
        index: &IndexDef,
        ranges: &[KeyBounds<'_>],
    ) -> Result<()> {
        let Some(number) = self.number else { return Ok(()) };
        if self.marks.is_safe.load(Ordering::Acquire) || table.is_private || table.is_overflow {
            return Ok(());
        }
        let serial = &self.serial;
        serial.find_memory()?;
        let registered = serial.change(|graph| match self.marks.is_safe.load(Ordering::Acquire) {
            true => Ok(()),
            false => graph.register(number, table.id, index.tree, ranges),
        });
        self.or_fail(registered)
    }

    /// Registers keys of the clustered index, like [`register`](Self::register).
    ///
    /// # Errors
    /// The errors of [`register`](Self::register).
    pub(crate) fn register_keys<'k>(
        &self,
        table: &TableDef,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<()> {
        with_ranges_of_keys(keys, |ranges| self.register(table, table.clustered(), ranges))
    }

    /// Returns whether it must be rolled back, because it was forbidden to read or to commit.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn or_fail(&self, allowed: Result<(), Dangerous>) -> Result<()> {
        if allowed.is_err() {
            self.has_failed.store(true, Ordering::Release);
            self.serial.refused.fetch_add(1, Ordering::Relaxed);
        }
        if self.has_failed() { Err(TableError::WriteConflict) } else { Ok(()) }
    }

    /// Lists what the transaction is about to commit, if anything.
    ///
    /// # Errors
    /// `WriteConflict` if it must be rolled back; errors of the store.
    pub(crate) fn prepare(&self, writes: Writes) -> Result<()> {
        let number = self.number.filter(|_| !writes.is_empty() && !self.has_failed());
        let Some(number) = number else { return self.or_fail(Ok(())) };
        let serial = &self.serial;
        serial.find_memory()?;
        let prepared = serial.change(|graph| graph.prepare(number, writes));
        self.or_fail(prepared)
    }

    /// Notes the timestamp of its commit, before any snapshot can see that.
    pub(crate) fn set_ts(&self, ts: CommitTs) {
        self.marks.ts.store(ts.0, Ordering::Release);
    }

    /// Notes that it has committed, and that all later snapshots see that; or that it has read and changed nothing.
    pub(crate) fn set_committed(&self) {
        self.counts.store(true, Ordering::Release);
    }
}

impl Drop for SerialTransaction {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let counts = self.counts.load(Ordering::Acquire) && !self.has_failed();
        self.serial.change(|graph| if counts { graph.end(number) } else { graph.remove(number) });
    }
}

impl std::fmt::Debug for SerialTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SerialTransaction").field("number", &self.number).finish_non_exhaustive()
    }
}
