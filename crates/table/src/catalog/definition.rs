//! Definitions of tables, columns and indexes. They are immutable once published, and shared as `Arc`.
//!
//! An index is described twice. Its *logical* description consists of the parts declared in the DDL. Its
//! *physical* description says what its tree holds. The key consists of the parts, followed by those parts
//! of the clustered key that it lacks, or by the hidden row id. Keys are thus unique in every tree, and
//! each entry names its row. The payload holds the information about the values of key columns that the key
//! bytes lack (capitals, accents, trailing spaces, -0.0), but nothing for columns of which only a prefix is
//! a part. The clustered index follows the same rules: its key is the clustered key, its payload all other
//! columns. The table's [`Organisation`] decides whether the clustered key is the primary key.

use super::foreign_key::ForeignKeyDef;
use super::histogram::HistogramDef;
use super::organisation::Organisation;
use super::packing::Packing;
use super::stored::{StoredColumn, entry_column};
use crate::partition::Partitioning;
use leafline_btree::CommitTs;
use leafline_storage::{PageNo, SegmentId};
use leafline_types::row::{DroppedColumn, EntryColumn};
use leafline_types::{Collation, EntryFormat, KeyPart, SqlType, Value, is_restorable};
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

/// The number of a table, never reused. 0 is the catalog itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TableId(pub u64);

impl TableId {
    /// The catalog, whose rows are written by the same commits as the rows of tables.
    pub const CATALOG: TableId = TableId(0);
}

/// The value of a column for which a statement gives none.
#[derive(Clone, PartialEq, Debug)]
pub enum DefaultValue {
    /// A constant, possibly `NULL`, already of the column's type.
    Constant(Value),
    /// `CURRENT_TIMESTAMP` with the column's fractional digits.
    CurrentTimestamp,
    /// An expression over the columns of the row, as text.
    Expression(String),
    /// None, because DROP DEFAULT removed it: statements must give a value although the column can be NULL.
    Dropped,
}

/// The computation of a generated column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedColumn {
    /// The expression over the other columns of the row, as text.
    pub expression: String,
    /// The kind it was declared as.
    pub kind: GeneratedKind,
}

/// The kinds of generated columns. Rows contain the values of all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeneratedKind {
    /// `VIRTUAL`.
    Virtual,
    /// `STORED`.
    Stored,
    /// The column of a functional key part. No statement declared it; statements neither name nor show it.
    KeyPart,
}

/// A CHECK constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckDef {
    /// Its name.
    pub name: String,
    /// The condition over the columns of a row, as text. It must not be false.
    pub expression: String,
    /// Whether it is enforced: NOT ENFORCED was not written.
    pub enforced: bool,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Its name, as it was written; compared without case.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Whether it can be NULL. Columns of the primary key never can.
    pub nullable: bool,
    /// The collation of its strings; `Binary` for other types.
    pub collation: Collation,
    /// Its default; `None` if the DDL gave none. A NOT NULL column must then be given a value.
    pub default: Option<DefaultValue>,
    /// Whether ON UPDATE CURRENT_TIMESTAMP was declared.
    pub on_update_now: bool,
    /// Whether AUTO_INCREMENT was declared.
    pub auto_increment: bool,
    /// `GENERATED ALWAYS AS`: the writer of a row computes the value.
    pub generated: Option<GeneratedColumn>,
    /// `INVISIBLE`: only statements that name the column see it.
    pub invisible: bool,
    /// Its comment.
    pub comment: String,
    /// Its place in rows.
    pub stored: StoredColumn,
}

impl ColumnDef {
    /// Makes a column without a default and with no other attributes.
    pub fn new(name: impl Into<String>, ty: SqlType, nullable: bool, collation: Collation) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            nullable,
            collation,
            default: None,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            invisible: false,
            comment: String::new(),
            stored: StoredColumn::default(),
        }
    }

    /// Returns whether it has no default, not even NULL.
    pub fn has_no_default(&self) -> bool {
        match self.default {
            None => !self.nullable,
            Some(DefaultValue::Dropped) => true,
            Some(_) => false,
        }
    }

    /// Returns whether it is the column of a functional key part, which statements neither name nor show.
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::KeyPart)
    }
}

