//! The state of a session around the functions and triggers that its statements run, also after errors, conflicts and changes of
//! definitions.

use super::tests;
use crate::accounts::AccountId;
use crate::session::Session;
use std::thread;
use std::time::Duration;

fn session() -> Session {
    let mut session = tests::session();
    all(&mut session, &["INSERT INTO t VALUES (1, 'x'), (2, 'y')"]);
    session
}

/// Runs a statement and returns its results; an error as `E` and its number.
fn run(session: &mut Session, sql: &str) -> String {
    tests::results(session, sql, |error| format!("E{}", error.code))
}

/// Runs statements without results.
fn all(session: &mut Session, script: &[&str]) {
    for sql in script {
        assert_eq!(run(session, sql), "ok", "{sql}");
    }
}

/// Runs statements and compares their results.
fn check(session: &mut Session, script: &[(&str, &str)]) {
    for (sql, expected) in script {
        assert_eq!(run(session, sql), *expected, "{sql}");
    }
}

/// The session of another account.
fn login(session: &Session, user: &str) -> Session {
    let instance = session.instance();
    let account = AccountId::new(user, "localhost");
    let mut other =
        instance.new_session(instance.new_connection_id(), (user, "localhost"), Some(account)).unwrap();
    other.allow_several_results(true);
    all(&mut other, &["USE d"]);
    other
}

#[test]
fn each_call_has_savepoints_of_its_own() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE FUNCTION makes() RETURNS INT NO SQL BEGIN SAVEPOINT a; RETURN 1; END",
            "CREATE FUNCTION returns_to() RETURNS INT NO SQL BEGIN ROLLBACK TO a; RETURN 2; END",
            "CREATE FUNCTION both_of() RETURNS INT NO SQL \
             BEGIN SAVEPOINT a; INSERT INTO t VALUES (5, 'z'); ROLLBACK TO a; RETURN 3; END",
        ],
    );
    check(
        &mut s,
        &[
            ("SELECT makes()", "1"),
            ("SELECT returns_to()", "E1305"),
            ("SELECT makes(), returns_to()", "E1305"),
            ("BEGIN", "ok"),
            ("SAVEPOINT a", "ok"),
            ("INSERT INTO t VALUES (9, 'o')", "ok"),
            ("SELECT returns_to()", "E1305"),
            ("SELECT both_of()", "3"),
            ("SELECT a FROM t", "1;2;9"),
            ("ROLLBACK TO a", "ok"),
            ("SELECT a FROM t", "1;2"),
        ],
    );
}

#[test]
fn settings_of_functions_are_the_callers_as_far_as_in_mysql() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE FUNCTION sets() RETURNS INT NO SQL BEGIN \
             SET SESSION group_concat_max_len = 77, sql_safe_updates = 1, sql_mode = 'ANSI'; RETURN 1; END",
            "CREATE FUNCTION calls() RETURNS INT NO SQL RETURN sets()",
            "CREATE FUNCTION fails() RETURNS INT NO SQL BEGIN SET wait_timeout = 99; RETURN 1 / 0; END",
            "CREATE FUNCTION week_of(x DATE) RETURNS INT DETERMINISTIC RETURN WEEK(x)",
            "SET @modes = @@sql_mode",
        ],
    );
    let seen = "SELECT @@group_concat_max_len, @@sql_safe_updates, @@sql_mode = @modes";
    check(
        &mut s,
        &[
            ("SELECT sets()", "1"),
            (seen, "77,0,1"),
            ("SET group_concat_max_len = 1024", "ok"),
            ("SET @x = calls()", "ok"),
            (seen, "77,0,1"),
            ("SELECT fails()", "E1365"),
            ("SELECT @@wait_timeout", "99"),
            ("SELECT week_of('2008-02-20')", "7"),
            ("SET default_week_format = 1", "ok"),
            ("SELECT week_of('2008-02-20'), WEEK('2008-02-20')", "8,8"),
        ],
    );
}

