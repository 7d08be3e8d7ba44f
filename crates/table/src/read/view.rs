//! The view of the data that a statement reads.

use crate::catalog::{IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::error::Result;
use crate::mvcc::RegisteredSnapshot;
use crate::range_locks::RangeLocker;
use crate::serial::{KeyBounds, SerialTransaction, with_ranges_of_keys};
use crate::write_set::{OverlayEntry, State, WriteSet};
use leafline_btree::ReadAheadSettings;
use parking_lot::RwLock;
use std::sync::Arc;

/// The view of a statement: a snapshot, and its transaction's writes from before the statement. It does not depend on
/// the transaction object, is cheap to clone, and is shared by the threads of a parallel scan. The snapshot stays
/// registered while a view of it exists.
#[derive(Clone, Debug)]
pub struct ReadView {
    pub(super) core: Arc<Core>,
    pub(super) snapshot: RegisteredSnapshot,
    writes: Arc<RwLock<WriteSet>>,
    as_of: u64,
    /// The transaction, if it is SERIALIZABLE.
    serial: Option<Arc<SerialTransaction>>,
    /// Locks the ranges that are read, if the statement does that.
    ranges: Option<Arc<RangeLocker>>,
    read_ahead: ReadAheadSettings,
}

impl ReadView {
    pub(crate) fn new(
        core: Arc<Core>,
        snapshot: RegisteredSnapshot,
        writes: Arc<RwLock<WriteSet>>,
        as_of: u64,
    ) -> ReadView {
        let read_ahead = ReadAheadSettings::default();
        ReadView { core, snapshot, writes, as_of, serial: None, ranges: None, read_ahead }
    }

    /// Reads what is committed now, with no writes of its own.
    pub(crate) fn latest(core: &Arc<Core>) -> ReadView {
        ReadView::new(core.clone(), core.snapshot(), core.no_writes.clone(), 0)
    }

    /// Reads what is applied now, durable or not (see [`Core::applied_snapshot`]), with no writes of its own.
    pub(crate) fn applied(core: &Arc<Core>) -> ReadView {
        ReadView::new(core.clone(), core.applied_snapshot(), core.no_writes.clone(), 0)
    }

    /// Returns this view with other settings for reading ahead.
    #[must_use]
    pub fn with_read_ahead(self, read_ahead: ReadAheadSettings) -> ReadView {
        ReadView { read_ahead, ..self }
    }

    /// Returns this view as one of a SERIALIZABLE transaction.
    pub(crate) fn with_serial(self, serial: Option<Arc<SerialTransaction>>) -> ReadView {
        ReadView { serial, ..self }
    }

    /// Returns this view as one of a statement that locks the ranges that it reads.
    pub(crate) fn with_range_locker(self, ranges: Option<Arc<RangeLocker>>) -> ReadView {
        ReadView { ranges, ..self }
    }

    /// Returns whether ranges have to be [registered](Self::register) before they are read.
    #[inline]
    pub fn registers_reads(&self) -> bool {
        self.serial.is_some() || self.ranges.is_some()
    }

    /// Registers ranges of keys of an index that are about to be read: for a SERIALIZABLE transaction, or to keep others from
    /// writing into them. Cursors register the whole index, unless they were [told](super::EntryCursor::read_only_in) what
    /// of it will be read.
    ///
    /// # Errors
    /// `WriteConflict` (1213) if the transaction must be rolled back, because the transactions at this level would not
    /// have the results of any order one after another, or if the statement must run again, because the snapshot lacks
    /// rows of locked ranges; the errors of waiting for those who have written into locked ranges.
    pub fn register(&self, table: &TableDef, index: &IndexDef, ranges: &[KeyBounds<'_>]) -> Result<()> {
        if let Some(locker) = &self.ranges
            && !locker.lock(table, index, ranges, &self.snapshot)?
        {
            return Err(self.core.conflict());
        }
        self.serial.as_ref().map_or(Ok(()), |serial| serial.register(table, index, ranges))
    }

    /// Registers keys of the clustered index, like [`register`](Self::register).
    ///
    /// # Errors
    /// The errors of [`register`](Self::register).
    pub fn register_keys<'k>(&self, table: &TableDef, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        if !self.registers_reads() {
            return Ok(());
        }
        with_ranges_of_keys(keys, |ranges| self.register(table, table.clustered(), ranges))
    }

    /// The settings for scans that read ahead.
    pub fn read_ahead(&self) -> ReadAheadSettings {
        self.read_ahead
    }

    /// The engine.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &RegisteredSnapshot {
        &self.snapshot
    }

    /// Returns whether the view contains own writes to `table`.
    pub(super) fn has_writes(&self, table: TableId) -> bool {
        self.as_of > 1 && self.writes.read().has_table(table)
    }

    /// Returns whether own writes replaced row versions that the snapshot does not see. Committed entries of written
    /// rows must then be hidden by row, because they may differ from the entries that the transaction replaced.
    pub(super) fn has_unseen_bases(&self, table: TableId) -> bool {
        self.writes.read().has_unseen_bases(table)
    }

    /// The transaction's own version of a row; `None` if it has not written the row.
    pub(super) fn own_row(&self, table: TableId, key: &[u8]) -> Result<Option<State>> {
        self.writes.read().row(table, key, self.as_of)
    }

    /// Prepares own writes to be read in the order of `index`.
    pub(super) fn prepare(&self, table: TableId, index: &IndexDef) -> Result<()> {
        if !self.writes.read().has_view(table, index) {
            self.writes.write().build_view(self.core.write_set_space(), table, index)?;
        }
        Ok(())
    }

    /// Returns own writes in `[lower, upper)` of a prepared index: at most `max`, in the direction of the scan.
    pub(super) fn own_entries(
        &self,
        table: TableId,
        index: &IndexDef,
        range: (&[u8], Option<&[u8]>),
        reverse: bool,
        max: usize,
    ) -> Result<Vec<OverlayEntry>> {
        self.writes.read().overlay(table, index, range, reverse, self.as_of, max)
    }
}
