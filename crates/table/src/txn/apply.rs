//! Applying operations to trees: one function for commits, one for recovery.
//!
//! A commit replaces rows and marks deletions as ghosts, and saves what it replaces before the page changes.
//! Recovery applies a commit whose end record is missing again, on pages that hold any part of it: it skips what
//! is there already (the entry carries the commit's timestamp or a later one), saves nothing, and removes what the
//! commit deleted outright, because no snapshot is left that could ask. Commits that are in doubt never conflict
//! with each other, nor with later commits: a conflicting one would have been appended after their end record.

use super::op::Op;
use super::versions::{Version, VersionStore};
use crate::catalog::TableId;
use crate::error::Result;
use leafline_btree::{Change, CommitTs, EntryView, Tree};
use leafline_storage::Reservation;
use std::borrow::Cow;

/// Who applies.
pub(crate) struct Applier<'a> {
    pub(crate) versions: &'a VersionStore,
    /// What was deleted or settled before this may be cleared away.
    pub(crate) purge_before: CommitTs,
}

impl Applier<'_> {
    /// Makes the change of `op` for the commit at `ts`, which has the row locked.
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        op: &Op,
        ts: CommitTs,
        reservation: &mut Reservation,
    ) -> Result<()> {
        let key = op.key();
        let save = |table: TableId, entry: Option<EntryView<'_>>| match entry {
            None => false,
            Some(entry) => {
                let payload = (!entry.is_ghost()).then_some(entry.payload);
                let first = !entry.has_previous();
                self.versions.save(&Version { table, key, begin: entry.commit_ts, end: ts, first, payload });
                true
            }
        };
        tree.modify(reservation, key, self.purge_before, &mut |entry| match op {
            Op::PutRow { table, payload, .. } => {
                let has_previous = save(*table, entry);
                Change::Put { payload: Cow::Borrowed(payload), ts, has_previous }
            }
            Op::DeleteRow { table, .. } => {
                let has_previous = save(*table, entry);
                Change::Ghost { ts, has_previous, keep_payload: false }
            }
            // What was there before, the row says; and where there was nothing, nobody need ask it.
            Op::PutEntry { payload, .. } => {
                Change::Put { payload: Cow::Borrowed(payload), ts, has_previous: entry.is_some() }
            }
            Op::DropEntry { .. } => Change::Ghost { ts, has_previous: entry.is_some(), keep_payload: false },
        })?;
        Ok(())
    }
}

/// Makes the change of `op` for the commit at `ts` again, in recovery.
pub(crate) fn reapply(tree: &Tree, op: &Op, ts: CommitTs, reservation: &mut Reservation) -> Result<()> {
    tree.modify(reservation, op.key(), CommitTs(0), &mut |entry| {
        if entry.is_some_and(|entry| entry.commit_ts >= ts && !(entry.is_ghost() && entry.commit_ts == ts)) {
            return Change::Keep;
        }
        match op {
            Op::PutRow { payload, .. } | Op::PutEntry { payload, .. } => {
                Change::Put { payload: Cow::Borrowed(payload), ts, has_previous: false }
            }
            Op::DeleteRow { .. } | Op::DropEntry { .. } => Change::Remove,
        }
    })?;
    Ok(())
}
