//! Tests foreign keys under concurrency: no row ever refers to nothing.

use super::clients::{Client, database};
use std::sync::atomic::{AtomicUsize, Ordering};

const DEADLOCK: u16 = 1213;
const NO_PARENT: u16 = 1452;
const REFERENCED: u16 = 1451;

/// Makes clients of `p (id, code UNIQUE, n)` with rows 1 and 2, and `c (id, p, code)` that refers to both keys, with
/// these `actions`.
fn clients<const N: usize>(level: &str, actions: &str) -> [Client; N] {
    let instance = database();
    let setup = Client::new_without_database(&instance);
    setup.must(&["CREATE DATABASE d", "USE d"]);
    setup.must(&["CREATE TABLE p (id INT PRIMARY KEY, code INT, n INT, UNIQUE KEY (code)) ENGINE=InnoDB"]);
    setup.must(&[&format!(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, code INT, FOREIGN KEY (p) REFERENCES p (id) {actions}, \
         FOREIGN KEY (code) REFERENCES p (code) {actions}) ENGINE=InnoDB"
    )]);
    setup.must(&["INSERT INTO p VALUES (1, 10, 0), (2, 20, 0)"]);
    [(); N].map(|()| {
        let client = Client::new(&instance);
        client.must(&[&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]);
        client
    })
}

const LEVELS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];

#[test]
fn deleting_a_parent_waits_for_an_uncommitted_child() {
    for level in LEVELS {
        for child in ["(1, 1, NULL)", "(1, NULL, 10)"] {
            let [a, b] = clients(level, "");
            a.must(&["BEGIN", &format!("INSERT INTO c VALUES {child}")]);
            b.blocks("DELETE FROM p WHERE id = 1");
            a.must(&["COMMIT"]);
            assert_eq!(b.answer(), Err(REFERENCED), "{level} {child}");
            a.must(&["BEGIN", &format!("REPLACE INTO c VALUES {child}")]);
            b.blocks("UPDATE p SET id = 7, code = 70 WHERE id = 1");
            a.must(&["ROLLBACK", "DELETE FROM c"]);
            // The row that is replaced was committed.
            b.answer().ok();
        }
    }
}

#[test]
fn inserting_a_child_waits_for_an_uncommitted_delete_or_insert_of_its_parent() {
    for level in LEVELS {
        let [a, b] = clients(level, "");
        a.must(&["BEGIN", "DELETE FROM p WHERE id = 1"]);
        b.blocks("INSERT INTO c VALUES (1, 1, NULL)");
        a.must(&["COMMIT"]);
        assert_eq!(b.answer(), Err(NO_PARENT), "{level}");
        a.must(&["BEGIN", "DELETE FROM p WHERE id = 2"]);
        b.blocks("INSERT INTO c VALUES (1, NULL, 20)");
        a.must(&["ROLLBACK"]);
        b.answer().unwrap();
        a.must(&["BEGIN", "INSERT INTO p VALUES (3, 30, 0)"]);
        b.blocks("INSERT INTO c VALUES (2, 3, 30)");
        a.must(&["COMMIT"]);
        b.answer().unwrap();
        a.must(&["BEGIN", "UPDATE p SET code = 31 WHERE id = 3 AND code = 31"]);
        a.must(&[
            "COMMIT",
            "BEGIN",
            "INSERT INTO p VALUES (4, 40, 0)",
            "UPDATE p SET code = 41 WHERE id = 4",
        ]);
        b.blocks("UPDATE c SET code = 41 WHERE id = 2");
        a.must(&["COMMIT"]);
        b.answer().unwrap();
    }
}

#[test]
fn other_changes_of_a_parent_are_in_nobodys_way() {
    for level in LEVELS {
        let [a, b] = clients(level, "");
        a.must(&["BEGIN", "UPDATE p SET n = n + 1"]);
        b.must(&["BEGIN", "INSERT INTO c VALUES (1, 1, 20)"]);
        a.must(&["UPDATE p SET n = n + 1", "COMMIT"]);
        b.must(&["COMMIT"]);
    }
}

