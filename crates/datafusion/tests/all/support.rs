//! Databases and contexts for tests.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::context::SessionContext;
use datafusion::prelude::SessionConfig;
use leafline::{Connection, Database, OpenOptions};
use leafline_datafusion::LeaflineTable;
use std::sync::Arc;
use tempfile::TempDir;

/// A database with a schema `d`, and small pages, so that few rows have many leaves.
pub struct Home {
    pub database: Database,
    pub connection: Connection,
    // Last, because it is removed after the database is closed.
    _directory: TempDir,
}

impl Home {
    pub fn new(statements: &[&str]) -> Home {
        let directory = tempfile::tempdir().expect("a directory");
        let options = OpenOptions::new().page_size(4096).buffer_pool_size(32 << 20);
        let database = options.open(directory.path().join("db")).expect("a database");
        let mut connection = database.connect().expect("a connection");
        connection.execute("CREATE DATABASE d", ()).expect("a schema");
        connection.execute("USE d", ()).expect("the schema");
        let mut home = Home { database, connection, _directory: directory };
        statements.iter().for_each(|statement| home.run(statement));
        home
    }

    pub fn run(&mut self, sql: &str) {
        self.connection.execute(sql, ()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Makes a context with tables of `d`, read in pieces even if they are small.
    pub fn context(&self, tables: &[&str]) -> SessionContext {
        let config = SessionConfig::new().with_target_partitions(4);
        let context = SessionContext::new_with_config(config);
        for name in tables {
            let table =
                LeaflineTable::open(&self.database, "d", name).expect("a table").with_rows_per_piece(1);
            context.register_table(*name, Arc::new(table)).expect("a registered table");
        }
        context
    }
}

/// Makes a table of `rows` rows with three columns: the number, a third of it that is sometimes NULL, and a text.
pub fn numbers(home: &mut Home, name: &str, rows: usize) {
    home.run(&format!(
        "CREATE TABLE {name} (id INT PRIMARY KEY, third INT, name VARCHAR(20) NOT NULL, KEY (third))"
    ));
    let rows: Vec<String> = (0..rows)
        .map(|id| match id % 10 {
            9 => format!("({id}, NULL, 'name {id}')"),
            _ => format!("({id}, {}, 'name {id}')", id / 3),
        })
        .collect();
    for rows in rows.chunks(1000) {
        home.run(&format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
    }
}

pub async fn batches(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    let frame = context.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Returns the rows as texts, column by column.
pub async fn rows(context: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    texts(&batches(context, sql).await)
}

pub fn texts(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).expect("values that can be shown"))
            .collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect()),
        );
    }
    rows
}

/// Returns the physical plan.
pub async fn plan(context: &SessionContext, sql: &str) -> String {
    let rows = rows(context, &format!("EXPLAIN {sql}")).await;
    rows.into_iter().filter(|row| row[0] == "physical_plan").map(|row| row[1].clone()).collect()
}

/// Returns the line of the plan that reads a table.
pub async fn scan(context: &SessionContext, sql: &str) -> String {
    let plan = plan(context, sql).await;
    let line = plan.lines().find(|line| line.contains("LeaflineScan"));
    line.unwrap_or_else(|| panic!("no scan in {plan}")).trim().to_owned()
}
