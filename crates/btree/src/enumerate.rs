//! Lists the leaf pages of a range, in key order either way, from branch pages only.
//!
//! The lists serve read-ahead, and cutting scans in pieces. Branches are copied before they are searched, so a list
//! may be stale at once. That is good enough for prefetching and for cutting ranges of keys; readers find their way
//! by key.

use leafline_storage::{PageNo, Store};

use crate::cursor::Direction;
use crate::descend::BranchCopy;
use crate::error::{OnPage, Result};
use crate::key_range::KeyRange;
use crate::node::{Node, NodeResult};
use crate::optimistic::OptimisticOutcome;
use crate::target::Target;
use crate::tree::Tree;

/// Number of branches right above the leaves that are read as one batch when a walk comes to the second of them.
const BRANCHES_AHEAD: usize = 32;

/// Leaves in ascending or descending key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafList {
    /// The leaf pages.
    pub pages: Vec<PageNo>,
    /// Where the rest of the range begins (in descending order: ends). `None`: there is no rest.
    pub resume: Option<Vec<u8>>,
}

/// A leaf as its parent refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafRef {
    /// The leaf's page.
    pub page: PageNo,
    /// The keys behind the reference.
    pub keys: KeyRange,
}

/// The callback's choice of the next leaf of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafWalk {
    /// The next leaf.
    Next,
    /// Forward only: the leaf of this key, which lies behind the present leaf.
    SkipTo(Vec<u8>),
    /// None. A later walk begins with the present leaf.
    Stop,
}

/// Lists the leaves of ranges of one tree. For many small ranges in order, a branch is copied once for all that begin
/// behind it.
#[derive(Default)]
pub struct LeafWalker {
    branch: Option<BranchCopy>,
}

/// The leaves of a range, in the order of their pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeavesByPage {
    /// The leaves, each with the part of the range that it holds.
    pub leaves: Vec<LeafRef>,
    /// Where the rest of the range begins; `None`: there is no rest.
    pub resume: Option<Vec<u8>>,
    /// How many of the leaves lie, in key order, on a page before that of the leaf before them.
    pub backward: usize,
    /// How many of the leaves are not in memory.
    pub missing: usize,
}

/// Number of leaves that [`LeavesByPage::prefetch`] reads at a time.
const WINDOW: usize = 256;

impl LeavesByPage {
    /// Most leaves to list at once, which bounds the memory of a list.
    pub const MOST: usize = 65_536;

    /// Begins to read the leaves behind number `at`, which is about to be visited, a window at a time.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn prefetch(&self, store: &Store, at: usize) -> Result<()> {
        let window = WINDOW.min(store.prefetch_limit()).max(1);
        if !at.is_multiple_of(window) {
            return Ok(());
        }
        let from = if at == 0 { 0 } else { at + window };
        let leaves = self.leaves.iter().skip(from).take(at + 2 * window - from);
        let pages: Vec<PageNo> = leaves.map(|leaf| leaf.page).collect();
        pages.chunks(window).try_for_each(|pages| Ok(store.prefetch(pages)?))
    }
}

