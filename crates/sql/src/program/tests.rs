//! Programs run from CREATE to their results.

use crate::session::{Outcome, Session};
use crate::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use leafline_types::MysqlError;
use leafline_types::column::value_at;
use leafline_types::convert::to_text;
use std::sync::Arc;

pub(super) fn session() -> Session {
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
    let mut session = instance.connect().unwrap();
    session.allow_several_results(true);
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))"] {
        session.execute(sql).unwrap();
    }
    session
}

fn rows(session: &mut Session, outcome: Outcome) -> Result<String, String> {
    let Outcome::Rows(mut rows) = outcome else { return Ok("ok".into()) };
    let types = rows.types();
    let mut lines = Vec::new();
    while let Some(batch) = rows.next_batch(session).map_err(|error| format!("E{}", error.code))? {
        for row in 0..batch.rows {
            let values = batch.columns.iter().zip(&types).map(|(column, ty)| {
                to_text(&value_at(column, row, ty), ty).map_or("NULL".to_owned(), |text| text.to_string())
            });
            lines.push(values.collect::<Vec<_>>().join(","));
        }
    }
    Ok(lines.join(";"))
}

/// Runs a statement and returns its results, with an error behind the results before it: its number and message.
fn run(session: &mut Session, sql: &str) -> String {
    results(session, sql, |error| format!("E{} {}", error.code, error.message))
}

/// Runs a statement and returns its results; `shown` gives the text of its error.
pub(super) fn results(session: &mut Session, sql: &str, shown: impl Fn(&MysqlError) -> String) -> String {
    let mut results = Vec::new();
    let mut next = session.execute(sql).map(Some);
    loop {
        match next {
            Err(error) => {
                results.push(shown(&error));
                break;
            }
            Ok(None) => break,
            Ok(Some(outcome)) => match rows(session, outcome) {
                Ok(text) => results.push(text),
                Err(error) => {
                    results.push(error);
                    break;
                }
            },
        }
        next = session.next_result();
    }
    results.join(" | ")
}

/// Runs a body as the procedure `p`.
fn body(session: &mut Session, body: &str) -> String {
    run(session, "DROP PROCEDURE IF EXISTS p");
    let created = run(session, &format!("CREATE PROCEDURE p() {body}"));
    if created != "ok" {
        return created;
    }
    run(session, "CALL p()")
}

#[test]
fn variables_loops_and_branches() {
    let mut s = session();
    let sum = "BEGIN DECLARE i, n INT DEFAULT 0; WHILE i < 10 DO SET i = i + 1; \
               IF i % 2 = 0 THEN SET n = n + i; ELSEIF i = 5 THEN SET n = n + 100; ELSE SET n = n; END IF; \
                 END WHILE; \
               SELECT i, n; END";
    assert_eq!(body(&mut s, sum), "10,130 | ok");
    let repeat = "BEGIN DECLARE i INT DEFAULT 0; l: REPEAT SET i = i + 1; IF i = 3 THEN ITERATE l; END IF; \
                  UNTIL i >= 3 END REPEAT; SELECT i; END";
    assert_eq!(body(&mut s, repeat), "4 | ok");
    let leave = "BEGIN DECLARE i INT DEFAULT 0; a: LOOP b: BEGIN SET i = i + 1; IF i > 5 THEN LEAVE a; END IF; \
                 LEAVE b; END; END LOOP; SELECT i; END";
    assert_eq!(body(&mut s, leave), "6 | ok");
    let case = "BEGIN DECLARE x INT DEFAULT 2; CASE x WHEN 1 THEN SELECT 'one'; WHEN 2 THEN SELECT 'two'; \
                 END CASE; \
                CASE WHEN x > 5 THEN SELECT 'big'; ELSE SELECT 'small'; END CASE; CASE x WHEN 9 THEN SELECT \
                 1; END CASE; END";
    assert_eq!(body(&mut s, case), "two | small | E1339 Case not found for CASE statement");
}

