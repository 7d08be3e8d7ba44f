//! Functions shared by the examples that update a loaded tree.

use leafline_btree::{BtreeError, BulkBuilder, LeafFormat, Tree};
use leafline_storage::{SegmentState, Store};

/// Bytes of each entry's payload.
pub const PAYLOAD: usize = 180;

/// Returns the number of entries that fill four times `pool` bytes.
pub fn entries_for(pool: u64) -> u64 {
    4 * pool / (PAYLOAD as u64 + 24)
}

/// Builds a tree of the keys from 0 on, with leaves filled to nine tenths.
pub fn load(store: &Store, entries: u64) -> Result<Tree, BtreeError> {
    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    drop(reservation);
    let mut builder = BulkBuilder::new(store, segment, 90, LeafFormat::Plain)?;
    for n in 0..entries {
        builder.push(&n.to_be_bytes(), &[0; PAYLOAD])?;
    }
    let tree = builder.finish()?;
    store.set_segment_state(&mut store.reserve(0, 4096)?, segment, SegmentState::Live)?;
    Ok(tree)
}
