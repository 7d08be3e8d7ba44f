//! Sources of the bytes of a node: a latched page, or one that may change while it is read.
//!
//! All searching in a node ([`super::search`]) is written once, over this trait. A source never fails and never
//! leaves the page; for offsets outside it returns arbitrary numbers. The code that follows an offset checks it
//! against [`size`](Source::size) first, which finds damage on a latched page. A reader without a latch repeats
//! everything when the page turns out to have changed.

use std::cmp::Ordering;

use leafline_storage::{OptimisticPage, prefetch_line};

/// The bytes of a page.
pub trait Source: Copy {
    /// Returns the bytes of the page.
    fn size(self) -> usize;

    /// Returns the eight bytes at `at`, a multiple of eight, as a little-endian number.
    fn word(self, at: usize) -> u64;

    /// Returns the eight bytes at `at` as a little-endian number. Bytes beyond the page are arbitrary.
    #[inline]
    fn u64(self, at: usize) -> u64 {
        let shift = at % 8 * 8;
        let low = self.word(at - at % 8) >> shift;
        // The shift is made in two steps, because a shift by 64 is undefined.
        let high = self.word(at - at % 8 + 8) << 1 << (63 - shift);
        low | high
    }

    /// Returns the byte at `at`, or an arbitrary one beyond the page.
    #[inline]
    fn byte(self, at: usize) -> usize {
        (self.word(at - at % 8) >> (at % 8 * 8)) as usize & 0xff
    }

    /// Compares the `len` bytes at `at`, all of them on the page, with `key`.
    #[inline]
    fn compare(self, at: usize, len: usize, key: &[u8]) -> Ordering {
        let mut at = at;
        for chunk in key[..len.min(key.len())].chunks(8) {
            let mut wide = [0; 8];
            wide[..chunk.len()].copy_from_slice(chunk);
            let unused = 64 - 8 * chunk.len() as u32;
            let ours = self.u64(at).swap_bytes() >> unused << unused;
            match ours.cmp(&u64::from_be_bytes(wide)) {
                Ordering::Equal => at += 8,
                unequal => return unequal,
            }
        }
        len.cmp(&key.len())
    }

    /// Returns how many of the `len` bytes at `at`, all of them on the page, `key` begins with.
    #[inline]
    fn common(self, at: usize, len: usize, key: &[u8]) -> usize {
        let most = len.min(key.len());
        let mut same = 0;
        for chunk in key[..most].chunks(8) {
            let mut wide = [0; 8];
            wide[..chunk.len()].copy_from_slice(chunk);
            let different = (self.u64(at + same) ^ u64::from_le_bytes(wide)).trailing_zeros() as usize / 8;
            if different < chunk.len() {
                return same + different;
            }
            same += chunk.len();
        }
        most
    }

    /// Copies the bytes from `at` on, as many as `out` has, all of them on the page.
    #[inline]
    fn copy(self, at: usize, out: &mut [u8]) {
        let shift = at % 8 * 8;
        let mut next = at - at % 8;
        let mut low = self.word(next);
        for chunk in out.chunks_mut(8) {
            next += 8;
            let high = self.word(next);
            // The shift is made in two steps, because a shift by 64 is undefined.
            let bytes = (low >> shift | high << 1 << (63 - shift)).to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
            low = high;
        }
    }

    /// Tells the processor that the cache line at `at` will be read soon.
    #[inline]
    fn prefetch(self, at: usize) {
        let _ = at;
    }
}

impl Source for &[u8] {
    #[inline]
    fn size(self) -> usize {
        self.len()
    }

    #[inline]
    fn word(self, at: usize) -> u64 {
        self.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn u64(self, at: usize) -> u64 {
        match self.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let rest = self.get(at..).unwrap_or_default();
                rest.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
        }
    }

    #[inline]
    fn byte(self, at: usize) -> usize {
        self.get(at).map_or(0, |byte| usize::from(*byte))
    }

    #[inline]
    fn compare(self, at: usize, len: usize, key: &[u8]) -> Ordering {
        self.get(at..at + len).unwrap_or_default().cmp(key)
    }

    #[inline]
    fn prefetch(self, at: usize) {
        prefetch_line(self, at);
    }
}

impl Source for &OptimisticPage<'_> {
    #[inline]
    fn size(self) -> usize {
        OptimisticPage::size(self)
    }

    #[inline]
    fn word(self, at: usize) -> u64 {
        self.word_at(at)
    }

    #[inline]
    fn prefetch(self, at: usize) {
        OptimisticPage::prefetch(self, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that is read by whole words only, like one without a latch.
    #[derive(Clone, Copy)]
    struct Words<'a>(&'a [u8]);

    impl Source for Words<'_> {
        fn size(self) -> usize {
            self.0.len()
        }

        fn word(self, at: usize) -> u64 {
            self.0.word(at & (self.0.len() - 8))
        }
    }

    #[test]
    fn both_kinds_of_source_read_the_same() {
        let page: Vec<u8> = (0..4096u32).map(|n| ((n * n) >> 3) as u8).collect();
        let (slice, words) = (page.as_slice(), Words(&page));
        for at in (0..64).chain(4060..4089) {
            assert_eq!(slice.u64(at), words.u64(at), "at {at}");
            assert_eq!((slice.byte(at), words.byte(at)), (usize::from(page[at]), usize::from(page[at])));
            for len in 0..(4096 - at).min(30) {
                let (mut a, mut b) = (vec![0; len], vec![0; len]);
                slice.copy(at, &mut a);
                words.copy(at, &mut b);
                assert_eq!(a, b);
                assert_eq!(a, page[at..at + len]);
                let mut others = vec![a.clone(), [a.as_slice(), &[0]].concat(), a[..len / 2].to_vec()];
                for changed in 0..len {
                    others.push(a.clone());
                    let last = others.last_mut().unwrap();
                    last[changed] = last[changed].wrapping_add(changed as u8 + 1);
                }
                for other in others {
                    let expected = a.as_slice().cmp(&other);
                    assert_eq!(slice.compare(at, len, &other), expected);
                    assert_eq!(words.compare(at, len, &other), expected);
                    let common = a.iter().zip(&other).take_while(|(a, b)| a == b).count();
                    assert_eq!(
                        (slice.common(at, len, &other), words.common(at, len, &other)),
                        (common, common)
                    );
                }
            }
        }
    }

    #[test]
    fn reading_beyond_the_page_is_harmless() {
        let page = [1; 4096];
        for at in [4089, 4095, 4096, 5000] {
            let _ = (page.as_slice().u64(at), page.as_slice().word(at), Words(&page).u64(at));
        }
        assert_eq!(page.as_slice().u64(4093), 0x0001_0101);
    }
}
