//! The byte layout of leaf and branch pages.
//!
//! A node is a slotted page with fence keys, prefix truncation and key heads (Graefe, "Modern B-Tree Techniques",
//! 2011; the head in the slot as in LeanStore's `BTreeNode`). All integers are little-endian unless the table says
//! otherwise. Offsets count from the start of the page.
//!
//! ```text
//! offset size  field
//!      0   32  page header (owned by leafline_storage)
//!     32    1  level: 0 = leaf, parents one more
//!     33    1  flags: bit 0 = the upper fence is +infinity; bit 1 = the leaf is packed, see [`super::packed`]
//!     34    2  slot count
//!     36    2  heap start: lowest byte used by cells and fences, which grow downwards from the page end
//!              (0 = the end of a 64 KiB page)
//!     38    2  garbage: bytes of the heap that no slot refers to
//!     40    2  prefix length: bytes of the lower fence that begin every key of the node and are cut off
//!     42    2  lower fence offset      44    2  lower fence length      (inclusive)
//!     46    2  upper fence offset      48    2  upper fence length      (exclusive)
//!     50    2  ghosts: entries with the GHOST flag                      (leaf)
//!     52    2  unsettled: entries with the HAS_TS flag                  (leaf)
//!     54    2  slot of the last insert                                  (split policy)
//!     56    1  insert trend, signed                                     (split policy)
//!     57    1  insert spread                                            (split policy)
//!     58    2  entries                                              (packed leaf; else 0)
//!     60    4  upper head: the head (see slot) of the upper fence without the prefix; 0 without an upper fence
//!     64    8  max_commit_ts: 48 bits, see below                        (leaf)
//!     72    8  merged_through: generation of buffered changes merged    (leaf)
//!     80    8  slot 0, slot 1, ...
//!    ...       free space
//!    ...       cells and the two fence keys, up to the end of the page
//!
//! slot:  4  head: the first four bytes of the key suffix as a big-endian number, zero-padded
//!        2  offset of the cell
//!        2  bits 0-11 length of the key suffix, bits 12-15 flags (GHOST, HAS_TS, HAS_PREVIOUS, HAS_PAYLOAD)
//!
//! leaf cell:   [6 commit timestamp if HAS_TS] [2 payload length if HAS_PAYLOAD] key suffix, payload
//! branch cell: 6 child page number, key suffix
//! ```
//!
//! Slots and cells of a packed leaf are described in [`super::packed`]; everything else is as on a plain one. A
//! *position* is the number of an entry on its leaf. On a plain leaf it is its slot.
//!
//! The prefix is the common prefix of both fences. Without an upper fence it is one that the present keys share with
//! the lower fence: ascending inserts go to the last node of a level, so it must not be the one with the longest
//! keys. Before a greater key that does not share the prefix is inserted, the prefix is changed.
//!
//! Invariants: keys ascend strictly and lie in `[lower fence, upper fence)`. Slot 0 of a branch has no key: its child
//! begins at the lower fence of the branch. The key of another slot is the lower fence of its child. A node has no
//! sibling links. `max_commit_ts` is the maximum of the timestamps of all changes since the leaf was last settled: a
//! snapshot above it sees the leaf as it stands. `heap start - end of slots + garbage` is the free room.
//!
//! [`Node::open`](super::Node::open) checks the header, so slots can be indexed. The content of a slot is checked when
//! it is followed.

use leafline_storage::PAGE_HEADER;

use crate::entry::EntryFlags;
use crate::limits::MAX_KEY_LEN;

/// Offset of the first slot. The bytes before it are header.
pub const SLOTS: usize = PAGE_HEADER + 48;
/// Bytes of one slot.
pub const SLOT: usize = 8;
/// Smallest and largest page size that the 16-bit offsets and the key limits are made for.
pub const PAGE_SIZES: std::ops::RangeInclusive<usize> = 4096..=65536;
/// Bytes of a child page number in a branch cell.
pub const CHILD: usize = 6;
/// Bytes of a commit timestamp in a leaf cell.
pub const TIMESTAMP: usize = 6;
/// Bytes of the payload length in a leaf cell.
pub const PAYLOAD_LEN: usize = 2;

/// Bits of the slot's last field that hold the suffix length.
const SUFFIX_BITS: u16 = 0x0fff;
const FLAGS_SHIFT: u32 = 12;
/// Slot flag: the cell has a payload and its length.
pub(super) const HAS_PAYLOAD: u8 = 8;
/// Node flag: the node has no upper fence.
pub(super) const UPPER_INFINITE: u8 = 1;
/// Node flag: the slots lead to packed cells.
pub(super) const PACKED: u8 = 2;

