//! What can still be read of a damaged tree.
//!
//! The tree's segment is read page by page, whatever its branches say: every leaf knows the range of keys that it holds.
//! Where ranges overlap (a write of one of the leaves was lost), the leaf that was changed last is taken. What no leaf
//! covers is lost. So damaged branches lose nothing, and a damaged leaf what was on it.
//!
//! For when nobody changes the tree.

use std::collections::BTreeMap;

use leafline_storage::{Lsn, PageKind, PageNo, page};

use crate::entry::EntryView;
use crate::error::{OnPage, Result};
use crate::examine::{KeyRange, reason};
use crate::node::{Node, NodeFault, check};
use crate::tree::Tree;

/// What a page holds: a leaf of the tree, a branch, or something that cannot be used.
pub(crate) type Found = Result<Option<(Lsn, KeyRange)>, String>;

/// The readable leaves of a tree.
pub struct Salvage {
    pub(crate) tree: Tree,
    /// Which leaf holds which keys, by the first of them: first key beyond, and page. Ranges do not overlap.
    pub(crate) parts: BTreeMap<Vec<u8>, (Option<Vec<u8>>, PageNo)>,
    /// Ranges of keys that no readable leaf covers, ascending.
    pub lost: Vec<KeyRange>,
    /// Pages of the segment that cannot be read or used, and why. A page that was a branch costs nothing.
    pub damaged: Vec<(PageNo, String)>,
}

