//! Definitions of indexes.
//!
//! An index is described twice. Its *logical* description consists of the parts declared in the DDL. Its
//! *physical* description says what its tree holds. The key consists of the parts, followed by those parts
//! of the clustered key that it lacks, or by the hidden row id. Keys are thus unique in every tree, and
//! each entry names its row. The payload holds the information about the values of key columns that the key
//! bytes lack (capitals, accents, trailing spaces, -0.0), but nothing for columns of which only a prefix is
//! a part. The clustered index follows the same rules: its key is the clustered key, its payload all other
//! columns. The table's [`Organisation`](super::Organisation) decides whether the clustered key is the primary key.

use super::column::{ColumnDef, entry_column};
use super::words_spec::WordsSpec;
use leafline_btree::CommitTs;
use leafline_storage::{PageNo, SegmentId};
use leafline_types::Collation;
use leafline_types::row::{DroppedColumn, EntryColumn};
use leafline_types::{EntryFormat, KeyPart, SqlType, is_restorable};
use leafline_words::WordRules;
use std::sync::Arc;

/// The name of the primary key.
pub const PRIMARY: &str = "PRIMARY";
/// The name of the clustered index of a table without a clustered key, the same as InnoDB's.
pub const HIDDEN_CLUSTERED: &str = "GEN_CLUST_INDEX";
/// The length of a hidden row id in a key, in bytes.
pub const ROW_ID_BYTES: usize = 6;
/// The largest hidden row id. A thousand million new rows a second would use up all numbers in three days,
/// a million in nine years.
pub(crate) const MAX_ROW_ID: u64 = (1 << (8 * ROW_ID_BYTES)) - 1;

/// The packing of an index.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Packing {
    /// PACKED or NOT PACKED; `None` if neither was declared.
    pub declared: Option<bool>,
    /// Whether the leaves of its tree are packed.
    pub packed: bool,
    /// Whether the payloads of a secondary index contain copies of values instead of differences.
    pub copies: bool,
}

/// The kind of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// Contains the rows.
    Clustered,
    /// Rejects a second row with the same parts, unless one of them is NULL.
    Unique,
    /// Does neither.
    Secondary,
    /// Contains the words of its columns (`index::words_entry`).
    Words,
}

/// A part of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexPart {
    /// The position of the column in the table.
    pub column: usize,
    /// `DESC`.
    pub descending: bool,
    /// The length of the prefix, in characters, or bytes of a binary string; `None` for the whole value.
    pub prefix: Option<u32>,
}

/// A column whose value an entry of an index contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhysicalColumn {
    /// The position of the column in the table.
    pub column: usize,
    /// The position of its part in the key; `None` if it is only in the payload.
    pub position: Option<usize>,
    /// Whether its value can be rebuilt from the key bytes alone; otherwise the payload is needed.
    pub restorable: bool,
}

/// The way to cut the clustered key of the row out of an entry's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LocatorMap {
    /// The whole key is the clustered key.
    Whole,
    /// The last [`ROW_ID_BYTES`] bytes.
    RowId,
    /// Everything after the index's own parts.
    Rest,
    /// Everything after the word and its weight, in a FULLTEXT index.
    AfterWord,
    /// Part by part, in the order of the clustered key: the position in the entry's key, and whether the
    /// directions differ.
    Parts(Vec<(usize, bool)>),
}

/// An index.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// Its number, never reused.
    pub id: u64,
    /// Its name; [`PRIMARY`] for the primary key.
    pub name: String,
    /// Clustered, unique or neither.
    pub kind: IndexKind,
    /// Whether the clustered key of the table is a hidden row id.
    pub hidden_row_id: bool,
    /// The parts as declared; empty for a hidden clustered index.
    pub parts: Vec<IndexPart>,
    /// Its tree.
    pub tree: SegmentId,
    /// The root page of the tree.
    pub root: PageNo,
    /// Snapshots that do not see this timestamp cannot use the tree, because it was built later (error
    /// 1412).
    pub valid_from: CommitTs,
    /// Its comment.
    pub comment: String,
    /// `INVISIBLE`: the index is maintained, but plans do not use it.
    pub invisible: bool,
    /// Whether a foreign key created it. It is dropped when an index is added that serves as well.
    pub for_foreign_key: bool,
    /// The packing of its leaves and payloads.
    pub packing: Packing,
    /// The rules of a FULLTEXT index.
    pub words: Option<Arc<WordRules>>,
    /// The column of each part of the physical key. The key of a FULLTEXT index begins with a word, which is not listed, and only
    /// the parts of the clustered key are.
    pub key_columns: Vec<usize>,
    /// The physical key: the index's own parts, then the missing parts of the clustered key. A hidden row
    /// id follows, if there is one, and is not listed.
    pub key_parts: Vec<KeyPart>,
    /// The layout of columns in key and payload, from which a [`RowDecoder`](leafline_types::RowDecoder) is
    /// made.
    pub format: Arc<EntryFormat>,
    pub(crate) locator: LocatorMap,
    /// The number of columns of the table.
    columns: usize,
}

