//! Finds the readable leaves of a damaged tree.
//!
//! The tree's segment is read page by page, whatever its branches say: every leaf has the range of its keys in its
//! fences. Where ranges overlap (a write of one of the leaves was lost), the leaf that was changed last is taken.
//! Keys that no leaf covers are lost. So damaged branches lose nothing, and a damaged leaf loses its entries.
//!
//! Nobody may change the tree meanwhile.

use std::collections::BTreeMap;

use leafline_storage::{Lsn, PageKind, PageNo, page};

use crate::entry::EntryView;
use crate::error::{OnPage, Result};
use crate::examine::reason;
use crate::key_range::KeyRange;
use crate::node::{Node, NodeFault, check};
use crate::tree::Tree;

/// The content of a page: a leaf of the tree, a branch (`None`), or an unusable page, with the reason.
pub(crate) type Found = Result<Option<(Lsn, KeyRange)>, String>;

/// The readable leaves of a tree.
pub struct Salvage {
    pub(crate) tree: Tree,
    /// The leaf of each key range, by its lower bound: upper bound and page. Ranges do not overlap.
    pub(crate) parts: BTreeMap<Vec<u8>, (Option<Vec<u8>>, PageNo)>,
    /// Ranges of keys that no readable leaf covers, ascending.
    pub lost: Vec<KeyRange>,
    /// Pages of the segment that cannot be read or used, and why. A damaged branch loses no entries.
    pub damaged: Vec<(PageNo, String)>,
}

impl Tree {
    /// Finds the readable leaves. The pages in `unusable`, each with a reason, are not trusted, whatever they hold.
    /// Calls `progress` with the number of pages since the last call.
    ///
    /// # Errors
    /// The errors of the store, except for pages that cannot be read.
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

    /// Returns LSN and range of a leaf of this tree, `None` for a branch, or an inner error that says what is wrong
    /// with any other page.
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
    /// The errors of the store and of `f`.
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

/// Adds the parts of a range that `parts` do not cover yet.
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

/// Returns the ranges between the parts.
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
        // An older leaf gets only the keys left and right of the newer one.
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
