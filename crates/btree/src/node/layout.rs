//! The byte layout of leaf and branch pages, and a validated read-only view of it.
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
//! [`Node::open`] checks the header, so slots can be indexed. The content of a slot is checked when it is followed.

use leafline_storage::PAGE_HEADER;

use super::packed::MAX_CELL_ENTRIES;
use super::search::Search;
use super::unpacked::Unpacked;
use crate::entry::{CommitTs, EntryFlags};

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
const _: () = assert!(crate::policy::MAX_KEY_LEN <= SUFFIX_BITS as usize);

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
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
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

/// The places of recent inserts, kept in the node header for the split policy (see `policy`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InsertHistory {
    /// Slot of the last insert.
    pub last: u16,
    /// Positive if inserts ascend, negative if they descend.
    pub trend: i8,
    /// How far behind the front a nearly ascending insert was seen, in slots.
    pub spread: u8,
}

/// A node whose header has been checked: a read-only view of the whole page.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    page: &'a [u8],
    search: Search<&'a [u8]>,
    prefix: &'a [u8],
}

impl<'a> Node<'a> {
    /// Checks the header of `page` (the whole page, page header included).
    #[inline]
    pub fn open(page: &'a [u8]) -> NodeResult<Node<'a>> {
        let search = Search::open(page)?;
        let (at, len) = search.prefix();
        let prefix = page.get(at..at + len).ok_or(NodeFault("prefix longer than the lower fence"))?;
        Ok(Node { page, search, prefix })
    }

    /// Returns the search functions of the node.
    #[inline]
    pub fn search(&self) -> &Search<&'a [u8]> {
        &self.search
    }

