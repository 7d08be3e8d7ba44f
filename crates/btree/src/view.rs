//! A latched leaf as visitors see it.
use crate::{CommitTs, EntryView};
use leafline_storage::{Lsn, PageNo};
use std::marker::PhantomData;

/// A leaf under its latch: entries by slot, in key order, ghosts included.
pub struct LeafView<'a> {
    _p: PhantomData<&'a ()>,
}

impl<'a> LeafView<'a> {
    /// The page.
    pub fn page_no(&self) -> PageNo {
        todo!()
    }
    /// End of the last mini-transaction that changed the leaf.
    pub fn page_lsn(&self) -> Lsn {
        todo!()
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes that begin every key of the leaf.
    pub fn prefix(&self) -> &'a [u8] {
        todo!()
    }
    /// The key of `slot` without the prefix.
    pub fn suffix(&self, _slot: usize) -> &'a [u8] {
        todo!()
    }
    /// Replaces `key` by the whole key of `slot`.
    pub fn key_into(&self, _slot: usize, _key: &mut Vec<u8>) {
        todo!()
    }
    /// The entry of `slot`.
    pub fn entry(&self, _slot: usize) -> EntryView<'a> {
        todo!()
    }
    /// A snapshot above this timestamp sees the leaf as it stands.
    pub fn max_commit_ts(&self) -> CommitTs {
        todo!()
    }
    /// Whether all entries are ghosts.
    pub fn no_live_entry(&self) -> bool {
        todo!()
    }
    /// First key that may be on the leaf.
    pub fn lower_fence(&self) -> &'a [u8] {
        todo!()
    }
    /// First key beyond the leaf, `None` at the end of the tree.
    pub fn upper_fence(&self) -> Option<&'a [u8]> {
        todo!()
    }
    /// First slot whose key is at least `key`; `len()` if there is none.
    pub fn lower_bound(&self, _key: &[u8]) -> usize {
        todo!()
    }
}
