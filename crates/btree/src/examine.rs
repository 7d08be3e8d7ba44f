//! Examines every node of a tree, including those behind damaged nodes.
//!
//! Each level is walked from left to right. Every node is reached by a descent of its own, which compares the fences
//! of all nodes on the way with the separators in their parents. As the root covers all keys, this shows that each
//! level partitions the key space. Where a node cannot be used, its parent tells which keys are behind it: they are
//! recorded as out of reach, and the walk goes on to their right.
//!
//! Leaves that lie scattered in the file, and are not in memory, are examined in the order of their pages: each range
//! of keys that a branch gives to a leaf is walked by itself.
//!
//! Nodes are latched as readers latch them, so this may run beside writers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use leafline_storage::{PageNo, SharedGuard};

use crate::cursor::Direction;
use crate::enumerate::LeavesByPage;
use crate::error::{BtreeError, Result};
use crate::key_range::KeyRange;
use crate::node::{LeafFormat, Node, NodeFault, check};
use crate::policy;
use crate::read_ahead::{RangeLeafOrder, ReadAhead, ReadAheadSettings};
use crate::tree::Tree;

/// Smallest number of leaves that are worth a thread.
const LEAVES_PER_PIECE: usize = 64;
/// Pieces for each thread, so that all threads are busy to the end.
const PIECES_PER_THREAD: usize = 8;

/// Statistics of a sound tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TreeReport {
    /// Levels; 1 if the root is a leaf.
    pub levels: u32,
    /// Number of leaf pages.
    pub leaves: u64,
    /// Number of leaf pages that are packed.
    pub packed: u64,
    /// Number of branch pages.
    pub branches: u64,
    /// Number of entries, ghosts included.
    pub entries: u64,
    /// Number of ghosts.
    pub ghosts: u64,
    /// Number of leaves with entries that still have a commit timestamp.
    pub unsettled: u64,
    /// Number of leaves that do not lie on the page right after that of the leaf before them.
    pub breaks: u64,
    /// Used share of the leaves' bytes, from 0 to 1.
    pub fill: f64,
}

/// A damaged node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFault {
    /// The node's page.
    pub page: PageNo,
    /// A description of the damage.
    pub what: String,
    /// The keys that are out of reach because of it; `None` if all are in reach.
    pub out_of_reach: Option<KeyRange>,
}

/// Called with the number of nodes examined since the last call. Returns whether to go on. If it stops the walk, the
/// results are incomplete.
pub type NodeProgress<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// The results of examining a tree.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub report: TreeReport,
    pub pages: Vec<PageNo>,
    pub faults: BTreeMap<PageNo, TreeFault>,
    used: u64,
    /// The last child of the branch examined last.
    last_leaf: Option<PageNo>,
    /// Whether the walk ended before the last node.
    pub stopped: bool,
}

/// The parameters of a walk.
#[derive(Clone, Copy)]
pub(crate) struct Walking<'a> {
    pub threads: usize,
    pub read_ahead: ReadAheadSettings,
    pub progress: &'a NodeProgress<'a>,
}

/// The outcome of a descent that tolerates damage.
enum Reached<'s> {
    Node(SharedGuard<'s>),
    Damaged(TreeFault, KeyRange),
    NoSuchLevel,
}

impl Tree {
    /// Examines all nodes.
    pub(crate) fn walk(&self, walking: Walking<'_>) -> Result<Walk> {
        let mut walk = Walk::default();
        let root = match self.reach(&[], u8::MAX)? {
            Reached::NoSuchLevel => self.store().shared(self.root())?,
            Reached::Node(guard) => guard,
            Reached::Damaged(fault, _) => {
                walk.faults.insert(fault.page, fault);
                return Ok(walk);
            }
        };
        let levels = match Node::open(&root) {
            Ok(node) => u32::from(node.level()) + 1,
            Err(fault) => return Err(BtreeError::corrupt(self.root(), fault)),
        };
        drop(root);
        walk.report.levels = levels;
        // Lower fences of the nodes right above the leaves.
        let mut starts = Vec::new();
        for level in (1..levels as u8).rev() {
            starts.clear();
            self.walk_level(level, (&[], None), &mut walk, walking, &mut |lower| {
                starts.push(lower.to_vec())
            })?;
            if walk.stopped {
                return Ok(walk);
            }
        }
        match walk.faults.is_empty() && self.walk_leaves_by_page(&mut walk, walking)? {
            true => {}
            false => self.walk_leaves(&starts, &mut walk, walking)?,
        }
        let capacity = policy::capacity(self.store().page_size()) as f64;
        walk.report.fill = walk.used as f64 / (capacity * walk.report.leaves.max(1) as f64);
        Ok(walk)
    }

