//! The partitions of a table: which of them a row or a locator belongs to, and selections of them.
//!
//! The locator of a row of a partitioned table consists of the number of its partition, in big-endian order, and the
//! row's key there:
//!
//! | bytes | hold                                                         |
//! |-------|--------------------------------------------------------------|
//! | 0..2  | position of the partition among all that the table has, u16  |
//! | 2..   | clustered key                                                |

use super::definition::{Partition, Partitioning, TableDef, TableOptions};
use super::partition_scheme::{PartitionScheme, PartitionSpec};
use crate::error::{Result, TableError};
use leafline_types::{MysqlError, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of partitions of a table, as in MySQL.
pub const MOST_PARTITIONS: usize = 8192;
/// The length of a partition's number in a locator, in bytes.
const NUMBER_BYTES: usize = 2;

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

impl TableDef {
    /// Renames a table together with its partitions.
    pub(crate) fn rename(&mut self, database: &str, name: &str) {
        (self.database, self.name) = (database.into(), name.into());
        let renamed = |table: &Arc<TableDef>| {
            let mut table = (**table).clone();
            table.rename(database, name);
            Arc::new(table)
        };
        self.partitioning = self.partitioning.as_ref().map(|partitioning| partitioning.map_tables(renamed));
    }

    /// A model of a partition of the table: its columns and indexes, without constraints, options and the rest that
    /// only a writer of rows needs to know.
    pub(crate) fn as_partition(&self) -> TableDef {
        TableDef {
            partitioning: None,
            partition_of: Some(self.id),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            histograms: Vec::new(),
            options: TableOptions {
                pack_keys: self.options.pack_keys,
                organisation: self.options.organisation,
                ..TableOptions::default()
            },
            overflow: None,
            ..self.clone()
        }
    }
}
