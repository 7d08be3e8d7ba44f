//! Tests that nobody writes rows into the ranges that a transaction has read to lock or change rows, at REPEATABLE READ with
//! InnoDB's meaning (`innodb_snapshot_isolation` OFF).

use super::clients::{Client, database, run};
use super::seeds::{scale, seed};
use leafline_sql::Instance;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;
const NOT_AVAILABLE: u16 = 3572;
const NONE: [&str; 0] = [];

/// Makes clients of a table `t (id INT PRIMARY KEY, v INT, w INT, KEY (v))` with rows (1, 10, 0), (2, 20, 0), (3, 30, 0),
/// who have InnoDB's REPEATABLE READ.
fn clients<const N: usize>() -> [Client; N] {
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d"]);
    setup.must(&["CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, KEY v (v))"]);
    setup.must(&["INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)"]);
    [(); N].map(|()| {
        let client = Client::new(&instance);
        client.must(&["SET innodb_snapshot_isolation = OFF"]);
        client
    })
}

const RANGE: &str = "SELECT id FROM t FORCE INDEX (v) WHERE v BETWEEN 15 AND 25 ORDER BY id FOR UPDATE";

#[test]
fn rows_come_into_a_locked_range_when_its_transaction_has_ended() {
    for write in [
        "INSERT INTO t VALUES (9, 20, 0)",
        "UPDATE t SET v = 15 WHERE id = 1",
        "REPLACE INTO t VALUES (3, 25, 0)",
        "INSERT INTO t VALUES (3, 0, 0) ON DUPLICATE KEY UPDATE v = 16",
        "INSERT INTO t SELECT 9, 20, 0",
    ] {
        for read in [RANGE, "SELECT id FROM t FORCE INDEX (v) WHERE v BETWEEN 15 AND 25 FOR SHARE"] {
            let [a, b, c] = clients();
            assert_eq!(b.must(&["BEGIN", read]), ["2"]);
            // A row outside the range.
            c.must(&["INSERT INTO t VALUES (12, 26, 0)", "DELETE FROM t WHERE id = 12"]);
            c.must(&["UPDATE t SET w = 1 WHERE id = 1"]);
            a.blocks(write);
            assert_eq!(b.must(&[read]), ["2"], "{write}");
            b.must(&["COMMIT"]);
            a.answer().unwrap();
            assert_eq!(b.must(&["SELECT COUNT(*) FROM t WHERE v BETWEEN 15 AND 25"]), ["2"], "{write}");
        }
    }
}

#[test]
fn a_row_whose_other_columns_change_may_meet_the_condition_too() {
    let [a, b] = clients();
    assert_eq!(b.must(&["BEGIN", "SELECT id FROM t FORCE INDEX (v) WHERE v > 5 AND w = 1 FOR UPDATE"]), NONE);
    a.blocks("UPDATE t SET w = 1 WHERE id = 3");
    b.must(&["ROLLBACK"]);
    a.answer().unwrap();
    assert_eq!(b.must(&["SELECT id FROM t WHERE w = 1"]), ["3"]);
}

#[test]
fn statements_that_change_rows_lock_the_ranges_that_they_read() {
    for change in [
        "UPDATE t SET w = w + 1 WHERE v BETWEEN 15 AND 25",
        "DELETE FROM t WHERE v BETWEEN 15 AND 25",
        "INSERT INTO u SELECT id FROM t WHERE v BETWEEN 15 AND 25",
    ] {
        let [a, b] = clients();
        a.must(&["CREATE TABLE u (id INT PRIMARY KEY)"]);
        b.must(&["BEGIN", change]);
        a.blocks("INSERT INTO t VALUES (9, 17, 0)");
        b.must(&["COMMIT"]);
        a.answer().unwrap();
    }
}

