//! Tests that broken logic ends the statement or the store, and that nothing committed is lost or left half done.
//!
//! The panics are planted in the simulated disk: at the n-th operation of a thread, deep in its call stack. So they
//! unwind through operators, commits, the log's writer, the page writer and the threads that read, with all that
//! those hold.

#[path = "support/client.rs"]
#[allow(dead_code, reason = "this test uses a part")]
mod client;
#[path = "support/rows.rs"]
mod rows;
#[path = "support/settings.rs"]
mod settings;

use client::{Answer, Client};
use leafline_server::{Listeners, Server, ServerOptions};
use leafline_sql::accounts::ROOT;
use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::{Operation, SimulatedEnv};
use rows::rows_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The initial number of rows: more than the pool holds.
const ROWS: u32 = 8000;
/// A test that hangs is ended after this time.
const PATIENCE: Duration = Duration::from_secs(240);
const PLANTED: &str = "planted panic";

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    let mut options = InstanceOptions { variables: settings::test_variables(), ..InstanceOptions::default() };
    options.engine.store.buffer_pool_bytes = 4 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    Instance::open(Arc::new(env.clone()), options).expect("the database opens")
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, String> {
    rows_of(session, sql).map_err(|error| error.to_string())
}

fn must(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn insert(from: u32, rows: u32) -> String {
    let row = |a| format!("({a}, '{:0>600}')", (a * 7919) % 10_007);
    format!("INSERT INTO d.t VALUES {}", (from..from + rows).map(row).collect::<Vec<_>>().join(", "))
}

/// Makes a database with a table that is larger than the pool.
fn filled() -> SimulatedEnv {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = instance.connect().expect("a session");
    must(&mut session, "CREATE DATABASE d");
    must(&mut session, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(700), KEY (b))");
    for from in (0..ROWS).step_by(400) {
        must(&mut session, &insert(from, 400));
    }
    drop(session);
    drop(instance);
    env
}

/// A planted panic; removed when dropped.
struct Planted<'e> {
    env: &'e SimulatedEnv,
    has_panicked: Arc<AtomicBool>,
}

impl Drop for Planted<'_> {
    fn drop(&mut self) {
        self.env.set_fault(None);
    }
}

impl Planted<'_> {
    fn has_panicked(&self) -> bool {
        self.has_panicked.load(Ordering::SeqCst)
    }
}

/// Plants one panic at the `n`-th operation of matching threads on matching files.
fn plant<'e>(
    env: &'e SimulatedEnv,
    n: u64,
    suits: impl Fn(&str, Operation, &str) -> bool + Send + Sync + 'static,
) -> Planted<'e> {
    let (left, has_panicked) = (AtomicU64::new(n), Arc::new(AtomicBool::new(false)));
    let panics = has_panicked.clone();
    env.set_fault(Some(Arc::new(move |operation, file, _| {
        let thread = std::thread::current();
        if panics.load(Ordering::SeqCst) || !suits(thread.name().unwrap_or_default(), operation, file) {
            return false;
        }
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            panics.store(true, Ordering::SeqCst);
            panic!("{PLANTED} at {operation:?} of {file} on {}", thread.name().unwrap_or_default());
        }
        false
    })));
    Planted { env, has_panicked }
}

fn own_name() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Runs a test, and ends the process if it hangs: a thread that waits for one that has panicked would wait forever.
fn within_patience(test: impl FnOnce()) {
    let done = Arc::new(AtomicBool::new(false));
    let (watched, name) = (done.clone(), own_name());
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if !watched.load(Ordering::SeqCst) {
            eprintln!("{name} hangs");
            std::process::abort();
        }
    });
    test();
    done.store(true, Ordering::SeqCst);
}

