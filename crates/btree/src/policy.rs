//! The policies of trees: choices that do not affect the correctness of a tree, such as where to split, and when to
//! merge. They are in one place, so that insert, split, merge and bulk build cannot disagree.
//!
//! **Where to split.** Each node records in its header where the last inserts went ([`InsertHistory`]). When they
//! ascend, the split is made where the new entry goes, so that sequential inserts leave full pages behind; when they
//! descend, the mirror image. Commits do not finish in the order of their keys, so "ascend" tolerates small jumps
//! back, and the split then leaves to the new page as many slots as jumps reached back (`spread`): late keys still
//! find room. Otherwise the split is near the middle, at the boundary with the shortest separator.

use crate::node::{
    InsertHistory, LeafFormat, Node, NodeFault, NodeResult, SLOT, SLOTS, Side, common_prefix, merged_prefix,
};

/// Trend from which on a node counts as filled in order.
const ORDERED: i8 = 6;

/// Returns the shortest key above `below` and not above `upto`, which separates the two neighbours in their parent.
pub fn separator<'k>(below: &[u8], upto: &'k [u8]) -> &'k [u8] {
    &upto[..(common_prefix(below, upto) + 1).min(upto.len())]
}

/// Returns the separator between two keys of a page that may be damaged.
fn checked_separator(below: &[u8], upto: &[u8]) -> NodeResult<Vec<u8>> {
    if below >= upto {
        return Err(NodeFault("keys out of order"));
    }
    Ok(separator(below, upto).to_vec())
}

/// The plan of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The left node keeps the slots below this one.
    pub at: usize,
    /// Upper fence of the left node, and lower fence of the right node.
    pub separator: Vec<u8>,
    /// The part that moves to a new page: the one with fewer bytes.
    pub new_page: Side,
    /// History of the left node.
    pub left: InsertHistory,
    /// History of the right node.
    pub right: InsertHistory,
}

/// Decides how to split a leaf that has no room for a cell of `cell_len` bytes under `key`.
pub fn split_leaf(node: &Node<'_>, key: &[u8], cell_len: usize) -> NodeResult<Split> {
    let (position, found) = node.lower_bound(key)?;
    if node.count() <= usize::from(found) {
        return Err(NodeFault("no room on a leaf without other entries"));
    }
    let count = node.slots();
    let slot = first_slot(node, position)?;
    // On a packed leaf an entry may go into a packed cell. It is then next to no boundary.
    let inside = position < node.positions(slot).start;
    let boundary = |at: usize| boundary(node, at, if inside { None } else { Some(slot) }, key);
    let bytes = NodeBytes::of(node)?;
    let trend = node.history().trend;
    let spread = usize::from(node.history().spread);
    let quarter = bytes.total() / 4;
    let mut choice = None;
    if found {
        // The entry there grows, which says nothing about where inserts go.
    } else if count > 0 && node.prefix_for(key).is_some() {
        // The key is beyond all others, whose suffixes would all get longer with it on their node.
        choice = Some(boundary(count)?);
    } else if inside
        && trend.abs() >= ORDERED
        && (bytes.from(slot) >= quarter || bytes.before(slot) >= quarter)
    {
        choice = Some(boundary(slot.min(count - 1))?);
    } else if inside {
        // The entry goes into a packed cell that is nearly all of the leaf.
    } else if trend >= ORDERED {
        if bytes.from(slot) >= quarter && slot > 0 {
            // The run of inserts is in front of many greater keys: it goes on filling the left page.
            choice = Some((slot, checked_separator(key, &node.key(slot)?)?));
        } else {
            choice = Some(boundary(first_slot(node, position.saturating_sub(spread))?)?);
        }
    } else if trend <= -ORDERED {
        if bytes.before(slot) >= quarter && slot < count {
            choice = Some((slot, checked_separator(&node.last_key(slot - 1)?, key)?));
        } else if position + spread < node.count() && spread > 0 {
            choice = Some(boundary(first_slot(node, position + spread)?)?);
        } else if slot < count {
            choice = Some((slot, checked_separator(key, &node.key(slot)?)?));
        }
    }
    let (at, separator) = match choice {
        Some((at, separator)) if bytes.fit(node, at, &separator, Some((key, cell_len))) => (at, separator),
        // There is no room for the separator. One entry less makes some.
        Some((at, _)) if count > 1 && at == count => near_end(node, &bytes, count - 1)?,
        Some((0, _)) if count > 1 => near_end(node, &bytes, 1)?,
        _ => middle(node, &bytes, slot, cell_len, boundary)?,
    };
    Ok(finish(node, &bytes, at, separator, position, key))
}

/// Returns the first slot whose entries are all at `position` or behind it.
fn first_slot(node: &Node<'_>, position: usize) -> NodeResult<usize> {
    if position >= node.count() {
        return Ok(node.slots());
    }
    let (slot, index) = node.search().slot_of(position)?;
    Ok(slot + usize::from(index > 0))
}

