//! Changes of leaves that are not in memory. The code that keeps such changes elsewhere uses this module to keep a
//! leaf away meanwhile, and to merge the changes into it later.
//!
//! A leaf that is in memory lacks nothing (see `storage::pool::pending`). When it came in, its changes were merged:
//! *softly*, in memory alone, if it was to be read, or by a logged record. Only the code that keeps changes elsewhere
//! may change a softly merged leaf: it keeps each further change, too, and makes it softly, with the leaf taken from
//! all other threads ([`ClaimedLeaf`]). [`Tree::modify_in_memory`] reports such a leaf, and a purge or a merge with a
//! neighbour leaves it alone. Any other change first merges it by log.
//!
//! # Splits
//! Entries that do not fit are merged into several leaves, in one mini-transaction. The leaf, as the file has it, is
//! cut into parts which their entries fit. The first part stays, the others go to new pages, and the entries are
//! merged into each. The parent is latched first, and the leaf is taken over from the state *faulting*, for which no
//! thread waits with a latch held. So this keeps the order of latches.

use std::borrow::Cow;

use leafline_storage::{HeldPage, Lsn, PageClass, PageNo, RawPage, Reservation};

use crate::descend::Faults;
use crate::entry::{Change, CommitTs, EntryView};
use crate::error::{BtreeError, OnPage, Result};
use crate::freed::freed_pages;
use crate::modify::{Keys, ModifyOutcome};
use crate::node::{
    BufferedEntry, InsertHistory, Node, NodeFault, NodeResult, Record, SLOT, Side, merge_entries, part,
    settle_gain,
};
use crate::optimistic::{ChildReference, Finger, OptimisticOutcome};
use crate::policy;
use crate::target::Target;
use crate::tree::{Tree, apply};

/// The leaf of a key, for keeping a change of it elsewhere.
pub enum HeldLeaf {
    /// The leaf cannot come into memory before this is dropped.
    Held(HeldPage),
    /// The leaf is in memory, as the file has it or softly changed. No other thread sees it before this is dropped.
    Taken(ClaimedLeaf),
    /// The leaf is in memory.
    InMemory,
    /// The tree is one leaf, whose changes are not kept elsewhere.
    IsRoot,
}

impl HeldLeaf {
    /// Returns the leaf's page, if no other thread has it now.
    pub fn page_no(&self) -> Option<PageNo> {
        match self {
            HeldLeaf::Held(held) => Some(held.page_no()),
            HeldLeaf::Taken(taken) => Some(taken.page_no()),
            HeldLeaf::InMemory | HeldLeaf::IsRoot => None,
        }
    }

    /// Opens the leaf to all, as it was.
    pub fn let_go(self) {
        if let HeldLeaf::Taken(ClaimedLeaf(page)) = self {
            page.publish();
        }
    }
}

/// The outcome of holding the leaf of a key beside another leaf.
pub enum HoldOutcome {
    /// The key belongs to the leaf that is held already.
    Same,
    /// The key belongs to another leaf, which is now held or taken.
    Another(HeldLeaf),
    /// The leaf cannot be had without waiting, or is in memory, or the tree is one leaf.
    No,
}

/// A leaf that was in memory and lacked nothing, taken from all other threads so that a change of it can be kept
/// elsewhere.
pub struct ClaimedLeaf(RawPage);

impl ClaimedLeaf {
    /// Returns the leaf's page.
    pub fn page_no(&self) -> PageNo {
        self.0.page_no()
    }

    /// Makes the changes that are now kept elsewhere, ascending by key, in memory alone, and opens the leaf to all.
    /// If there is no room, evicts it instead. `now` is the end of the log after the changes were kept.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn merge_softly(self, entries: &[BufferedEntry], purge_before: CommitTs, now: Lsn) -> Result<()> {
        let number = self.0.page_no();
        self.0.change_softly(now, |page: &mut [u8]| merge_entries(page, entries, purge_before)).on(number)
    }
}

/// A leaf as the file has it, which no other thread sees.
pub struct UnpinnedLeaf {
    page: RawPage,
    /// First key that may be on it.
    pub lower: Vec<u8>,
    /// First key beyond it; `None` for the last leaf.
    pub upper: Option<Vec<u8>>,
    /// The leaf contains the changes of all generations before this one.
    pub merged_through: u64,
}

