//! Reading: what a statement sees of a table, in the order of any of its indexes.
//!
//! What it sees is the newest commits of its snapshot, overlaid with what its transaction wrote before the
//! statement began. Every access path reads through an [`EntryCursor`] or [`ReadView::fetch`]; programs without
//! SQL through a [`RowReader`].

mod cursor;
mod fetch;
mod locators;
mod reader;
mod row;
mod values;
mod view;
mod window;

pub use cursor::EntryCursor;
pub use locators::LocatorBatch;
pub use reader::RowReader;
pub use view::ReadView;

/// An entry of an index: its whole key, and its payload. For a clustered index the two are the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryRef<'a> {
    /// The whole key.
    pub key: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
}

/// A row: an entry of the clustered index.
pub type RowRef<'a> = EntryRef<'a>;

/// How a visitor of entries wants to go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryStep {
    /// With the next entry.
    Next,
    /// Forward: with the first entry at or after the key; reverse: with the last one before it. Never backwards: a
    /// key that was passed already means the next entry.
    SeekTo(Vec<u8>),
    /// Not now: the next visit goes on with the next entry.
    Pause,
    /// Not at all.
    Stop,
}
