//! Creates a TPC-H table and loads its rows in bulk.

use super::super::failure::Failure;
use super::super::progress::Progress;
use super::rows::{generate, row_bytes};
use super::schema::Table;
use leafline::{Connection, Database};
use leafline_storage::SegmentId;
use leafline_table::{BuildControl, TableDef, TableError};
use leafline_types::{MysqlError, Value};
use tpchgen::text::TextPool;

/// The database of the tables.
pub const DATABASE: &str = "tpch";

/// Creates the database unless it exists, and makes it current. None of `tables` may exist.
pub fn prepare(database: &Database, connection: &mut Connection, tables: &[Table]) -> Result<(), Failure> {
    connection.execute("CREATE DATABASE IF NOT EXISTS tpch COLLATE utf8mb4_0900_bin", ())?;
    connection.execute("USE tpch", ())?;
    let catalog = database.instance().engine().catalog();
    let there: Vec<&str> = tables
        .iter()
        .map(|table| table.name())
        .filter(|name| catalog.table(DATABASE, name).is_some())
        .collect();
    if there.is_empty() {
        // This takes a few seconds, which should not count for the first table.
        eprintln!("Generating the text of the comments.");
        TextPool::get_or_init_default();
        return Ok(());
    }
    Err(Failure::Message(format!(
        "the database {DATABASE} has tables of these names already: {}; to load it again, drop it first:\n    \
         leafline shell {} -e 'DROP DATABASE {DATABASE}'",
        there.join(", "),
        database.path().display()
    )))
}

/// Creates a table in the current database and loads its rows, with a progress bar.
pub fn load(
    database: &Database,
    connection: &mut Connection,
    table: Table,
    scale: f64,
) -> Result<(), Failure> {
    connection.execute(table.definition(), ())?;
    let engine = database.instance().engine();
    let definition = engine.table(DATABASE, table.name()).map_err(failed)?;
    let mut loader = engine.ddl().bulk_load(&definition, &BuildControl::of(engine)).map_err(failed)?;
    let mut progress = Progress::rows(table.name(), table.rows(scale));
    generate(table, scale, &mut |row: &[Value]| {
        progress.row(row_bytes(row));
        loader.push(row)
    })
    .map_err(failed)?;
    loader.finish().map_err(failed)?;
    progress.finish();
    Ok(())
}

/// Returns how many pages a table takes, with all its indexes.
pub fn pages(database: &Database, table: &TableDef) -> u64 {
    let trees: Vec<SegmentId> = table.indexes.iter().map(|index| index.tree).collect();
    let segments = database.instance().engine().store().segments();
    segments.iter().filter(|segment| trees.contains(&segment.id)).map(|segment| segment.pages).sum()
}

fn failed(error: TableError) -> Failure {
    Failure::Sql(MysqlError::from(error))
}
