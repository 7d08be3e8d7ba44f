//! Runs SQLite's corpus for sqllogictest in its MySQL mode.
//!
//! `sample_of_the_corpus_passes` runs the records of `tests/sqllogictest/corpus`. The repository does not contain the
//! whole corpus (a gigabyte, 7 million records); with a copy of it:
//!
//! ```text
//! LEAFLINE_CORPUS=.../sqllogictest/test [LEAFLINE_PEER=127.0.0.1:3306] \
//!     cargo test --release --test corpus -- --ignored --nocapture
//! ```
//!
//! The peer is a MariaDB that lets root in without a password. It runs every record that fails here, because not all
//! records of the corpus are valid for MySQL. `LEAFLINE_CORPUS_ONLY` restricts the run to files with that in their
//! path.

#[path = "support/sqllogictest.rs"]
mod sqllogictest;
mod support;

use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::FlushPolicy;
use leafline_storage::device::DirectoryEnv;
use leafline_types::TextColumns;
use md5::{Digest, Md5};
use sqllogictest::{Expected, Order, Record, parse};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::client::{self, Client};

/// The corpus has MySQL's answers of 2009, under an sql_mode that refuses nothing.
const SETTINGS: &str = "SET sql_mode = ''";

/// Rows of values as text; none for a statement that returns none.
type Rows = Vec<Vec<Option<String>>>;

/// Runs SQL: Leafline, or the peer.
trait Engine {
    /// Runs a statement, and returns its rows or its error.
    fn run(&mut self, sql: &str) -> Result<Rows, String>;
}

struct Embedded(Session);

impl Engine for Embedded {
    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let session = &mut self.0;
        let mut stream = match session.execute(sql).map_err(|error| error.to_string())? {
            Outcome::Done(_) => return Ok(Vec::new()),
            Outcome::Rows(stream) => stream,
        };
        let types = stream.types();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch(session).map_err(|error| error.to_string())? {
            let columns = TextColumns::new(&batch, &types);
            let value = |row, column| {
                let mut text = Vec::new();
                columns.append(row, column, &mut text).then(|| String::from_utf8_lossy(&text).into_owned())
            };
            rows.extend(
                (0..batch.rows)
                    .map(|row| (0..types.len()).map(|column| value(row, column)).collect::<Vec<_>>()),
            );
        }
        Ok(rows)
    }
}

impl Engine for Client {
    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        match self.query(sql).map_err(|error| error.to_string())? {
            client::Answer::Done(_) => Ok(Vec::new()),
            client::Answer::Rows(rows) => Ok(rows),
            client::Answer::Error(code, message) => Err(format!("ERROR {code}: {message}")),
            client::Answer::WantsFile(path) => Err(format!("{path} is wanted")),
        }
    }
}

/// Returns a value in the corpus's form, by the letter of its column.
fn written(value: Option<&str>, letter: char) -> String {
    let Some(value) = value else { return "NULL".into() };
    let number = || value.parse::<f64>().unwrap_or(0.0);
    match letter {
        'I' => value.parse::<i64>().unwrap_or_else(|_| number() as i64).to_string(),
        'R' => format!("{:.3}", number()),
        _ if value.is_empty() => "(empty)".into(),
        _ => value.bytes().map(|b| if (b' '..=b'~').contains(&b) { char::from(b) } else { '@' }).collect(),
    }
}