#[test]
fn insert_ids_of_functions_are_their_own() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, x INT)",
            "INSERT INTO numbered (x) VALUES (1)",
            "CREATE FUNCTION inserts(x INT) RETURNS INT NO SQL \
             BEGIN INSERT INTO numbered (x) VALUES (x); RETURN LAST_INSERT_ID(); END",
            "CREATE FUNCTION last_id() RETURNS INT NO SQL RETURN LAST_INSERT_ID()",
            "CREATE FUNCTION tells() RETURNS INT NO SQL RETURN LAST_INSERT_ID(99)",
        ],
    );
    check(
        &mut s,
        &[
            ("SELECT inserts(5), last_id(), inserts(6), last_id(), LAST_INSERT_ID()", "2,1,3,1,1"),
            ("SELECT tells(), LAST_INSERT_ID()", "99,1"),
            ("SELECT LAST_INSERT_ID()", "1"),
        ],
    );
}

#[test]
fn triggers_follow_the_columns_of_their_table() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE TABLE i (id INT PRIMARY KEY, a INT, b INT, c INT)",
            "CREATE TRIGGER sets BEFORE INSERT ON i FOR EACH ROW SET NEW.b = 7",
            "INSERT INTO i VALUES (1, 1, 1, 1)",
            "ALTER TABLE i ADD COLUMN z INT DEFAULT 3 FIRST, ALGORITHM = INSTANT",
            "INSERT INTO i (id, a, b, c) VALUES (2, 1, 1, 1)",
            "ALTER TABLE i DROP COLUMN a, ALGORITHM = INSTANT",
            "INSERT INTO i (id, b, c) VALUES (3, 1, 1)",
        ],
    );
    check(&mut s, &[("SELECT id, b, c, z FROM i", "1,7,1,3;2,7,1,3;3,7,1,3")]);
    all(&mut s, &["ALTER TABLE i RENAME COLUMN b TO was_b, RENAME COLUMN c TO b"]);
    check(
        &mut s,
        &[
            ("INSERT INTO i (id, was_b, b) VALUES (4, 1, 1)", "ok"),
            ("SELECT was_b, b FROM i WHERE id = 4", "1,7"),
            ("ALTER TABLE i DROP COLUMN b", "ok"),
            ("INSERT INTO i (id) VALUES (5)", "E1054"),
        ],
    );
}

#[test]
fn triggers_may_change_the_tables_of_foreign_keys() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE TABLE orders (id INT PRIMARY KEY, total INT DEFAULT 0)",
            "CREATE TABLE items (id INT PRIMARY KEY, o INT, price INT, KEY (price), \
             FOREIGN KEY (o) REFERENCES orders (id) ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TRIGGER adds AFTER INSERT ON items FOR EACH ROW \
             UPDATE orders SET total = total + NEW.price WHERE id = NEW.o",
            "INSERT INTO orders (id) VALUES (1), (2), (3)",
            "INSERT INTO items VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5), (4, 3, 7)",
        ],
    );
    check(&mut s, &[("SELECT * FROM orders", "1,30;2,5;3,7")]);
    // The cascade of a trigger deletes the row that is to be changed, or changes it.
    all(
        &mut s,
        &[
            "CREATE TRIGGER deletes BEFORE UPDATE ON items FOR EACH ROW \
             BEGIN IF NEW.price < 0 THEN DELETE FROM orders WHERE id = OLD.o; \
             ELSE UPDATE orders SET id = id + 10 WHERE id = OLD.o; END IF; END",
            "UPDATE items SET price = -1 WHERE id = 1",
            "UPDATE items SET price = 6 WHERE id = 3",
        ],
    );
    check(
        &mut s,
        &[
            ("SELECT * FROM orders", "3,7;12,5"),
            ("SELECT * FROM items", "3,12,6;4,3,7"),
            ("CHECK TABLE orders, items", "d.orders,check,status,OK;d.items,check,status,OK"),
        ],
    );
    all(
        &mut s,
        &[
            "CREATE TRIGGER takes BEFORE DELETE ON items FOR EACH ROW DELETE FROM orders WHERE id = OLD.o",
            "DELETE FROM items WHERE id = 3",
            "CREATE TABLE log (x INT)",
            "CREATE TRIGGER logs AFTER DELETE ON items FOR EACH ROW INSERT INTO log VALUES (OLD.id)",
        ],
    );
    check(
        &mut s,
        &[
            ("REPLACE INTO items VALUES (4, NULL, 8)", "ok"),
            ("SELECT * FROM items", "4,NULL,8"),
            ("SELECT COUNT(*) FROM orders", "0"),
            ("SELECT COUNT(*) FROM log", "0"),
            ("CHECK TABLE orders, items", "d.orders,check,status,OK;d.items,check,status,OK"),
        ],
    );
}

