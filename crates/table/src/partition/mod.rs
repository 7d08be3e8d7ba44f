//! Partitioned tables: which partition a row belongs to, and which partitions can hold what a condition asks for.
//!
//! A partition is a table of its own, with trees, locks, versions and counters like any other, which no name leads to. The table that
//! has the name holds no rows: its indexes have no trees, so that whoever takes it for a table with rows gets an error. It says how
//! rows are divided ([`PartitionScheme`]) and which tables they are in ([`Partitioning`]). What is unique in each partition is unique
//! in the table, because every unique key has the columns that decide about the partition (error 1503).
//!
//! The locator of a row of a partitioned table is the number of its partition, big-endian, and the row's key there:
//!
//! | bytes | hold                                                         |
//! |-------|--------------------------------------------------------------|
//! | 0..2  | position of the partition among all that the table has, u16  |
//! | 2..   | clustered key                                                |
//!
//! | module | is |
//! |---|---|
//! | `scheme` | methods, values, the partition of a row |
//! | `possible` | the partitions that ranges of keys can be in |
//! | `writes` | rows that are inserted, changed, locked |
//! | `stored` | partitions in the catalog's tree |
//! | `define`, `rebuild` | DDL: partitions that come, go, are emptied, exchanged; rows that move between them |

mod define;
mod possible;
mod rebuild;
mod scheme;
mod stored;
mod writes;

pub use define::PartitionChange;
pub use possible::Possible;
pub(crate) use rebuild::{Finished, Targets, built};
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

/// As many partitions as a table of MySQL can have.
pub const MOST_PARTITIONS: usize = 8192;
/// Bytes of a partition's number in a locator.
const NUMBER_BYTES: usize = 2;

/// A partition, or a subpartition of a table whose partitions are divided again.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its position among all of its table.
    pub number: usize,
    /// The table of its rows.
    pub table: Arc<TableDef>,
}

/// The partitions of a table, or those of them that somebody looks at.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// How rows are divided.
    pub scheme: Arc<PartitionScheme>,
    /// In ascending order of their numbers.
    pub partitions: Arc<[Partition]>,
}

impl Partitioning {
    /// All partitions of a table, in these tables.
    pub(crate) fn new(scheme: Arc<PartitionScheme>, tables: Vec<TableDef>) -> Partitioning {
        let partition = |(number, table)| Partition { number, table: Arc::new(table) };
        let partitions = tables.into_iter().enumerate().map(partition).collect();
        Partitioning { scheme, partitions }
    }

    /// Whether these are all partitions of the table.
    pub fn is_whole(&self) -> bool {
        self.partitions.len() == self.scheme.tables()
    }

    /// The partition at that position of the table, if it is among these.
    pub fn get(&self, number: usize) -> Option<&Partition> {
        let at = self.partitions.binary_search_by_key(&number, |partition| partition.number).ok()?;
        self.partitions.get(at)
    }

    /// The partition that a row belongs to.
    ///
    /// # Errors
    /// 1526 if there is none, 1748 if it is not among these, what evaluating the partition function returns.
    pub fn of_row(&self, row: &[Value]) -> Result<&Partition> {
        let number = self.scheme.table_of(row)?;
        Ok(self.get(number).ok_or_else(MysqlError::row_not_in_partition_set)?)
    }

