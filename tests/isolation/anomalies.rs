//! The anomalies, one script each, at the isolation levels.

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

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
/// The levels at which a transaction reads one snapshot.
const SNAPSHOT: [&str; 2] = ["REPEATABLE READ", "SERIALIZABLE"];
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
        // Neither saw the other: no order of the two explains that.
        let second = if level == "SERIALIZABLE" { Err(DEADLOCK) } else { Ok(Vec::new()) };
        assert_eq!(b.run("COMMIT"), second, "{level}");
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
    for level in SNAPSHOT {
        let [a, b, _] = three(level);
        assert!(a.must(&["SELECT * FROM t WHERE v = 30"]).is_empty());
        b.must(&["INSERT INTO t VALUES (3, 30)", "COMMIT"]);
        assert!(a.must(&["SELECT * FROM t WHERE v % 3 = 0"]).is_empty());
    }
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
    for level in SNAPSHOT {
        let [a, b, _] = three(level);
        assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
        b.must(&[&set(1, 12), &set(2, 18), "COMMIT"]);
        assert_eq!(a.must(&["SELECT v FROM t WHERE id = 2"]), ["20"]);
        assert_eq!(a.must(&["SELECT id FROM t WHERE v = 18 OR v = 20"]), ["2"]);
    }
}

