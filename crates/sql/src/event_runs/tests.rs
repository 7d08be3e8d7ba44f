//! Events run through an instance, at moments that the tests choose: the scheduler's thread is off, unless a test
//! is about it.

use crate::{ErrorLog, Instance, InstanceOptions, Outcome, Session};
use leafline_storage::device::SimulatedEnv;
use leafline_types::convert::to_text;
use leafline_types::{MysqlError, value_at};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECOND: i64 = 1_000_000;
/// The time at which the tests create events, in seconds: 2023-11-14 22:13:20 UTC.
const BEGIN: i64 = 1_700_000_000;

/// The lines of an error log.
type Lines = Arc<Mutex<Vec<String>>>;

fn open(env: &SimulatedEnv) -> (Arc<Instance>, Lines) {
    let lines = Lines::default();
    let taken = lines.clone();
    let log = ErrorLog::new(move |line| taken.lock().push(line.to_owned()));
    let options = InstanceOptions { error_log: log, ..InstanceOptions::default() };
    (Instance::open(Arc::new(env.clone()), options).unwrap(), lines)
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<String>, MysqlError> {
    let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        for row in 0..batch.rows {
            let values = batch.columns.iter().zip(&types).map(|(column, ty)| {
                to_text(&value_at(column, row, ty), ty).map_or("NULL".to_owned(), |text| text.to_string())
            });
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    Ok(rows)
}

fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// An instance with a database `d`, a table `log`, and a session in which it is [`BEGIN`].
fn begun(env: &SimulatedEnv) -> (Arc<Instance>, Lines, Session) {
    let (instance, lines) = open(env);
    let mut session = instance.connect().unwrap();
    run(
        &mut session,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(100))",
            "SET time_zone = '+00:00', timestamp = 1700000000",
        ],
    );
    (instance, lines, session)
}

/// Starts the events that are due so many seconds after [`BEGIN`], and waits until no event runs.
fn at(instance: &Arc<Instance>, seconds: i64) {
    instance.start_due_events((BEGIN + seconds) * SECOND);
    instance.events().wait_for_runs();
}

fn logged(session: &mut Session) -> Vec<String> {
    rows(session, "SELECT what FROM log ORDER BY id").unwrap()
}

/// Waits until a condition holds that other threads bring about.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The numbers of the sessions in which events run.
fn running(session: &mut Session) -> Vec<String> {
    rows(session, "SELECT id FROM information_schema.PROCESSLIST WHERE command = 'Connect' ORDER BY id")
        .unwrap()
}

const EVENTS: &str = "SELECT event_name, status, last_executed FROM information_schema.EVENTS ORDER BY 1";

#[test]
fn at_runs_once_and_is_dropped_before_its_body() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(
        &mut session,
        &[
            "CREATE EVENT e ON SCHEDULE AT '2023-11-14 22:13:30' DO \
             INSERT INTO log (what) SELECT COUNT(*) FROM information_schema.EVENTS",
            "CREATE EVENT p ON SCHEDULE AT '2023-11-14 22:13:40' ON COMPLETION PRESERVE DO \
             INSERT INTO log (what) SELECT status FROM information_schema.EVENTS",
        ],
    );
    at(&instance, 9);
    assert_eq!(logged(&mut session), [""; 0]);
    at(&instance, 10);
    at(&instance, 11);
    assert_eq!(logged(&mut session), ["1"], "only p is left");
    at(&instance, 60);
    at(&instance, 61);
    assert_eq!(logged(&mut session), ["1", "DISABLED"]);
    assert_eq!(rows(&mut session, EVENTS).unwrap(), ["p DISABLED 2023-11-14 22:14:20"]);
    run(&mut session, &["ALTER EVENT p ENABLE"]);
    at(&instance, 62);
    assert_eq!(rows(&mut session, EVENTS).unwrap(), ["p DISABLED 2023-11-14 22:14:20"], "it has run");
    run(&mut session, &["ALTER EVENT p ON SCHEDULE AT '2023-11-14 22:15:00' ENABLE"]);
    at(&instance, 100);
    assert_eq!(logged(&mut session).len(), 3);
    assert_eq!(*lines.lock(), [""; 0]);
}

