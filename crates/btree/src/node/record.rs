//! The redo records of tree pages and their handler.
//!
//! ```text
//! kind  name              payload
//!   1   format            image: the node replaces whatever was on the page
//!   2   leaf insert       slot u16, flags u8, suffix length u16, [ts u48], suffix, payload
//!   3   leaf replace      slot u16, flags u8, [ts u48], kept head u16, kept tail u16, middle
//!   4   leaf remove       slot u16
//!   5   leaf settle       threshold u48
//!   6   truncate          side kept u8, position u16, last u16, trend u8, spread u8, separator
//!   7   absorb            side u8 of the neighbour, image of the neighbour
//!   8   branch insert     slot u16, child u48, suffix
//!   9   branch remove     slot u16
//!  10   branch set child  slot u16, child u48
//!  11   set prefix        length u16
//!  12   leaf merge        generation u64, threshold u48, entries: ghost u8, ts u48, key length u16, payload length u16,
//!                        key, payload
//!
//! slot: of a leaf insert, replace or remove the position of the entry, else of the cell.
//! side: 0 left, 1 right.    [ts] only if flags has HAS_TS.
//! image: node header (48 bytes), slots, heap from its start to the end of the page
//! ```
//!
//! A record holds everything that its effect depends on besides the page (thresholds, split positions), so replaying
//! it gives the same bytes.

use leafline_storage::page::bytes::Reader;
use leafline_storage::page::set_kind;
use leafline_storage::{PAGE_HEADER, PageKind, PageNo, RedoError, RedoHandler};

use super::build::NodeBuilder;
use super::edit::{self, Side};
use super::history::InsertHistory;
use super::layout::{NodeFault, NodeResult, SLOT, SLOTS, field, format_version, u48, u48_bytes};
use super::merge_entries::{self, BufferedEntry};
use super::node_view::Node;
use crate::entry::{CommitTs, EntryFlags, EntryView};

const FORMAT: u8 = 1;
const LEAF_INSERT: u8 = 2;
const LEAF_REPLACE: u8 = 3;
const LEAF_REMOVE: u8 = 4;
const LEAF_SETTLE: u8 = 5;
const TRUNCATE: u8 = 6;
const ABSORB: u8 = 7;
const BRANCH_INSERT: u8 = 8;
const BRANCH_REMOVE: u8 = 9;
const BRANCH_SET_CHILD: u8 = 10;
const SET_PREFIX: u8 = 11;
const LEAF_MERGE: u8 = 12;

/// Upper bound of the bytes that a record adds to the key, payload or image in it.
pub const RECORD_OVERHEAD: usize = 24;

/// A redo record, ready for [`MiniTransaction::apply`](leafline_storage::MiniTransaction::apply).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The kind of the change.
    pub kind: u8,
    /// The arguments of the change.
    pub payload: Vec<u8>,
}

impl Record {
    fn new(kind: u8, parts: &[&[u8]]) -> Record {
        Record { kind, payload: parts.concat() }
    }

    /// Makes a record that lays the page out as `built` has it.
    ///
    /// # Errors
    /// If the last entries of `built` do not fit on the page.
    pub fn format(built: NodeBuilder) -> NodeResult<Record> {
        Ok(Record::format_image(&built.finish()?))
    }

    /// Makes a record that lays the page out like `page`, a finished node.
    pub fn format_image(page: &[u8]) -> Record {
        Record { kind: FORMAT, payload: image(page) }
    }

    /// Makes the change on a page.
    ///
    /// # Errors
    /// If the record does not fit the page.
    pub fn make(&self, page: &mut [u8]) -> NodeResult<()> {
        redo(self.kind, page, &self.payload)
            .unwrap_or(Err(NodeFault("tree record that is too short or unknown")))
    }

    /// Makes a record that inserts a leaf entry, as [`LeafInsert`] does.
    #[cfg(test)]
    pub fn leaf_insert(slot: usize, suffix: &[u8], entry: EntryView<'_>) -> Record {
        LeafInsert::new(slot, suffix, entry).to_record()
    }

    /// Makes a record that replaces a leaf entry. It has only the changed part of the payload.
    pub fn leaf_replace(slot: usize, old: &[u8], entry: EntryView<'_>) -> Record {
        let new = entry.payload;
        let shorter = old.len().min(new.len());
        let head = super::common_prefix(old, new);
        let tail =
            old.iter().rev().zip(new.iter().rev()).take(shorter - head).take_while(|(a, b)| a == b).count();
        let ts = u48_bytes(entry.commit_ts.0);
        Record::new(
            LEAF_REPLACE,
            &[
                &slot_bytes(slot),
                &[entry.flags.0],
                &ts[..timestamp_len(entry.flags)],
                &(head as u16).to_le_bytes(),
                &(tail as u16).to_le_bytes(),
                &new[head..new.len() - tail],
            ],
        )
    }

