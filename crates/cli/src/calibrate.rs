//! `leafline calibrate`: measures the device and the processor, and writes the profile by which plans are priced.
//!
//! Reads of a separate file in the database's directory measure the device. A few queries in memory measure the
//! processor; their times are compared with the predictions of the cost model's constants.

use super::args::CalibrateOptions as Options;
use super::existing::{environment, no_database};
use super::failure::Failure;
use super::open;
use leafline::{Connection, FlushPolicy, FromValue, OpenOptions, Params};
use leafline_access::cost::{Calibrated, DeviceProfile, StoredProfile};
use leafline_storage::device::measure;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

/// The number of rows of the table that the processor reads.
const ROWS: u32 = 100_000;
/// The number of runs of each query.
const RUNS: usize = 5;
/// The page size in bytes for which the prices of reads hold.
const PAGE_BYTES: usize = 16_384;

/// Queries that measure entries, rows, rows fetched, and leaps.
const QUERIES: [&str; 4] = [
    "SELECT SUM(v) FROM t FORCE INDEX (kv) WHERE k >= 0",
    "SELECT SUM(LENGTH(pad)) FROM t IGNORE INDEX (kv) WHERE v >= 0",
    "SELECT SUM(LENGTH(pad)) FROM t FORCE INDEX (kv) WHERE k BETWEEN 100 AND 200",
    "SELECT /*+ SKIP_SCAN(t kv) */ COUNT(*) FROM t FORCE INDEX (kv) WHERE v = 5",
];

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    let dir = &options.dir;
    if !dir.join("control").exists() {
        return Err(no_database(dir));
    }
    let env = environment(dir)?;
    let _held = env.lock().map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Failure::Message(open::already_open(dir)),
        _ => Failure::io(format!("cannot lock {}", dir.display()), error),
    })?;
    if !env.direct_io() {
        eprintln!(
            "Warning: the file system does not support direct I/O: the measurement includes the page cache"
        );
    }
    let failed = |error| Failure::io(format!("cannot measure the device of {}", dir.display()), error);
    let device = DeviceProfile::of_measured(&measure(&*env).map_err(failed)?, PAGE_BYTES);
    let (cpu, when) = measure_processor(dir)?;
    // Replaces earlier observations.
    let profile =
        StoredProfile { calibrated: Some(Calibrated { device, cpu, when }), ..StoredProfile::default() };
    profile.write(&*env).map_err(|error| Failure::io("cannot write the profile".to_string(), error))?;
    println!("random_read_time     {:10.1} microseconds", device.random_read_us);
    println!("sequential_read_rate {:10.1} MB/s", device.bytes_per_us);
    println!("parallel_reads       {:10.1}", device.parallel_reads);
    println!("cpu_factor           {cpu:10.2}");
    Ok(())
}

/// A database that is removed on drop.
struct Scratch {
    path: std::path::PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            eprintln!("Warning: {} cannot be removed: {error}", self.path.display());
        }
    }
}

/// Returns the ratio of this processor's time to the time that the constants predict, as the geometric mean over the
/// queries, and the time of the measurement.
fn measure_processor(dir: &Path) -> Result<(f64, String), Failure> {
    let scratch = Scratch { path: dir.join("calibration.db") };
    let options = OpenOptions::new().flush_log_at_commit(FlushPolicy::EverySecond);
    let options = options.set("innodb_parallel_read_threads", "1").set("leafline_device", "nvme");
    let database = options.open(&scratch.path)?;
    let mut connection = database.connect()?;
    connection.execute("CREATE DATABASE c", ())?;
    connection.execute("USE c", ())?;
    connection.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, pad CHAR(80) NOT NULL, KEY kv (k, v))",
        (),
    )?;
    connection.execute(
        &format!(
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
             SELECT a.i * 1000 + b.i, (a.i * 1000 + b.i) * 7919 % 1000, b.i, REPEAT('x', 80)
             FROM n a JOIN n b WHERE a.i < {}",
            ROWS / 1000
        ),
        (),
    )?;
    let mut product = 1.0;
    for query in QUERIES {
        product *=
            (best_time_us(&mut connection, query)? / expected_us(&mut connection, query)?).clamp(0.05, 20.0);
    }
    let measured = first_value(&mut connection, "SELECT CAST(UTC_TIMESTAMP AS CHAR)", ())?;
    drop(connection);
    database.close()?;
    Ok((f64::powf(product, 1.0 / QUERIES.len() as f64), measured))
}

fn best_time_us(connection: &mut Connection, query: &str) -> Result<f64, Failure> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let begun = Instant::now();
        for row in connection.query(query, ())? {
            row?;
        }
        best = best.min(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(best)
}

/// Returns the expected time of a query in microseconds, from EXPLAIN.
fn expected_us(connection: &mut Connection, query: &str) -> Result<f64, Failure> {
    let explained: String = first_value(connection, &format!("EXPLAIN FORMAT=JSON {query}"), ())?;
    let cost = "SELECT CAST(JSON_UNQUOTE(JSON_EXTRACT(?, '$.query_block.cost_info.query_cost')) AS DOUBLE)";
    first_value(connection, cost, (explained,))
}

/// Returns the only value of a query.
fn first_value<T: FromValue>(
    connection: &mut Connection,
    query: &str,
    parameters: impl Params,
) -> Result<T, Failure> {
    let mut rows = connection.query(query, parameters)?;
    match rows.next() {
        Some(row) => Ok(row?.get::<T>(0)?),
        None => Err(Failure::Message(format!("there is no answer to {query}"))),
    }
}