impl IndexDef {
    /// Returns whether entries of this index contain all of `columns`.
    pub fn covers(&self, columns: impl IntoIterator<Item = usize>) -> bool {
        columns.into_iter().all(|column| self.format.has_column(column))
    }

    /// The columns whose values entries contain: the columns of the key in key order, then the others.
    pub fn physical_columns(&self) -> Vec<PhysicalColumn> {
        let keys =
            self.key_columns.iter().zip(&self.key_parts).enumerate().map(|(position, (&column, part))| {
                PhysicalColumn { column, position: Some(position), restorable: is_restorable(part) }
            });
        let parts = self.key_parts.iter();
        let keys = keys.zip(parts).filter(|(_, part)| part.prefix.is_none()).map(|(column, _)| column);
        let others =
            (0..self.columns).filter(|column| !self.has_whole(*column) && self.format.has_column(*column));
        keys.chain(others.map(|column| PhysicalColumn { column, position: None, restorable: false }))
            .collect()
    }

    /// The columns that the index is ordered by: the columns of its key up to the first of which it has
    /// only a prefix; none of a FULLTEXT index.
    pub fn leading_columns(&self) -> &[usize] {
        if self.is_words() {
            return &[];
        }
        let whole = self.key_parts.iter().take_while(|part| part.prefix.is_none()).count();
        &self.key_columns[..whole]
    }

    /// Returns whether the key contains whole values of a column, as far as they decide about the order.
    pub fn has_whole(&self, column: usize) -> bool {
        let mut parts = self.key_columns.iter().zip(&self.key_parts);
        parts.any(|(own, part)| *own == column && part.prefix.is_none())
    }

    /// The longest prefix of a column that is a part, in characters or bytes.
    pub fn longest_prefix(&self, column: usize) -> Option<u32> {
        let parts = self.key_columns.iter().zip(&self.key_parts);
        parts.filter(|(own, _)| **own == column).filter_map(|(_, part)| part.prefix).max()
    }

    /// Returns whether some parts are only prefixes of columns.
    pub fn has_prefixes(&self) -> bool {
        self.parts.iter().any(|part| part.prefix.is_some())
    }

    /// Returns whether the index contains the rows.
    pub fn is_clustered(&self) -> bool {
        self.kind == IndexKind::Clustered
    }

    /// Returns whether a row's entry could be longer than a key may be. The bound follows from the types,
    /// so that for most indexes no row needs to be examined: strings may grow when they are encoded, and
    /// their values may follow in the payload.
    pub(crate) fn may_be_too_long(&self, max_key: usize) -> bool {
        let word = match &self.words {
            Some(words) => words.most_word_bytes() + 3,
            None => 0,
        };
        let part = |part: &KeyPart| match &part.ty {
            // Even characters beyond the prefix or without weight may add weights on further levels.
            _ if part.prefix.is_some() && part.collation.is_weighted() => max_key,
            ty if ty.is_string() && part.prefix.is_some() => {
                part.prefix.unwrap_or(0) as usize * part.collation.most_key_bytes() * 3 + 16
            }
            SqlType::Char { len }
            | SqlType::Varchar { len }
            | SqlType::Binary { len }
            | SqlType::Varbinary { len } => *len as usize * part.collation.most_key_bytes() * 3 + 16,
            _ => 64,
        };
        self.key_parts.iter().map(part).sum::<usize>() + word + ROW_ID_BYTES > max_key
    }

    /// Returns whether two rows cannot have the same parts unless one of the parts is NULL.
    pub fn is_unique(&self) -> bool {
        match self.kind {
            IndexKind::Clustered => !self.hidden_row_id,
            IndexKind::Unique => true,
            IndexKind::Secondary | IndexKind::Words => false,
        }
    }
}

