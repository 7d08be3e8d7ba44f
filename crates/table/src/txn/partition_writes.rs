//! Transactions on partitioned tables: each row is inserted, changed, deleted and locked in its partition.

use super::Transaction;
use crate::catalog::{Partition, TableDef, locator_in_partition};
use crate::error::{Result, TableError};
use leafline_types::Value;
use std::sync::Arc;

/// The table that holds a row.
#[derive(Clone, Copy)]
pub(crate) struct Home<'t> {
    /// The table.
    pub(crate) table: &'t Arc<TableDef>,
    /// Its number among the partitions, if it is one.
    number: Option<usize>,
}

impl<'t> Home<'t> {
    /// Finds the table that a row of `table` belongs to.
    pub(crate) fn of_row(table: &'t Arc<TableDef>, row: &[Value]) -> Result<Home<'t>> {
        match &table.partitioning {
            None => Ok(Home { table, number: None }),
            Some(partitioning) => partitioning.of_row(row).map(Home::partition),
        }
    }

    /// Finds the table that a locator names, and the row's key in it.
    pub(crate) fn of_locator<'l>(
        table: &'t Arc<TableDef>,
        locator: &'l [u8],
    ) -> Result<(Home<'t>, &'l [u8])> {
        match &table.partitioning {
            None => Ok((Home { table, number: None }, locator)),
            Some(partitioning) => {
                let (partition, key) = partitioning.of_locator(locator)?;
                Ok((Home::partition(partition), key))
            }
        }
    }

    fn partition(partition: &'t Partition) -> Home<'t> {
        Home { table: &partition.table, number: Some(partition.number) }
    }

    /// The locator of the row with this key.
    pub(crate) fn locator(self, key: Vec<u8>) -> Vec<u8> {
        match self.number {
            None => key,
            Some(number) => locator_in_partition(number, &key),
        }
    }

    /// Rewrites an error of this table: the locator of a conflicting row becomes the one that the partitioned table
    /// uses.
    pub(crate) fn rewrite_error(self, error: TableError) -> TableError {
        match error {
            TableError::DuplicateEntry { entry, table, index, locator } => {
                TableError::DuplicateEntry { entry, table, index, locator: self.locator(locator) }
            }
            error => error,
        }
    }
}

impl Transaction {
    /// Moves a row from one partition to another: deletes it there and inserts it here, all or nothing.
    pub(crate) fn move_row(
        &mut self,
        (from, key, old): (Home<'_>, &[u8], &[Value]),
        to: Home<'_>,
        new: &[Value],
    ) -> Result<Vec<u8>> {
        let mark = self.savepoint();
        let moved = self
            .delete_locked(from.table, key, old)
            .and_then(|_| self.insert_numbered(to.table, new))
            .map_err(|error| to.rewrite_error(error));
        match moved {
            Ok(key) => Ok(to.locator(key)),
            Err(error) => {
                self.rollback_to(mark);
                Err(error)
            }
        }
    }
}
