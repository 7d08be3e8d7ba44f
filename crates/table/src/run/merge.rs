//! Merging sorted sources into one.

use crate::error::Result;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries in ascending key order.
pub trait EntrySource: Send {
    /// The next entry, key and payload.
    ///
    /// # Errors
    /// What is on disk cannot be read.
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;
}

/// The next entry of a source: key, number of the source, payload.
type Head = (Vec<u8>, usize, Vec<u8>);

/// Merges sources. Equal keys come one after the other.
pub struct Merge<'a> {
    sources: Vec<Box<dyn EntrySource + 'a>>,
    heads: BinaryHeap<Reverse<Head>>,
    current: (Vec<u8>, Vec<u8>),
}

impl<'a> Merge<'a> {
    pub(crate) fn new(mut sources: Vec<Box<dyn EntrySource + 'a>>) -> Result<Merge<'a>> {
        let mut heads = BinaryHeap::with_capacity(sources.len());
        for (number, source) in sources.iter_mut().enumerate() {
            if let Some((key, payload)) = source.next()? {
                heads.push(Reverse((key.to_vec(), number, payload.to_vec())));
            }
        }
        Ok(Merge { sources, heads, current: (Vec::new(), Vec::new()) })
    }
}

impl EntrySource for Merge<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some(Reverse((key, number, payload))) = self.heads.pop() else { return Ok(None) };
        // The buffers of the entry before are used again for the source's next one.
        let (mut next_key, mut next_payload) = std::mem::replace(&mut self.current, (key, payload));
        if let Some(source) = self.sources.get_mut(number)
            && let Some((key, payload)) = source.next()?
        {
            next_key.clear();
            next_key.extend_from_slice(key);
            next_payload.clear();
            next_payload.extend_from_slice(payload);
            self.heads.push(Reverse((next_key, number, next_payload)));
        }
        Ok(Some((&self.current.0, &self.current.1)))
    }
}
