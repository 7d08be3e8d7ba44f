//! Merges sorted sources into one.

use crate::error::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Entries in ascending key order.
pub trait EntrySource: Send {
    /// Returns the next entry, key and payload.
    ///
    /// # Errors
    /// Errors of reading from disk.
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;
}

/// The next entry of a source. The first bytes of the key decide most comparisons.
struct Head {
    first: u128,
    key: Vec<u8>,
    source: usize,
    payload: Vec<u8>,
}

impl Head {
    fn place(&self) -> (u128, &[u8], usize) {
        (self.first, &self.key, self.source)
    }

    fn fill(&mut self, key: &[u8], payload: &[u8]) {
        self.first = first_bytes(key);
        self.key.clear();
        self.key.extend_from_slice(key);
        self.payload.clear();
        self.payload.extend_from_slice(payload);
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// The first sixteen bytes as a number. A shorter key is extended with zeros; the full comparison decides
/// then.
pub(super) fn first_bytes(key: &[u8]) -> u128 {
    if let Some(first) = key.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    let mut bytes = [0; 16];
    bytes[..key.len()].copy_from_slice(key);
    u128::from_be_bytes(bytes)
}

/// Merges sources. Equal keys come one after another.
pub struct Merge<'a> {
    sources: Vec<Box<dyn EntrySource + 'a>>,
    heads: BinaryHeap<Reverse<Head>>,
    /// Whether the top head has been returned, so that its source must be asked for the next entry.
    is_used: bool,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(mut sources: Vec<Box<dyn EntrySource + 'a>>) -> Result<Merge<'a>> {
        let mut heads = BinaryHeap::with_capacity(sources.len());
        // A single source needs no order.
        if sources.len() > 1 {
            for (number, source) in sources.iter_mut().enumerate() {
                if let Some((key, payload)) = source.next()? {
                    let mut head = Head { first: 0, key: Vec::new(), source: number, payload: Vec::new() };
                    head.fill(key, payload);
                    heads.push(Reverse(head));
                }
            }
        }
        Ok(Merge { sources, heads, is_used: false })
    }
}

impl EntrySource for Merge<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.sources.len() == 1 {
            return self.sources.first_mut().map_or(Ok(None), |only| only.next());
        }
        if std::mem::take(&mut self.is_used)
            && let Some(mut top) = self.heads.peek_mut()
        {
            let next = match self.sources.get_mut(top.0.source) {
                Some(source) => source.next()?,
                None => None,
            };
            match next {
                // The head sinks to its place when `top` is dropped.
                Some((key, payload)) => top.0.fill(key, payload),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        self.is_used = !self.heads.is_empty();
        Ok(self.heads.peek().map(|Reverse(head)| (&head.key[..], &head.payload[..])))
    }
}
