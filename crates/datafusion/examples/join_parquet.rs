//! Joins a table of Leafline with a Parquet file: customers in the database, with a log of visits that another
//! program has written.
//!
//! `cargo run --example join_parquet`

use datafusion::arrow::array::{Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use leafline::Database;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const QUERY: &str = "
    SELECT c.name, c.city, count(*) AS visits, sum(v.seconds) AS seconds
    FROM customer c JOIN visits v ON v.customer = c.id
    WHERE c.since >= 2015 AND v.seconds > 10
    GROUP BY c.id, c.name, c.city
    ORDER BY visits DESC, c.name";

/// Writes visits of customers 1 to 50 to a Parquet file.
fn write_visits(path: &Path) -> Result<(), Box<dyn Error>> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("customer", DataType::Int64, false),
        Field::new("page", DataType::Utf8, false),
        Field::new("seconds", DataType::Int64, false),
    ]));
    let rows = 0..10_000_i64;
    let customers = Int64Array::from_iter_values(rows.clone().map(|row| row * row % 50 + 1));
    let pages = StringArray::from_iter_values(rows.clone().map(|row| format!("/item/{}", row % 7)));
    let seconds = Int64Array::from_iter_values(rows.map(|row| row % 60));
    let columns: RecordBatch =
        RecordBatch::try_new(schema.clone(), vec![Arc::new(customers), Arc::new(pages), Arc::new(seconds)])?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, None)?;
    writer.write(&columns)?;
    writer.close()?;
    Ok(())
}

/// Makes a table of customers 1 to 1,000.
fn make_customers(database: &Database) -> leafline::Result<()> {
    let mut connection = database.connect()?;
    connection.execute("CREATE DATABASE shop", ())?;
    connection.execute("CREATE TABLE shop.customer (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, city VARCHAR(40), since YEAR NOT NULL)", ())?;
    let insert = connection.prepare("INSERT INTO shop.customer VALUES (?, ?, ?, ?)")?;
    let mut transaction = connection.transaction()?;
    let cities = ["Oslo", "Bergen", "Turku"];
    for (id, city) in (1..=1000).zip(cities.iter().cycle()) {
        insert.execute(&mut transaction, (id, format!("customer {id}"), *city, 2010 + id % 10))?;
    }
    transaction.commit()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let visits = directory.path().join("visits.parquet");
    write_visits(&visits)?;
    let database = Database::open(directory.path().join("db"))?;
    make_customers(&database)?;

    let context = SessionContext::new();
    leafline_datafusion::register_all(&context, &database, "shop")?;
    context.register_parquet("visits", visits.display().to_string(), ParquetReadOptions::default()).await?;

    let plan = context.sql(&format!("EXPLAIN {QUERY}")).await?.collect().await?;
    println!("{}", pretty_format_batches(&plan)?);
    let rows = context.sql(QUERY).await?.collect().await?;
    println!("{}", pretty_format_batches(&rows)?);
    Ok(())
}
