//! Changes entries: insert, replace, ghost, remove.
//!
//! The leaf is latched exclusively, the caller decides on the change, and one record makes it. When there is no room,
//! ghosts and timestamps that no snapshot needs are cleared away first (in the same mini-transaction). Then the leaf
//! is split (in a mini-transaction of its own, with nothing latched in between) and everything is done again.
//!
//! Changes of neighbours can share a mini-transaction. Finding and latching the leaf, and a group of the log, are
//! then paid for once.

use std::borrow::Cow;

use leafline_storage::{PageNo, Reservation, page};

use crate::descend::{Faults, LatchAttempt};
use crate::entry::{Change, CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, OnPage, Result};
use crate::node::{
    LeafInsert, Node, NodeFault, NodeResult, Record, SHORT_KEY, has_room, room_needed, settle_gain,
};
use crate::policy;
use crate::tree::{Pages, Tree};

/// The outcome of one attempt.
enum Attempt {
    /// The number of changes made; true if the leaf has become so empty that a merge is worth trying.
    Done(usize, bool),
    /// A page is not in memory.
    Missing(PageNo),
    /// The leaf has no room for a cell of this size.
    NoRoom(usize),
    /// The leaf was merged in memory alone.
    Softly,
}

/// The outcome of one change of a leaf.
pub(crate) enum ChangeOutcome {
    /// The change is made, or there was nothing to do.
    Made,
    /// The change is made, and the leaf has become so empty that a merge is worth trying.
    UnderFull,
    /// The leaf has no room for a cell of this size.
    NoRoom(usize),
}

/// The outcome of a change that must not read the leaf in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModifyOutcome {
    /// The change is made.
    Done,
    /// The leaf is not in memory.
    NotInMemory,
    /// The leaf was merged in memory alone, so the change was not made.
    Softly,
}

/// The ascending keys of some changes, by number; `None` behind the last.
pub type Keys<'k> = dyn Fn(usize) -> Option<&'k [u8]> + 'k;

impl Tree {
    /// Calls `decide` with the entry under `key` and makes the change that it returns, in one mini-transaction (more
    /// when pages must be split). `decide` runs under the leaf's exclusive latch and must not block. It may run more
    /// than once; the last answer counts. Ghosts and timestamps below `purge_before` may be cleared away for room.
    ///
    /// # Errors
    /// `KeyTooLong`, `EntryTooLarge`, `Corrupt`, and the errors of the store.
    pub fn modify<'b>(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        purge_before: CommitTs,
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<()> {
        let one = |number: usize| (number == 0).then_some(key);
        self.modify_run(reservation, &one, purge_before, &mut |_, entry| decide(entry)).map(drop)
    }

