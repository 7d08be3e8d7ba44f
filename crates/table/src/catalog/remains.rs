//! The catalog of a damaged database: decodes what it can if rows are missing.

use super::decoding::decode_catalog;
use super::definition::{TableDef, TableId};
use super::encoding::{
    CHANGE_BUFFER, CHECK, COLUMN, DATABASE, DROPPED, FOREIGN_KEY, INDEX, KeyReader, PARTITION, PARTITIONING,
    TABLE, VIEW, decode_table, decode_view, key,
};
use super::histogram::HISTOGRAM;
use super::published::DatabaseDef;
use super::row::CatalogRow;
use super::stored_programs::PROGRAM;
use std::collections::{BTreeMap, BTreeSet};

/// The readable parts of a damaged catalog.
#[derive(Default)]
pub(crate) struct CatalogRemains {
    pub(crate) databases: Vec<DatabaseDef>,
    /// Tables whose columns and rows can be decoded.
    pub(crate) tables: Vec<TableDef>,
    /// Descriptions of losses.
    pub(crate) faults: Vec<String>,
}

/// Decodes like [`decode_catalog`], from rows of which some may be lost. `is_lost` says whether rows
/// between two keys may be lost; the second key is not included. A table is left out if any of its columns
/// may be lost, because the bytes of its rows would be misinterpreted.
pub(crate) fn decode_remains(rows: &[CatalogRow], is_lost: &dyn Fn(&[u8], &[u8]) -> bool) -> CatalogRemains {
    let mut found = CatalogRemains::default();
    let mut of_tables: BTreeMap<u64, Vec<CatalogRow>> = BTreeMap::new();
    let mut senseless = 0;
    if is_lost(&[DATABASE], &[TABLE]) {
        found.faults.push("databases, perhaps: a part of the catalog that may name some".into());
    }
    let mut partitioned = BTreeSet::new();
    let mut programs = BTreeSet::new();
    if is_lost(&[TABLE], &[VIEW + 1]) {
        found.faults.push("tables, perhaps: a part of the catalog that may define some".into());
    }
    for row in rows {
        let mut reader = KeyReader(&row.key);
        match (reader.u8(), reader.u64()) {
            (Ok(DATABASE), Ok(_)) => match decode_catalog(std::slice::from_ref(row)) {
                Ok(catalog) => found.databases.extend(catalog.databases().map(|one| (**one).clone())),
                Err(error) => found.faults.push(format!("a database: {error}")),
            },
            (Ok(VIEW), Ok(id)) => found.faults.push(match decode_view(id, &row.payload) {
                Ok(view) => format!("view {}.{}: views are not written anew", view.database, view.name),
                Err(error) => format!("a view: {error}"),
            }),
            (Ok(TABLE..=FOREIGN_KEY | DROPPED), Ok(id)) => of_tables.entry(id).or_default().push(row.clone()),
            (Ok(PARTITIONING | PARTITION), Ok(id)) => drop(partitioned.insert(id)),
            (Ok(PROGRAM), Ok(id)) => drop(programs.insert(id)),
            // These can be made anew.
            (Ok(HISTOGRAM | CHANGE_BUFFER), Ok(_)) => {}
            _ => senseless += 1,
        }
    }
    if !programs.is_empty() {
        found.faults.push(format!("stored programs, which are not written anew: {}", programs.len()));
    }
    if senseless > 0 {
        found.faults.push(format!("rows of the catalog that make no sense: {senseless}"));
    }
    for (id, rows) in of_tables {
        let lost = |kind| is_lost(&key(kind, id, None), &key(kind, id.saturating_add(1), None));
        let decoded = match decode_catalog(&rows) {
            Ok(_) if lost(COLUMN) || lost(DROPPED) => Err("not all of its columns are known".to_owned()),
            Ok(_) if !is_contiguous(&rows) => Err("not all of its columns and indexes are known".to_owned()),
            Ok(catalog) => Ok(catalog),
            Err(error) => Err(error.to_string()),
        };
        let name = rows.iter().find(|row| row.key.first() == Some(&TABLE));
        let name = name.and_then(|row| decode_table(TableId(id), &row.payload).ok());
        let name =
            name.map_or_else(|| format!("number {id}"), |table| format!("{}.{}", table.database, table.name));
        let parts = rows.iter().find(|row| row.key.first() == Some(&TABLE)).and_then(|row| {
            decode_table(TableId(id), &row.payload).ok().filter(|table| table.partition_of.is_some())
        });
        if parts.is_some() {
            continue;
        }
        if partitioned.contains(&id) {
            found.faults.push(format!("table {name}: partitioned tables are not written anew"));
            continue;
        }
        match decoded {
            Ok(catalog) => found.tables.extend(catalog.all_tables().map(|table| (**table).clone())),
            Err(why) => found.faults.push(format!("table {name}: its definition is not complete: {why}")),
        }
        if lost(INDEX) {
            found.faults.push(format!(
                "indexes of table {name}, perhaps: a part of the catalog that may define some"
            ));
        }
        if lost(CHECK) || lost(FOREIGN_KEY) {
            found.faults.push(format!(
                "constraints of table {name}, perhaps: a part of the catalog that may define some"
            ));
        }
    }
    found
}

/// Returns whether columns, indexes and constraints are numbered without a gap.
fn is_contiguous(rows: &[CatalogRow]) -> bool {
    [COLUMN, INDEX, CHECK, FOREIGN_KEY, DROPPED].iter().all(|kind| {
        let of_kind = rows.iter().filter(|row| row.key.first() == Some(kind));
        of_kind.enumerate().all(|(at, row)| row.key.get(9..) == Some(&(at as u16).to_be_bytes()))
    })
}
