//! Definitions of tables, columns and indexes: immutable once published, shared as `Arc`.
//!
//! An index is described twice. *Logically* by its parts, as written in the DDL. *Physically* by what its tree
//! holds: the key is the parts followed by those parts of the clustered key that it lacks (or by the hidden row
//! id), so that keys are unique in every tree and each entry names its row; the payload holds what the values of key
//! columns have beyond what the key bytes say (capitals, accents, trailing spaces, -0.0), but nothing of
//! columns of which only a prefix is a part.
//! The clustered index is no exception: its key is the clustered key, its payload every other column. Whether that is the primary key is
//! for the table's [`Organisation`] to say.

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

/// Name of the primary key.
pub const PRIMARY: &str = "PRIMARY";
/// Name of the clustered index of a table without a clustered key, as InnoDB calls it.
pub const HIDDEN_CLUSTERED: &str = "GEN_CLUST_INDEX";
/// Bytes of a hidden row id in a key.
pub const ROW_ID_BYTES: usize = 6;
/// The largest hidden row id. A thousand million rows a second use them up in three days, a million in nine years.
pub(crate) const MAX_ROW_ID: u64 = (1 << (8 * ROW_ID_BYTES)) - 1;

/// Number of a table. Never reused. 0 is the catalog itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TableId(pub u64);

impl TableId {
    /// The catalog, whose rows are written through the same commits as those of tables.
    pub const CATALOG: TableId = TableId(0);
}

/// What a column gets when no value is given.
#[derive(Clone, PartialEq, Debug)]
pub enum DefaultValue {
    /// A constant, `NULL` included, already of the column's type.
    Constant(Value),
    /// `CURRENT_TIMESTAMP` with the column's fractional digits.
    CurrentTimestamp,
    /// The text of an expression over the columns of the row.
    Expression(String),
    /// DROP DEFAULT of a column that can be NULL: it has to be given a value.
    Dropped,
}

/// How a generated column is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedColumn {
    /// The text of the expression over the other columns of the row.
    pub expression: String,
    /// What it was declared as.
    pub kind: GeneratedKind,
}

/// The kinds of generated columns. The values of all of them are in the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeneratedKind {
    /// `VIRTUAL`.
    Virtual,
    /// `STORED`.
    Stored,
    /// It was not: it is the column of a functional key part, which statements neither name nor show.
    KeyPart,
}

/// A CHECK constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckDef {
    /// Name.
    pub name: String,
    /// The text of the condition over the columns of a row, which must not be false.
    pub expression: String,
    /// Without NOT ENFORCED.
    pub enforced: bool,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Name as written; compared without case.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Whether it takes NULL. Columns of the primary key never do.
    pub nullable: bool,
    /// Collation of its strings; `Binary` for other types.
    pub collation: Collation,
    /// Default; `None` where the DDL gave none (a NOT NULL column must be given a value then).
    pub default: Option<DefaultValue>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    /// `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// `GENERATED ALWAYS AS`: whoever writes a row computes it.
    pub generated: Option<GeneratedColumn>,
    /// `INVISIBLE`: only statements that name it know it.
    pub invisible: bool,
    /// Comment.
    pub comment: String,
    /// Where rows have it.
    pub stored: StoredColumn,
}

impl ColumnDef {
    /// A column without a default or anything else that is not said here.
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

    /// Whether it has no default, not even NULL.
    pub fn has_no_default(&self) -> bool {
        match self.default {
            None => !self.nullable,
            Some(DefaultValue::Dropped) => true,
            Some(_) => false,
        }
    }

    /// Whether it is the column of a functional key part, which statements neither name nor show.
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::KeyPart)
    }
}

/// Options of a table.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableOptions {
    /// Comment.
    pub comment: String,
    /// Default collation for columns added later.
    pub collation: Option<Collation>,
    /// First value for AUTO_INCREMENT.
    pub auto_increment_start: Option<u64>,
    /// PACK_KEYS; `None` for DEFAULT.
    pub pack_keys: Option<bool>,
    /// How its rows lie.
    pub organisation: Organisation,
}

