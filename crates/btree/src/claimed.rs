//! Finds the readable leaves of a tree whose pages are not known for sure.
//!
//! A freed page keeps its content, so a leaf that is found somewhere may be an old one. The readable branches decide:
//! a leaf that they lead to belongs to the tree, and where they lead to an unusable leaf, its keys are lost, whatever
//! another leaf says. Only behind an unusable branch are other leaves searched for: those that are known to be in
//! use, and those that may be, if no leaf is missing that could be newer than they are. Where such leaves overlap,
//! the one that was changed last counts, as in [`crate::salvage`].

use std::collections::{BTreeMap, BTreeSet};

use leafline_storage::{Lsn, PageNo, SalvagedSegment, SalvagedStore};

use crate::error::{BtreeError, OnPage, Result};
use crate::examine::reason;
use crate::key_range::KeyRange;
use crate::node::check;
use crate::salvage::{Found, Salvage, cover, gaps};
use crate::tree::Tree;

impl Tree {
    /// Finds the readable leaves of a tree; `remains` describes its segment. Where the root is not known
    /// ([`PageNo::NONE`]), the first page of the segment whose fences span all keys is taken for it. That is right
    /// for a tree that was made when nothing was free before its root.
    ///
    /// # Errors
    /// The errors of the store, except for pages that cannot be read.
    pub fn salvage_remains(&self, remains: &SalvagedStore, progress: &mut dyn FnMut(u64)) -> Result<Salvage> {
        let nothing = SalvagedSegment::default();
        let segment = remains.segments.get(&self.id()).unwrap_or(&nothing);
        let mut walk =
            Walk { tree: self, remains, parts: BTreeMap::new(), open: Vec::new(), damaged: BTreeMap::new() };
        let root = match self.root() {
            PageNo::NONE => walk.find_root(segment)?,
            root => Some(root),
        };
        match root {
            Some(root) => walk.walk(root, progress)?,
            None => walk.open.push(ALL_KEYS),
        }
        let reached: BTreeSet<PageNo> = walk.parts.values().map(|(_, page)| *page).collect();
        // A damaged root may have been the only leaf, but not of a tree that has other pages.
        let is_root_a_leaf = root.is_some_and(|root| {
            walk.damaged.contains_key(&root) && segment.certain.iter().all(|page| *page == root)
        });
        let is_elsewhere = |page: &PageNo| !walk.damaged.contains_key(page);
        let mut is_any_missing = is_root_a_leaf || remains.unknown.iter().any(is_elsewhere);
        let mut leaves: Vec<(Lsn, PageNo, KeyRange)> = Vec::new();
        if !walk.open.is_empty() {
            let of_certain =
                leaves_among(&mut walk, &segment.certain, &reached, &mut is_any_missing, progress)?;
            leaves.extend(of_certain);
            let of_claimed =
                leaves_among(&mut walk, &segment.claimed, &reached, &mut is_any_missing, progress)?;
            if !is_any_missing {
                leaves.extend(of_claimed);
            }
        }
        leaves.sort_by_key(|(lsn, page, _)| (std::cmp::Reverse(*lsn), *page));
        for (_, page, range) in leaves {
            for open in &walk.open {
                if let Some(common) = intersection(open, &range) {
                    cover(&mut walk.parts, &common, page);
                }
            }
        }
        let lost = gaps(&walk.parts);
        let damaged = walk.damaged.into_iter().collect();
        Ok(Salvage { tree: self.clone(), parts: walk.parts, lost, damaged })
    }
}

/// Returns the leaves among `pages` that the branches do not lead to. An unusable page that no branch has led to may
/// be a leaf, and counts as missing.
fn leaves_among(
    walk: &mut Walk<'_>,
    pages: &[PageNo],
    reached: &BTreeSet<PageNo>,
    is_any_missing: &mut bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<(Lsn, PageNo, KeyRange)>> {
    let mut leaves = Vec::new();
    for page in pages.iter().filter(|page| !reached.contains(page)) {
        match walk.usable(*page)? {
            Ok(Some((lsn, range))) => leaves.push((lsn, *page, range)),
            Ok(None) => {}
            Err(what) => *is_any_missing |= walk.damaged.insert(*page, what).is_none(),
        }
        progress(1);
    }
    Ok(leaves)
}

/// The key range of the root.
const ALL_KEYS: KeyRange = KeyRange { lower: Vec::new(), upper: None };

/// A walk through the readable branches.
struct Walk<'a> {
    tree: &'a Tree,
    remains: &'a SalvagedStore,
    /// The leaves found, as in [`Salvage`].
    parts: BTreeMap<Vec<u8>, (Option<Vec<u8>>, PageNo)>,
    /// Key ranges behind branches that cannot be used.
    open: Vec<KeyRange>,
    damaged: BTreeMap<PageNo, String>,
}

