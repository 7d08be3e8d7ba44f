//! Bombs: statements that ask for more memory or time than there is. A server limited to its buffer pool and 256 MiB
//! must survive every one of them.
//!
//! The limit is RLIMIT_DATA, which is stricter than a control group: an allocation beyond it fails, which would end
//! the process, and memory that is mapped but not used counts.
//!
//! | file | bombs |
//! |---|---|
//! | `statements.sql` | statements: operators, aggregates, recursion, joins, what a session keeps |
//! | `expressions.sql` | functions and expressions |
//! | `generated.rs` | deep nesting and long lists |
//!
//! Every bomb runs in its own connection, gets `KILL QUERY` after [`FUSE`] milliseconds, and has to end within
//! [`MOST_AFTER_KILL`], whether with rows or with an error. Meanwhile another connection reads rows by their keys. A
//! bomb that ends too late runs once more, because the machine may have been busy.
//!
//! | variable | meaning |
//! |---|---|
//! | `LEAFLINE_BOMBS` | a part of the names of the bombs to run |
//! | `LEAFLINE_BOMB_FUSE` | milliseconds before a bomb is killed |
//! | `LEAFLINE_BOMB_MIB` | MiB that the server has beside its pool |

mod generated;
#[path = "../support/mod.rs"]
mod support;

use leafline_protocol::command;
use leafline_protocol::reply::read_error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client};

/// MiB of the server's pool (`TestServer`), and MiB that it may map beside it.
const POOL: u64 = 16;
const BESIDE_POOL: u64 = 256;
/// Milliseconds before a bomb is killed.
const FUSE: u64 = 150;
const MOST_AFTER_KILL: Duration = Duration::from_secs(2);
/// The longest time of a read by key, on a busy machine, too.
const MOST_FOR_A_ROW: Duration = Duration::from_secs(2);
const MOST_TO_STOP: Duration = Duration::from_secs(10);

/// A bomb.
struct Bomb {
    name: String,
    /// Makes its statements, unless the name is the statement.
    made: Option<generated::Make>,
}

impl Bomb {
    fn statements(&self) -> Vec<String> {
        match &self.made {
            Some(make) => vec![make()],
            None => self.name.split(" ;; ").map(str::to_owned).collect(),
        }
    }
}

fn bombs() -> Vec<Bomb> {
    let mut all = Vec::new();
    for file in [include_str!("statements.sql"), include_str!("expressions.sql")] {
        let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
        all.extend(lines.map(|line| Bomb { name: line.to_owned(), made: None }));
    }
    all.extend(generated::bombs().into_iter().map(|(name, make)| Bomb { name, made: Some(make) }));
    match std::env::var("LEAFLINE_BOMBS") {
        Ok(part) => all.into_iter().filter(|bomb| bomb.name.contains(&part)).collect(),
        Err(_) => all,
    }
}

/// Returns how long a bomb runs before it is killed.
fn fuse() -> Duration {
    let told = std::env::var("LEAFLINE_BOMB_FUSE").ok().and_then(|told| told.parse().ok());
    Duration::from_millis(told.unwrap_or(FUSE))
}

/// Returns how many bytes the server may map.
fn limit() -> u64 {
    let mib = std::env::var("LEAFLINE_BOMB_MIB").ok().and_then(|mib| mib.parse().ok());
    (POOL + mib.unwrap_or(BESIDE_POOL)) << 20
}

/// Serves a directory under the limit.
fn served(directory: &std::path::Path) -> TestServer {
    let before = getrlimit(Resource::Data);
    let limit = Rlimit { current: Some(limit()), maximum: before.maximum };
    setrlimit(Resource::Data, limit).expect("a lower limit");
    let server = TestServer::start(directory, &[]);
    setrlimit(Resource::Data, before).expect("the limit there was");
    server
}