/// What an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// Holds the rows.
    Clustered,
    /// Refuses a second row with the same parts, unless one of them is NULL.
    Unique,
    /// Neither.
    Secondary,
}

/// A part of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexPart {
    /// Position of the column in the table.
    pub column: usize,
    /// `DESC`.
    pub descending: bool,
    /// How many characters of a string's beginning it has, bytes of a binary one; `None`: the whole value.
    pub prefix: Option<u32>,
}

/// A column that can be read from an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhysicalColumn {
    /// Position of the column in the table.
    pub column: usize,
    /// Position of its part in the key, if it is part of the key.
    pub position: Option<usize>,
    /// Whether its value can be rebuilt from the key bytes (it is in the payload otherwise).
    pub restorable: bool,
}

/// How the clustered key of the row is cut out of an entry's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LocatorMap {
    /// The key is the clustered key.
    Whole,
    /// The last [`ROW_ID_BYTES`].
    RowId,
    /// What follows the index's own parts.
    Rest,
    /// Part by part, in the order of the clustered key: position in the key, and whether its direction differs.
    Parts(Vec<(usize, bool)>),
}

/// An index.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// Number, never reused.
    pub id: u64,
    /// Name; [`PRIMARY`] for the primary key.
    pub name: String,
    /// Clustered, unique or neither.
    pub kind: IndexKind,
    /// Whether the clustered key is a hidden row id. For a secondary index: of its table.
    pub hidden_row_id: bool,
    /// The parts as declared; none for a hidden clustered index.
    pub parts: Vec<IndexPart>,
    /// Its tree.
    pub tree: SegmentId,
    /// Root page of the tree.
    pub root: PageNo,
    /// Snapshots that do not see this timestamp cannot use the tree: it was built later (error 1412).
    pub valid_from: CommitTs,
    /// Comment.
    pub comment: String,
    /// `INVISIBLE`: it is kept up to date, and plans do without it.
    pub invisible: bool,
    /// A foreign key has made it for itself; it goes when one is added that would do as well.
    pub for_foreign_key: bool,
    /// Whether it is packed.
    pub packing: Packing,
    /// Column of each part of the physical key.
    pub key_columns: Vec<usize>,
    /// The physical key: own parts, then the missing parts of the clustered key. A hidden row id follows where there
    /// is one and is not listed.
    pub key_parts: Vec<KeyPart>,
    /// Where the columns are in key and payload: what a [`RowDecoder`](leafline_types::RowDecoder) is made from.
    pub format: Arc<EntryFormat>,
    pub(crate) locator: LocatorMap,
    /// Number of columns of the table.
    columns: usize,
}

impl IndexDef {
    /// Whether all of `columns` can be read from this index alone.
    pub fn covers(&self, columns: impl IntoIterator<Item = usize>) -> bool {
        columns.into_iter().all(|column| self.format.has_column(column))
    }

    /// The columns that can be read from this index: those of the key in key order, then the others.
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

    /// The columns that it is ordered by: those of its key, up to the first of which it has only the beginnings.
    pub fn leading_columns(&self) -> &[usize] {
        let whole = self.key_parts.iter().take_while(|part| part.prefix.is_none()).count();
        &self.key_columns[..whole]
    }

    /// Whether the values of a column are in its key as a whole, as far as they decide about the order.
    pub fn has_whole(&self, column: usize) -> bool {
        let mut parts = self.key_columns.iter().zip(&self.key_parts);
        parts.any(|(own, part)| *own == column && part.prefix.is_none())
    }

    /// The longest beginning of a column that is a part, in characters or bytes.
    pub fn longest_prefix(&self, column: usize) -> Option<u32> {
        let parts = self.key_columns.iter().zip(&self.key_parts);
        parts.filter(|(own, _)| **own == column).filter_map(|(_, part)| part.prefix).max()
    }

    /// Whether only the beginnings of some columns are parts.
    pub fn has_prefixes(&self) -> bool {
        self.parts.iter().any(|part| part.prefix.is_some())
    }

    /// Whether the index holds the rows.
    pub fn is_clustered(&self) -> bool {
        self.kind == IndexKind::Clustered
    }

