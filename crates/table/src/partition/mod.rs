//! Partitioned tables: the partition that a row belongs to, and the partitions that a condition may select rows from.
//!
//! A partition is a table of its own, with trees, locks, versions and counters like any other, but no statement can
//! name it. The table that has the name holds no rows, and its indexes have no trees, so that code that reads rows
//! from it gets an error. The table knows how rows are divided ([`PartitionScheme`]) and which tables hold them
//! ([`Partitioning`]). An index that is unique in every partition is unique in the table, because every unique key
//! must contain the columns that decide about the partition (error 1503).
//!
//! The locator of a row of a partitioned table consists of the number of its partition, in big-endian order, and the
//! row's key there:
//!
//! | bytes | hold                                                         |
//! |-------|--------------------------------------------------------------|
//! | 0..2  | position of the partition among all that the table has, u16  |
//! | 2..   | clustered key                                                |
//!
//! | module | contents |
//! |---|---|
//! | `scheme` | methods, values, the partition of a row |
//! | `possible` | the partitions that ranges of keys may be in |
//! | `writes` | inserting, changing and locking rows |
//! | `stored` | partitions in the catalog's tree |
//! | `define`, `rebuild` | DDL: adding, dropping, truncating and exchanging partitions; moving rows between them |

pub(crate) mod define;
mod possible;
mod rebuild;
mod scheme;
mod stored;
mod writes;

pub use define::PartitionChange;
pub use possible::Possible;
pub(crate) use rebuild::{Finished, Targets, keep_trees};
pub use scheme::{
    BoundValue, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec, SubpartitionSpec,
};
pub(crate) use stored::{PartitionRows, StoredScheme, decode_partition, decode_scheme, partition_rows};
pub(crate) use writes::Home;

