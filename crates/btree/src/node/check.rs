//! Checks the invariants of one node.

use super::layout::{NodeFault, NodeResult, head_of};
use super::node_view::Node;
use super::packed::MISCOUNTED;
use super::{SLOT, SLOTS, prefix_len};
use crate::entry::EntryFlags;
use crate::limits;

/// Checks everything that can be checked on the node alone.
pub fn check(node: &Node<'_>) -> NodeResult<()> {
    let (lower, upper) = (node.lower_fence(), node.upper_fence());
    if upper.is_some_and(|upper| upper <= lower) {
        return Err(NodeFault("fences out of order"));
    }
    // Without an upper fence, any prefix is right that the keys share with the lower fence, which they do by
    // construction.
    if upper.is_some() && node.prefix().len() != prefix_len(lower, upper) {
        return Err(NodeFault("prefix is not the common prefix of the fences"));
    }
    let upper_head = upper.map_or(0, |upper| head_of(&upper[node.prefix().len()..]));
    if node.search().upper_head() != upper_head {
        return Err(NodeFault("upper head differs from the upper fence"));
    }
    check_slots(node)?;
    check_keys(node)?;
    check_space(node)?;
    if node.is_leaf() { check_entries(node) } else { check_children(node) }
}

/// Checks that slots agree with their cells.
fn check_slots(node: &Node<'_>) -> NodeResult<()> {
    let mut entries = 0;
    for slot in 0..node.slots() {
        if (slot > 0 || node.is_leaf()) && node.slot(slot)?.head != head_of(node.suffix(slot)?) {
            return Err(NodeFault("head differs from the key"));
        }
        if node.is_packed() {
            if node.positions(slot).start != entries {
                return Err(MISCOUNTED);
            }
            entries += node.search().packed_cell(slot)?.count;
        }
    }
    if node.is_packed() && entries != node.count() {
        return Err(MISCOUNTED);
    }
    Ok(())
}

fn check_keys(node: &Node<'_>) -> NodeResult<()> {
    let mut last: Option<Vec<u8>> = None;
    let mut check_key = |suffix: &[u8]| {
        let key = [node.prefix(), suffix].concat();
        if key.len() > limits::max_key_len(node.bytes().len()) {
            return Err(NodeFault("key longer than the limit"));
        }
        if !node.covers(&key) {
            return Err(NodeFault("key outside the fences"));
        }
        if last.as_ref().is_some_and(|last| *last >= key) {
            return Err(NodeFault("keys out of order"));
        }
        last = Some(key);
        Ok(())
    };
    if node.is_leaf() {
        return node.for_each_entry(0..node.slots(), |suffix, _| check_key(suffix));
    }
    (1..node.slots()).try_for_each(|slot| check_key(node.suffix(slot)?))
}

/// Checks that cells and fences lie in the heap, do not overlap, and fill it except for the garbage.
fn check_space(node: &Node<'_>) -> NodeResult<()> {
    let page = node.bytes();
    let mut spans = Vec::with_capacity(node.slots() + 2);
    for slot in 0..node.slots() {
        spans.push((node.cell_offset(slot)?, node.cell_len(slot)?));
    }
    for fence in [Some(node.lower_fence()), node.upper_fence()].into_iter().flatten() {
        // The offset of the fence follows from the address of its bytes.
        spans.push((fence.as_ptr() as usize - page.as_ptr() as usize, fence.len()));
    }
    spans.retain(|(_, len)| *len > 0);
    spans.sort_unstable();
    let mut end = node.heap_start();
    let mut used = 0;
    for (start, len) in spans {
        if start < end {
            return Err(NodeFault("cells overlap or lie outside the heap"));
        }
        end = start + len;
        used += len;
    }
    if end > page.len() {
        return Err(NodeFault("cell outside the page"));
    }
    if used + node.garbage() != page.len() - node.heap_start() {
        return Err(NodeFault("garbage miscounted"));
    }
    debug_assert!(SLOTS + node.slots() * SLOT <= node.heap_start());
    Ok(())
}

fn check_entries(node: &Node<'_>) -> NodeResult<()> {
    let (mut ghosts, mut unsettled) = (0, 0);
    node.for_each_entry(0..node.slots(), |_, entry| {
        ghosts += usize::from(entry.is_ghost());
        let has_ts = entry.flags.contains(EntryFlags::HAS_TS);
        unsettled += usize::from(has_ts);
        if has_ts != entry.commit_ts.is_some() {
            return Err(NodeFault("entry with a timestamp of zero"));
        }
        if entry.commit_ts > node.max_commit_ts() {
            return Err(NodeFault("entry newer than the page maximum"));
        }
        Ok(())
    })?;
    if ghosts != node.ghosts() || unsettled != node.unsettled() {
        return Err(NodeFault("ghosts or timestamps miscounted"));
    }
    Ok(())
}

fn check_children(node: &Node<'_>) -> NodeResult<()> {
    for slot in 0..node.count() {
        node.child(slot)?;
        if node.search().flags(slot)? != EntryFlags::default() {
            return Err(NodeFault("child reference with flags"));
        }
    }
    if node.slot(0)?.suffix_len != 0 {
        return Err(NodeFault("first child with a key"));
    }
    Ok(())
}