#[test]
fn children_outside_the_snapshot_cascade_or_end_the_transaction() {
    let [a, b] = clients("REPEATABLE READ", "ON DELETE CASCADE ON UPDATE CASCADE");
    a.must(&["BEGIN", "SELECT * FROM p"]);
    b.must(&["INSERT INTO c VALUES (1, 1, 10)"]);
    assert_eq!(a.run("DELETE FROM p WHERE id = 1"), Err(DEADLOCK));
    assert_eq!(b.must(&["SELECT COUNT(*) FROM c"]), ["1"]);
    let [a, b] = clients("READ COMMITTED", "ON DELETE CASCADE ON UPDATE CASCADE");
    a.must(&["BEGIN", "SELECT * FROM p"]);
    b.must(&["INSERT INTO c VALUES (1, 1, 10)"]);
    a.must(&["DELETE FROM p WHERE id = 1", "COMMIT"]);
    assert_eq!(b.must(&["SELECT COUNT(*) FROM c"]), ["0"]);
}

/// Threads insert, move and delete parents and children concurrently; with any actions, every snapshot shows for each
/// row the row that it refers to.
#[test]
fn no_row_refers_to_nothing() {
    for (level, actions) in [
        ("READ COMMITTED", "ON DELETE CASCADE ON UPDATE CASCADE"),
        ("REPEATABLE READ", "ON DELETE SET NULL ON UPDATE CASCADE"),
        ("READ COMMITTED", ""),
        ("REPEATABLE READ", "ON DELETE CASCADE ON UPDATE SET NULL"),
    ] {
        let [checker, workers @ ..]: [Client; 5] = clients(level, actions);
        let orphans = "SELECT COUNT(*) FROM c WHERE (p IS NOT NULL AND p NOT IN (SELECT id FROM p)) \
                       OR (code IS NOT NULL AND code NOT IN (SELECT code FROM p WHERE code IS NOT NULL))";
        let left = AtomicUsize::new(workers.len());
        std::thread::scope(|scope| {
            let left = &left;
            for (number, client) in (1..).zip(workers) {
                scope.spawn(move || {
                    work(&client, number);
                    left.fetch_sub(1, Ordering::Relaxed);
                });
            }
            while left.load(Ordering::Relaxed) > 0 {
                assert_eq!(checker.must(&[orphans]), ["0"], "{level} {actions}");
            }
        });
        assert_eq!(checker.must(&[orphans]), ["0"], "{level} {actions}");
        let checked = checker.must(&["CHECK TABLE p, c EXTENDED"]);
        assert!(checked.iter().all(|row| row.ends_with("OK")), "{checked:?}");
    }
}

fn work(client: &Client, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..400 {
        let statements = 1 + random(3);
        client.must(&["BEGIN"]);
        for _ in 0..statements {
            let (id, p, code) = (random(4), random(3), 10 * random(3));
            let sql = match random(8) {
                0 => format!("INSERT IGNORE INTO p VALUES ({p}, {code}, 0)"),
                1 => format!("DELETE FROM p WHERE id = {p}"),
                2 => format!("UPDATE p SET code = {code} WHERE id = {p}"),
                3 => format!("UPDATE p SET id = {} WHERE id = {p}", random(3)),
                4 => format!("REPLACE INTO c VALUES ({id}, {p}, {code})"),
                5 => format!("INSERT INTO c VALUES ({id}, {p}, NULL) ON DUPLICATE KEY UPDATE code = {code}"),
                6 => format!("UPDATE c SET id = {}, p = {p} WHERE id = {id}", random(4)),
                _ => format!("DELETE FROM c WHERE id = {id}"),
            };
            match client.run(&sql) {
                Ok(_) | Err(1062 | REFERENCED | NO_PARENT | 1761) => {}
                Err(DEADLOCK) => break,
                Err(other) => panic!("{sql}: {other}"),
            }
        }
        client.must(&[if random(5) == 0 { "ROLLBACK" } else { "COMMIT" }]);
    }
}