    /// Examines the leaves in the order of their pages. Returns false, having examined none, if that order gains
    /// nothing.
    fn walk_leaves_by_page(&self, walk: &mut Walk, walking: Walking<'_>) -> Result<bool> {
        if !walking.read_ahead.may_visit_by_page() {
            return Ok(false);
        }
        let mut from = Some(Vec::new());
        while let Some(lower) = from.take() {
            let begins = lower.is_empty();
            // The branches were sound a moment ago.
            let leaves = match self.leaves_by_page(&lower, None, LeavesByPage::MOST) {
                Ok(leaves) => leaves,
                Err(BtreeError::Corrupt { .. }) if begins => return Ok(false),
                Err(error) => return Err(error),
            };
            let LeavesByPage { leaves: list, missing, backward, .. } = &leaves;
            if begins && !walking.read_ahead.visits_by_page(list.len(), *missing, *backward) {
                return Ok(false);
            }
            self.walk_pieces(list.len(), walk, walking, &|piece, part| {
                leaves.prefetch(self.store(), piece)?;
                let Some(leaf) = list.get(piece) else { return Ok(()) };
                let keys = (leaf.keys.lower.as_slice(), leaf.keys.upper.as_deref());
                self.walk_level(0, keys, part, walking, &mut |_| ())
            })?;
            if !walk.stopped {
                from = leaves.resume;
            }
        }
        Ok(true)
    }

    /// Examines the leaves in the order of their keys, in pieces that begin with some of `starts`.
    fn walk_leaves(&self, starts: &[Vec<u8>], walk: &mut Walk, walking: Walking<'_>) -> Result<()> {
        // A branch has some dozens of children at least.
        let most = (starts.len() * 32 / LEAVES_PER_PIECE).min(walking.threads * PIECES_PER_THREAD);
        if walking.threads < 2 || most < 2 {
            return self.walk_level(0, (&[], None), walk, walking, &mut |_| ());
        }
        let step = starts.len().div_ceil(most);
        let bounds: Vec<&[u8]> = starts.iter().skip(step).step_by(step).map(Vec::as_slice).collect();
        self.walk_pieces(bounds.len() + 1, walk, walking, &|piece, part| {
            let begin = piece.checked_sub(1).and_then(|before| bounds.get(before)).copied();
            let end = bounds.get(piece).copied();
            self.walk_level(0, (begin.unwrap_or_default(), end), part, walking, &mut |_| ())
        })
    }