impl Tree {
    /// Finds the leaves that can still be read. Those in `unusable` (each with a reason) are not to be believed, whatever they
    /// hold. `progress` is called with the number of pages since the last call.
    ///
    /// # Errors
    /// What the store returns, except for pages that cannot be read.
    pub fn salvage(
        &self,
        unusable: &BTreeMap<PageNo, String>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Salvage> {
        let mut leaves: Vec<(Lsn, PageNo, KeyRange)> = Vec::new();
        let mut damaged = Vec::new();
        for page in self.store().segment_pages(self.id())? {
            let found = match unusable.get(&page) {
                Some(reason) => Err(reason.clone()),
                None => self.readable_leaf(page)?,
            };
            match found {
                Ok(Some((lsn, range))) => leaves.push((lsn, page, range)),
                Ok(None) => {}
                Err(what) => damaged.push((page, what)),
            }
            progress(1);
        }
        damaged.sort();
        leaves.sort_by_key(|(lsn, page, _)| (std::cmp::Reverse(*lsn), *page));
        let mut parts = BTreeMap::new();
        for (_, page, range) in leaves {
            cover(&mut parts, &range, page);
        }
        let lost = gaps(&parts);
        Ok(Salvage { tree: self.clone(), parts, lost, damaged })
    }

    /// LSN and range of a leaf of this tree; nothing for a branch; what is wrong with anything else.
    pub(crate) fn readable_leaf(&self, page: PageNo) -> Result<Found> {
        let guard = match self.store().shared(page) {
            Ok(guard) => guard,
            Err(error) if error.is_damage() => return Ok(Err(reason(&error))),
            Err(error) => return Err(error.into()),
        };
        if page::owner(&guard) == self.id() && page::kind(&guard) == PageKind::BRANCH {
            return Ok(Ok(None));
        }
        let node = match self.node(&guard, page, Some(0)) {
            Ok(node) => node,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Err(NodeFault(what)) = check(&node) {
            return Ok(Err(what.into()));
        }
        let upper = node.upper_fence().map(<[u8]>::to_vec);
        Ok(Ok(Some((guard.lsn(), KeyRange { lower: node.lower_fence().to_vec(), upper }))))
    }
}

impl Salvage {
    /// Calls `f` with all entries, ghosts included, in key order.
    ///
    /// # Errors
    /// What the store returns; what `f` returns.
    pub fn entries<E: From<crate::BtreeError>>(
        &self,
        mut f: impl FnMut(&[u8], EntryView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut entries: Vec<(Vec<u8>, crate::EntryFlags, crate::CommitTs, Vec<u8>)> = Vec::new();
        for (lower, (upper, page)) in &self.parts {
            entries.clear();
            self.read(*page, |key, entry| {
                if key >= lower.as_slice() && upper.as_deref().is_none_or(|upper| key < upper) {
                    entries.push((key.to_vec(), entry.flags, entry.commit_ts, entry.payload.to_vec()));
                }
            })?;
            for (key, flags, commit_ts, payload) in &entries {
                f(key, EntryView { flags: *flags, commit_ts: *commit_ts, payload })?;
            }
        }
        Ok(())
    }

    fn read(&self, page: PageNo, mut f: impl FnMut(&[u8], EntryView<'_>)) -> Result<()> {
        let guard = self.tree.store().shared(page)?;
        let leaf = Node::open(&guard).on(page)?;
        let mut key = leaf.prefix().to_vec();
        let shown = leaf.for_each_entry(0..leaf.slots(), |suffix, entry| {
            key.truncate(leaf.prefix().len());
            key.extend_from_slice(suffix);
            f(&key, entry);
            Ok(())
        });
        shown.on(page)
    }
}

/// Adds what `parts` do not cover yet of a range.
pub(crate) fn cover(
    parts: &mut BTreeMap<Vec<u8>, (Option<Vec<u8>>, PageNo)>,
    range: &KeyRange,
    page: PageNo,
) {
    let mut at = range.lower.clone();
    match parts.range(..=at.clone()).next_back() {
        Some((_, (None, _))) => return,
        Some((_, (Some(end), _))) if *end > at => at.clone_from(end),
        _ => {}
    }
    let mut found = Vec::new();
    loop {
        if range.upper.as_ref().is_some_and(|upper| at >= *upper) {
            break;
        }
        match parts.range(at.clone()..).next() {
            Some((start, (end, _))) if range.upper.as_ref().is_none_or(|upper| start < upper) => {
                if *start > at {
                    found.push((at, Some(start.clone())));
                }
                match end {
                    Some(end) => at = end.clone(),
                    None => break,
                }
            }
            _ => {
                found.push((at, range.upper.clone()));
                break;
            }
        }
    }
    parts.extend(found.into_iter().map(|(lower, upper)| (lower, (upper, page))));
}

/// The ranges between the parts.
pub(crate) fn gaps(parts: &BTreeMap<Vec<u8>, (Option<Vec<u8>>, PageNo)>) -> Vec<KeyRange> {
    let mut gaps = Vec::new();
    let mut at = Some(Vec::new());
    for (lower, (upper, _)) in parts {
        if let Some(at) = at.take().filter(|at| at < lower) {
            gaps.push(KeyRange { lower: at, upper: Some(lower.clone()) });
        }
        at.clone_from(upper);
    }
    gaps.extend(at.map(|lower| KeyRange { lower, upper: None }));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: u8, upper: Option<u8>) -> KeyRange {
        let key = |byte| if byte == 0 { Vec::new() } else { vec![byte] };
        KeyRange { lower: key(lower), upper: upper.map(key) }
    }

    #[test]
    fn newer_leaves_cover_older_ones_and_the_rest_is_lost() {
        let mut parts = BTreeMap::new();
        assert_eq!(gaps(&parts), [range(0, None)]);
        cover(&mut parts, &range(4, Some(6)), PageNo(1));
        assert_eq!(gaps(&parts), [range(0, Some(4)), range(6, None)]);
        // Older: only what is left of it and right of it.
        cover(&mut parts, &range(2, Some(9)), PageNo(2));
        cover(&mut parts, &range(3, Some(5)), PageNo(3));
        let pages: Vec<_> = parts.values().map(|(_, page)| page.0).collect();
        assert_eq!(pages, [2, 1, 2]);
        assert_eq!(gaps(&parts), [range(0, Some(2)), range(9, None)]);
        cover(&mut parts, &range(0, None), PageNo(4));
        assert_eq!(gaps(&parts), []);
        let pages: Vec<_> = parts.values().map(|(_, page)| page.0).collect();
        assert_eq!(pages, [4, 2, 1, 2, 4]);
        cover(&mut parts, &range(1, None), PageNo(5));
        assert_eq!(parts.len(), 5);
    }
}