/// Compares the answer with the expected one of `record`; returns the difference as an error.
fn check(engine: &mut dyn Engine, record: &Record) -> Result<(), String> {
    let answer = engine.run(&record.sql);
    let (types, order, lines) = match &record.expected {
        Expected::Error(_) => return answer.map_or(Ok(()), |_| Err("an error was expected".into())),
        Expected::Success | Expected::Changed(_) => return answer.map(|_| ()),
        Expected::Rows { types, order, lines } => (types, order, lines),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in answer? {
        if row.len() != types.len() {
            return Err(format!("{} columns", row.len()));
        }
        rows.push(
            row.iter().zip(types.chars()).map(|(value, letter)| written(value.as_deref(), letter)).collect(),
        );
    }
    if *order == Order::Rows {
        rows.sort();
    }
    let mut values: Vec<String> = rows.into_iter().flatten().collect();
    if *order == Order::Values {
        values.sort();
    }
    let as_expected = match &lines[..] {
        [line] if line.contains(" values hashing to ") => *line == hashed(&values),
        lines => values == *lines,
    };
    if as_expected { Ok(()) } else { Err(format!("values are {}", values.join(", "))) }
}

/// Returns the corpus's form of long results.
fn hashed(values: &[String]) -> String {
    let mut digest = Md5::new();
    for value in values {
        digest.update(value.as_bytes());
        digest.update(b"\n");
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} values hashing to {hex}", values.len())
}

/// The outcome of a group of files.
#[derive(Default)]
struct Tally {
    records: usize,
    /// Records that fail here and pass on the peer; without a peer, all that fail.
    ours: usize,
    /// Records that fail on both.
    both: usize,
}

/// Runs a file on a new database; returns every record that fails here but not on the peer.
fn run_file(file: &Path, peer: Option<SocketAddr>, tally: &mut Tally) -> Vec<String> {
    let records = parse(&std::fs::read_to_string(file).expect("a file")).expect("a file of records");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 32 << 20;
    options.engine.store.log_capacity_bytes = 32 << 20;
    options.engine.store.flush_log_at_commit = FlushPolicy::EverySecond;
    let instance = Instance::open(
        std::sync::Arc::new(DirectoryEnv::open(directory.path()).expect("a directory")),
        options,
    )
    .expect("a new database");
    let mut ours = Embedded(instance.connect().expect("a session"));
    ours.run("CREATE DATABASE test").expect("a database");
    ours.0.set_database("test").expect("a database");
    ours.run(SETTINGS).expect("sql_mode");
    let mut theirs = peer.map(|address| {
        let mut client = Client::connect(address, "root", "").expect("the peer");
        let name = format!(
            "corpus_{}",
            directory.path().file_name().expect("a name").to_string_lossy().replace('.', "")
        );
        for sql in [format!("CREATE DATABASE {name}"), format!("USE {name}"), SETTINGS.into()] {
            Engine::run(&mut client, &sql).expect("the peer's database");
        }
        (client, name)
    });
    let mut failures = Vec::new();
    for record in &records {
        tally.records += 1;
        let result = check(&mut ours, record);
        let is_query = matches!(record.expected, Expected::Rows { .. });
        // The peer is kept in the same state; its queries matter only where ours fail.
        let peer_passes = match &mut theirs {
            Some((client, _)) if !is_query || result.is_err() => check(client, record).is_ok(),
            _ => true,
        };
        match result {
            Ok(()) => {}
            Err(_) if !peer_passes => tally.both += 1,
            Err(difference) => {
                tally.ours += 1;
                let short: String = difference.chars().take(300).collect();
                failures.push(format!("{}:{}\n{}\n{short}", file.display(), record.line, record.sql));
            }
        }
    }
    if let Some((mut client, name)) = theirs {
        Engine::run(&mut client, &format!("DROP DATABASE {name}")).expect("the peer's database goes");
    }
    drop(ours);
    instance.close().expect("a clean end");
    failures
}

/// Returns the files of a folder and its subfolders.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_of(&path));
        } else if path.extension().is_some_and(|extension| extension == "test") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn sample_of_the_corpus_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sqllogictest/corpus");
    let mut tally = Tally::default();
    let failures: Vec<String> =
        files_of(&folder).iter().flat_map(|file| run_file(file, None, &mut tally)).collect();
    assert!(tally.records > 0, "no records in {}", folder.display());
    assert!(failures.is_empty(), "{} records fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
#[ignore = "needs the corpus: see above"]
fn corpus_passes() {
    let folder =
        PathBuf::from(std::env::var_os("LEAFLINE_CORPUS").expect("LEAFLINE_CORPUS names the corpus"));
    let peer = std::env::var("LEAFLINE_PEER").ok().map(|address| address.parse().expect("an address"));
    let only = std::env::var("LEAFLINE_CORPUS_ONLY").unwrap_or_default();
    let files: Vec<PathBuf> =
        files_of(&folder).into_iter().filter(|file| file.to_string_lossy().contains(&only)).collect();
    let (next, tallies) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<String, Tally>::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut tally = Tally::default();
                    let failures = run_file(file, peer, &mut tally);
                    for failure in failures.iter().take(20) {
                        println!("{failure}\n");
                    }
                    let within = file.strip_prefix(&folder).expect("within");
                    println!("{}: {} records, {} fail", within.display(), tally.records, tally.ours);
                    let group: PathBuf =
                        within.iter().take(2.min(within.iter().count() - 1).max(1)).collect();
                    let mut tallies = tallies.lock().expect("no panic");
                    let sum = tallies.entry(group.display().to_string()).or_default();
                    sum.records += tally.records;
                    sum.ours += tally.ours;
                    sum.both += tally.both;
                }
            });
        }
    });
    let tallies = tallies.into_inner().expect("no panic");
    for (group, tally) in &tallies {
        println!(
            "{group}: {} records, {} fail here alone, {} on the peer too",
            tally.records, tally.ours, tally.both
        );
    }
    assert!(tallies.values().all(|tally| tally.ours == 0), "records fail");
}
