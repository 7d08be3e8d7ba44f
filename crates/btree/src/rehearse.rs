//! Rehearses changes of a tree on copies of its pages, to learn the pages and log bytes that they would take.
//!
//! A caller that has to reserve exactly what it will take uses this. The code that changes pages changes the copies,
//! too, so the results are exact if the changes are made in the same order and nobody else changes the tree
//! meanwhile.
//!
//! Keys ascend, so few nodes are copied at a time: of each level the one that holds the last key, and the parts that
//! it has been split into.

use leafline_storage::{PageNo, SegmentId};

use crate::entry::{Change, CommitTs, EntryView};
use crate::error::{OnPage, Result};
use crate::modify::ChangeOutcome;
use crate::node::{Node, RECORD_OVERHEAD, Record};
use crate::split::{Split, parent_of_one};
use crate::target::Target;
use crate::tree::{GROUP_OVERHEAD, Pages, Tree};

/// Changes of a tree that are made on copies.
pub struct Rehearsal<'t> {
    tree: &'t Tree,
    purge_before: CommitTs,
    copies: Copies,
}

/// Copies of nodes, with changes.
struct Copies {
    /// The tree's root, which stands for any copy where a page number is needed.
    number: PageNo,
    page_size: usize,
    /// By level, leaves first: the parts of the node of that level that was searched last.
    levels: Vec<Vec<Vec<u8>>>,
    pages: usize,
    log: usize,
}

/// The place of a copy: its level, and its index there.
type Place = (usize, usize);

impl Pages for Copies {
    type Slot = Place;

    fn number(&self, _: Place) -> PageNo {
        self.number
    }

    fn bytes(&self, (level, at): Place) -> &[u8] {
        &self.levels[level][at]
    }

    fn apply(&mut self, (level, at): Place, record: &Record) -> Result<()> {
        self.log += record.payload.len() + RECORD_OVERHEAD + GROUP_OVERHEAD;
        record.make(&mut self.levels[level][at]).on(self.number)
    }

    fn add(&mut self, _: SegmentId, level: u8) -> Result<Place> {
        self.pages += 1;
        self.log += GROUP_OVERHEAD;
        let level = usize::from(level);
        while self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        let parts = &mut self.levels[level];
        parts.push(vec![0; self.page_size]);
        Ok((level, parts.len() - 1))
    }
}

impl<'t> Rehearsal<'t> {
    /// Begins a rehearsal of changes that clear away ghosts and timestamps as [`Tree::modify`] does.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn new(tree: &'t Tree, purge_before: CommitTs) -> Result<Rehearsal<'t>> {
        let levels = vec![Vec::new(); tree.depth()? as usize];
        let page_size = tree.store().page_size();
        Ok(Rehearsal {
            tree,
            purge_before,
            copies: Copies { number: tree.root(), page_size, levels, pages: 0, log: 0 },
        })
    }

    /// Rehearses the next change as [`Tree::modify`] would make it. Keys ascend.
    ///
    /// # Errors
    /// As `modify`.
    pub fn modify<'b>(
        &mut self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<()> {
        for parts in &mut self.copies.levels {
            parts.retain(|page| {
                let upper = Node::open(page).ok();
                upper.as_ref().and_then(Node::upper_fence).is_none_or(|upper| key < upper)
            });
        }
        loop {
            let Some(leaf) = self.find(key, 0)? else { return Err(self.tree.no_leaf_level()) };
            match self.tree.change(&mut self.copies, leaf, key, self.purge_before, decide)? {
                ChangeOutcome::NoRoom(cell_len) => self.split(key, 0, cell_len)?,
                ChangeOutcome::Made | ChangeOutcome::UnderFull => return Ok(()),
            }
        }
    }

    /// Returns the pages that the changes so far take.
    pub fn pages(&self) -> usize {
        self.copies.pages
    }

    /// Returns the largest number of log bytes that the changes so far take.
    pub fn log(&self) -> usize {
        self.copies.log
    }

    /// Returns the place of the copy of the node at `level` that holds `key`. Returns `None` if there is no such
    /// level.
    fn find(&mut self, key: &[u8], level: usize) -> Result<Option<Place>> {
        let Some(parts) = self.copies.levels.get(level) else { return Ok(None) };
        let holds = |page: &Vec<u8>| Node::open(page).is_ok_and(|node| node.covers(key));
        if let Some(at) = parts.iter().position(holds) {
            return Ok(Some((level, at)));
        }
        let Some(page) = self.tree.descend(Target::Key(key), level as u8)? else { return Ok(None) };
        let page = page.to_vec();
        Ok(self.copies.levels.get_mut(level).map(|parts| {
            parts.push(page);
            (level, parts.len() - 1)
        }))
    }

    /// Splits a copy as the tree splits a node.
    fn split(&mut self, key: &[u8], level: usize, cell_len: usize) -> Result<()> {
        loop {
            let Some(parent) = self.find(key, level + 1)? else {
                self.grow(level)?;
                continue;
            };
            let Some(node) = self.find(key, level)? else { return Err(self.tree.no_leaf_level()) };
            match self.tree.split_child(&mut self.copies, parent, node, key, cell_len)? {
                Split::Done | Split::Needless => return Ok(()),
                Split::ParentFull { separator, cell_len } => self.split(&separator, level + 1, cell_len)?,
            }
        }
    }

    /// Puts a root above the one at `level`, whose contents go to another page.
    fn grow(&mut self, level: usize) -> Result<()> {
        let root = parent_of_one(self.copies.page_size, level as u8 + 1, self.tree.root());
        let image = root.and_then(|root| root.finish()).on(self.tree.root())?;
        self.copies.pages += 1;
        self.copies.log += 2 * (self.copies.page_size + GROUP_OVERHEAD);
        self.copies.levels.push(vec![image]);
        Ok(())
    }
}