#[test]
fn current_user_is_the_definer() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE USER u@localhost",
            "CREATE USER w@localhost",
            "GRANT EXECUTE, SELECT ON d.* TO u@localhost, w@localhost",
            "CREATE DEFINER = u@localhost PROCEDURE p() SELECT CURRENT_USER(), USER()",
            "CREATE DEFINER = u@localhost PROCEDURE of_invoker() SQL SECURITY INVOKER SELECT CURRENT_USER()",
            "CREATE DEFINER = u@localhost FUNCTION f() RETURNS VARCHAR(99) NO SQL RETURN CURRENT_USER()",
        ],
    );
    let mut w = login(&s, "w");
    check(
        &mut w,
        &[
            ("CALL p()", "u@localhost,w@localhost | ok"),
            ("CALL of_invoker()", "w@localhost | ok"),
            ("SELECT f(), CURRENT_USER()", "u@localhost,w@localhost"),
        ],
    );
    // A program that waits for the client is given up.
    w.execute("CALL p()").unwrap();
    check(&mut w, &[("SELECT CURRENT_USER()", "w@localhost")]);
}

#[test]
fn a_view_calls_functions_with_its_definers_privilege() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE USER u@localhost",
            "CREATE USER w@localhost",
            "GRANT SELECT ON d.* TO u@localhost, w@localhost",
            "CREATE FUNCTION f() RETURNS INT NO SQL RETURN 5",
            "CREATE VIEW of_root AS SELECT f() AS f",
            "CREATE DEFINER = u@localhost VIEW of_u AS SELECT f() AS f",
            "CREATE SQL SECURITY INVOKER VIEW of_invoker AS SELECT f() AS f",
        ],
    );
    let mut w = login(&s, "w");
    check(
        &mut w,
        &[
            ("SELECT f()", "E1370"),
            ("SELECT * FROM of_root", "5"),
            ("SELECT * FROM of_u", "E1356"),
            ("SELECT * FROM of_invoker", "E1356"),
        ],
    );
    all(&mut s, &["GRANT EXECUTE ON d.* TO w@localhost"]);
    check(
        &mut w,
        &[
            ("SELECT f()", "5"),
            ("SELECT * FROM of_root", "5"),
            ("SELECT * FROM of_u", "E1356"),
            ("SELECT * FROM of_invoker", "5"),
        ],
    );
}

#[test]
fn programs_change_no_roles_of_their_caller() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE ROLE r",
            "CREATE USER u@localhost",
            "GRANT r TO u@localhost",
            "CREATE PROCEDURE sets() BEGIN PREPARE s FROM 'SET ROLE NONE'; EXECUTE s; END",
            "GRANT EXECUTE ON d.* TO u@localhost",
        ],
    );
    let mut u = login(&s, "u");
    check(&mut u, &[("SET ROLE r", "ok"), ("CALL sets()", "E1235"), ("SELECT CURRENT_ROLE()", "`r`@`%`")]);
}

#[test]
fn another_user_of_the_connection_gets_a_new_inner_session() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE USER u@localhost",
            "CREATE USER w@localhost",
            "GRANT ALL ON d.* TO u@localhost",
            "GRANT EXECUTE ON d.* TO w@localhost",
            "CREATE FUNCTION waits() RETURNS INT NO SQL BEGIN DO SLEEP(60); RETURN 1; END",
            "CREATE FUNCTION counts() RETURNS INT READS SQL DATA SQL SECURITY INVOKER \
             RETURN (SELECT COUNT(*) FROM t)",
        ],
    );
    let mut u = login(&s, "u");
    check(&mut u, &[("SELECT counts()", "2")]);
    u.change_user("w", "localhost", AccountId::new("w", "localhost")).unwrap();
    check(&mut u, &[("SELECT d.counts()", "E1142")]);
    let id = u.connection_id();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        run(&mut s, &format!("KILL QUERY {id}"))
    });
    assert_eq!(run(&mut u, "SELECT d.waits()"), "E1317");
    assert_eq!(killer.join().unwrap(), "ok");
}

