//! The named locks of a server, as the functions GET_LOCK and its family use them.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use leafline_types::error::MysqlError;
use leafline_types::statement::CancelToken;

/// The named locks of a server, which its sessions share.
pub trait NamedLocks: Debug + Send + Sync {
    /// Takes a lock for a session, or waits for it until `limit`; for ever without a limit. False if the time is over.
    ///
    /// # Errors
    /// 3058 where sessions would wait for each other, 1317 and the like when the statement is told to stop.
    fn acquire(
        &self,
        name: &str,
        session: u64,
        limit: Option<Instant>,
        cancel: &CancelToken,
    ) -> Result<bool, MysqlError>;

    /// Gives a lock back that the session owns, once.
    fn release(&self, name: &str, session: u64);

    /// Gives all locks of a session back, and returns how many there were, each as often as it was taken.
    fn release_all(&self, session: u64) -> u64;

    /// The session that owns a lock.
    fn owner(&self, name: &str) -> Option<u64>;
}

/// The named locks that a session uses.
#[derive(Debug, Clone)]
pub struct SharedLocks(pub Arc<dyn NamedLocks>);

impl Default for SharedLocks {
    fn default() -> SharedLocks {
        SharedLocks(Arc::new(NoLocks))
    }
}

impl Deref for SharedLocks {
    type Target = dyn NamedLocks;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// No named locks: for expressions that are evaluated without a server. Taking one is an error.
#[derive(Debug)]
struct NoLocks;

impl NamedLocks for NoLocks {
    fn acquire(&self, _: &str, _: u64, _: Option<Instant>, _: &CancelToken) -> Result<bool, MysqlError> {
        Err(MysqlError::internal("GET_LOCK without sessions"))
    }

    fn release(&self, _: &str, _: u64) {}

    fn release_all(&self, _: u64) -> u64 {
        0
    }

    fn owner(&self, _: &str) -> Option<u64> {
        None
    }
}
