//! From the root to a page: the only module that knows how a descent latches.
//!
//! Latches are coupled: a child is latched while its parent still is, so a reference that was read is followed
//! before it can go stale. A page that is not in memory is never read in under a latch: the descent lets go, faults
//! the page in and starts again at the root, whose page number never changes. Waiting is only ever downwards, so
//! descents cannot deadlock with splits and merges (which latch parent, then left, then right).

use leafline_storage::{MiniTransaction, PageKind, PageNo, PageSlot, SharedGuard, page};

use crate::error::{BtreeError, OnPage, Result};
use crate::node::{FORMAT_VERSION, Node, NodeFault, NodeResult};
use crate::tree::Tree;

/// Where a descent goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'k> {
    /// To the node that holds the key.
    Key(&'k [u8]),
    /// To the node that holds what is right before the key; `None` is the end of the tree.
    Before(Option<&'k [u8]>),
}

impl Target<'_> {
    fn child(self, node: &Node<'_>) -> NodeResult<usize> {
        match self {
            Target::Key(key) => node.child_for(key),
            Target::Before(key) => node.child_before(key),
        }
    }
}

/// What came of an attempt to latch a page exclusively.
pub(crate) enum Latched {
    /// It is latched.
    Page(PageSlot),
    /// This page is not in memory: drop the mini-transaction, fault the page in, try again.
    Missing(PageNo),
    /// The tree has no such level (any more).
    NoSuchLevel,
}

/// Reads pages in between attempts. A reference read under a latch that has been let go may be stale, and a page
/// that was freed need not be readable. So an error counts only when the next attempt wants the same page again.
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
    /// Descends to `level` (0 = the leaf) and returns the page there under a shared latch; `None` if the tree has
    /// no such level. The caller holds no latch.
    pub(crate) fn descend(&self, target: Target<'_>, level: u8) -> Result<Option<SharedGuard<'_>>> {
        let mut faults = Faults::default();
        loop {
            match self.try_descend(target, level, cfg!(debug_assertions))? {
                Descent::Page(guard) => return Ok(Some(guard)),
                Descent::NoSuchLevel => return Ok(None),
                Descent::Missing(page) => faults.fault_in(self, page)?,
            }
        }
    }

    /// As [`descend`](Self::descend), and compares the fences of every node with what its parent says.
    pub(crate) fn descend_checked(&self, target: Target<'_>, level: u8) -> Result<Option<SharedGuard<'_>>> {
        let mut faults = Faults::default();
        loop {
            match self.try_descend(target, level, true)? {
                Descent::Page(guard) => return Ok(Some(guard)),
                Descent::NoSuchLevel => return Ok(None),
                Descent::Missing(page) => faults.fault_in(self, page)?,
            }
        }
    }

    /// The leaf of `target` under a shared latch.
    pub(crate) fn descend_to_leaf(&self, target: Target<'_>) -> Result<SharedGuard<'_>> {
        self.descend(target, 0)?
            .ok_or_else(|| BtreeError::corrupt(self.root(), NodeFault("a tree without a leaf level")))
    }

    fn try_descend(&self, target: Target<'_>, level: u8, check: bool) -> Result<Descent<'_>> {
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
            if check {
                check_fences(&node, slot, &Node::open(&next).on(child)?).on(child)?;
            }
            expected = Some(node.level() - 1);
            guard = next;
        }
    }

    /// Latches the node at `level` that holds `key` exclusively. The mini-transaction holds no latch yet.
    pub(crate) fn latch(&self, mini: &mut MiniTransaction<'_>, key: &[u8], level: u8) -> Result<Latched> {
        let root = self.root();
        loop {
            let Some(mut guard) = self.store().try_shared(root)? else {
                return Ok(Latched::Missing(root));
            };
            let root_level = self.node(&guard, root, None)?.level();
            if root_level < level {
                return Ok(Latched::NoSuchLevel);
            }
            if root_level == level {
                drop(guard);
                let Some(slot) = mini.latch(root)? else { return Ok(Latched::Missing(root)) };
                if self.node(mini.page(slot), root, None)?.level() == level {
                    return Ok(Latched::Page(slot));
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
                    let Some(slot) = mini.latch(child)? else { return Ok(Latched::Missing(child)) };
                    drop(guard);
                    self.node(mini.page(slot), child, Some(level))?;
                    return Ok(Latched::Page(slot));
                }
                let Some(next) = self.store().try_shared(child)? else {
                    return Ok(Latched::Missing(child));
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
    ) -> Result<Latched> {
        let page = mini.page_no(parent);
        let node = Node::open(mini.page(parent)).on(page)?;
        let (child, level) = (node.child(slot).on(page)?, node.level() - 1);
        let Some(latched) = mini.latch(child)? else { return Ok(Latched::Missing(child)) };
        self.node(mini.page(latched), child, Some(level))?;
        Ok(Latched::Page(latched))
    }

    /// Checks that `bytes` are a node of this tree, at `level` where it is known.
    #[inline]
    pub(crate) fn node<'p>(&self, bytes: &'p [u8], page: PageNo, level: Option<u8>) -> Result<Node<'p>> {
        let node = Node::open(bytes).on(page)?;
        let kind = if node.is_leaf() { PageKind::LEAF } else { PageKind::BRANCH };
        if page::kind(bytes) != kind || page::format(bytes) != FORMAT_VERSION {
            return Err(BtreeError::corrupt(page, NodeFault("not a tree page of this format")));
        }
        if page::owner(bytes) != self.id() {
            return Err(BtreeError::corrupt(page, NodeFault("page belongs to another segment")));
        }
        if level.is_some_and(|level| level != node.level()) {
            return Err(BtreeError::corrupt(
                page,
                NodeFault("node of another level than its parent expects"),
            ));
        }
        Ok(node)
    }
}

enum Descent<'s> {
    Page(SharedGuard<'s>),
    Missing(PageNo),
    NoSuchLevel,
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