/// A part of a leaf, with the entries that belong to it.
pub(crate) struct Part {
    /// The part before the entries are merged. Its first 32 bytes are zero, unless it is the whole leaf.
    pub image: Vec<u8>,
    pub entries: std::ops::Range<usize>,
}

impl UnpinnedLeaf {
    /// Wraps a leaf that has just come in.
    ///
    /// # Errors
    /// Returns the page if it is no leaf.
    pub fn open(mut page: RawPage) -> Result<UnpinnedLeaf, RawPage> {
        let Some(leaf) = Node::open(page.bytes()).ok().filter(Node::is_leaf) else { return Err(page) };
        let (lower, upper) = (leaf.lower_fence().to_vec(), leaf.upper_fence().map(<[u8]>::to_vec));
        let merged_through = leaf.merged_through();
        Ok(UnpinnedLeaf { page, lower, upper, merged_through })
    }

    /// Returns the leaf's page.
    pub fn page_no(&self) -> PageNo {
        self.page.page_no()
    }

    /// Returns the bytes of the page.
    pub(crate) fn bytes(&mut self) -> &[u8] {
        self.page.bytes()
    }

    /// Opens the leaf to all. It lacks nothing.
    pub fn publish(self) {
        self.page.publish();
    }

    /// Merges entries, ascending by key, in memory alone, and opens the leaf to all. Returns the leaf if they do not
    /// fit. `now` is the end of the log.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn merge_softly(
        mut self,
        entries: &[BufferedEntry],
        purge_before: CommitTs,
        now: Lsn,
    ) -> Result<Option<UnpinnedLeaf>> {
        let number = self.page.page_no();
        let bytes = self.page.bytes();
        let Some((merged, _)) = merged(bytes, entries, purge_before).on(number)? else {
            return Ok(Some(self));
        };
        self.page.publish_softly(&merged, now);
        Ok(None)
    }
}

/// Returns the leaf with the entries merged, and whether it had to be settled for them. Returns `None` if they do not
/// fit.
pub(crate) fn merged(
    page: &[u8],
    entries: &[BufferedEntry],
    purge_before: CommitTs,
) -> NodeResult<Option<(Vec<u8>, bool)>> {
    let mut copy = page.to_vec();
    if merge_entries(&mut copy, entries, purge_before)? {
        return Ok(Some((copy, false)));
    }
    if settle_gain(&Node::open(page)?, purge_before)? == 0 {
        return Ok(None);
    }
    copy.copy_from_slice(page);
    crate::node::settle(&mut copy, purge_before)?;
    Ok(merge_entries(&mut copy, entries, purge_before)?.then_some((copy, true)))
}

impl Tree {
    /// Changes entries like [`modify_run`](Self::modify_run), if the leaf is in memory and not softly merged.
    ///
    /// # Errors
    /// As [`modify_run`](Self::modify_run).
    pub fn modify_in_memory<'b>(
        &self,
        reservation: &mut Reservation,
        keys: &Keys<'_>,
        purge_before: CommitTs,
        decide: &mut dyn FnMut(usize, Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<(ModifyOutcome, usize)> {
        self.modify_leaf(reservation, keys, purge_before, decide, false)
    }

    /// Keeps the leaf of `key` out of memory if it is not there. If it is there unchanged and `take` is set, takes it
    /// from all other threads. The caller holds no latch, and no leaf.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn hold_leaf(&self, key: &[u8], take: bool, finger: &mut Finger) -> Result<HeldLeaf> {
        let mut faults = Faults::default();
        loop {
            match self.find_leaf(Target::Key(key), finger) {
                OptimisticOutcome::Reached(reference) if reference.parent.is_none() => {
                    return Ok(HeldLeaf::IsRoot);
                }
                OptimisticOutcome::Reached(reference) => {
                    // From here on the leaf is neither split nor merged: both need it in memory.
                    let held = match self.take_leaf(&reference, take) {
                        Some(taken) => HeldLeaf::Taken(taken),
                        None => match self.store().hold(reference.page) {
                            Some(held) => HeldLeaf::Held(held),
                            None => return Ok(HeldLeaf::InMemory),
                        },
                    };
                    if reference.stands() {
                        return Ok(held);
                    }
                    held.let_go();
                }
                OptimisticOutcome::Missing(page) => faults.fault_in(self, page)?,
                OptimisticOutcome::Contended => std::thread::yield_now(),
                OptimisticOutcome::NoSuchLevel => return Err(self.no_leaf_level()),
            }
        }
    }

