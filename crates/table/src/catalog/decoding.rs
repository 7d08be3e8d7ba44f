//! Decodes the catalog from its rows: gathers the rows of each table, and joins tables with their partitions.

use super::column::{CheckDef, ColumnDef};
use super::definition::{TableDef, TableId};
use super::encoding::{
    CHANGE_BUFFER, CHECK, COLUMN, DATABASE, DROPPED, FOR_FOREIGN_KEY, FOREIGN_KEY, FORMAT, INDEX,
    INVISIBLE_INDEX, IndexRow, KeyReader, PARTITION, PARTITIONING, TABLE, VIEW, decode_column,
    decode_dropped, decode_foreign_key, decode_index, decode_table, decode_view, known_collation,
};
use super::histogram::{self, HISTOGRAM};
use super::index_def::{IndexKind, IndexShape};
use super::published::{Catalog, DatabaseDef};
use super::row::CatalogRow;
use super::stored_partitions::{StoredScheme, decode_partition, decode_scheme};
use super::stored_programs::{self, PROGRAM};
use crate::bytes::ByteReader;
use crate::error::{Result, TableError};
use leafline_btree::CommitTs;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table whose columns and indexes have not all been read yet.
struct Partial {
    table: TableDef,
    indexes: Vec<IndexRow>,
    histograms: histogram::Pieces,
    partitioning: Option<StoredScheme>,
}

impl Partial {
    fn add_check(&mut self, row: &CatalogRow) -> Result<()> {
        let mut from = ByteReader::new("catalog check", &row.payload);
        from.format(FORMAT)?;
        let (name, expression, enforced) = (from.string()?, from.string()?, from.bool()?);
        from.end()?;
        self.table.checks.push(CheckDef { name, expression, enforced });
        Ok(())
    }

    fn finish(self) -> Result<TableDef> {
        let Partial { mut table, indexes, histograms, .. } = self;
        let damaged = |why: &str| {
            TableError::Corrupt(format!("catalog: table {}.{} {why}", table.database, table.name))
        };
        let clustered_key = match indexes.first() {
            Some(IndexRow { kind: IndexKind::Clustered, parts, .. }) => parts.clone(),
            _ => return Err(damaged("has no clustered index")),
        };
        let clustered_key = (!clustered_key.is_empty()).then_some(clustered_key);
        let mut built = Vec::with_capacity(indexes.len());
        for row in indexes {
            if row.kind == IndexKind::Clustered && !built.is_empty() {
                return Err(damaged("has two clustered indexes"));
            }
            let shape = IndexShape {
                id: row.id,
                name: row.name,
                kind: row.kind,
                parts: row.parts,
                comment: row.comment,
                invisible: row.flags & INVISIBLE_INDEX != 0,
                for_foreign_key: row.flags & FOR_FOREIGN_KEY != 0,
                packing: row.packing,
                words: row.words,
                columns: &table.columns,
                dropped: &table.dropped,
                clustered_key: clustered_key.as_deref(),
                schema_version: table.schema_version,
            };
            built.push(Arc::new(shape.build(row.tree, row.root, CommitTs(0))));
        }
        table.indexes = built;
        table.histograms = histograms.finish(&table.columns);
        Ok(table)
    }
}

/// Decodes the rows of the catalog's tree, which come in key order.
pub(crate) fn decode_catalog(rows: &[CatalogRow]) -> Result<Catalog> {
    let mut databases = Vec::new();
    let mut views = Vec::new();
    let mut programs = stored_programs::Pieces::default();
    let mut tables: BTreeMap<TableId, Partial> = BTreeMap::new();
    for row in rows {
        let mut key = KeyReader(&row.key);
        let (kind, id) = (key.u8()?, key.u64()?);
        let of_table = |tables: &mut BTreeMap<TableId, Partial>| match tables.contains_key(&TableId(id)) {
            true => Ok(TableId(id)),
            false => Err(TableError::Corrupt(format!("catalog: a row of table {id}, which is not there"))),
        };
        match kind {
            DATABASE => {
                let mut from = ByteReader::new("catalog database", &row.payload);
                from.format(FORMAT)?;
                let (name, collation) = (from.string()?, from.u16()?);
                let collation = known_collation(collation, &from)?;
                databases.push(DatabaseDef { id, name, collation });
                from.end()?;
            }
            TABLE => {
                let table = decode_table(TableId(id), &row.payload)?;
                let histograms = histogram::Pieces::default();
                tables.insert(
                    TableId(id),
                    Partial { table, indexes: Vec::new(), histograms, partitioning: None },
                );
            }
            COLUMN => {
                let id = of_table(&mut tables)?;
                let column = decode_column(&row.payload)?;
                if let Some(partial) = tables.get_mut(&id) {
                    partial.table.columns.push(column);
                }
            }
            INDEX => {
                let id = of_table(&mut tables)?;
                let columns = tables.get(&id).map_or(0, |partial| match partial.table.partition_of {
                    Some(of) => tables.get(&of).map_or(0, |of| of.table.columns.len()),
                    None => partial.table.columns.len(),
                });
                if let Some(partial) = tables.get_mut(&id) {
                    partial.indexes.push(decode_index(&row.payload, columns)?);
                }
            }
            CHECK => {
                let id = of_table(&mut tables)?;
                tables.get_mut(&id).map(|partial| partial.add_check(row)).transpose()?;
            }
            FOREIGN_KEY => {
                let id = of_table(&mut tables)?;
                if let Some(partial) = tables.get_mut(&id) {
                    let columns = partial.table.columns.len();
                    partial.table.foreign_keys.push(decode_foreign_key(&row.payload, columns)?);
                }
            }
            VIEW => views.push(decode_view(id, &row.payload)?),
            PROGRAM => programs.add(id, key.u16()?, &row.payload)?,
            // The change buffer reads this row before the catalog is decoded.
            CHANGE_BUFFER => {}
            HISTOGRAM => {
                let id = of_table(&mut tables)?;
                if let Some(partial) = tables.get_mut(&id) {
                    partial.histograms.add(key.u16()?, &row.payload)?;
                }
            }
            DROPPED => {
                let id = of_table(&mut tables)?;
                if let Some(partial) = tables.get_mut(&id) {
                    partial.table.dropped.push(decode_dropped(&row.payload)?);
                }
            }
            PARTITIONING => {
                let id = of_table(&mut tables)?;
                if let Some(partial) = tables.get_mut(&id) {
                    partial.partitioning = Some(decode_scheme(&row.payload)?);
                }
            }
            PARTITION => {
                let id = of_table(&mut tables)?;
                if let Some(Partial { table, partitioning: Some(scheme), .. }) = tables.get_mut(&id) {
                    decode_partition(&row.payload, scheme, &table.columns)?;
                }
            }
            other => return Err(TableError::Corrupt(format!("catalog: a row of kind {other}"))),
        }
    }
    let mut catalog = Catalog::new(databases, join_partitions(tables)?);
    views.into_iter().for_each(|view| catalog.put_view(Arc::new(view)));
    programs.finish()?.into_iter().for_each(|program| catalog.put_program(Arc::new(program)));
    Ok(catalog)
}

/// Completes the tables. Partitions come before their tables.
fn join_partitions(mut partial: BTreeMap<TableId, Partial>) -> Result<Vec<Arc<TableDef>>> {
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