#[test]
fn every_second_runs_each_second_and_makes_nothing_up() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(&mut session, &["CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log (what) VALUES ('e')"]);
    let version = instance.engine().catalog_version();
    for (seconds, count) in [(0, 1), (0, 1), (1, 2), (2, 3), (60, 4), (60, 4), (61, 5)] {
        at(&instance, seconds);
        assert_eq!(logged(&mut session).len(), count, "after {seconds} s");
    }
    assert_eq!(rows(&mut session, EVENTS).unwrap(), ["e ENABLED 2023-11-14 22:14:21"]);
    assert_eq!(instance.engine().catalog_version(), version, "plans still stand");
    let ends =
        "ALTER EVENT e ON SCHEDULE EVERY 1 SECOND STARTS '2023-11-14 22:14:22' ENDS '2023-11-14 22:14:23'";
    run(&mut session, &[ends]);
    at(&instance, 62);
    at(&instance, 63);
    at(&instance, 64);
    assert_eq!((logged(&mut session).len(), rows(&mut session, EVENTS).unwrap()), (7, Vec::new()));
    assert_eq!(*lines.lock(), [""; 0]);
}

#[test]
fn an_event_can_drop_and_alter_events() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(
        &mut session,
        &[
            "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO BEGIN \
             INSERT INTO log (what) VALUES ('e'); ALTER EVENT f ENABLE; DROP EVENT e; \
             INSERT INTO log (what) VALUES ('still'); END",
            "CREATE EVENT f ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO log (what) VALUES ('f')",
        ],
    );
    at(&instance, 0);
    at(&instance, 5);
    assert_eq!(logged(&mut session), ["e", "still", "f"]);
    assert_eq!(*lines.lock(), [""; 0]);
    run(&mut session, &["DROP DATABASE d"]);
    at(&instance, 9);
    assert_eq!(*lines.lock(), [""; 0]);
}

#[test]
fn the_body_runs_as_its_definer_with_the_events_settings() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(
        &mut session,
        &[
            "CREATE USER joe@localhost",
            "GRANT EVENT, INSERT ON d.* TO joe@localhost",
            "CREATE TABLE secret (a INT)",
            "SET time_zone = '+03:00', sql_mode = 'ANSI_QUOTES'",
            "CREATE DEFINER = joe@localhost EVENT e ON SCHEDULE EVERY 1 HOUR DO \
             INSERT INTO log (what) VALUES (CONCAT_WS(' ', CURRENT_USER(), DATABASE(), @@time_zone, @@sql_mode))",
            "CREATE DEFINER = joe@localhost EVENT s ON SCHEDULE EVERY 1 HOUR DO SELECT a FROM secret",
        ],
    );
    at(&instance, 0);
    assert_eq!(logged(&mut session), ["joe@localhost d +03:00 ANSI_QUOTES"]);
    let denied = "[ERROR] Event Scheduler: [joe@localhost].[d.s] SELECT command denied to user 'joe'@'localhost' \
                  for table 'secret'";
    let failed = "[ERROR] Event Scheduler: [joe@localhost].[d.s] event execution failed.";
    assert_eq!(*lines.lock(), [denied, failed]);
    lines.lock().clear();
    run(&mut session, &["DROP EVENT s", "REVOKE EVENT ON d.* FROM joe@localhost"]);
    at(&instance, 3600);
    let lost = "[ERROR] Event Scheduler: [joe@localhost].[d.e] execution failed, user no longer has EVENT privilege.";
    assert_eq!(*lines.lock(), [lost]);
    lines.lock().clear();
    run(&mut session, &["DROP USER joe@localhost"]);
    at(&instance, 7200);
    let gone =
        "[ERROR] Event Scheduler: [joe@localhost].[d.e] execution failed, failed to authenticate the user.";
    assert_eq!(*lines.lock(), [gone]);
    assert_eq!(logged(&mut session).len(), 1);
}

#[test]
fn results_are_read_and_given_up_and_conditions_go_to_the_error_log() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(
        &mut session,
        &[
            "CREATE FUNCTION f() RETURNS INT BEGIN INSERT INTO log (what) VALUES ('f'); RETURN 1; END",
            "CREATE PROCEDURE p() BEGIN SELECT f(); SELECT f() FROM DUAL; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN \
             SELECT 1; CALL p(); SELECT f(); SELECT CAST('x' AS SIGNED); END",
            "CREATE EVENT h ON SCHEDULE EVERY 1 DAY DO BEGIN \
             DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO log (what) VALUES ('handled'); \
             SIGNAL SQLSTATE '45000'; END",
            "CREATE EVENT t ON SCHEDULE EVERY 1 DAY DO BEGIN \
             START TRANSACTION; INSERT INTO log (what) VALUES ('open'); \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END",
        ],
    );
    at(&instance, 0);
    let mut what = logged(&mut session);
    what.sort();
    assert!(!what.contains(&"open".to_owned()), "it is rolled back: {what:?}");
    assert!(
        what.contains(&"handled".to_owned()) && what.iter().filter(|what| *what == "f").count() >= 3,
        "{what:?}"
    );
    let mut lines = lines.lock().clone();
    lines.sort();
    let expected = [
        "[ERROR] Event Scheduler: [root@%].[d.t] event execution failed.",
        "[ERROR] Event Scheduler: [root@%].[d.t] no",
        "[Warning] Event Scheduler: [root@%].[d.e] Truncated incorrect INTEGER value: 'x'",
    ];
    assert_eq!(lines, expected);
}