    /// Returns the bytes of the page.
    pub fn bytes(&self) -> &'a [u8] {
        self.page
    }

    /// Returns the level of the node; 0 for a leaf.
    #[inline]
    pub fn level(&self) -> u8 {
        self.search.level()
    }

    /// Returns whether this is a leaf.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.level() == 0
    }

    /// Returns the format of the node. A branch is plain.
    #[inline]
    pub fn format(&self) -> LeafFormat {
        self.search.format()
    }

    #[inline]
    pub(super) fn is_packed(&self) -> bool {
        self.format() == LeafFormat::Packed
    }

    /// Returns the number of entries, or of children.
    #[inline]
    pub fn count(&self) -> usize {
        self.search.count()
    }

    /// Returns the number of slots, which is less than that of entries on a packed leaf.
    #[inline]
    pub fn slots(&self) -> usize {
        self.search.slots()
    }

    /// Returns whether the node has a key. The first child of a branch has none.
    pub fn has_keys(&self) -> bool {
        self.count() > usize::from(!self.is_leaf())
    }

    /// Returns the length of the prefix that the node needs before `key` can be inserted, if that is not the present
    /// one.
    pub fn prefix_for(&self, key: &[u8]) -> Option<usize> {
        if self.upper_fence().is_some() || (self.has_keys() && key.starts_with(self.prefix)) {
            return None;
        }
        let prefix = common_prefix(self.lower_fence(), key);
        (prefix != self.prefix.len()).then_some(prefix)
    }

    /// Returns the bytes free after a compaction and a change to a prefix of `prefix_len` bytes.
    pub fn free_with_prefix(&self, prefix_len: usize) -> usize {
        self.free().saturating_sub(self.slots() * self.longer_with(prefix_len))
    }

    /// Returns a bound of the bytes that each cell grows by with a prefix of `prefix_len` bytes.
    pub fn longer_with(&self, prefix_len: usize) -> usize {
        let longer = self.prefix.len().saturating_sub(prefix_len);
        // Two lengths of a packed cell may need a second byte.
        if self.is_packed() && longer > 0 { longer + 2 } else { longer }
    }

    /// Returns the bytes that are cut off every key.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    /// Returns the first key that may be on the node.
    #[inline]
    pub fn lower_fence(&self) -> &'a [u8] {
        fence(self.page, field::LOWER_OFFSET).unwrap_or_default()
    }

    /// Returns the first key beyond the node; `None` is +infinity.
    #[inline]
    pub fn upper_fence(&self) -> Option<&'a [u8]> {
        if self.page[field::FLAGS] & UPPER_INFINITE != 0 {
            return None;
        }
        Some(fence(self.page, field::UPPER_OFFSET).unwrap_or_default())
    }

    /// Returns whether `key` belongs on this node.
    pub fn covers(&self, key: &[u8]) -> bool {
        key >= self.lower_fence() && self.upper_fence().is_none_or(|upper| key < upper)
    }

    /// Returns the number of entries with the `GHOST` flag.
    pub fn ghosts(&self) -> usize {
        usize::from(get_u16(self.page, field::GHOSTS))
    }

    /// Returns the number of entries with a commit timestamp of their own.
    pub fn unsettled(&self) -> usize {
        usize::from(get_u16(self.page, field::UNSETTLED))
    }

    /// Returns the maximum of the timestamps of the changes since the leaf was settled.
    #[inline]
    pub fn max_commit_ts(&self) -> CommitTs {
        CommitTs(get_u64(self.page, field::MAX_COMMIT_TS))
    }

    /// Returns the generation of buffered changes before which the leaf contains all.
    pub fn merged_through(&self) -> u64 {
        get_u64(self.page, field::MERGED_THROUGH)
    }

    /// Returns the insert history.
    pub fn history(&self) -> InsertHistory {
        InsertHistory {
            last: get_u16(self.page, field::LAST_INSERT),
            trend: self.page[field::TREND] as i8,
            spread: self.page[field::SPREAD],
        }
    }

    /// Returns the lowest byte of the heap.
    pub(super) fn heap_start(&self) -> usize {
        heap_start(self.page)
    }

    /// Returns the bytes of the heap that nothing refers to.
    pub(super) fn garbage(&self) -> usize {
        usize::from(get_u16(self.page, field::GARBAGE))
    }

    /// Returns the bytes between the slots and the heap.
    pub(super) fn contiguous_free(&self) -> usize {
        self.heap_start() - (SLOTS + self.slots() * SLOT)
    }

    /// Returns the bytes free after a compaction.
    pub fn free(&self) -> usize {
        self.contiguous_free() + self.garbage()
    }

    /// Returns the bytes used by slots, cells and fences.
    pub fn used(&self) -> usize {
        (self.page.len() - SLOTS).saturating_sub(self.free())
    }

    /// Returns slot number `slot`. A number that is too large is a fault, not a panic.
    #[inline]
    pub(super) fn slot(&self, slot: usize) -> NodeResult<Slot> {
        self.search.slot(slot)
    }

    /// Returns the offset of the cell of a slot.
    #[inline]
    pub(super) fn cell_offset(&self, slot: usize) -> NodeResult<usize> {
        self.search.cell_offset(slot)
    }

    /// Returns the first key of a slot without the node's prefix.
    #[inline]
    pub fn suffix(&self, slot: usize) -> NodeResult<&'a [u8]> {
        let (start, len) = self.search.suffix(slot)?;
        self.page.get(start..start + len).ok_or(NodeFault("key outside the page"))
    }

    /// Returns the first key of a slot.
    pub fn key(&self, slot: usize) -> NodeResult<Vec<u8>> {
        Ok([self.prefix, self.suffix(slot)?].concat())
    }

    /// Returns the length of the first key of a slot.
    pub fn key_len(&self, slot: usize) -> NodeResult<usize> {
        Ok(self.prefix.len() + self.search.suffix(slot)?.1)
    }

    /// Returns the last key of a slot.
    pub fn last_key(&self, slot: usize) -> NodeResult<Vec<u8>> {
        let mut key = self.prefix.to_vec();
        match self.is_packed() {
            true => {
                let packed_cell = self.unpacked(slot)?;
                key.extend_from_slice(packed_cell.suffix(packed_cell.len() - 1)?);
            }
            false => key.extend_from_slice(self.suffix(slot)?),
        }
        Ok(key)
    }

    /// Unpacks the packed cell of a slot of a packed leaf.
    fn unpacked(&self, slot: usize) -> NodeResult<Unpacked> {
        let mut unpacked = Unpacked::default();
        self.unpack(slot, MAX_CELL_ENTRIES, &mut unpacked)?;
        Ok(unpacked)
    }

    /// Unpacks the first entries, up to `most`, of the packed cell of a slot of a packed leaf. Returns how many
    /// entries the packed cell has.
    pub(crate) fn unpack(&self, slot: usize, most: usize, unpacked: &mut Unpacked) -> NodeResult<usize> {
        let packed_cell = self.search.packed_cell(slot)?;
        unpacked.read(self.page, &packed_cell, most)?;
        Ok(packed_cell.count)
    }

    /// Replaces `key` by the whole key of the entry at `position` of a leaf.
    pub fn key_into(&self, position: usize, key: &mut Vec<u8>) -> NodeResult<()> {
        key.clear();
        key.extend_from_slice(self.prefix);
        match self.is_packed() {
            true => {
                let (slot, index) = self.search.slot_of(position)?;
                key.extend_from_slice(self.unpacked(slot)?.suffix(index)?);
            }
            false => key.extend_from_slice(self.suffix(position)?),
        }
        Ok(())
    }
}

/// Returns the lowest byte of the heap. The end of the largest page does not fit two bytes and is stored as 0.
#[inline]
pub(super) fn heap_start(page: &[u8]) -> usize {
    match get_u16(page, field::HEAP_START) {
        0 => 1 << 16,
        start => usize::from(start),
    }
}

/// Returns one of the two fences, whose offset and length are neighbours in the header.
#[inline]
fn fence(page: &[u8], at: usize) -> NodeResult<&[u8]> {
    let offset = usize::from(get_u16(page, at));
    let len = usize::from(get_u16(page, at + 2));
    page.get(offset..offset + len).ok_or(NodeFault("fence outside the page"))
}
