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
use crate::change_buffer::ChangeBuffer;
use crate::error::Result;
use leafline_btree::{Change, CommitTs, EntryView, Tree};
use leafline_storage::{Reservation, SegmentId};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Who applies.
pub(crate) struct Applier<'a> {
    pub(crate) versions: &'a VersionStore,
    pub(crate) change_buffer: &'a ChangeBuffer,
    /// Non-unique secondary indexes.
    pub(crate) bufferable: &'a BTreeSet<SegmentId>,
    /// What was deleted or settled before this may be cleared away.
    pub(crate) purge_before: CommitTs,
}

impl Applier<'_> {
    /// Makes the change of `op` for the commit at `ts`, which has the row locked. Whether it was buffered.
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        op: &Op,
        ts: CommitTs,
        reservation: &mut Reservation,
    ) -> Result<bool> {
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
        let mut decide = |entry: Option<EntryView<'_>>| match op {
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
        };
        if self.bufferable.contains(&op.tree()) {
            return self.change_buffer.apply(tree, op, ts, reservation, &mut decide);
        }
        tree.modify(reservation, key, self.purge_before, &mut decide)?;
        Ok(false)
    }
}

/// Makes the change of `op` for the commit at `ts` again, in recovery.
pub(crate) fn reapply(
    change_buffer: &ChangeBuffer,
    tree: &Tree,
    op: &Op,
    ts: CommitTs,
    reservation: &mut Reservation,
) -> Result<()> {
    let mut decide = |entry: Option<EntryView<'_>>| {
        if entry.is_some_and(|entry| entry.commit_ts >= ts && !(entry.is_ghost() && entry.commit_ts == ts)) {
            return Change::Keep;
        }
        match op {
            Op::PutRow { payload, .. } | Op::PutEntry { payload, .. } => {
                Change::Put { payload: Cow::Borrowed(payload), ts, has_previous: false }
            }
            Op::DeleteRow { .. } | Op::DropEntry { .. } => Change::Remove,
        }
    };
    if change_buffer.is_pending(tree.id()) {
        change_buffer.apply(tree, op, ts, reservation, &mut decide)?;
    } else {
        tree.modify(reservation, op.key(), CommitTs(0), &mut decide)?;
    }
    Ok(())
}