    /// Makes a record that removes a leaf entry.
    pub fn leaf_remove(slot: usize) -> Record {
        Record::new(LEAF_REMOVE, &[&slot_bytes(slot)])
    }

    /// Makes a record that settles a leaf.
    pub fn leaf_settle(before: CommitTs) -> Record {
        Record::new(LEAF_SETTLE, &[&u48_bytes(before.0)])
    }

    /// Makes a record that merges entries that were kept elsewhere. The leaf then contains all changes before
    /// generation `through`.
    pub fn leaf_merge(entries: &[BufferedEntry], through: u64, purge_before: CommitTs) -> Record {
        Record { kind: LEAF_MERGE, payload: merge_entries::encode(entries, through, purge_before) }
    }

    /// Makes a record that keeps one side of a node that is split.
    pub fn truncate(keep: Side, position: usize, separator: &[u8], history: InsertHistory) -> Record {
        let last = history.last.to_le_bytes();
        let policy = [last[0], last[1], history.trend as u8, history.spread];
        Record::new(TRUNCATE, &[&[side_byte(keep)], &slot_bytes(position), &policy, separator])
    }

    /// Makes a record that adds the entries of a neighbour.
    pub fn absorb(side: Side, neighbour: &Node<'_>) -> NodeResult<Record> {
        let mut builder = NodeBuilder::like(neighbour, neighbour.lower_fence(), neighbour.upper_fence())?;
        builder.push_all(neighbour, 0..neighbour.slots())?;
        Ok(Record::new(ABSORB, &[&[side_byte(side)], &image(&builder.finish()?)]))
    }

    /// Makes a record that inserts a child.
    pub fn branch_insert(slot: usize, suffix: &[u8], child: PageNo) -> Record {
        Record::new(BRANCH_INSERT, &[&slot_bytes(slot), &u48_bytes(child.0), suffix])
    }

    /// Makes a record that removes a child.
    pub fn branch_remove(slot: usize) -> Record {
        Record::new(BRANCH_REMOVE, &[&slot_bytes(slot)])
    }

    /// Makes a record that changes the length of the prefix of a node without an upper fence.
    pub fn set_prefix(prefix_len: usize) -> Record {
        Record::new(SET_PREFIX, &[&(prefix_len as u16).to_le_bytes()])
    }

    /// Makes a record that changes a child reference.
    pub fn branch_set_child(slot: usize, child: PageNo) -> Record {
        Record::new(BRANCH_SET_CHILD, &[&slot_bytes(slot), &u48_bytes(child.0)])
    }
}

/// The record that inserts a leaf entry, in parts, because most records are of this kind.
pub struct LeafInsert<'a> {
    /// The bytes before the suffix; the first `head_len` of them count.
    head: [u8; 11],
    head_len: usize,
    suffix: &'a [u8],
    payload: &'a [u8],
}

impl<'a> LeafInsert<'a> {
    /// The kind of the record.
    pub const KIND: u8 = LEAF_INSERT;

    /// Makes a record that inserts `entry` at position `slot`, under the leaf's prefix and `suffix`.
    pub fn new(slot: usize, suffix: &'a [u8], entry: EntryView<'a>) -> LeafInsert<'a> {
        let mut head = [0; 11];
        head[..2].copy_from_slice(&slot_bytes(slot));
        head[2] = entry.flags.0;
        head[3..5].copy_from_slice(&(suffix.len() as u16).to_le_bytes());
        head[5..].copy_from_slice(&u48_bytes(entry.commit_ts.0));
        LeafInsert { head, head_len: 5 + timestamp_len(entry.flags), suffix, payload: entry.payload }
    }

    /// Returns it as a [`Record`].
    pub fn to_record(&self) -> Record {
        Record::new(LEAF_INSERT, &self.parts())
    }

    /// Returns the parts of its payload.
    pub fn parts(&self) -> [&[u8]; 3] {
        [&self.head[..self.head_len], self.suffix, self.payload]
    }
}

fn slot_bytes(slot: usize) -> [u8; 2] {
    (slot as u16).to_le_bytes()
}

fn side_byte(side: Side) -> u8 {
    match side {
        Side::Left => 0,
        Side::Right => 1,
    }
}

/// Returns the bytes of the timestamp in a record of an entry with these flags.
fn timestamp_len(flags: EntryFlags) -> usize {
    if flags.contains(EntryFlags::HAS_TS) { 6 } else { 0 }
}

/// Returns the used bytes of a page without garbage.
fn image(page: &[u8]) -> Vec<u8> {
    let count = usize::from(super::layout::get_u16(page, field::COUNT));
    let heap = super::layout::heap_start(page);
    [&page[PAGE_HEADER..SLOTS + count * SLOT], &page[heap..]].concat()
}

