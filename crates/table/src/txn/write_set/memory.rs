//! The memory of a write set: where it comes from, and what happens when there is no more.
//!
//! The first [`ALLOWANCE`] bytes are free, so that small transactions pay nothing; what is more is borrowed from the buffer
//! pool, in steps. When the pool lends no more, or the transaction has what one may have (`transaction_memory_bytes`), the largest
//! layers are written to runs. Runs keep their index and filters in memory, which is borrowed too. Filters are done without
//! when nothing is lent for them; an index (about 1/300 of the run) and two blocks for each run are taken in any case.

use super::layers::{Layers, Spill};
use super::{TableWrites, WriteSet};
use crate::catalog::TableId;
use crate::engine::Engine;
use crate::error::Result;
use crate::run::filter_bytes;
use leafline_storage::{MemoryLoan, StorageError};

/// Bytes of memory that a write set takes without borrowing them.
pub(crate) const ALLOWANCE: u64 = 64 << 10;
/// Bytes that are borrowed at once, at least and at most: as many as the transaction has already, in between.
const LEAST_STEP: u64 = 64 << 10;
const LARGEST_STEP: u64 = 1 << 20;

impl WriteSet {
    /// Makes room for the next write: borrows memory, or moves writes to runs. Fails if neither is possible; nothing is lost
    /// then. The caller holds no latch.
    #[inline]
    pub(crate) fn make_room(&mut self, engine: &Engine) -> Result<()> {
        if self.bytes < self.room { Ok(()) } else { self.find_room(engine) }
    }

    #[cold]
    fn find_room(&mut self, engine: &Engine) -> Result<()> {
        let limit = engine.limits.write_set_memory;
        self.set_room(engine);
        if self.bytes < self.room {
            return Ok(());
        }
        if self.room < limit {
            let step = self.room.clamp(LEAST_STEP, LARGEST_STEP).min(limit - self.room);
            if self.borrow(engine, step)? {
                return Ok(());
            }
        }
        self.freeze(engine)
    }

    /// Computes how much there may be in memory.
    fn set_room(&mut self, engine: &Engine) {
        let limit = engine.limits.write_set_memory;
        let granted = ALLOWANCE + self.loan.as_ref().map_or(0, MemoryLoan::bytes);
        let room = granted.saturating_sub(self.run_bytes());
        self.room = room.max(ALLOWANCE).min(limit);
    }

    /// Borrows more. False if the pool does not lend it.
    pub(super) fn borrow(&mut self, engine: &Engine, bytes: u64) -> Result<bool> {
        let lent = match &mut self.loan {
            Some(loan) => loan.grow(bytes),
            none => engine.store.borrow_memory(bytes).map(|loan| *none = Some(loan)),
        };
        let lent = match lent {
            Ok(()) => true,
            Err(StorageError::MemoryExhausted { .. }) => false,
            Err(other) => return Err(other.into()),
        };
        self.set_room(engine);
        Ok(lent)
    }

    /// Whether a filter for as many keys may be kept in memory: filters alone take half of what is granted at most.
    pub(super) fn has_room_for_filter(&mut self, engine: &Engine, keys: u64) -> Result<bool> {
        let granted = ALLOWANCE + self.loan.as_ref().map_or(0, MemoryLoan::bytes);
        let bytes = filter_bytes(keys);
        Ok(self.run_bytes() + bytes <= granted / 2 || self.borrow(engine, bytes)?)
    }

    /// Bytes of memory that the runs take.
    fn run_bytes(&self) -> u64 {
        self.tables.values().flat_map(TableWrites::layers).map(|(_, layers)| layers.run_bytes()).sum()
    }

    pub(super) fn count_bytes(&mut self) {
        self.bytes = self.tables.values().map(TableWrites::bytes).sum();
    }

    /// Writes the largest layers to runs, until half of the room is free.
    fn freeze(&mut self, engine: &Engine) -> Result<()> {
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
            self.freeze_at(engine, place, true)?;
        }
        Ok(())
    }

    /// Freezes what was written to a table, or its view of an index; and merges runs, if there are many.
    pub(super) fn freeze_at(
        &mut self,
        engine: &Engine,
        (table, index): (TableId, Option<u64>),
        merge: bool,
    ) -> Result<()> {
        let keys =
            self.tables.get(&table).and_then(|writes| writes.at(index)).map_or(0, Layers::next_entries);
        let filtered = self.has_room_for_filter(engine, keys)?;
        let Some(writes) = self.tables.get_mut(&table) else { return Ok(()) };
        let layers = match index {
            None => Some(&mut writes.rows),
            Some(index) => writes.views.get_mut(&index),
        };
        let frozen = layers.map_or(Ok(()), |layers| {
            let spill = spill(engine, filtered);
            layers.freeze(&self.aborted, spill)?;
            if merge { layers.merge_runs(&self.aborted, spill) } else { Ok(()) }
        });
        self.count_bytes();
        self.set_room(engine);
        frozen
    }
}

pub(super) fn spill(engine: &Engine, filtered: bool) -> Spill<'_> {
    Spill { env: &engine.env, filtered, max_history: engine.limits.max_row_history }
}