    /// Holds the leaf of `key` like [`hold_leaf`](Self::hold_leaf), for a caller that holds the leaf `last` already.
    /// Waits for no thread, because that could wait for `last`.
    pub fn hold_beside(&self, last: PageNo, key: &[u8], take: bool, finger: &mut Finger) -> HoldOutcome {
        let OptimisticOutcome::Reached(reference) = self.find_leaf(Target::Key(key), finger) else {
            return HoldOutcome::No;
        };
        if reference.parent.is_none() {
            return HoldOutcome::No;
        }
        if reference.page == last {
            return if reference.stands() { HoldOutcome::Same } else { HoldOutcome::No };
        }
        let taken = self.take_leaf(&reference, take).map(HeldLeaf::Taken);
        let held = taken.or_else(|| self.store().try_hold(reference.page).map(HeldLeaf::Held));
        match held {
            Some(held) if reference.stands() => HoldOutcome::Another(held),
            Some(held) => {
                held.let_go();
                HoldOutcome::No
            }
            None => HoldOutcome::No,
        }
    }

    fn take_leaf(&self, reference: &ChildReference<'_>, take: bool) -> Option<ClaimedLeaf> {
        if take { self.store().take_clean(reference.page).map(ClaimedLeaf) } else { None }
    }

    /// Returns the leaf of `key` as the file has it. Returns `None` if it is in memory and lacks nothing, or is the
    /// root. The caller holds no latch.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn raw_leaf(&self, key: &[u8]) -> Result<Option<UnpinnedLeaf>> {
        let mut faults = Faults::default();
        loop {
            let freed = freed_pages();
            let reference = match self.find_reference(Target::Key(key), 0) {
                OptimisticOutcome::Reached(reference) => reference,
                OptimisticOutcome::Missing(page) => {
                    faults.fault_in(self, page)?;
                    continue;
                }
                OptimisticOutcome::Contended => {
                    std::thread::yield_now();
                    continue;
                }
                OptimisticOutcome::NoSuchLevel => return Err(self.no_leaf_level()),
            };
            if reference.parent.is_none() {
                return Ok(None);
            }
            let read = self.store().raw(reference.page);
            let stands = reference.stands();
            let mut page = match read {
                Ok(Some(page)) => page,
                // The page may have been that of another leaf.
                Ok(None) if !stands => continue,
                Ok(None) => return Ok(None),
                Err(_) if !stands => continue,
                Err(error) => return Err(error.into()),
            };
            let number = page.page_no();
            let node = self.node(page.bytes(), number, Some(0))?;
            let holds_key = stands || (freed == freed_pages() && node.covers(key));
            if holds_key {
                let leaf = UnpinnedLeaf::open(page);
                return leaf.map(Some).map_err(|_| BtreeError::corrupt(number, NodeFault("no leaf")));
            }
        }
    }

    /// Merges entries, ascending by key and all of them the leaf's, by log. The leaf then contains all changes before
    /// generation `through`. Calls `reserve` for pages and log bytes, while nothing is latched.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store and of `reserve`. The leaf is evicted then.
    pub fn merge_raw(
        &self,
        leaf: UnpinnedLeaf,
        entries: &[BufferedEntry],
        through: u64,
        purge_before: CommitTs,
        reserve: &mut dyn FnMut(usize, usize) -> Result<Reservation>,
    ) -> Result<()> {
        let UnpinnedLeaf { mut page, .. } = leaf;
        let number = page.page_no();
        let bytes: usize = entries.iter().map(BufferedEntry::encoded_len).sum();
        let overhead = 8 * self.store().page_size() / 16;
        if let Some((_, settled)) = merged(page.bytes(), entries, purge_before).on(number)? {
            let mut reservation = reserve(0, bytes + overhead)?;
            let mut mini = self.store().begin(&mut reservation, 0)?;
            let latched = mini.adopt(page)?;
            if settled {
                apply(&mut mini, latched, &Record::leaf_settle(purge_before))?;
            }
            apply(&mut mini, latched, &Record::leaf_merge(entries, through, purge_before))?;
            mini.commit();
            return Ok(());
        }
        let parts = parts_of(page.bytes(), entries, purge_before).on(number)?;
        let splits = parts.len() + 1;
        let mut reservation =
            reserve(self.pages_of_splits(splits), bytes + overhead + self.log_of_splits(splits))?;
        self.merge_parts(&mut reservation, page, &parts, entries, (through, purge_before))
    }

    /// Replaces a leaf by its parts.
    fn merge_parts(
        &self,
        reservation: &mut Reservation,
        page: RawPage,
        parts: &[Part],
        entries: &[BufferedEntry],
        (through, purge_before): (u64, CommitTs),
    ) -> Result<()> {
        let number = page.page_no();
        let lowers = parts.iter().map(|part| Ok(Node::open(&part.image)?.lower_fence().to_vec()));
        let lowers: Vec<Vec<u8>> = lowers.collect::<NodeResult<_>>().on(number)?;
        let lowers: Vec<&[u8]> = lowers.iter().map(Vec::as_slice).collect();
        self.in_place_of(reservation, number, &lowers, parts.len(), |mini, above| {
            let mut pages = Vec::with_capacity(parts.len());
            for part in parts.iter().skip(1) {
                let new = mini.allocate(self.id(), PageClass::Leaf)?;
                apply(mini, new, &Record::format_image(&part.image))?;
                pages.push(new);
            }
            let first = mini.adopt(page)?;
            if let Some(separator) = lowers.get(1) {
                let leaf = Node::open(mini.page(first)).on(number)?;
                let at = leaf.lower_bound(separator).on(number)?.0;
                let record = Record::truncate(Side::Left, at, separator, InsertHistory::default());
                apply(mini, first, &record)?;
            }
            pages.insert(0, first);
            for (latched, part) in pages.iter().zip(parts) {
                let entries = &entries[part.entries.clone()];
                apply(mini, *latched, &Record::leaf_merge(entries, through, purge_before))?;
            }
            let numbers: Vec<PageNo> = pages.iter().map(|page| mini.page_no(*page)).collect();
            above.insert(mini, lowers.iter().copied().zip(numbers).skip(1))
        })
    }
}

