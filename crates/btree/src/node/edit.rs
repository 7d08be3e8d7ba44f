//! Changes the bytes of one node. Only the redo handler calls it, so the same code makes a change and replays it.
//! Every function checks before it writes: on `Err` the page is unchanged.

use std::cmp::Ordering;

use leafline_storage::PageNo;

use super::build::{NodeBuilder, prefix_without_upper_fence};
use super::cell::{branch_cell_len, leaf_cell_len};
use super::header::{count_flags, put_history, raise_max_commit_ts};
use super::history::{InsertHistory, insert_history};
use super::layout::{
    CHILD, HAS_PAYLOAD, NodeFault, NodeResult, PAYLOAD_LEN, SLOT, SLOTS, Slot, TIMESTAMP, common_prefix,
    field, head_of, put_u16, u48_bytes,
};
use super::node_view::Node;
use super::packed::MAX_CELL_ENTRIES;
use super::packed_edit::CellReplacement;
use crate::entry::{CommitTs, EntryFlags, EntryView};

const NO_ROOM: NodeFault = NodeFault("no room on the page");

/// The part of a node that a split leaves on the page, or the side on which a merge adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The lower keys.
    Left,
    /// The upper keys.
    Right,
}

/// Inserts an entry at position `slot`.
pub fn leaf_insert(page: &mut [u8], slot: usize, suffix: &[u8], entry: EntryView<'_>) -> NodeResult<()> {
    let node = leaf(page)?;
    let history = insert_history(node.history(), slot, node.count());
    if node.is_packed() {
        CellReplacement::insert(&node, slot, suffix, entry)?.apply(page)?;
        put_history(page, history);
        return Ok(());
    }
    let has_ts = entry.flags.contains(EntryFlags::HAS_TS);
    let len = leaf_cell_len(has_ts, suffix.len(), entry.payload.len());
    let start = insert_cell(page, slot, len, |page, start| {
        let flags = write_leaf_cell(page, start, suffix, entry);
        Slot { head: head_of(suffix), offset: start, suffix_len: suffix.len(), flags }
    })?;
    debug_assert!(start >= SLOTS);
    count_flags(page, (EntryFlags::default(), 0), (entry.flags, 1))?;
    raise_max_commit_ts(page, entry.commit_ts);
    put_history(page, history);
    Ok(())
}

/// Replaces the payload, flags and timestamp of the entry at position `slot`. The new payload is the first `keep.0`
/// bytes of the old one, `middle`, and the last `keep.1` bytes of the old one.
pub fn leaf_replace(
    page: &mut [u8],
    slot: usize,
    flags: EntryFlags,
    ts: CommitTs,
    keep: (usize, usize),
    middle: &[u8],
) -> NodeResult<()> {
    let node = leaf(page)?;
    let (head, tail) = keep;
    let mut unpacked = Vec::new();
    let old_payload = node.entry(slot, &mut unpacked)?.payload;
    if head + tail > old_payload.len() {
        return Err(NodeFault("more of the old payload kept than there is"));
    }
    if node.is_packed() {
        let payload = [&old_payload[..head], middle, &old_payload[old_payload.len() - tail..]].concat();
        return CellReplacement::replace(&node, slot, EntryView { flags, commit_ts: ts, payload: &payload })?
            .apply(page);
    }
    let old = node.slot(slot)?;
    let cell = node.leaf_cell(slot)?;
    let old_len = node.cell_len(slot)?;
    let payload_len = head + middle.len() + tail;
    let has_ts = flags.contains(EntryFlags::HAS_TS);
    let new_len = leaf_cell_len(has_ts, cell.suffix.len(), payload_len);
    let old_flags = cell.entry.flags;
    if payload_len == old_payload.len() && has_ts == old_flags.contains(EntryFlags::HAS_TS) {
        let payload_at = old.offset + old_len - payload_len;
        page[payload_at + head..payload_at + head + middle.len()].copy_from_slice(middle);
        if has_ts {
            page[old.offset..old.offset + TIMESTAMP].copy_from_slice(&u48_bytes(ts.0));
        }
        put_slot(page, slot, Slot { flags: flags.0 | (old.flags & HAS_PAYLOAD), ..old });
    } else {
        let suffix = cell.suffix.to_vec();
        let payload = [&old_payload[..head], middle, &old_payload[old_payload.len() - tail..]].concat();
        let entry = EntryView { flags, commit_ts: ts, payload: &payload };
        let garbage = node.garbage();
        if new_len <= old_len {
            let flags = write_leaf_cell(page, old.offset, &suffix, entry);
            put_slot(page, slot, Slot { flags, ..old });
            put_u16(page, field::GARBAGE, garbage + old_len - new_len);
        } else if new_len <= node.contiguous_free() {
            let start = node.heap_start() - new_len;
            let flags = write_leaf_cell(page, start, &suffix, entry);
            put_slot(page, slot, Slot { flags, offset: start, ..old });
            put_u16(page, field::HEAP_START, start);
            put_u16(page, field::GARBAGE, garbage + old_len);
        } else if new_len <= node.free() + old_len {
            let mut builder = NodeBuilder::like(&node, node.lower_fence(), node.upper_fence())?;
            builder.push_all(&node, 0..slot)?;
            builder.push_leaf(node.prefix(), &suffix, entry)?;
            builder.push_all(&node, slot + 1..node.slots())?;
            // The builder has counted the flags.
            builder.finish_into(page)?;
            raise_max_commit_ts(page, ts);
            return Ok(());
        } else {
            return Err(NO_ROOM);
        }
    }
    count_flags(page, (old_flags, 1), (flags, 1))?;
    raise_max_commit_ts(page, ts);
    Ok(())
}