    /// Whether a row's entry could be longer than a key may be. A bound from the types, so that most indexes need
    /// no look at the row: strings may grow when encoded, and their values may follow in the payload.
    pub(crate) fn may_be_too_long(&self, max_key: usize) -> bool {
        let part = |part: &KeyPart| match &part.ty {
            // Characters that do not count have weights on further levels.
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

    /// Whether two rows with the same parts, none of them NULL, cannot be.
    pub fn is_unique(&self) -> bool {
        match self.kind {
            IndexKind::Clustered => !self.hidden_row_id,
            IndexKind::Unique => true,
            IndexKind::Secondary => false,
        }
    }
}

/// What the physical side of an index is derived from.
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
    /// Columns that the table has no more.
    pub dropped: &'a [DroppedColumn],
    /// Parts of the clustered key, `None` if rows have a hidden row id.
    pub clustered_key: Option<&'a [IndexPart]>,
    pub schema_version: u16,
}

impl IndexShape<'_> {
    /// Derives the physical side. All columns named exist (checked by who made the shape).
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

/// The part of a key that is the hidden row id.
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

/// Whether two parts have the same bytes, one perhaps inverted.
fn same_value(a: &IndexPart, b: &IndexPart) -> bool {
    (a.column, a.prefix) == (b.column, b.prefix)
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// Number, never reused.
    pub id: TableId,
    /// Database it is in.
    pub database: String,
    /// Name.
    pub name: String,
    /// Columns, in order; those of functional key parts last.
    pub columns: Vec<ColumnDef>,
    /// Columns that it has no more, and older rows have.
    pub dropped: Vec<DroppedColumn>,
    /// Indexes; the first is the clustered one.
    pub indexes: Vec<Arc<IndexDef>>,
    /// CHECK constraints, which whoever writes a row sees to.
    pub checks: Vec<CheckDef>,
    /// Foreign keys: what its rows refer to, which whoever writes a row sees to.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Histograms that were asked for; what is sampled unasked is not kept here.
    pub histograms: Vec<Arc<HistogramDef>>,
    /// Version of the row layout, stored with each row.
    pub schema_version: u16,
    /// The table of values that are stored outside their rows (`table::overflow`).
    pub overflow: Option<TableId>,
    /// Whether it is itself such a table, which has no name of its own.
    pub is_overflow: bool,
    /// Whether only who has made it knows it: it has a number, but nobody finds it by its name (`table::private`).
    pub is_private: bool,
    /// How its rows are divided among other tables, if they are; then its own indexes have no trees (`table::partition`).
    pub partitioning: Option<Partitioning>,
    /// The table that it is a partition of. It has no name of its own then.
    pub partition_of: Option<TableId>,
    /// Its options.
    pub options: TableOptions,
}

impl TableDef {
    /// The index that holds the rows.
    pub fn clustered(&self) -> &Arc<IndexDef> {
        &self.indexes[0]
    }

    /// All indexes but the clustered one.
    pub fn secondary(&self) -> &[Arc<IndexDef>] {
        &self.indexes[1..]
    }

    /// Position of the column of that name, compared without case; columns of functional key parts have no name to look for.
    pub fn column(&self, name: &str) -> Option<usize> {
        let is_named = |column: &ColumnDef| column.name.eq_ignore_ascii_case(name) && !column.is_hidden();
        self.columns.iter().position(is_named)
    }

    /// The columns that statements can name, INVISIBLE ones too, with their positions.
    pub fn named_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden())
    }

    /// The first index that has a column among its parts.
    pub fn index_of_column(&self, column: usize) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.parts.iter().any(|part| part.column == column))
    }

    /// The index of that name, compared without case.
    pub fn index(&self, name: &str) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name))
    }

    /// The index with that number.
    pub fn index_by_id(&self, id: u64) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Whether rows have to be computed or checked by expressions before they are written.
    pub fn has_expressions(&self) -> bool {
        let of_column = |column: &ColumnDef| {
            column.generated.is_some() || matches!(column.default, Some(DefaultValue::Expression(_)))
        };
        !self.checks.is_empty() || self.columns.iter().any(of_column)
    }

    /// Position of the AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