/// Cuts a leaf into parts which their entries fit.
pub(crate) fn parts_of(
    page: &[u8],
    entries: &[BufferedEntry],
    purge_before: CommitTs,
) -> NodeResult<Vec<Part>> {
    let mut parts = Vec::new();
    let whole = Part { image: page.to_vec(), entries: 0..entries.len() };
    let mut left = vec![whole];
    while let Some(next) = left.pop() {
        let of_part = &entries[next.entries.clone()];
        let mut copy = next.image.clone();
        if merge_entries(&mut copy, of_part, purge_before)? {
            parts.push(next);
            continue;
        }
        let node = Node::open(&next.image)?;
        let Cut { separator, left: before, right: behind } = cut(&node, of_part)?;
        let middle = next.entries.start + of_part.partition_point(|entry| entry.key < separator);
        left.push(Part { image: behind, entries: middle..next.entries.end });
        left.push(Part { image: before, entries: next.entries.start..middle });
    }
    Ok(parts)
}

/// A leaf that was cut in two, before entries are merged.
struct Cut {
    separator: Vec<u8>,
    left: Vec<u8>,
    right: Vec<u8>,
}

/// Cuts a leaf near the middle of its bytes and those of the entries, where both parts can be laid out: a separator,
/// which becomes a fence of either part, may be longer than many of its entries.
fn cut(node: &Node<'_>, entries: &[BufferedEntry]) -> NodeResult<Cut> {
    let keys = keys_of_both(node, entries)?;
    let total: usize = keys.iter().map(|(_, len)| len).sum();
    let mut before = 0;
    let mut places = Vec::with_capacity(keys.len());
    for pair in keys.windows(2) {
        let [(below, len), (upto, _)] = pair else { continue };
        before += len;
        if below == upto {
            continue;
        }
        let separator = policy::separator(below, upto);
        let position = node.lower_bound(separator)?.0;
        // A packed cell that is broken takes more room, so packed cells are broken only where there is no other way.
        let breaks = position < node.count() && node.search().slot_of(position)?.1 > 0;
        // The left part could not be laid out if its keys had a shorter common prefix.
        let lengthens = node.upper_fence().is_none() && !separator.starts_with(node.prefix());
        places.push(((lengthens, breaks, before.abs_diff(total / 2)), separator, position));
    }
    places.sort_by_key(|(rank, ..)| *rank);
    let mut fault = NodeFault("no room on a leaf without other entries");
    for (_, separator, position) in places {
        let image = |side| part(node, side, position, separator, InsertHistory::default())?.finish();
        match image(Side::Left).and_then(|left| Ok((left, image(Side::Right)?))) {
            Ok((left, right)) => return Ok(Cut { separator: separator.to_vec(), left, right }),
            Err(other) => fault = other,
        }
    }
    Err(fault)
}

