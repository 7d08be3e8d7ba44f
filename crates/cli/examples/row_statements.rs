//! Measures the cost of a row that a prepared statement inserts, changes or deletes, in one large transaction:
//! Leafline beside SQLite, in processor time, so that other load on the machine hardly matters.
//!
//! ```text
//! cargo run --release -p leafline-cli --example row_statements -- DIRECTORY [rows] [rounds]
//! ```
//!
//! The engines take turns; for each workload the least time of a row counts. Run it by `bench/row_statements.sh`.

use leafline::{OpenOptions, Result};
use std::path::Path;
use std::time::{Duration, Instant};

const WORKLOADS: [(&str, &str); 5] = [
    ("insert", "INSERT INTO t VALUES (?, ?, ?, ?)"),
    ("commit of that", ""),
    ("update by key", "UPDATE t SET price = price + 1 WHERE id = ?"),
    ("commit of that", ""),
    ("delete by key", "DELETE FROM t WHERE id = ?"),
];

/// Returns the processor time of all threads of the process, which the system counts in ticks of a hundredth of a
/// second.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The processor time and the elapsed time of each workload.
#[derive(Default)]
struct Laps(Vec<(Duration, Duration)>);

impl Laps {
    fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let (began, used) = (Instant::now(), processor());
        let done = work();
        self.0.push((processor().saturating_sub(used), began.elapsed()));
        done
    }
}

fn keys(rows: i64) -> impl Iterator<Item = i64> {
    let mut random = 7_u64;
    (0..rows / 2).map(move |_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as i64 % rows
    })
}

fn leafline(directory: &Path, rows: i64) -> Result<Laps> {
    let database = OpenOptions::new().buffer_pool_size(128 << 20).open(directory)?;
    let mut connection = database.connect()?;
    connection.execute("CREATE DATABASE d", ())?;
    connection.execute("USE d", ())?;
    connection
        .execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(40), price DOUBLE, n INT)", ())?;
    let mut laps = Laps::default();
    let names: Vec<String> = (0..1000).map(|n| format!("name of {n}")).collect();
    connection.execute("BEGIN", ())?;
    let insert = connection.prepare(WORKLOADS[0].1)?;
    laps.time(|| -> Result<()> {
        for n in 0..rows {
            let name = names[n as usize % names.len()].as_str();
            insert.execute(&mut connection, (n, name, n as f64, n % 100))?;
        }
        Ok(())
    })?;
    laps.time(|| connection.execute("COMMIT", ()))?;
    connection.execute("BEGIN", ())?;
    let update = connection.prepare(WORKLOADS[2].1)?;
    laps.time(|| keys(rows).try_for_each(|key| update.execute(&mut connection, (key,)).map(drop)))?;
    laps.time(|| connection.execute("COMMIT", ()))?;
    connection.execute("BEGIN", ())?;
    let delete = connection.prepare(WORKLOADS[4].1)?;
    laps.time(|| keys(rows).try_for_each(|key| delete.execute(&mut connection, (key,)).map(drop)))?;
    connection.execute("ROLLBACK", ())?;
    Ok(laps)
}

fn sqlite(directory: &Path, rows: i64) -> rusqlite::Result<Laps> {
    let connection = rusqlite::Connection::open(directory.join("sqlite"))?;
    connection.execute_batch(
        "PRAGMA cache_size = -131072; CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL, n INTEGER)",
    )?;
    let mut laps = Laps::default();
    let names: Vec<String> = (0..1000).map(|n| format!("name of {n}")).collect();
    connection.execute_batch("BEGIN")?;
    let mut insert = connection.prepare(WORKLOADS[0].1)?;
    laps.time(|| -> rusqlite::Result<()> {
        for n in 0..rows {
            let name = names[n as usize % names.len()].as_str();
            insert.execute((n, name, n as f64, n % 100))?;
        }
        Ok(())
    })?;
    laps.time(|| connection.execute_batch("COMMIT"))?;
    connection.execute_batch("BEGIN")?;
    let mut update = connection.prepare(WORKLOADS[2].1)?;
    laps.time(|| keys(rows).try_for_each(|key| update.execute((key,)).map(drop)))?;
    laps.time(|| connection.execute_batch("COMMIT"))?;
    connection.execute_batch("BEGIN")?;
    let mut delete = connection.prepare(WORKLOADS[4].1)?;
    laps.time(|| keys(rows).try_for_each(|key| delete.execute((key,)).map(drop)))?;
    drop((insert, update, delete));
    connection.execute_batch("ROLLBACK")?;
    Ok(laps)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("a directory to work in")?;
    let rows: i64 = arguments.next().map_or(Ok(400_000), |rows| rows.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |rounds| rounds.parse())?;
    let directory = Path::new(&directory);
    let mut least = vec![[(Duration::MAX, Duration::MAX); 2]; WORKLOADS.len()];
    for _ in 0..rounds {
        std::fs::create_dir_all(directory)?;
        let both = [leafline(&directory.join("leafline"), rows)?, sqlite(directory, rows)?];
        std::fs::remove_dir_all(directory)?;
        for (engine, laps) in both.iter().enumerate() {
            for (lap, least) in laps.0.iter().zip(&mut least) {
                least[engine] = (least[engine].0.min(lap.0), least[engine].1.min(lap.1));
            }
        }
    }
    println!("| time of processor for a row, us | Leafline | SQLite | SQLite by Leafline |");
    println!("|---|---:|---:|---:|");
    for (number, ((name, _), least)) in WORKLOADS.iter().zip(&least).enumerate() {
        let count = if number < 2 { rows } else { rows / 2 } as f64;
        let [ours, theirs] = least.map(|(processor, _)| processor.as_secs_f64() * 1e6 / count);
        println!("| {name} | {ours:.2} | {theirs:.2} | {:.2} |", theirs / ours);
    }
    Ok(())
}
