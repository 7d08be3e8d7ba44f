//! Descents from the root to a page. Only this module knows how a descent latches.
//!
//! A descent goes down without latches ([`crate::optimistic`]), latches the target page, shared or exclusively, and
//! then checks whether the reference to it still stands. If it does, the page is the right one and stays so: the
//! reference changes only in mini-transactions that hold parent and child exclusively. If it does not, or if the
//! descent meets writers again and again, the descent couples latches from the root on: it latches a child while its
//! parent still is latched, so it follows a reference before that can go stale.
//!
//! A page that is not in memory is never read in under a latch: the descent releases its latches, faults the page in
//! and starts again at the root, whose page number never changes.
//!
//! # How writers latch
//!
//! Any number of threads may change one tree at once. A change of an entry latches its leaf alone. Splits and merges
//! latch parent, left, right, in this order, all exclusively, and only pages that they hold the parent of, so the
//! first latch decides which thread goes on. No other thread knows a new page until the parent refers to it. No
//! thread waits for a latch above or to the left of one that it holds, and pages of the space manager come last of
//! all: no cycle of waits can form. A thread checks the reason for a split or a merge again under the latches,
//! because another thread may have done it.

use std::ops::Deref;

use leafline_storage::{MiniTransaction, PageNo, PageSlot, SharedGuard};

use crate::error::{BtreeError, OnPage, Result};
use crate::node::{Node, NodeFault, NodeResult};
use crate::optimistic::{ChildReference, Finger, OptimisticOutcome};
use crate::target::Target;
use crate::tree::Tree;

const WRONG_LEVEL: NodeFault = NodeFault("node of another level than its parent expects");

/// The outcome of an attempt to latch a page exclusively.
pub(crate) enum LatchAttempt {
    /// The page is latched.
    Page(PageSlot),
    /// This page is not in memory. The caller drops the mini-transaction, faults the page in, and tries again.
    Missing(PageNo),
    /// The tree has no such level (any more).
    NoSuchLevel,
}

/// A copy of a branch as it was at one moment.
pub(crate) struct BranchCopy {
    page: PageNo,
    bytes: Vec<u8>,
}

impl BranchCopy {
    /// Returns the branch's page.
    pub fn page_no(&self) -> PageNo {
        self.page
    }
}

