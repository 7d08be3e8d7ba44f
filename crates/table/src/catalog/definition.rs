//! Definitions of tables. They are immutable once published, and shared as `Arc`.

use super::column::{CheckDef, ColumnDef, DefaultValue};
use super::index_def::IndexDef;
use super::partition_scheme::PartitionScheme;
use leafline_types::row::DroppedColumn;
use leafline_types::words::ReferentialAction;
use leafline_types::{Collation, Value};
use std::sync::Arc;

/// The number of a table, never reused. 0 is the catalog itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TableId(pub u64);

impl TableId {
    /// The catalog, whose rows are written by the same commits as the rows of tables.
    pub const CATALOG: TableId = TableId(0);
}

/// The organisation of a table's rows (`catalog::organisation`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Organisation {
    /// In the order of the primary key, if there is one.
    #[default]
    Clustered,
    /// In the order of hidden row ids.
    Heap,
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

/// A foreign key of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKeyDef {
    /// Its name, unique in the database.
    pub name: String,
    /// The positions of the referring columns.
    pub columns: Vec<usize>,
    /// The database of the parent.
    pub parent_database: String,
    /// The name of the parent.
    pub parent_table: String,
    /// The names of the referenced columns.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

/// The values between two bounds, which are included.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramBucket {
    /// The least value.
    pub lower: Value,
    /// The greatest value.
    pub upper: Value,
    /// The share of the rows with one of these values.
    pub share: f64,
    /// The number of distinct values.
    pub distinct: f64,
}

/// The distribution of a column's values when it was analyzed.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramDef {
    /// The position of the column in the table.
    pub column: usize,
    /// `WITH n BUCKETS`.
    pub buckets_asked_for: u16,
    /// The share of the rows with NULL.
    pub nulls: f64,
    /// The share of the table's rows that were sampled.
    pub sampling_rate: f64,
    /// The time of the analysis, in microseconds since 1970.
    pub updated: i64,
    /// The buckets, ascending and disjoint.
    pub buckets: Vec<HistogramBucket>,
    /// The most common of the values that share a bucket with others, each with its share of the rows.
    pub frequent: Vec<(Value, f64)>,
}

/// A partition, or a subpartition if the table has subpartitions.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its position among all of its table.
    pub number: usize,
    /// The table that holds its rows.
    pub table: Arc<TableDef>,
}

/// The partitions of a table, or a selection of them.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// The way rows are divided.
    pub scheme: Arc<PartitionScheme>,
    /// The partitions, in ascending order of their numbers.
    pub partitions: Arc<[Partition]>,
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

    /// The indexes that are ordered by values: all but FULLTEXT ones, which come last.
    pub fn ordered_indexes(&self) -> &[Arc<IndexDef>] {
        let end = self.indexes.iter().position(|index| index.is_words());
        self.indexes.get(..end.unwrap_or(self.indexes.len())).unwrap_or_default()
    }

    /// The first index with a part of the column, unless it is a FULLTEXT index.
    pub fn index_of_column(&self, column: usize) -> Option<&Arc<IndexDef>> {
        self.ordered_indexes().iter().find(|index| index.parts.iter().any(|part| part.column == column))
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
