//! Joins tables read from the catalog with their partitions.

use super::definition::{ColumnDef, TableDef, TableId};
use super::encoding::Partial;
use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Completes the tables. Partitions come before their tables.
pub(super) fn join_partitions(mut partial: BTreeMap<TableId, Partial>) -> Result<Vec<Arc<TableDef>>> {
    let columns_of_parent =
        |table: &Partial| Some(partial.get(&table.table.partition_of?)?.table.columns.clone());
    let columns: Vec<(TableId, Vec<ColumnDef>)> =
        partial.iter().filter_map(|(id, table)| Some((*id, columns_of_parent(table)?))).collect();
    for (id, columns) in columns {
        if let Some(partition) = partial.get_mut(&id) {
            partition.table.columns = columns;
        }
    }
    let (divided, whole): (Vec<Partial>, Vec<Partial>) =
        partial.into_values().partition(|table| table.partitioning.is_some());
    let mut tables = BTreeMap::new();
    for table in whole {
        let table = Arc::new(table.finish()?);
        tables.insert(table.id, table);
    }
    for mut table in divided {
        let scheme = table.partitioning.take();
        let mut table = table.finish()?;
        table.partitioning = scheme.map(|scheme| scheme.finish(&table.columns, &tables)).transpose()?;
        tables.insert(table.id, Arc::new(table));
    }
    Ok(tables.into_values().collect())
}
