//! Packing of an index: whether its leaves are packed (`btree::node::packed`), as declared and in its tree,
//! and the form of its payloads.
//!
//! An index declares PACKED or NOT PACKED, or leaves the choice to PACK_KEYS of its table, which concerns
//! all indexes except the clustered one. With PACK_KEYS=DEFAULT a heap packs the indexes that contain
//! strings, as MyISAM does. The format of a tree is decided when the tree is made, and all its leaves have
//! it. Without a declaration, a tree that begins empty is plain, and a tree built from rows is packed if
//! that saves half of its leaves (`table::build::format`).
//!
//! The payloads of a secondary index contain the information about the values of its columns that the key
//! bytes lack: as differences (`types::key::difference`), or as copies in trees that were made by versions
//! without differences.
//!
//! In the catalog, the row of an index ends with one byte (bits 0-1: 0 nothing declared, 1 NOT PACKED, 2
//! PACKED; bit 2: the tree is packed; bit 3: payloads are differences). The row of a table contains
//! PACK_KEYS (0 DEFAULT, 1 0, 2 1).

use super::column::ColumnDef;
use super::definition::{Organisation, TableDef, TableOptions};
use super::index_def::{IndexDef, IndexKind, IndexPart, Packing};
use super::spec::IndexDraft;
use crate::bytes::ByteReader;
use crate::error::Result;
use leafline_btree::{LeafFormat, Tree};
use std::sync::Arc;

/// The tree is packed.
const IS_PACKED: u8 = 4;
/// Payloads are differences.
const DIFFERENCES: u8 = 8;

impl Packing {
    /// The packing of an index whose tree is to be made; plain without a declaration.
    pub(crate) fn of_new(draft: &IndexDraft, columns: &[ColumnDef], options: &TableOptions) -> Packing {
        let index = (draft.kind, draft.parts.as_slice());
        Packing {
            declared: draft.packed,
            packed: wanted(index, columns, draft.packed, options).unwrap_or(false),
            copies: false,
        }
    }

    /// The layout of the tree's leaves.
    pub(crate) fn leaf_format(self) -> LeafFormat {
        if self.packed { LeafFormat::Packed } else { LeafFormat::Plain }
    }

    pub(super) fn encode(self) -> u8 {
        let packed = if self.packed { IS_PACKED } else { 0 };
        let differences = if self.copies { 0 } else { DIFFERENCES };
        encode_choice(self.declared) | packed | differences
    }

    pub(super) fn decode(from: &mut ByteReader<'_>) -> Result<Packing> {
        let byte = from.u8()?;
        let declared = decode_choice(byte & !(IS_PACKED | DIFFERENCES), from)?;
        Ok(Packing { declared, packed: byte & IS_PACKED != 0, copies: byte & DIFFERENCES == 0 })
    }
}

/// A tree, with the layout of its leaves.
pub(crate) type LaidOut = (Tree, LeafFormat);

/// The declaration for an index, by the index itself or by its table.
fn wanted(
    (kind, parts): (IndexKind, &[IndexPart]),
    columns: &[ColumnDef],
    declared: Option<bool>,
    options: &TableOptions,
) -> Option<bool> {
    match kind {
        IndexKind::Clustered => return declared,
        // Neighbours share their words, and most of their payloads are short.
        IndexKind::Words => return Some(true),
        IndexKind::Unique | IndexKind::Secondary => {}
    }
    let is_string = |part: &IndexPart| columns.get(part.column).is_some_and(|column| column.ty.is_string());
    declared.or(options.pack_keys).or(match options.organisation {
        Organisation::Clustered => None,
        Organisation::Heap => Some(parts.iter().any(is_string)),
    })
}

impl IndexDef {
    /// The layout of its tree's leaves.
    pub fn leaf_format(&self) -> LeafFormat {
        self.packing.leaf_format()
    }

    /// Sets its tree and the layout of the tree's leaves.
    pub(crate) fn set_tree(&mut self, (tree, format): &LaidOut) {
        (self.tree, self.root) = (tree.id(), tree.root());
        self.packing.packed = *format == LeafFormat::Packed;
    }
}

impl TableDef {
    /// Whether the tree of one of its indexes is to be packed; `None` if that depends on the space saved.
    pub(crate) fn packing_of(&self, index: &IndexDef) -> Option<bool> {
        wanted((index.kind, &index.parts), &self.columns, index.packing.declared, &self.options)
    }

    /// Returns whether the trees of the index at `position`, in all partitions, are packed as the index
    /// declares with `declared` and its table with `options`.
    pub fn is_packed_as(&self, position: usize, declared: Option<bool>, options: &TableOptions) -> bool {
        self.stored_at(position).all(|index| {
            let wanted = wanted((index.kind, &index.parts), &self.columns, declared, options);
            wanted.is_none_or(|packed| packed == index.packing.packed)
        })
    }

    /// Returns whether a tree of the index at `position` is packed.
    pub fn has_packed(&self, position: usize) -> bool {
        self.stored_at(position).any(|index| index.packing.packed)
    }

    /// The index at `position`, and the same index of each partition.
    fn stored_at(&self, position: usize) -> impl Iterator<Item = &Arc<IndexDef>> {
        let partitions = self.partitioning.iter().flat_map(|parts| parts.partitions.iter());
        let own = self.partitioning.is_none().then_some(self);
        let stored = own.into_iter().chain(partitions.map(|partition| &*partition.table));
        stored.filter_map(move |stored| stored.indexes.get(position))
    }
}

pub(super) fn encode_choice(choice: Option<bool>) -> u8 {
    choice.map_or(0, |choice| 1 + u8::from(choice))
}

pub(super) fn decode_choice(byte: u8, from: &ByteReader<'_>) -> Result<Option<bool>> {
    match byte {
        0 => Ok(None),
        1 => Ok(Some(false)),
        2 => Ok(Some(true)),
        other => Err(from.damaged(format!("packing {other} is not known"))),
    }
}
