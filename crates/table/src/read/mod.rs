//! Reading: what a statement sees of a table, in the order of any of its indexes.
//!
//! What it sees is the newest commits of its snapshot, overlaid with what its transaction wrote before the
//! statement began. Every access path reads through an [`EntryCursor`] or [`ReadView::fetch`]; programs without
//! SQL through a [`RowReader`].

mod cursor;
mod fetch;
mod in_place;
mod locators;
mod patches;
mod reader;
mod row;
mod values;
mod view;

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
    /// Go on, and ask anew which entries are taken together.
    AskAnew,
    /// Forward: with the first entry at or after the key; reverse: with the last one before it. Never backwards: a
    /// key that was passed already means the next entry.
    SeekTo(Vec<u8>),
    /// Not now: the next visit goes on with the next entry.
    Pause,
    /// Not at all.
    Stop,
}

/// Several entries of a leaf that follow each other in the direction of a scan.
#[derive(Clone, Copy, Debug)]
pub struct EntryRun<'a> {
    /// What their keys begin with.
    pub prefix: &'a [u8],
    /// The rest of the key, and the payload, of each.
    pub entries: &'a [(&'a [u8], &'a [u8])],
}

/// Most entries of an [`EntryRun`].
pub const MOST_OF_A_RUN: usize = 64;

/// Which entries a visitor takes together.
#[derive(Clone, Copy, Debug)]
pub struct RunBound<'v> {
    /// How many at most.
    pub entries: usize,
    /// Forward: those below this key; reverse: those at or above it. `None`: all.
    pub until: Option<&'v [u8]>,
    /// Nothing but their number is wanted: they go to [`EntryVisitor::counted`], and may be more than a run has.
    pub counted: bool,
}

/// Who is shown entries. It may run under a page latch: it must not block, nor use the engine.
pub trait EntryVisitor {
    /// Takes an entry.
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep;

    /// Which of the entries to come may be given to [`run`](Self::run) instead; `None`: none. It holds until the visit ends or the
    /// visitor says `SeekTo`. It is a right, not a duty: any of them may still come one by one.
    fn run_bound(&self) -> Option<RunBound<'_>> {
        None
    }

    /// What became of `SeekTo`: it went over so many entries of the leaf, or to another leaf.
    fn leapt(&mut self, over: usize, leaves: bool) {
        let _ = (over, leaves);
    }

    /// Takes entries within its [`run_bound`](Self::run_bound): 1 to [`MOST_OF_A_RUN`]. `SeekTo` is no answer.
    fn run(&mut self, run: &EntryRun<'_>) -> EntryStep {
        let _ = run;
        EntryStep::Stop
    }

    /// So many entries within its [`run_bound`](Self::run_bound), if it asked to have them counted. `SeekTo` is no answer.
    fn counted(&mut self, entries: usize) -> EntryStep {
        let _ = entries;
        EntryStep::Stop
    }
}
