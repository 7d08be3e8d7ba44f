//! The redo log: an endless stream of groups, written to a ring of preallocated files.

mod position;
mod reader;
mod writer;

pub use position::LogPosition;
pub use reader::{LogGroup, LogReader, LogTail};
pub use writer::{FlushPolicy, Log, LogCounts, LogOptions, LogReservation, LogSpace, PAGE_GROUP};