/// Options of a table.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableOptions {
    /// The comment.
    pub comment: String,
    /// The default collation of columns added later.
    pub collation: Option<Collation>,
    /// The first value for AUTO_INCREMENT.
    pub auto_increment_start: Option<u64>,
    /// PACK_KEYS; `None` for DEFAULT.
    pub pack_keys: Option<bool>,
    /// The organisation of its rows.
    pub organisation: Organisation,
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
    /// The column of each part of the physical key.
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
    /// only a prefix.
    pub fn leading_columns(&self) -> &[usize] {
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
        self.key_parts.iter().map(part).sum::<usize>() + ROW_ID_BYTES > max_key
    }

    /// Returns whether two rows cannot have the same parts unless one of the parts is NULL.
    pub fn is_unique(&self) -> bool {
        match self.kind {
            IndexKind::Clustered => !self.hidden_row_id,
            IndexKind::Unique => true,
            IndexKind::Secondary => false,
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
        let mut key = self.parts.clone();
        let mut locator = match (clustered, self.clustered_key) {
            (true, _) => LocatorMap::Whole,
            (false, None) => LocatorMap::RowId,
            (false, Some(_)) => LocatorMap::Rest,
        };
        if let (false, Some(clustered_key)) = (clustered, self.clustered_key) {
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

/// A table.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// Its number, never reused.
    pub id: TableId,
    /// The database that contains it.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Its columns, in order; those of functional key parts last.
    pub columns: Vec<ColumnDef>,
    /// Columns that it no longer has, but that older rows contain.
    pub dropped: Vec<DroppedColumn>,
    /// Its indexes; the first is the clustered one.
    pub indexes: Vec<Arc<IndexDef>>,
    /// CHECK constraints, which the writer of a row must enforce.
    pub checks: Vec<CheckDef>,
    /// Foreign keys, which the writer of a row must enforce.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Histograms made by a statement. Statistics that are sampled automatically are not stored here.
    pub histograms: Vec<Arc<HistogramDef>>,
    /// The version of the row layout, which each row contains.
    pub schema_version: u16,
    /// Its overflow table (`table::overflow`).
    pub overflow: Option<TableId>,
    /// Whether it is itself an overflow table, which statements cannot name.
    pub is_overflow: bool,
    /// Whether only its maker knows it: it has a number but cannot be found by name (`table::private`).
    pub is_private: bool,
    /// The division of its rows among other tables, if it is partitioned. Its own indexes then have no
    /// trees (`table::partition`).
    pub partitioning: Option<Partitioning>,
    /// The table that it is a partition of. Statements cannot name a partition as a table.
    pub partition_of: Option<TableId>,
    /// Its options.
    pub options: TableOptions,
}

impl TableDef {
    /// The index that contains the rows.
    pub fn clustered(&self) -> &Arc<IndexDef> {
        &self.indexes[0]
    }

    /// All indexes but the clustered one.
    pub fn secondary(&self) -> &[Arc<IndexDef>] {
        &self.indexes[1..]
    }

    /// The position of the column with this name, compared without case. Columns of functional key parts
    /// have no name to be found by.
    pub fn column(&self, name: &str) -> Option<usize> {
        let is_named = |column: &ColumnDef| column.name.eq_ignore_ascii_case(name) && !column.is_hidden();
        self.columns.iter().position(is_named)
    }

    /// The columns that statements can name, INVISIBLE ones included, with their positions.
    pub fn named_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden())
    }

    /// The first index with a part of the column.
    pub fn index_of_column(&self, column: usize) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.parts.iter().any(|part| part.column == column))
    }

    /// The index with this name, compared without case.
    pub fn index(&self, name: &str) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name))
    }

    /// The index with this number.
    pub fn index_by_id(&self, id: u64) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Returns whether expressions must be evaluated to compute or check a row before it is written.
    pub fn has_expressions(&self) -> bool {
        let of_column = |column: &ColumnDef| {
            column.generated.is_some() || matches!(column.default, Some(DefaultValue::Expression(_)))
        };
        !self.checks.is_empty() || self.columns.iter().any(of_column)
    }

    /// The position of the AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
