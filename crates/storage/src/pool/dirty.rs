//! A bitmap of the frames that hold changed pages, so that finding them does not visit every frame.
//!
//! A bit is set under the frame's exclusive latch, after the frame's `rec_lsn` is set and before the change is
//! appended to the log. It is cleared under a latch, after `rec_lsn` is cleared. A thread that first reads the log's
//! end and then the bits therefore misses no change below that end. A set bit is a hint: `rec_lsn` decides whether
//! the frame is dirty.

use std::sync::atomic::{AtomicU64, Ordering};

const BITS: usize = u64::BITS as usize;

pub(super) struct DirtyFrames(Box<[AtomicU64]>);

impl DirtyFrames {
    /// Makes the bitmap of `frames` frames, all clean.
    pub(super) fn new(frames: usize) -> DirtyFrames {
        DirtyFrames((0..frames.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn insert(&self, frame: usize) {
        if let Some(word) = self.0.get(frame / BITS) {
            word.fetch_or(1 << (frame % BITS), Ordering::SeqCst);
        }
    }

    pub(super) fn remove(&self, frame: usize) {
        if let Some(word) = self.0.get(frame / BITS) {
            word.fetch_and(!(1 << (frame % BITS)), Ordering::SeqCst);
        }
    }

    /// Iterates over the dirty frames in cyclic order, from number `first` on.
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = usize> {
        let words = self.0.len();
        let before = !(u64::MAX << (first % BITS));
        // The word of `first` is visited twice: at the beginning for the bits from `first` on, and at the end for
        // those before it.
        (0..=words).flat_map(move |step| {
            let at = (first / BITS + step) % words.max(1);
            let wanted = match step {
                0 => !before,
                _ if step == words => before,
                _ => u64::MAX,
            };
            let mut bits = self.0.get(at).map_or(0, |word| word.load(Ordering::SeqCst)) & wanted;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(at * BITS + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_from_anywhere() {
        let dirty = DirtyFrames::new(130);
        for frame in [0, 5, 63, 64, 127, 129, 7] {
            dirty.insert(frame);
        }
        dirty.remove(7);
        dirty.remove(100);
        assert_eq!(dirty.from(0).collect::<Vec<_>>(), [0, 5, 63, 64, 127, 129]);
        assert_eq!(dirty.from(70).collect::<Vec<_>>(), [127, 129, 0, 5, 63, 64]);
        assert_eq!(dirty.from(129).collect::<Vec<_>>(), [129, 0, 5, 63, 64, 127]);
    }
}