#[test]
fn a_reader_waits_for_those_who_have_written_into_its_range() {
    for (end, found) in [("COMMIT", vec!["2", "9"]), ("ROLLBACK", vec!["2"])] {
        for read_before in [false, true] {
            let [a, b] = clients();
            b.must(&["BEGIN"]);
            if read_before {
                b.must(&["SELECT * FROM t"]);
            }
            a.must(&["BEGIN", "INSERT INTO t VALUES (9, 20, 0), (10, 40, 0)"]);
            assert_eq!(b.must(&["SELECT id FROM t WHERE v BETWEEN 26 AND 35 FOR UPDATE"]), ["3"]);
            b.blocks(RANGE);
            a.must(&[end]);
            assert_eq!(b.answer().unwrap(), found, "{end}");
            assert_eq!(b.must(&[RANGE]), found, "{end}");
            b.must(&["COMMIT"]);
        }
    }
}

#[test]
fn those_who_do_not_wait_are_told() {
    let [a, b] = clients();
    a.must(&["BEGIN", "INSERT INTO t VALUES (9, 20, 0)"]);
    b.must(&["BEGIN"]);
    assert_eq!(b.run(&format!("{RANGE} NOWAIT")), Err(NOT_AVAILABLE));
    b.must(&["ROLLBACK", "BEGIN"]);
    assert_eq!(b.must(&[&format!("{RANGE} SKIP LOCKED")]), ["2"]);
    a.must(&["COMMIT", "INSERT INTO t VALUES (11, 21, 0)"]);
    b.must(&["COMMIT"]);
    b.must(&["BEGIN", RANGE]);
    a.must(&["SET innodb_lock_wait_timeout = 1", "BEGIN", "INSERT INTO t VALUES (20, 50, 0)"]);
    assert_eq!(a.run("INSERT INTO t VALUES (12, 22, 0)"), Err(TIMEOUT));
    a.must(&["COMMIT"]);
    b.must(&["COMMIT"]);
    assert_eq!(a.must(&["SELECT id FROM t WHERE id >= 12"]), ["20"]);
}

#[test]
fn of_two_who_lock_a_range_and_write_into_it_one_goes_on() {
    let [a, b] = clients();
    assert_eq!(a.must(&["BEGIN", RANGE]), ["2"]);
    assert_eq!(b.must(&["BEGIN", "SELECT id FROM t WHERE v BETWEEN 16 AND 19 FOR UPDATE"]), NONE);
    a.blocks("INSERT INTO t VALUES (9, 17, 0)");
    assert_eq!(b.run("INSERT INTO t VALUES (10, 18, 0)"), Err(DEADLOCK));
    a.answer().unwrap();
    a.must(&["INSERT INTO t VALUES (10, 19, 0)", "COMMIT"]);
}

