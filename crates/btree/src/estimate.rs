//! Estimates the number of entries between two keys, the number of leaves that hold them, and the share of those in
//! memory.
//!
//! The estimate goes from the top down. On each level it looks at the branches that the range touches, but at most at
//! [`BRANCHES`] or a fraction of the leaves asked for: the first, the last and some between, which stand for the
//! others. It reads the two outer leaves (a dive). It counts a range of few leaves, without latches if they are in
//! memory; for a longer range it takes the mean of sampled inner leaves, preferably of leaves in memory. The work is
//! bounded whatever the range. A caller that knows the mean number of entries of a leaf saves the reads of all but
//! the shortest ranges.

use std::ops::Range;

use leafline_storage::{PageNo, StorageError};

use crate::enumerate::children_in;
use crate::error::{OnPage, Result};
use crate::node::{Node, NodeResult};
use crate::optimistic::OptimisticOutcome;
use crate::target::Target;
use crate::tree::Tree;
use crate::unpacked_cells::UnpackedCells;
use crate::view::LeafView;

/// Branches looked at on one level, unless more than [`LEAVES_PER_BRANCH`] leaves are wanted for each.
const BRANCHES: usize = 16;
const LEAVES_PER_BRANCH: usize = 32;
/// Number of sampled leaves that are read at a time.
const PREFETCHED_LEAVES: usize = 64;
/// Number of leaves looked up in the buffer pool.
const RESIDENCE_SAMPLE: usize = 64;
/// A range of up to this many leaves is counted exactly. [`COUNTED_BESIDE_MEAN`] is the number where the mean is
/// known.
const COUNTED_LEAVES: usize = 4;
const COUNTED_BESIDE_MEAN: usize = 2;
/// Number of inner leaves whose entries are counted in a longer range, if they are in memory.
const SAMPLED_LEAVES: usize = 8;
/// Number of inner leaves that are read and counted if none is in memory.
const READ_LEAVES: usize = 2;

/// Estimated sizes of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Number of live entries.
    pub entries: f64,
    /// Number of leaf pages.
    pub leaves: f64,
    /// Share of the leaves that are in the buffer pool, among up to 64 that were looked up.
    pub resident_fraction: f64,
    /// Levels of the tree; 1 if the root is a leaf.
    pub depth: u32,
    /// Whether `entries` and `leaves` were counted.
    pub exact: bool,
}

/// The leaves that a sample looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledLeaves {
    /// Largest number of leaves.
    pub most: usize,
    /// Whether to read leaves that are not in memory.
    pub read: bool,
}

/// Leaves grouped by the branches above them.
struct LeafGroups {
    /// The leaves of each branch, and the number of branches that it stands for.
    groups: Vec<(Vec<PageNo>, f64)>,
    /// Whether each branch stands for itself alone.
    counted: bool,
    /// Levels of the tree.
    depth: u32,
}

/// The number of leaves of a range, and an evenly spread sample of them.
struct Spread {
    leaves: f64,
    counted: bool,
    sample: Vec<PageNo>,
    depth: u32,
}

/// A branch on the way down: a key that it holds, and the number of branches that it stands for.
struct Branch {
    key: Vec<u8>,
    weight: f64,
}

