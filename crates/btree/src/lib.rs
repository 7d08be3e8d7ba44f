//! Latched B+trees of Leafline: search, insert, split, merge, cursors, bulk build, estimates.
//!
//! A [`Tree`] is a segment of a [`Store`](leafline_storage::Store): keys are byte strings ordered by `memcmp`, each
//! with a payload, flags and the timestamp of its last change. What keys and payloads mean, who may see which
//! change and when a ghost may go is decided above; the tree only keeps timestamps and applies thresholds.
//!
//! | module | is |
//! |---|---|
//! | [`node`] | the bytes of one page: layout, search, changes, the redo records that describe them |
//! | `policy` | limits, split points, thresholds: every choice that is a matter of taste |
//! | `descend`, `optimistic` | from the root to a page, with latches and without; how readers and writers latch |
//! | `modify`, `split`, `merge`, `delete` | changing a tree |
//! | `rehearse` | what changes would take |
//! | `buffered` | changes of leaves that are not in memory, which are kept elsewhere |
//! | `relocate` | merging these into copies on fresh pages |
//! | `parent` | several leaves in the place of one |
//! | `cursor`, `view` | reading a leaf at a time, both ways |
//! | `lookup` | many known keys at a time |
//! | `enumerate`, `estimate` | what branch pages tell without touching leaves |
//! | `map` | where leaves lie in the file, and what of them is in memory |
//! | `read_ahead` | reading leaves before a scan comes to them |
//! | `bulk` | building a tree from sorted entries |
//! | `verify`, `examine` | the structural invariants, executable |
//! | `salvage` | what can still be read of a damaged tree |
//! | `claimed` | the same, where it is not known which pages the tree has |
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
mod lookup;
mod map;
mod merge;
mod modify;
mod optimistic;
mod parent;
pub mod policy;
mod read_ahead;
mod rehearse;
mod relocate;
mod runs;
mod salvage;
mod split;
mod tree;
mod verify;
mod view;

pub use buffered::{Beside, HeldLeaf, Modified, RawLeaf, TakenLeaf};
pub use bulk::{BulkBuilder, LeafCount};
pub use cursor::{Cursor, Direction, LeafStep};
pub use entry::{Change, CommitTs, EntryFlags, EntryView};
pub use enumerate::{LeafList, LeafRef, LeafWalk, LeafWalker, LeavesByPage};
pub use error::{BtreeError, Result};
pub use estimate::{Estimate, SampledLeaves};
pub use examine::{KeyRange, NodeProgress, TreeFault};
pub use lookup::FoundLeaf;
pub use map::{LeafContent, LeafPlace, TreeMap};
pub use modify::Keys;
pub use node::{BufferedEntry, LeafFormat, TreeRedo};
pub use optimistic::Finger;
pub use read_ahead::{Course, RangeAhead, RangeCourse, ReadAhead, ReadAheadKind, ReadAheadSettings};
pub use rehearse::Rehearsal;
pub use relocate::CopiedLeaf;
pub use salvage::Salvage;
pub use tree::Tree;
pub use verify::TreeReport;
pub use view::{LeafView, PackedTogether};