/// Returns the keys of a leaf and of entries in their order, and about how many bytes each takes on the leaf.
fn keys_of_both<'k>(
    node: &Node<'k>,
    entries: &'k [BufferedEntry],
) -> NodeResult<Vec<(Cow<'k, [u8]>, usize)>> {
    let mut keys: Vec<(Cow<'_, [u8]>, usize)> = Vec::with_capacity(node.count() + entries.len());
    for slot in 0..node.slots() {
        // All bytes of a packed cell count as its first entry's.
        let mut len = node.cell_len(slot)? + SLOT;
        node.for_each_entry(slot..slot + 1, |suffix, _| {
            keys.push((Cow::Owned([node.prefix(), suffix].concat()), std::mem::take(&mut len)));
            Ok(())
        })?;
    }
    keys.extend(entries.iter().map(|entry| {
        let cut = if entry.key.starts_with(node.prefix()) { node.prefix().len() } else { 0 };
        (Cow::Borrowed(&*entry.key), entry.encoded_len() - cut)
    }));
    keys.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryFlags;
    use crate::node::{LeafFormat, NodeBuilder};

    /// Merges other keys into the last leaf of a tree, which is full of keys that begin alike.
    fn full_leaf_takes(format: LeafFormat, common: &str, others: &str) {
        let key =
            |number: u32| format!("{common}{:08x}", number.wrapping_mul(0x9e37_79b9) >> 8 | number << 24);
        let mut keys: Vec<String> = (0..2000).map(key).collect();
        keys.sort();
        keys.dedup();
        let build = |count: usize| -> NodeResult<Vec<u8>> {
            let lower = common.as_bytes();
            let builder = NodeBuilder::with_prefix(4096, 0, lower, None, lower.len())?;
            let mut builder = builder.in_format(format);
            for key in &keys[..count] {
                let entry =
                    EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload: &[] };
                builder.push_leaf(&[], key.as_bytes(), entry)?;
            }
            builder.finish()
        };
        let count = (1..keys.len()).take_while(|count| build(*count).is_ok()).last().unwrap();
        let page = build(count).unwrap();
        let entry = |number: u32| BufferedEntry {
            key: format!("{others}{number:04}").into_bytes(),
            ghost: false,
            ts: CommitTs(7),
            payload: Vec::new(),
        };
        let entries: Vec<BufferedEntry> = (0..20).map(entry).collect();
        let parts = parts_of(&page, &entries, CommitTs::NONE).unwrap();
        let mut found = 0;
        for Part { mut image, entries: of_part } in parts {
            assert!(merge_entries(&mut image, &entries[of_part], CommitTs::NONE).unwrap());
            found += Node::open(&image).unwrap().count();
        }
        assert_eq!(found, count + entries.len(), "{format:?}");
    }

    #[test]
    fn a_full_leaf_without_an_end_is_cut_where_its_prefix_stays() {
        for format in [LeafFormat::Plain, LeafFormat::Packed] {
            full_leaf_takes(format, &"x".repeat(60), "y");
        }
    }

    /// Each part gets a fence that is longer than most of its entries.
    #[test]
    fn a_full_leaf_is_cut_where_there_is_room_for_fences() {
        let common = "x".repeat(700);
        for format in [LeafFormat::Plain, LeafFormat::Packed] {
            for others in ["y", "~", " "] {
                full_leaf_takes(format, &common, &format!("{common}{others}"));
            }
        }
    }
}
