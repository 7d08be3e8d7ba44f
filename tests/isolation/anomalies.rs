//! The anomalies, one script each, at both isolation levels.

use super::clients::{Client, database};

const DEADLOCK: u16 = 1213;

/// Makes three clients with transactions at `level` over rows (1, 10) and (2, 20).
fn three(level: &str) -> [Client; 3] {
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT)"]);
    setup.must(&["INSERT INTO t VALUES (1, 10), (2, 20)"]);
    [(); 3].map(|()| {
        let client = Client::new(&instance);
        client.must(&[&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"), "BEGIN"]);
        client
    })
}

const LEVELS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];
const ALL: &str = "SELECT id, v FROM t ORDER BY id";

fn set(id: u32, v: u32) -> String {
    format!("UPDATE t SET v = {v} WHERE id = {id}")
}

#[test]
fn g0_writes_are_not_interleaved() {
    for level in LEVELS {
        let [a, b, _] = three(level);
        a.must(&[&set(1, 11)]);
        b.blocks(&set(1, 12));
        a.must(&[&set(2, 21), "COMMIT"]);
        assert_eq!(a.must(&[ALL]), ["1 11", "2 21"], "{level}");
        b.answer().unwrap();
        b.must(&[&set(2, 22), "COMMIT"]);
        assert_eq!(a.must(&[ALL]), ["1 12", "2 22"], "{level}");
    }
}

#[test]
fn g1a_what_is_rolled_back_is_not_seen() {
    for level in LEVELS {
        let [a, b, _] = three(level);
        a.must(&[&set(1, 101)]);
        assert_eq!(b.must(&[ALL]), ["1 10", "2 20"], "{level}");
        a.must(&["ROLLBACK"]);
        assert_eq!(b.must(&[ALL, "COMMIT", ALL]), ["1 10", "2 20"], "{level}");
    }
}

#[test]
fn g1b_what_is_overwritten_is_not_seen() {
    for level in LEVELS {
        let [a, b, _] = three(level);
        a.must(&[&set(1, 101)]);
        assert_eq!(b.must(&[ALL]), ["1 10", "2 20"], "{level}");
        a.must(&[&set(1, 11), "COMMIT"]);
        let now = if level == "READ COMMITTED" { "1 11" } else { "1 10" };
        assert_eq!(b.must(&[ALL]), [now, "2 20"], "{level}");
    }
}

#[test]
fn g1c_information_does_not_flow_in_a_circle() {
    for level in LEVELS {
        let [a, b, _] = three(level);
        a.must(&[&set(1, 11)]);
        b.must(&[&set(2, 22)]);
        assert_eq!(a.must(&["SELECT v FROM t WHERE id = 2"]), ["20"], "{level}");
        assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1"]), ["10"], "{level}");
        a.must(&["COMMIT"]);
        b.must(&["COMMIT"]);
    }
}

#[test]
fn otv_a_transaction_does_not_vanish_once_seen() {
    for level in LEVELS {
        let [a, b, c] = three(level);
        a.must(&[&set(1, 11), &set(2, 19)]);
        b.blocks(&set(1, 12));
        a.must(&["COMMIT"]);
        b.answer().unwrap();
        assert_eq!(c.must(&[ALL]), ["1 11", "2 19"], "{level}");
        b.must(&[&set(2, 18)]);
        assert_eq!(c.must(&[ALL]), ["1 11", "2 19"], "{level}");
        b.must(&["COMMIT"]);
        let now = if level == "READ COMMITTED" { ["1 12", "2 18"] } else { ["1 11", "2 19"] };
        assert_eq!(c.must(&[ALL]), now, "{level}");
    }
}

#[test]
fn pmp_a_predicate_keeps_its_rows() {
    let [a, b, _] = three("REPEATABLE READ");
    assert!(a.must(&["SELECT * FROM t WHERE v = 30"]).is_empty());
    b.must(&["INSERT INTO t VALUES (3, 30)", "COMMIT"]);
    assert!(a.must(&["SELECT * FROM t WHERE v % 3 = 0"]).is_empty());
}