#[test]
fn a_variable_beats_a_column() {
    let mut s = session();
    run(&mut s, "INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    assert_eq!(
        body(&mut s, "BEGIN DECLARE a INT DEFAULT 7; SELECT a, t.a FROM t ORDER BY t.a; END"),
        "7,1;7,2 | ok"
    );
    let update = "BEGIN DECLARE b VARCHAR(20) DEFAULT 'v'; UPDATE t SET b = CONCAT(b, a) WHERE t.a = 1; \
                 SELECT * FROM t; END";
    assert_eq!(body(&mut s, update), "1,v1;2,y | ok");
    let limit = "BEGIN DECLARE n INT DEFAULT 1; SELECT t.a FROM t ORDER BY t.a LIMIT n; SET n = 2; SELECT \
                 t.a FROM t \
                 ORDER BY t.a LIMIT n; END";
    assert_eq!(body(&mut s, limit), "1 | 1;2 | ok");
    let insert = "BEGIN DECLARE i INT DEFAULT 10; WHILE i < 13 DO INSERT INTO t (a, b) VALUES (i, CONCAT('n', i)); \
                  SET i = i + 1; END WHILE; SELECT a, b INTO i, @b FROM t WHERE t.a = 12; SELECT i, @b; END";
    assert_eq!(body(&mut s, insert), "12,n12 | ok");
}

#[test]
fn parameters_and_calls_inside_calls() {
    let mut s = session();
    run(
        &mut s,
        "CREATE PROCEDURE q(IN a INT, OUT b INT, INOUT c INT) BEGIN SET b = a + 1; SET c = c + b; END",
    );
    run(&mut s, "SET @c = 10");
    assert_eq!(run(&mut s, "CALL q(5, @b, @c)"), "ok");
    assert_eq!(run(&mut s, "SELECT @b, @c"), "6,16");
    assert_eq!(run(&mut s, "CALL q(1, 2, @c)").split(' ').next(), Some("E1414"));
    assert_eq!(run(&mut s, "CALL q(1)").split(' ').next(), Some("E1318"));
    assert_eq!(run(&mut s, "CALL nothing()").split(' ').next(), Some("E1305"));
    let nested = "BEGIN DECLARE x, y INT DEFAULT 1; CALL q(x + 1, x, y); SELECT x, y; END";
    assert_eq!(body(&mut s, nested), "3,4 | ok");
    run(
        &mut s,
        "CREATE PROCEDURE f(n INT, OUT r INT) BEGIN IF n <= 1 THEN SET r = 1; ELSE CALL f(n - 1, r); \
                 SET r = r * n; END IF; END",
    );
    assert_eq!(run(&mut s, "CALL f(5, @r)").split(' ').next(), Some("E1456"));
    run(&mut s, "SET max_sp_recursion_depth = 10");
    assert_eq!(run(&mut s, "CALL f(5, @r)"), "ok");
    assert_eq!(run(&mut s, "SELECT @r"), "120");
    run(&mut s, "PREPARE e FROM 'CALL q(?, ?, @c)'");
    run(&mut s, "SET @i = 1, @o = 0");
    assert_eq!(run(&mut s, "EXECUTE e USING @i, @o"), "ok");
    assert_eq!(run(&mut s, "SELECT @o"), "2");
    assert_eq!(body(&mut s, "BEGIN EXECUTE e USING @i, @o; SELECT @o; END"), "2 | ok");
}

