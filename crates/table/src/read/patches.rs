//! Patches: the entries in which a scan differs from the leaves, in the order of the scan.
//!
//! Leaves are read in place. A patch replaces the entry under its key, or shows an entry where no leaf has one. One
//! list contains two kinds of patches:
//! - *own writes* of the transaction, read in portions from the scan's position on. The *reach* is the key up to
//!   which they are known. The scan shows nothing beyond it before more have been read.
//! - *decided entries*, which cannot be shown unchanged. The leaf's visitor gathers them under the latch
//!   ([`UnresolvedEntry`]). After the latch is released, a clustered entry gets its old version from a file. For a secondary
//!   entry, the row is visited as the snapshot sees it, and the entry is derived from it again: if the keys agree,
//!   the entry is visible with the values of that row version, whether it is a ghost now or not. A decision stays
//!   right whatever happens to the leaf, because the snapshot does not change.
//!
//! An own write hides a decided entry with the same key.

use super::LocatorBatch;
use super::cursor::EntryCursor;
use super::fetch::fetch_rows;
use super::row::spilled_row;
use crate::error::Result;
use crate::index::entry::{entry_of_row, locator_of_entry};
use crate::txn::write_set::{OverlayEntry as Patch, State};
use leafline_btree::{Direction, LeafView};
use std::cmp::Ordering;
use std::ops::Range;

/// How many patches of either kind are looked for at first.
const FIRST: usize = 16;
/// The maximum number of own writes read at once.
const MAX_OWN: usize = 256;

/// An entry that cannot be shown unchanged.
#[derive(Debug)]
pub(super) struct UnresolvedEntry {
    pub key: Vec<u8>,
    /// Its payload if the snapshot sees it. It is then visible unless the transaction has written its row.
    pub seen: State,
}

/// The key up to which the patches include own writes.
#[derive(Debug)]
enum OwnWritesRead {
    /// To the end of the scan.
    All,
    /// To this gap between keys.
    To(Vec<u8>),
    /// To this gap, which the scan has come to: more must be read before anything is shown. `None` is the end.
    Unread(Option<Vec<u8>>),
}

/// The end of the entries of a leaf that are shown unchanged.
pub(super) enum PatchStop {
    /// A patch. `of_entry` says whether it replaces the next entry of the leaf.
    Patch { of_entry: bool },
    /// The reach.
    Reach,
}

/// The entries in which a scan differs from the leaves.
#[derive(Debug)]
pub(super) struct Patches {
    list: Vec<Patch>,
    next: usize,
    reach: OwnWritesRead,
    /// How many patches are looked for at once.
    most: usize,
}

/// Which of two keys comes first in the direction of the scan.
fn order(direction: Direction, a: &[u8], b: &[u8]) -> Ordering {
    match direction {
        Direction::Forward => a.cmp(b),
        Direction::Reverse => b.cmp(a),
    }
}

impl Patches {
    /// Patches of a scan that begins at a gap between keys (`None`: the end). `overlay` says whether its transaction
    /// has written to the table.
    pub fn new(overlay: bool, gap: Option<&[u8]>) -> Patches {
        let reach = if overlay { OwnWritesRead::Unread(gap.map(<[u8]>::to_vec)) } else { OwnWritesRead::All };
        Patches { list: Vec::new(), next: 0, reach, most: FIRST }
    }

    /// Returns whether another patch is known.
    pub fn has_next(&self) -> bool {
        self.next < self.list.len()
    }

    /// Returns whether some own writes have not been read.
    pub fn has_unread(&self) -> bool {
        !matches!(self.reach, OwnWritesRead::All)
    }

    /// How many undecided entries are gathered at once.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Takes the next patch. The caller has made sure that it is within the reach.
    pub fn take(&mut self) -> Option<Patch> {
        let patch = self.list.get_mut(self.next)?;
        self.next += 1;
        Some(Patch { key: std::mem::take(&mut patch.key), state: patch.state.take() })
    }

    /// Notes that the scan has come to the reach.
    pub fn come_to_reach(&mut self) {
        if let OwnWritesRead::To(gap) = &mut self.reach {
            self.reach = OwnWritesRead::Unread(Some(std::mem::take(gap)));
        }
    }

    /// Continues the scan at `target`, which is not behind it.
    pub fn skip_to(&mut self, direction: Direction, target: &[u8]) {
        let rest = &self.list[self.next..];
        self.next += match direction {
            Direction::Forward => rest.partition_point(|patch| patch.key.as_slice() < target),
            Direction::Reverse => rest.partition_point(|patch| patch.key.as_slice() >= target),
        };
        if let OwnWritesRead::To(gap) = &self.reach
            && order(direction, target, gap).is_gt()
        {
            self.reach = OwnWritesRead::Unread(Some(target.to_vec()));
        }
    }