#[test]
fn pmp_of_a_write_is_refused_or_sees_all() {
    let [a, b, _] = three("REPEATABLE READ");
    assert_eq!(b.must(&["SELECT * FROM t WHERE v = 20"]), ["2 20"]);
    a.must(&["UPDATE t SET v = v + 10"]);
    b.blocks("DELETE FROM t WHERE v = 20");
    a.must(&["COMMIT"]);
    assert_eq!(b.answer(), Err(DEADLOCK));
    assert_eq!(a.must(&[ALL]), ["1 20", "2 30"]);

    // The newest version of each row decides.
    let [a, b, _] = three("READ COMMITTED");
    a.must(&["UPDATE t SET v = v + 10"]);
    b.blocks("DELETE FROM t WHERE v = 20");
    a.must(&["COMMIT"]);
    b.answer().unwrap();
    let left = b.must(&["COMMIT", ALL]);
    assert_eq!(left, ["1 20", "2 30"], "row 1 was passed over when it was 10, row 2 is 30 now");
}

#[test]
fn p4_no_update_is_lost() {
    let [a, b, _] = three("REPEATABLE READ");
    for client in [&a, &b] {
        assert_eq!(client.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
    }
    a.must(&[&set(1, 11)]);
    b.blocks(&set(1, 11));
    a.must(&["COMMIT"]);
    assert_eq!(b.answer(), Err(DEADLOCK));
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1"]), ["11"], "the transaction has ended");

    // With InnoDB's semantics the second write overwrites the first.
    let [a, b, _] = three("REPEATABLE READ");
    b.must(&["SET innodb_snapshot_isolation = OFF", "SELECT v FROM t WHERE id = 1"]);
    a.must(&[&set(1, 11), "COMMIT"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
    b.must(&["UPDATE t SET v = v + 100 WHERE id = 1"]);
    assert_eq!(b.must(&["SELECT v FROM t WHERE id = 1"]), ["111"]);
    assert_eq!(b.must(&["COMMIT", ALL]), ["1 111", "2 20"]);
}

#[test]
fn g_single_reads_are_of_one_moment() {
    let [a, b, _] = three("REPEATABLE READ");
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
    b.must(&[&set(1, 12), &set(2, 18), "COMMIT"]);
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 2"]), ["20"]);
    assert_eq!(a.must(&["SELECT id FROM t WHERE v = 18 OR v = 20"]), ["2"]);
}

#[test]
fn g_single_a_write_does_not_act_on_what_was_not_read() {
    let [a, b, _] = three("REPEATABLE READ");
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
    b.must(&[&set(1, 12), &set(2, 18), "COMMIT"]);
    assert_eq!(a.run("DELETE FROM t WHERE v = 20"), Err(DEADLOCK));
    assert_eq!(a.must(&[ALL]), ["1 12", "2 18"]);
    // Nor does a locking read.
    let [a, b, _] = three("REPEATABLE READ");
    assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
    b.must(&[&set(2, 18), "COMMIT"]);
    assert_eq!(a.run("SELECT * FROM t WHERE id = 2 FOR SHARE"), Err(DEADLOCK));
}

/// Snapshot isolation is not serialisable: each transaction reads what the other writes. Locking reads prevent this
/// for existing rows.
#[test]
fn g2_item_is_prevented_by_locking_reads_only() {
    let [a, b, _] = three("REPEATABLE READ");
    for client in [&a, &b] {
        client.must(&["SELECT * FROM t WHERE id IN (1, 2)"]);
    }
    a.must(&[&set(1, 11)]);
    b.must(&[&set(2, 21), "COMMIT"]);
    a.must(&["COMMIT"]);
    let [a, b, _] = three("REPEATABLE READ");
    for client in [&a, &b] {
        client.must(&["SELECT * FROM t WHERE id IN (1, 2) FOR SHARE"]);
    }
    a.blocks(&set(1, 11));
    let second = b.run(&set(2, 21));
    let first = a.answer();
    assert_eq!([first, second].iter().filter(|answer| **answer == Err(DEADLOCK)).count(), 1);
}

#[test]
fn a_consistent_snapshot_is_taken_at_once() {
    let [a, b, c] = three("REPEATABLE READ");
    a.must(&["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
    b.must(&["START TRANSACTION"]);
    c.must(&[&set(1, 11), "COMMIT"]);
    assert_eq!(a.must(&[ALL]), ["1 10", "2 20"]);
    assert_eq!(b.must(&[ALL]), ["1 11", "2 20"]);
    assert_eq!(a.run(&set(1, 12)), Err(DEADLOCK), "the snapshot was promised");
}