#[test]
fn with_snapshot_isolation_and_at_read_committed_ranges_are_not_locked() {
    for level in
        ["SET innodb_snapshot_isolation = ON", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"]
    {
        let [a, b] = clients();
        b.must(&[level, "BEGIN", RANGE]);
        a.must(&["INSERT INTO t VALUES (9, 20, 0)"]);
        b.must(&["COMMIT"]);
    }
}

#[test]
fn ranges_of_partitions_and_of_tables_without_keys_are_locked() {
    let [a, b] = clients();
    a.must(&["CREATE TABLE p (n INT, v INT, KEY (n)) PARTITION BY HASH (n) PARTITIONS 4"]);
    a.must(&["INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)", "CREATE TABLE h (n INT)"]);
    b.must(&["BEGIN", "SELECT * FROM p WHERE n BETWEEN 5 AND 7 FOR UPDATE"]);
    a.must(&["INSERT INTO p VALUES (8, 8)"]);
    a.blocks("INSERT INTO p VALUES (6, 6)");
    b.must(&["COMMIT"]);
    a.answer().unwrap();
    b.must(&["BEGIN", "SELECT COUNT(*) FROM h WHERE n = 5 FOR UPDATE"]);
    a.blocks("INSERT INTO h VALUES (1)");
    b.must(&["INSERT INTO h VALUES (5)", "COMMIT"]);
    a.answer().unwrap();
    assert_eq!(a.must(&["SELECT n FROM h ORDER BY n"]), ["1", "5"]);
}

const BUCKETS: u64 = 6;
const MOST: u64 = 4;

/// Takes a place in a bucket that is not full, or frees one. Returns whether the transaction committed.
fn take_place(session: &mut leafline_sql::session::Session, random: &mut SmallRng, next: &AtomicU64) -> bool {
    let bucket = random.random_range(0..BUCKETS);
    let condition = match random.random_range(0..3) {
        0 => format!("FORCE INDEX (v) WHERE v >= {} AND v < {}", bucket * 10, bucket * 10 + 10),
        1 => format!("FORCE INDEX (PRIMARY) WHERE v DIV 10 = {bucket}"),
        _ => format!("FORCE INDEX (w) WHERE w = {bucket}"),
    };
    let mut statement = |sql: &str| match run(session, sql) {
        Ok(rows) => Some(rows),
        Err(error) => {
            assert!([DEADLOCK, TIMEOUT].contains(&error), "{sql}: {error}");
            let _ = run(session, "ROLLBACK");
            None
        }
    };
    let lock = if random.random_bool(0.7) { "FOR UPDATE" } else { "FOR SHARE" };
    let mut all = || {
        statement("BEGIN")?;
        if random.random_bool(0.3) {
            statement("SELECT COUNT(*) FROM t")?;
        }
        let count = statement(&format!("SELECT COUNT(*) FROM t {condition} {lock}"))?;
        let count: u64 = count[0].parse().expect("a number");
        assert!(count <= MOST, "{condition}: {count} rows");
        if random.random_bool(0.2) {
            statement(&format!("DELETE FROM t WHERE w = {bucket} ORDER BY id LIMIT 2"))?;
        } else if count < MOST {
            let v = bucket * 10 + random.random_range(0..10);
            let moved = random.random_bool(0.3);
            let id = next.fetch_add(1, Ordering::Relaxed);
            statement(&match moved {
                true => format!(
                    "UPDATE t SET v = {v}, w = {bucket} WHERE w <> {bucket} AND id % 7 = {} LIMIT 1",
                    id % 7
                ),
                false => format!("INSERT INTO t VALUES ({id}, {v}, {bucket})"),
            })?;
        }
        let again = statement(&format!("SELECT COUNT(*) FROM t {condition} {lock}"))?;
        assert!(again[0].parse::<u64>().expect("a number") <= MOST, "{condition}: {again:?}");
        statement("COMMIT")
    };
    all().is_some()
}

fn clients_at_random(instance: &Arc<Instance>, seed: u64, count: u64) -> u64 {
    let next = AtomicU64::new(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let next = &next;
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(seed ^ (thread << 32));
                    let mut session = instance.connect().expect("a session");
                    for sql in
                        ["USE d", "SET innodb_snapshot_isolation = OFF", "SET innodb_lock_wait_timeout = 5"]
                    {
                        run(&mut session, sql).expect("succeeds");
                    }
                    (0..count).filter(|_| take_place(&mut session, &mut random, next)).count() as u64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a client")).sum()
    })
}

#[test]
fn buckets_are_never_overfull_whatever_index_tells_their_rows() {
    let seed = seed();
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d"]);
    setup.must(&["CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, KEY v (v), KEY w (w, v))"]);
    let done = clients_at_random(&instance, seed, 400 * scale());
    assert!(done > 0);
    let full = format!("SELECT w, COUNT(*) FROM t GROUP BY w HAVING COUNT(*) > {MOST}");
    assert_eq!(setup.must(&[&full]), NONE);
    assert_eq!(setup.must(&["CHECK TABLE t"]), ["d.t check status OK"]);
    assert_eq!(instance.engine().stats().locks.held, 0, "everything is unlocked");
}