fn make_tables(client: &mut Client) {
    for sql in [
        "CREATE DATABASE bombs",
        "USE bombs",
        "CREATE TABLE t (id INT PRIMARY KEY, g INT, v VARCHAR(100), KEY (g))",
        "INSERT INTO t SELECT * FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         SELECT i, i % 10, CONCAT('value ', i * 7919 % 1000) FROM n) d",
        "CREATE TABLE served LIKE t",
        "INSERT INTO served SELECT * FROM t",
        "CREATE TABLE sink (id INT PRIMARY KEY AUTO_INCREMENT, x LONGTEXT)",
        "CREATE TABLE long_values (id INT PRIMARY KEY, x LONGTEXT, b LONGBLOB, j JSON)",
    ] {
        client.run(sql);
    }
    for id in 0..10 {
        client.run(&format!(
            "INSERT INTO long_values VALUES ({id}, CONCAT(REPEAT('abc def ', 1250000), {id}), \
             REPEAT(CHAR({id} + 65), 5000000), CONCAT('[', REPEAT('{{\"a\": [1, 2]}}, ', 50000), '{id}]'))"
        ));
    }
}

/// Reads an answer to its end without keeping it; returns the error, if it is one.
fn drain(client: &mut Client) -> io::Result<Option<(u16, String)>> {
    let mut packet = client.read()?;
    if packet.first() == Some(&0) {
        return Ok(None);
    }
    loop {
        match packet.first() {
            Some(0xff) => {
                let error = read_error(&packet).expect("an error");
                return Ok(Some((error.code, error.message)));
            }
            Some(0xfe) if packet.len() < 0xff_ffff => return Ok(None),
            _ => {}
        }
        packet = client.read()?;
    }
}

/// Runs a bomb in its own connection; returns its end, and how long that took after it was killed.
fn explode(server: &TestServer, statements: &[String], watcher: &mut Client) -> Result<String, String> {
    let mut client = server.connect();
    let number = client.rows("SELECT CONNECTION_ID()")[0][0].clone().expect("a number");
    client.run("USE bombs");
    let over = AtomicBool::new(false);
    let mut verdict = Ok(String::new());
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let mut last = String::from("done");
            for sql in statements {
                let answer = client.send(command::QUERY, sql.as_bytes()).and_then(|()| drain(&mut client));
                last = match answer {
                    Ok(None) => "done".to_owned(),
                    Ok(Some((code, _))) if matches!(code, 1153) => code.to_string(),
                    Ok(Some((code, text))) if matches!(code, 1105 | 1815) => {
                        over.store(true, Ordering::SeqCst);
                        return Err(format!("internal error {code}: {text}"));
                    }
                    Ok(Some((code, _))) => code.to_string(),
                    Err(error) => {
                        over.store(true, Ordering::SeqCst);
                        return Err(format!("the connection was lost: {error}"));
                    }
                };
            }
            over.store(true, Ordering::SeqCst);
            Ok(last)
        });
        let begun = Instant::now();
        let mut killed_at = None;
        while !over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
            if begun.elapsed() < fuse() {
                continue;
            }
            // A bomb of several statements is killed until the last of them has ended.
            let _ = watcher.query(&format!("KILL QUERY {number}"));
            let killed: Instant = *killed_at.get_or_insert_with(Instant::now);
            let most = MOST_AFTER_KILL * u32::try_from(statements.len()).unwrap_or(1);
            if killed.elapsed() > most {
                verdict = Err(format!("it did not end within {most:?} after KILL QUERY"));
                let _ = watcher.query(&format!("KILL {number}"));
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = run.join().unwrap_or_else(|_| Err("the client panicked".to_owned()));
        if verdict.is_ok() {
            verdict = ended;
        }
    });
    verdict
}

/// Reads rows by their keys, one after another, and records the longest time.
struct Reader {
    stopping: Arc<AtomicBool>,
    /// In milliseconds.
    longest: Arc<AtomicU64>,
    reads: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<Result<(), String>>,
}

