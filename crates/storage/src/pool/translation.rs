//! The translation array: one word per page of storage, in chunks that are made when first needed.
//!
//! The array has three levels, of which the upper two are always in the processor's caches: 1024 x 1024 chunks of
//! 2048 words, enough for 2^31 pages (32 TiB of 16 KiB pages). The words of neighbouring pages lie in different cache
//! lines: neighbours mostly belong to one tree, and readers who latch one leaf must not take the words of others from
//! each other's caches. The bytes of the array count against the pool's memory; see
//! [`bytes`](TranslationArray::bytes).

use crate::PageNo;
use crate::sync::AtomicU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const CHUNK_WORDS: usize = if cfg!(loom) { 4 } else { 2048 };
/// Words of a cache line. They belong to pages that are [`LINES`] page numbers apart.
const LINE_WORDS: usize = if cfg!(loom) { 1 } else { 8 };
const LINES: usize = CHUNK_WORDS / LINE_WORDS;
const FANOUT: usize = if cfg!(loom) { 1 } else { 1024 };

const CHUNK_BYTES: usize = CHUNK_WORDS * size_of::<AtomicU64>();
const NODE_BYTES: usize = FANOUT * size_of::<OnceLock<Box<[AtomicU64]>>>();

/// Most bytes that the array grows by when one page gets a word.
pub(super) const LARGEST_GROWTH: usize = CHUNK_BYTES + NODE_BYTES;

/// Number of pages that can be translated. Every page number is below it.
pub(crate) const MAX_PAGES: u64 = (FANOUT * FANOUT * CHUNK_WORDS) as u64;

type Chunk = OnceLock<Box<[AtomicU64]>>;
type Node = OnceLock<Box<[Chunk]>>;

pub(super) struct TranslationArray {
    root: Box<[Node]>,
    bytes: AtomicUsize,
}

impl TranslationArray {
    pub(super) fn new() -> TranslationArray {
        let root: Box<[Node]> = (0..FANOUT).map(|_| OnceLock::new()).collect();
        TranslationArray { root, bytes: AtomicUsize::new(NODE_BYTES) }
    }

    fn path(page: PageNo) -> (usize, usize, usize) {
        let chunk = page.0 as usize / CHUNK_WORDS;
        let word = page.0 as usize % CHUNK_WORDS;
        (chunk / FANOUT, chunk % FANOUT, word % LINES * LINE_WORDS + word / LINES)
    }

    /// Returns the page's word, or `None` if its chunk was never needed; the page is not in memory then.
    pub(super) fn get(&self, page: PageNo) -> Option<&AtomicU64> {
        let (node, chunk, word) = Self::path(page);
        self.root.get(node)?.get()?.get(chunk)?.get()?.get(word)
    }

    /// Returns the page's word, and makes its chunk if there is none. Returns `None` only for numbers from
    /// [`MAX_PAGES`] on.
    pub(super) fn get_or_create(&self, page: PageNo) -> Option<&AtomicU64> {
        if let Some(word) = self.get(page) {
            return Some(word);
        }
        let (node, chunk, word) = Self::path(page);
        let node = self.root.get(node)?.get_or_init(|| {
            self.bytes.fetch_add(NODE_BYTES, Ordering::Relaxed);
            (0..FANOUT).map(|_| OnceLock::new()).collect()
        });
        let chunk = node.get(chunk)?.get_or_init(|| {
            self.bytes.fetch_add(CHUNK_BYTES, Ordering::Relaxed);
            (0..CHUNK_WORDS).map(|_| AtomicU64::new(0)).collect()
        });
        chunk.get(word)
    }

    /// Returns the bytes used by the array now.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_and_chunks_are_made_on_demand() {
        let array = TranslationArray::new();
        let empty = array.bytes();
        let pages = [0, 1, 2047, 2048, 2048 * 1024, MAX_PAGES - 1];
        for (value, page) in pages.into_iter().enumerate() {
            assert!(page < 2 || page == 2047 || array.get(PageNo(page)).is_none());
            array.get_or_create(PageNo(page)).unwrap().store(value as u64 + 1, Ordering::Relaxed);
        }
        for (value, page) in pages.into_iter().enumerate() {
            assert_eq!(array.get(PageNo(page)).unwrap().load(Ordering::Relaxed), value as u64 + 1);
        }
        assert_eq!(array.get(PageNo(2)).unwrap().load(Ordering::Relaxed), 0);
        assert_eq!(array.bytes() - empty, 4 * CHUNK_BYTES + 3 * NODE_BYTES);
        assert!(array.get_or_create(PageNo(MAX_PAGES)).is_none());
        assert!(array.get(PageNo(u64::MAX)).is_none());
    }
}
