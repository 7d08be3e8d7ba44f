//! Memory that other parts of the engine have borrowed from the buffer pool.

use crate::Result;
use crate::core::Inner;
use std::sync::Arc;

/// Memory borrowed from the pool. Dropping the loan gives it back.
pub struct MemoryLoan {
    inner: Arc<Inner>,
    bytes: u64,
}

impl MemoryLoan {
    /// Makes a loan of no bytes, which [`grow`](Self::grow) enlarges.
    pub(crate) fn new(inner: &Arc<Inner>) -> MemoryLoan {
        MemoryLoan { inner: Arc::clone(inner), bytes: 0 }
    }

    /// Returns the number of bytes borrowed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Enlarges the loan by `bytes`. The caller holds no latch.
    ///
    /// # Errors
    /// `MemoryExhausted` if the pool cannot spare `bytes`; the loan stays as it was. `Io` or `Poisoned` if writing
    /// pages to make room failed.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        self.inner.cache.lend(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives `bytes` of the loan back, or all of it if it is smaller.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.inner.cache.take_back(bytes);
    }
}

impl Drop for MemoryLoan {
    fn drop(&mut self) {
        self.inner.cache.take_back(self.bytes);
    }
}

impl std::fmt::Debug for MemoryLoan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLoan").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