#[test]
fn time_limits_hold_behind_the_queries_of_functions() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE FUNCTION sleeps(x INT) RETURNS INT NO SQL \
             BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t; DO SLEEP(0.3); RETURN x; END",
            "CREATE PROCEDURE goes_on() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; \
             PREPARE s FROM 'SELECT (SELECT a FROM t) INTO @q'; SET max_execution_time = 100; EXECUTE s; \
             DO SLEEP(0.3); SET @done = 1; END",
        ],
    );
    check(
        &mut s,
        &[
            ("SELECT /*+ MAX_EXECUTION_TIME(100) */ sleeps(a) FROM t", "E3024"),
            ("CALL goes_on()", "ok"),
            ("SELECT @done", "1"),
        ],
    );
}

#[test]
fn an_error_of_rows_that_a_statement_reads_is_one_condition() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE PROCEDURE into_variable() BEGIN DECLARE x INT; SELECT (SELECT a FROM t) INTO x; END",
            "CREATE PROCEDURE by_cursor() BEGIN DECLARE c CURSOR FOR SELECT (SELECT a FROM t); OPEN c; END",
            "CREATE FUNCTION in_function() RETURNS INT NO SQL BEGIN CALL by_cursor(); RETURN 1; END",
        ],
    );
    for sql in [
        "SELECT (SELECT a FROM t) INTO @x",
        "CALL into_variable()",
        "CALL by_cursor()",
        "SELECT in_function()",
    ] {
        assert_eq!(run(&mut s, sql), "E1242", "{sql}");
        assert_eq!(run(&mut s, "SHOW WARNINGS"), "Error,1242,Subquery returns more than 1 row", "{sql}");
    }
}

#[test]
fn changes_of_passwords_are_not_allowed_below_functions() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE PROCEDURE changes() SET PASSWORD = 'x'",
            "CREATE FUNCTION calls() RETURNS INT NO SQL BEGIN CALL changes(); RETURN 1; END",
        ],
    );
    check(&mut s, &[("SELECT calls()", "E1445")]);
}

/// Runs `sql` while another transaction has run `change` and commits soon.
fn beside(s: &mut Session, change: &str, sql: &str) -> String {
    let mut other = s.instance().connect().unwrap();
    all(&mut other, &["USE d", "BEGIN"]);
    run(&mut other, change);
    let commits = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        run(&mut other, "COMMIT")
    });
    let result = run(s, sql);
    assert_eq!(commits.join().unwrap(), "ok");
    result
}

/// Runs `sql` while another transaction has changed the row 1 of `t`.
fn beside_a_change(s: &mut Session, sql: &str) -> String {
    beside(s, "UPDATE t SET b = CONCAT(b, 'o') WHERE a = 1", sql)
}

#[test]
fn a_statement_that_runs_again_has_set_no_variables() {
    let mut s = session();
    all(
        &mut s,
        &[
            "SET innodb_snapshot_isolation = ON",
            "CREATE FUNCTION f() RETURNS INT NO SQL \
             BEGIN SET @n = @n + 1; UPDATE t SET b = CONCAT(b, 'f') WHERE a = 1; RETURN 1; END",
            "CREATE FUNCTION handles() RETURNS INT NO SQL \
             BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @n = @n + 100; \
             SET @n = @n + 1; UPDATE t SET b = CONCAT(b, 'h') WHERE a = 1; RETURN 1; END",
            "CREATE PROCEDURE p() BEGIN IF f() THEN SET @q = 1; END IF; END",
        ],
    );
    let statements = [
        ("SELECT f()", "1"),
        ("SET @q = f()", "ok"),
        ("DO f()", "ok"),
        ("CALL p()", "ok"),
        ("SELECT handles()", "1"),
        ("UPDATE t SET b = CONCAT(b, @n := @n + 1) WHERE a = 1", "ok"),
    ];
    for (sql, expected) in statements {
        all(&mut s, &["SET @n = 0", "UPDATE t SET b = '' WHERE a = 1"]);
        assert_eq!(beside_a_change(&mut s, sql), expected, "{sql}");
        let last = if sql.contains("handles") {
            "oh"
        } else if sql.starts_with('U') {
            "o1"
        } else {
            "of"
        };
        assert_eq!(run(&mut s, "SELECT @n, b FROM t WHERE a = 1"), format!("1,{last}"), "{sql}");
    }
}