#[test]
fn handlers() {
    let mut s = session();
    run(&mut s, "INSERT INTO t VALUES (1, 'x')");
    let go_on = "BEGIN DECLARE CONTINUE HANDLER FOR 1062 SET @h = 'dup'; INSERT INTO t VALUES (1, 'y'); \
                 SELECT @h; END";
    assert_eq!(body(&mut s, go_on), "dup | ok");
    let exit = "BEGIN SELECT 'a'; BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'caught'; \
                INSERT INTO t VALUES (1, 'y'); SELECT 'not here'; END; SELECT 'after'; END";
    assert_eq!(body(&mut s, exit), "a | caught | after | ok");
    let inner_wins = "BEGIN DECLARE CONTINUE HANDLER FOR 1062 SELECT 'outer'; BEGIN DECLARE CONTINUE HANDLER FOR \
                      SQLEXCEPTION SELECT 'inner'; INSERT INTO t VALUES (1, 'y'); END; END";
    assert_eq!(body(&mut s, inner_wins), "inner | ok");
    let exact = "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'class'; DECLARE CONTINUE HANDLER \
                 FOR SQLSTATE \
                 '23000' SELECT 'state'; DECLARE CONTINUE HANDLER FOR 1062 SELECT 'number'; INSERT INTO t \
                 VALUES (1, 'y'); END";
    assert_eq!(body(&mut s, exact), "number | ok");
    let in_handler = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'outer'; BEGIN DECLARE EXIT \
                 HANDLER FOR SQLEXCEPTION \
                      BEGIN SELECT 'inner'; INSERT INTO t VALUES (1, 'z'); END; INSERT INTO t VALUES (1, \
                      'y'); END; END";
    assert_eq!(body(&mut s, in_handler), "inner | outer | ok");
    let condition = "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'h'; IF (SELECT 1 UNION SELECT \
                 2) THEN SELECT 'then'; \
                     ELSE SELECT 'else'; END IF; SELECT 'behind'; END";
    assert_eq!(body(&mut s, condition), "h | behind | ok");
    let strict = "BEGIN DECLARE x TINYINT; DECLARE EXIT HANDLER FOR 1264 SELECT 'range', x; SET x = 1; SET \
                 x = 1000; END";
    assert_eq!(body(&mut s, strict), "range,1 | ok");
    let zero = "BEGIN DECLARE x INT; DECLARE EXIT HANDLER FOR 1365 SELECT 'zero'; SET x = 1 / 0; END";
    assert_eq!(body(&mut s, zero), "zero | ok");
    let uncaught = "BEGIN DECLARE EXIT HANDLER FOR NOT FOUND SELECT 'no'; INSERT INTO t VALUES (1, 'y'); END";
    assert_eq!(body(&mut s, uncaught).split(' ').next(), Some("E1062"));
    let warning = "BEGIN DECLARE CONTINUE HANDLER FOR SQLWARNING SELECT 'w'; SELECT CAST('1x' AS SIGNED) \
                 INTO @x; SELECT @x; END";
    assert_eq!(body(&mut s, warning), "w | 1 | ok");
    let not_found = "BEGIN DECLARE x INT DEFAULT 5; DECLARE CONTINUE HANDLER FOR NOT FOUND SELECT 'none'; \
                     SELECT a INTO x FROM t WHERE t.a = 99; SELECT x; END";
    assert_eq!(body(&mut s, not_found), "none | 5 | ok");
}

