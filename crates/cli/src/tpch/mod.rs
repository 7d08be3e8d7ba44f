//! `leafline tpch`: the eight tables of the TPC-H benchmark, generated and loaded in bulk.

pub mod load;
pub mod rows;
pub mod schema;

use super::args::{Disk, TpchOptions};
use super::failure::Failure;
use super::open;
use super::output::{Column, Kind, format_table};
use super::progress::grouped;
use super::size::human_bytes;
use leafline::Database;
use load::DATABASE;
use schema::Table;

/// Runs the verb.
pub fn run(options: &TpchOptions) -> Result<(), Failure> {
    let open_options = open::options(&options.open, options.buffer_pool_size, Disk::None);
    let database = open::database(&open_options, &options.open.dir)?;
    let mut connection = database.connect()?;
    load::prepare(&database, &mut connection, &Table::ALL)?;
    for table in Table::ALL {
        load::load(&database, &mut connection, table, options.scale)?;
    }
    print!("\n{}", summary(&database)?);
    println!("\nTo look at it:\n    leafline shell {} --database {DATABASE}", options.open.dir.display());
    drop(connection);
    Ok(database.close()?)
}

/// Returns rows and size of each table.
fn summary(database: &Database) -> Result<String, Failure> {
    let engine = database.instance().engine();
    let page_bytes = engine.store().page_size() as u64;
    let mut rows = Vec::new();
    for table in Table::ALL {
        if let Some(definition) = engine.catalog().table(DATABASE, table.name()) {
            let bytes = load::pages(database, definition) * page_bytes;
            rows.push(vec![
                table.name().into(),
                grouped(engine.row_count(definition.id)),
                human_bytes(bytes),
            ]);
        }
    }
    let column = |name: &str, kind| Column { name: name.into(), kind };
    let columns = [column("table", Kind::Text), column("rows", Kind::Number), column("size", Kind::Number)];
    format_table(&columns, &rows).map_err(Failure::output)
}
