//! Splits nodes and grows the tree.
//!
//! A split is a mini-transaction of its own. It latches the parent exclusively, then the node, checks whether the
//! split is still needed, moves the smaller part to a new page and inserts the separator. A parent without room is
//! split first, with nothing latched; then the attempt is repeated. A root without room pushes its contents down to a
//! new page and becomes their parent, so its page number stays.
//!
//! Nothing is latched between a split and the change that it was made for, so other threads may use the room that it
//! made. The bounds of [`Tree::worst_case_pages_for`] hold for all threads together that change a tree: a thread that
//! splits more often than it reserved for does so because others filled pages and did not split. The missing page is
//! then added ([`Reservation::top_up`]), which fails only on a disk that has become full since.

use leafline_storage::{PageClass, PageNo, Reservation, page};

use crate::descend::{Faults, LatchAttempt};
use crate::error::{BtreeError, OnPage, Result};
use crate::node::{Node, NodeBuilder, NodeFault, Record, SLOT, Side, branch_cell_len, part};
use crate::policy;
use crate::tree::{Pages, Tree, apply};

/// The outcome of one attempt.
enum Attempt {
    /// The node was split, by this thread or another, unless the parent has no room.
    Split(Split),
    /// A page is not in memory.
    Missing(PageNo),
    /// The node is the root.
    IsRoot,
}

/// The outcome of splitting a node whose parent is latched.
pub(crate) enum Split {
    /// The node is split.
    Done,
    /// The node has room, or must not be split here.
    Needless,
    /// The parent has no room for the separator, which needs a cell of this size.
    ParentFull { separator: Vec<u8>, cell_len: usize },
}

impl Tree {
    /// Splits the node at `level` that holds `key`, unless it has room for a cell of `cell_len` bytes.
    pub(crate) fn split(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        level: u8,
        cell_len: usize,
    ) -> Result<()> {
        let mut faults = Faults::default();
        loop {
            match self.try_split(reservation, key, level, cell_len)? {
                Attempt::Split(Split::Done | Split::Needless) => return Ok(()),
                Attempt::Missing(page) => faults.fault_in(self, page)?,
                Attempt::IsRoot => self.grow(reservation, level)?,
                Attempt::Split(Split::ParentFull { separator, cell_len }) => {
                    self.split(reservation, &separator, level + 1, cell_len)?;
                }
            }
        }
    }

    fn try_split(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        level: u8,
        cell_len: usize,
    ) -> Result<Attempt> {
        reservation.top_up()?;
        let mut mini = self.store().begin(reservation, 1)?;
        let parent = match self.latch(&mut mini, key, level + 1)? {
            LatchAttempt::Page(parent) => parent,
            LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
            LatchAttempt::NoSuchLevel => return Ok(Attempt::IsRoot),
        };
        let parent_page = mini.page_no(parent);
        let slot = Node::open(mini.page(parent)).and_then(|node| node.child_for(key)).on(parent_page)?;
        let latched = match self.latch_child(&mut mini, parent, slot)? {
            LatchAttempt::Page(latched) => latched,
            LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
            LatchAttempt::NoSuchLevel => return Ok(Attempt::Split(Split::Needless)),
        };
        let split = self.split_child(&mut mini, parent, latched, key, cell_len)?;
        if let Split::Done = split {
            mini.commit();
            self.count_split();
        }
        Ok(Attempt::Split(split))
    }