/// Removes the entry at position `slot`.
pub fn leaf_remove(page: &mut [u8], slot: usize) -> NodeResult<()> {
    let node = leaf(page)?;
    if node.is_packed() {
        return CellReplacement::remove(&node, slot)?.apply(page);
    }
    let flags = node.search().flags(slot)?;
    remove_cell(page, slot)?;
    count_flags(page, (flags, 1), (EntryFlags::default(), 0))
}

/// Removes ghosts and strips timestamps below `before`, and the page maximum if it is below.
pub fn leaf_settle(page: &mut [u8], before: CommitTs) -> NodeResult<()> {
    let node = leaf(page)?;
    let built = match settled(&node, before, true) {
        // Packed cells that are gathered anew nearly always take less room. Where they do not, the old packed cells
        // stay.
        Err(_) if node.is_packed() => settled(&node, before, false)?,
        built => built?,
    };
    page[field::LEVEL..].copy_from_slice(&built[field::LEVEL..]);
    Ok(())
}

/// Returns the settled leaf. With `anew`, the packed cells of a packed leaf are gathered anew; otherwise they stay as
/// they are.
fn settled(node: &Node<'_>, before: CommitTs, anew: bool) -> NodeResult<Vec<u8>> {
    let mut builder = NodeBuilder::like(node, node.lower_fence(), node.upper_fence())?;
    for slot in 0..node.slots() {
        if !anew {
            builder.push_settled_cell(node, slot, before)?;
            continue;
        }
        node.for_each_entry(slot..slot + 1, |suffix, entry| {
            let entry = match entry.commit_ts < before {
                true if entry.is_ghost() => return Ok(()),
                true => EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, ..entry },
                false => entry,
            };
            builder.push_leaf(node.prefix(), suffix, entry)
        })?;
    }
    // Otherwise the maximum stays, even if no entry has it any more: changes above the threshold may have removed
    // theirs.
    if node.max_commit_ts() < before {
        builder.set_max_commit_ts(CommitTs::NONE);
    }
    // Slots have moved, but the trend is still useful.
    let last = usize::from(node.history().last).min(node.count()) as u16;
    builder.set_history(InsertHistory { last, ..node.history() });
    builder.finish()
}

/// Returns about how many bytes settling the leaf would free. On a packed leaf, where packed cells are gathered anew,
/// it frees more.
pub fn settle_gain(node: &Node<'_>, before: CommitTs) -> NodeResult<usize> {
    let mut gain = node.slots().saturating_sub(node.count().div_ceil(MAX_CELL_ENTRIES) * 2)
        * SLOT
        * usize::from(node.is_packed());
    if node.unsettled() == 0 && node.ghosts() == 0 {
        return Ok(gain);
    }
    for slot in 0..node.slots() {
        let (flags, commit_ts) = node.stamp(slot)?;
        if flags == EntryFlags::default() || commit_ts >= before {
            continue;
        }
        if flags.contains(EntryFlags::GHOST) {
            gain += node.cell_len(slot)? + SLOT;
        } else if flags.contains(EntryFlags::HAS_TS) {
            gain += TIMESTAMP;
        }
    }
    Ok(gain)
}

/// Keeps one side of a node that is split at `position`. `separator` becomes the fence there.
pub fn truncate(
    page: &mut [u8],
    keep: Side,
    position: usize,
    separator: &[u8],
    history: InsertHistory,
) -> NodeResult<()> {
    let node = Node::open(page)?;
    part(&node, keep, position, separator, history)?.finish_into(page)
}

