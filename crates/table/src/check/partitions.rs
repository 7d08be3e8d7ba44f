//! Checking a partitioned table: each partition as a table, and whether its rows belong to it.

use super::{CheckDepth, CheckOptions, TableCheck, damage};
use crate::catalog::{Partition, Partitioning, TableDef};
use crate::error::Result;
use crate::maintenance::Maintenance;
use crate::read::ReadView;
use leafline_btree::Direction;
use leafline_types::{CancelToken, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Decodes a row's values in the columns that decide about the partition; the other values are NULL.
fn deciding_values(
    table: &TableDef,
    columns: &BTreeSet<usize>,
    (key, payload): (&[u8], &[u8]),
) -> Result<Vec<Value>> {
    let mut row = vec![Value::Null; table.columns.len()];
    for column in columns {
        let value = table.clustered().format.decode_value(key, payload, *column)?;
        if let Some(slot) = row.get_mut(*column) {
            *slot = value;
        }
    }
    Ok(row)
}

impl Maintenance {
    /// Checks all partitions in a table's definition. Each fault names its partition. Whether rows belong
    /// to their partition is checked only if the partition function is bound, as it is if a statement has
    /// found the table by its name.
    pub(super) fn check_partitions(
        &self,
        table: &Arc<TableDef>,
        options: CheckOptions,
        progress: &(dyn Fn(u64) + Sync),
        cancel: &CancelToken,
    ) -> Result<TableCheck> {
        let mut all = TableCheck::default();
        let Some(partitioning) = &table.partitioning else { return Ok(all) };
        for partition in partitioning.partitions.iter() {
            let mut found = self.check_table_with(&partition.table, options, progress, cancel)?;
            let is_known = partitioning.scheme.is_bound();
            if found.is_sound() && is_known && options.depth > CheckDepth::Quick {
                self.check_places(partitioning, partition, &mut found, cancel)?;
            }
            for mut fault in found.faults {
                fault.what = format!("partition {}: {}", partitioning.name(partition.number), fault.what);
                all.faults.push(fault);
            }
            all.unlisted += found.unlisted;
        }
        Ok(all)
    }

    /// Checks whether the rows of a partition belong to it.
    fn check_places(
        &self,
        partitioning: &Partitioning,
        partition: &Partition,
        found: &mut TableCheck,
        cancel: &CancelToken,
    ) -> Result<()> {
        let (table, scheme) = (&partition.table, &partitioning.scheme);
        let (mut misplaced, mut failed) = (0u64, None);
        let columns = scheme.deciding_columns();
        ReadView::latest(&self.core).rows(table)?.scan(Direction::Forward, None, |row| {
            let number = deciding_values(table, &columns, (row.key, row.payload))
                .and_then(|row| scheme.table_of(&row));
            match (number, cancel.reason()) {
                (Ok(number), None) => misplaced += u64::from(number != partition.number),
                (Err(error), _) => match damage(error) {
                    Ok(_) => misplaced += 1,
                    Err(error) => failed = Some(error),
                },
                (Ok(_), Some(_)) => return false,
            }
            failed.is_none()
        })?;
        failed.map_or(Ok(()), Err)?;
        cancel.check()?;
        if misplaced > 0 {
            found.note(table, None, None, format!("{misplaced} rows belong to another partition"));
        }
        Ok(())
    }
}
