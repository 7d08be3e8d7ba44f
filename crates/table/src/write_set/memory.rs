//! The memory of a write set, and what happens when it is short.
//!
//! The first 64 KiB are free, so that small transactions pay nothing. The rest is borrowed from the buffer pool, in
//! steps. When the pool lends no more, or the transaction has reached its maximum (`transaction_memory_bytes`), the
//! largest layers are written to runs. Runs keep their index and filters in memory, which is borrowed too. If nothing
//! is lent for filters, runs have none. The memory for an index (about 1/300 of the run) and two blocks for each run
//! is used in any case.

use super::layers::{Layers, Spill};
use super::{TableWrites, WriteSet, WriteSetSpace};
use crate::catalog::TableId;
use crate::error::Result;
use crate::memory::Terms;
use crate::run::filter_bytes;

/// The terms of a write set's account.
pub(super) static TERMS: Terms = Terms { allowance: 64 << 10, step: (64 << 10, 1 << 20), yields: true };

impl WriteSet {
    /// Makes room for the next write: borrows memory, or moves writes to runs. If neither is possible it fails, and
    /// nothing is lost. The caller holds no latch.
    #[inline]
    pub(crate) fn make_room(&mut self, space: WriteSetSpace<'_>) -> Result<()> {
        if self.bytes < self.room { Ok(()) } else { self.find_room(space) }
    }

    #[cold]
    fn find_room(&mut self, space: WriteSetSpace<'_>) -> Result<()> {
        let limit = space.limits.write_set_memory;
        self.set_room(space);
        if self.bytes < self.room {
            return Ok(());
        }
        if self.room < limit {
            let granted = self.memory.granted();
            if self.borrow(space, 1, granted + (limit - self.room))? {
                return Ok(());
            }
        }
        self.freeze(space)
    }

    /// Computes how much memory the write set may use.
    fn set_room(&mut self, space: WriteSetSpace<'_>) {
        let limit = space.limits.write_set_memory;
        let room = self.memory.granted().saturating_sub(self.run_bytes());
        self.room = room.max(TERMS.allowance).min(limit);
    }

    /// Borrows `bytes` more, and some that will be needed next, up to `most` in all. Returns false if the pool does
    /// not lend them.
    pub(super) fn borrow(&mut self, space: WriteSetSpace<'_>, bytes: u64, most: u64) -> Result<bool> {
        let lent = self.memory.reach(space.store, self.memory.granted() + bytes, most)?;
        self.set_room(space);
        Ok(lent)
    }

    /// Returns whether a filter for this many keys may be kept in memory. Filters may take at most half of the
    /// granted memory.
    pub(super) fn has_room_for_filter(&mut self, space: WriteSetSpace<'_>, keys: u64) -> Result<bool> {
        let bytes = filter_bytes(keys);
        Ok(self.run_bytes() + bytes <= self.memory.granted() / 2 || self.borrow(space, bytes, 0)?)
    }

    /// The memory of the runs in bytes.
    fn run_bytes(&self) -> u64 {
        self.tables.values().flat_map(TableWrites::layers).map(|(_, layers)| layers.run_bytes()).sum()
    }

    pub(super) fn count_bytes(&mut self) {
        self.bytes = self.tables.values().map(TableWrites::bytes).sum();
    }

    /// Writes the largest layers to runs, until half of the room is free.
    fn freeze(&mut self, space: WriteSetSpace<'_>) -> Result<()> {
        if !self.aborted.is_empty() {
            let aborted = &self.aborted;
            self.tables.values_mut().for_each(|writes| writes.each(&mut |layers| layers.prune(aborted)));
            self.count_bytes();
        }
        while self.bytes > self.room / 2 {
            let tables = self.tables.iter();
            let all =
                tables.flat_map(|(id, writes)| writes.layers().map(|(index, layers)| ((*id, index), layers)));
            let Some((place, _)) = all.max_by_key(|(_, layers)| layers.bytes()) else { break };
            self.freeze_at(space, place, true)?;
        }
        Ok(())
    }

    /// Freezes the writes to a table, or its view of an index, and merges runs if there are many.
    pub(super) fn freeze_at(
        &mut self,
        space: WriteSetSpace<'_>,
        (table, index): (TableId, Option<u64>),
        merge: bool,
    ) -> Result<()> {
        let keys =
            self.tables.get(&table).and_then(|writes| writes.at(index)).map_or(0, Layers::next_entries);
        let filtered = self.has_room_for_filter(space, keys)?;
        let Some(writes) = self.tables.get_mut(&table) else { return Ok(()) };
        let layers = match index {
            None => Some(&mut writes.rows),
            Some(index) => writes.views.get_mut(&index),
        };
        let frozen = layers.map_or(Ok(()), |layers| {
            let spill = spill(space, filtered);
            layers.freeze(&self.aborted, spill)?;
            if merge { layers.merge_runs(&self.aborted, spill) } else { Ok(()) }
        });
        self.count_bytes();
        self.set_room(space);
        frozen
    }
}

pub(super) fn spill(space: WriteSetSpace<'_>, filtered: bool) -> Spill<'_> {
    Spill { env: space.env, filtered, max_history: space.limits.max_row_history }
}