impl Tree {
    /// Returns the leaf that holds `key`.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn leaf_of(&self, key: &[u8]) -> Result<PageNo> {
        self.leaf_at(Target::Key(key))
    }

    /// Returns the leaf that holds the last entry before `key`; `None` is the end of the tree.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn leaf_before(&self, key: Option<&[u8]>) -> Result<PageNo> {
        self.leaf_at(Target::Before(key))
    }

    pub(crate) fn leaf_at(&self, target: Target<'_>) -> Result<PageNo> {
        if let OptimisticOutcome::Reached(reference) = self.find_reference(target, 0) {
            return Ok(reference.page);
        }
        let Some(branch) = self.branch(target, 1)? else { return Ok(self.root()) };
        let page = branch.page_no();
        let node = Node::open(&branch).on(page)?;
        target.child(&node).and_then(|slot| node.child(slot)).on(page)
    }

    /// Lists leaves like [`LeafWalker::leaves`].
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn leaves(
        &self,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
        max: usize,
    ) -> Result<LeafList> {
        LeafWalker::default().leaves(self, direction, lower, upper, max)
    }

    /// Returns the leaves that hold keys in `[lower, upper)`, at most `max` of them, sorted by page.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn leaves_by_page(&self, lower: &[u8], upper: Option<&[u8]>, max: usize) -> Result<LeavesByPage> {
        let (mut leaves, mut backward, mut missing, mut last) = (Vec::new(), 0, 0, PageNo(0));
        let resume = self.for_each_leaf(Direction::Forward, lower, upper, &mut |mut leaf| {
            if leaves.len() == max {
                return LeafWalk::Stop;
            }
            backward += usize::from(leaf.page < last);
            missing += usize::from(!self.store().is_resident(leaf.page));
            last = leaf.page;
            let KeyRange { lower: first, upper: end } = &mut leaf.keys;
            if first.as_slice() < lower {
                *first = lower.to_vec();
            }
            if let Some(upper) = upper
                && end.as_deref().is_none_or(|end| end > upper)
            {
                *end = Some(upper.to_vec());
            }
            leaves.push(leaf);
            LeafWalk::Next
        })?;
        leaves.sort_unstable_by_key(|leaf: &LeafRef| leaf.page);
        Ok(LeavesByPage { leaves, resume, backward, missing })
    }

    /// Enumerates leaves like [`LeafWalker::for_each_leaf`].
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn for_each_leaf(
        &self,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
        each: &mut dyn FnMut(LeafRef) -> LeafWalk,
    ) -> Result<Option<Vec<u8>>> {
        LeafWalker::default().for_each_leaf(self, direction, lower, upper, each)
    }

    /// Returns keys that cut `[lower, upper)`: the lower bounds, in order, of the children of the branches at `level`
    /// that lie in it, except the first child's. Returns `None` if the tree has no such level.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn child_bounds(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        level: u8,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let mut bounds: Vec<Vec<u8>> = Vec::new();
        let mut at = lower.to_vec();
        loop {
            let Some(branch) = self.branch(Target::Key(&at), level)? else { return Ok(None) };
            let page = branch.page_no();
            let node = Node::open(&branch).on(page)?;
            for slot in children_in(&node, &at, upper).on(page)? {
                let begins = node.child_lower(slot).on(page)?;
                if begins.as_slice() > bounds.last().map_or(lower, Vec::as_slice)
                    && upper.is_none_or(|upper| begins.as_slice() < upper)
                {
                    bounds.push(begins);
                }
            }
            match node.upper_fence() {
                Some(fence) if upper.is_none_or(|upper| fence < upper) => at = fence.to_vec(),
                _ => return Ok(Some(bounds)),
            }
        }
    }

    /// Begins to read the next branches right above the leaves.
    fn prefetch_branches(&self, from: &[u8], upper: Option<&[u8]>) -> Result<()> {
        let Some(above) = self.branch(Target::Key(from), 2)? else { return Ok(()) };
        let page = above.page_no();
        let node = Node::open(&above).on(page)?;
        let slots = children_in(&node, from, upper).on(page)?.take(BRANCHES_AHEAD);
        let pages: Vec<PageNo> = slots.map(|slot| node.child(slot)).collect::<NodeResult<_>>().on(page)?;
        Ok(self.store().prefetch(&pages)?)
    }
}

