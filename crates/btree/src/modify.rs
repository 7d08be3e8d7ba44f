//! Changing one entry: insert, replace, ghost, remove.
//!
//! The leaf is latched exclusively, the caller decides, one record makes the change. When there is no room, ghosts
//! and timestamps that no snapshot needs are cleared away first (in the same mini-transaction), then the leaf is
//! split (in one of its own, with nothing latched in between) and everything is done again.

use std::borrow::Cow;

use leafline_storage::{MiniTransaction, PageNo, PageSlot, Reservation, page};

use crate::buffered::Modified;
use crate::descend::{Faults, Latched};
use crate::entry::{Change, CommitTs, EntryFlags, EntryView};
use crate::error::{BtreeError, OnPage, Result};
use crate::node::{Node, NodeFault, NodeResult, Record, has_room, room_needed, settle_gain};
use crate::policy;
use crate::tree::{Tree, apply};

/// What came of one attempt.
enum Attempt {
    /// Made; true: the leaf has become so empty that a merge is worth trying.
    Done(bool),
    /// A page is not in memory.
    Missing(PageNo),
    /// The leaf has no room for a cell of this size.
    NoRoom(usize),
    /// It was merged in memory alone.
    Softly,
}

impl Tree {
    /// Asks `decide` what to do with the entry under `key` and does it, in one mini-transaction (more when pages
    /// must be split). `decide` runs under the leaf's exclusive latch and must not block; it may run more than
    /// once, the last answer counts. Ghosts and timestamps below `purge_before` may be cleared away for room.
    ///
    /// # Errors
    /// `KeyTooLong`, `EntryTooLarge`, `Corrupt`, what the store returns.
    pub fn modify<'b>(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        purge_before: CommitTs,
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<()> {
        match self.modify_leaf(reservation, key, purge_before, decide, true)? {
            Modified::Done => Ok(()),
            Modified::NotInMemory | Modified::Softly => {
                let fault = NodeFault("a change of a leaf that lacks what is kept elsewhere");
                Err(BtreeError::corrupt(self.root(), fault))
            }
        }
    }

    /// As [`modify`](Self::modify); a leaf that is not in memory is read in only if `read` says so.
    pub(crate) fn modify_leaf<'b>(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        purge_before: CommitTs,
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
        read: bool,
    ) -> Result<Modified> {
        let limit = self.max_key_len();
        if key.len() > limit {
            return Err(BtreeError::KeyTooLong { len: key.len(), limit });
        }
        let mut faults = Faults::default();
        loop {
            match self.try_modify(reservation, key, purge_before, decide)? {
                Attempt::Done(under_full) => {
                    if under_full {
                        self.merge(reservation, key, 0)?;
                    }
                    return Ok(Modified::Done);
                }
                Attempt::Softly => return Ok(Modified::Softly),
                // Its caller looks whether this is the leaf.
                Attempt::Missing(_) if !read => return Ok(Modified::NotInMemory),
                Attempt::Missing(page) => faults.fault_in(self, page)?,
                Attempt::NoRoom(cell_len) => self.split(reservation, key, 0, cell_len)?,
            }
        }
    }

    fn try_modify<'b>(
        &self,
        reservation: &mut Reservation,
        key: &[u8],
        purge_before: CommitTs,
        decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>,
    ) -> Result<Attempt> {
        let mut mini = self.store().begin(reservation, 0)?;
        let latched = match self.latch(&mut mini, key, 0)? {
            Latched::Page(latched) => latched,
            Latched::Missing(page) => return Ok(Attempt::Missing(page)),
            Latched::NoSuchLevel => return Err(self.no_leaf_level()),
        };
        let page = mini.page_no(latched);
        if page::is_soft(mini.page(latched)) {
            return Ok(Attempt::Softly);
        }
        let leaf = Node::open(mini.page(latched)).on(page)?;
        let (slot, found) = leaf.lower_bound(key).on(page)?;
        let mut unpacked = Vec::new();
        let old = if found { Some(leaf.entry(slot, &mut unpacked).on(page)?) } else { None };
        let (flags, commit_ts, payload) = match (decide(old), old) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(Attempt::Done(false)),
            (Change::Remove, Some(_)) => {
                apply(&mut mini, latched, &Record::leaf_remove(slot))?;
                let merge = policy::try_merge(&Node::open(mini.page(latched)).on(page)?);
                mini.commit();
                return Ok(Attempt::Done(merge));
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
            records.apply(&mut mini, latched)?;
            mini.commit();
            return Ok(Attempt::Done(false));
        }
        if settle_gain(&leaf, purge_before).on(page)? >= policy::worth_settling(&leaf) {
            apply(&mut mini, latched, &Record::leaf_settle(purge_before))?;
            let leaf = Node::open(mini.page(latched)).on(page)?;
            let found = leaf.lower_bound(key).on(page)?;
            let records = ChangeRecords::of(&leaf, key, found, entry).on(page)?;
            if let Some(records) = &records {
                records.apply(&mut mini, latched)?;
            }
            let room = room_needed(&Node::open(mini.page(latched)).on(page)?, key, entry).on(page)?;
            mini.commit();
            return Ok(if records.is_some() { Attempt::Done(false) } else { Attempt::NoRoom(room) });
        }
        Ok(Attempt::NoRoom(room_needed(&leaf, key, entry).on(page)?))
    }

    fn check_entry(&self, key: &[u8], payload: &[u8]) -> Result<()> {
        let (len, limit) = (key.len() + payload.len(), self.max_entry_len());
        if len > limit { Err(BtreeError::EntryTooLarge { len, limit }) } else { Ok(()) }
    }
}

/// The records that put an entry under a key.
struct ChangeRecords {
    /// The leaf's prefix must become shorter first.
    prefix: Option<Record>,
    /// An insert or a replacement.
    entry: Record,
}

impl ChangeRecords {
    /// Those that put `entry` under `key`, which a search has `found` or not at a slot; `None` if there is no room.
    fn of(
        leaf: &Node<'_>,
        key: &[u8],
        (slot, found): (usize, bool),
        entry: EntryView<'_>,
    ) -> NodeResult<Option<ChangeRecords>> {
        let prefix = leaf.prefix_for(key);
        let suffix = key.get(prefix.unwrap_or(leaf.prefix().len())..).unwrap_or_default();
        if !has_room(leaf, key, (slot, found), entry)? {
            return Ok(None);
        }
        if found {
            let mut unpacked = Vec::new();
            let old = leaf.entry(slot, &mut unpacked)?.payload;
            return Ok(Some(ChangeRecords { prefix: None, entry: Record::leaf_replace(slot, old, entry) }));
        }
        Ok(Some(ChangeRecords {
            prefix: prefix.map(Record::set_prefix),
            entry: Record::leaf_insert(slot, suffix, entry),
        }))
    }

    fn apply(&self, mini: &mut MiniTransaction<'_>, latched: PageSlot) -> Result<()> {
        self.prefix.iter().chain([&self.entry]).try_for_each(|record| apply(mini, latched, record))
    }
}
