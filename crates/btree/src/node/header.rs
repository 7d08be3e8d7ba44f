//! Changes of header fields of a node.

use super::history::InsertHistory;
use super::layout::{NodeResult, field, get_u16, get_u64, put_u16};
use super::packed::MISCOUNTED;
use crate::entry::{CommitTs, EntryFlags};

/// Writes the insert history.
pub(super) fn put_history(page: &mut [u8], history: InsertHistory) {
    put_u16(page, field::LAST_INSERT, usize::from(history.last));
    page[field::TREND] = history.trend as u8;
    page[field::SPREAD] = history.spread;
}

/// Sets the generation of buffered changes that a leaf contains.
pub fn set_merged_through(page: &mut [u8], generation: u64) {
    page[field::MERGED_THROUGH..][..8].copy_from_slice(&generation.to_le_bytes());
}

/// Updates the counters of ghosts and unsettled entries when a number of entries with some flags is replaced by
/// others.
///
/// # Errors
/// Returns a fault if the page counts fewer than there were.
pub(super) fn count_flags(
    page: &mut [u8],
    old: (EntryFlags, usize),
    new: (EntryFlags, usize),
) -> NodeResult<()> {
    for (at, flag) in [(field::GHOSTS, EntryFlags::GHOST), (field::UNSETTLED, EntryFlags::HAS_TS)] {
        let of = |(flags, number): (EntryFlags, usize)| if flags.contains(flag) { number } else { 0 };
        let number = usize::from(get_u16(page, at)) + of(new);
        put_u16(page, at, number.checked_sub(of(old)).ok_or(MISCOUNTED)?);
    }
    Ok(())
}

/// Raises the maximum of the timestamps of changes to `ts`.
pub(super) fn raise_max_commit_ts(page: &mut [u8], ts: CommitTs) {
    if ts.0 > get_u64(page, field::MAX_COMMIT_TS) {
        page[field::MAX_COMMIT_TS..field::MAX_COMMIT_TS + 8].copy_from_slice(&ts.0.to_le_bytes());
    }
}