impl Tree {
    /// Estimates the range `[lower, upper)`; `None` is the end of the tree.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn estimate(&self, lower: &[u8], upper: Option<&[u8]>) -> Result<Estimate> {
        self.estimate_knowing(lower, upper, None)
    }

    /// Estimates a range like [`estimate`](Self::estimate). With `per_leaf`, the mean number of entries of the tree's
    /// leaves, it does not read the leaves of longer ranges that are not in memory.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate).
    pub fn estimate_knowing(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        per_leaf: Option<f64>,
    ) -> Result<Estimate> {
        if upper.is_some_and(|upper| lower >= upper) {
            let depth = self.depth()?;
            return Ok(Estimate { entries: 0.0, leaves: 0.0, resident_fraction: 1.0, depth, exact: true });
        }
        if let Some(counted) = self.count_in_memory(lower, upper)? {
            return Ok(counted);
        }
        let spread = self.spread(lower, upper, RESIDENCE_SAMPLE, BRANCHES)?;
        let resident: Vec<PageNo> =
            spread.sample.iter().copied().filter(|page| self.store().is_resident(*page)).collect();
        let mut estimate = Estimate {
            entries: 0.0,
            leaves: spread.leaves,
            resident_fraction: resident.len() as f64 / spread.sample.len().max(1) as f64,
            depth: spread.depth,
            exact: spread.counted
                && spread.leaves <= per_leaf.map_or(COUNTED_LEAVES, |_| COUNTED_BESIDE_MEAN) as f64,
        };
        if estimate.exact {
            let (entries, leaves) = self.count(lower, upper)?;
            (estimate.entries, estimate.leaves) = (entries as f64, leaves as f64);
            return Ok(estimate);
        }
        let is_cold = 2 * resident.len() < spread.sample.len();
        if let Some(per_leaf) = per_leaf.filter(|_| is_cold) {
            // Each of the two outer leaves counts about half.
            estimate.entries = (spread.leaves - 1.0) * per_leaf;
            return Ok(estimate);
        }
        let mut outer = 0;
        let mut whole = Mean::default();
        for target in [Target::Key(lower), Target::Before(upper)] {
            let guard = self.descend_to_leaf(target)?;
            let page = guard.page_no();
            let leaf = Node::open(&guard).on(page)?;
            outer += live(&leaf, range_on(&leaf, lower, upper).on(page)?).on(page)?;
            whole.add(leaf.count().saturating_sub(leaf.ghosts()));
        }
        let mut inner = Mean::default();
        let every = resident.len().div_ceil(SAMPLED_LEAVES).max(1);
        for page in resident.iter().step_by(every) {
            self.look_at(*page, lower, upper, &mut |leaf, _| {
                inner.add(leaf.len() - leaf.ghosts().min(leaf.len()))
            })?;
        }
        if inner.number == 0 {
            let every = spread.sample.len().div_ceil(READ_LEAVES + 1).max(1);
            for page in spread.sample.iter().skip(every / 2 + 1).step_by(every).take(READ_LEAVES) {
                self.look_at(*page, lower, upper, &mut |leaf, _| {
                    inner.add(leaf.len() - leaf.ghosts().min(leaf.len()))
                })?;
            }
        }
        let per_leaf = inner.mean().or(whole.mean()).unwrap_or_default();
        estimate.entries = outer as f64 + (spread.leaves - 2.0).max(0.0) * per_leaf;
        Ok(estimate)
    }

    /// Counts a range of few leaves that are all in memory, which costs no more than a lookup. Returns `None` for any
    /// other range.
    fn count_in_memory(&self, lower: &[u8], upper: Option<&[u8]>) -> Result<Option<Estimate>> {
        let (mut from, mut fence) = (lower.to_vec(), Vec::new());
        let mut entries = 0;
        for leaves in 1..=COUNTED_LEAVES {
            let OptimisticOutcome::Reached((found, more)) = self.count_on_leaf(&from, upper, &mut fence)
            else {
                return Ok(None);
            };
            entries += found;
            if !more {
                let (entries, leaves, depth) = (entries as f64, leaves as f64, self.depth()?);
                return Ok(Some(Estimate { entries, leaves, resident_fraction: 1.0, depth, exact: true }));
            }
            std::mem::swap(&mut from, &mut fence);
        }
        Ok(None)
    }

    /// Calls `f` with leaves spread evenly over `[lower, upper)` and their slots in the range, each under its shared
    /// latch. Leaves that vanish meanwhile, or cannot be read, are left out.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn sample(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        leaves: SampledLeaves,
        f: &mut dyn FnMut(&LeafView<'_>, Range<usize>),
    ) -> Result<()> {
        let most = leaves.most;
        if most == 0 || upper.is_some_and(|upper| lower >= upper) {
            return Ok(());
        }
        let branches = BRANCHES.max(most / LEAVES_PER_BRANCH);
        let wanted = if leaves.read { most } else { most.max(RESIDENCE_SAMPLE) };
        let mut sample = self.spread(lower, upper, wanted, branches)?.sample;
        if !leaves.read {
            sample.retain(|page| self.store().is_resident(*page));
            let every = sample.len().div_ceil(most).max(1);
            sample = sample.into_iter().step_by(every).collect();
        }
        for pages in sample.chunks(PREFETCHED_LEAVES) {
            self.store().prefetch(pages)?;
            for page in pages {
                self.look_at(*page, lower, upper, f)?;
            }
        }
        Ok(())
    }

    /// Returns the share of leaves that do not lie on the page right after that of the leaf before them in key order,
    /// from a few branches. Returns `None` if the tree has only one leaf.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn breaks(&self) -> Result<Option<f64>> {
        let LeafGroups { groups, .. } = self.leaf_groups(&[], None, BRANCHES)?;
        let pairs = || groups.iter().flat_map(|(pages, _)| pages.windows(2));
        let breaks = pairs().filter(|pair| pair[1].0 != pair[0].0 + 1).count();
        Ok((pairs().count() > 0).then(|| breaks as f64 / pairs().count() as f64))
    }

    /// Calls `f` with a leaf whose reference may be stale, if it (still) holds a part of the range.
    fn look_at(
        &self,
        page: PageNo,
        lower: &[u8],
        upper: Option<&[u8]>,
        f: &mut dyn FnMut(&LeafView<'_>, Range<usize>),
    ) -> Result<()> {
        // A freed page need not be readable. A damaged leaf is reported to a reader that needs its entries.
        let guard = match self.store().shared(page) {
            Ok(guard) => guard,
            Err(error @ StorageError::Poisoned { .. }) => return Err(error.into()),
            Err(_) => return Ok(()),
        };
        let Ok(leaf) = self.node(&guard, page, Some(0)) else { return Ok(()) };
        let outside = upper.is_some_and(|upper| leaf.lower_fence() >= upper)
            || leaf.upper_fence().is_some_and(|fence| fence <= lower);
        if outside {
            return Ok(());
        }
        let range = range_on(&leaf, lower, upper).on(page)?;
        let mut cells = UnpackedCells::default();
        let view = LeafView::new(leaf, page, guard.lsn(), &mut cells);
        f(&view, range);
        view.checked()
    }

    /// Counts live entries and leaves one by one.
    fn count(&self, lower: &[u8], upper: Option<&[u8]>) -> Result<(usize, usize)> {
        let (mut entries, mut leaves) = (0, 0);
        let mut at = lower.to_vec();
        loop {
            let guard = self.descend_to_leaf(Target::Key(&at))?;
            let page = guard.page_no();
            let leaf = Node::open(&guard).on(page)?;
            entries += live(&leaf, range_on(&leaf, lower, upper).on(page)?).on(page)?;
            leaves += 1;
            match leaf.upper_fence() {
                Some(fence) if upper.is_none_or(|upper| fence < upper) => at = fence.to_vec(),
                _ => return Ok((entries, leaves)),
            }
        }
    }

    fn spread(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        wanted: usize,
        most_branches: usize,
    ) -> Result<Spread> {
        let LeafGroups { mut groups, counted, depth } = self.leaf_groups(lower, upper, most_branches)?;
        if groups.is_empty() {
            groups.push((vec![self.root()], 1.0));
        }
        let leaves = groups.iter().map(|(pages, weight)| pages.len() as f64 * weight).sum();
        Ok(Spread { leaves, counted, sample: pick(&groups, leaves, wanted), depth })
    }

    /// Returns the leaves of a range by the branches above them, from at most `most_branches` branches.
    fn leaf_groups(&self, lower: &[u8], upper: Option<&[u8]>, most_branches: usize) -> Result<LeafGroups> {
        let depth = self.depth()?;
        let mut counted = true;
        let mut branches = vec![Branch { key: lower.to_vec(), weight: 1.0 }];
        for level in (2..depth as u8).rev() {
            let mut below = Vec::new();
            for branch in &branches {
                let Some(copy) = self.branch(Target::Key(&branch.key), level)? else { continue };
                let page = copy.page_no();
                let node = Node::open(&copy).on(page)?;
                for slot in children_in(&node, &branch.key, upper).on(page)? {
                    let key = node.child_lower(slot).on(page)?;
                    let key = if key.as_slice() < lower { lower.to_vec() } else { key };
                    below.push(Branch { key, weight: branch.weight });
                }
            }
            counted &= below.len() <= most_branches;
            branches = keep_evenly_spread(below, most_branches);
        }
        // The children of the branches at level 1 are the leaves.
        let mut groups: Vec<(Vec<PageNo>, f64)> = Vec::new();
        for branch in &branches {
            let Some(copy) = self.branch(Target::Key(&branch.key), 1)? else { continue };
            let page = copy.page_no();
            let node = Node::open(&copy).on(page)?;
            let slots = children_in(&node, &branch.key, upper).on(page)?;
            let pages = slots.map(|slot| node.child(slot)).collect::<NodeResult<_>>().on(page)?;
            groups.push((pages, branch.weight));
        }
        Ok(LeafGroups { groups, counted, depth })
    }
}

