//! Checks whether an entry fits on a leaf, and how much room it lacks, before each change, so that the change cannot
//! fail.

use super::cell::leaf_cell_len;
use super::layout::{LeafFormat, NodeResult, SLOT};
use super::node_view::Node;
use super::packed_edit::{CellReplacement, replacement_bound};
use crate::entry::EntryView;

/// Bound of the bytes that a packed cell of one entry has beyond those of an entry of a plain leaf.
const PACKED_CELL_LENGTHS: usize = 8;

/// Returns whether `entry` fits under `key`, which a search has `found` or not at a position. The prefix is shortened
/// first if necessary.
pub fn has_room(
    leaf: &Node<'_>,
    key: &[u8],
    (position, found): (usize, bool),
    entry: EntryView<'_>,
) -> NodeResult<bool> {
    let prefix = leaf.prefix_for(key);
    let prefix_len = prefix.unwrap_or(leaf.prefix().len());
    let suffix_len = key.len().saturating_sub(prefix_len);
    let len = leaf_cell_len(entry.commit_ts.is_some(), suffix_len, entry.payload.len());
    let packed = match leaf.format() {
        LeafFormat::Packed => Some(room_of_replacement(leaf, key, (position, found), entry)?),
        LeafFormat::Plain => None,
    };
    Ok(match (packed, prefix) {
        (Some(room), _) if found => room <= leaf.free(),
        (None, _) if found => len <= leaf.free() + leaf.cell_len(position)?,
        (Some(room), None) => room <= leaf.free(),
        // The entry goes behind all others, into their packed cell or one of its own.
        (Some(room), Some(_)) => {
            room.max(len + SLOT) + PACKED_CELL_LENGTHS <= leaf.free_with_prefix(prefix_len)
        }
        (None, _) => len + SLOT <= leaf.free_with_prefix(prefix_len),
    })
}

/// Returns the bytes of heap that an entry for which there is no room needs, including the bytes that a shorter
/// prefix would cost.
pub fn room_needed(leaf: &Node<'_>, key: &[u8], entry: EntryView<'_>) -> NodeResult<usize> {
    let shorter = leaf.prefix_for(key).map_or(0, |prefix| leaf.free() - leaf.free_with_prefix(prefix));
    let alone = leaf_cell_len(entry.commit_ts.is_some(), key.len(), entry.payload.len());
    let broken = match leaf.format() {
        LeafFormat::Plain => 0,
        // The sum covers the growth of broken packed cells, and the lengths of the new one.
        LeafFormat::Packed => {
            room_of_replacement(leaf, key, leaf.lower_bound(key)?, entry)?.max(alone) + PACKED_CELL_LENGTHS
        }
    };
    // The result exceeds the free bytes, so that it leads to a split.
    Ok((alone.max(broken) + shorter).max(leaf.free().saturating_sub(SLOT) + 1))
}

/// Returns the bytes that an entry takes on a packed leaf, including the growth of the packed cells around it; or a
/// bound, if that many bytes are free.
fn room_of_replacement(
    leaf: &Node<'_>,
    key: &[u8],
    (position, found): (usize, bool),
    entry: EntryView<'_>,
) -> NodeResult<usize> {
    let bound = replacement_bound(leaf.bytes().len(), key.len() + entry.payload.len());
    if bound <= leaf.free() && leaf.prefix_for(key).is_none() {
        return Ok(bound);
    }
    let splice = match found {
        true => CellReplacement::replace(leaf, position, entry)?,
        // A key without the leaf's prefix is inserted after the prefix was shortened, so all of the key is counted.
        false => {
            CellReplacement::insert(leaf, position, key.strip_prefix(leaf.prefix()).unwrap_or(key), entry)?
        }
    };
    Ok(splice.room())
}
