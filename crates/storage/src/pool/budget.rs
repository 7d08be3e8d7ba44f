//! Memory for things that are not pages, taken from the pool: so that `buffer_pool_size` caps them too.
//!
//! Write sets, old versions and the like are allocated elsewhere, as their owners see fit. What they take they borrow here
//! first: free frames leave the pool, their memory goes back to the system, and pages make do with the rest.
//!
//! | rule | |
//! |---|---|
//! | frames lent × page size >= bytes lent | what is borrowed is not used for pages |
//! | at most half of the frames that translation has left are lent | pages can always be worked with |
//! | a loan is given back when its [`MemoryLoan`] is dropped | nothing else to remember |
//!
//! Borrowing evicts, and may write, pages; so it must not be done with a latch held. Borrow in steps (some KiB at least), not
//! for every row.

use super::cache::PageCache;
use super::guard::OwnedFrame;
use crate::store::Inner;
use crate::{Result, StorageError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most of the usable frames that can be lent: one part in this many.
const LARGEST_SHARE: usize = 2;
/// Frames are lent and taken back this many at a time, or a loan that wavers would map and unmap memory all the time.
const STEP: usize = 8;

/// What all pools of the process have lent, bytes.
static LENT_BYTES: AtomicU64 = AtomicU64::new(0);

/// The account of what all pools of the process have lent, bytes: memory that is counted against them.
pub fn lent_bytes() -> &'static AtomicU64 {
    &LENT_BYTES
}

/// What is lent, to all borrowers.
#[derive(Default)]
pub(crate) struct Lent {
    bytes: u64,
    frames: Vec<OwnedFrame>,
}

/// Memory borrowed from the pool; goes back when dropped.
pub struct MemoryLoan {
    inner: Arc<Inner>,
    bytes: u64,
}

impl MemoryLoan {
    /// A loan of nothing, to be enlarged.
    pub(crate) fn new(inner: &Arc<Inner>) -> MemoryLoan {
        MemoryLoan { inner: Arc::clone(inner), bytes: 0 }
    }

    /// Bytes borrowed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the loan larger. The caller holds no latch.
    ///
    /// # Errors
    /// `MemoryExhausted` if the pool cannot spare so much: the loan is as it was. `Io`, `Poisoned` met while writing
    /// pages to make room.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        self.inner.cache.lend(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives `bytes` of the loan back (all of it, if that is more).
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

impl PageCache {
    /// Most bytes that can be lent in all.
    pub(crate) fn lending_limit(&self) -> u64 {
        let frames = self.pool.usable_frames() / LARGEST_SHARE;
        (frames / STEP * STEP * self.page_size) as u64
    }

    /// Bytes that are lent.
    pub(crate) fn lent_bytes(&self) -> u64 {
        self.lent.lock().bytes
    }

    fn frames_for(&self, bytes: u64) -> usize {
        (bytes.div_ceil(self.page_size as u64) as usize).next_multiple_of(STEP)
    }

    fn lend(&self, bytes: u64) -> Result<()> {
        // Promised first, so that others who borrow meanwhile do not take the same share.
        let needed = {
            let mut lent = self.lent.lock();
            let limit = self.lending_limit();
            let total = lent.bytes.saturating_add(bytes);
            if total > limit {
                return Err(StorageError::MemoryExhausted { bytes, lent: lent.bytes, limit });
            }
            lent.bytes = total;
            LENT_BYTES.fetch_add(bytes, Ordering::Relaxed);
            self.frames_for(total).saturating_sub(lent.frames.len())
        };
        let mut taken = Vec::new();
        while taken.len() < needed {
            match self.take_frames(STEP.min(needed - taken.len())) {
                Ok(frames) => taken.extend(frames),
                Err(error) => {
                    self.take_back(bytes);
                    return match error {
                        StorageError::PoolTooSmall { .. } => {
                            let (lent, limit) = (self.lent_bytes(), self.lending_limit());
                            Err(StorageError::MemoryExhausted { bytes, lent, limit })
                        }
                        other => Err(other),
                    };
                }
            }
        }
        taken.iter().for_each(OwnedFrame::discard);
        let mut lent = self.lent.lock();
        lent.frames.append(&mut taken);
        self.trim(&mut lent);
        Ok(())
    }

    fn take_back(&self, bytes: u64) {
        let mut lent = self.lent.lock();
        lent.bytes -= bytes;
        LENT_BYTES.fetch_sub(bytes, Ordering::Relaxed);
        self.trim(&mut lent);
    }

    /// Gives frames that are too many for what is lent back to the pool.
    fn trim(&self, lent: &mut Lent) {
        lent.frames.truncate(self.frames_for(lent.bytes));
        self.stats.pool_lent.store(lent.frames.len() as u64, Ordering::Relaxed);
    }
}