#[test]
fn g_single_a_write_does_not_act_on_what_was_not_read() {
    for level in SNAPSHOT {
        let [a, b, _] = three(level);
        assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
        b.must(&[&set(1, 12), &set(2, 18), "COMMIT"]);
        assert_eq!(a.run("DELETE FROM t WHERE v = 20"), Err(DEADLOCK));
        assert_eq!(a.must(&[ALL]), ["1 12", "2 18"]);
        // Nor does a locking read.
        let [a, b, _] = three(level);
        assert_eq!(a.must(&["SELECT v FROM t WHERE id = 1"]), ["10"]);
        b.must(&[&set(2, 18), "COMMIT"]);
        assert_eq!(a.run("SELECT * FROM t WHERE id = 2 FOR SHARE"), Err(DEADLOCK));
    }
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
    for level in SNAPSHOT {
        let [a, b, c] = three(level);
        a.must(&["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
        b.must(&["START TRANSACTION"]);
        c.must(&[&set(1, 11), "COMMIT"]);
        assert_eq!(a.must(&[ALL]), ["1 10", "2 20"]);
        assert_eq!(b.must(&[ALL]), ["1 11", "2 20"]);
        assert_eq!(a.run(&set(1, 12)), Err(DEADLOCK), "the snapshot was promised");
    }
}

/// Both read both rows and write one each.
#[test]
fn g2_item_write_skew_does_not_commit() {
    let [a, b, _] = three("SERIALIZABLE");
    for client in [&a, &b] {
        client.must(&["SELECT * FROM t WHERE id IN (1, 2)"]);
    }
    a.must(&[&set(1, 11)]);
    b.must(&[&set(2, 21), "COMMIT"]);
    assert_eq!(a.run("COMMIT"), Err(DEADLOCK));
    assert_eq!(a.must(&[ALL]), ["1 10", "2 21"], "it was rolled back");
}

/// Both look for rows with a value, find none, and insert one each: by the primary key, an index, no index.
#[test]
fn g2_phantoms_of_a_predicate_do_not_commit() {
    for condition in
        ["id > 2", "id BETWEEN 3 AND 9", "w = 30", "w > 20 AND w < 40", "v % 3 = 0", "w + 0 = 30"]
    {
        let [a, b, c] = three("SERIALIZABLE");
        c.must(&["COMMIT", "ALTER TABLE t ADD COLUMN w INT, ADD KEY (w)", "UPDATE t SET w = v"]);
        for client in [&a, &b] {
            client.must(&["BEGIN"]);
            let hint = if condition.starts_with("w ") { "FORCE INDEX (w)" } else { "" };
            assert!(client.must(&[&format!("SELECT * FROM t {hint} WHERE {condition}")]).is_empty());
        }
        a.must(&["INSERT INTO t VALUES (3, 30, 30)"]);
        b.must(&["INSERT INTO t VALUES (4, 42, 30)", "COMMIT"]);
        assert_eq!(a.run("COMMIT"), Err(DEADLOCK), "{condition}");
        assert_eq!(a.must(&["SELECT COUNT(*) FROM t"]), ["3"]);
    }
}

/// Writes to keys that neither transaction can have read let both commit.
#[test]
fn writes_beside_what_was_read_commit() {
    let [a, b, c] = three("SERIALIZABLE");
    c.must(&["COMMIT", "ALTER TABLE t ADD COLUMN w INT, ADD KEY (w)", "UPDATE t SET w = v"]);
    a.must(&["BEGIN", "SELECT * FROM t FORCE INDEX (w) WHERE w = 10", "SELECT * FROM t WHERE id = 1"]);
    b.must(&[
        "BEGIN",
        "SELECT * FROM t FORCE INDEX (w) WHERE w BETWEEN 15 AND 25",
        "SELECT * FROM t WHERE id > 1",
    ]);
    a.must(&[&set(1, 11)]);
    b.must(&[&set(2, 21), "INSERT INTO t VALUES (3, 30, 30)", "COMMIT"]);
    a.must(&["COMMIT"]);
}

/// Fekete, O'Neil and O'Neil: a withdrawal and a deposit are serializable without the report between them.
#[test]
fn a_reader_does_not_see_what_no_order_explains() {
    for reader in ["BEGIN", "START TRANSACTION READ ONLY", "SET autocommit = 1"] {
        let [withdraws, deposits, reports] = three("SERIALIZABLE");
        reports.must(&["COMMIT", "UPDATE t SET v = 0"]);
        withdraws.must(&["COMMIT", "BEGIN", "SELECT SUM(v) FROM t"]);
        deposits.must(&["COMMIT", "BEGIN", "UPDATE t SET v = v + 20 WHERE id = 2", "COMMIT"]);
        assert_eq!(reports.must(&[reader, ALL]), ["1 0", "2 20"]);
        withdraws.must(&["UPDATE t SET v = v - 11 WHERE id = 1"]);
        assert_eq!(withdraws.run("COMMIT"), Err(DEADLOCK), "{reader}");
        reports.must(&["COMMIT"]);
        // The report comes last: it must not read the rest.
        withdraws.must(&["BEGIN", "SELECT SUM(v) FROM t", "UPDATE t SET v = v - 11 WHERE id = 1"]);
        deposits.must(&["BEGIN", "UPDATE t SET v = v + 20 WHERE id = 2", "COMMIT"]);
        let begins = if reader == "SET autocommit = 1" { "BEGIN" } else { reader };
        assert_eq!(reports.must(&[begins, "SELECT v FROM t WHERE id = 2"]), ["40"]);
        withdraws.must(&["COMMIT"]);
        assert_eq!(reports.run("SELECT v FROM t WHERE id = 1"), Err(DEADLOCK), "{reader}");
        assert_eq!(reports.must(&[ALL]), ["1 -11", "2 40"]);
    }
}

/// A check of the current state fails with 1213 if it finds a row that the snapshot does not show.
#[test]
fn current_reads_do_not_tell_what_the_snapshot_does_not() {
    let [a, b, _] = three("SERIALIZABLE");
    a.must(&["SELECT * FROM t WHERE id = 1"]);
    b.must(&["INSERT INTO t VALUES (3, 30)", "COMMIT"]);
    assert_eq!(a.run("INSERT INTO t VALUES (3, 31)"), Err(DEADLOCK));
    a.must(&["CREATE TABLE c (id INT PRIMARY KEY, t INT, u INT UNIQUE, FOREIGN KEY (t) REFERENCES t (id))"]);
    b.must(&["BEGIN", "SELECT * FROM c"]);
    a.must(&["INSERT INTO c VALUES (1, 1, 7)"]);
    assert_eq!(b.run("INSERT INTO c VALUES (2, 1, 7)"), Err(DEADLOCK), "a unique key");
    b.must(&["BEGIN", "SELECT * FROM c"]);
    a.must(&["INSERT INTO t VALUES (4, 40)"]);
    assert_eq!(b.run("INSERT INTO c VALUES (2, 4, 8)"), Err(DEADLOCK), "a parent");
    b.must(&["BEGIN", "SELECT * FROM c"]);
    a.must(&["DELETE FROM t WHERE id = 4"]);
    assert_eq!(b.run("INSERT INTO c VALUES (2, 4, 8)"), Err(DEADLOCK), "a parent that was deleted");
    b.must(&["BEGIN", "SELECT * FROM c"]);
    a.must(&["INSERT INTO c VALUES (3, 3, 9)"]);
    assert_eq!(b.run("DELETE FROM t WHERE id = 3"), Err(DEADLOCK), "a child");
    // The check reports rows that the snapshot shows as at every level.
    assert_eq!(b.run("INSERT INTO c VALUES (9, 1, 7)"), Err(1062));
    assert_eq!(b.run("INSERT INTO c VALUES (9, 77, 8)"), Err(1452));
}

/// A statement that is a transaction takes part, and is run again.
#[test]
fn autocommit_takes_part() {
    let [a, b, _] = three("SERIALIZABLE");
    a.must(&["SELECT SUM(v) FROM t"]);
    b.must(&[
        "COMMIT",
        "UPDATE t SET v = v + (SELECT SUM(v) FROM (SELECT v FROM t WHERE id = 1) d) WHERE id = 2",
    ]);
    a.must(&[&set(1, 11)]);
    assert_eq!(a.run("COMMIT"), Err(DEADLOCK), "each has read what the other wrote");
    assert_eq!(a.must(&[ALL]), ["1 10", "2 30"]);
}

#[test]
fn other_levels_take_no_part() {
    let [a, b, _] = three("SERIALIZABLE");
    b.must(&["COMMIT", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN"]);
    for client in [&a, &b] {
        client.must(&["SELECT * FROM t WHERE id IN (1, 2)"]);
    }
    a.must(&[&set(1, 11)]);
    b.must(&[&set(2, 21), "COMMIT"]);
    a.must(&["COMMIT"]);
}