    /// Makes several threads call `look` for each of the pieces.
    fn walk_pieces(
        &self,
        pieces: usize,
        walk: &mut Walk,
        walking: Walking<'_>,
        look: &(dyn Fn(usize, &mut Walk) -> Result<()> + Sync),
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Walk> {
            let mut part = Walk::default();
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces || part.stopped {
                    return Ok(part);
                }
                look(piece, &mut part)?;
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..walking.threads).map(|_| scope.spawn(work)).collect();
            let mut parts = vec![work()];
            for other in others {
                parts.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            parts.into_iter().try_for_each(|part| part.map(|part| walk.add(part)))
        })
    }

    /// Examines the nodes of a level that hold keys in `[from, to)`, and calls `each` with their lower fences.
    fn walk_level(
        &self,
        level: u8,
        (from, to): (&[u8], Option<&[u8]>),
        walk: &mut Walk,
        walking: Walking<'_>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let mut at = from.to_vec();
        let mut ahead = ReadAhead::new(walking.read_ahead);
        let mut course = RangeLeafOrder::new(Direction::Forward, from, to);
        let (mut nodes, mut last) = (0, PageNo::NONE);
        loop {
            if level == 0 {
                // The walk itself reports branches that read-ahead cannot use.
                let _ = ahead.advance(self, (nodes, last), Some(&at), &mut course);
            }
            let next = match self.reach(&at, level)? {
                // The tree has shrunk.
                Reached::NoSuchLevel => return Ok(()),
                Reached::Damaged(fault, range) => {
                    walk.faults.entry(fault.page).or_insert(fault);
                    range.upper
                }
                Reached::Node(guard) => {
                    let node =
                        Node::open(&guard).map_err(|fault| BtreeError::corrupt(guard.page_no(), fault))?;
                    walk.look_at(&node, guard.page_no());
                    (nodes, last) = (nodes + 1, guard.page_no());
                    each(node.lower_fence());
                    node.upper_fence().map(<[u8]>::to_vec)
                }
            };
            if (walking.progress)(1).is_break() {
                walk.stopped = true;
                return Ok(());
            }
            match next {
                Some(next) if next > at && to.is_none_or(|to| next.as_slice() < to) => at = next,
                _ => return Ok(()),
            }
        }
    }

    /// Descends to the node of `level` that holds `key`. Returns `NoSuchLevel` if the root is below that level.
    fn reach(&self, key: &[u8], level: u8) -> Result<Reached<'_>> {
        let mut failed = None;
        loop {
            let mut range = KeyRange { lower: Vec::new(), upper: None };
            let mut page = self.root();
            let mut parent: Option<(SharedGuard<'_>, u8)> = None;
            loop {
                let damaged = |what: String, range: KeyRange| {
                    let fault = TreeFault { page, what, out_of_reach: Some(range.clone()) };
                    Ok(Reached::Damaged(fault, range))
                };
                let Some(guard) = self.store().try_shared(page)? else {
                    drop(parent);
                    match self.bring_in(page, &mut failed)? {
                        Some(what) => return damaged(what, range),
                        None => break,
                    }
                };
                let expected = parent.as_ref().map(|(_, level)| level - 1);
                let node = match self.node(&guard, page, expected) {
                    Ok(node) => node,
                    Err(BtreeError::Corrupt { what, .. }) => return damaged(what, range),
                    Err(error) => return Err(error),
                };
                if node.lower_fence() != range.lower || node.upper_fence() != range.upper.as_deref() {
                    let what = if parent.is_some() {
                        "fences differ from the parent's separators"
                    } else {
                        "root with fences"
                    };
                    return damaged(what.into(), range);
                }
                let found = node.level();
                if found <= level {
                    return Ok(if found == level { Reached::Node(guard) } else { Reached::NoSuchLevel });
                }
                let child = node.child_for(key).and_then(|slot| {
                    let bounds = KeyRange { lower: node.child_lower(slot)?, upper: node.child_upper(slot)? };
                    Ok((node.child(slot)?, bounds))
                });
                match child {
                    Ok((child, bounds)) => {
                        (page, range) = (child, bounds);
                        parent = Some((guard, found));
                    }
                    Err(NodeFault(what)) => return damaged(what.into(), range),
                }
            }
        }
    }

    /// Reads a page in. Returns the reason if it cannot be read, and could not be read the last time: a reference
    /// read under a latch that has been released may be stale, and a page that was freed need not be readable.
    fn bring_in(&self, page: PageNo, failed: &mut Option<(PageNo, String)>) -> Result<Option<String>> {
        if let Some((before, why)) = failed.take()
            && before == page
        {
            return Ok(Some(why));
        }
        match self.store().fault_in(page) {
            Ok(()) => {}
            Err(error) if error.is_damage() => *failed = Some((page, reason(&error))),
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// Returns keys that cut the tree into up to about `pieces` pieces of similar size.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn bounds_of_pieces(&self, pieces: usize) -> Result<Vec<Vec<u8>>> {
        let mut bounds = Vec::new();
        for level in (1..self.depth()? as u8).rev() {
            bounds.clear();
            let mut at = Vec::new();
            while let Some(guard) = self.descend(crate::target::Target::Key(&at), level)? {
                let damaged = |fault| BtreeError::corrupt(guard.page_no(), fault);
                let node = Node::open(&guard).map_err(damaged)?;
                for slot in 0..node.count() {
                    bounds.push(node.child_lower(slot).map_err(damaged)?);
                }
                match node.upper_fence() {
                    Some(upper) => at = upper.to_vec(),
                    None => break,
                }
            }
            if bounds.len() >= pieces {
                break;
            }
        }
        let step = bounds.len().div_ceil(pieces.max(1)).max(1);
        Ok(bounds.into_iter().skip(step).step_by(step).collect())
    }
}

/// Returns the description of a page's damage, without its number.
pub(crate) fn reason(error: &leafline_storage::StorageError) -> String {
    match error {
        leafline_storage::StorageError::Corrupt { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

impl Walk {
    fn look_at(&mut self, node: &Node<'_>, page: PageNo) {
        if let Err(NodeFault(what)) = check(node) {
            let fault = TreeFault { page, what: what.into(), out_of_reach: None };
            self.faults.entry(page).or_insert(fault);
        }
        self.pages.push(page);
        if node.is_leaf() {
            self.report.leaves += 1;
            self.report.packed += u64::from(node.format() == LeafFormat::Packed);
            self.report.entries += node.count() as u64;
            self.report.ghosts += node.ghosts() as u64;
            self.report.unsettled += u64::from(node.unsettled() > 0);
            self.used += node.used() as u64;
        } else {
            self.report.branches += 1;
        }
        if node.level() == 1 {
            self.count_breaks(node);
        }
    }

    /// Counts the leaves of a branch that break the order of pages. Branches right above the leaves are examined in
    /// key order.
    fn count_breaks(&mut self, node: &Node<'_>) {
        // The damage of a damaged branch has been recorded.
        for leaf in (0..node.count()).map_while(|slot| node.child(slot).ok()) {
            let follows = self.last_leaf.is_none_or(|last| last.0 + 1 == leaf.0);
            self.report.breaks += u64::from(!follows);
            self.last_leaf = Some(leaf);
        }
    }

    fn add(&mut self, part: Walk) {
        self.report.leaves += part.report.leaves;
        self.report.packed += part.report.packed;
        self.report.entries += part.report.entries;
        self.report.ghosts += part.report.ghosts;
        self.report.unsettled += part.report.unsettled;
        self.used += part.used;
        self.stopped |= part.stopped;
        self.pages.extend(part.pages);
        for (page, fault) in part.faults {
            self.faults.entry(page).or_insert(fault);
        }
    }
}
