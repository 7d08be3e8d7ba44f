//! Logical read-ahead: the leaves a scan will visit are read before it gets there, in batches.
//!
//! Which leaves follow is known from branch pages, in key order, however they lie on the device. A long range is read
//! ahead in windows that double as the scan goes on, the next one asked for when half of the last is used
//! up; short ranges (the keys of a lookup join, IN lists) are looked up many at a time, the leaf of each start. Nothing
//! here waits for a read, and pages that are in memory cost a look at their state word.

use crate::counters::Counters;
use crate::error::Result;
use crate::path::AccessPath;
use crate::targets::Targets;
use leafline_storage::PageNo;
use leafline_table::{Direction, Engine, Tree};

/// Pages in the first window of a long range.
const FIRST_WINDOW: usize = 8;
/// Pages in the first window of a part of a long range.
const WINDOW_OF_PART: usize = 64;
/// Leaves of a range that are visited before any is read ahead, beside the first: many ranges have no more.
const LEAVES_BEFORE: usize = 1;
/// Pages in the largest window: 4 MiB of 16 KiB pages.
const LARGEST_WINDOW: usize = 256;
/// Targets whose first leaves are looked up at a time.
const TARGETS_AT_A_TIME: usize = 256;

/// The read-ahead of one scan.
pub(crate) struct ReadAhead {
    /// The index's tree. An index that was dropped has none any more, though older snapshots still read it: without read-ahead.
    tree: Option<Tree>,
    forward: bool,
    /// Targets whose first leaf has been asked for.
    targets_asked: usize,
    /// The target that is being read ahead of, and what is left of it.
    range: usize,
    resume: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    window: usize,
    /// Leaves asked for and not visited yet.
    ahead: usize,
    /// Leaves visited in this range.
    visited: usize,
}

impl ReadAhead {
    /// For scans of a path.
    pub fn new(path: &AccessPath, engine: &Engine) -> ReadAhead {
        ReadAhead {
            tree: engine.tree(&path.index).ok(),
            forward: true,
            targets_asked: 0,
            range: usize::MAX,
            resume: None,
            upper: None,
            window: FIRST_WINDOW,
            ahead: 0,
            visited: 0,
        }
    }

    /// A new walk begins; one of a part of a long range reads far ahead at once.
    pub fn start(&mut self, direction: Direction, is_part: bool) {
        self.forward = direction == Direction::Forward;
        self.targets_asked = 0;
        self.range = usize::MAX;
        self.window = if is_part { WINDOW_OF_PART } else { FIRST_WINDOW };
    }

    /// A leaf is about to be visited for target number `current`.
    pub fn leaf(&mut self, targets: &Targets, current: usize, counters: &mut Counters) -> Result<()> {
        let (true, Some(tree)) = (self.forward, self.tree.clone()) else { return Ok(()) };
        if targets.len() > 1 && current + TARGETS_AT_A_TIME / 2 >= self.targets_asked {
            self.ask_for_targets(&tree, targets, counters)?;
        }
        let Some(range) = targets.range(current) else { return Ok(()) };
        if self.range != current {
            self.range = current;
            self.resume = Some(range.lower.clone());
            self.upper.clone_from(&range.upper);
            self.ahead = 0;
            self.visited = 0;
            return Ok(());
        }
        // Only a range that goes on is worth a look at the branch that says what follows.
        self.visited += 1;
        self.ahead = self.ahead.saturating_sub(1);
        if self.visited > LEAVES_BEFORE
            && self.ahead <= self.window / 2
            && let Some(resume) = self.resume.take()
        {
            let list = tree.leaves(&resume, self.upper.as_deref(), self.window)?;
            self.ahead += list.pages.len();
            self.resume = list.resume;
            self.window = (self.window * 2).min(LARGEST_WINDOW);
            ask(&tree, list.pages, counters)?;
        }
        Ok(())
    }

    /// The scan left its leaf for `key`: what follows there is not what was asked for.
    pub fn leapt_to(&mut self, key: &[u8]) {
        self.resume = Some(key.to_vec());
        self.ahead = 0;
        self.visited = 0;
    }

    fn ask_for_targets(&mut self, tree: &Tree, targets: &Targets, counters: &mut Counters) -> Result<()> {
        let end = targets.len().min(self.targets_asked + TARGETS_AT_A_TIME);
        let mut pages = Vec::new();
        for target in self.targets_asked..end {
            if let Some(range) = targets.range(target) {
                let page = tree.leaf_of(&range.lower)?;
                if pages.last() != Some(&page) {
                    pages.push(page);
                }
            }
        }
        self.targets_asked = end.max(self.targets_asked + 1);
        ask(tree, pages, counters)
    }
}

fn ask(tree: &Tree, mut pages: Vec<PageNo>, counters: &mut Counters) -> Result<()> {
    let store = tree.store();
    pages.retain(|page| !store.is_resident(*page));
    if pages.len() > 1 {
        counters.leafline_read_ahead_pages += pages.len() as u64;
        store.prefetch(&pages)?;
    }
    Ok(())
}
