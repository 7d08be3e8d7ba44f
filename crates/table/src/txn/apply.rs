//! Applies operations to trees, for commits and for recovery.
//!
//! Operations on one leaf are made in one mini-transaction, so that recovery finds either all of them or none; it
//! does not rely on that.
//!
//! A commit replaces rows and marks deletions as ghosts, and saves the old versions before the page changes. Recovery
//! applies a commit without an end record again, on pages that may contain any part of it. It skips changes that are
//! there already (the entry has the commit's timestamp or a later one), saves nothing, and removes what the commit
//! deleted outright, because no snapshot is left that could ask for it. Commits in doubt never conflict with each
//! other, nor with later commits: a conflicting one would have been appended after their end record.

use crate::change_buffer::ChangeBuffer;
use crate::error::Result;
use crate::mvcc::versions::{Version, VersionStore};
use crate::op::Op;
use leafline_btree::{Change, CommitTs, EntryView, Tree};
use leafline_storage::{Reservation, SegmentId};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Applies the operations of a commit.
pub(crate) struct Applier<'a> {
    pub(crate) versions: &'a VersionStore,
    pub(crate) change_buffer: &'a ChangeBuffer,
    /// The trees of non-unique secondary indexes, whose changes may be buffered.
    pub(crate) bufferable: &'a BTreeSet<SegmentId>,
    /// Ghosts and timestamps from before this may be removed.
    pub(crate) purge_before: CommitTs,
}

/// The maximum number of operations made together, under one latch. It is small in tests, so that they see the states
/// in between.
const MOST_OPS: usize = if cfg!(test) { 2 } else { 64 };
/// The maximum size of their keys and payloads in bytes; a single operation may exceed it.
const MOST_BYTES: usize = if cfg!(test) { 512 } else { 8 << 10 };
/// The log bytes of operations made together, beyond the worst case of one of them.
pub(crate) const MORE_LOG_BYTES: usize = MOST_BYTES + MOST_OPS * 64;

/// The first operations of `ops` that may be made together: they change one tree, and are within the limits.
pub(crate) fn together(ops: &[Op]) -> &[Op] {
    let Some(first) = ops.first() else { return ops };
    let mut bytes = 0;
    let fits = |op: &&Op| {
        bytes += op.key().len() + op.payload_len();
        op.tree() == first.tree() && bytes <= MOST_BYTES
    };
    let count = ops.iter().take(MOST_OPS).take_while(fits).count();
    &ops[..count.max(1)]
}

impl Applier<'_> {
    /// Makes the first changes of `ops`, as many as are on one leaf, and at least one. `ops` ascend by key; the
    /// commit at `ts` has locked the rows. Returns the number of changes, and whether they were buffered.
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        ops: &[Op],
        ts: CommitTs,
        reservation: &mut Reservation,
    ) -> Result<(usize, bool)> {
        let Some(first) = ops.first() else { return Ok((0, false)) };
        let mut decide = |number: usize, entry: Option<EntryView<'_>>| {
            ops.get(number).map_or(Change::Keep, |op| self.decide(op, ts, entry))
        };
        if self.bufferable.contains(&first.tree()) {
            return self.change_buffer.apply(tree, ops, ts, reservation, &mut decide);
        }
        let key = |number: usize| ops.get(number).map(Op::key);
        Ok((tree.modify_run(reservation, &key, self.purge_before, &mut decide)?, false))
    }

    /// Decides the change of `op` to its current entry. Saves the row version that it replaces.
    fn decide<'o>(&self, op: &'o Op, ts: CommitTs, entry: Option<EntryView<'_>>) -> Change<'o> {
        // Old versions of a secondary entry are derived from its row.
        if let (Some(entry), Op::PutRow { table, key, .. } | Op::DeleteRow { table, key, .. }) = (entry, op) {
            let payload = (!entry.is_ghost()).then_some(entry.payload);
            let (begin, first) = (entry.commit_ts, !entry.has_previous());
            self.versions.save(&Version { table: *table, key, begin, end: ts, first, payload });
        }
        change_of(op, ts, entry.is_some())
    }
}

/// The change of `op` for the commit at `ts`. Without a previous version, no snapshot need look for one.
pub(super) fn change_of(op: &Op, ts: CommitTs, has_previous: bool) -> Change<'_> {
    match op {
        Op::PutRow { payload, .. } | Op::PutEntry { payload, .. } => {
            Change::Put { payload: Cow::Borrowed(payload), ts, has_previous }
        }
        Op::DeleteRow { .. } | Op::DropEntry { .. } => {
            Change::Ghost { ts, has_previous, keep_payload: false }
        }
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
        let op = std::slice::from_ref(op);
        change_buffer.apply(tree, op, ts, reservation, &mut |_, entry| decide(entry))?;
    } else {
        tree.modify(reservation, op.key(), CommitTs(0), &mut decide)?;
    }
    Ok(())
}