/// Returns the boundary at `at` with its shortest separator. The new key counts as a neighbour if it goes there, in
/// front of `slot`.
fn boundary(node: &Node<'_>, at: usize, slot: Option<usize>, key: &[u8]) -> NodeResult<(usize, Vec<u8>)> {
    let at = at.clamp(usize::from(slot != Some(0)), node.slots());
    if slot == Some(at) {
        // The new key goes right of the boundary, or is the only one on the left.
        return Ok(match at {
            0 => (0, checked_separator(key, &node.key(0)?)?),
            _ => (at, checked_separator(&node.last_key(at - 1)?, key)?),
        });
    }
    between(node, at)
}

/// Returns the boundary in front of a slot, between existing keys.
fn between(node: &Node<'_>, at: usize) -> NodeResult<(usize, Vec<u8>)> {
    let before = at.checked_sub(1).ok_or(NodeFault("split in front of all keys"))?;
    Ok((at, checked_separator(&node.last_key(before)?, &node.key(at)?)?))
}

/// Returns the boundary nearest to `wanted` where both parts fit.
fn near_end(node: &Node<'_>, bytes: &NodeBytes, wanted: usize) -> NodeResult<(usize, Vec<u8>)> {
    bytes.best(node, |at| Ok(at.abs_diff(wanted)), |at| Ok(between(node, at)?.1))
}

/// Returns the boundary near the middle of the bytes, the new cell included, that has the shortest separator.
fn middle(
    node: &Node<'_>,
    bytes: &NodeBytes,
    slot: usize,
    cell_len: usize,
    boundary: impl Fn(usize) -> NodeResult<(usize, Vec<u8>)>,
) -> NodeResult<(usize, Vec<u8>)> {
    if node.slots() == 1 {
        return boundary(slot);
    }
    let total = bytes.total() + cell_len + SLOT;
    let rank = |at: usize| {
        let left = bytes.before(at) + if slot < at { cell_len + SLOT } else { 0 };
        let distance = left.abs_diff(total / 2);
        let far = distance > total / 16;
        Ok((far, if far { 0 } else { boundary_len(node, at)? }, distance))
    };
    bytes.best(node, rank, |at| Ok(between(node, at)?.1))
}

/// Returns the length of the separator at `at`, without building keys where possible.
fn boundary_len(node: &Node<'_>, at: usize) -> NodeResult<usize> {
    Ok(match node.format() {
        LeafFormat::Plain => common_prefix(node.suffix(at - 1)?, node.suffix(at)?) + 1,
        LeafFormat::Packed => between(node, at)?.1.len(),
    })
}

/// Decides how to split a branch that has no room for another child that begins at `key`.
pub fn split_branch(node: &Node<'_>, key: &[u8]) -> NodeResult<Split> {
    let count = node.count();
    if count < 2 {
        return Err(NodeFault("no room on a branch with one child"));
    }
    let slot = node.child_for(key)? + 1;
    let bytes = NodeBytes::of(node)?;
    let trend = node.history().trend;
    let preferred = if node.prefix_for(key).is_some() {
        // All suffixes would get longer with this key on their node, so it begins another one.
        Some(count - 1)
    } else if trend >= ORDERED && slot + 1 >= count {
        Some(count - 1)
    } else if trend <= -ORDERED && slot <= 2 {
        Some(1)
    } else {
        None
    };
    let total = bytes.total();
    let rank = |at: usize| {
        let distance = bytes.before(at).abs_diff(total / 2);
        let far = distance > total / 16;
        Ok((preferred != Some(at), far, if far { 0 } else { node.key_len(at)? }, distance))
    };
    let (at, separator) = bytes.best(node, rank, |at| node.key(at))?;
    Ok(finish(node, &bytes, at, separator, slot, key))
}

fn finish(
    node: &Node<'_>,
    bytes: &NodeBytes,
    at: usize,
    separator: Vec<u8>,
    position: usize,
    key: &[u8],
) -> Split {
    let goes_left = key < separator.as_slice();
    let old = node.history();
    // The next insert continues the trend on the part that gets the new key. The other part starts afresh.
    let continued = |position: usize| {
        let last = if old.trend > 0 { position.saturating_sub(1) } else { position };
        InsertHistory { last: last as u16, trend: old.trend, spread: old.spread / 4 * 3 + old.spread % 4 / 2 }
    };
    let (left, right) = if goes_left {
        (continued(position), InsertHistory::default())
    } else {
        (InsertHistory::default(), continued(position.saturating_sub(node.positions(at).start)))
    };
    let new_page = if bytes.before(at) < bytes.from(at) { Side::Left } else { Side::Right };
    Split { at, separator, new_page, left, right }
}

/// Bytes of slots and cells before each slot.
struct NodeBytes {
    before: Vec<usize>,
}

impl NodeBytes {
    fn of(node: &Node<'_>) -> NodeResult<NodeBytes> {
        let mut before = Vec::with_capacity(node.slots() + 1);
        let mut sum = 0;
        before.push(0);
        for slot in 0..node.slots() {
            sum += node.cell_len(slot)? + SLOT;
            before.push(sum);
        }
        Ok(NodeBytes { before })
    }

