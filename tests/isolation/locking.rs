//! Tests the locks that statements take.

use super::clients::{Client, database};

/// Makes clients of a table `t (id INT PRIMARY KEY, k INT UNIQUE, v INT, KEY (v))` with rows (1, 1, 10), (2, 2, 20),
/// (3, 3, 30).
fn clients<const N: usize>() -> [Client; N] {
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d"]);
    setup.must(&["CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, UNIQUE KEY k (k), KEY v (v))"]);
    setup.must(&["INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)"]);
    [(); N].map(|()| Client::new(&instance))
}

const TIMEOUT: u16 = 1205;
const DUPLICATE: u16 = 1062;
const DEADLOCK: u16 = 1213;
const NOT_AVAILABLE: u16 = 3572;

#[test]
fn statements_that_are_transactions_of_their_own_wait_and_see_the_newest_version() {
    let [a, b, c] = clients();
    a.must(&["BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1"]);
    b.blocks("UPDATE t SET v = v + 1 WHERE id = 1");
    c.blocks("UPDATE t SET v = v + 1");
    a.must(&["COMMIT"]);
    b.answer().unwrap();
    c.answer().unwrap();
    assert_eq!(a.must(&["SELECT v FROM t ORDER BY id"]), ["13", "21", "31"]);
}

#[test]
fn readers_do_not_wait() {
    let [a, b] = clients();
    a.must(&["BEGIN", "UPDATE t SET v = 0, k = k + 10", "DELETE FROM t WHERE id = 2"]);
    for sql in ["SELECT v FROM t", "SELECT v FROM t FORCE INDEX (v)", "SELECT v FROM t ORDER BY k"] {
        assert_eq!(b.must(&[sql]), ["10", "20", "30"]);
    }
    assert_eq!(a.must(&["SELECT id, k, v FROM t"]), ["1 11 0", "3 13 0"]);
}

