//! Building trees in bulk: loading a table, adding indexes.
//!
//! Entries are sorted (see [`crate::run`]), written in key order to fresh extents without going through the
//! buffer pool and the log, and then synced. Only after that does a commit of the catalog name the new
//! trees. A failure at any point leaves the table as it was.
//!
//! | module | contents |
//! |---|---|
//! | `control` | memory, threads, cancellation and progress |
//! | `source` | the rows of a tree that nobody changes |
//! | `entry_sorters` | entries of several indexes, sorted by threads |
//! | `format` | the choice of a packed or plain tree |
//! | `merge_ahead` | merges entries in a thread |
//! | `secondary` | trees from sorted entries, by threads |
//! | `indexes` | new indexes of a table with rows |
//! | `online` | the same, while others go on changing the table |
//! | `table_builder` | all trees of a table |
//! | `loader` | bulk load, which replaces a table's trees |
//! | `references` | the check that rows refer to existing rows |

mod control;
mod entry_sorters;
mod format;
mod indexes;
mod loader;
mod merge_ahead;
mod online;
mod references;
mod secondary;
mod source;
mod table_builder;

pub use control::BuildControl;
pub(crate) use control::STEP;
pub(crate) use entry_sorters::EntrySorters;
pub(crate) use indexes::build_indexes;
pub use loader::{LoadOutcome, TableLoader};
pub(crate) use loader::{note_number, numbered};
pub(crate) use online::{
    BuiltTree, CatchUp, Derivation, IndexEntries, SeenRow, SnapshotSource, TreeChanges, Watched,
    disagreement, sum_of_tree,
};
pub(crate) use references::References;
pub(crate) use secondary::build_secondaries;
pub(crate) use source::TreeSource;
pub(crate) use table_builder::TableBuilder;

use crate::core::Core;
use crate::error::Result;
use crate::new_table::NewTrees;
use leafline_btree::{BulkBuilder, LeafFormat, Tree};
use leafline_storage::{SegmentId, SegmentState};

/// The fill factor of bulk-built pages, in percent. It leaves room for a few later inserts before the first
/// split, like InnoDB's `innodb_fill_factor`.
pub const FILL_PERCENT: u32 = 94;

/// Makes a builder, on a new segment, for a tree with leaves in `format`.
pub(crate) fn new_builder(
    core: &Core,
    format: LeafFormat,
    new: &mut NewTrees,
) -> Result<(SegmentId, BulkBuilder)> {
    let mut reservation = crate::trees::tree_reservation(&core.store)?;
    let segment = core.store.create_segment(&mut reservation)?;
    new.note(segment);
    Ok((segment, BulkBuilder::new(&core.store, segment, FILL_PERCENT, format)?))
}

/// Finishes a tree and makes it live.
pub(crate) fn finish_builder(core: &Core, builder: BulkBuilder) -> Result<Tree> {
    let tree = builder.finish()?;
    let mut reservation = crate::trees::tree_reservation(&core.store)?;
    core.store.set_segment_state(&mut reservation, tree.id(), SegmentState::Live)?;
    Ok(tree)
}
