//! The structural verifier: every invariant of a tree, executable. Tests end with it, CHECK TABLE begins with it.
//!
//! It looks at every node (see `examine`), so it may run beside writers; the count of the segment's pages is compared
//! only if no page came or went meanwhile.

use std::ops::ControlFlow;
use std::time::Duration;

use leafline_storage::PageNo;

use crate::error::{BtreeError, Result};
use crate::examine::{NodeProgress, TreeFault, Walking};
use crate::merge::freed_pages;
use crate::read_ahead::ReadAheadSettings;
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
    /// Leaf pages that are packed.
    pub packed: u64,
    /// Branch pages.
    pub branches: u64,
    /// Entries, ghosts included.
    pub entries: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Leaves with entries whose time of change is still noted.
    pub unsettled: u64,
    /// Leaves that do not lie on the page behind that of the leaf before them.
    pub breaks: u64,
    /// Used share of the leaves' bytes.
    pub fill: f64,
}

impl Tree {
    /// Checks every structural invariant of the tree.
    ///
    /// # Errors
    /// `Corrupt` names the first fault; what the store returns.
    pub fn verify(&self) -> Result<TreeReport> {
        let read_ahead = ReadAheadSettings::default();
        let (report, faults) = self.examine(1, read_ahead, &|_| ControlFlow::Continue(()))?;
        match faults.into_iter().next() {
            None => Ok(report),
            Some(TreeFault { page, what, .. }) => Err(BtreeError::Corrupt { page, what }),
        }
    }

    /// As [`verify`](Self::verify), with `threads` threads, and goes on after a fault: returns all of them, by page. The report
    /// is about the nodes that could be reached, until `progress` had enough.
    ///
    /// # Errors
    /// What the store returns, except for pages that cannot be read or used.
    pub fn examine(
        &self,
        threads: usize,
        read_ahead: ReadAheadSettings,
        progress: &NodeProgress<'_>,
    ) -> Result<(TreeReport, Vec<TreeFault>)> {
        let mut attempts = 0;
        loop {
            let (freed, allocated) = (freed_pages(), self.allocated_pages());
            let mut walk = self.walk(Walking { threads, read_ahead, progress })?;
            if walk.stopped || !walk.faults.is_empty() {
                return Ok((walk.report, walk.faults.into_values().collect()));
            }
            if freed != freed_pages() || allocated != self.allocated_pages() {
                return Ok((walk.report, Vec::new()));
            }
            attempts += 1;
            match check_pages(self.root(), &mut walk.pages, allocated) {
                // A page is counted a moment before it is in the tree, and still a moment after it has left.
                Some(_) if attempts < ATTEMPTS => std::thread::sleep(PAUSE),
                fault => return Ok((walk.report, fault.into_iter().collect())),
            }
        }
    }

    fn allocated_pages(&self) -> Option<u64> {
        self.store().segments().into_iter().find(|info| info.id == self.id()).map(|info| info.pages)
    }
}

/// Each page of the segment was met exactly once.
fn check_pages(root: PageNo, pages: &mut [PageNo], allocated: Option<u64>) -> Option<TreeFault> {
    let fault = |page, what: String| Some(TreeFault { page, what, out_of_reach: None });
    pages.sort_unstable();
    if let Some(twice) = pages.windows(2).find(|pair| pair[0] == pair[1]) {
        return fault(twice[0], "page is in the tree twice".into());
    }
    match allocated {
        None => fault(root, "the tree's segment does not exist".into()),
        Some(number) if number != pages.len() as u64 => {
            fault(root, format!("the segment has {number} pages, the tree {}", pages.len()))
        }
        Some(_) => None,
    }
}
