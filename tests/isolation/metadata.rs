//! Tests DDL and LOCK TABLES against sessions that use the tables.

use super::clients::{Client, database};

const TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;
const READ_LOCKED: u16 = 1099;
const NOT_LOCKED: u16 = 1100;
const ALL_READ_LOCKED: u16 = 1223;

fn clients<const N: usize>() -> [Client; N] {
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB"]);
    setup.must(&["CREATE TABLE u (id INT PRIMARY KEY, v INT)"]);
    setup.must(&["INSERT INTO t VALUES (1, 10), (2, 20)", "INSERT INTO u VALUES (1, 100)"]);
    [(); N].map(|()| Client::new(&instance))
}

#[test]
fn ddl_waits_for_transactions_that_have_used_the_table() {
    for (used, ddl) in [
        ("SELECT * FROM t", "DROP TABLE t"),
        ("SELECT v FROM u WHERE v IN (SELECT v FROM t)", "TRUNCATE t"),
        ("INSERT INTO t VALUES (3, 30)", "CREATE INDEX v ON t (v)"),
        ("UPDATE t SET v = 1 WHERE id = 5", "DROP DATABASE d"),
        ("SELECT * FROM t", "CREATE TABLE c (t INT, FOREIGN KEY (t) REFERENCES t (id)) ENGINE=InnoDB"),
    ] {
        let [a, b, c] = clients();
        a.must(&["BEGIN", used]);
        b.blocks(ddl);
        // The transaction goes on; others queue behind the waiting DDL, except on other tables.
        a.must(&["SELECT COUNT(*) FROM t"]);
        c.must(&["SET lock_wait_timeout = 1"]);
        assert_eq!(c.run("INSERT INTO t VALUES (7, 7)"), Err(TIMEOUT), "{ddl}");
        a.must(&["COMMIT"]);
        b.answer().unwrap_or_else(|error| panic!("{ddl}: {error}"));
    }
}

#[test]
fn statements_that_are_transactions_of_their_own_let_go() {
    let [a, b] = clients();
    a.must(&["SELECT * FROM t", "INSERT INTO t VALUES (3, 30)", "SELECT * FROM t WHERE id = 3 FOR UPDATE"]);
    a.run("SELECT * FROM t WHERE nothing = 1").unwrap_err();
    a.must(&["PREPARE p FROM 'SELECT COUNT(*) FROM t'", "EXECUTE p"]);
    b.must(&["TRUNCATE t", "ALTER TABLE t ADD KEY (v)"]);
    assert_eq!(a.must(&["EXECUTE p"]), ["0"]);
    b.must(&["DROP TABLE t"]);
    assert_eq!(a.run("EXECUTE p"), Err(1146));
}

#[test]
fn indexes_are_created_while_a_transaction_reads() {
    let [a, b] = clients();
    a.must(&["BEGIN", "SELECT * FROM t"]);
    b.must(&["CREATE INDEX v ON t (v)", "DROP INDEX v ON t"]);
}

#[test]
fn a_deadlock_of_rows_and_tables_is_ended() {
    let [a, b, c] = clients();
    a.must(&["BEGIN", "UPDATE u SET v = 0 WHERE id = 1"]);
    c.must(&["BEGIN", "SELECT * FROM t"]);
    b.blocks("DROP TABLE t");
    c.blocks("UPDATE u SET v = 1 WHERE id = 1");
    // This session waits for the DROP, which waits for the reader, which waits for this session: a victim is chosen
    // that does no DDL.
    let ended = a.run("SELECT * FROM t");
    match ended {
        Err(DEADLOCK) => {
            c.answer().unwrap();
            c.must(&["COMMIT"]);
        }
        Err(1146) => assert_eq!(c.answer(), Err(DEADLOCK)),
        other => panic!("{other:?}"),
    }
    b.answer().unwrap();
}

#[test]
fn locked_tables_are_ones_own() {
    let [a, b, c] = clients();
    a.must(&["LOCK TABLES t READ, u AS x WRITE"]);
    assert_eq!(a.must(&["SELECT COUNT(*) FROM t"]), ["2"]);
    assert_eq!(b.must(&["SELECT COUNT(*) FROM t"]), ["2"]);
    assert_eq!(a.run("DELETE FROM t"), Err(READ_LOCKED));
    assert_eq!(a.run("SELECT * FROM u"), Err(NOT_LOCKED));
    assert_eq!(a.run("SELECT * FROM t AS other"), Err(NOT_LOCKED));
    assert_eq!(a.run("TRUNCATE t"), Err(READ_LOCKED));
    assert_eq!(a.run("CREATE TABLE w (a INT)"), Err(NOT_LOCKED));
    a.must(&["UPDATE u AS x SET v = 5"]);
    b.blocks("SELECT v FROM u");
    c.blocks("INSERT INTO t VALUES (3, 30)");
    a.must(&["UNLOCK TABLES", "SELECT * FROM u"]);
    assert_eq!(b.answer().unwrap(), ["5"]);
    c.answer().unwrap();
    a.must(&["LOCK TABLES t WRITE", "INSERT INTO t VALUES (4, 40)", "TRUNCATE t"]);
    b.blocks("SELECT COUNT(*) FROM t");
    // BEGIN releases the tables.
    a.must(&["BEGIN"]);
    assert_eq!(b.answer().unwrap(), ["0"]);
    assert_eq!(a.run("LOCK TABLES nothing READ"), Err(1146));
    assert_eq!(a.run("LOCK TABLES t READ, t WRITE"), Err(1066));
    a.must(&["LOCK TABLES t WRITE"]);
    b.blocks("SELECT COUNT(*) FROM t");
    drop(a);
    b.answer().unwrap();
}

#[test]
fn a_transaction_is_committed_when_tables_are_locked_and_unlocked() {
    let [a, b] = clients();
    a.must(&["BEGIN", "INSERT INTO t VALUES (3, 30)", "LOCK TABLES t WRITE, u READ"]);
    a.must(&["SET autocommit = 0", "INSERT INTO t VALUES (4, 40)", "UNLOCK TABLES", "ROLLBACK"]);
    assert_eq!(b.must(&["SELECT COUNT(*) FROM t"]), ["4"]);
}

#[test]
fn everything_can_be_locked_for_reading() {
    let [a, b, c] = clients();
    b.must(&["BEGIN", "INSERT INTO t VALUES (3, 30)"]);
    a.blocks("FLUSH TABLES WITH READ LOCK");
    b.must(&["COMMIT"]);
    a.answer().unwrap();
    assert_eq!(a.must(&["SELECT COUNT(*) FROM t"]), ["3"]);
    assert_eq!(a.run("INSERT INTO t VALUES (4, 40)"), Err(ALL_READ_LOCKED));
    assert_eq!(a.run("DROP TABLE t"), Err(ALL_READ_LOCKED));
    b.must(&["SELECT * FROM t"]);
    b.blocks("DELETE FROM u");
    c.blocks("DROP TABLE t");
    a.must(&["START TRANSACTION WITH CONSISTENT SNAPSHOT", "UNLOCK TABLES"]);
    b.answer().unwrap();
    c.answer().unwrap();
    assert_eq!(a.must(&["SELECT COUNT(*) FROM u"]), ["1"]);
}
