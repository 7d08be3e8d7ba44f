//! Memory that the pool lends to other parts of the engine, so that `buffer_pool_size` caps that memory, too.
//!
//! Write sets, old versions and the like are allocated by their owners. Each owner first borrows from the pool as
//! many bytes as it allocates: the pool gives up that many free frames, returns their memory to the system, and keeps
//! pages in the frames that are left.
//!
//! | rule | purpose |
//! |---|---|
//! | frames lent × page size >= bytes lent | borrowed memory is not used for pages |
//! | at most half of the frames that translation has left are lent | enough frames are left for pages |
//! | a loan is given back when its [`MemoryLoan`](crate::MemoryLoan) is dropped | the borrower has nothing else to do |
//!
//! Borrowing evicts pages and may write them, so the borrower must hold no latch. Borrow in steps of some KiB at
//! least, not for every row.

use super::cache::{Lent, PageCache};
use super::guard::OwnedFrame;
use crate::{Result, StorageError};
use std::sync::atomic::{AtomicU64, Ordering};

/// The pool lends at most one in this many of the usable frames.
const LARGEST_SHARE: usize = 2;
/// Frames are lent and taken back in multiples of this number, so that a loan whose size wavers does not map and
/// unmap memory all the time.
const STEP: usize = 8;

/// Bytes that all pools of the process have lent.
static LENT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns the counter of the bytes that all pools of the process have lent. Allocations that borrowed are charged to
/// it.
pub fn lent_bytes() -> &'static AtomicU64 {
    &LENT_BYTES
}

impl PageCache {
    /// Returns the largest total of bytes that can be lent at once.
    pub(crate) fn lending_limit(&self) -> u64 {
        let frames = self.pool.usable_frames() / LARGEST_SHARE;
        (frames / STEP * STEP * self.page_size) as u64
    }

    /// Returns the number of bytes that are lent now.
    pub(crate) fn lent_bytes(&self) -> u64 {
        self.lent.lock().bytes
    }

    fn frames_for(&self, bytes: u64) -> usize {
        (bytes.div_ceil(self.page_size as u64) as usize).next_multiple_of(STEP)
    }

    /// Lends `bytes` more.
    pub(crate) fn lend(&self, bytes: u64) -> Result<()> {
        // Count the bytes before taking frames, so that concurrent borrowers do not take the same share.
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

    /// Takes `bytes` back.
    pub(crate) fn take_back(&self, bytes: u64) {
        let mut lent = self.lent.lock();
        lent.bytes -= bytes;
        LENT_BYTES.fetch_sub(bytes, Ordering::Relaxed);
        self.trim(&mut lent);
    }

    /// Gives the frames that the lent bytes do not need back to the pool.
    fn trim(&self, lent: &mut Lent) {
        lent.frames.truncate(self.frames_for(lent.bytes));
        self.stats.pool_lent.store(lent.frames.len() as u64, Ordering::Relaxed);
    }
}
