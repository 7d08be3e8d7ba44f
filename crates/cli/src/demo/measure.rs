//! Runs the query once with nothing in memory, and reads the counters.

use super::super::failure::Failure;
use super::super::output::{Column, Kind, format_table};
use super::super::progress::grouped;
use super::query::Variant;
use leafline::{Connection, Database, OpenOptions};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The name of the variant.
    pub name: &'static str,
    /// The query's answer.
    pub answer: String,
    /// From the statement to its last row.
    pub time: Duration,
    /// Entries read, from any index.
    pub entries: u64,
    /// Rows read from the table because an index pointed at them.
    pub fetched: u64,
    /// Pages read from the disk.
    pub pages: u64,
    /// Bytes read from the disk.
    pub bytes: u64,
}

/// Opens the database anew, so that nothing is in memory, and runs the query once.
pub fn run(options: &OpenOptions, dir: &Path, variant: &Variant) -> Result<Measurement, Failure> {
    let database = options.open(dir)?;
    let mut connection = begin(&database, variant)?;
    connection.execute("FLUSH STATUS", ())?;
    let query = variant.query();
    let begun = Instant::now();
    let answer = match connection.query(&query, ())?.next() {
        Some(row) => row?.get::<Option<String>>(0)?.unwrap_or_else(|| "NULL".into()),
        None => String::new(),
    };
    let time = begun.elapsed();
    let counters = status(&mut connection)?;
    let count = |name: &str| counters.get(name).copied().unwrap_or(0);
    let run = Measurement {
        name: variant.name,
        answer,
        time,
        entries: count("Leafline_entries_examined"),
        fetched: count("Leafline_rows_fetched"),
        pages: count("Innodb_buffer_pool_reads"),
        bytes: count("Innodb_data_read"),
    };
    drop(connection);
    database.close()?;
    Ok(run)
}

/// Returns the output of EXPLAIN, in a database opened anew, so that it has not read anything either.
pub fn explain(options: &OpenOptions, dir: &Path, variant: &Variant) -> Result<String, Failure> {
    let database = options.open(dir)?;
    let mut connection = begin(&database, variant)?;
    let mut columns = Vec::new();
    let mut lines = Vec::new();
    let shown = ["table", "type", "possible_keys", "key", "key_len", "ref", "rows", "Extra"];
    let rows = connection.query(&format!("EXPLAIN {}", variant.query()), ())?;
    let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
    for name in names.iter().filter(|name| shown.contains(&name.as_str())) {
        let kind = if name == "rows" { Kind::Number } else { Kind::Text };
        columns.push(Column { name: name.clone(), kind });
    }
    for row in rows {
        let row = row?;
        let value = |column: &Column| {
            Ok::<_, Failure>(
                row.get::<Option<String>>(column.name.as_str())?.unwrap_or_else(|| "NULL".into()),
            )
        };
        lines.push(columns.iter().map(value).collect::<Result<Vec<_>, _>>()?);
    }
    drop(connection);
    database.close()?;
    format_table(&columns, &lines).map_err(Failure::output)
}

fn begin(database: &Database, variant: &Variant) -> Result<Connection, Failure> {
    let mut connection = database.connect()?;
    connection.execute("USE tpch", ())?;
    connection.execute(&variant.switch(), ())?;
    Ok(connection)
}

fn status(connection: &mut Connection) -> Result<HashMap<String, u64>, Failure> {
    let mut counters = HashMap::new();
    for row in connection.query("SHOW STATUS", ())? {
        let row = row?;
        // Status variables that are not numbers do not matter here.
        if let Ok(value) = row.get::<String>(1)?.parse() {
            counters.insert(row.get(0)?, value);
        }
    }
    Ok(counters)
}

/// Formats the runs as a table.
pub fn table(runs: &[Measurement]) -> Result<String, Failure> {
    let column = |name: &str, kind| Column { name: name.into(), kind };
    let columns = [
        column("variant", Kind::Text),
        column("time", Kind::Number),
        column("entries examined", Kind::Number),
        column("rows fetched", Kind::Number),
        column("pages read", Kind::Number),
        column("MB read", Kind::Number),
    ];
    let line = |run: &Measurement| {
        vec![
            run.name.to_owned(),
            format!("{:.3} s", run.time.as_secs_f64()),
            grouped(run.entries),
            grouped(run.fetched),
            grouped(run.pages),
            format!("{:.1}", run.bytes as f64 / 1e6),
        ]
    };
    format_table(&columns, &runs.iter().map(line).collect::<Vec<_>>()).map_err(Failure::output)
}