impl LeafWalker {
    /// Returns the leaves that hold keys in `[lower, upper)` (`None` is the end of the tree), at most `max` of them:
    /// the first ones, or in reverse the last ones.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn leaves(
        &mut self,
        tree: &Tree,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
        max: usize,
    ) -> Result<LeafList> {
        let mut pages = Vec::new();
        let resume = self.for_each_leaf(tree, direction, lower, upper, &mut |leaf| {
            if pages.len() == max {
                return LeafWalk::Stop;
            }
            pages.push(leaf.page);
            LeafWalk::Next
        })?;
        Ok(LeafList { pages, resume })
    }

    /// Calls `each` with the leaves that hold keys in `[lower, upper)`, in key order or against it, until it stops.
    /// `each` has to accept at least one leaf. Returns where the rest begins (for a reverse walk: ends), if there is
    /// a rest.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn for_each_leaf(
        &mut self,
        tree: &Tree,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
        each: &mut dyn FnMut(LeafRef) -> LeafWalk,
    ) -> Result<Option<Vec<u8>>> {
        match direction {
            Direction::Forward => self.leaves_forward(tree, lower, upper, each),
            Direction::Reverse => self.leaves_in_reverse(tree, lower, upper, each),
        }
    }

    fn leaves_forward(
        &mut self,
        tree: &Tree,
        lower: &[u8],
        upper: Option<&[u8]>,
        each: &mut dyn FnMut(LeafRef) -> LeafWalk,
    ) -> Result<Option<Vec<u8>>> {
        let mut at = lower.to_vec();
        for branches in 0.. {
            if upper.is_some_and(|upper| at.as_slice() >= upper) {
                return Ok(None);
            }
            if branches % BRANCHES_AHEAD == 1 {
                tree.prefetch_branches(&at, upper)?;
            }
            let Some(branch) = self.branch(tree, Target::Key(&at))? else {
                return Ok(only_leaf(tree, at, each));
            };
            let page = branch.page_no();
            let node = Node::open(branch).on(page)?;
            let end = children_in(&node, &at, upper).on(page)?.end;
            let mut slot = node.child_for(&at).on(page)?;
            while slot < end {
                let leaf = leaf_ref(&node, slot).on(page)?;
                let lower = leaf.keys.lower.clone();
                match each(leaf) {
                    LeafWalk::Next => slot += 1,
                    LeafWalk::Stop => return Ok(Some(lower.max(at))),
                    LeafWalk::SkipTo(key) => {
                        slot = match node.upper_fence() {
                            Some(fence) if key.as_slice() >= fence => end,
                            _ => node.child_for(&key).on(page)?.max(slot + 1),
                        };
                        at = key;
                    }
                }
            }
            match node.upper_fence() {
                Some(fence) if end == node.count() && upper.is_none_or(|upper| fence < upper) => {
                    if at.as_slice() < fence {
                        at = fence.to_vec();
                    }
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn leaves_in_reverse(
        &mut self,
        tree: &Tree,
        lower: &[u8],
        upper: Option<&[u8]>,
        each: &mut dyn FnMut(LeafRef) -> LeafWalk,
    ) -> Result<Option<Vec<u8>>> {
        let mut before = upper.map(<[u8]>::to_vec);
        loop {
            if before.as_deref().is_some_and(|before| before <= lower) {
                return Ok(None);
            }
            let Some(branch) = self.branch(tree, Target::Before(before.as_deref()))? else {
                return Ok(only_leaf(tree, before.unwrap_or_default(), each));
            };
            let page = branch.page_no();
            let node = Node::open(branch).on(page)?;
            let first = if node.covers(lower) { node.child_for(lower).on(page)? } else { 0 };
            let last = node.child_before(before.as_deref()).on(page)?;
            for slot in (first..=last).rev() {
                let leaf = leaf_ref(&node, slot).on(page)?;
                let upper = leaf.keys.upper.clone();
                if each(leaf) == LeafWalk::Stop {
                    let upper = match (upper, before) {
                        (Some(upper), Some(before)) => upper.min(before),
                        (upper, before) => upper.or(before).unwrap_or_default(),
                    };
                    return Ok(Some(upper));
                }
            }
            if node.lower_fence().is_empty() || node.lower_fence() <= lower {
                return Ok(None);
            }
            before = Some(node.lower_fence().to_vec());
        }
    }

    /// Returns the branch above the leaf of `target`, as it is or was. Returns `None` if the root is the only leaf.
    fn branch(&mut self, tree: &Tree, target: Target<'_>) -> Result<Option<&BranchCopy>> {
        let holds = |branch: &BranchCopy| Node::open(branch).is_ok_and(|node| target.is_on(&node));
        if !self.branch.as_ref().is_some_and(holds) {
            self.branch = tree.branch(target, 1)?;
        }
        Ok(self.branch.as_ref())
    }
}

/// Shows the root, which is the only leaf.
fn only_leaf(tree: &Tree, at: Vec<u8>, each: &mut dyn FnMut(LeafRef) -> LeafWalk) -> Option<Vec<u8>> {
    let keys = KeyRange { lower: Vec::new(), upper: None };
    (each(LeafRef { page: tree.root(), keys }) == LeafWalk::Stop).then_some(at)
}

fn leaf_ref(branch: &Node<'_>, slot: usize) -> NodeResult<LeafRef> {
    let keys = KeyRange { lower: branch.child_lower(slot)?, upper: branch.child_upper(slot)? };
    Ok(LeafRef { page: branch.child(slot)?, keys })
}

/// Returns the slots of a branch whose children hold keys in `[lower, upper)`. `lower` is on the branch.
pub(crate) fn children_in(
    node: &Node<'_>,
    lower: &[u8],
    upper: Option<&[u8]>,
) -> NodeResult<std::ops::Range<usize>> {
    let first = node.child_for(lower)?;
    let end = match upper {
        Some(upper) => node.children_before(upper)?,
        None => node.count(),
    };
    Ok(first..end.max(first + 1))
}
