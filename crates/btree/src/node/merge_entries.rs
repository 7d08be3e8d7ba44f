//! Merges changes that were kept elsewhere into a leaf. One function does it in memory alone, logged, and in replay.
//!
//! A [`BufferedEntry`] is the state that a key shall have. The entry that it replaces is unknown, so `HAS_PREVIOUS`
//! is set: a reader that does not see the change asks the row. A deletion that no snapshot needs any more removes the
//! entry at once, and a change that all snapshots see carries no timestamp.

use leafline_storage::page::bytes::Reader;

use super::cell::leaf_cell_len;
use super::edit;
use super::header::set_merged_through;
use super::layout::{NodeFault, NodeResult, u48, u48_bytes};
use super::node_view::Node;
use super::packed::SHORT_KEY;
use super::room::has_room;
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// The state that a key shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferedEntry {
    /// The key.
    pub key: Vec<u8>,
    /// Whether the entry is deleted.
    pub ghost: bool,
    /// Timestamp of the commit.
    pub ts: CommitTs,
    /// The bytes stored under the key.
    pub payload: Vec<u8>,
}

/// Bytes of a record besides keys and payloads. [`ENTRY_HEAD`]: such bytes of each entry.
const HEAD: usize = 14;
const ENTRY_HEAD: usize = 11;

impl BufferedEntry {
    /// Returns the bytes that the entry takes in a record, which are also the most that it takes on a leaf.
    pub fn encoded_len(&self) -> usize {
        ENTRY_HEAD + leaf_cell_len(true, self.key.len(), self.payload.len())
    }

    fn view(&self, purge_before: CommitTs) -> EntryView<'_> {
        view(self.ghost, self.ts, &self.payload, purge_before)
    }
}

fn view(ghost: bool, ts: CommitTs, payload: &[u8], purge_before: CommitTs) -> EntryView<'_> {
    let settled = ts < purge_before;
    let commit_ts = if settled { CommitTs::NONE } else { ts };
    EntryView { flags: EntryFlags::of(ghost, commit_ts, !settled), commit_ts, payload }
}

/// Merges entries, in the order of their keys, into a leaf. Returns `Ok(false)` if they do not fit; the page must
/// then be discarded.
pub fn merge_entries(page: &mut [u8], entries: &[BufferedEntry], purge_before: CommitTs) -> NodeResult<bool> {
    for entry in entries {
        if !merge_one(page, &entry.key, entry.ts, entry.view(purge_before))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Merges one entry. Returns `Ok(false)` if there is no room.
fn merge_one(page: &mut [u8], key: &[u8], ts: CommitTs, new: EntryView<'_>) -> NodeResult<bool> {
    let leaf = Node::open(page)?;
    if !leaf.is_leaf() || !leaf.covers(key) {
        return Err(NodeFault("an entry merged into a node that does not hold its key"));
    }
    let (slot, found) = leaf.lower_bound(key)?;
    if found {
        // The entry of a later commit is there already: a commit that is finished after a crash can come late.
        if leaf.stamp_at(slot)?.1 > ts {
            return Ok(true);
        }
        if new.is_ghost() && !new.commit_ts.is_some() {
            edit::leaf_remove(page, slot)?;
            return Ok(true);
        }
        if !has_room(&leaf, key, (slot, found), new)? {
            return Ok(false);
        }
        edit::leaf_replace(page, slot, new.flags, new.commit_ts, (0, 0), new.payload)?;
        return Ok(true);
    }
    if new.is_ghost() && !new.commit_ts.is_some() {
        return Ok(true);
    }
    let prefix = leaf.prefix_for(key);
    let suffix = key.get(prefix.unwrap_or(leaf.prefix().len())..).ok_or(SHORT_KEY)?;
    if !has_room(&leaf, key, (slot, found), new)? {
        return Ok(false);
    }
    if let Some(prefix) = prefix {
        edit::set_prefix(page, prefix)?;
    }
    edit::leaf_insert(page, slot, suffix, new)?;
    Ok(true)
}

/// Returns the payload of a record that merges entries. The leaf then contains all changes before generation
/// `through`.
pub(super) fn encode(entries: &[BufferedEntry], through: u64, purge_before: CommitTs) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + entries.iter().map(BufferedEntry::encoded_len).sum::<usize>());
    out.extend(through.to_le_bytes());
    out.extend(u48_bytes(purge_before.0));
    for entry in entries {
        out.push(u8::from(entry.ghost));
        out.extend(u48_bytes(entry.ts.0));
        out.extend((entry.key.len() as u16).to_le_bytes());
        out.extend((entry.payload.len() as u16).to_le_bytes());
        out.extend(&entry.key);
        out.extend(&entry.payload);
    }
    out
}

/// Makes the change of such a record. Returns `None` if it ends early.
pub(super) fn redo(page: &mut [u8], from: &mut Reader<'_>) -> Option<NodeResult<()>> {
    let through = from.u64()?;
    let purge_before = CommitTs(u48(from.take(6)?));
    while !from.is_empty() {
        let ghost = from.u8()? != 0;
        let ts = CommitTs(u48(from.take(6)?));
        let (key_len, payload_len) = (usize::from(from.u16()?), usize::from(from.u16()?));
        let (key, payload) = (from.take(key_len)?, from.take(payload_len)?);
        match merge_one(page, key, ts, view(ghost, ts, payload, purge_before)) {
            Ok(true) => {}
            Ok(false) => return Some(Err(NodeFault("entries that do not fit the leaf"))),
            Err(fault) => return Some(Err(fault)),
        }
    }
    set_merged_through(page, through);
    Some(Ok(()))
}