impl Deref for BranchCopy {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads pages in between the attempts of a descent. A reference read under a latch that has been released may be
/// stale, and a page that was freed need not be readable. So an error counts only when the next attempt needs the
/// same page again.
#[derive(Default)]
pub(crate) struct Faults {
    failed: Option<(PageNo, BtreeError)>,
}

impl Faults {
    /// Reads `page` in. The caller holds no latch.
    pub fn fault_in(&mut self, tree: &Tree, page: PageNo) -> Result<()> {
        if let Some((failed, error)) = self.failed.take()
            && failed == page
        {
            return Err(error);
        }
        if let Err(error) = tree.store().fault_in(page) {
            self.failed = Some((page, error.into()));
        }
        Ok(())
    }
}

impl Tree {
    /// Descends to `level` (0 = the leaf) and latches the page there shared. Returns `None` if the tree has no such
    /// level. The caller holds no latch.
    pub(crate) fn descend(&self, target: Target<'_>, level: u8) -> Result<Option<SharedGuard<'_>>> {
        let mut faults = Faults::default();
        let mut latched = false;
        loop {
            let descent = match latched {
                true => self.try_descend(target, level)?,
                false => self.try_descend_optimistically(target, level)?,
            };
            match descent {
                Descent::Page(guard) => return Ok(Some(guard)),
                Descent::NoSuchLevel => return Ok(None),
                Descent::Missing(page) => faults.fault_in(self, page)?,
                Descent::Contended => latched = true,
            }
        }
    }

    /// Returns a copy of the branch at `level` that holds `target`, or `None` if the tree has no such level. The
    /// caller holds no latch.
    pub(crate) fn branch(&self, target: Target<'_>, level: u8) -> Result<Option<BranchCopy>> {
        let mut faults = Faults::default();
        let mut bytes = Vec::new();
        loop {
            match self.find_copy(target, level, &mut bytes) {
                OptimisticOutcome::Reached(page) => return Ok(Some(BranchCopy { page, bytes })),
                OptimisticOutcome::NoSuchLevel => return Ok(None),
                OptimisticOutcome::Missing(page) => faults.fault_in(self, page)?,
                OptimisticOutcome::Contended => {
                    let copy =
                        |guard: SharedGuard<'_>| BranchCopy { page: guard.page_no(), bytes: guard.to_vec() };
                    return Ok(self.descend(target, level)?.map(copy));
                }
            }
        }
    }

    /// Descends like [`descend_to_leaf`](Self::descend_to_leaf), but from the branch that `finger` points at, if
    /// possible. Sets `finger` to the branch above the leaf.
    pub(crate) fn descend_near(&self, target: Target<'_>, finger: &mut Finger) -> Result<SharedGuard<'_>> {
        if let OptimisticOutcome::Reached(reference) = self.find_leaf(target, finger)
            && let Descent::Page(guard) = self.try_latch(&reference, target, 0)?
        {
            return Ok(guard);
        }
        self.descend_to_leaf(target)
    }

    /// Descends to the leaf of `target` and latches it shared.
    pub(crate) fn descend_to_leaf(&self, target: Target<'_>) -> Result<SharedGuard<'_>> {
        self.descend(target, 0)?
            .ok_or_else(|| BtreeError::corrupt(self.root(), NodeFault("a tree without a leaf level")))
    }

    fn try_descend_optimistically(&self, target: Target<'_>, level: u8) -> Result<Descent<'_>> {
        let reference = match self.find_reference(target, level) {
            OptimisticOutcome::Reached(reference) => reference,
            OptimisticOutcome::Contended => return Ok(Descent::Contended),
            OptimisticOutcome::Missing(page) => return Ok(Descent::Missing(page)),
            OptimisticOutcome::NoSuchLevel => return Ok(Descent::NoSuchLevel),
        };
        self.try_latch(&reference, target, level)
    }

    /// Latches the node at `level` of a reference that was found for `target`.
    fn try_latch(
        &self,
        reference: &ChildReference<'_>,
        target: Target<'_>,
        level: u8,
    ) -> Result<Descent<'_>> {
        let page = reference.page;
        let Some(guard) = self.store().try_shared(page)? else { return Ok(Descent::Missing(page)) };
        if !reference.stands() {
            return Ok(Descent::Contended);
        }
        let node = self.node(&guard, page, None)?;
        if node.level() != level {
            // The root has grown or shrunk. The level of any other node is the one that its parent says.
            return match reference.parent {
                None => Ok(Descent::Contended),
                Some(_) => Err(BtreeError::corrupt(page, WRONG_LEVEL)),
            };
        }
        debug_assert!(target.is_on(&node), "page {page} is not where its parent says");
        Ok(Descent::Page(guard))
    }

    fn try_descend(&self, target: Target<'_>, level: u8) -> Result<Descent<'_>> {
        let Some(mut guard) = self.store().try_shared(self.root())? else {
            return Ok(Descent::Missing(self.root()));
        };
        let mut expected = None;
        loop {
            let page = guard.page_no();
            let node = self.node(&guard, page, expected)?;
            if node.level() <= level {
                let found = node.level() == level;
                return Ok(if found { Descent::Page(guard) } else { Descent::NoSuchLevel });
            }
            let slot = target.child(&node).on(page)?;
            let child = node.child(slot).on(page)?;
            let Some(next) = self.store().try_shared(child)? else {
                return Ok(Descent::Missing(child));
            };
            if cfg!(debug_assertions) {
                check_fences(&node, slot, &Node::open(&next).on(child)?).on(child)?;
            }
            expected = Some(node.level() - 1);
            guard = next;
        }
    }

    /// Latches the node at `level` that holds `key` exclusively. The mini-transaction holds no latch yet.
    pub(crate) fn latch(
        &self,
        mini: &mut MiniTransaction<'_>,
        key: &[u8],
        level: u8,
    ) -> Result<LatchAttempt> {
        let reference = match self.find_reference(Target::Key(key), level) {
            OptimisticOutcome::Reached(reference) => reference,
            OptimisticOutcome::Contended => return self.latch_coupled(mini, key, level),
            OptimisticOutcome::Missing(page) => return Ok(LatchAttempt::Missing(page)),
            OptimisticOutcome::NoSuchLevel => return Ok(LatchAttempt::NoSuchLevel),
        };
        let page = reference.page;
        let Some(slot) = mini.latch(page)? else { return Ok(LatchAttempt::Missing(page)) };
        if !reference.stands() {
            mini.release(slot);
            return self.latch_coupled(mini, key, level);
        }
        let node = self.node(mini.page(slot), page, None)?;
        if node.level() == level && node.covers(key) {
            return Ok(LatchAttempt::Page(slot));
        }
        if reference.parent.is_some() {
            return Err(BtreeError::corrupt(page, NodeFault("node is not where its parent says")));
        }
        // The tree has grown or shrunk in between.
        mini.release(slot);
        self.latch_coupled(mini, key, level)
    }

    /// Latches a node like [`latch`](Self::latch), coupling shared latches on the way down.
    fn latch_coupled(&self, mini: &mut MiniTransaction<'_>, key: &[u8], level: u8) -> Result<LatchAttempt> {
        let root = self.root();
        loop {
            let Some(mut guard) = self.store().try_shared(root)? else {
                return Ok(LatchAttempt::Missing(root));
            };
            let root_level = self.node(&guard, root, None)?.level();
            if root_level < level {
                return Ok(LatchAttempt::NoSuchLevel);
            }
            if root_level == level {
                drop(guard);
                let Some(slot) = mini.latch(root)? else { return Ok(LatchAttempt::Missing(root)) };
                if self.node(mini.page(slot), root, None)?.level() == level {
                    return Ok(LatchAttempt::Page(slot));
                }
                // The tree has grown or shrunk in between.
                mini.release(slot);
                continue;
            }
            let mut expected = root_level;
            loop {
                let page = guard.page_no();
                let node = self.node(&guard, page, Some(expected))?;
                let child = node.child_for(key).and_then(|slot| node.child(slot)).on(page)?;
                expected -= 1;
                if expected == level {
                    let Some(slot) = mini.latch(child)? else { return Ok(LatchAttempt::Missing(child)) };
                    drop(guard);
                    self.node(mini.page(slot), child, Some(level))?;
                    return Ok(LatchAttempt::Page(slot));
                }
                let Some(next) = self.store().try_shared(child)? else {
                    return Ok(LatchAttempt::Missing(child));
                };
                guard = next;
            }
        }
    }

    /// Latches a child of a page that the mini-transaction holds.
    pub(crate) fn latch_child(
        &self,
        mini: &mut MiniTransaction<'_>,
        parent: PageSlot,
        slot: usize,
    ) -> Result<LatchAttempt> {
        let page = mini.page_no(parent);
        let node = Node::open(mini.page(parent)).on(page)?;
        let (child, level) = (node.child(slot).on(page)?, node.level() - 1);
        let Some(latched) = mini.latch(child)? else { return Ok(LatchAttempt::Missing(child)) };
        self.node(mini.page(latched), child, Some(level))?;
        Ok(LatchAttempt::Page(latched))
    }

    /// Checks that `bytes` are a node of this tree, at `level` if that is known.
    #[inline]
    pub(crate) fn node<'p>(&self, bytes: &'p [u8], page: PageNo, level: Option<u8>) -> Result<Node<'p>> {
        let node = Node::open(bytes).on(page)?;
        node.search().belongs_to(self.id(), level).on(page)?;
        Ok(node)
    }
}

enum Descent<'s> {
    Page(SharedGuard<'s>),
    Missing(PageNo),
    NoSuchLevel,
    /// The descent met writers again and again.
    Contended,
}

/// Compares the fences of a child with the separators around its reference.
fn check_fences(parent: &Node<'_>, slot: usize, child: &Node<'_>) -> NodeResult<()> {
    if child.lower_fence() != parent.child_lower(slot)? {
        return Err(NodeFault("lower fence differs from the parent's separator"));
    }
    if child.upper_fence() != parent.child_upper(slot)?.as_deref() {
        return Err(NodeFault("upper fence differs from the parent's separator"));
    }
    Ok(())
}