    fn total(&self) -> usize {
        self.before[self.before.len() - 1]
    }

    fn before(&self, slot: usize) -> usize {
        self.before[slot]
    }

    fn from(&self, slot: usize) -> usize {
        self.total() - self.before(slot)
    }

    /// Returns whether both parts fit when the node is split at `at`. A separator can be longer than the keys that
    /// move away with it, and its common prefix with the fences shorter than the present one. `new` is a key with the
    /// length of its cell that has to fit, too.
    fn fit(&self, node: &Node<'_>, at: usize, separator: &[u8], new: Option<(&[u8], usize)>) -> bool {
        let (lower, upper) = (node.lower_fence(), node.upper_fence());
        let capacity = capacity(node.bytes().len());
        let old = node.prefix().len();
        let size = |slots: usize, bytes: usize, prefix: usize, fences: usize| {
            (bytes + slots * old.saturating_sub(prefix)).saturating_sub(slots * prefix.saturating_sub(old))
                + fences
        };
        let left = size(at, self.before(at), common_prefix(lower, separator), lower.len() + separator.len());
        // Without an upper fence the prefix does not get shorter.
        let prefix = upper.map_or(old, |upper| common_prefix(separator, upper));
        let fences = separator.len() + upper.map_or(0, <[u8]>::len);
        let right = size(node.slots() - at, self.from(at), prefix, fences);
        let (left_new, right_new) = match new {
            Some((key, cell_len)) if key < separator => (cell_len + SLOT, 0),
            Some((_, cell_len)) => (0, cell_len + SLOT),
            None => (0, 0),
        };
        left + left_new <= capacity && right + right_new <= capacity
    }

    /// Returns the boundary that is best by `rank` (less is better) among those where both parts fit.
    fn best<R: Ord>(
        &self,
        node: &Node<'_>,
        rank: impl Fn(usize) -> NodeResult<R>,
        separator: impl Fn(usize) -> NodeResult<Vec<u8>>,
    ) -> NodeResult<(usize, Vec<u8>)> {
        let mut ranked = Vec::with_capacity(node.slots());
        for at in 1..node.slots() {
            ranked.push((rank(at)?, at));
        }
        // The first candidate nearly always fits, so sorting would be wasted.
        while let Some(best) = (0..ranked.len()).min_by(|a, b| ranked[*a].cmp(&ranked[*b])) {
            let (_, at) = ranked.swap_remove(best);
            let separator = separator(at)?;
            if self.fit(node, at, &separator, None) {
                return Ok((at, separator));
            }
        }
        Err(NodeFault("no split makes both parts fit"))
    }
}

/// Returns the bytes of a page for slots, cells and fences.
pub fn capacity(page_size: usize) -> usize {
    page_size - SLOTS
}

/// Returns the fewest bytes that settling a full leaf has to free. A packed leaf is laid out anew for it, so it has
/// to gain more.
pub fn is_worth_settling(node: &Node<'_>) -> usize {
    match node.format() {
        LeafFormat::Plain => 1,
        LeafFormat::Packed => capacity(node.bytes().len()) / 64,
    }
}

/// Returns whether a node is so empty that it should merge if a neighbour has room.
pub fn under_full(node: &Node<'_>) -> bool {
    node.used() < capacity(node.bytes().len()) / 2
}

/// Returns whether a merge is worth trying after a removal from a leaf. An attempt latches the parent and may read
/// neighbours, which mostly have no more room than the last time. So there is an attempt for each sixteenth of the
/// entries that has gone, and below a quarter of the page one for each entry.
pub fn try_merge(leaf: &Node<'_>) -> bool {
    let count = leaf.count();
    under_full(leaf)
        && (count.is_multiple_of((count / 16).max(1)) || leaf.used() < capacity(leaf.bytes().len()) / 4)
}

/// Returns whether two neighbours should become one node. Together they must leave room, or the next insert splits
/// again; but an empty one always goes if the other still fits between the outer fences. `merged` is the space that
/// both need, see [`merged_size`].
pub fn should_merge(page_size: usize, merged: usize, one_is_empty: bool) -> bool {
    let capacity = capacity(page_size);
    merged <= if one_is_empty { capacity } else { capacity / 4 * 3 }
}

/// Returns the bytes that two neighbours take as one node. The common prefix may shrink, which makes every key
/// longer.
pub fn merged_size(left: &Node<'_>, right: &Node<'_>) -> NodeResult<usize> {
    let (lower, upper) = (left.lower_fence(), right.upper_fence());
    let prefix = merged_prefix(left, right)?;
    let mut size = lower.len() + upper.map_or(0, <[u8]>::len);
    for node in [left, right] {
        size += NodeBytes::of(node)?.total() + node.slots() * node.longer_with(prefix);
    }
    if !right.is_leaf() {
        // The first child of the right branch gets its key back.
        size += right.lower_fence().len().saturating_sub(prefix);
    }
    Ok(size)
}
