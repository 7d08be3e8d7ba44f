//! Replaces a leaf that is held, so that no other thread can have changed it, by several leaves. Their parent gets
//! room for them before any of them is made, and refers to them by the same mini-transaction.

use leafline_storage::{MiniTransaction, PageNo, PageSlot, Reservation};

use crate::descend::{Faults, LatchAttempt};
use crate::error::{BtreeError, OnPage, Result};
use crate::node::{Node, NodeFault, Record, SLOT, branch_cell_len};
use crate::tree::{Tree, apply};

/// The latched parent of a leaf, with room for the leaves that come beside it.
pub(crate) struct LatchedParent {
    page: PageSlot,
    /// The leaf's slot in the parent.
    slot: usize,
    /// Length to which the parent's prefix has to be shortened for the new leaves.
    prefix: Option<usize>,
}

impl Tree {
    /// Calls `change` to put leaves with these lower fences in the place of the leaf `held`, by a mini-transaction
    /// that can allocate `pages` pages. Commits it if `change` succeeds. The caller holds no latch; the leaf is on
    /// none of the levels that are latched here.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store and of `change`.
    pub(crate) fn in_place_of(
        &self,
        reservation: &mut Reservation,
        held: PageNo,
        lowers: &[&[u8]],
        pages: usize,
        change: impl FnOnce(&mut MiniTransaction<'_>, &LatchedParent) -> Result<()>,
    ) -> Result<()> {
        let Some((key, others)) = lowers.split_first() else { return Ok(()) };
        let mut faults = Faults::default();
        loop {
            while reservation.pages() < pages {
                reservation.add_one()?;
            }
            let mut mini = self.store().begin(reservation, pages)?;
            let page = match self.latch(&mut mini, key, 1)? {
                LatchAttempt::Page(page) => page,
                LatchAttempt::Missing(missing) => {
                    drop(mini);
                    faults.fault_in(self, missing)?;
                    continue;
                }
                LatchAttempt::NoSuchLevel => return Err(self.no_leaf_level()),
            };
            let number = mini.page_no(page);
            let node = Node::open(mini.page(page)).on(number)?;
            let slot = node.child_for(key).on(number)?;
            if node.child(slot).on(number)? != held {
                return Err(BtreeError::corrupt(number, NodeFault("not the parent of a leaf that was held")));
            }
            let (prefix, lacking) = room_for_children(&node, others);
            if let (Some(needed), Some(separator)) = (lacking, others.first()) {
                drop(mini);
                self.split(reservation, separator, 1, needed)?;
                continue;
            }
            change(&mut mini, &LatchedParent { page, slot, prefix })?;
            mini.commit();
            return Ok(());
        }
    }
}

impl LatchedParent {
    /// Makes the parent refer to another page instead of the leaf's.
    pub(crate) fn replace(&self, mini: &mut MiniTransaction<'_>, page: PageNo) -> Result<()> {
        apply(mini, self.page, &Record::branch_set_child(self.slot, page))
    }

    /// Inserts references to the leaves behind the first one, by their lower fences.
    pub(crate) fn insert<'k>(
        &self,
        mini: &mut MiniTransaction<'_>,
        children: impl Iterator<Item = (&'k [u8], PageNo)>,
    ) -> Result<()> {
        if let Some(prefix) = self.prefix {
            apply(mini, self.page, &Record::set_prefix(prefix))?;
        }
        let number = mini.page_no(self.page);
        for (at, (lower, child)) in children.enumerate() {
            let node = Node::open(mini.page(self.page)).on(number)?;
            let suffix = lower.get(node.prefix().len()..);
            let suffix = suffix.ok_or(NodeFault("separator outside the parent's fences")).on(number)?;
            apply(mini, self.page, &Record::branch_insert(self.slot + 1 + at, suffix, child))?;
        }
        Ok(())
    }
}

/// Returns the length to which a branch has to shorten its prefix, if it has to, for more children with these lower
/// fences; and if there is no room for them, the bytes that they need.
fn room_for_children(node: &Node<'_>, lowers: &[&[u8]]) -> (Option<usize>, Option<usize>) {
    let (mut needed, mut prefix) = (0, None);
    for lower in lowers {
        needed += branch_cell_len(lower.len()) + SLOT;
        prefix = [prefix, node.prefix_for(lower)].into_iter().flatten().min();
    }
    needed += prefix.map_or(0, |prefix| node.free() - node.free_with_prefix(prefix));
    (prefix, (node.free() < needed).then_some(needed))
}
