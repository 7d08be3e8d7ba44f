//! Kills the server while triggers, procedures and events change rows: after each restart a row has exactly what its triggers
//! wrote with it, a transaction of a procedure is whole, and so is each run of an event; an event that runs once has not run
//! twice, and none has run that is still to run.
//!
//! Clients insert, update, replace and delete rows of a table whose AFTER triggers keep a log and sums; triggers of the log
//! count its rows. The test prints its seed; `LEAFLINE_SEED` chooses another, `LEAFLINE_TEST_SCALE` more rounds.

mod support;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::TestServer;
use support::client::{Answer, Client};

const CLIENTS: u64 = 4;

/// The tables, the triggers, which log what happens to the rows of `base`, and the procedures.
///
/// `log` says how many rows came (1) and went (-1) and by how much the sum of `v` changed. A trigger of `log` counts it.
const DEFINITIONS: &[&str] = &[
    "CREATE DATABASE crash",
    "USE crash",
    "CREATE TABLE base (w INT, n BIGINT, part INT, parts INT, v BIGINT, PRIMARY KEY (w, n, part), KEY (v))",
    "CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, w INT, n BIGINT, part INT, came INT, dv BIGINT, KEY (w, n, part))",
    "CREATE TABLE sums (w INT PRIMARY KEY, rows_there BIGINT, sum_v BIGINT, logged BIGINT)",
    "CREATE TRIGGER base_ai AFTER INSERT ON base FOR EACH ROW BEGIN \
       INSERT INTO log (w, n, part, came, dv) VALUES (NEW.w, NEW.n, NEW.part, 1, NEW.v); \
       UPDATE sums SET rows_there = rows_there + 1, sum_v = sum_v + NEW.v WHERE w = NEW.w; END",
    "CREATE TRIGGER base_bu BEFORE UPDATE ON base FOR EACH ROW SET NEW.v = NEW.v + 1",
    "CREATE TRIGGER base_au AFTER UPDATE ON base FOR EACH ROW BEGIN \
       INSERT INTO log (w, n, part, came, dv) VALUES (NEW.w, NEW.n, NEW.part, 0, NEW.v - OLD.v); \
       UPDATE sums SET sum_v = sum_v + NEW.v - OLD.v WHERE w = NEW.w; END",
    "CREATE TRIGGER base_ad AFTER DELETE ON base FOR EACH ROW BEGIN \
       INSERT INTO log (w, n, part, came, dv) VALUES (OLD.w, OLD.n, OLD.part, -1, -OLD.v); \
       UPDATE sums SET rows_there = rows_there - 1, sum_v = sum_v - OLD.v WHERE w = OLD.w; END",
    "CREATE TRIGGER log_ai AFTER INSERT ON log FOR EACH ROW UPDATE sums SET logged = logged + 1 WHERE w = NEW.w",
    // One transaction of several statements; its handler must not end it by half.
    "CREATE PROCEDURE whole(p_w INT, p_n BIGINT) BEGIN \
       DECLARE i INT DEFAULT 0; \
       DECLARE CONTINUE HANDLER FOR 1062 UPDATE base SET v = v + 100 WHERE w = p_w AND n = p_n AND part = 0; \
       START TRANSACTION; \
       WHILE i < 5 DO INSERT INTO base VALUES (p_w, p_n, i, 5, i); SET i = i + 1; END WHILE; \
       INSERT INTO base VALUES (p_w, p_n, 0, 5, 0); \
       UPDATE base SET v = v + 10 WHERE w = p_w AND n = p_n; \
       DELETE FROM base WHERE w = p_w AND n = p_n - 40; \
       COMMIT; END",
    // Statements that are transactions each.
    "CREATE PROCEDURE steps(p_w INT, p_n BIGINT) BEGIN \
       INSERT INTO base VALUES (p_w, p_n, 0, 3, 1), (p_w, p_n, 1, 3, 2), (p_w, p_n, 2, 3, 3); \
       REPLACE INTO base VALUES (p_w, p_n, 0, 3, 7), (p_w, p_n, 1, 3, 8); \
       INSERT INTO base VALUES (p_w, p_n, 2, 3, 9) ON DUPLICATE KEY UPDATE v = v + 5; END",
    // Events.
    "CREATE TABLE runs (run BIGINT AUTO_INCREMENT PRIMARY KEY, at_second BIGINT)",
    "CREATE TABLE pieces (run BIGINT, piece INT, PRIMARY KEY (run, piece))",
    "CREATE TABLE counted (one INT PRIMARY KEY, pieces BIGINT)",
    "INSERT INTO counted VALUES (1, 0)",
    "CREATE TRIGGER pieces_ai AFTER INSERT ON pieces FOR EACH ROW UPDATE counted SET pieces = pieces + 1",
    "CREATE TABLE once (id BIGINT AUTO_INCREMENT PRIMARY KEY, k BIGINT, KEY (k))",
];

