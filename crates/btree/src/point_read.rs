//! Point reads: the entry under one key, without a latch where no writer is in the way.

use crate::entry::EntryView;
use crate::error::{OnPage, Result};
use crate::node::Node;
use crate::optimistic::{Copied, OptimisticOutcome};
use crate::target::Target;
use crate::tree::Tree;

impl Tree {
    /// Calls `f` with the entry under `key`, a ghost included. The entry is a copy, or, where writers are in the way,
    /// the leaf's own under its shared latch; so `f` must not block.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    #[inline]
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<EntryView<'_>>) -> R) -> Result<R> {
        let mut copied = Copied::new();
        match self.find_entry(key, &mut copied) {
            OptimisticOutcome::Reached(true) => Ok(f(Some(copied.entry()))),
            OptimisticOutcome::Reached(false) => Ok(f(None)),
            _ => self.get_latched(key, f),
        }
    }

    #[cold]
    fn get_latched<R>(&self, key: &[u8], f: impl FnOnce(Option<EntryView<'_>>) -> R) -> Result<R> {
        let guard = self.descend_to_leaf(Target::Key(key))?;
        let page = guard.page_no();
        let leaf = Node::open(&guard).on(page)?;
        let (slot, found) = leaf.lower_bound(key).on(page)?;
        let mut unpacked = Vec::new();
        let entry = if found { Some(leaf.entry(slot, &mut unpacked).on(page)?) } else { None };
        Ok(f(entry))
    }

    /// Returns the number of levels; 1 if the root is a leaf.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn depth(&self) -> Result<u32> {
        if let Some(level) = self.root_level() {
            return Ok(u32::from(level) + 1);
        }
        let guard = self.store().shared(self.root())?;
        Ok(u32::from(self.node(&guard, self.root(), None)?.level()) + 1)
    }
}
