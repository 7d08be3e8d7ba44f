//! The list by which dropped statements tell their connection to close them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Statements that were dropped and that their connection has yet to close.
#[derive(Clone, Default, Debug)]
pub(crate) struct DroppedStatements(Arc<Dropped>);

#[derive(Default, Debug)]
struct Dropped {
    any: AtomicBool,
    ids: Mutex<Vec<u32>>,
}

impl DroppedStatements {
    pub(crate) fn take(&self) -> Vec<u32> {
        if !self.0.any.load(Ordering::Acquire) || !self.0.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.0.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, id: u32) {
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.0.any.store(true, Ordering::Release);
    }
    /// Whether both are lists of the same connection.
    pub(crate) fn is(&self, other: &DroppedStatements) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
