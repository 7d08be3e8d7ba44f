//! The structural verifier checks every invariant of a tree. Tests end with it, and CHECK TABLE begins with it.
//!
//! It looks at every node (see `examine`) and may run beside writers. It compares the count of the segment's pages
//! only if no page was added or freed meanwhile.

use std::ops::ControlFlow;
use std::time::Duration;

use leafline_storage::PageNo;

use crate::error::{BtreeError, Result};
use crate::examine::{NodeProgress, TreeFault, TreeReport, Walking};
use crate::freed::freed_pages;
use crate::read_ahead::ReadAheadSettings;
use crate::tree::Tree;

/// How often a wrong number of pages is checked again, and after what pause.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

impl Tree {
    /// Checks every structural invariant of the tree.
    ///
    /// # Errors
    /// `Corrupt` with the first fault, and the errors of the store.
    pub fn verify(&self) -> Result<TreeReport> {
        let read_ahead = ReadAheadSettings::default();
        let (report, faults) = self.examine(1, read_ahead, &|_| ControlFlow::Continue(()))?;
        match faults.into_iter().next() {
            None => Ok(report),
            Some(TreeFault { page, what, .. }) => Err(BtreeError::Corrupt { page, what }),
        }
    }

    /// Checks the tree like [`verify`](Self::verify), with `threads` threads, and goes on after a fault. Returns all
    /// faults, by page. The report covers the nodes that were reached before `progress` stopped the walk.
    ///
    /// # Errors
    /// The errors of the store, except for pages that cannot be read or used.
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

/// Checks that each page of the segment was met exactly once.
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
