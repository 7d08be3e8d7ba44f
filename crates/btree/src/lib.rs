//! Latched B+trees of Leafline: search, insert, split, merge, cursors, bulk build, estimates.
//!
//! A [`Tree`] is a segment of a [`Store`](leafline_storage::Store). Keys are byte strings ordered by `memcmp`, each
//! with a payload, flags and the timestamp of its last change. The crates above decide what keys and payloads mean,
//! who may see which change, and when a ghost may go. The tree only keeps timestamps and applies thresholds.
//!
//! | module | holds |
//! |---|---|
//! | [`node`] | the bytes of one page: layout, search, changes, and the redo records of changes |
//! | [`limits`], [`policy`] | limits of keys and entries; split points and thresholds: every choice that could have been made otherwise |
//! | `tree` | the handle of a tree, and the reservations for changes |
//! | `target`, `freed`, `key_range` | where a descent goes; the count of freed pages; a range of keys |
//! | `descend`, `optimistic` | descents from the root, with latches and without; the latching of readers and writers |
//! | `modify`, `split`, `merge`, `delete` | changing a tree |
//! | `rehearse` | computing the pages and log bytes that changes would take |
//! | `buffered` | changes of leaves that are not in memory, which are kept elsewhere |
//! | `relocate` | merging such changes into copies of leaves on fresh pages |
//! | `parent` | replacing one leaf by several |
//! | `cursor`, `view` | reading a leaf at a time, both ways |
//! | `point_read` | reading one entry |
//! | `lookup` | looking up many known keys at a time |
//! | `enumerate`, `estimate` | listing and counting leaves by branch pages, without reading leaves |
//! | `map` | the places of leaves in the file, and the fill of those in memory |
//! | `read_ahead` | reading leaves before a scan comes to them |
//! | `bulk` | building a tree from sorted entries |
//! | `verify`, `examine` | checking the structural invariants |
//! | `salvage` | finding the readable leaves of a damaged tree |
//! | `claimed` | finding them where the pages of the tree are not known for sure |
//!
//! The store must be opened with [`TreeRedo`] under [`HandlerId::BTREE`](leafline_storage::HandlerId::BTREE).

pub mod node;

mod buffered;
mod bulk;
mod claimed;
mod cursor;
mod delete;
mod descend;
mod entry;
mod enumerate;
mod error;
mod estimate;
mod examine;
mod freed;
mod key_range;
pub mod limits;
mod lookup;
mod map;
mod merge;
mod modify;
mod optimistic;
mod parent;
mod point_read;
pub mod policy;
mod read_ahead;
mod rehearse;
mod relocate;
mod salvage;
mod split;
mod target;
mod tree;
mod unpacked_cells;
mod verify;
mod view;

pub use buffered::{ClaimedLeaf, HeldLeaf, HoldOutcome, UnpinnedLeaf};
pub use bulk::{BulkBuilder, LeafCount};
pub use cursor::{Cursor, Direction, LeafStep};
pub use entry::{Change, CommitTs, EntryFlags, EntryView};
pub use enumerate::{LeafList, LeafRef, LeafWalk, LeafWalker, LeavesByPage};
pub use error::{BtreeError, Result};
pub use estimate::{Estimate, SampledLeaves};
pub use examine::{NodeProgress, TreeFault, TreeReport};
pub use key_range::KeyRange;
pub use lookup::FoundLeaf;
pub use map::{LeafContent, LeafPlace, TreeMap};
pub use modify::Keys;
pub use modify::ModifyOutcome;
pub use node::{BufferedEntry, LeafFormat, TreeRedo};
pub use optimistic::Finger;
pub use read_ahead::{Course, RangeLeafOrder, RangeReadAhead, ReadAhead, ReadAheadKind, ReadAheadSettings};
pub use rehearse::Rehearsal;
pub use relocate::CopiedLeaf;
pub use salvage::Salvage;
pub use tree::Tree;
pub use view::{LeafView, PackedCellView};
