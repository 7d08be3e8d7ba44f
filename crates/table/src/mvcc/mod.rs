//! Multi-version concurrency control: which commits a reader sees, and the row versions that later commits replaced.
//!
//! | module | holds |
//! |---|---|
//! | `snapshot` | the set of commits that a reader sees |
//! | `clock` | timestamps of commits, and the registered snapshots |
//! | `versions` | old versions of rows, in memory and in files |
//! | `ghosts` | entries that wait until no snapshot needs them |
//! | `history_memory` | the memory of old versions and ghosts |

pub(crate) mod clock;
pub(crate) mod ghosts;
pub(crate) mod history_memory;
pub(crate) mod snapshot;
pub(crate) mod versions;

pub use clock::RegisteredSnapshot;
pub use snapshot::Snapshot;