use crate::catalog::TableDef;
use crate::error::{Result, TableError};
use leafline_types::{MysqlError, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of partitions of a table, as in MySQL.
pub const MOST_PARTITIONS: usize = 8192;
/// The length of a partition's number in a locator, in bytes.
const NUMBER_BYTES: usize = 2;

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

impl Partitioning {
    /// All partitions of a table, which are these tables.
    pub(crate) fn new(scheme: Arc<PartitionScheme>, tables: Vec<TableDef>) -> Partitioning {
        let partition = |(number, table)| Partition { number, table: Arc::new(table) };
        let partitions = tables.into_iter().enumerate().map(partition).collect();
        Partitioning { scheme, partitions }
    }

    /// Returns whether these are all partitions of the table.
    pub fn is_whole(&self) -> bool {
        self.partitions.len() == self.scheme.tables()
    }

    /// The partition with this number; `None` if it is not among these.
    pub fn get(&self, number: usize) -> Option<&Partition> {
        let at = self.partitions.binary_search_by_key(&number, |partition| partition.number).ok()?;
        self.partitions.get(at)
    }

    /// The partition that a row belongs to.
    ///
    /// # Errors
    /// 1526 if there is none, 1748 if it is not among these, and errors of the partition function.
    pub fn of_row(&self, row: &[Value]) -> Result<&Partition> {
        let number = self.scheme.table_of(row)?;
        Ok(self.get(number).ok_or_else(MysqlError::row_not_in_partition_set)?)
    }

    /// The partition that a locator names, and the row's key in it.
    ///
    /// # Errors
    /// `Internal` if the locator does not name one of these partitions.
    pub fn of_locator<'l>(&self, locator: &'l [u8]) -> Result<(&Partition, &'l [u8])> {
        let split = locator.split_first_chunk::<NUMBER_BYTES>();
        let found =
            split.and_then(|(number, key)| Some((self.get(u16::from_be_bytes(*number).into())?, key)));
        found.ok_or_else(|| TableError::Internal("a locator that names no partition".into()))
    }

    /// A selection of these partitions: the ones for which `keeps` returns true.
    #[must_use]
    pub fn narrowed(&self, keeps: impl Fn(usize) -> bool) -> Partitioning {
        let kept = self.partitions.iter().filter(|partition| keeps(partition.number));
        Partitioning { scheme: self.scheme.clone(), partitions: kept.cloned().collect() }
    }

    /// The position of the partition with this name, compared without case.
    pub fn partition_named(&self, name: &str) -> Option<usize> {
        let is_named = |spec: &PartitionSpec| spec.name.to_lowercase() == name.to_lowercase();
        self.scheme.partitions.iter().position(is_named)
    }

    /// The numbers of the tables of the partition or subpartition with this name, compared without case.
    pub fn named(&self, name: &str) -> Option<Range<usize>> {
        let count = self.scheme.tables_of_partition();
        if let Some(at) = self.partition_named(name) {
            return Some(at * count..(at + 1) * count);
        }
        let below = self.scheme.partitions.iter().flat_map(|spec| &spec.subpartitions);
        let at = below.map(|spec| spec.name.to_lowercase()).position(|known| known == name.to_lowercase());
        at.map(|at| at..at + 1)
    }

    /// The name of a partition. The name of a subpartition follows the name of its partition and `_`.
    pub fn name(&self, number: usize) -> Cow<'_, str> {
        let count = self.scheme.tables_of_partition();
        let spec = &self.scheme.partitions[number / count.max(1)];
        match spec.subpartitions.get(number % count.max(1)) {
            Some(below) => Cow::Owned(format!("{}_{}", spec.name, below.name)),
            None => Cow::Borrowed(&spec.name),
        }
    }

    /// Returns this division with other tables, of the same number.
    #[must_use]
    pub(crate) fn with_tables(&self, tables: impl IntoIterator<Item = TableDef>) -> Partitioning {
        let numbers = self.partitions.iter().map(|partition| partition.number);
        let partition = |(number, table)| Partition { number, table: Arc::new(table) };
        let partitions = numbers.zip(tables).map(partition).collect();
        Partitioning { scheme: self.scheme.clone(), partitions }
    }

    /// Returns these partitions with changed definitions of their tables.
    #[must_use]
    pub(crate) fn map_tables(&self, mut map: impl FnMut(&Arc<TableDef>) -> Arc<TableDef>) -> Partitioning {
        let partitions = self.partitions.iter();
        let mapped =
            partitions.map(|Partition { number, table }| Partition { number: *number, table: map(table) });
        Partitioning { scheme: self.scheme.clone(), partitions: mapped.collect() }
    }
}

/// The locator of the row with this key in a partition.
pub fn locator_in_partition(number: usize, key: &[u8]) -> Vec<u8> {
    let mut locator = Vec::with_capacity(NUMBER_BYTES + key.len());
    locator.extend_from_slice(&(number as u16).to_be_bytes());
    locator.extend_from_slice(key);
    locator
}

impl TableDef {
    /// Returns whether partitions hold the table's rows.
    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }

    /// Returns whether statements can find the table by its name.
    pub(crate) fn is_named(&self) -> bool {
        !self.is_overflow && !self.is_private && self.partition_of.is_none()
    }

    /// The tables that hold the table's rows: its partitions, or the table itself.
    pub fn stored<'t>(self: &'t Arc<Self>) -> Box<dyn Iterator<Item = &'t Arc<TableDef>> + 't> {
        match &self.partitioning {
            Some(partitioning) => Box::new(partitioning.partitions.iter().map(|partition| &partition.table)),
            None => Box::new(std::iter::once(self)),
        }
    }

    /// Returns this table with a selection of its partitions: the ones for which `keeps` returns true.
    #[must_use]
    pub fn with_partitions(&self, keeps: impl Fn(usize) -> bool) -> TableDef {
        let partitioning = self.partitioning.as_ref().map(|all| all.narrowed(keeps));
        TableDef { partitioning, ..self.clone() }
    }
}