    /// The partition that a locator names, and the key in it.
    ///
    /// # Errors
    /// `Internal` if it is no locator of these partitions.
    pub fn of_locator<'l>(&self, locator: &'l [u8]) -> Result<(&Partition, &'l [u8])> {
        let split = locator.split_first_chunk::<NUMBER_BYTES>();
        let found =
            split.and_then(|(number, key)| Some((self.get(u16::from_be_bytes(*number).into())?, key)));
        found.ok_or_else(|| TableError::Internal("a locator that names no partition".into()))
    }

    /// The same, but only the partitions that `keeps` holds for.
    #[must_use]
    pub fn narrowed(&self, keeps: impl Fn(usize) -> bool) -> Partitioning {
        let kept = self.partitions.iter().filter(|partition| keeps(partition.number));
        Partitioning { scheme: self.scheme.clone(), partitions: kept.cloned().collect() }
    }

    /// The position of the partition of that name, compared without case.
    pub fn partition_named(&self, name: &str) -> Option<usize> {
        let is_named = |spec: &PartitionSpec| spec.name.to_lowercase() == name.to_lowercase();
        self.scheme.partitions.iter().position(is_named)
    }

    /// The numbers of the tables of the partition or subpartition of that name, compared without case.
    pub fn named(&self, name: &str) -> Option<Range<usize>> {
        let count = self.scheme.tables_of_partition();
        if let Some(at) = self.partition_named(name) {
            return Some(at * count..(at + 1) * count);
        }
        let below = self.scheme.partitions.iter().flat_map(|spec| &spec.subpartitions);
        let at = below.map(|spec| spec.name.to_lowercase()).position(|known| known == name.to_lowercase());
        at.map(|at| at..at + 1)
    }

    /// The name of a partition; that of a subpartition behind the name of its partition and `_`.
    pub fn name(&self, number: usize) -> Cow<'_, str> {
        let count = self.scheme.tables_of_partition();
        let spec = &self.scheme.partitions[number / count.max(1)];
        match spec.subpartitions.get(number % count.max(1)) {
            Some(below) => Cow::Owned(format!("{}_{}", spec.name, below.name)),
            None => Cow::Borrowed(&spec.name),
        }
    }

    /// The same division among other tables, as many as there are.
    #[must_use]
    pub(crate) fn with_tables(&self, tables: impl IntoIterator<Item = TableDef>) -> Partitioning {
        let numbers = self.partitions.iter().map(|partition| partition.number);
        let partition = |(number, table)| Partition { number, table: Arc::new(table) };
        let partitions = numbers.zip(tables).map(partition).collect();
        Partitioning { scheme: self.scheme.clone(), partitions }
    }

    /// The same partitions with other definitions of their tables.
    #[must_use]
    pub(crate) fn map_tables(&self, mut map: impl FnMut(&Arc<TableDef>) -> Arc<TableDef>) -> Partitioning {
        let partitions = self.partitions.iter();
        let mapped =
            partitions.map(|Partition { number, table }| Partition { number: *number, table: map(table) });
        Partitioning { scheme: self.scheme.clone(), partitions: mapped.collect() }
    }
}

/// The locator of a row with that key in a partition.
pub fn locator_in_partition(number: usize, key: &[u8]) -> Vec<u8> {
    let mut locator = Vec::with_capacity(NUMBER_BYTES + key.len());
    locator.extend_from_slice(&(number as u16).to_be_bytes());
    locator.extend_from_slice(key);
    locator
}

impl TableDef {
    /// Whether its rows are in partitions.
    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }

    /// Whether it is found by its name.
    pub(crate) fn is_named(&self) -> bool {
        !self.is_overflow && !self.is_private && self.partition_of.is_none()
    }

    /// The tables that its rows are in: its partitions, or itself.
    pub fn stored<'t>(self: &'t Arc<Self>) -> Box<dyn Iterator<Item = &'t Arc<TableDef>> + 't> {
        match &self.partitioning {
            Some(partitioning) => Box::new(partitioning.partitions.iter().map(|partition| &partition.table)),
            None => Box::new(std::iter::once(self)),
        }
    }

    /// The same table with only those of its partitions that `keeps` holds for.
    #[must_use]
    pub fn with_partitions(&self, keeps: impl Fn(usize) -> bool) -> TableDef {
        let partitioning = self.partitioning.as_ref().map(|all| all.narrowed(keeps));
        TableDef { partitioning, ..self.clone() }
    }
}
