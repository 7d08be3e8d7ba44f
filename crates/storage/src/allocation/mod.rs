//! Allocation: changes which segment owns which page. [`crate::space`] holds the state that is changed.
//!
//! | module | holds |
//! |---|---|
//! | `grow` | enlarging the file, so that a full disk shows before anything is changed |
//! | `release` | giving free space back to the file system |
//! | `segment` | creating and dropping segments |
//! | `bulk` | writing whole extents of a segment that is being built, past the pool and the log |
//! | `fresh` | writing single pages of a segment in use, past the pool and the log |
//! | `unlogged` | what these two writers share |
//! | `requests` | the methods of the store that the crates above call |
//! | `verify`, `scrub` | checking that the maps agree with each other and that every page in use can be read |

mod bulk;
mod fresh;
mod grow;
mod release;
mod requests;
mod scrub;
mod segment;
mod unlogged;
mod verify;

pub use bulk::BulkWriter;
pub use fresh::FreshPages;
pub(crate) use release::ReleaseOutcome;
pub use scrub::SpaceFault;
pub use segment::SEGMENT_LOG_BYTES;