impl Reader {
    fn start(server: &TestServer) -> Reader {
        let stopping = Arc::<AtomicBool>::default();
        let (longest, reads) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (stop, most, count) = (stopping.clone(), longest.clone(), reads.clone());
        let mut client = server.connect();
        let thread = std::thread::spawn(move || {
            for id in (1..=1000).cycle() {
                if stop.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let begun = Instant::now();
                match client.query(&format!("SELECT v FROM bombs.served WHERE id = {id}")) {
                    Ok(Answer::Rows(rows)) if rows.len() == 1 => {}
                    other => return Err(format!("{other:?}")),
                }
                most.fetch_max(begun.elapsed().as_millis() as u64, Ordering::SeqCst);
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        });
        Reader { stopping, longest, reads, thread }
    }

    /// Stops reading; returns the number of reads.
    fn stop(self) -> Result<u64, String> {
        self.stopping.store(true, Ordering::SeqCst);
        self.thread.join().expect("no panic")?;
        Ok(self.reads.load(Ordering::SeqCst))
    }
}

/// Runs a bomb; returns its failure, if any, and whether a busy machine may be the reason.
fn run(
    bomb: &Bomb,
    server: &TestServer,
    watcher: &mut Client,
    reader: &Reader,
) -> Result<(), (String, bool)> {
    let statements = bomb.statements();
    let shown: String = bomb.name.chars().take(150).collect();
    reader.longest.store(0, Ordering::SeqCst);
    let begun = Instant::now();
    let verdict = explode(server, &statements, watcher);
    eprintln!("{:6} ms  {verdict:?}  {shown}", begun.elapsed().as_millis());
    let waited = Duration::from_millis(reader.longest.load(Ordering::SeqCst));
    match verdict {
        Err(why) => {
            let late = why.contains("did not end within");
            Err((format!("{shown}: {why}"), late))
        }
        Ok(_) if waited > MOST_FOR_A_ROW => Err((format!("{shown}: a read by key took {waited:?}"), true)),
        Ok(_) => Ok(()),
    }
}

/// Starts a server with the tables, a connection to it, and a reader.
fn start(directory: &std::path::Path) -> (TestServer, Client, Reader) {
    let server = served(directory);
    let mut client = server.connect();
    make_tables(&mut client);
    let reader = Reader::start(&server);
    (server, client, reader)
}

#[test]
fn a_server_survives_every_bomb_and_serves_others_meanwhile() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut server, mut client, mut reader) = start(directory.path());
    let bound = client.rows("SELECT @@leafline_server_memory")[0][0].clone();
    eprintln!("leafline_server_memory {bound:?} under RLIMIT_DATA {}", limit());

    let mut failures = Vec::new();
    let mut others = Vec::new();
    let bombs = bombs();
    for bomb in &bombs {
        let mut outcome = run(bomb, &server, &mut client, &reader);
        if matches!(outcome, Err((_, true))) {
            outcome = run(bomb, &server, &mut client, &reader);
        }
        if let Err((why, _)) = outcome {
            failures.push(why);
        }
        if client.query("SELECT 1").is_err() {
            failures.push(format!("the server is gone behind {:.150}", bomb.name));
            // The others run on another server, so that one run shows all failures.
            others.push(tempfile::tempdir().expect("a directory"));
            let directory = others.last().expect("it was added");
            (server, client, reader) = start(directory.path());
        }
    }
    let status = client.query("SHOW GLOBAL STATUS LIKE 'Leafline_server_memory%'");
    eprintln!("{} bombs, {status:?}, resident: {} MiB", bombs.len(), server.resident_bytes() >> 20);
    assert!(
        failures.is_empty(),
        "{} failures of {} bombs:\n{}",
        failures.len(),
        bombs.len(),
        failures.join("\n")
    );
    let reads = reader.stop().expect("rows");
    eprintln!("{reads} reads by key meanwhile");

    // A running bomb does not prevent the server from ending.
    let mut bomber = server.connect();
    bomber
        .send(command::QUERY, b"SELECT COUNT(*) FROM bombs.t a, bombs.t b, bombs.t c, bombs.t d")
        .expect("it is sent");
    std::thread::sleep(fuse());
    let begun = Instant::now();
    assert!(server.terminate(), "the server ends well");
    assert!(begun.elapsed() < MOST_TO_STOP, "it took {:?} to end", begun.elapsed());
}
