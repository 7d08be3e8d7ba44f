//! Compares Leafline with SQLite as embedded SQL databases: prepared statements on one table, in memory, with durable
//! commits.
//!
//! `prepared [--rows N] [--seconds N] [--rounds N] [--only WORDS] [--directory PATH]`
//!
//! The table has an integer primary key, an index on another column, and 100 bytes of data. SQLite runs in WAL mode
//! with synchronous=FULL and a cache as large as the table. Each line is a workload: operations per second of
//! Leafline, of SQLite, and their ratio. The engines take turns; the median of the rounds counts. The last line is
//! the limit of the disk: appends of 4 KiB, each made durable.

use leafline::{Connection, Database, OpenOptions, Statement};
use std::fs::OpenOptions as FileOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PAD: &str =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// The workloads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Lookup,
    LookupInTransaction,
    Covering,
    BySecondary,
    Range,
    Sum,
    Insert,
    InsertBatch,
    Update,
    TwoWriters,
}

use Work::*;

const ALL: [(Work, &str); 10] = [
    (Lookup, "row by primary key"),
    (LookupInTransaction, "the same in one transaction"),
    (Covering, "covering read of a secondary index"),
    (BySecondary, "row by a secondary index"),
    (Range, "100 rows by primary key"),
    (Sum, "rows of SELECT SUM(b)"),
    (Insert, "rows inserted, each durable"),
    (InsertBatch, "rows inserted, 1,000 a transaction"),
    (Update, "rows updated by primary key, each durable"),
    (TwoWriters, "rows inserted by two writers"),
];

impl Work {
    fn sql(self) -> &'static str {
        match self {
            Lookup | LookupInTransaction => "SELECT pad FROM t WHERE id = ?",
            Covering => "SELECT a, id FROM t WHERE a = ?",
            BySecondary => "SELECT pad FROM t WHERE a = ?",
            Range => "SELECT id, pad FROM t WHERE id BETWEEN ? AND ?",
            Sum => "SELECT SUM(b) FROM t",
            Insert | InsertBatch | TwoWriters => "INSERT INTO t (id, a, b, pad) VALUES (?, ?, ?, ?)",
            Update => "UPDATE t SET b = b + 1 WHERE id = ?",
        }
    }

    fn parameters(self) -> usize {
        match self {
            Sum => 0,
            Range => 2,
            Insert | InsertBatch | TwoWriters => 4,
            _ => 1,
        }
    }

    /// Returns how many statements form a transaction; 0 without transactions.
    fn transaction(self) -> u64 {
        match self {
            LookupInTransaction => u64::MAX,
            InsertBatch => 1000,
            _ => 0,
        }
    }
}

/// Either engine, as one user of it sees it.
trait Client: Send {
    fn run(&mut self, sql: &str);
    fn prepare(&mut self, sql: &str);
    /// Runs the prepared statement; returns the bytes and digits received, so that all of the result is read.
    fn step(&mut self, parameters: &[i64]) -> u64;
}

struct Ours {
    connection: Connection,
    statement: Option<Statement>,
}

impl Client for Ours {
    fn run(&mut self, sql: &str) {
        self.connection.execute(sql, ()).expect("runs");
    }

    fn prepare(&mut self, sql: &str) {
        self.statement = Some(self.connection.prepare(sql).expect("a statement"));
    }

    fn step(&mut self, parameters: &[i64]) -> u64 {
        let statement = self.statement.as_ref().expect("prepared");
        let rows = match *parameters {
            [] => statement.query(&mut self.connection, ()),
            [a] => statement.query(&mut self.connection, (a,)),
            [a, b] => statement.query(&mut self.connection, (a, b)),
            [a, b, c, ..] => statement.query(&mut self.connection, (a, b, c, PAD)),
        };
        let mut seen = 0;
        for row in rows.expect("runs") {
            let row = row.expect("a row");
            for column in 0..row.columns().len() {
                seen += match row.columns()[column].ty.is_character() {
                    true => row.get_str(column).map_or(0, |text| text.map_or(0, |text| text.len() as u64)),
                    false if row.columns()[column].ty.is_integer() => {
                        row.get::<i64>(column).map_or(0, |number| number as u64)
                    }
                    false => row.get::<String>(column).map_or(0, |text| text.len() as u64),
                };
            }
        }
        seen
    }
}

struct Theirs {
    connection: rusqlite::Connection,
    sql: String,
}

impl Client for Theirs {
    fn run(&mut self, sql: &str) {
        self.connection.execute_batch(sql).expect("runs");
    }

    fn prepare(&mut self, sql: &str) {
        self.sql = sql.to_owned();
    }

    fn step(&mut self, parameters: &[i64]) -> u64 {
        let mut statement = self.connection.prepare_cached(&self.sql).expect("a statement");
        for (place, value) in (1..).zip(parameters) {
            statement.raw_bind_parameter(place, value).expect("binds");
        }
        if parameters.len() == 3 {
            statement.raw_bind_parameter(4, PAD).expect("binds");
        }
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut seen = 0;
        while let Some(row) = rows.next().expect("a row") {
            for column in 0..columns {
                seen += match row.get_ref(column).expect("a value") {
                    rusqlite::types::ValueRef::Integer(number) => number as u64,
                    other => other.as_bytes().map_or(0, |text| text.len() as u64),
                };
            }
        }
        seen
    }
}

enum Engine {
    Leafline(Database),
    Sqlite(PathBuf),
}

