//! Numbers that name things in a store: pages, segments, positions in the log.
//!
//! They are newtypes so that a page number is never taken for an LSN. Their on-disk form is the plain little-endian
//! integer, written by the module that owns the layout around it.

use std::fmt;

/// Number of a page in the `data` file, counted from its start. It has 48 bits on disk. 0 is the superblock and, in
/// references, "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PageNo(pub u64);

impl PageNo {
    /// "No page" where a reference may be absent. Also the superblock, which nothing refers to.
    pub const NONE: PageNo = PageNo(0);
    /// The largest page number that fits the 48 bits a page number has on disk.
    pub const MAX: PageNo = PageNo((1 << 48) - 1);
}

/// Position in the log stream, in bytes of groups. The bytes include the framing of groups, but no batch headers and
/// no padding.
///
/// An LSN does not depend on how the stream was cut into batches and files. LSN 0 is before everything: a page with
/// LSN 0 was never changed by a logged change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The LSN before everything that is in any log.
    pub const ZERO: Lsn = Lsn(0);

    /// Returns the LSN `bytes` further on in the stream.
    #[must_use]
    pub fn plus(self, bytes: u64) -> Lsn {
        Lsn(self.0.saturating_add(bytes))
    }
}

/// The bytes of the log stream that one group takes: from `start`, up to but excluding `end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct LsnRange {
    /// First byte of the group.
    pub start: Lsn,
    /// First byte after the group. The group is durable when the log is durable up to here.
    pub end: Lsn,
}

/// Number of a segment. A tree is a segment, so this is also the tree's number. Never reused; 0 is "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct SegmentId(pub u64);

impl SegmentId {
    /// "No segment" where a reference may be absent.
    pub const NONE: SegmentId = SegmentId(0);
}

impl fmt::Display for PageNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
