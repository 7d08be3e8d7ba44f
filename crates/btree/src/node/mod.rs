//! The bytes of one tree page: layout, search, changes, and the redo records that describe the changes.
//!
//! | module | is |
//! |---|---|
//! | `layout` | the byte table, the checked view of a node |
//! | `source` | where bytes come from: a latched page, or one that may change while it is read |
//! | `search` | header, slots and binary search, over either |
//! | `cell` | what slots lead to: leaf entries, child references |
//! | `build` | laying a node out anew |
//! | `packed` | the runs of packed leaves |
//! | `gathered`, `unpacked` | entries that become a run, a run taken apart |
//! | `edit`, `packed_edit` | changing a node in place |
//! | `room` | whether a change fits |
//! | `merge_entries` | changes that were kept elsewhere, into a leaf |
//! | `check` | the invariants of one node |
//! | `record` | redo records and their handler, the only caller of `edit` |
//!
//! Nothing here knows of latches, of other pages, or of the store beyond its page header. Bytes are not trusted:
//! offsets are checked where they are followed, and what is wrong comes back as a [`NodeFault`].

mod build;
mod cell;
mod check;
mod edit;
mod gathered;
mod layout;
mod merge_entries;
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
pub use edit::{Side, leaf_settle as settle, merged_prefix, part, set_merged_through, settle_gain};
pub use gathered::PackedSize;
pub use layout::{
    CHILD, InsertHistory, LeafFormat, Node, NodeFault, NodeResult, PAGE_SIZES, SLOT, SLOTS, common_prefix,
    head_of,
};
pub use merge_entries::{BufferedEntry, merge_entries};
pub(crate) use packed::{MISCOUNTED, RUN, SHORT_KEY};
pub use record::{LeafInsert, RECORD_OVERHEAD, Record, TreeRedo, format_version};
pub use room::{has_room, room_needed};
pub use search::{EntryAt, Search};
pub use source::Source;
pub(crate) use unpacked::Unpacked;

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod tests;
