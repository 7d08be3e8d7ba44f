//! Entries as the users of a tree see them: flags, commit timestamp, payload, and changes.

use std::borrow::Cow;

/// A commit timestamp: a 48-bit counter. 0 means "no timestamp": the change is settled, which means visible to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitTs(pub u64);

impl CommitTs {
    /// No timestamp: the change is settled.
    pub const NONE: CommitTs = CommitTs(0);
    /// The largest timestamp that fits on a page.
    pub const MAX: CommitTs = CommitTs((1 << 48) - 1);

    /// Returns whether there is a timestamp.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// Flags of an entry, as stored in its slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryFlags(pub u8);

impl EntryFlags {
    /// The entry is deleted, and kept until no snapshot can need it.
    pub const GHOST: EntryFlags = EntryFlags(1);
    /// The entry carries the timestamp of its last change.
    pub const HAS_TS: EntryFlags = EntryFlags(2);
    /// There was an entry under the key before the last change.
    pub const HAS_PREVIOUS: EntryFlags = EntryFlags(4);
    pub(crate) const ALL: u8 = 7;

    /// Returns whether all flags of `other` are set.
    #[inline]
    pub fn contains(self, other: EntryFlags) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn of(ghost: bool, ts: CommitTs, has_previous: bool) -> EntryFlags {
        let mut flags = 0;
        if ghost {
            flags |= EntryFlags::GHOST.0;
        }
        if ts.is_some() {
            flags |= EntryFlags::HAS_TS.0;
        }
        if has_previous {
            flags |= EntryFlags::HAS_PREVIOUS.0;
        }
        EntryFlags(flags)
    }
}

/// An entry on the page, without its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryView<'a> {
    /// GHOST, HAS_TS, HAS_PREVIOUS.
    pub flags: EntryFlags,
    /// Timestamp of the last change, or [`CommitTs::NONE`] when settled.
    pub commit_ts: CommitTs,
    /// The bytes stored under the key.
    pub payload: &'a [u8],
}

impl EntryView<'_> {
    /// Returns whether the entry is deleted.
    #[inline]
    pub fn is_ghost(&self) -> bool {
        self.flags.contains(EntryFlags::GHOST)
    }

    /// Returns whether there was an entry under the key before the last change.
    #[inline]
    pub fn has_previous(&self) -> bool {
        self.flags.contains(EntryFlags::HAS_PREVIOUS)
    }
}

/// A change of the entry that [`Tree::modify`](crate::Tree::modify) has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// Leave everything as it is.
    Keep,
    /// Inserts the entry or replaces it; revives a ghost.
    Put {
        /// New payload.
        payload: Cow<'a, [u8]>,
        /// Timestamp of the commit; [`CommitTs::NONE`] stores a settled entry.
        ts: CommitTs,
        /// Whether an entry was replaced.
        has_previous: bool,
    },
    /// Marks the entry as deleted. Inserts a ghost if there is no entry.
    Ghost {
        /// Timestamp of the commit.
        ts: CommitTs,
        /// Whether an entry was replaced.
        has_previous: bool,
        /// Whether to keep the payload. Otherwise it is dropped to save room.
        keep_payload: bool,
    },
    /// Removes the entry from the page at once.
    Remove,
}