/// The event that inserts in each second: a run and its three pieces.
const TICK: &str = "CREATE EVENT tick ON SCHEDULE EVERY 1 SECOND DO BEGIN \
    START TRANSACTION; \
    INSERT INTO runs (at_second) VALUES (UNIX_TIMESTAMP()); \
    SET @run = LAST_INSERT_ID(); \
    INSERT INTO pieces VALUES (@run, 1), (@run, 2); \
    INSERT INTO pieces VALUES (@run, 3); \
    COMMIT; END";

/// The event whose one statement inserts twenty pieces.
const BULK: &str = "CREATE EVENT bulk ON SCHEDULE EVERY 1 SECOND DO \
    INSERT INTO pieces SELECT -UNIX_TIMESTAMP(), d.n FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c \
    WHERE n < 20) SELECT n FROM c) d ON DUPLICATE KEY UPDATE piece = pieces.piece";

/// Returns the text of transaction `n` of a client.
fn transaction(w: u64, n: u64) -> String {
    match n % 5 {
        0 => format!("CALL whole({w}, {n})"),
        1 => format!("INSERT INTO base VALUES ({w}, {n}, 0, 2, 1), ({w}, {n}, 1, 2, 4)"),
        2 => format!("CALL steps({w}, {n})"),
        3 => format!("UPDATE base SET v = v + {n} WHERE w = {w} AND n > {n} - 20"),
        _ => format!("DELETE FROM base WHERE w = {w} AND n < {n} - 60"),
    }
}

/// Changes rows until the server is gone; notes the last transaction that was acknowledged.
fn change_until_killed(mut client: Client, w: u64, from: u64, acknowledged: &AtomicU64) {
    for n in from.. {
        let sql = transaction(w, n);
        match client.query(&sql) {
            Ok(Answer::Error(code, message)) => panic!("{sql}: ERROR {code}: {message}"),
            Ok(_) => acknowledged.store(n, Ordering::SeqCst),
            Err(_) => return,
        }
    }
}

/// Makes events that run once, in a second, until the server is gone; returns the number of the last.
fn make_events_until_killed(mut client: Client, from: u64) -> u64 {
    for k in from.. {
        let completion = if k % 3 == 0 { "PRESERVE" } else { "NOT PRESERVE" };
        let sql = format!(
            "CREATE EVENT once_{k} ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 SECOND ON COMPLETION {completion} \
             DO INSERT INTO once (k) VALUES ({k})"
        );
        match client.query(&sql) {
            Ok(Answer::Error(code, message)) => panic!("{sql}: ERROR {code}: {message}"),
            Ok(_) => std::thread::sleep(Duration::from_millis(15)),
            Err(_) => return k,
        }
    }
    unreachable!("the numbers do not end")
}

fn connect(server: &TestServer) -> Client {
    let mut client = server.connect();
    client.run("USE crash");
    client
}

/// Checks that a query finds nothing.
fn none(client: &mut Client, context: &str, sql: &str) {
    let rows = client.rows(sql);
    assert!(rows.is_empty(), "{context}: {sql}: {rows:?}");
}

fn number(client: &mut Client, sql: &str) -> u64 {
    client.rows(sql)[0][0].as_deref().and_then(|text| text.parse().ok()).expect("a number")
}

/// Checks that each change of a row is there with all that triggers did for it, and each transaction wholly.
fn check_triggers(client: &mut Client, context: &str) {
    none(
        client,
        context,
        "SELECT * FROM (SELECT w, n, part, SUM(came) AS came, SUM(dv) AS dv FROM log GROUP BY w, n, part) l \
         LEFT JOIN base b USING (w, n, part) WHERE came <> (b.w IS NOT NULL) OR dv <> IFNULL(b.v, 0)",
    );
    none(
        client,
        context,
        "SELECT * FROM base b WHERE NOT EXISTS (SELECT 1 FROM log l WHERE l.w = b.w AND l.n = b.n AND l.part = b.part)",
    );
    none(
        client,
        context,
        "SELECT * FROM sums s WHERE rows_there <> (SELECT COUNT(*) FROM base b WHERE b.w = s.w) \
         OR sum_v <> (SELECT IFNULL(SUM(v), 0) FROM base b WHERE b.w = s.w) \
         OR logged <> (SELECT COUNT(*) FROM log l WHERE l.w = s.w)",
    );
    none(client, context, "SELECT w, n FROM base GROUP BY w, n HAVING COUNT(*) <> MAX(parts)");
    // The last statement of `whole` that an interrupted one would lack.
    none(
        client,
        context,
        "SELECT w, n FROM base WHERE n % 5 = 0 AND n > 40 AND EXISTS (SELECT 1 FROM base o WHERE o.w = base.w AND o.n = base.n - 40)",
    );
}

