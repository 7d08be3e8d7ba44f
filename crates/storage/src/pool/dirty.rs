//! Which frames hold changed pages, a bit each: to find them is not to go through all frames.
//!
//! A bit is set under the frame's exclusive latch after its `rec_lsn` is, and before the change is appended to the log; it is cleared under a
//! latch after `rec_lsn` is. So who reads the log's end first and the bits then misses no change below that end; and a bit that is set
//! says that the frame is worth a look, no more.

use std::sync::atomic::{AtomicU64, Ordering};

const BITS: usize = u64::BITS as usize;

pub(super) struct DirtyFrames(Box<[AtomicU64]>);

impl DirtyFrames {
    /// Of `frames` frames, none.
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

    /// The frames, from number `first` on and around.
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = usize> {
        let words = self.0.len();
        let before = !(u64::MAX << (first % BITS));
        // The word of `first` comes first with what is behind it, and last with what is before.
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