/// Returns one side of a node that is split at `position`, as a node of its own. Breaks a packed cell that the
/// position falls into.
pub fn part(
    node: &Node<'_>,
    side: Side,
    position: usize,
    separator: &[u8],
    history: InsertHistory,
) -> NodeResult<NodeBuilder> {
    let (slot, index) = match position.cmp(&node.count()) {
        Ordering::Less if node.is_packed() => node.search().slot_of(position)?,
        Ordering::Less => (position, 0),
        Ordering::Equal => (node.slots(), 0),
        Ordering::Greater => return Err(NodeFault("split beyond the last entry")),
    };
    let (lower, upper, slots) = match side {
        Side::Left => (node.lower_fence(), Some(separator), 0..slot),
        Side::Right => (separator, node.upper_fence(), slot + usize::from(index > 0)..node.slots()),
    };
    let mut builder = NodeBuilder::like(node, lower, upper)?;
    if side == Side::Left {
        builder.push_all(node, slots.clone())?;
    }
    if index > 0 {
        let mut at = 0;
        node.for_each_entry(slot..slot + 1, |suffix, entry| {
            at += 1;
            match (at <= index) == (side == Side::Left) {
                true => builder.push_leaf(node.prefix(), suffix, entry),
                false => Ok(()),
            }
        })?;
    }
    if side == Side::Right {
        builder.push_all(node, slots)?;
    }
    builder.set_history(history);
    Ok(builder)
}

/// Returns the length of the prefix of two neighbours that become one node.
pub fn merged_prefix(left: &Node<'_>, right: &Node<'_>) -> NodeResult<usize> {
    let lower = left.lower_fence();
    match right.upper_fence() {
        Some(upper) => Ok(common_prefix(lower, upper)),
        None if right.has_keys() => prefix_without_upper_fence(lower, right),
        None if right.is_leaf() => prefix_without_upper_fence(lower, left),
        // Its only child begins at the right lower fence.
        None => Ok(common_prefix(lower, right.lower_fence())),
    }
}

/// Adds the entries of the neighbour `other` to the node, which takes over the neighbour's outer fence.
pub fn absorb(page: &mut [u8], side: Side, other: &Node<'_>) -> NodeResult<()> {
    let node = Node::open(page)?;
    if node.level() != other.level() {
        return Err(NodeFault("merge of nodes of different levels"));
    }
    let (left, right) = match side {
        Side::Left => (other, &node),
        Side::Right => (&node, other),
    };
    if left.upper_fence() != Some(right.lower_fence()) {
        return Err(NodeFault("merge of nodes that are not neighbours"));
    }
    let (lower, upper) = (left.lower_fence(), right.upper_fence());
    let mut builder = NodeBuilder::like_with_prefix(&node, lower, upper, merged_prefix(left, right)?)?;
    builder.set_max_commit_ts(left.max_commit_ts().max(right.max_commit_ts()));
    // Both leaves are in memory and lack nothing, so each has all changes older than its own generation.
    builder.set_merged_through(left.merged_through().max(right.merged_through()));
    builder.set_history(InsertHistory::default());
    builder.push_all(left, 0..left.slots())?;
    builder.push_all(right, 0..right.slots())?;
    builder.finish_into(page)
}

/// Changes the length of the prefix of a node without an upper fence. It may become longer only where there are no
/// keys.
pub fn set_prefix(page: &mut [u8], prefix_len: usize) -> NodeResult<()> {
    let node = Node::open(page)?;
    let longest = if node.has_keys() { node.prefix().len() } else { node.lower_fence().len() };
    if node.upper_fence().is_some() || prefix_len > longest {
        return Err(NodeFault("prefix that keys need not share"));
    }
    let mut builder = NodeBuilder::like_with_prefix(&node, node.lower_fence(), None, prefix_len)?;
    builder.push_all(&node, 0..node.slots())?;
    builder.finish_into(page)
}

/// Inserts a child at `slot` (1 or more) that begins at key prefix + `suffix`.
pub fn branch_insert(page: &mut [u8], slot: usize, suffix: &[u8], child: PageNo) -> NodeResult<()> {
    let node = branch(page, slot.max(1) - 1)?;
    if slot == 0 {
        return Err(NodeFault("the first child of a branch is not inserted"));
    }
    let history = insert_history(node.history(), slot, node.count());
    insert_cell(page, slot, branch_cell_len(suffix.len()), |page, start| {
        page[start..start + CHILD].copy_from_slice(&u48_bytes(child.0));
        page[start + CHILD..start + CHILD + suffix.len()].copy_from_slice(suffix);
        Slot { head: head_of(suffix), offset: start, suffix_len: suffix.len(), flags: 0 }
    })?;
    put_history(page, history);
    Ok(())
}