/// An event that waits until the session releases the lock `held`.
const WAITING: &str = "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO BEGIN \
                       DO GET_LOCK('held', 1000); INSERT INTO log (what) VALUES ('e'); END";

#[test]
fn runs_overlap_and_kill_ends_one() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(&mut session, &["DO GET_LOCK('held', 0)", WAITING]);
    for seconds in 0..3 {
        instance.start_due_events((BEGIN + seconds) * SECOND);
    }
    wait_until("three runs wait", || {
        let waiting = "SELECT id FROM information_schema.PROCESSLIST WHERE command = 'Connect' AND db = 'd' \
                       AND user = 'root' AND info LIKE '%GET_LOCK%'";
        rows(&mut session, waiting).unwrap().len() == 3
    });
    let killed = running(&mut session).remove(1);
    run(&mut session, &[&format!("KILL {killed}")]);
    wait_until("one run has ended", || running(&mut session).len() == 2);
    run(&mut session, &["DO RELEASE_LOCK('held')"]);
    instance.events().wait_for_runs();
    assert_eq!(logged(&mut session), ["e", "e"]);
    let lines = lines.lock();
    assert!(
        matches!(&lines[..], [first, _] if first.contains("Query execution was interrupted")),
        "{lines:?}"
    );
}

#[test]
fn closing_the_database_cancels_what_runs() {
    let env = SimulatedEnv::new();
    let (instance, _, mut session) = begun(&env);
    run(&mut session, &["DO GET_LOCK('held', 0)", WAITING]);
    instance.start_due_events(BEGIN * SECOND);
    wait_until("it runs", || running(&mut session).len() == 1);
    instance.close().unwrap();
    assert!(instance.events().is_closed());
    drop((session, instance));
    let (instance, _) = open(&env);
    let mut session = instance.connect().unwrap();
    run(&mut session, &["USE d"]);
    assert_eq!(logged(&mut session), [""; 0]);
}

#[test]
fn a_crash_during_a_run_of_at_does_not_run_it_again() {
    let env = SimulatedEnv::new();
    let (instance, _, mut session) = begun(&env);
    run(
        &mut session,
        &[
            "DO GET_LOCK('held', 0)",
            "CREATE EVENT e ON SCHEDULE AT '2023-11-14 22:13:30' DO BEGIN \
             INSERT INTO log (what) VALUES ('begun'); DO GET_LOCK('held', 1000); END",
            "CREATE EVENT missed ON SCHEDULE AT '2023-11-14 22:13:50' DO INSERT INTO log (what) VALUES ('missed')",
        ],
    );
    let before = env.snapshot();
    instance.start_due_events((BEGIN + 10) * SECOND);
    wait_until("it has begun", || logged(&mut session).len() == 1);
    let during = env.snapshot();
    run(&mut session, &["DO RELEASE_LOCK('held')"]);
    for (env, expected) in [(before, &["begun", "missed"][..]), (during, &["begun", "missed"])] {
        let (instance, lines) = open(&env);
        let mut session = instance.connect().unwrap();
        run(&mut session, &["USE d"]);
        at(&instance, 100);
        at(&instance, 101);
        let mut what = logged(&mut session);
        what.sort();
        assert_eq!(
            (&what[..], lines.lock().len()),
            (&expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..], 0)
        );
        assert_eq!(rows(&mut session, EVENTS).unwrap(), [""; 0]);
    }
    instance.events().wait_for_runs();
}

#[test]
fn too_many_runs_make_an_event_wait() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(&mut session, &["DO GET_LOCK('held', 0)", WAITING]);
    let most = i64::try_from(crate::events::MOST_RUNS).unwrap();
    for seconds in 0..most + 3 {
        instance.start_due_events((BEGIN + seconds) * SECOND);
    }
    assert_eq!(
        *lines.lock(),
        ["[Warning] Event Scheduler: [root@%].[d.e] waits, because too many events run"]
    );
    assert_eq!(instance.events().room(), 0);
    run(&mut session, &["DO RELEASE_LOCK('held')"]);
    instance.events().wait_for_runs();
    at(&instance, most + 3);
    assert_eq!(logged(&mut session).len() as i64, most + 1, "what waited runs once");
}

