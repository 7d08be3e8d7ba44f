//! What an entry is to the user of a tree: flags, commit timestamp, payload, and the change to make to it.

use std::borrow::Cow;

/// A commit timestamp: a 48-bit counter. 0 means "no timestamp": the change is settled, visible to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitTs(pub u64);

impl CommitTs {
    /// No timestamp.
    pub const NONE: CommitTs = CommitTs(0);
    /// The largest timestamp that fits on a page.
    pub const MAX: CommitTs = CommitTs((1 << 48) - 1);

    /// Whether there is a timestamp at all.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// Flags of an entry, as stored in its slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryFlags(pub u8);

impl EntryFlags {
    /// Deleted, kept until no snapshot can need it.
    pub const GHOST: EntryFlags = EntryFlags(1);
    /// The entry carries the timestamp of its last change.
    pub const HAS_TS: EntryFlags = EntryFlags(2);
    /// There was an entry under the key before the last change.
    pub const HAS_PREVIOUS: EntryFlags = EntryFlags(4);
    pub(crate) const ALL: u8 = 7;

    /// Whether all flags of `other` are set.
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

/// An entry as it stands on the page, without its key.
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
    /// Whether the entry is deleted.
    #[inline]
    pub fn is_ghost(&self) -> bool {
        self.flags.contains(EntryFlags::GHOST)
    }

    /// Whether there was an entry under the key before the last change.
    #[inline]
    pub fn has_previous(&self) -> bool {
        self.flags.contains(EntryFlags::HAS_PREVIOUS)
    }
}

/// What [`Tree::modify`](crate::Tree::modify) shall do with the entry it looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// Leave everything as it is.
    Keep,
    /// Insert the entry or replace it; a ghost comes back to life.
    Put {
        /// New payload.
        payload: Cow<'a, [u8]>,
        /// Timestamp of the commit; [`CommitTs::NONE`] stores a settled entry.
        ts: CommitTs,
        /// Whether there is something that was replaced.
        has_previous: bool,
    },
    /// Mark the entry as deleted; where there is none, a ghost is inserted.
    Ghost {
        /// Timestamp of the commit.
        ts: CommitTs,
        /// Whether there is something that was replaced.
        has_previous: bool,
        /// Keep the payload (else it is dropped to save room).
        keep_payload: bool,
    },
    /// Remove the entry from the page at once.
    Remove,
}
