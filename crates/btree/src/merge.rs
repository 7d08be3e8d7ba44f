//! Merges nodes that have become nearly empty, and shrinks the tree.
//!
//! A merge is a mini-transaction of its own. It latches the parent, the left and the right node, in this order, all
//! exclusively, and moves the entries of the emptier node into the other, whose fence is widened. This also unlinks
//! an empty node. The parent may then be nearly empty itself, and so on upwards. A root with one child takes over the
//! child's contents, so the root's page number stays.

use leafline_storage::{MiniTransaction, PageNo, PageSlot, Reservation, page};

use crate::descend::{Faults, LatchAttempt};
use crate::error::{OnPage, Result};
use crate::freed::note_freed;
use crate::node::{Node, NodeBuilder, NodeResult, Record, Side};
use crate::policy;
use crate::tree::{Tree, apply};

/// The outcome of one attempt.
enum Attempt {
    /// The nodes were merged, or there was nothing to merge. True if the parent is worth a merge, too.
    Done(bool),
    /// A page is not in memory.
    Missing(PageNo),
    /// The node cannot be merged with this neighbour.
    Unsuitable,
    /// The parent has only one child.
    OnlyChild,
}

impl Tree {
    /// Merges the node at `level` that holds `key` with a neighbour if it is nearly empty, then its parents.
    pub(crate) fn merge(&self, reservation: &mut Reservation, key: &[u8], level: u8) -> Result<()> {
        let mut faults = Faults::default();
        let (mut level, mut neighbour) = (level, Side::Right);
        let mut siblings_made = false;
        loop {
            match self.try_merge(reservation, key, level, neighbour)? {
                Attempt::Missing(page) => faults.fault_in(self, page)?,
                Attempt::Unsuitable if neighbour == Side::Right => neighbour = Side::Left,
                Attempt::Done(false) | Attempt::Unsuitable => return Ok(()),
                Attempt::OnlyChild if siblings_made => return Ok(()),
                Attempt::OnlyChild => {
                    // Merging the parent gives the node siblings, or the node becomes the root.
                    siblings_made = true;
                    if self.shrink(reservation)? {
                        return Ok(());
                    }
                    self.merge(reservation, key, level + 1)?;
                }
                Attempt::Done(true) => {
                    if self.shrink(reservation)? {
                        return Ok(());
                    }
                    (level, neighbour, siblings_made) = (level + 1, Side::Right, false);
                }
            }
        }
    }

    fn try_merge(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        level: u8,
        neighbour: Side,
    ) -> Result<Attempt> {
        let mut mini = self.store().begin(reservation, 0)?;
        let parent = match self.latch(&mut mini, key, level + 1)? {
            LatchAttempt::Page(parent) => parent,
            LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
            LatchAttempt::NoSuchLevel => return Ok(Attempt::Done(false)),
        };
        let parent_page = mini.page_no(parent);
        let above = Node::open(mini.page(parent)).on(parent_page)?;
        let slot = above.child_for(key).on(parent_page)?;
        let first = match neighbour {
            _ if above.count() == 1 => return Ok(Attempt::OnlyChild),
            Side::Right if slot + 1 < above.count() => slot,
            Side::Left if slot > 0 => slot - 1,
            _ => return Ok(Attempt::Unsuitable),
        };
        let mut pair = Vec::with_capacity(2);
        for child in [first, first + 1] {
            match self.latch_child(&mut mini, parent, child)? {
                LatchAttempt::Page(latched) => pair.push(latched),
                LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
                LatchAttempt::NoSuchLevel => return Ok(Attempt::Done(false)),
            }
        }
        let (left, right) = (pair[0], pair[1]);
        if !policy::under_full(&Node::open(mini.page(pair[slot - first])).on(parent_page)?) {
            return Ok(Attempt::Done(false));
        }
        let Some(survivor) = plan(&mini, left, right).on(parent_page)? else {
            return Ok(Attempt::Unsuitable);
        };
        let (stays, goes, side) = match survivor {
            Side::Left => (left, right, Side::Right),
            Side::Right => (right, left, Side::Left),
        };
        let goes_page = mini.page_no(goes);
        let record = Record::absorb(side, &Node::open(mini.page(goes)).on(goes_page)?).on(goes_page)?;
        apply(&mut mini, stays, &record)?;
        if survivor == Side::Right {
            let stays_page = mini.page_no(stays);
            apply(&mut mini, parent, &Record::branch_set_child(first, stays_page))?;
        }
        apply(&mut mini, parent, &Record::branch_remove(first + 1))?;
        self.free(&mut mini, goes)?;
        let above = Node::open(mini.page(parent)).on(parent_page)?;
        let go_on = above.count() == 1 || policy::under_full(&above);
        mini.commit();
        self.count_merge();
        Ok(Attempt::Done(go_on))
    }

    /// Takes the contents of only children into the root. Returns true if the root is a leaf now, or was one before.
    fn shrink(&self, reservation: &mut Reservation) -> Result<bool> {
        let root = self.root();
        let mut faults = Faults::default();
        loop {
            let mut mini = self.store().begin(reservation, 0)?;
            let Some(latched) = mini.latch(root)? else {
                drop(mini);
                faults.fault_in(self, root)?;
                continue;
            };
            let node = self.node(mini.page(latched), root, None)?;
            if node.is_leaf() {
                return Ok(true);
            }
            if node.count() > 1 {
                return Ok(false);
            }
            let child = match self.latch_child(&mut mini, latched, 0)? {
                LatchAttempt::Page(child) => child,
                LatchAttempt::Missing(page) => {
                    drop(mini);
                    faults.fault_in(self, page)?;
                    continue;
                }
                LatchAttempt::NoSuchLevel => return Ok(false),
            };
            if page::is_soft(mini.page(child)) {
                return Ok(false);
            }
            let child_page = mini.page_no(child);
            let node = Node::open(mini.page(child)).on(child_page)?;
            let mut copy = NodeBuilder::like(&node, node.lower_fence(), node.upper_fence()).on(child_page)?;
            copy.push_all(&node, 0..node.slots()).on(child_page)?;
            apply(&mut mini, latched, &Record::format(copy).on(child_page)?)?;
            self.free(&mut mini, child)?;
            mini.commit();
        }
    }

    /// Frees a page that nothing refers to any more.
    fn free(&self, mini: &mut MiniTransaction<'_>, slot: PageSlot) -> Result<()> {
        note_freed();
        Ok(mini.free(slot)?)
    }
}

/// Returns which of two neighbours takes over the other's entries, or `None` if they are better left apart.
fn plan(mini: &MiniTransaction<'_>, left: PageSlot, right: PageSlot) -> NodeResult<Option<Side>> {
    let (left, right) = (Node::open(mini.page(left))?, Node::open(mini.page(right))?);
    if [left.bytes(), right.bytes()].into_iter().any(page::is_soft) {
        return Ok(None);
    }
    let size = policy::merged_size(&left, &right)?;
    let empty = left.is_leaf() && (left.count() == 0 || right.count() == 0);
    if !policy::should_merge(left.bytes().len(), size, empty) {
        return Ok(None);
    }
    Ok(Some(if left.used() >= right.used() { Side::Left } else { Side::Right }))
}