/// Runs `sql` while another transaction has read the row 1 of `t` under a shared lock and copied it to `u`.
fn beside_a_copy(s: &mut Session, sql: &str) -> String {
    beside(s, "INSERT IGNORE INTO u SELECT * FROM t WHERE a = 1 LOCK IN SHARE MODE", sql)
}

#[test]
fn a_trigger_finds_the_row_that_was_copied_while_its_statement_waited() {
    // pt-online-schema-change's way: a row that is deleted is deleted from the copy, or never copied.
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE TABLE u LIKE t",
            "CREATE TRIGGER gone AFTER DELETE ON t FOR EACH ROW DELETE IGNORE FROM u WHERE u.a <=> OLD.a",
            "CREATE TRIGGER changed AFTER UPDATE ON t FOR EACH ROW \
             BEGIN DELETE IGNORE FROM u WHERE !(OLD.a <=> NEW.a) AND u.a <=> OLD.a; REPLACE INTO u VALUES (NEW.a, NEW.b); END",
        ],
    );
    let cases = [
        ("SET transaction_isolation = 'REPEATABLE-READ', innodb_snapshot_isolation = ON", "", "ok"),
        ("SET innodb_snapshot_isolation = OFF", "", "ok"),
        ("SET innodb_snapshot_isolation = OFF", "SELECT 0 FROM t WHERE a = 2", "ok"),
        // The transaction has shown rows of a snapshot without the copied row.
        ("SET innodb_snapshot_isolation = ON", "SELECT 0 FROM t WHERE a = 2", "E1213"),
        ("SET SESSION transaction_isolation = 'READ-COMMITTED'", "SELECT 0 FROM t WHERE a = 2", "ok"),
    ];
    for (settings, before, expected) in cases {
        for sql in
            ["DELETE FROM t WHERE a = 1", "DELETE FROM t WHERE a < 2", "UPDATE t SET a = a + 6 WHERE a = 1"]
        {
            all(&mut s, &["DELETE FROM t", "DELETE FROM u", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"]);
            all(&mut s, &[settings, "BEGIN"]);
            if !before.is_empty() {
                run(&mut s, before);
            }
            assert_eq!(beside_a_copy(&mut s, sql), expected, "{settings} {before} {sql}");
            all(&mut s, &["COMMIT"]);
            let extra = if expected == "ok" { "0" } else { "1" };
            let left = "SELECT COUNT(*) FROM u WHERE a = 1";
            assert_eq!(run(&mut s, left), extra, "{settings} {before} {sql}");
            let apart = "SELECT COUNT(*) FROM u LEFT JOIN t USING (a) WHERE t.a IS NULL";
            assert_eq!(run(&mut s, apart), "0", "{settings} {before} {sql}");
        }
    }
}

#[test]
fn expressions_with_subqueries_use_their_tables() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE TABLE u (a INT)",
            "CREATE FUNCTION counts() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM u)",
            "CREATE FUNCTION changes() RETURNS INT NO SQL BEGIN UPDATE t SET b = 'c'; RETURN 1; END",
            "LOCK TABLES t READ",
        ],
    );
    check(
        &mut s,
        &[
            ("SET @x = (SELECT COUNT(*) FROM u)", "E1100"),
            ("SET @x = (SELECT COUNT(*) FROM t)", "ok"),
            ("UNLOCK TABLES", "ok"),
            ("SET @x = (SELECT MAX(changes()) FROM t)", "E1442"),
            ("SELECT counts()", "0"),
        ],
    );
    // The expression has not kept its tables from others.
    let mut other = s.instance().connect().unwrap();
    all(&mut other, &["USE d", "SET lock_wait_timeout = 1", "DROP TABLE u", "CREATE TABLE u (b INT)"]);
    check(&mut s, &[("SELECT counts()", "0"), ("BEGIN", "ok"), ("SET @x = (SELECT COUNT(*) FROM u)", "ok")]);
    check(&mut other, &[("DROP TABLE u", "E1205")]);
}

