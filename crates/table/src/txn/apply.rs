//! Applying operations to trees: one function for commits, one for recovery.
//!
//! Operations on one leaf are made in one mini-transaction: so recovery finds either all of these or none, which is nothing it would rely upon.
//!
//! A commit replaces rows and marks deletions as ghosts, and saves what it replaces before the page changes.
//! Recovery applies a commit whose end record is missing again, on pages that hold any part of it: it skips what
//! is there already (the entry carries the commit's timestamp or a later one), saves nothing, and removes what the
//! commit deleted outright, because no snapshot is left that could ask. Commits that are in doubt never conflict
//! with each other, nor with later commits: a conflicting one would have been appended after their end record.

use super::op::Op;
use super::versions::{Version, VersionStore};
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

/// Most operations that are made together, under one latch: few in tests, which are to look at what is between.
const MOST_OPS: usize = if cfg!(test) { 2 } else { 64 };
/// Most bytes of their keys and payloads, unless it is one operation.
const MOST_BYTES: usize = if cfg!(test) { 512 } else { 8 << 10 };
/// Log bytes that operations which are made together take beyond the worst case of one of them.
pub(crate) const MORE_LOG_BYTES: usize = MOST_BYTES + MOST_OPS * 64;

/// The operations from the first of `ops` on that may be made together: on one tree, and not many.
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
    /// Makes the changes of the first of `ops`, which ascend by key, for the commit at `ts`, which has the rows locked: as many as are on
    /// one leaf, at least one. How many, and whether it is one that was buffered.
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

    /// The change of `op`, whose entry is this so far. What it replaces of a row is saved.
    fn decide<'o>(&self, op: &'o Op, ts: CommitTs, entry: Option<EntryView<'_>>) -> Change<'o> {
        // What was there before of an entry, the row says.
        if let (Some(entry), Op::PutRow { table, key, .. } | Op::DeleteRow { table, key, .. }) = (entry, op) {
            let payload = (!entry.is_ghost()).then_some(entry.payload);
            let (begin, first) = (entry.commit_ts, !entry.has_previous());
            self.versions.save(&Version { table: *table, key, begin, end: ts, first, payload });
        }
        change_of(op, ts, entry.is_some())
    }
}

/// The change of `op` for the commit at `ts`. Where nothing was there before, nobody need ask for it.
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
