//! Measures the cost of write sets: many small transactions, and one that changes every row of a table larger than the buffer pool.
//!
//! ```text
//! cargo run --release -p leafline-table --example write_sets -- DIRECTORY small ROWS_PER_TRANSACTION TRANSACTIONS
//! cargo run --release -p leafline-table --example write_sets -- DIRECTORY large ROWS POOL_MIB
//! ```
//!
//! `small` inserts rows and updates them, the log being written once a second. `large` loads the table and updates all of
//! it in one transaction, by clustered key. Both have a unique and a plain secondary index. The directory must not exist.

use leafline_storage::device::DirectoryEnv;
use leafline_table::{
    BuildControl, ColumnDef, Engine, EngineOptions, FlushPolicy, IndexSpec, IndexSpecKind, IndexSpecPart,
    Isolation, StoreOptions, TableDef, TableSpec, TxnMode,
};
use leafline_types::{Collation, SqlType, Value};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, mode, first, second] = arguments.as_slice() else {
        return Err(
            "usage: write_sets DIRECTORY small ROWS TRANSACTIONS | DIRECTORY large ROWS POOL_MIB".into()
        );
    };
    let (first, second) = (first.parse::<i64>()?, second.parse::<i64>()?);
    std::fs::create_dir(directory)?;
    let pool = if mode == "large" { second as u64 } else { 256 };
    let store = StoreOptions {
        buffer_pool_bytes: pool << 20,
        log_capacity_bytes: 1 << 30,
        flush_log_at_commit: FlushPolicy::EverySecond,
        ..StoreOptions::default()
    };
    let engine = Engine::open(
        Arc::new(DirectoryEnv::open(directory)?),
        EngineOptions { store, ..EngineOptions::default() },
    )?;
    let table = create(&engine)?;
    match mode.as_str() {
        "small" => small(&engine, &table, first, second)?,
        "large" => large(&engine, first)?,
        other => return Err(format!("no such mode: {other}").into()),
    }
    engine.close()?;
    Ok(std::fs::remove_dir_all(directory)?)
}

fn create(engine: &Engine) -> Result<Arc<TableDef>> {
    let column = |name: &str, ty: SqlType| ColumnDef::new(name, ty, false, Collation::Binary);
    let index = |name: &str, kind, column: &str| IndexSpec {
        name: Some(name.into()),
        kind,
        parts: vec![IndexSpecPart::new(column)],
        ..IndexSpec::default()
    };
    let int = SqlType::Int { unsigned: false };
    let columns = vec![
        column("id", int.clone()),
        column("u", int.clone()),
        column("n", int),
        column("text", SqlType::Varbinary { len: 200 }),
    ];
    let mut indexes = vec![index("u", IndexSpecKind::Unique, "u"), index("n", IndexSpecKind::Plain, "n")];
    indexes.push(IndexSpec { name: None, ..index("", IndexSpecKind::Primary, "id") });
    engine.ddl().create_database("d", Collation::DEFAULT, true)?;
    let spec = TableSpec { database: "d".into(), name: "t".into(), columns, indexes, ..TableSpec::default() };
    engine.ddl().create_table(&spec, false)?;
    Ok(engine.table("d", "t")?)
}

fn row(id: i64, n: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(id), Value::Int(n), Value::bytes(vec![id as u8; 180])]
}

fn key(table: &TableDef, row: &[Value]) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    table.clustered().format.encode_key(row, &[], &mut key)?;
    Ok(key)
}

fn small(engine: &Arc<Engine>, table: &Arc<TableDef>, rows: i64, transactions: i64) -> Result<()> {
    for insert in [true, false] {
        let begun = Instant::now();
        for number in 0..transactions {
            let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
            for id in number * rows..(number + 1) * rows {
                transaction.begin_statement();
                let old = row(id, id % 1000);
                match insert {
                    true => drop(transaction.insert(table, &old)?),
                    false => drop(transaction.update(table, &key(table, &old)?, &old, &row(id, id % 999))?),
                }
            }
            transaction.commit()?;
        }
        let per_second = (rows * transactions) as f64 / begun.elapsed().as_secs_f64();
        println!("{}\t{per_second:.0} rows/s", if insert { "insert" } else { "update" });
    }
    Ok(())
}

fn large(engine: &Arc<Engine>, rows: i64) -> Result<()> {
    let stats = engine.store().stats();
    let report = |what: &str, begun: Instant| {
        let mib = |bytes: u64| bytes >> 20;
        println!(
            "{what}\t{:.1} s\tdata pages written {} MiB\tlent {} MiB\tresident {} MiB",
            begun.elapsed().as_secs_f64(),
            mib(stats.bytes_written.load(Ordering::Relaxed)),
            mib(engine.store().memory_lent()),
            mib(resident()),
        );
    };
    let begun = Instant::now();
    let mut loader = engine.ddl().bulk_load(&engine.table("d", "t")?, &BuildControl::of(engine))?;
    (0..rows).try_for_each(|id| loader.push(&row(id, id % 1000)))?;
    loader.finish()?;
    report("load", begun);
    let table = &engine.table("d", "t")?;
    let begun = Instant::now();
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    for id in 0..rows {
        let old = row(id, id % 1000);
        transaction.update(table, &key(table, &old)?, &old, &row(id, id % 999))?;
    }
    report("update", begun);
    let begun = Instant::now();
    transaction.commit()?;
    report("commit", begun);
    Ok(())
}

/// Memory of the process, where the system tells.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