/// Offsets of the header fields. The length of a fence follows its offset.
pub(super) mod field {
    use leafline_storage::PAGE_HEADER;
    pub const LEVEL: usize = PAGE_HEADER;
    pub const FLAGS: usize = PAGE_HEADER + 1;
    pub const COUNT: usize = PAGE_HEADER + 2;
    pub const HEAP_START: usize = PAGE_HEADER + 4;
    pub const GARBAGE: usize = PAGE_HEADER + 6;
    pub const PREFIX_LEN: usize = PAGE_HEADER + 8;
    pub const LOWER_OFFSET: usize = PAGE_HEADER + 10;
    pub const UPPER_OFFSET: usize = PAGE_HEADER + 14;
    pub const GHOSTS: usize = PAGE_HEADER + 18;
    pub const UNSETTLED: usize = PAGE_HEADER + 20;
    pub const LAST_INSERT: usize = PAGE_HEADER + 22;
    pub const TREND: usize = PAGE_HEADER + 24;
    pub const SPREAD: usize = PAGE_HEADER + 25;
    pub const ENTRIES: usize = PAGE_HEADER + 26;
    pub const UPPER_HEAD: usize = PAGE_HEADER + 28;
    pub const MAX_COMMIT_TS: usize = PAGE_HEADER + 32;
    pub const MERGED_THROUGH: usize = PAGE_HEADER + 40;
}

const _: () = assert!(PAGE_HEADER == 32 && SLOTS.is_multiple_of(SLOT));
const _: () = assert!(MAX_KEY_LEN <= SUFFIX_BITS as usize);

/// A description of damage in the bytes of a node. The caller adds the page number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeFault(pub &'static str);

/// Result of an operation on the bytes of one node.
pub type NodeResult<T> = Result<T, NodeFault>;

#[inline]
pub(super) fn get_u16(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

#[inline]
pub(super) fn put_u16(page: &mut [u8], at: usize, value: usize) {
    debug_assert!(value <= usize::from(u16::MAX));
    page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

#[inline]
pub(super) fn get_u64(page: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Reads a 48-bit number from `bytes`, which has at least six bytes.
#[inline]
pub(super) fn u48(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..6].copy_from_slice(&bytes[..6]);
    u64::from_le_bytes(wide)
}

/// Returns the six bytes of a 48-bit number. Higher bits are cut off.
#[inline]
pub(super) fn u48_bytes(value: u64) -> [u8; 6] {
    let b = value.to_le_bytes();
    [b[0], b[1], b[2], b[3], b[4], b[5]]
}

/// Returns the head of a key suffix: its first four bytes as a big-endian number. Shorter suffixes are padded with
/// zeros, so equal heads do not mean equal suffixes, but different heads order as their suffixes do.
#[inline]
pub fn head_of(suffix: &[u8]) -> u32 {
    match suffix {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        [a, b, c] => u32::from_be_bytes([*a, *b, *c, 0]),
        [a, b] => u32::from_be_bytes([*a, *b, 0, 0]),
        [a] => u32::from_be_bytes([*a, 0, 0, 0]),
        [] => 0,
    }
}

/// Returns the length of the common prefix of two keys.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    // Eight bytes at a time.
    while let (Some(x), Some(y)) = (a[at..].first_chunk(), b[at..].first_chunk()) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return at + difference.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// The layout of the leaves of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeafFormat {
    /// Each entry has a slot.
    #[default]
    Plain,
    /// Each slot has a packed cell of entries, each of them stored as its difference to the one before.
    Packed,
}

/// Returns the version of a node's layout, as in the page header. Packed leaves have a version of their own, which
/// older programs refuse.
pub const fn format_version(format: LeafFormat) -> u8 {
    match format {
        LeafFormat::Plain => 2,
        LeafFormat::Packed => 4,
    }
}

/// A decoded slot of a node that is not a packed leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub head: u32,
    pub offset: usize,
    pub suffix_len: usize,
    /// The three public flags and `HAS_PAYLOAD`.
    pub flags: u8,
}

impl Slot {
    #[inline]
    pub fn decode(bytes: [u8; SLOT]) -> Slot {
        let tail = u16::from_le_bytes([bytes[6], bytes[7]]);
        Slot {
            head: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            offset: usize::from(u16::from_le_bytes([bytes[4], bytes[5]])),
            suffix_len: usize::from(tail & SUFFIX_BITS),
            flags: (tail >> FLAGS_SHIFT) as u8,
        }
    }

    #[inline]
    pub fn encode(self) -> [u8; SLOT] {
        debug_assert!(self.suffix_len <= usize::from(SUFFIX_BITS) && self.flags < 16);
        let head = self.head.to_le_bytes();
        let offset = (self.offset as u16).to_le_bytes();
        let tail = (self.suffix_len as u16 | u16::from(self.flags) << FLAGS_SHIFT).to_le_bytes();
        [head[0], head[1], head[2], head[3], offset[0], offset[1], tail[0], tail[1]]
    }

    /// Returns the bytes of a leaf cell before the key suffix.
    #[inline]
    pub fn leaf_cell_header(self) -> usize {
        leaf_cell_header(self.flags)
    }
}

/// Returns the bytes of a leaf cell before the key suffix, from the slot flags.
#[inline]
pub(super) fn leaf_cell_header(flags: u8) -> usize {
    let ts = if flags & EntryFlags::HAS_TS.0 != 0 { TIMESTAMP } else { 0 };
    let len = if flags & HAS_PAYLOAD != 0 { PAYLOAD_LEN } else { 0 };
    ts + len
}

/// Returns the lowest byte of the heap. The end of the largest page does not fit two bytes and is stored as 0.
#[inline]
pub(super) fn heap_start(page: &[u8]) -> usize {
    match get_u16(page, field::HEAP_START) {
        0 => 1 << 16,
        start => usize::from(start),
    }
}