/// Restores a page from its image. The page header is zero.
fn from_image(image: &[u8], page_size: usize) -> NodeResult<Vec<u8>> {
    const BAD: NodeFault = NodeFault("page image of impossible size");
    let mut page = vec![0; page_size];
    let header = image.get(..SLOTS - PAGE_HEADER).ok_or(BAD)?;
    page.get_mut(PAGE_HEADER..SLOTS).ok_or(BAD)?.copy_from_slice(header);
    let count = usize::from(super::layout::get_u16(&page, field::COUNT));
    let heap = super::layout::heap_start(&page);
    let front = SLOTS - PAGE_HEADER + count * SLOT;
    let back = page_size.checked_sub(heap).ok_or(BAD)?;
    if image.len() != front + back || PAGE_HEADER + front > heap {
        return Err(BAD);
    }
    page[PAGE_HEADER..PAGE_HEADER + front].copy_from_slice(&image[..front]);
    page[heap..].copy_from_slice(&image[front..]);
    Node::open(&page)?;
    Ok(page)
}

/// The redo handler of tree records. Register it under [`HandlerId::BTREE`](leafline_storage::HandlerId::BTREE).
#[derive(Debug, Default, Clone, Copy)]
pub struct TreeRedo;

impl RedoHandler for TreeRedo {
    fn redo(&self, kind: u8, page: &mut [u8], payload: &[u8]) -> Result<(), RedoError> {
        match redo(kind, page, payload) {
            Some(Ok(())) => Ok(()),
            Some(Err(fault)) => Err(fault.0.into()),
            None => Err(format!("tree record of kind {kind} is too short or unknown").into()),
        }
    }
}

/// Makes the change of a record. Returns `None` if the record ends early, or is of no known kind.
fn redo(kind: u8, page: &mut [u8], payload: &[u8]) -> Option<NodeResult<()>> {
    let mut reader = Reader::new(payload);
    let r = &mut reader;
    Some(match kind {
        FORMAT => format(page, payload),
        LEAF_INSERT => {
            let slot = slot(r)?;
            let flags = EntryFlags(r.u8()? & EntryFlags::ALL);
            let suffix_len = usize::from(r.u16()?);
            let commit_ts = read_timestamp(r, flags)?;
            let suffix = r.take(suffix_len)?;
            edit::leaf_insert(page, slot, suffix, EntryView { flags, commit_ts, payload: r.rest() })
        }
        LEAF_REPLACE => {
            let slot = slot(r)?;
            let flags = EntryFlags(r.u8()? & EntryFlags::ALL);
            let commit_ts = read_timestamp(r, flags)?;
            let keep = (usize::from(r.u16()?), usize::from(r.u16()?));
            edit::leaf_replace(page, slot, flags, commit_ts, keep, r.rest())
        }
        LEAF_REMOVE => edit::leaf_remove(page, slot(r)?),
        LEAF_SETTLE => edit::leaf_settle(page, CommitTs(u48(r.take(6)?))),
        TRUNCATE => {
            let keep = side(r)?;
            let slot = slot(r)?;
            let history = InsertHistory { last: r.u16()?, trend: r.u8()? as i8, spread: r.u8()? };
            edit::truncate(page, keep, slot, r.rest(), history)
        }
        ABSORB => {
            let side = side(r)?;
            absorb(page, side, r.rest())
        }
        BRANCH_INSERT => {
            let slot = slot(r)?;
            let child = PageNo(u48(r.take(6)?));
            edit::branch_insert(page, slot, r.rest(), child)
        }
        BRANCH_REMOVE => edit::branch_remove(page, slot(r)?),
        BRANCH_SET_CHILD => {
            let slot = slot(r)?;
            edit::branch_set_child(page, slot, PageNo(u48(r.take(6)?)))
        }
        SET_PREFIX => edit::set_prefix(page, usize::from(r.u16()?)),
        LEAF_MERGE => return merge_entries::redo(page, r),
        _ => return None,
    })
}

fn slot(r: &mut Reader<'_>) -> Option<usize> {
    r.u16().map(usize::from)
}

fn side(r: &mut Reader<'_>) -> Option<Side> {
    match r.u8()? {
        0 => Some(Side::Left),
        1 => Some(Side::Right),
        _ => None,
    }
}

fn read_timestamp(r: &mut Reader<'_>, flags: EntryFlags) -> Option<CommitTs> {
    if flags.contains(EntryFlags::HAS_TS) {
        r.take(6).map(|b| CommitTs(u48(b)))
    } else {
        Some(CommitTs::NONE)
    }
}

fn format(page: &mut [u8], image: &[u8]) -> NodeResult<()> {
    let node = from_image(image, page.len())?;
    page[PAGE_HEADER..].copy_from_slice(&node[PAGE_HEADER..]);
    let kind = if node[field::LEVEL] == 0 { PageKind::LEAF } else { PageKind::BRANCH };
    let format = Node::open(page)?.format();
    set_kind(page, kind, format_version(format));
    Ok(())
}

fn absorb(page: &mut [u8], side: Side, image: &[u8]) -> NodeResult<()> {
    let neighbour = from_image(image, page.len())?;
    edit::absorb(page, side, &Node::open(&neighbour)?)
}