#[test]
fn the_database_comes_back_unless_it_is_dropped() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE DATABASE e",
            "CREATE PROCEDURE e.uses() BEGIN PREPARE s FROM 'USE e'; EXECUTE s; END",
            "CREATE PROCEDURE e.fails() SIGNAL SQLSTATE '45000'",
            "CREATE PROCEDURE e.drops() BEGIN DROP DATABASE d; SET @seen = DATABASE(); END",
        ],
    );
    check(
        &mut s,
        &[
            ("CALL e.uses()", "E1314"),
            ("CALL e.fails()", "E1644"),
            ("SELECT DATABASE()", "d"),
            ("CALL e.drops()", "ok"),
            ("SELECT @seen, DATABASE()", "e,NULL"),
        ],
    );
}

#[test]
fn a_definer_is_limited_also_below_a_caller_who_is_not() {
    let mut s = session();
    all(
        &mut s,
        &[
            "CREATE USER u@localhost",
            "GRANT TRIGGER, SELECT ON d.t TO u@localhost",
            "CREATE DATABASE e",
            "CREATE TABLE e.secret (a INT)",
            "CREATE DEFINER = u@localhost TRIGGER peeks AFTER INSERT ON t FOR EACH ROW \
             SET @seen = (SELECT COUNT(*) FROM e.secret)",
            "CREATE DEFINER = nobody@localhost PROCEDURE of_nobody() SELECT COUNT(*) INTO @n FROM e.secret",
        ],
    );
    check(
        &mut s,
        &[
            ("INSERT INTO t VALUES (3, 'z')", "E1142"),
            ("GRANT SELECT ON e.* TO u@localhost", "ok"),
            ("INSERT INTO t VALUES (3, 'z')", "ok"),
            ("CALL of_nobody()", "ok"),
        ],
    );
}

#[test]
fn compiled_programs_take_little_memory() {
    let mut s = session();
    for n in 0..4 {
        let body = format!("BEGIN SET @x = '{}'; SET @n = {n}; END", "x".repeat(400 << 10));
        all(&mut s, &[&format!("CREATE PROCEDURE p{n}() {body}"), &format!("CALL p{n}()")]);
    }
    check(&mut s, &[("CALL p0()", "ok"), ("SELECT @n, LENGTH(@x)", "0,409600")]);
    assert!(s.kept.programs.text_bytes() < 1 << 20);
}

#[test]
fn functions_in_functions_end_before_the_stack() {
    let worker = thread::spawn(|| {
        let mut s = session();
        let mut ended = Vec::new();
        // Frames of a build without optimization are several times as large.
        let deeper: &[usize] = if cfg!(debug_assertions) { &[1, 10] } else { &[1, 10, 20, 30, 40, 48] };
        for &nested in deeper {
            for n in (0..12).rev() {
                let call = if n == 11 { "1".to_owned() } else { format!("f{}()", n + 1) };
                let text = format!("{}{call}{}", "(SELECT ".repeat(nested), ")".repeat(nested));
                run(&mut s, &format!("DROP FUNCTION IF EXISTS f{n}"));
                all(&mut s, &[&format!("CREATE FUNCTION f{n}() RETURNS INT NO SQL RETURN {text}")]);
            }
            ended.push(run(&mut s, "SELECT f0()"));
        }
        ended
    });
    let ended = worker.join().unwrap();
    assert_eq!(ended.first().map(String::as_str), Some("1"));
    assert!(ended.iter().all(|end| end == "1" || end == "E1436"), "{ended:?}");
}
