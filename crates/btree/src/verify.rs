//! The structural verifier: every invariant of a tree, executable. Tests end with it, CHECK TABLE begins with it.
//!
//! It walks each level from left to right, every node by a descent of its own that compares the fences of all nodes on
//! the way with the separators in their parents. With the root covering everything, this shows that each level
//! partitions the key space. It latches as readers do, so it may run beside writers; the count of the segment's pages
//! is compared only if no page came or went meanwhile.

use std::collections::HashSet;
use std::time::Duration;

use leafline_storage::PageNo;

use crate::descend::Target;
use crate::error::{BtreeError, OnPage, Result};
use crate::merge::freed_pages;
use crate::node::{Node, NodeFault, check};
use crate::policy;
use crate::tree::Tree;

/// How often a wrong number of pages is looked at again, and how long after.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// What the verifier found in a sound tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TreeReport {
    /// Levels, 1 = the root is a leaf.
    pub levels: u32,
    /// Leaf pages.
    pub leaves: u64,
    /// Branch pages.
    pub branches: u64,
    /// Entries, ghosts included.
    pub entries: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Used share of the leaves' bytes.
    pub fill: f64,
}

impl Tree {
    /// Checks every structural invariant of the tree.
    ///
    /// # Errors
    /// `Corrupt` names the first fault; what the store returns.
    pub fn verify(&self) -> Result<TreeReport> {
        let mut attempts = 0;
        loop {
            let (freed, allocated) = (freed_pages(), self.allocated_pages());
            let (report, pages) = self.walk()?;
            if freed != freed_pages() || allocated != self.allocated_pages() {
                return Ok(report);
            }
            attempts += 1;
            match check_pages(self.root(), &pages, allocated) {
                // A page is counted a moment before it is in the tree, and still a moment after it has left.
                Err(_) if attempts < ATTEMPTS => std::thread::sleep(PAUSE),
                result => return result.map(|()| report),
            }
        }
    }

    /// Checks all nodes; returns their page numbers, too.
    fn walk(&self) -> Result<(TreeReport, Vec<PageNo>)> {
        let mut report = TreeReport { levels: self.depth()?, ..TreeReport::default() };
        let mut pages = Vec::new();
        let mut used = 0u64;
        for level in (0..report.levels as u8).rev() {
            let mut at = Vec::new();
            loop {
                // The tree may have shrunk.
                let Some(guard) = self.descend_checked(Target::Key(&at), level)? else { break };
                let page = guard.page_no();
                let node = Node::open(&guard).on(page)?;
                check(&node).on(page)?;
                if page == self.root() && (!node.lower_fence().is_empty() || node.upper_fence().is_some()) {
                    return Err(BtreeError::corrupt(page, NodeFault("root with fences")));
                }
                pages.push(page);
                if level == 0 {
                    report.leaves += 1;
                    report.entries += node.count() as u64;
                    report.ghosts += node.ghosts() as u64;
                    used += node.used() as u64;
                } else {
                    report.branches += 1;
                }
                match node.upper_fence() {
                    Some(upper) => at = upper.to_vec(),
                    None => break,
                }
            }
        }
        let capacity = policy::capacity(self.store().page_size()) as f64;
        report.fill = used as f64 / (capacity * report.leaves.max(1) as f64);
        Ok((report, pages))
    }

    fn allocated_pages(&self) -> Option<u64> {
        self.store().segments().into_iter().find(|info| info.id == self.id()).map(|info| info.pages)
    }
}

/// Each page of the segment was met exactly once.
fn check_pages(root: PageNo, pages: &[PageNo], allocated: Option<u64>) -> Result<()> {
    let mut seen = HashSet::with_capacity(pages.len());
    if let Some(twice) = pages.iter().find(|page| !seen.insert(**page)) {
        return Err(BtreeError::corrupt(*twice, NodeFault("page is in the tree twice")));
    }
    match allocated {
        None => Err(BtreeError::corrupt(root, NodeFault("the tree's segment does not exist"))),
        Some(number) if number != pages.len() as u64 => Err(BtreeError::Corrupt {
            page: root,
            what: format!("the segment has {number} pages, the tree {}", pages.len()),
        }),
        Some(_) => Ok(()),
    }
}