/// Cuts the power and reopens: the table must be whole and have one of these numbers of rows.
fn reopened_with(env: &SimulatedEnv, counts: &[u32], seed: u64) {
    env.cut(seed);
    let mut session = open(env).connect().expect("a session");
    let rows = must(&mut session, "SELECT COUNT(*), COUNT(DISTINCT a) FROM d.t");
    assert!(counts.iter().any(|count| rows == [format!("{count} {count}")]), "{rows:?} of {counts:?}");
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

#[test]
fn panic_in_a_query_ends_its_session_and_no_other() {
    within_patience(|| {
        let env = filled();
        let instance = open(&env);
        let mut session = instance.connect().expect("a session");
        let mut other = instance.connect().expect("a session");
        must(&mut session, "BEGIN");
        must(&mut session, "UPDATE d.t SET b = 'x' WHERE a = 1");
        let own = own_name();
        let planted = plant(&env, 3, move |thread, operation, file| {
            thread == own && operation == Operation::Read && file == "data"
        });
        let refused =
            run(&mut session, "SELECT SUM(LENGTH(b)) FROM d.t IGNORE INDEX (b)").expect_err("a panic");
        assert!(planted.has_panicked());
        assert!(refused.starts_with("ERROR 1815 (HY000)") && refused.contains(PLANTED), "{refused}");
        drop(planted);
        assert!(session.is_broken());
        let refused = run(&mut session, "SELECT 1").expect_err("the session has ended");
        assert!(refused.starts_with("ERROR 1815 (HY000)"), "{refused}");
        // The session still exists, but its transaction is rolled back: its lock is free, and its change is gone.
        must(&mut other, "UPDATE d.t SET b = CONCAT(b, 'y') WHERE a = 1");
        let expected = format!("{:0>600}y", 7919);
        assert_eq!(must(&mut other, "SELECT b FROM d.t WHERE a = 1"), [expected]);
        assert_eq!(must(&mut other, "SELECT COUNT(*) FROM d.t IGNORE INDEX (b)"), [ROWS.to_string()]);
        must(&mut other, &insert(ROWS, 10));
        drop((session, other, instance));
        reopened_with(&env, &[ROWS + 10], 1);
    });
}

/// A commit panics at its n-th operation, for many n: it is done as a whole or not at all, whether the others go on
/// or are told that the store has stopped.
#[test]
fn panic_in_a_commit_leaves_it_whole_or_undone() {
    within_patience(|| {
        let base = filled();
        let (mut n, mut step) = (0, 1);
        let mut stopped = 0;
        loop {
            let env = base.snapshot();
            let instance = open(&env);
            let mut session = instance.connect().expect("a session");
            let mut other = instance.connect().expect("a session");
            must(&mut session, "BEGIN");
            for from in (ROWS..ROWS + 1200).step_by(400) {
                must(&mut session, &insert(from, 400));
            }
            let own = own_name();
            let planted = plant(&env, n, move |thread, _, _| thread == own);
            let committed = run(&mut session, "COMMIT");
            let has_panicked = planted.has_panicked();
            drop(planted);
            assert_eq!(committed.is_err(), has_panicked, "{committed:?} at operation {n}");
            let counts = match &committed {
                Ok(_) => vec![ROWS + 1200],
                Err(_) => vec![ROWS, ROWS + 1200],
            };
            match run(&mut other, "SELECT COUNT(*) FROM d.t IGNORE INDEX (b)") {
                Ok(rows) => {
                    assert!(counts.iter().any(|count| rows == [count.to_string()]), "{rows:?} at {n}")
                }
                Err(error) => assert!(error.starts_with("ERROR 1030 (HY000)"), "{error}"),
            }
            match run(&mut other, "UPDATE d.t SET b = CONCAT(b, 'z') WHERE a = 5") {
                Ok(_) => {}
                Err(error) => {
                    assert!(error.starts_with("ERROR 1030 (HY000)"), "{error}");
                    stopped += 1;
                }
            }
            drop((session, other, instance));
            reopened_with(&env, &counts, n);
            if !has_panicked {
                break;
            }
            n += step;
            step += step / 2 + 1;
        }
        assert!(n > 10, "{n} operations in all");
        assert!(stopped > 0, "no panic stopped the store");
    });
}

/// Panics in the threads that write the log and the pages, and that read: the statements end, with or without an
/// error.
#[test]
fn panic_in_the_background_loses_nothing() {
    within_patience(|| {
        let base = filled();
        for n in [0, 1, 2, 4, 8, 16, 40] {
            let env = base.snapshot();
            let instance = open(&env);
            let mut session = instance.connect().expect("a session");
            let own = own_name();
            let planted = plant(&env, n, move |thread, _, _| thread != own);
            let mut acknowledged = ROWS;
            let mut more = 0;
            // A refused row may exist if only its answer was lost.
            for from in (ROWS..ROWS + 2000).step_by(200) {
                match run(&mut session, &insert(from, 200)) {
                    Ok(_) => acknowledged += 200,
                    Err(error) => {
                        let stopped = error.starts_with("ERROR 1030 (HY000)");
                        assert!(stopped || error.starts_with("ERROR 1815"), "{error}");
                        more = 200;
                        break;
                    }
                }
            }
            if let Err(error) = run(&mut session, "SELECT SUM(LENGTH(b)) FROM d.t IGNORE INDEX (b)") {
                let stopped = error.starts_with("ERROR 1030 (HY000)");
                assert!(stopped || error.starts_with("ERROR 1815"), "{error}");
            }
            drop((session, instance));
            drop(planted);
            reopened_with(&env, &[acknowledged, acknowledged + more], n);
        }
    });
}

#[test]
fn panic_is_an_error_to_the_client_and_ends_its_connection() {
    within_patience(|| {
        let env = filled();
        let instance = open(&env);
        let directory = tempfile::tempdir().expect("a directory");
        let mut listeners = Listeners::new();
        let address = listeners.tcp("127.0.0.1", 0).expect("a port");
        let log = Arc::new(|line: &str| eprintln!("{line}"));
        let options = ServerOptions { tls: None, directory: directory.path().to_owned(), log };
        let server = Server::start(instance.clone(), listeners, options).expect("a server");
        let mut client = Client::connect(address, ROOT, "").expect("a connection");
        let mut other = Client::connect(address, ROOT, "").expect("a connection");
        client.run("BEGIN");
        client.run("UPDATE d.t SET b = 'x' WHERE a = 1");
        let planted = plant(&env, 3, |thread, operation, file| {
            thread.starts_with("connection") && operation == Operation::Read && file == "data"
        });
        match client.query("SELECT a, b FROM d.t IGNORE INDEX (b)") {
            Ok(Answer::Error(1815, text)) => assert!(text.contains(PLANTED), "{text}"),
            other => panic!("{other:?}"),
        }
        drop(planted);
        assert!(client.query("SELECT 1").is_err(), "the connection has ended");
        other.run("UPDATE d.t SET b = 'y' WHERE a = 1");
        let count = vec![vec![Some(ROWS.to_string())]];
        assert_eq!(other.rows("SELECT COUNT(*) FROM d.t IGNORE INDEX (b)"), count);
        drop(other);
        server.stop();
        drop(instance);
        reopened_with(&env, &[ROWS], 2);
    });
}