    /// Splits the node `at`, which holds `key` and is a child of `parent`, unless it has room for a cell of
    /// `cell_len` bytes.
    pub(crate) fn split_child<P: Pages>(
        &self,
        pages: &mut P,
        parent: P::Slot,
        at: P::Slot,
        key: &[u8],
        cell_len: usize,
    ) -> Result<Split> {
        let (page, parent_page) = (pages.number(at), pages.number(parent));
        let node = Node::open(pages.bytes(at)).on(page)?;
        let level = node.level();
        // A softly merged leaf has to be merged by log first.
        if node.free() >= cell_len + SLOT || page::is_soft(node.bytes()) {
            return Ok(Split::Needless);
        }
        let split = if level == 0 {
            policy::split_leaf(&node, key, cell_len).on(page)?
        } else {
            policy::split_branch(&node, key).on(page)?
        };
        let above = Node::open(pages.bytes(parent)).on(parent_page)?;
        let slot = above.child_for(key).on(parent_page)?;
        let prefix = above.prefix_for(&split.separator);
        let prefix_len = prefix.unwrap_or(above.prefix().len());
        let suffix_len = split
            .separator
            .len()
            .checked_sub(prefix_len)
            .ok_or(NodeFault("separator outside the parent's fences"))
            .on(parent_page)?;
        // The bytes that a shorter prefix costs count as needed.
        let needed = branch_cell_len(suffix_len) + above.free() - above.free_with_prefix(prefix_len);
        if above.free() < needed + SLOT {
            return Ok(Split::ParentFull { separator: split.separator, cell_len: needed });
        }
        let (stays, moved_history, kept_history) = match split.new_page {
            Side::Left => (Side::Right, split.left, split.right),
            Side::Right => (Side::Left, split.right, split.left),
        };
        let position = node.positions(split.at).start;
        let moved = part(&node, split.new_page, position, &split.separator, moved_history).on(page)?;
        let moved = Record::format(moved).on(page)?;
        let new = pages.add(self.id(), level)?;
        let new_page = pages.number(new);
        pages.apply(new, &moved)?;
        pages.apply(at, &Record::truncate(stays, position, &split.separator, kept_history))?;
        if let Some(prefix_len) = prefix {
            pages.apply(parent, &Record::set_prefix(prefix_len))?;
        }
        let upper = match split.new_page {
            Side::Right => new_page,
            Side::Left => {
                pages.apply(parent, &Record::branch_set_child(slot, new_page))?;
                page
            }
        };
        let suffix = &split.separator[prefix_len..];
        pages.apply(parent, &Record::branch_insert(slot + 1, suffix, upper))?;
        Ok(Split::Done)
    }

    /// Moves the contents of the root, if it is still at `level`, to a new page and makes the root that page's
    /// parent.
    fn grow(&self, reservation: &mut Reservation, level: u8) -> Result<()> {
        let root = self.root();
        let mut faults = Faults::default();
        loop {
            reservation.top_up()?;
            let mut mini = self.store().begin(reservation, 1)?;
            let Some(latched) = mini.latch(root)? else {
                drop(mini);
                faults.fault_in(self, root)?;
                continue;
            };
            let node = self.node(mini.page(latched), root, None)?;
            if node.level() != level {
                return Ok(());
            }
            let mut copy = NodeBuilder::like(&node, &[], None).on(root)?;
            copy.push_all(&node, 0..node.slots()).on(root)?;
            let class = if level == 0 { PageClass::Leaf } else { PageClass::Branch };
            let child = mini.allocate(self.id(), class)?;
            let child_page = mini.page_no(child);
            apply(&mut mini, child, &Record::format(copy).on(root)?)?;
            let above = parent_of_one(self.store().page_size(), level + 1, child_page).on(root)?;
            apply(&mut mini, latched, &Record::format(above).on(root)?)?;
            mini.commit();
            return Ok(());
        }
    }

    pub(crate) fn no_leaf_level(&self) -> BtreeError {
        BtreeError::corrupt(self.root(), NodeFault("a tree without a leaf level"))
    }
}

/// Makes a root with one child.
pub(crate) fn parent_of_one(page_size: usize, level: u8, child: PageNo) -> Result<NodeBuilder, NodeFault> {
    let mut builder = NodeBuilder::new(page_size, level, &[], None)?;
    builder.push_child(&[], &[], child)?;
    Ok(builder)
}
