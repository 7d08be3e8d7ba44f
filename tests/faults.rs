//! What a session sees of a disk that is full, rots or fails: MySQL's error numbers, and everything that was
//! acknowledged.

#[path = "support/rows.rs"]
mod rows;

use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::{Operation, SimulatedEnv};
use rows::rows_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PAGE: u64 = 16 << 10;
/// Rows of the table that is damaged: more than pool and log hold, so that pages have to be read.
const ROWS: u32 = 8000;

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 4 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    Instance::open(Arc::new(env.clone()), options).expect("the database opens")
}

/// The rows of a statement, values separated by blanks, or `<number> (<SQLSTATE>)`.
fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, String> {
    rows_of(session, sql).map_err(|error| error.to_string())
}

fn must(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn with_table(instance: &Arc<Instance>) -> Session {
    let mut session = instance.connect().expect("a session");
    must(&mut session, "CREATE DATABASE d");
    must(&mut session, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(700), KEY (b))");
    session
}

fn insert(from: u32, rows: u32) -> String {
    let row = |a| format!("({a}, '{:0>600}')", (a * 7919) % 10_007);
    format!("INSERT INTO d.t VALUES {}", (from..from + rows).map(row).collect::<Vec<_>>().join(", "))
}

/// Fills the disk at a statement of each kind; each time nothing of the statement stays and the session goes on.
#[test]
fn a_full_disk_is_1021_and_loses_nothing() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    let mut other = instance.connect().expect("a session");
    let mut rows = 0;
    for round in 0..6 {
        must(&mut session, &insert(rows, 40));
        rows += 40;
        env.set_space_limit(Some(env.space_used() + round * 11 * PAGE));
        let refused = loop {
            match run(&mut session, &insert(rows, 40)) {
                Ok(_) => rows += 40,
                Err(error) => break error,
            }
        };
        assert!(refused.starts_with("ERROR 1021 (HY000)"), "{refused}");
        // In the middle of a commit.
        must(&mut session, "BEGIN");
        for part in 0..3 {
            must(&mut session, &insert(rows + part * 40, 40));
        }
        let refused = run(&mut session, "COMMIT").expect_err("a full disk");
        assert!(refused.starts_with("ERROR 1021 (HY000)"), "{refused}");
        let refused = run(&mut session, "CREATE INDEX k ON d.t (b, a)");
        assert!(refused.is_ok() || refused.is_err_and(|error| error.starts_with("ERROR 1021 (HY000)")));
        let _ = run(&mut session, "DROP INDEX k ON d.t");
        for session in [&mut session, &mut other] {
            assert_eq!(must(session, "SELECT COUNT(*), MAX(a) FROM d.t"), [format!("{rows} {}", rows - 1)]);
        }
        env.set_space_limit(None);
        assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
    }
    drop((session, other));
    instance.close().expect("a clean end");
    drop(instance);
    let mut session = open(&env).connect().expect("a session");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), [rows.to_string()]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

/// A transaction whose log is several times what the log can hold.
#[test]
fn a_transaction_larger_than_the_log_is_made_and_survives() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, "BEGIN");
    for from in (0..4000).step_by(400) {
        must(&mut session, &insert(from, 400));
    }
    must(&mut session, "COMMIT");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), ["4000"]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
    drop((session, instance));
    env.cut(7);
    let instance = open(&env);
    let mut session = instance.connect().expect("a session");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), ["4000"]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

#[test]
fn a_damaged_page_is_1194_where_it_is_needed_and_nowhere_else() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);

    for from in (0..ROWS).step_by(40) {
        must(&mut session, &insert(from, 40));
    }
    must(&mut session, "CREATE TABLE d.u (a INT PRIMARY KEY)");
    must(&mut session, "INSERT INTO d.u VALUES (1), (2)");
    drop(session);
    instance.close().expect("a clean end");
    drop(instance);
    // One page after the other is damaged in a copy: each is found by CHECK TABLE or belongs to nothing checked.
    let (mut found, pages) = (0, env.space_used() / PAGE);
    for page in (8..pages).step_by(31) {
        let copy = env.snapshot();
        if copy.damage("data", page * PAGE + 4096, &mut |block| block[100] ^= 0x10).is_err() {
            break;
        }
        let instance = open(&copy);
        let mut session = instance.connect().expect("a session");
        let check = must(&mut session, "CHECK TABLE d.t");
        let read = run(&mut session, "SELECT COUNT(*) FROM d.t IGNORE INDEX (b) WHERE LENGTH(b) = 600");
        match &read {
            Ok(rows) => assert_eq!(*rows, [ROWS.to_string()]),
            Err(error) => {
                assert!(
                    error.starts_with("ERROR 1194 (HY000)") && error.contains(&page.to_string()),
                    "{error}"
                );
            }
        }
        if check != ["d.t check status OK"] {
            found += 1;
            assert!(check.iter().any(|line| line.contains(&format!("page {page}: "))), "{check:?}");
        } else {
            assert!(read.is_ok(), "CHECK TABLE did not find page {page}");
        }
        assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.u"), ["2"]);
        must(&mut session, "INSERT INTO d.u VALUES (3)");
    }
    assert!(found > 5, "{found} damaged pages were in the table");
}

#[test]
fn a_failed_sync_stops_writing_and_loses_nothing_acknowledged() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, &insert(0, 40));
    let failing = Arc::new(AtomicBool::new(true));
    let flag = failing.clone();
    env.set_fault(Some(Arc::new(move |operation, name, _| {
        flag.load(Ordering::SeqCst) && operation == Operation::Sync && name.starts_with("wal")
    })));
    let refused = run(&mut session, &insert(40, 40)).expect_err("a failed sync");
    assert!(refused.starts_with("ERROR 1030 (HY000)"), "{refused}");
    // A sync that failed must not be tried again: what was written may be gone although the next one succeeds.
    failing.store(false, Ordering::SeqCst);
    let refused = run(&mut session, &insert(80, 40)).expect_err("the database has stopped");
    assert!(refused.starts_with("ERROR 1030 (HY000)"), "{refused}");
    drop(session);
    drop(instance);
    env.set_fault(None);
    env.cut(7);
    let mut session = open(&env).connect().expect("a session");
    let rows = must(&mut session, "SELECT COUNT(*) FROM d.t");
    assert!(rows == ["40"] || rows == ["80"], "{rows:?}");
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}