    /// Changes several ascending keys like [`modify`](Self::modify): those from the first on that are on its leaf and
    /// for which the leaf has room, in one mini-transaction. `decide` also gets the number of the key. Returns how
    /// many changes were made, at least one. The reservation must cover all of them, and the caller should ensure
    /// that the leaf is not latched for long.
    ///
    /// # Errors
    /// As `modify`. If some changes were made already, the store is stopped.
    pub fn modify_run<'b>(
        &self,
        reservation: &mut Reservation,
        keys: &Keys<'_>,
        purge_before: CommitTs,
        decide: &mut dyn FnMut(usize, Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<usize> {
        match self.modify_leaf(reservation, keys, purge_before, decide, true)? {
            (ModifyOutcome::Done, made) => Ok(made),
            (ModifyOutcome::NotInMemory | ModifyOutcome::Softly, _) => {
                let fault = NodeFault("a change of a leaf that lacks what is kept elsewhere");
                Err(BtreeError::corrupt(self.root(), fault))
            }
        }
    }

    /// Changes keys like [`modify_run`](Self::modify_run). Reads a leaf in that is not in memory only if `read` is
    /// set.
    pub(crate) fn modify_leaf<'b>(
        &self,
        reservation: &mut Reservation,
        keys: &Keys<'_>,
        purge_before: CommitTs,
        decide: &mut dyn FnMut(usize, Option<EntryView<'_>>) -> Change<'b>,
        read: bool,
    ) -> Result<(ModifyOutcome, usize)> {
        let Some(first) = keys(0) else { return Ok((ModifyOutcome::Done, 0)) };
        let mut faults = Faults::default();
        loop {
            match self.try_modify(reservation, keys, purge_before, decide)? {
                Attempt::Done(made, under_full) => {
                    if let (true, Some(last)) = (under_full, keys(made.saturating_sub(1))) {
                        self.merge(reservation, last, 0)?;
                    }
                    return Ok((ModifyOutcome::Done, made));
                }
                Attempt::Softly => return Ok((ModifyOutcome::Softly, 0)),
                // The caller checks whether the missing page is the leaf.
                Attempt::Missing(_) if !read => return Ok((ModifyOutcome::NotInMemory, 0)),
                Attempt::Missing(page) => faults.fault_in(self, page)?,
                Attempt::NoRoom(cell_len) => self.split(reservation, first, 0, cell_len)?,
            }
        }
    }

    fn try_modify<'b>(
        &self,
        reservation: &mut Reservation,
        keys: &Keys<'_>,
        purge_before: CommitTs,
        decide: &mut dyn FnMut(usize, Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<Attempt> {
        let Some(first) = keys(0) else { return Ok(Attempt::Done(0, false)) };
        self.check_key(first)?;
        let mut mini = self.store().begin(reservation, 0)?;
        let latched = match self.latch(&mut mini, first, 0)? {
            LatchAttempt::Page(latched) => latched,
            LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
            LatchAttempt::NoSuchLevel => return Err(self.no_leaf_level()),
        };
        let page = mini.page_no(latched);
        if page::is_soft(mini.page(latched)) {
            return Ok(Attempt::Softly);
        }
        let (mut made, mut under_full) = (0, false);
        // Changes move no fence.
        let upper = match keys(1) {
            Some(_) => Node::open(mini.page(latched)).on(page)?.upper_fence().map(<[u8]>::to_vec),
            None => None,
        };
        while let Some(key) = keys(made) {
            if made > 0 && upper.as_deref().is_some_and(|upper| key >= upper) {
                break;
            }
            let number = made;
            let mut decide = |entry: Option<EntryView<'_>>| decide(number, entry);
            match self.change(&mut mini, latched, key, purge_before, &mut decide)? {
                ChangeOutcome::Made => made += 1,
                ChangeOutcome::UnderFull => {
                    (made, under_full) = (made + 1, true);
                    break;
                }
                ChangeOutcome::NoRoom(room) if made == 0 => {
                    // The leaf may have been settled.
                    mini.commit();
                    return Ok(Attempt::NoRoom(room));
                }
                ChangeOutcome::NoRoom(_) => break,
            }
        }
        mini.commit();
        Ok(Attempt::Done(made, under_full))
    }

    /// Makes one change of a leaf.
    pub(crate) fn change<'b, P: Pages>(
        &self,
        pages: &mut P,
        leaf_at: P::Slot,
        key: &[u8],
        purge_before: CommitTs,
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<ChangeOutcome> {
        self.check_key(key)?;
        let page = pages.number(leaf_at);
        let leaf = Node::open(pages.bytes(leaf_at)).on(page)?;
        let (slot, found) = leaf.lower_bound(key).on(page)?;
        let mut unpacked = Vec::new();
        let old = if found { Some(leaf.entry(slot, &mut unpacked).on(page)?) } else { None };
        let (flags, commit_ts, payload) = match (decide(old), old) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(ChangeOutcome::Made),
            (Change::Remove, Some(_)) => {
                pages.apply(leaf_at, &Record::leaf_remove(slot))?;
                let merge = policy::try_merge(&Node::open(pages.bytes(leaf_at)).on(page)?);
                return Ok(if merge { ChangeOutcome::UnderFull } else { ChangeOutcome::Made });
            }
            (Change::Put { payload, ts, has_previous }, _) => {
                self.check_entry(key, &payload)?;
                (EntryFlags::of(false, ts, has_previous), ts, payload)
            }
            (Change::Ghost { ts, has_previous, keep_payload: true }, Some(old)) => {
                (EntryFlags::of(true, ts, has_previous), ts, Cow::Owned(old.payload.to_vec()))
            }
            (Change::Ghost { ts, has_previous, .. }, _) => {
                (EntryFlags::of(true, ts, has_previous), ts, Cow::default())
            }
        };
        let entry = EntryView { flags, commit_ts, payload: &payload };
        if let Some(records) = ChangeRecords::of(&leaf, key, (slot, found), entry).on(page)? {
            records.apply(pages, leaf_at)?;
            return Ok(ChangeOutcome::Made);
        }
        if settle_gain(&leaf, purge_before).on(page)? >= policy::is_worth_settling(&leaf) {
            pages.apply(leaf_at, &Record::leaf_settle(purge_before))?;
            let leaf = Node::open(pages.bytes(leaf_at)).on(page)?;
            let found = leaf.lower_bound(key).on(page)?;
            if let Some(records) = ChangeRecords::of(&leaf, key, found, entry).on(page)? {
                records.apply(pages, leaf_at)?;
                return Ok(ChangeOutcome::Made);
            }
        }
        let leaf = Node::open(pages.bytes(leaf_at)).on(page)?;
        Ok(ChangeOutcome::NoRoom(room_needed(&leaf, key, entry).on(page)?))
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        let (len, limit) = (key.len(), self.max_key_len());
        if len > limit { Err(BtreeError::KeyTooLong { len, limit }) } else { Ok(()) }
    }

    fn check_entry(&self, key: &[u8], payload: &[u8]) -> Result<()> {
        let (len, limit) = (key.len() + payload.len(), self.max_entry_len());
        if len > limit { Err(BtreeError::EntryTooLarge { len, limit }) } else { Ok(()) }
    }
}

/// The records that put an entry under a key.
enum ChangeRecords<'a> {
    Replace(Record),
    /// An insert. The leaf's prefix may have to become shorter first.
    Insert(Option<Record>, LeafInsert<'a>),
}

impl<'a> ChangeRecords<'a> {
    /// Returns the records that put `entry` under `key`, which a search has `found` or not at a slot. Returns `None`
    /// if there is no room.
    fn of(
        leaf: &Node<'_>,
        key: &'a [u8],
        (slot, found): (usize, bool),
        entry: EntryView<'a>,
    ) -> NodeResult<Option<ChangeRecords<'a>>> {
        let prefix = leaf.prefix_for(key);
        let suffix = key.get(prefix.unwrap_or(leaf.prefix().len())..).ok_or(SHORT_KEY)?;
        if !has_room(leaf, key, (slot, found), entry)? {
            return Ok(None);
        }
        if found {
            let mut unpacked = Vec::new();
            let old = leaf.entry(slot, &mut unpacked)?.payload;
            return Ok(Some(ChangeRecords::Replace(Record::leaf_replace(slot, old, entry))));
        }
        let insert = LeafInsert::new(slot, suffix, entry);
        Ok(Some(ChangeRecords::Insert(prefix.map(Record::set_prefix), insert)))
    }

    fn apply<P: Pages>(&self, pages: &mut P, leaf_at: P::Slot) -> Result<()> {
        match self {
            ChangeRecords::Replace(record) => pages.apply(leaf_at, record),
            ChangeRecords::Insert(prefix, insert) => {
                prefix.iter().try_for_each(|record| pages.apply(leaf_at, record))?;
                pages.insert(leaf_at, insert)
            }
        }
    }
}
