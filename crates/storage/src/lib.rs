//! Pages, buffer pool, redo log, checkpoints, recovery and space of Leafline.
//!
//! | module | is |
//! |---|---|
//! | [`device`] | the files: real, simulated, modelled; batched page reads |
//! | [`log`] | the redo log: append, group commit, reading back |

pub mod device;
mod error;
mod ids;
pub mod log;

pub use error::{Result, StorageError};
pub use ids::{Lsn, LsnRange, PageNo, SegmentId};