/// Removes the child at `slot` (1 or more). The child before it then extends to the end of the removed one.
pub fn branch_remove(page: &mut [u8], slot: usize) -> NodeResult<()> {
    branch(page, slot)?;
    if slot == 0 {
        return Err(NodeFault("the first child of a branch is not removed"));
    }
    remove_cell(page, slot)
}

/// Makes `slot` refer to another child.
pub fn branch_set_child(page: &mut [u8], slot: usize, child: PageNo) -> NodeResult<()> {
    let node = branch(page, slot)?;
    node.child(slot)?;
    let at = node.slot(slot)?.offset;
    page[at..at + CHILD].copy_from_slice(&u48_bytes(child.0));
    Ok(())
}

fn leaf(page: &[u8]) -> NodeResult<Node<'_>> {
    let node = Node::open(page)?;
    if node.is_leaf() { Ok(node) } else { Err(NodeFault("a leaf's record for a branch")) }
}

fn branch(page: &[u8], slot: usize) -> NodeResult<Node<'_>> {
    let node = Node::open(page)?;
    if node.is_leaf() {
        return Err(NodeFault("a branch's record for a leaf"));
    }
    node.slot(slot)?;
    Ok(node)
}

/// Makes room for a cell of `len` bytes and its slot, calls `write` to write the cell, and inserts the slot.
fn insert_cell(
    page: &mut [u8],
    slot: usize,
    len: usize,
    write: impl FnOnce(&mut [u8], usize) -> Slot,
) -> NodeResult<usize> {
    let node = Node::open(page)?;
    let count = node.count();
    if slot > count {
        return Err(NodeFault("insert beyond the last slot"));
    }
    if node.free() < len + SLOT {
        return Err(NO_ROOM);
    }
    let heap = if node.contiguous_free() < len + SLOT { compact(page)? } else { node.heap_start() };
    let start = heap - len;
    if start < SLOTS + (count + 1) * SLOT {
        return Err(NodeFault("free space miscounted"));
    }
    let at = SLOTS + slot * SLOT;
    page.copy_within(at..SLOTS + count * SLOT, at + SLOT);
    put_u16(page, field::COUNT, count + 1);
    put_u16(page, field::HEAP_START, start & 0xffff);
    let written = write(page, start);
    put_slot(page, slot, written);
    Ok(start)
}

fn remove_cell(page: &mut [u8], slot: usize) -> NodeResult<()> {
    let node = Node::open(page)?;
    let count = node.count();
    let len = node.cell_len(slot)?;
    let old = node.slot(slot)?;
    let (heap, garbage) = (node.heap_start(), node.garbage());
    let at = SLOTS + slot * SLOT;
    page.copy_within(at + SLOT..SLOTS + count * SLOT, at);
    put_u16(page, field::COUNT, count - 1);
    if old.offset == heap && len > 0 {
        put_u16(page, field::HEAP_START, (heap + len) & 0xffff);
    } else {
        put_u16(page, field::GARBAGE, garbage + len);
    }
    Ok(())
}

/// Removes the garbage. Returns the new start of the heap.
fn compact(page: &mut [u8]) -> NodeResult<usize> {
    let node = Node::open(page)?;
    let mut builder = NodeBuilder::like(&node, node.lower_fence(), node.upper_fence())?;
    builder.push_all(&node, 0..node.slots())?;
    builder.finish_into(page)?;
    Ok(Node::open(page)?.heap_start())
}

fn put_slot(page: &mut [u8], slot: usize, value: Slot) {
    let at = SLOTS + slot * SLOT;
    page[at..at + SLOT].copy_from_slice(&value.encode());
}

/// Writes a leaf cell at `start`. Returns the slot flags.
fn write_leaf_cell(page: &mut [u8], start: usize, suffix: &[u8], entry: EntryView<'_>) -> u8 {
    let mut at = start;
    let mut flags = entry.flags.0;
    if entry.flags.contains(EntryFlags::HAS_TS) {
        page[at..at + TIMESTAMP].copy_from_slice(&u48_bytes(entry.commit_ts.0));
        at += TIMESTAMP;
    }
    if !entry.payload.is_empty() {
        put_u16(page, at, entry.payload.len());
        at += PAYLOAD_LEN;
        flags |= HAS_PAYLOAD;
    }
    page[at..at + suffix.len()].copy_from_slice(suffix);
    at += suffix.len();
    page[at..at + entry.payload.len()].copy_from_slice(entry.payload);
    flags
}