/// Keeps the first, the last and evenly spaced other branches, which then stand for those left out.
fn keep_evenly_spread(branches: Vec<Branch>, most: usize) -> Vec<Branch> {
    let number = branches.len();
    if number <= most {
        return branches;
    }
    let inner: f64 = branches[1..number - 1].iter().map(|branch| branch.weight).sum();
    let kept: Vec<usize> = (0..most).map(|position| position * (number - 1) / (most - 1)).collect();
    let kept_inner: f64 = kept[1..most - 1].iter().map(|position| branches[*position].weight).sum();
    let scale = inner / kept_inner;
    let mut result = Vec::with_capacity(most);
    for (position, mut branch) in branches.into_iter().enumerate() {
        if kept.binary_search(&position).is_ok() {
            if position > 0 && position < number - 1 {
                branch.weight *= scale;
            }
            result.push(branch);
        }
    }
    result
}

/// Returns up to `wanted` pages, evenly spread by weight from the first to the last; all of them if there are no
/// more.
fn pick(groups: &[(Vec<PageNo>, f64)], leaves: f64, wanted: usize) -> Vec<PageNo> {
    let known: usize = groups.iter().map(|(pages, _)| pages.len()).sum();
    if known <= wanted {
        return groups.iter().flat_map(|(pages, _)| pages.iter().copied()).collect();
    }
    let mut picked = Vec::with_capacity(wanted);
    let mut before = 0.0;
    let mut next = 0;
    for (pages, weight) in groups {
        let after = before + pages.len() as f64 * weight;
        while next < wanted {
            let place = if wanted > 1 { next as f64 / (wanted - 1) as f64 } else { 0.5 };
            let at = place * (leaves - 1.0).max(0.0) + 0.5;
            if at >= after {
                break;
            }
            let position = ((at - before) / weight) as usize;
            picked.push(pages[position.min(pages.len() - 1)]);
            next += 1;
        }
        before = after;
    }
    picked.dedup();
    picked
}

/// Returns the slots of a leaf in `[lower, upper)`.
fn range_on(leaf: &Node<'_>, lower: &[u8], upper: Option<&[u8]>) -> NodeResult<Range<usize>> {
    let start = leaf.lower_bound(lower)?.0;
    let end = upper.map_or(Ok(leaf.count()), |upper| leaf.lower_bound(upper).map(|(slot, _)| slot))?;
    Ok(start..end.max(start))
}

/// Returns the number of entries in the slots that are not ghosts.
fn live(leaf: &Node<'_>, slots: Range<usize>) -> NodeResult<usize> {
    leaf.search().live(slots)
}

#[derive(Default)]
struct Mean {
    sum: usize,
    number: usize,
}

impl Mean {
    fn add(&mut self, value: usize) {
        self.sum += value;
        self.number += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.number > 0).then(|| self.sum as f64 / self.number as f64)
    }
}