#[test]
fn a_server_that_is_read_only_runs_events_that_may_not_write_and_a_super_read_only_one_runs_none() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    run(
        &mut session,
        &[
            "CREATE USER joe@localhost",
            "GRANT EVENT, INSERT ON d.* TO joe@localhost",
            "CREATE DEFINER = joe@localhost EVENT e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log (what) VALUES ('e')",
            "SET GLOBAL read_only = ON",
        ],
    );
    at(&instance, 0);
    assert!(lines.lock().iter().any(|line| line.contains("--read-only")), "{lines:?}");
    lines.lock().clear();
    run(&mut session, &["SET GLOBAL super_read_only = ON"]);
    at(&instance, 5);
    run(&mut session, &["SET GLOBAL read_only = OFF"]);
    assert_eq!((lines.lock().len(), logged(&mut session).len()), (0, 0));
    at(&instance, 10);
    assert_eq!((lines.lock().len(), logged(&mut session).len()), (0, 1));
}

#[test]
fn the_scheduler_is_a_daemon_that_wakes_for_events() {
    let (instance, lines, mut session) = begun(&SimulatedEnv::new());
    let mut state = |expected: &[&str]| {
        let daemon = "SELECT state FROM information_schema.PROCESSLIST WHERE command = 'Daemon' \
                      AND user = 'event_scheduler' AND host = 'localhost' AND info IS NULL";
        wait_until(&format!("{expected:?}"), || rows(&mut session, daemon).unwrap() == expected);
    };
    let mut other = instance.connect().unwrap();
    state(&[]);
    run(&mut other, &["USE d", "SET GLOBAL event_scheduler = ON", "SET GLOBAL event_scheduler = 1"]);
    state(&["Waiting on empty queue"]);
    run(
        &mut other,
        &["CREATE EVENT later ON SCHEDULE AT NOW() + INTERVAL 1 DAY DO INSERT INTO log (what) VALUES ('no')"],
    );
    state(&["Waiting for next activation"]);
    run(&mut other, &["CREATE EVENT now ON SCHEDULE AT NOW() DO INSERT INTO log (what) VALUES ('now')"]);
    wait_until("it has run", || logged(&mut other) == ["now"]);
    run(&mut other, &["SET GLOBAL event_scheduler = OFF"]);
    state(&[]);
    run(&mut other, &["SET GLOBAL event_scheduler = ON"]);
    let daemon =
        rows(&mut other, "SELECT id FROM information_schema.PROCESSLIST WHERE command = 'Daemon'").unwrap();
    run(&mut other, &[&format!("KILL {}", daemon[0])]);
    state(&[]);
    assert_eq!(rows(&mut other, "SELECT @@event_scheduler").unwrap(), ["OFF"]);
    assert_eq!(*lines.lock(), ["[Warning] Event Scheduler: killed, event_scheduler is OFF"]);
    run(&mut other, &["SET GLOBAL event_scheduler = ON"]);
    state(&["Waiting for next activation"]);
    instance.close().unwrap();
}

#[test]
fn event_scheduler_can_be_disabled_at_the_start_only() {
    let with = |value: &str| {
        let variables = vec![("event-scheduler".to_owned(), value.to_owned())];
        let options = InstanceOptions { variables, ..InstanceOptions::default() };
        Instance::open(Arc::new(SimulatedEnv::new()), options)
    };
    let error = |instance: &Arc<Instance>, value: &str| {
        let mut session = instance.connect().unwrap();
        rows(&mut session, &format!("SET GLOBAL event_scheduler = {value}")).map_err(|error| error.code)
    };
    assert_eq!(with("perhaps").err().map(|error| error.code), Some(1231));
    let instance = with("DISABLED").unwrap();
    instance.follow_event_scheduler().unwrap();
    assert!(!instance.events().is_on());
    assert_eq!(error(&instance, "ON"), Err(1290));
    let instance = with("ON").unwrap();
    instance.follow_event_scheduler().unwrap();
    assert!(instance.events().is_on());
    assert_eq!((error(&instance, "DISABLED"), error(&instance, "3")), (Err(1231), Err(1231)));
    assert_eq!(error(&instance, "OFF"), Ok(Vec::new()));
    assert!(!instance.events().is_on());
}