    /// Returns how many of the slots left come before the next patch or the reach, and which of the two comes first.
    /// `None` if neither comes before the end of the scan.
    pub fn before(
        &self,
        leaf: &LeafView<'_>,
        left: &Range<usize>,
        direction: Direction,
    ) -> Option<(usize, PatchStop)> {
        let patch = self.list.get(self.next).map(|patch| patch.key.as_slice());
        let gap = match &self.reach {
            OwnWritesRead::All => None,
            OwnWritesRead::To(gap) => Some(gap.as_slice()),
            OwnWritesRead::Unread(_) => return Some((0, PatchStop::Reach)),
        };
        // A key equal to the gap lies above it.
        let within = |patch: &&[u8]| match (gap, direction) {
            (None, _) => true,
            (Some(gap), Direction::Forward) => *patch < gap,
            (Some(gap), Direction::Reverse) => *patch >= gap,
        };
        let patch = patch.filter(within);
        let (slot, found) = leaf.find(patch.or(gap)?);
        let of_entry = found && patch.is_some() && left.contains(&slot);
        let count = match direction {
            Direction::Forward => slot.saturating_sub(left.start),
            Direction::Reverse => left.end.saturating_sub(slot + usize::from(of_entry)),
        };
        let stop = if patch.is_some() { PatchStop::Patch { of_entry } } else { PatchStop::Reach };
        Some((count, stop))
    }

    /// Adds patches, which are in the order of the scan. Of two patches for a key, the own write counts; `own` says
    /// whether the added ones are own writes.
    fn add(&mut self, patches: Vec<Patch>, own: bool, direction: Direction) {
        let known = std::mem::take(&mut self.list).into_iter().skip(std::mem::take(&mut self.next));
        let (mut known, mut added) = (known.peekable(), patches.into_iter().peekable());
        while let (Some(a), Some(b)) = (known.peek(), added.peek()) {
            match order(direction, &a.key, &b.key) {
                Ordering::Less => self.list.extend(known.next()),
                Ordering::Greater => self.list.extend(added.next()),
                Ordering::Equal if own => drop(known.next()),
                Ordering::Equal => drop(added.next()),
            }
        }
        self.list.extend(known);
        self.list.extend(added);
    }
}

impl EntryCursor {
    /// Reads own writes if the scan has come to the reach.
    pub(super) fn read_own(&mut self, direction: Direction) -> Result<()> {
        let patches = &mut self.patches;
        let OwnWritesRead::Unread(gap) = &patches.reach else { return Ok(()) };
        let reverse = direction == Direction::Reverse;
        let range = match gap {
            gap if reverse => Some((&[][..], gap.as_deref())),
            // Nothing lies above the end.
            gap => gap.as_deref().map(|gap| (gap, None)),
        };
        let most = patches.most.min(MAX_OWN);
        patches.most = patches.most.saturating_mul(4);
        let own = match range {
            Some(range) => self.view.own_entries(self.table.id, &self.index, range, reverse, most)?,
            None => Vec::new(),
        };
        patches.reach = match own.last() {
            Some(last) if own.len() == most => {
                let mut gap = last.key.clone();
                if !reverse {
                    gap.push(0);
                }
                OwnWritesRead::To(gap)
            }
            _ => OwnWritesRead::All,
        };
        patches.add(own, true, direction);
        Ok(())
    }

    /// Decides about entries, which are in the order of the scan. The caller holds no latch.
    pub(super) fn decide(&mut self, unresolved: Vec<UnresolvedEntry>, direction: Direction) -> Result<()> {
        self.patches.most = self.patches.most.saturating_mul(4);
        let decided = match self.index.is_clustered() {
            true => self.spilled_rows(unresolved)?,
            false => self.derived_entries(unresolved)?,
        };
        self.patches.add(decided, false, direction);
        Ok(())
    }

    /// Fetches the rows whose version is in a file.
    fn spilled_rows(&self, unresolved: Vec<UnresolvedEntry>) -> Result<Vec<Patch>> {
        let row = |UnresolvedEntry { key, .. }| {
            let row = spilled_row(&self.view.core.versions, self.table.id, &key, &self.view.snapshot)?;
            Ok(Patch { key, state: row })
        };
        unresolved.into_iter().map(row).collect()
    }

    /// Derives secondary entries again from the rows that the snapshot sees.
    fn derived_entries(&mut self, unresolved: Vec<UnresolvedEntry>) -> Result<Vec<Patch>> {
        let hides_own = self.hides_own_rows();
        let (mut locators, mut locator) = (LocatorBatch::new(), Vec::new());
        let mut visited: Vec<usize> = Vec::new();
        let mut patches: Vec<Patch> = Vec::with_capacity(unresolved.len());
        for UnresolvedEntry { key, seen } in unresolved {
            locator_of_entry(&self.index, &key, &mut locator)?;
            // If the transaction has written the row, its own writes show the entry.
            let own = hides_own && self.view.own_row(self.table.id, &locator)?.is_some();
            if !own && seen.is_none() {
                locators.push(&locator);
                visited.push(patches.len());
            }
            patches.push(Patch { key, state: seen.filter(|_| !own) });
        }
        if visited.is_empty() {
            return Ok(patches);
        }
        self.rows_visited += visited.len() as u64;
        let places = locators.sort();
        let mut failed = None;
        fetch_rows(&self.view.core, &self.table, &self.view.snapshot, &locators, &[], &mut |at, row| {
            let place = places.get(at).and_then(|place| visited.get(*place as usize));
            let patch = place.and_then(|place| patches.get_mut(*place));
            let (Some(row), Some(patch)) = (row, patch) else { return };
            match entry_of_row(&self.table, &self.index, row.key, row.payload) {
                Ok(entry) => patch.state = (entry.key == patch.key).then(|| entry.payload.into()),
                Err(error) => failed = Some(error),
            }
        })?;
        failed.map_or(Ok(patches), Err)
    }
}
