//! The redo log: an endless stream of groups, written to a ring of preallocated files.
//!
//! | module | holds |
//! |---|---|
//! | `writer` | [`Log`]: append, reserve, truncate |
//! | `flush` | group commit: writes and syncs |
//! | `reader` | [`LogReader`]: reads the groups back and finds the end of the log, or damage |
//! | `space` | reservations of space in the files |
//! | `batches` | writing of batches, file after file |
//! | `files` | the ring of files |
//! | `format` | the byte layout of the files |
//! | `position` | the mapping of LSNs to places in files |
//!
//! The life of a log: [`Log::create`], append, [`Log::truncate_before`] at each checkpoint. After a restart: [`LogReader::open`] at the last
//! checkpoint, read all groups, [`LogReader::finish`], [`Log::resume`].

mod batches;
mod files;
mod flush;
mod format;
#[cfg(test)]
#[cfg(loom)]
mod model;
mod position;
mod reader;
mod space;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use files::DIRECTORY;
pub use flush::LogCounts;
#[cfg(debug_assertions)]
pub use format::believe_checksums;
pub(crate) use format::{GROUP_HEADER, group_header, read_group_header};
pub use position::LogPosition;
pub use reader::{LogGroup, LogReader, LogTail};
pub(crate) use space::CHECKPOINT_SHARE;
pub use writer::{FlushPolicy, Log, LogOptions, LogReservation, LogSpace, PAGE_GROUP};