/// Checks that runs of events are whole, and that none ran twice for one time.
fn check_events(client: &mut Client, context: &str, created: u64) {
    none(
        client,
        context,
        "SELECT r.run, COUNT(p.piece) FROM runs r LEFT JOIN pieces p ON p.run = r.run GROUP BY r.run HAVING COUNT(p.piece) <> 3",
    );
    none(client, context, "SELECT run FROM pieces WHERE run > 0 AND run NOT IN (SELECT run FROM runs)");
    none(client, context, "SELECT run FROM pieces WHERE run < 0 GROUP BY run HAVING COUNT(*) <> 20");
    none(client, context, "SELECT * FROM counted WHERE pieces <> (SELECT COUNT(*) FROM pieces)");
    none(
        client,
        context,
        &format!(
            "SELECT COUNT(*), MAX(at_second) FROM runs HAVING COUNT(*) > IFNULL(MAX(at_second), 0) - {created} + 1"
        ),
    );
    none(client, context, "SELECT k, COUNT(*) FROM once GROUP BY k HAVING COUNT(*) > 1");
    none(
        client,
        context,
        "SELECT k FROM once JOIN information_schema.EVENTS e ON e.EVENT_NAME = CONCAT('once_', k) WHERE e.STATUS = 'ENABLED'",
    );
}

/// Switches events off and waits for the runs that began to end.
fn stop_events(client: &mut Client) {
    client.run("SET GLOBAL event_scheduler = OFF");
    let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Connect'";
    while number(client, running) > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn kill_within_triggers_procedures_and_events_leaves_whole_statements() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (scale, seed) = (
        variable("LEAFLINE_TEST_SCALE").unwrap_or(1),
        variable("LEAFLINE_SEED").unwrap_or(u64::from(std::process::id())),
    );
    println!("seed {seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    for sql in DEFINITIONS {
        client.run(sql);
    }
    for w in 0..CLIENTS {
        client.run(&format!("INSERT INTO sums VALUES ({w}, 0, 0, 0)"));
    }
    let created = number(&mut client, "SELECT UNIX_TIMESTAMP()");
    client.run(TICK);
    client.run(BULK);
    drop(client);
    assert!(server.terminate(), "the server ends well when it is asked to");

    let acknowledged: Vec<Arc<AtomicU64>> = (0..CLIENTS).map(|_| Arc::default()).collect();
    let (mut next, mut next_event) = (vec![1; CLIENTS as usize], 1);
    for round in 0..4 * scale {
        let context = format!("seed {seed}, round {round}");
        let server = TestServer::start(directory.path(), &[]);
        let threads: Vec<_> = (0..CLIENTS)
            .map(|w| {
                let (client, from) = (connect(&server), next[w as usize]);
                let acknowledged = acknowledged[w as usize].clone();
                std::thread::spawn(move || change_until_killed(client, w, from, &acknowledged))
            })
            .collect();
        let (client, from) = (connect(&server), next_event);
        let events = std::thread::spawn(move || make_events_until_killed(client, from));
        std::thread::sleep(Duration::from_millis(rng.random_range(100..2300)));
        server.kill();
        threads.into_iter().for_each(|thread| thread.join().expect("a client"));
        next_event = events.join().expect("a client") + 1;

        // Events must not change the tables between two of the queries that check them.
        let server = TestServer::start(directory.path(), &["--set", "event_scheduler=OFF"]);
        let mut client = connect(&server);
        stop_events(&mut client);
        check_triggers(&mut client, &context);
        check_events(&mut client, &context, created);
        for w in 0..CLIENTS {
            let last = acknowledged[w as usize].load(Ordering::SeqCst);
            let reached = number(&mut client, &format!("SELECT IFNULL(MAX(n), 0) FROM log WHERE w = {w}"));
            // The last may be one of those that insert nothing.
            assert!(reached + 2 >= last, "{context}: {w}/{last} was acknowledged, {reached} is there");
            next[w as usize] = last.max(reached) + 1;
        }
        for table in ["base", "log", "pieces", "once"] {
            let rows = client.rows(&format!("CHECK TABLE {table}"));
            assert_eq!(rows[0][3].as_deref(), Some("OK"), "{context}: {table}");
        }
        drop(client);
        assert!(server.terminate());
    }

    // Each event that was due meanwhile runs once, at the start.
    let server = TestServer::start(directory.path(), &[]);
    let mut client = connect(&server);
    let waiting =
        "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_TYPE = 'ONE TIME' AND STATUS = 'ENABLED'";
    while number(&mut client, waiting) > 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    stop_events(&mut client);
    check_events(&mut client, &format!("seed {seed}, at the end"), created);
    assert!(number(&mut client, "SELECT COUNT(*) FROM once") > 0, "events ran");
    assert!(acknowledged.iter().any(|last| last.load(Ordering::SeqCst) > 0), "transactions were committed");
    drop(client);
    assert!(server.terminate());
}
