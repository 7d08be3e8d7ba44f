//! Stopping the store after a failure that leaves unknown what is on disk.

use crate::{Result, StorageError};
use std::sync::OnceLock;

/// The first failure, once there was one. Never reset: the directory has to be opened again, which recovers it.
#[derive(Default)]
pub(crate) struct Poison {
    why: OnceLock<String>,
}

impl Poison {
    /// Notes the failure; the first one stays.
    pub(crate) fn set(&self, why: String) {
        let _ = self.why.set(why);
    }

    /// An error if there was a failure.
    pub(crate) fn check(&self) -> Result<()> {
        match self.why.get() {
            None => Ok(()),
            Some(why) => Err(StorageError::Poisoned { why: why.clone() }),
        }
    }
}
