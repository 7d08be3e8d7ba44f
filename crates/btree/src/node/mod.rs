//! The bytes of one tree page: layout, search, changes, and the redo records of changes.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | the byte table |
//! | `node_view` | the checked view of a node |
//! | `history` | the places of recent inserts |
//! | `source` | the access to bytes: of a latched page, or of one that may change while it is read |
//! | `search` | header, slots and binary search, over either source |
//! | `cell` | the targets of slots: leaf entries, child references |
//! | `build` | laying a node out anew |
//! | `packed` | the packed cells of packed leaves |
//! | `gathered`, `unpacked` | packing entries into a packed cell, and unpacking a packed cell |
//! | `edit`, `packed_edit`, `header` | changing a node in place |
//! | `room` | checking whether a change fits |
//! | `merge_entries` | merging changes that were kept elsewhere into a leaf |
//! | `check` | the invariants of one node |
//! | `record` | redo records and their handler, the only caller of `edit` |
//!
//! This module knows nothing of latches, of other pages, or of the store except its page header. It does not trust
//! bytes: it checks offsets when it follows them, and reports damage as a [`NodeFault`].

mod build;
mod cell;
mod check;
mod edit;
mod gathered;
mod header;
mod history;
mod layout;
mod merge_entries;
mod node_view;
mod packed;
mod packed_edit;
mod record;
mod room;
mod search;
mod source;
mod unpacked;

pub use build::{NodeBuilder, prefix_len};
pub use cell::{LeafCell, branch_cell_len, leaf_cell_len};
pub use check::check;
pub use edit::{Side, leaf_settle as settle, merged_prefix, part, settle_gain};
pub use gathered::PackedSize;
pub use header::set_merged_through;
pub use history::InsertHistory;
pub use layout::{
    CHILD, LeafFormat, NodeFault, NodeResult, PAGE_SIZES, SLOT, SLOTS, common_prefix, format_version, head_of,
};
pub use merge_entries::{BufferedEntry, merge_entries};
pub use node_view::Node;
pub(crate) use packed::{MAX_CELL_ENTRIES, MISCOUNTED, SHORT_KEY};
pub use record::{LeafInsert, RECORD_OVERHEAD, Record, TreeRedo};
pub use room::{has_room, room_needed};
pub use search::{EntryAt, Search};
pub use source::Source;
pub(crate) use unpacked::Unpacked;

#[cfg(test)]
mod packed_tests;
#[cfg(test)]
mod tests;
