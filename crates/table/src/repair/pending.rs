//! The changes that commits still have to make to a quarantined clustered index.
//!
//! The changes come in the order of keys, and under a key in the order of timestamps, while they are merged
//! with the readable rows. A change is made if the row does not include it yet, by the same rule as in
//! recovery ([`crate::txn::apply`]).

use crate::error::{Result, TableError};
use crate::op::Op;
use crate::op_run::{OpRun, RunName, RunPosition};
use crate::quarantine::Quarantined;
use crate::run::{EntrySource, Merge, Sorter};
use leafline_btree::{CommitTs, EntryView, Salvage};
use leafline_storage::{Env, SegmentId, StorageError};
use std::io;
use std::sync::Arc;

/// The length of the timestamp after a key. No key of an index is a prefix of another, so that keys with
/// timestamps sort by key and then by timestamp.
const TS_BYTES: usize = 8;

/// A change of a row: its new payload, or `None` if it is deleted.
struct Change {
    key: Vec<u8>,
    ts: CommitTs,
    payload: Option<Vec<u8>>,
}

/// The result of the pending changes of one row.
enum Pending {
    /// There are no changes.
    Nothing,
    /// The row has this payload.
    Row(Vec<u8>),
    /// The row is deleted.
    Gone,
}

/// The pending changes, in order.
pub(super) struct PendingRows {
    changes: Merge<'static>,
    next: Option<Change>,
    made: u64,
    unknown: Vec<String>,
}

impl PendingRows {
    /// Loads the changes known to be pending in `tree` of the database in `from`. Sorts them in `env`, with
    /// at most `memory` bytes.
    pub(super) fn new(
        env: &Arc<dyn Env>,
        memory: u64,
        from: &Arc<dyn Env>,
        tree: SegmentId,
        known: &Quarantined,
    ) -> Result<PendingRows> {
        let mut sorter = Sorter::new(env, memory);
        let mut unknown = Vec::new();
        if known.incomplete {
            unknown.push(
                "changes by commits that recovery could not make: what was kept of them cannot be read"
                    .into(),
            );
        }
        for ((_, ts), op) in &known.ops {
            push(&mut sorter, *ts, op)?;
        }
        for (ts, run) in &known.runs {
            match push_run(from, tree, *ts, *run, &mut sorter) {
                Err(error) if is_lost(&error) => {
                    unknown.push(format!("changes by a large commit that recovery could not make: {error}"));
                }
                other => other?,
            }
        }
        let mut rows = PendingRows { changes: sorter.finish()?, next: None, made: 0, unknown };
        rows.advance()?;
        Ok(rows)
    }

    /// Calls `row` in key order for every row found, after its changes, and for every row that the changes
    /// create.
    pub(super) fn merge(
        &mut self,
        found: &Salvage,
        mut row: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        found.entries(|key, entry| -> Result<()> {
            while let Some((key, payload)) = self.next_before(Some(key))? {
                row(&key, &payload)?;
            }
            match self.resolve(key, Some(&entry))? {
                Pending::Nothing if entry.is_ghost() => Ok(()),
                Pending::Nothing => row(key, entry.payload),
                Pending::Row(payload) => row(key, &payload),
                Pending::Gone => Ok(()),
            }
        })?;
        while let Some((key, payload)) = self.next_before(None)? {
            row(&key, &payload)?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<Change>> {
        let damaged = || TableError::Internal("a pending change is malformed".into());
        let next = match self.changes.next()? {
            None => None,
            Some((key, entry)) => {
                let (key, ts) = key.split_last_chunk::<TS_BYTES>().ok_or_else(damaged)?;
                let (is_put, payload) = entry.split_first().ok_or_else(damaged)?;
                let payload = (*is_put == 1).then(|| payload.to_vec());
                Some(Change { key: key.to_vec(), ts: CommitTs(u64::from_be_bytes(*ts)), payload })
            }
        };
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// The next row that changes create with a key before `bound`. Changes from `bound` on are left.
    fn next_before(&mut self, bound: Option<&[u8]>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        loop {
            let key = match &self.next {
                Some(next) if bound.is_none_or(|bound| next.key.as_slice() < bound) => next.key.clone(),
                _ => return Ok(None),
            };
            if let Pending::Row(payload) = self.resolve(&key, None)? {
                return Ok(Some((key, payload)));
            }
        }
    }

    /// Applies the changes under `key` to its entry; they come next, if there are any.
    fn resolve(&mut self, key: &[u8], entry: Option<&EntryView<'_>>) -> Result<Pending> {
        let mut outcome = Pending::Nothing;
        while self.next.as_ref().is_some_and(|next| next.key == key) {
            let Some(change) = self.advance()? else { break };
            let seen = |entry: &&EntryView<'_>| {
                entry.commit_ts >= change.ts && !(entry.is_ghost() && entry.commit_ts == change.ts)
            };
            if entry.filter(seen).is_some() {
                continue;
            }
            self.made += 1;
            outcome = change.payload.map_or(Pending::Gone, Pending::Row);
        }
        Ok(outcome)
    }

    /// The number of changes made, and descriptions of changes that could not be read.
    pub(super) fn outcome(self) -> (u64, Vec<String>) {
        (self.made, self.unknown)
    }
}

fn push(sorter: &mut Sorter, ts: CommitTs, op: &Op) -> Result<()> {
    let key = [op.key(), &ts.0.to_be_bytes()].concat();
    match op {
        Op::PutRow { payload, .. } => sorter.push(&key, &[&[1], payload.as_slice()].concat()),
        Op::DeleteRow { .. } => sorter.push(&key, &[0]),
        Op::PutEntry { .. } | Op::DropEntry { .. } => Ok(()),
    }
}

/// Adds the changes of `tree` from a large commit, whether they have been made or not.
fn push_run(
    from: &Arc<dyn Env>,
    tree: SegmentId,
    ts: CommitTs,
    run: RunName,
    sorter: &mut Sorter,
) -> Result<()> {
    let run = OpRun::open(from, run)?;
    let mut reader = run.read_from(RunPosition::default());
    while let Some(block) = reader.next_block()? {
        for op in block.ops.iter().filter(|op| op.tree() == tree) {
            push(sorter, ts, op)?;
        }
        if block.ops.last().is_some_and(|op| op.tree() > tree) {
            break;
        }
    }
    Ok(())
}

/// Returns whether an error says that stored changes are missing or damaged.
fn is_lost(error: &TableError) -> bool {
    match error {
        TableError::Corrupt(_) => true,
        TableError::Storage(StorageError::Io { source, .. }) => {
            matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}
