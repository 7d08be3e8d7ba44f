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

use crate::write_set::{OverlayEntry as Patch, State};
use leafline_btree::{Direction, LeafView};
use std::cmp::Ordering;
use std::ops::Range;

/// How many patches of either kind are looked for at first.
const FIRST: usize = 16;

/// An entry that cannot be shown unchanged.
#[derive(Debug)]
pub(super) struct UnresolvedEntry {
    pub key: Vec<u8>,
    /// Its payload if the snapshot sees it. It is then visible unless the transaction has written its row.
    pub seen: State,
}

/// The key up to which the patches include own writes.
#[derive(Debug)]
pub(super) enum OwnWritesRead {
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
    pub(super) reach: OwnWritesRead,
    /// How many patches are looked for at once.
    pub(super) most: usize,
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
    pub(super) fn add(&mut self, patches: Vec<Patch>, own: bool, direction: Direction) {
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
