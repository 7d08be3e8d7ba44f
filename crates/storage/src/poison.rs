//! Stops the store after a failure that leaves the content of the disk unknown.

use crate::{Result, StorageError};
use std::sync::OnceLock;

/// The first failure, once there was one. It is never reset: opening the directory again recovers the store.
#[derive(Default)]
pub(crate) struct Poison {
    why: OnceLock<String>,
}

impl Poison {
    /// Records a failure. The first one stays.
    pub(crate) fn set(&self, why: String) {
        let _ = self.why.set(why);
    }

    /// Returns an error if there was a failure.
    pub(crate) fn check(&self) -> Result<()> {
        match self.why.get() {
            None => Ok(()),
            Some(why) => Err(StorageError::Poisoned { why: why.clone() }),
        }
    }
}
