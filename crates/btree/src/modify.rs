//! Changing one entry.
use crate::{Change, CommitTs, EntryView, Result, Tree};
use leafline_storage::Reservation;

impl Tree {
    /// Asks `decide` what to do with the entry under `key` and does it, in one mini-transaction (more when pages
    /// must be split). `decide` runs under the leaf's exclusive latch and must not block; it may run more than
    /// once, the last answer counts. Ghosts and timestamps below `purge_before` may be cleared away for room.
    ///
    /// # Errors
    /// `KeyTooLong`, `EntryTooLarge`, `Corrupt`, what the store returns.
    pub fn modify<'b>(
        &self,
        _reservation: &mut Reservation,
        _key: &[u8],
        _purge_before: CommitTs,
        _decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<()> {
        todo!()
    }
}
