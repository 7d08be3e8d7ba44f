//! Reading: the rows of a table that a statement sees, in the order of any of its indexes.
//!
//! A statement sees its snapshot, overlaid with the writes of its transaction from before the statement. Every access
//! path reads through an [`EntryCursor`] or [`ReadView::fetch`]; programs without SQL use a [`RowReader`].

mod cursor;
mod decide;
mod fetch;
mod in_place;
mod locators;
mod patches;
mod reader;
mod row;
mod search;
mod values;
mod view;

pub use cursor::EntryCursor;
pub use locators::LocatorBatch;
pub use reader::RowReader;
pub use search::{MatchedRow, Matches};
pub use view::ReadView;

/// An entry of an index. For a clustered index, key and payload are the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryRef<'a> {
    /// The whole key.
    pub key: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
}

/// A row: an entry of the clustered index.
pub type RowRef<'a> = EntryRef<'a>;

/// The step after an entry that a visitor asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryStep {
    /// Continue with the next entry.
    Next,
    /// Continue, and ask the visitor again which entries it takes together.
    AskAnew,
    /// Forward: continue with the first entry at or after the key. Reverse: continue with the last entry before it.
    /// The scan never goes back: a key already passed means the next entry.
    SeekTo(Vec<u8>),
    /// Pause: the next visit continues with the next entry.
    Pause,
    /// End the scan.
    Stop,
}

/// Consecutive entries of a leaf, in the scan's direction.
#[derive(Clone, Copy, Debug)]
pub struct EntrySlice<'a> {
    /// The common beginning of their keys.
    pub prefix: &'a [u8],
    /// The rest of each key, and each payload.
    pub entries: &'a [(&'a [u8], &'a [u8])],
}

/// The maximum number of entries in an [`EntrySlice`].
pub const MAX_SLICE_ENTRIES: usize = 64;

/// The entries that a visitor takes together.
#[derive(Clone, Copy, Debug)]
pub struct SliceBound<'v> {
    /// The maximum number of entries.
    pub entries: usize,
    /// Forward, the entries below this key; reverse, the entries at or above it. `None` means all.
    pub until: Option<&'v [u8]>,
    /// Whether the visitor only wants their number: they go to [`EntryVisitor::counted`], and there may be more than
    /// a slice holds.
    pub counted: bool,
}

/// A visitor of entries. It may run under a page latch: it must neither block nor use the engine.
pub trait EntryVisitor {
    /// Takes an entry.
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep;

    /// The entries to come that may be given to [`visit_slice`](Self::visit_slice) instead of one by one; `None` for
    /// none. The answer holds until the visit ends or the visitor returns `SeekTo` or `AskAnew`. The cursor may still
    /// show any of these entries one by one.
    fn slice_bound(&self) -> Option<SliceBound<'_>> {
        None
    }

    /// Reports a `SeekTo`: it skipped `over` entries of the leaf, and `leaves` says whether it went to another leaf.
    fn leapt(&mut self, over: usize, leaves: bool) {
        let _ = (over, leaves);
    }

    /// Takes 1 to [`MAX_SLICE_ENTRIES`] entries within its [`slice_bound`](Self::slice_bound). It must not return
    /// `SeekTo`.
    fn visit_slice(&mut self, slice: &EntrySlice<'_>) -> EntryStep {
        let _ = slice;
        EntryStep::Stop
    }

    /// Takes the number of entries within its [`slice_bound`](Self::slice_bound), if it asked for that. It must not
    /// return `SeekTo`.
    fn counted(&mut self, entries: usize) -> EntryStep {
        let _ = entries;
        EntryStep::Stop
    }
}