#[test]
fn cursors() {
    let mut s = session();
    run(&mut s, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')");
    let read = "BEGIN DECLARE done, x INT DEFAULT 0; DECLARE y, all_of TEXT DEFAULT ''; DECLARE c CURSOR \
                 FOR SELECT a, b FROM t; \
                DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; DELETE FROM t; l: LOOP FETCH c \
                 INTO x, y; \
                IF done THEN LEAVE l; END IF; SET all_of = CONCAT(all_of, x, y); END LOOP; CLOSE c; SELECT \
                 all_of; END";
    assert_eq!(body(&mut s, read), "1x2y3z | ok");
    let cases = [
        ("OPEN c; OPEN c;", "E1325 Cursor is already open"),
        ("FETCH c INTO x;", "E1326 Cursor is not open"),
        ("CLOSE c;", "E1326 Cursor is not open"),
        ("OPEN c; FETCH c INTO x, x;", "E1328 Incorrect number of FETCH variables"),
        (
            "OPEN c; FETCH c INTO x; FETCH c INTO x;",
            "E1329 No data - zero rows fetched, selected, or processed",
        ),
        ("OPEN c; FETCH c INTO x; SELECT x;", "4 | ok"),
    ];
    for (steps, expected) in cases {
        let text = format!("BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 4; {steps} END");
        assert_eq!(body(&mut s, &text), expected, "{steps}");
    }
}

#[test]
fn conditions_are_signalled_and_read() {
    let mut s = session();
    let signal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'oh', MYSQL_ERRNO = 5000";
    assert_eq!(run(&mut s, signal), "E5000 oh");
    assert_eq!(
        run(
            &mut s,
            "GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT, @s = RETURNED_SQLSTATE, @c = CLASS_ORIGIN"
        ),
        "ok"
    );
    assert_eq!(run(&mut s, "SELECT @m, @s, @c"), "oh,45000,ISO 9075");
    assert_eq!(run(&mut s, "RESIGNAL").split(' ').next(), Some("E1645"));
    assert_eq!(run(&mut s, "GET DIAGNOSTICS CONDITION 9 @m = MESSAGE_TEXT"), "ok");
    assert!(run(&mut s, "SHOW WARNINGS").contains("Error,1758,"));
    let stacked = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1 FROM t; GET STACKED \
                 DIAGNOSTICS CONDITION 1 \
                   @e = MYSQL_ERRNO, @t = TABLE_NAME; SELECT @e, @t; END; SIGNAL SQLSTATE '45000' SET \
                   TABLE_NAME = 'tt'; END";
    assert_eq!(body(&mut s, stacked), " | 1644,tt | ok");
    let again = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SET @in_handler = 1; RESIGNAL SET \
                 MESSAGE_TEXT = 'again'; END; \
                 INSERT INTO t VALUES (1, 'a'), (1, 'b'); END";
    assert_eq!(body(&mut s, again), "E1062 again");
    assert_eq!(run(&mut s, "SHOW WARNINGS"), "Error,1062,again");
    let other = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RESIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'more'; \
                 INSERT INTO t VALUES (1, 'a'), (1, 'b'); END";
    assert_eq!(body(&mut s, other), "E1644 more");
    assert_eq!(
        run(&mut s, "SHOW WARNINGS"),
        "Error,1062,Duplicate entry '1' for key 't.PRIMARY';Error,1644,more"
    );
    assert_eq!(
        body(&mut s, "BEGIN SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'careful'; SELECT 'on'; END"),
        "on | ok"
    );
    assert_eq!(
        body(&mut s, "BEGIN SIGNAL SQLSTATE '02000'; SELECT 'on'; END").split(' ').next(),
        Some("E1643")
    );
    assert_eq!(run(&mut s, "SELECT 1"), "1");
}

#[test]
fn functions_return_values() {
    let mut s = session();
    run(
        &mut s,
        "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC BEGIN DECLARE y INT DEFAULT x * 2; RETURN y + 1; END",
    );
    assert_eq!(run(&mut s, "SELECT f(20), f(NULL)"), "41,NULL");
    run(
        &mut s,
        "CREATE FUNCTION g(x INT) RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t \
                 WHERE a > x; RETURN n; END",
    );
    run(&mut s, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')");
    assert_eq!(run(&mut s, "SELECT a, g(a) FROM t ORDER BY a"), "1,2;2,1;3,0");
    assert_eq!(body(&mut s, "BEGIN DECLARE i INT; SET i = f(1) + g(0); SELECT i; END"), "6 | ok");
    run(&mut s, "CREATE PROCEDURE commits() COMMIT");
    run(&mut s, "CREATE PROCEDURE shows() SELECT 1");
    for (name, steps, error) in
        [("i", "CALL commits();", "E1422"), ("j", "CALL shows();", "E1415"), ("k", "SET @x = k();", "E1424")]
    {
        run(&mut s, &format!("CREATE FUNCTION {name}() RETURNS INT NO SQL BEGIN {steps} RETURN 1; END"));
        assert_eq!(run(&mut s, &format!("SELECT {name}()")).split(' ').next(), Some(error), "{steps}");
    }
    run(&mut s, "CREATE FUNCTION h() RETURNS INT DETERMINISTIC BEGIN IF FALSE THEN RETURN 1; END IF; END");
    assert_eq!(run(&mut s, "SELECT h()").split(' ').next(), Some("E1321"));
}

#[test]
fn transactions_are_the_callers() {
    let mut s = session();
    let undone = "BEGIN START TRANSACTION; INSERT INTO t VALUES (1, 'x'); ROLLBACK; INSERT INTO t VALUES \
                 (2, 'y'); END";
    assert_eq!(body(&mut s, undone), "ok");
    assert_eq!(run(&mut s, "SELECT * FROM t"), "2,y");
    let kept = "BEGIN INSERT INTO t VALUES (3, 'z'); INSERT INTO t VALUES (2, 'y'); END";
    assert_eq!(body(&mut s, kept).split(' ').next(), Some("E1062"));
    assert_eq!(run(&mut s, "SELECT * FROM t"), "2,y;3,z");
}

/// Dumps create triggers in the order of SHOW TRIGGERS.
#[test]
fn triggers_are_shown_in_the_order_in_which_they_fire() {
    let mut s = session();
    for (name, place) in [("z", ""), ("a", ""), ("m", "PRECEDES a")] {
        let sql = format!("CREATE TRIGGER {name} BEFORE INSERT ON t FOR EACH ROW {place} SET @a = 1");
        assert_eq!(run(&mut s, &sql), "ok");
    }
    let shown = run(&mut s, "SHOW TRIGGERS");
    let names: Vec<_> = shown.split(';').filter_map(|row| row.split(',').next()).collect();
    assert_eq!(names, ["z", "m", "a"]);
}

/// The rows are computed when the caller reads them, behind the step that gives them.
#[test]
fn handlers_take_the_warnings_of_rows() {
    let mut s = session();
    run(&mut s, "INSERT INTO t VALUES (1, '1'), (2, '2z')");
    let handler =
        "HANDLER FOR SQLWARNING BEGIN GET DIAGNOSTICS @n = NUMBER; SELECT CONCAT(@n, ' handled'); END";
    for (action, query, expected) in [
        ("CONTINUE", "SELECT CAST('x' AS SIGNED)", "0 | 1 handled | after | ok"),
        ("CONTINUE", "SELECT b + 0 FROM t", "1;2 | 1 handled | after | ok"),
        ("EXIT", "SELECT b + 0 FROM t", "1;2 | 1 handled | ok"),
        ("CONTINUE", "SELECT b FROM t", "1;2z | after | ok"),
    ] {
        let steps = format!("BEGIN DECLARE {action} {handler}; {query}; SELECT 'after'; END");
        assert_eq!(body(&mut s, &steps), expected, "{query}");
    }
}

#[test]
fn results_are_given_up() {
    let mut s = session();
    run(&mut s, "CREATE PROCEDURE p() BEGIN SELECT 1; SET @later = 1; SELECT 2; END");
    s.execute("CALL p()").unwrap();
    assert!(s.has_more_results());
    assert_eq!(run(&mut s, "SELECT @later, DATABASE()"), "NULL,d");
    assert!(!s.has_more_results());
    s.allow_several_results(false);
    assert_eq!(run(&mut s, "CALL p()").split(' ').next(), Some("E1312"));
}

#[test]
fn values_of_out_parameters_go_to_the_client() {
    let mut s = session();
    run(
        &mut s,
        "CREATE PROCEDURE p(IN a INT, OUT b INT, INOUT c VARCHAR(9)) BEGIN SET b = a * 2, c = CONCAT(c, 'x'); END",
    );
    let prepared = s.prepare("CALL p(?, ?, ?)").unwrap();
    let values =
        [leafline_types::Value::Int(4), leafline_types::Value::Null, leafline_types::Value::string("c")];
    assert!(matches!(s.execute_prepared(prepared.id, &values), Ok(Outcome::Done(_))));
    assert_eq!(s.out_parameter_numbers(), [1, 2]);
    let out = s.out_parameters().unwrap().unwrap();
    assert_eq!(rows(&mut s, Outcome::Rows(out)).unwrap(), "8,cx");
}
