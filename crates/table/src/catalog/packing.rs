//! Whether the leaves of an index are packed (`btree::node::packed`): as declared, and as its tree is; and what its payloads are.
//!
//! An index says PACKED or NOT PACKED, or leaves it to its table's PACK_KEYS, which concerns all indexes but the clustered one. With PACK_KEYS=DEFAULT
//! a heap packs the indexes that have strings, as MyISAM does. The format of
//! a tree is settled when it is made, and all its leaves have it. Where nothing is declared a tree is plain that is made empty, and packed if that saves half of
//! its leaves when it is built from rows (`table::build::format`).
//!
//! The payloads of a secondary index say what key bytes do not of the values of its columns: by their differences (`types::key::difference`), or, in trees that were
//! made by versions which did not know these, by copies.
//!
//! In the catalog the row of an index ends with one byte (bits 0-1: 0 nothing declared, 1 NOT PACKED, 2 PACKED; bit 2: the tree is packed; bit 3: payloads are
//! differences), that of a table with PACK_KEYS (0 DEFAULT, 1 0, 2 1).

use super::definition::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef, TableOptions};
use super::organisation::Organisation;
use super::spec::IndexDraft;
use crate::bytes::ByteReader;
use crate::error::Result;
use leafline_btree::{LeafFormat, Tree};
use std::sync::Arc;

/// The tree is packed.
const IS_PACKED: u8 = 4;
/// Payloads are differences.
const DIFFERENCES: u8 = 8;

/// Whether an index is packed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Packing {
    /// PACKED or NOT PACKED; `None` where the index says neither.
    pub declared: Option<bool>,
    /// Whether the leaves of its tree are packed.
    pub packed: bool,
    /// Whether the payloads of a secondary index have copies of what keys do not give back, and not differences.
    pub copies: bool,
}

impl Packing {
    /// That of an index whose tree is to be made: plain where nobody says anything.
    pub(crate) fn of_new(draft: &IndexDraft, columns: &[ColumnDef], options: &TableOptions) -> Packing {
        let index = (draft.kind, draft.parts.as_slice());
        Packing {
            declared: draft.packed,
            packed: wanted(index, columns, draft.packed, options).unwrap_or(false),
            copies: false,
        }
    }

    /// How the leaves of the tree are laid out.
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

/// A tree, and how its leaves are laid out.
pub(crate) type LaidOut = (Tree, LeafFormat);

/// What is declared for an index, by itself or by its table.
fn wanted(
    (kind, parts): (IndexKind, &[IndexPart]),
    columns: &[ColumnDef],
    declared: Option<bool>,
    options: &TableOptions,
) -> Option<bool> {
    if kind == IndexKind::Clustered {
        return declared;
    }
    let is_string = |part: &IndexPart| columns.get(part.column).is_some_and(|column| column.ty.is_string());
    declared.or(options.pack_keys).or(match options.organisation {
        Organisation::Clustered => None,
        Organisation::Heap => Some(parts.iter().any(is_string)),
    })
}

impl IndexDef {
    /// How the leaves of its tree are laid out.
    pub fn leaf_format(&self) -> LeafFormat {
        self.packing.leaf_format()
    }

    /// It has that tree, whose leaves are laid out like that.
    pub(crate) fn set_tree(&mut self, (tree, format): &LaidOut) {
        (self.tree, self.root) = (tree.id(), tree.root());
        self.packing.packed = *format == LeafFormat::Packed;
    }
}

impl TableDef {
    /// Whether the tree of one of its indexes is to be packed; `None` if that depends on what it saves.
    pub(crate) fn packing_of(&self, index: &IndexDef) -> Option<bool> {
        wanted((index.kind, &index.parts), &self.columns, index.packing.declared, &self.options)
    }

    /// Whether the trees of its index at `position`, those of all partitions, are what it says under `declared`, and its table under `options`.
    pub fn is_packed_as(&self, position: usize, declared: Option<bool>, options: &TableOptions) -> bool {
        self.stored_at(position).all(|index| {
            let wanted = wanted((index.kind, &index.parts), &self.columns, declared, options);
            wanted.is_none_or(|packed| packed == index.packing.packed)
        })
    }

    /// Whether any tree of its index at `position` is packed.
    pub fn has_packed(&self, position: usize) -> bool {
        self.stored_at(position).any(|index| index.packing.packed)
    }

    /// Its index at `position`, or those of its partitions.
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