impl Engine {
    fn client(&self) -> Box<dyn Client> {
        match self {
            Engine::Leafline(database) => {
                let mut connection = database.connect().expect("connects");
                connection.execute("CREATE DATABASE IF NOT EXISTS d", ()).expect("a database");
                connection.execute("USE d", ()).expect("a database");
                Box::new(Ours { connection, statement: None })
            }
            Engine::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).expect("opens");
                connection.busy_timeout(Duration::from_secs(60)).expect("a timeout");
                for (name, value) in
                    [("journal_mode", "WAL"), ("synchronous", "FULL"), ("cache_size", "-1048576")]
                {
                    connection.pragma_update(None, name, value).expect("a setting");
                }
                Box::new(Theirs { connection, sql: String::new() })
            }
        }
    }

    fn load(&self, rows: u64) {
        let mut client = self.client();
        client.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, pad VARCHAR(100))");
        client.run("CREATE INDEX a ON t (a)");
        client.prepare(Insert.sql());
        for part in (0..rows).collect::<Vec<_>>().chunks(10_000) {
            client.run("BEGIN");
            for &id in part {
                client.step(&inserted(id, rows));
            }
            client.run("COMMIT");
        }
    }
}

/// Returns the value of `a` in row `id` of `rows` rows: each value once, in scattered order.
fn scattered(id: u64, rows: u64) -> u64 {
    (id * 7919) % rows
}

fn inserted(id: u64, rows: u64) -> [i64; 3] {
    [id as i64, scattered(id, rows) as i64, (id % 1000) as i64]
}

/// Runs the work for some time from row `from` on; returns the number of operations, and the next row.
fn measure(client: &mut dyn Client, work: Work, rows: u64, from: u64, seconds: f64) -> (u64, u64) {
    client.prepare(work.sql());
    let begun = Instant::now();
    let (mut done, mut next, mut in_transaction) = (0, from, 0);
    while begun.elapsed().as_secs_f64() < seconds {
        for _ in 0..if work == Sum { 1 } else { 16 } {
            if work.transaction() > 0 && in_transaction == 0 {
                client.run("BEGIN");
            }
            let any = next.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let parameters = match work.parameters() {
                4 => inserted(next, rows).to_vec(),
                2 => vec![(any % (rows - 100)) as i64, (any % (rows - 100)) as i64 + 99],
                count => vec![(any % rows) as i64; count],
            };
            std::hint::black_box(client.step(&parameters));
            next += 1;
            done += if work == Sum { rows } else { 1 };
            in_transaction += 1;
            if work.transaction() == in_transaction {
                client.run("COMMIT");
                in_transaction = 0;
            }
        }
    }
    if work.transaction() > 0 && in_transaction > 0 {
        client.run("COMMIT");
    }
    ((done as f64 / begun.elapsed().as_secs_f64()) as u64, next)
}

/// Runs two writers side by side, each with its own rows.
fn two_writers(engine: &Engine, rows: u64, from: u64, seconds: f64) -> (u64, u64) {
    let far = 1 << 30;
    let mut clients = [(engine.client(), from), (engine.client(), from + far)];
    let rates: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let running = clients.iter_mut().map(|(client, from)| {
            let from = *from;
            scope.spawn(move || measure(&mut **client, TwoWriters, rows, from, seconds))
        });
        let running: Vec<_> = running.collect();
        running.into_iter().map(|thread| thread.join().expect("a writer")).collect()
    });
    (rates.iter().map(|(rate, _)| rate).sum(), rates[0].1.max(rates[1].1 - far))
}

fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of[of.len() / 2]
}

/// Returns how many appends of 4 KiB, each made durable, the disk does per second.
fn append_floor(directory: &Path, seconds: f64) -> u64 {
    let mut file =
        FileOptions::new().create(true).append(true).open(directory.join("floor")).expect("a file");
    let (begun, mut done) = (Instant::now(), 0);
    while begun.elapsed().as_secs_f64() < seconds {
        file.write_all(&[7; 4096]).expect("writes");
        file.sync_data().expect("syncs");
        done += 1;
    }
    (f64::from(done) / begun.elapsed().as_secs_f64()) as u64
}

fn main() {
    let (mut rows, mut seconds, mut rounds) = (1_000_000, 2.0, 3);
    let mut directory = PathBuf::from("target/prepared");
    let mut only = String::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (argument.as_str(), value.parse::<u64>()) {
            ("--rows", Ok(number)) => rows = number.max(1000),
            ("--seconds", Ok(number)) => seconds = number as f64,
            ("--rounds", Ok(number)) => rounds = number.max(1),
            ("--only", _) => only = value,
            ("--directory", _) => directory = PathBuf::from(value),
            _ => {
                eprintln!(
                    "usage: prepared [--rows N] [--seconds N] [--rounds N] [--only WORDS] [--directory PATH]"
                );
                std::process::exit(2);
            }
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    let ours = OpenOptions::new().buffer_pool_size(1 << 30).open(directory.join("leafline")).expect("opens");
    let engines = [Engine::Leafline(ours), Engine::Sqlite(directory.join("sqlite"))];
    engines.iter().for_each(|engine| engine.load(rows));
    let mut next = [rows; 2];
    println!("| work | Leafline | SQLite | ratio |\n|---|---:|---:|---:|");
    for (work, name) in ALL.into_iter().filter(|(_, name)| name.contains(&only)) {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (at, engine) in engines.iter().enumerate() {
                let (rate, after) = match work {
                    TwoWriters => two_writers(engine, rows, next[at], seconds),
                    _ => measure(&mut *engine.client(), work, rows, next[at], seconds),
                };
                next[at] = after;
                rates[at].push(rate);
            }
        }
        let [ours, theirs] = rates.map(median);
        println!("| {name} | {ours} | {theirs} | {:.2} |", ours as f64 / theirs as f64);
    }
    println!("| 4 KiB appended, each durable | {} | | |", append_floor(&directory, seconds));
    drop(engines);
    let _ = std::fs::remove_dir_all(&directory);
}
