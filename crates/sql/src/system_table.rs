//! Tables of the server itself, in the database `mysql`: rows as durable as any others, which the program
//! reads and writes.

use leafline_table::{Engine, Isolation, TableDef, TableSpec, TxnMode};
use leafline_types::column::value_at;
use leafline_types::{Collation, ColumnBuilder, MysqlError, Value};
use std::sync::Arc;

/// The database of the server's own tables.
pub const SYSTEM_DATABASE: &str = "mysql";

/// A row and its clustered key.
pub(crate) type LocatedRow = (Vec<u8>, Vec<Value>);

/// Creates a table with its first rows. The table enters the catalog with its rows: a crash leaves both or
/// none.
pub(crate) fn make(engine: &Arc<Engine>, spec: &TableSpec, rows: &[Vec<Value>]) -> Result<(), MysqlError> {
    engine.ddl().create_database(SYSTEM_DATABASE, Collation::DEFAULT, true)?;
    let table = engine.ddl().create_private_table(spec)?;
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    for row in rows {
        transaction.insert(&table, row)?;
    }
    transaction.commit()?;
    engine.ddl().publish_table(&table, false)?;
    Ok(())
}

/// Replaces the row for which `is_it` holds by `row`, or removes it; creates a missing table.
pub(crate) fn put(
    engine: &Arc<Engine>,
    spec: &TableSpec,
    is_it: impl Fn(&[Value]) -> bool,
    row: Option<&[Value]>,
) -> Result<(), MysqlError> {
    if engine.catalog().table(SYSTEM_DATABASE, &spec.name).is_none() {
        return row.map_or(Ok(()), |row| make(engine, spec, &[row.to_vec()]));
    }
    let table = engine.table(SYSTEM_DATABASE, &spec.name)?;
    let found = rows(engine, &table)?.into_iter().find(|(_, row)| is_it(row));
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    match (found, row) {
        (Some((locator, old)), Some(row)) => drop(transaction.update(&table, &locator, &old, row)?),
        (Some((locator, old)), None) => drop(transaction.delete(&table, &locator, &old)?),
        (None, Some(row)) => drop(transaction.insert(&table, row)?),
        (None, None) => {}
    }
    transaction.commit()?;
    Ok(())
}

pub(crate) fn rows(engine: &Arc<Engine>, table: &Arc<TableDef>) -> Result<Vec<LocatedRow>, MysqlError> {
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    let view = transaction.view();
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let decoder = leafline_table::row_decoder(table, &columns)?;
    let mut found = Vec::new();
    let mut cursor = view.entries(table, table.clustered())?;
    cursor.seek(&[]);
    let mut failure = None;
    while cursor.visit(leafline_table::Direction::Forward, &mut |entry| {
        let mut builders: Vec<ColumnBuilder> =
            table.columns.iter().map(|column| ColumnBuilder::for_type(&column.ty)).collect();
        match decoder.decode(entry.key, entry.payload, &mut builders) {
            Ok(()) => {
                let row: Vec<Value> = builders
                    .iter_mut()
                    .zip(&table.columns)
                    .map(|(builder, column)| value_at(&builder.finish(), 0, &column.ty))
                    .collect();
                found.push((entry.key.to_vec(), row));
            }
            Err(error) => failure = Some(error),
        }
        leafline_table::EntryStep::Next
    })? {}
    match failure {
        Some(error) => Err(MysqlError::unknown_error(error)),
        None => Ok(found),
    }
}