#[test]
fn locking_reads_exclude_each_other_as_they_say() {
    let [a, b, c] = clients();
    assert_eq!(a.must(&["BEGIN", "SELECT v FROM t WHERE id = 1 FOR SHARE"]), ["10"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1 FOR SHARE"]), ["10"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1 LOCK IN SHARE MODE"]), ["10"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 2 FOR UPDATE"]), ["20"]);
    assert_eq!(b.run("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), Err(NOT_AVAILABLE));
    assert_eq!(b.must(&["SELECT v FROM t FOR UPDATE SKIP LOCKED"]), ["20", "30"]);
    assert_eq!(b.must(&["SELECT COUNT(*), MAX(v) FROM t FOR UPDATE SKIP LOCKED"]), ["2 30"]);
    b.blocks("UPDATE t SET v = 11 WHERE id = 1");
    c.blocks("SELECT v FROM t WHERE id = 1 FOR SHARE");
    a.must(&["UPDATE t SET v = 12 WHERE id = 1", "COMMIT"]);
    b.answer().unwrap();
    assert_eq!(c.answer().unwrap(), ["11"]);
}

#[test]
fn only_rows_that_are_delivered_are_locked_under_a_limit() {
    let [a, b, c] = clients();
    let take = "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(a.must(&["BEGIN", take]), ["1"]);
    assert_eq!(b.must(&["BEGIN", take]), ["2"]);
    assert_eq!(c.must(&["BEGIN", take]), ["3"]);
    let [d] = [a];
    d.must(&["UPDATE t SET v = 0 WHERE id = 1", "COMMIT"]);
    assert_eq!(
        d.must(&["BEGIN", "SELECT id FROM t WHERE v > 0 ORDER BY v DESC LIMIT 2 FOR UPDATE SKIP LOCKED"]),
        [""; 0]
    );
    c.must(&["ROLLBACK"]);
    assert_eq!(
        d.must(&["SELECT id FROM t WHERE v > 0 ORDER BY v DESC LIMIT 2 FOR UPDATE SKIP LOCKED"]),
        ["3"]
    );
}

#[test]
fn tables_of_a_join_are_locked_as_named() {
    let [a, b] = clients();
    a.must(&["CREATE TABLE u (id INT PRIMARY KEY, t INT)", "INSERT INTO u VALUES (1, 1), (2, 2), (3, NULL)"]);
    let join = "SELECT u.id, v FROM u LEFT JOIN t ON t.id = u.t WHERE u.id <> 2 ORDER BY u.id";
    assert_eq!(a.must(&["BEGIN", &format!("{join} FOR UPDATE OF u")]), ["1 10", "3 "]);
    assert_eq!(b.run("SELECT id FROM u FOR UPDATE NOWAIT"), Err(NOT_AVAILABLE));
    assert_eq!(b.must(&["SELECT id FROM u FOR UPDATE SKIP LOCKED"]), ["2"]);
    assert_eq!(b.must(&["SELECT id FROM t FOR UPDATE NOWAIT"]), ["1", "2", "3"]);
    a.must(&["ROLLBACK", "BEGIN", &format!("{join} FOR SHARE OF u FOR UPDATE OF t")]);
    assert_eq!(b.must(&["SELECT id FROM u FOR SHARE NOWAIT"]), ["1", "2", "3"]);
    assert_eq!(b.must(&["SELECT id FROM t FOR SHARE SKIP LOCKED"]), ["2", "3"]);
    assert_eq!(a.run(&format!("{join} FOR UPDATE OF x")), Err(3568));
    assert_eq!(a.run(&format!("{join} FOR UPDATE FOR SHARE OF t")), Err(3569));
}

#[test]
fn a_wait_ends_with_its_time_and_the_transaction_goes_on() {
    let [a, b] = clients();
    a.must(&["BEGIN", "DELETE FROM t WHERE id = 2"]);
    b.must(&["SET innodb_lock_wait_timeout = 1", "BEGIN", "UPDATE t SET v = 0 WHERE id = 1"]);
    assert_eq!(b.run("UPDATE t SET v = 1"), Err(TIMEOUT));
    assert_eq!(b.must(&["SELECT v FROM t ORDER BY id"]), ["0", "20", "30"], "the statement left nothing");
    a.must(&["COMMIT"]);
    b.must(&["COMMIT"]);
    assert_eq!(a.must(&["SELECT id, v FROM t ORDER BY id"]), ["1 0", "3 30"]);
}

#[test]
fn of_two_that_wait_for_each_other_one_goes_on() {
    let [a, b] = clients();
    a.must(&["BEGIN", "UPDATE t SET v = 1 WHERE id = 1", "UPDATE t SET v = 1 WHERE id = 3"]);
    b.must(&["BEGIN", "UPDATE t SET v = 2 WHERE id = 2"]);
    a.blocks("UPDATE t SET v = 1 WHERE id = 2");
    assert_eq!(b.run("UPDATE t SET v = 2 WHERE id = 1"), Err(DEADLOCK), "it has written less");
    a.answer().unwrap();
    a.must(&["COMMIT"]);
    assert_eq!(b.must(&["SELECT v FROM t"]), ["1", "1", "1"]);
    let deadlocks = b.must(&["SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"]);
    assert_eq!(deadlocks, ["Innodb_deadlocks 1"]);
}

#[test]
fn unique_keys_stay_locked_until_commit() {
    let [a, b] = clients();
    for (held, wanted) in [("4, 40", "4, 41"), ("5, 50", "6, 50")] {
        a.must(&["BEGIN", &format!("INSERT INTO t VALUES ({held}, 0)")]);
        b.blocks(&format!("INSERT INTO t VALUES ({wanted}, 0)"));
        a.must(&["COMMIT"]);
        assert_eq!(b.answer(), Err(DUPLICATE));
        a.must(&["BEGIN", &format!("DELETE FROM t WHERE id = {}", &held[..1])]);
        b.blocks(&format!("INSERT INTO t VALUES ({wanted}, 1)"));
        a.must(&["COMMIT"]);
        b.answer().unwrap();
        a.must(&["DELETE FROM t WHERE id > 3"]);
    }
    // A key that is given up is free once that commits, and still taken if it rolls back.
    a.must(&["BEGIN", "UPDATE t SET k = 9 WHERE id = 1"]);
    b.blocks("UPDATE t SET k = 1 WHERE id = 2");
    a.must(&["ROLLBACK"]);
    assert_eq!(b.answer(), Err(DUPLICATE));
    a.must(&["BEGIN", "UPDATE t SET k = 9 WHERE id = 1"]);
    b.blocks("UPDATE t SET k = 1 WHERE id = 2");
    a.must(&["COMMIT"]);
    b.answer().unwrap();
    assert_eq!(a.must(&["SELECT id, k FROM t ORDER BY id"]), ["1 9", "2 1", "3 3"]);
}

#[test]
fn a_savepoint_gives_rows_back_but_no_locks() {
    let [a, b] = clients();
    a.must(&["BEGIN", "SAVEPOINT s", "UPDATE t SET v = 0 WHERE id = 1", "ROLLBACK TO s"]);
    assert_eq!(b.run("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), Err(NOT_AVAILABLE));
    a.must(&["COMMIT"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"]), ["10"]);
}

#[test]
fn read_committed_keeps_rows_that_still_match_and_lets_go_of_those_that_do_not() {
    let [a, b, c] = clients();
    for client in [&a, &b] {
        client.must(&["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"]);
    }
    a.must(&["UPDATE t SET v = 25 WHERE id = 1", "UPDATE t SET v = 5 WHERE id = 3"]);
    b.blocks("SELECT id, v FROM t WHERE v >= 10 ORDER BY id FOR UPDATE");
    a.must(&["COMMIT"]);
    assert_eq!(b.answer().unwrap(), ["1 25", "2 20"]);
    assert_eq!(c.must(&["SELECT id FROM t FOR UPDATE SKIP LOCKED"]), ["3"]);
    // Rows written over a version that the snapshot did not see are read by every index.
    b.must(&["UPDATE t SET v = v + 1, k = k + 10 WHERE v > 0"]);
    for index in ["PRIMARY", "k", "v"] {
        let rows = b.must(&[&format!("SELECT id, k, v FROM t FORCE INDEX ({index}) ORDER BY id")]);
        assert_eq!(rows, ["1 11 26", "2 12 21", "3 13 6"], "{index}");
    }
    b.must(&["COMMIT"]);
    assert_eq!(c.must(&["CHECK TABLE t"]), ["d.t check status OK"]);
}

#[test]
fn an_update_over_an_unseen_version_is_read_back_whole() {
    let [a, b] = clients();
    b.must(&["SET innodb_snapshot_isolation = OFF", "BEGIN", "SELECT * FROM t"]);
    a.must(&["UPDATE t SET v = v + 1, k = k + 100"]);
    b.must(&["UPDATE t SET v = v + 1 WHERE id < 3"]);
    for index in ["PRIMARY", "k", "v"] {
        let rows = b.must(&[&format!("SELECT id, k, v FROM t FORCE INDEX ({index}) ORDER BY id")]);
        assert_eq!(rows, ["1 101 12", "2 102 22", "3 3 30"], "{index}");
    }
    b.must(&["COMMIT"]);
    assert_eq!(a.must(&["SELECT id, k, v FROM t ORDER BY id"]), ["1 101 12", "2 102 22", "3 103 31"]);
    assert_eq!(a.must(&["CHECK TABLE t"]), ["d.t check status OK"]);
}

#[test]
fn with_innodbs_repeatable_read_changes_and_locking_reads_find_what_was_committed_since() {
    let [a, b] = clients();
    b.must(&["SET innodb_snapshot_isolation = OFF", "BEGIN", "SELECT * FROM t"]);
    a.must(&[
        "INSERT INTO t VALUES (4, 4, 40)",
        "UPDATE t SET v = 31 WHERE id = 3",
        "DELETE FROM t WHERE id = 1",
    ]);
    assert_eq!(b.must(&["SELECT id, v FROM t ORDER BY id"]), ["1 10", "2 20", "3 30"]);
    for index in ["PRIMARY", "k", "v"] {
        let rows = b.must(&[&format!("SELECT id, v FROM t FORCE INDEX ({index}) ORDER BY id FOR UPDATE")]);
        assert_eq!(rows, ["2 20", "3 31", "4 40"], "{index}");
        let rows = b.must(&[&format!("SELECT id FROM t FORCE INDEX ({index}) WHERE v > 30 FOR SHARE")]);
        assert_eq!(rows.len(), 2, "{index}");
    }
    assert_eq!(b.must(&["SELECT id, v FROM t ORDER BY id"]), ["1 10", "2 20", "3 30"], "its snapshot stays");
    b.must(&["UPDATE t SET v = v + 1 WHERE v > 30"]);
    for index in ["PRIMARY", "k", "v"] {
        let rows = b.must(&[&format!("SELECT id, v FROM t FORCE INDEX ({index}) ORDER BY id")]);
        assert_eq!(rows, ["1 10", "2 20", "3 32", "4 41"], "{index}");
    }
    b.must(&["DELETE FROM t WHERE v = 41", "COMMIT"]);
    assert_eq!(a.must(&["SELECT id, v FROM t ORDER BY id"]), ["2 20", "3 32"]);
    assert_eq!(a.must(&["CHECK TABLE t"]), ["d.t check status OK"]);
    // A statement that changes or locks is no read: the snapshot is taken by the first one.
    b.must(&["BEGIN", "SELECT v FROM t WHERE id = 2 FOR SHARE"]);
    a.must(&["INSERT INTO t VALUES (5, 5, 50)"]);
    assert_eq!(b.must(&["SELECT id FROM t ORDER BY id"]), ["2", "3", "5"]);
    a.must(&["INSERT INTO t VALUES (6, 6, 60)"]);
    assert_eq!(b.must(&["SELECT id FROM t ORDER BY id"]), ["2", "3", "5"]);
    b.must(&["COMMIT"]);
}

#[test]
fn a_row_inserted_while_a_statement_waited_for_its_key_is_found() {
    for shown in [false, true] {
        let [a, b] = clients();
        b.must(&["SET innodb_snapshot_isolation = OFF", "BEGIN"]);
        if shown {
            b.must(&["SELECT COUNT(*) FROM t"]);
        }
        a.must(&["BEGIN", "INSERT INTO t VALUES (7, 7, 70)"]);
        b.blocks("SELECT v FROM t WHERE id = 7 FOR UPDATE");
        a.must(&["COMMIT"]);
        assert_eq!(b.answer().unwrap(), ["70"], "{shown}");
        b.must(&["UPDATE t SET v = 71 WHERE id = 7", "COMMIT"]);
    }
}

#[test]
fn waiting_ends_when_the_statement_is_killed() {
    let [a, b] = clients();
    a.must(&["BEGIN", "UPDATE t SET v = 0"]);
    let id = b.must(&["SELECT CONNECTION_ID()"]).remove(0);
    b.blocks("UPDATE t SET v = 1");
    a.must(&[&format!("KILL QUERY {id}")]);
    assert_eq!(b.answer(), Err(1317));
    a.must(&["COMMIT"]);
}

#[test]
fn a_key_that_was_looked_up_to_be_locked_is_not_inserted_by_others() {
    let [a, b, c] = clients();
    // A heap has nothing to lock here.
    a.must(&["ALTER TABLE t ENGINE = InnoDB"]);
    assert_eq!(a.must(&["BEGIN", "SELECT v FROM t WHERE id = 7 FOR UPDATE"]), [""; 0]);
    b.blocks("INSERT INTO t VALUES (7, 7, 70)");
    assert_eq!(c.run("SELECT v FROM t WHERE id = 7 FOR UPDATE NOWAIT"), Err(NOT_AVAILABLE));
    assert_eq!(c.must(&["SELECT v FROM t WHERE id IN (2, 7) FOR UPDATE SKIP LOCKED"]), ["20"]);
    c.must(&["INSERT INTO t VALUES (8, 8, 80)"]);
    a.must(&["INSERT INTO t VALUES (7, 7, 71)", "COMMIT"]);
    assert_eq!(b.answer(), Err(DUPLICATE));
    // A waiter checks again whether the row exists.
    assert_eq!(
        a.must(&["BEGIN", "DELETE FROM t WHERE id = 7", "SELECT v FROM t WHERE id = 7 FOR SHARE"]),
        [""; 0]
    );
    b.blocks("UPDATE t SET v = 0 WHERE id = 7");
    a.must(&["ROLLBACK"]);
    b.answer().unwrap();
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 7"]), ["0"]);
}

#[test]
fn at_read_committed_a_key_without_a_row_is_not_locked() {
    let [a, b] = clients();
    a.must(&["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"]);
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 7 FOR UPDATE"]), [""; 0]);
    b.must(&["INSERT INTO t VALUES (7, 7, 70)"]);
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 7 FOR UPDATE"]), ["70"]);
}
