//! Relocates leaves to fresh pages: merges changes that were kept elsewhere not in place but into copies, which
//! replace the leaves when they are durable.
//!
//! A copy costs one write of the page, past the pool and the log, and two short records: one makes the parent refer
//! to it, the other frees the old page. Copies of neighbours are neighbours in the file, so a tree whose leaves were
//! all moved once lies in the order of its keys.
//!
//! No page is held while copies are written: that takes long, and a thread with a change of such a leaf would wait.
//! So the caller has to ensure that a leaf that is replaced is still as it was copied ([`Tree::switch`]). Changes
//! that were kept elsewhere after it was copied stay there, and are merged into the copy later.

use leafline_storage::{FreshPages, HeldPage, PageKind, PageNo, Reservation, page::set_kind};

use crate::buffered::{Part, UnpinnedLeaf, merged, parts_of};
use crate::entry::CommitTs;
use crate::error::{OnPage, Result};
use crate::freed::note_freed;
use crate::node::{
    BufferedEntry, Node, NodeFault, NodeResult, format_version, merge_entries, set_merged_through,
};
use crate::tree::Tree;

/// A leaf that was copied.
pub struct CopiedLeaf {
    page: PageNo,
    /// First key that may be on each copy, and the copy's page.
    copies: Vec<(Vec<u8>, PageNo)>,
}

impl CopiedLeaf {
    /// Returns the leaf's page.
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// Returns the first key that may be on the leaf.
    pub fn lower(&self) -> &[u8] {
        &self.copies[0].0
    }
}

impl Tree {
    /// Copies a leaf to fresh pages, with entries merged that are ascending by key and all of them the leaf's; to
    /// several pages if they do not fit one. The copies contain all changes before generation `through`. The leaf is
    /// evicted. Returns `None` if too few pages are left.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn copy_merged(
        &self,
        mut leaf: UnpinnedLeaf,
        entries: &[BufferedEntry],
        through: u64,
        purge_before: CommitTs,
        fresh: &mut FreshPages,
    ) -> Result<Option<CopiedLeaf>> {
        let number = leaf.page_no();
        let images = images(leaf.bytes(), entries, purge_before).on(number)?;
        if images.len() > fresh.left() {
            return Ok(None);
        }
        let mut copies = Vec::with_capacity(images.len());
        for mut image in images {
            set_merged_through(&mut image, through);
            let node = Node::open(&image).on(number)?;
            let (lower, format) = (node.lower_fence().to_vec(), format_version(node.format()));
            set_kind(&mut image, PageKind::LEAF, format);
            let page = fresh.fill(&image).ok_or(NodeFault("a copy of another size")).on(number)?;
            copies.push((lower, page));
        }
        Ok(Some(CopiedLeaf { page: number, copies }))
    }

    /// Returns the most pages and log bytes that replacing leaves by their copies takes.
    pub fn switch_needs<'c>(&self, leaves: impl Iterator<Item = &'c CopiedLeaf>) -> (usize, usize) {
        let (mut pages, mut copies, mut separators) = (0, 0, 0);
        for leaf in leaves {
            pages += 1;
            copies += leaf.copies.len();
            separators += leaf.copies.iter().map(|(lower, _)| lower.len()).sum::<usize>();
        }
        let short = separators + SWITCH_LOG * (copies + pages);
        // Parents split only if the number of leaves grows, and then seldom.
        let splits = copies - pages;
        match splits {
            0 => (0, short),
            _ => (self.pages_of_splits(splits), short + self.log_of_splits(splits)),
        }
    }

    /// Replaces a leaf by its copies, which are durable. Nobody has changed the leaf since except by changes that are
    /// kept elsewhere. `held` is the leaf's page.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn switch(
        &self,
        reservation: &mut Reservation,
        leaf: &CopiedLeaf,
        fresh: &mut FreshPages,
        held: HeldPage,
    ) -> Result<()> {
        let (_, first) = &leaf.copies[0];
        let lowers: Vec<&[u8]> = leaf.copies.iter().map(|(lower, _)| lower.as_slice()).collect();
        self.in_place_of(reservation, leaf.page, &lowers, 0, |mini, above| {
            above.replace(mini, *first)?;
            above.insert(mini, leaf.copies.iter().skip(1).map(|(lower, page)| (lower.as_slice(), *page)))?;
            for (_, page) in &leaf.copies {
                mini.use_fresh(fresh, *page)?;
            }
            note_freed();
            mini.free_held(held, self.id())?;
            Ok(())
        })
    }
}

/// Bound of the log bytes of a copy besides its lower fence: a group, its place in the parent, and in the space map.
const SWITCH_LOG: usize = 192;

/// Returns the pages that replace a leaf.
fn images(page: &[u8], entries: &[BufferedEntry], purge_before: CommitTs) -> NodeResult<Vec<Vec<u8>>> {
    if let Some((image, _)) = merged(page, entries, purge_before)? {
        return Ok(vec![image]);
    }
    let part = |Part { mut image, entries: of_part }: Part| {
        let fits = merge_entries(&mut image, &entries[of_part], purge_before)?;
        fits.then_some(image).ok_or(NodeFault("entries that do not fit a part of a leaf"))
    };
    parts_of(page, entries, purge_before)?.into_iter().map(part).collect()
}