/// A child: its page, its keys and its level, which is unknown for the root.
type Child = (PageNo, KeyRange, Option<u8>);

impl Walk<'_> {
    fn walk(&mut self, root: PageNo, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let mut next: Vec<Child> = vec![(root, ALL_KEYS, None)];
        while let Some((page, range, level)) = next.pop() {
            progress(1);
            match self.look(page, &range, level)? {
                Ok(Some(children)) => next.extend(children),
                Ok(None) => drop(self.parts.insert(range.lower, (range.upper, page))),
                Err(what) => {
                    self.damaged.insert(page, what);
                    if level != Some(0) {
                        self.open.push(range);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the first page that can be the root. A page that may be free is not taken for it while an unreadable
    /// page before it may be the root.
    fn find_root(&self, segment: &SalvagedSegment) -> Result<Option<PageNo>> {
        let first_unknown = self.remains.unknown.first();
        let is_before_unknown = |page: &&PageNo| first_unknown.is_none_or(|unknown| *page < unknown);
        let claimed = segment.claimed.iter().filter(is_before_unknown);
        let pages: BTreeSet<PageNo> = segment.certain.iter().chain(claimed).copied().collect();
        for page in pages {
            if self.look(page, &ALL_KEYS, None)?.is_ok() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Returns the children of a branch, or `None` for a leaf. An inner error says how the page differs from what its
    /// parent says.
    fn look(
        &self,
        page: PageNo,
        range: &KeyRange,
        level: Option<u8>,
    ) -> Result<Result<Option<Vec<Child>>, String>> {
        if let Some(reason) = self.remains.unusable.get(&page) {
            return Ok(Err(reason.clone()));
        }
        let guard = match self.tree.store().shared(page) {
            Ok(guard) => guard,
            Err(error) if error.is_damage() => return Ok(Err(reason(&error))),
            Err(error) => return Err(error.into()),
        };
        let found = self.tree.node(&guard, page, level).and_then(|node| {
            check(&node).on(page)?;
            if node.lower_fence() != range.lower || node.upper_fence() != range.upper.as_deref() {
                return Err(BtreeError::Corrupt {
                    page,
                    what: "fences differ from the parent's separators".into(),
                });
            }
            if node.is_leaf() {
                return Ok(None);
            }
            let child = |slot| -> Result<Child> {
                let bounds = KeyRange {
                    lower: node.child_lower(slot).on(page)?,
                    upper: node.child_upper(slot).on(page)?,
                };
                Ok((node.child(slot).on(page)?, bounds, Some(node.level() - 1)))
            };
            (0..node.count()).map(child).collect::<Result<Vec<_>>>().map(Some)
        });
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(BtreeError::Corrupt { what, .. }) => Ok(Err(what)),
            Err(error) => Err(error),
        }
    }

    /// Returns LSN and key range of a leaf of the tree.
    fn usable(&self, page: PageNo) -> Result<Found> {
        match self.remains.unusable.get(&page) {
            Some(reason) => Ok(Err(reason.clone())),
            None => self.tree.readable_leaf(page),
        }
    }
}

/// Returns the keys that are in both ranges.
fn intersection(one: &KeyRange, other: &KeyRange) -> Option<KeyRange> {
    let lower = one.lower.clone().max(other.lower.clone());
    let upper = match (&one.upper, &other.upper) {
        (Some(one), Some(other)) => Some(one.min(other).clone()),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    upper.as_ref().is_none_or(|upper| lower < *upper).then_some(KeyRange { lower, upper })
}
