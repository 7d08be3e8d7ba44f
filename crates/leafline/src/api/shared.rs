//! The open database that a `Database`, its connections and its queries in pieces keep alive.

use leafline_sql::Instance;
use std::path::PathBuf;
use std::sync::Arc;

/// The state that a database and its connections share.
pub(crate) struct Shared {
    pub(crate) instance: Arc<Instance>,
    pub(crate) path: PathBuf,
    pub(crate) direct_io: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody is left to receive an error; the redo log has all that was committed.
        let _ = self.instance.close();
    }
}