/// The data from which the physical description of an index is derived.
pub(crate) struct IndexShape<'a> {
    pub id: u64,
    pub name: String,
    pub kind: IndexKind,
    pub parts: Vec<IndexPart>,
    pub comment: String,
    pub invisible: bool,
    pub for_foreign_key: bool,
    pub packing: Packing,
    pub words: Option<Arc<WordsSpec>>,
    pub columns: &'a [ColumnDef],
    /// Columns that the table no longer has.
    pub dropped: &'a [DroppedColumn],
    /// The parts of the clustered key; `None` if rows have a hidden row id.
    pub clustered_key: Option<&'a [IndexPart]>,
    pub schema_version: u16,
}

impl IndexShape<'_> {
    /// Derives the physical description. The caller has checked that all columns exist.
    pub(crate) fn build(self, tree: SegmentId, root: PageNo, valid_from: CommitTs) -> IndexDef {
        let clustered = self.kind == IndexKind::Clustered;
        let has_words = self.kind == IndexKind::Words;
        let words = self.words.map(|words| {
            let first = self.parts.first().and_then(|part| self.columns.get(part.column));
            let collation = first.map_or(Collation::DEFAULT, |column| column.collation);
            WordRules::new(words.parser, collation, words.stopwords.clone())
        });
        let mut key = if has_words { Vec::new() } else { self.parts.clone() };
        let mut locator = match (clustered, self.clustered_key) {
            (true, _) => LocatorMap::Whole,
            (false, _) if has_words => LocatorMap::AfterWord,
            (false, None) => LocatorMap::RowId,
            (false, Some(_)) => LocatorMap::Rest,
        };
        if let (true, Some(clustered_key)) = (has_words, self.clustered_key) {
            key.extend(clustered_key);
        } else if let (false, Some(clustered_key)) = (clustered, self.clustered_key) {
            let missing =
                clustered_key.iter().filter(|part| !self.parts.iter().any(|own| same_value(own, part)));
            key.extend(missing);
            if key.len() < self.parts.len() + clustered_key.len() {
                let find = |part: &IndexPart| {
                    let at = key.iter().position(|own| same_value(own, part));
                    at.map(|at| (at, key.get(at).is_some_and(|own| own.descending != part.descending)))
                };
                locator = LocatorMap::Parts(clustered_key.iter().filter_map(find).collect());
            }
        }
        let key_parts: Vec<KeyPart> = key
            .iter()
            .filter_map(|part| self.columns.get(part.column).map(|column| key_part(column, part)))
            .collect();
        let key_columns: Vec<usize> = key.iter().map(|part| part.column).collect();
        let columns: Vec<EntryColumn> = self.columns.iter().map(entry_column).collect();
        let mut format_parts = key_parts.clone();
        let mut format_columns: Vec<Option<usize>> = key_columns.iter().copied().map(Some).collect();
        if self.clustered_key.is_none() {
            format_parts.push(row_id_part());
            format_columns.push(None);
        }
        let format = match (clustered, self.packing.copies) {
            (true, _) => EntryFormat::clustered(
                self.schema_version,
                &columns,
                self.dropped,
                &format_parts,
                &format_columns,
            ),
            (false, true) => EntryFormat::secondary_with_copies(&columns, &format_parts, &format_columns),
            (false, false) => EntryFormat::secondary(&columns, &format_parts, &format_columns),
        };
        IndexDef {
            id: self.id,
            name: self.name,
            kind: self.kind,
            hidden_row_id: self.clustered_key.is_none(),
            parts: self.parts,
            tree,
            root,
            valid_from,
            comment: self.comment,
            invisible: self.invisible,
            for_foreign_key: self.for_foreign_key,
            packing: self.packing,
            words: words.map(Arc::new),
            key_columns,
            key_parts,
            format: Arc::new(format),
            locator,
            columns: columns.len(),
        }
    }
}

/// The key part of a hidden row id.
pub(crate) fn row_id_part() -> KeyPart {
    KeyPart::new(SqlType::Bit { len: 8 * ROW_ID_BYTES as u8 })
}

/// The key codec's description of a part.
pub(crate) fn key_part(column: &ColumnDef, part: &IndexPart) -> KeyPart {
    KeyPart {
        ty: column.ty.clone(),
        collation: column.collation,
        nullable: column.nullable,
        descending: part.descending,
        prefix: part.prefix,
    }
}

/// Returns whether two parts have the same bytes, except that one may be inverted.
fn same_value(a: &IndexPart, b: &IndexPart) -> bool {
    (a.column, a.prefix) == (b.column, b.prefix)
}
