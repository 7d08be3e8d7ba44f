//! Tests what a session sees of a disk that is full, corrupts data or fails: MySQL's error numbers, and everything
//! that was acknowledged.

#[path = "support/rows.rs"]
mod rows;
#[path = "support/settings.rs"]
mod settings;

use leafline_sql::accounts::{LOCALHOST, Login, ROOT};
use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::Env;
use leafline_storage::device::{Operation, SimulatedEnv};
use leafline_table::{Isolation, TxnMode};
use leafline_types::Value;
use rows::rows_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PAGE: u64 = 16 << 10;
/// The number of rows of the damaged table: more than pool and log hold, so that pages have to be read.
const ROWS: u32 = 8000;

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    let mut options = InstanceOptions { variables: settings::test_variables(), ..InstanceOptions::default() };
    options.engine.store.buffer_pool_bytes = 4 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    Instance::open(Arc::new(env.clone()), options).expect("the database opens")
}

/// Returns the rows of a statement, values separated by blanks, or `<number> (<SQLSTATE>)`.
fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, String> {
    rows_of(session, sql).map_err(|error| error.to_string())
}

fn must(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn with_table(instance: &Arc<Instance>) -> Session {
    let mut session = instance.connect().expect("a session");
    must(&mut session, "CREATE DATABASE d");
    must(&mut session, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(700), KEY (b) PACKED)");
    session
}

fn insert(from: u32, rows: u32) -> String {
    let row = |a| format!("({a}, '{:0>600}')", (a * 7919) % 10_007);
    format!("INSERT INTO d.t VALUES {}", (from..from + rows).map(row).collect::<Vec<_>>().join(", "))
}

/// The disk fills up at a statement of each kind; each time the statement has no effect and the session goes on.
#[test]
fn a_full_disk_is_1021_and_loses_nothing() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    let mut other = instance.connect().expect("a session");
    let mut rows = 0;
    for round in 0..6 {
        must(&mut session, &insert(rows, 40));
        rows += 40;
        env.set_space_limit(Some(env.space_used() + round * 11 * PAGE));
        let refused = loop {
            match run(&mut session, &insert(rows, 40)) {
                Ok(_) => rows += 40,
                Err(error) => break error,
            }
        };
        assert!(refused.starts_with("ERROR 1021 (HY000)"), "{refused}");
        // In the middle of a commit. The space that the index dropped in the previous round may come back only now,
        // and hold one more.
        let refused = loop {
            must(&mut session, "BEGIN");
            for part in 0..3 {
                must(&mut session, &insert(rows + part * 40, 40));
            }
            match run(&mut session, "COMMIT") {
                Ok(_) => rows += 120,
                Err(error) => break error,
            }
        };
        assert!(refused.starts_with("ERROR 1021 (HY000)"), "{refused}");
        let refused = run(&mut session, "CREATE INDEX k ON d.t (b, a)");
        assert!(refused.is_ok() || refused.is_err_and(|error| error.starts_with("ERROR 1021 (HY000)")));
        let _ = run(&mut session, "DROP INDEX k ON d.t");
        for session in [&mut session, &mut other] {
            assert_eq!(must(session, "SELECT COUNT(*), MAX(a) FROM d.t"), [format!("{rows} {}", rows - 1)]);
        }
        env.set_space_limit(None);
        assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
    }
    drop((session, other));
    instance.close().expect("a clean end");
    drop(instance);
    let mut session = open(&env).connect().expect("a session");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), [rows.to_string()]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

/// Many small rows with several indexes: their worst-case reservation is far more than they need. On a full disk some
/// hundred can be deleted at a time, and then there is room.
#[test]
fn rows_are_deleted_on_a_full_disk() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(
        &mut session,
        "CREATE TABLE d.s (a INT PRIMARY KEY, b INT, c VARCHAR(20), d INT, KEY (b), KEY (c, d), UNIQUE KEY (d, a) PACKED)",
    );
    let small = |a: u32| format!("({a}, {}, 'c{}', {})", a * 7919 % 10_007, a * 31 % 997, a * 17 % 4001);
    for from in (0..6000).step_by(500) {
        let rows: Vec<String> = (from..from + 500).map(small).collect();
        must(&mut session, &format!("INSERT INTO d.s VALUES {}", rows.join(", ")));
    }
    let mut rows = 0;
    env.set_space_limit(Some(env.space_used() + 50 * PAGE));
    let refused = loop {
        match run(&mut session, &insert(rows, 20)) {
            Ok(_) => rows += 20,
            Err(error) => break error,
        }
    };
    assert!(refused.starts_with("ERROR 1021 (HY000)"), "{refused}");
    for part in 0..20 {
        must(&mut session, &format!("DELETE FROM d.s WHERE b % 20 = {part}"));
        must(&mut session, &format!("UPDATE d.s SET d = d + 1 WHERE b % 40 = {}", part + 21));
    }
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.s"), ["0"]);
    for table in ["s", "t"] {
        let checked = must(&mut session, &format!("CHECK TABLE d.{table}"));
        assert_eq!(checked, [format!("d.{table} check status OK")]);
    }
}

/// Queries that need files: on a full disk 1021, afterwards the answer, and never a file that stays.
#[test]
fn a_query_larger_than_memory_and_disk_is_1021_and_leaves_no_file() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, &insert(0, 1000));
    must(&mut session, "SET group_concat_max_len = 1048576");
    for query in [
        "SELECT SUM(LENGTH(x)) FROM (SELECT LAG(b, 300) OVER (ORDER BY a) AS x FROM d.t) l",
        "SELECT MAX(x) FROM (SELECT MIN(b) OVER (ORDER BY a ROWS BETWEEN 300 PRECEDING AND 300 FOLLOWING) AS x FROM d.t) l",
        "WITH RECURSIVE r AS (SELECT a, b FROM d.t UNION SELECT a + 1, b FROM r WHERE a < 3) SELECT COUNT(*) FROM r",
        "SELECT MD5(GROUP_CONCAT(b ORDER BY a DESC)) FROM d.t",
        "SELECT a % 3, MD5(GROUP_CONCAT(DISTINCT b ORDER BY a)), COUNT(*) FROM d.t GROUP BY a % 3",
        "SELECT MD5(JSON_ARRAYAGG(b)), MD5(JSON_OBJECTAGG(a, b)) FROM d.t",
    ] {
        must(&mut session, "SET leafline_query_memory = DEFAULT");
        let expected = must(&mut session, query);
        must(&mut session, "SET leafline_query_memory = 65536");
        env.set_space_limit(Some(env.space_used() + PAGE));
        let refused = run(&mut session, query).expect_err("a full disk");
        assert!(refused.starts_with("ERROR 1021 (HY000)"), "{query}: {refused}");
        env.set_space_limit(None);
        let files = must(&mut session, "SHOW STATUS LIKE 'Created_tmp_files'");
        assert_eq!(must(&mut session, query), expected, "{query}");
        assert_ne!(must(&mut session, "SHOW STATUS LIKE 'Created_tmp_files'"), files, "{query}");
        let env: &dyn Env = &env;
        assert_eq!(env.list("temp").expect("a directory"), Vec::<String>::new(), "{query}");
    }
}

/// A transaction writes several times as much log as the log can hold.
#[test]
fn a_transaction_larger_than_the_log_is_made_and_survives() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, "BEGIN");
    for from in (0..4000).step_by(400) {
        must(&mut session, &insert(from, 400));
    }
    must(&mut session, "COMMIT");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), ["4000"]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
    drop((session, instance));
    env.cut(7);
    let instance = open(&env);
    let mut session = instance.connect().expect("a session");
    assert_eq!(must(&mut session, "SELECT COUNT(*) FROM d.t"), ["4000"]);
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

#[test]
fn a_damaged_page_is_1194_where_it_is_needed_and_nowhere_else() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);

    for from in (0..ROWS).step_by(40) {
        must(&mut session, &insert(from, 40));
    }
    must(&mut session, "CREATE TABLE d.u (a INT PRIMARY KEY)");
    must(&mut session, "INSERT INTO d.u VALUES (1), (2)");
    drop(session);
    instance.close().expect("a clean end");
    drop(instance);
    // Damages one page after another in a copy: CHECK TABLE finds each, or the page belongs to nothing that is
    // checked.
    let (mut found, mut of_other, pages) = (0, 0, env.space_used() / PAGE);
    for page in (8..pages).step_by(31) {
        let copy = env.snapshot();
        if copy.damage("data", page * PAGE + 4096, &mut |block| block[100] ^= 0x10).is_err() {
            break;
        }
        let instance = open(&copy);
        let mut session = instance.connect().expect("a session");
        let check = must(&mut session, "CHECK TABLE d.t");
        let read = run(&mut session, "SELECT COUNT(*) FROM d.t IGNORE INDEX (b) WHERE LENGTH(b) = 600");
        match &read {
            Ok(rows) => assert_eq!(*rows, [ROWS.to_string()]),
            Err(error) => {
                assert!(
                    error.starts_with("ERROR 1194 (HY000)") && error.contains(&page.to_string()),
                    "{error}"
                );
            }
        }
        if check != ["d.t check status OK"] {
            found += 1;
            // An index whose buffered changes were there may be quarantined by now.
            let names = [format!("page {page}: "), format!("page {page} is damaged")];
            let is_named = |line: &String| names.iter().any(|name| line.contains(name));
            assert!(check.iter().any(is_named), "{check:?}");
        } else {
            assert!(read.is_ok(), "CHECK TABLE did not find page {page}");
        }
        match run(&mut session, "SELECT COUNT(*) FROM d.u") {
            // The only page of the other table.
            Err(error) if error.contains(&format!("page {page} is damaged")) && of_other == 0 => {
                of_other += 1
            }
            read => {
                assert_eq!(read, Ok(vec!["2".to_owned()]));
                must(&mut session, "INSERT INTO d.u VALUES (3)");
            }
        }
    }
    assert!(found > 5, "{found} damaged pages were in the table");
}

#[test]
fn a_failed_sync_stops_writing_and_loses_nothing_acknowledged() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, &insert(0, 40));
    let failing = Arc::new(AtomicBool::new(true));
    let flag = failing.clone();
    env.set_fault(Some(Arc::new(move |operation, name, _| {
        flag.load(Ordering::SeqCst) && operation == Operation::Sync && name.starts_with("wal")
    })));
    let refused = run(&mut session, &insert(40, 40)).expect_err("a failed sync");
    assert!(refused.starts_with("ERROR 1030 (HY000)"), "{refused}");
    // A failed sync must not be retried: the written data may be lost although the next sync succeeds.
    failing.store(false, Ordering::SeqCst);
    let refused = run(&mut session, &insert(80, 40)).expect_err("the database has stopped");
    assert!(refused.starts_with("ERROR 1030 (HY000)"), "{refused}");
    drop(session);
    drop(instance);
    env.set_fault(None);
    env.cut(7);
    let mut session = open(&env).connect().expect("a session");
    let rows = must(&mut session, "SELECT COUNT(*) FROM d.t");
    assert!(rows == ["40"] || rows == ["80"], "{rows:?}");
    assert_eq!(must(&mut session, "CHECK TABLE d.t"), ["d.t check status OK"]);
}

fn login(instance: &Instance) -> Login {
    instance.accounts().login(ROOT, LOCALHOST).expect("there is a root").1
}

fn is_secret(login: &Login) -> bool {
    matches!(login, Login::Password(password) if password.verify(b"secret"))
}

#[test]
fn a_crash_leaves_the_account_as_it_was_or_as_it_was_to_be() {
    let new = SimulatedEnv::new();
    for cut_after in 0.. {
        let env = new.snapshot();
        env.power_cut_after(cut_after);
        let opened = Instance::open(Arc::new(env.clone()), InstanceOptions::default());
        drop(opened);
        let was_cut = env.is_off();
        env.reboot(cut_after);
        let instance = open(&env);
        assert!(login(&instance).is_without_password(), "cut after {cut_after}");
        let mut session = instance.connect().expect("a session");
        assert_eq!(
            must(&mut session, "SELECT Host, User FROM mysql.user"),
            ["% root"],
            "cut after {cut_after}"
        );
        drop((session, instance));
        if !was_cut {
            assert!(cut_after > 10, "{cut_after}");
            break;
        }
    }
    let env = SimulatedEnv::new();
    drop(open(&env));
    for cut_after in 0.. {
        let env = env.snapshot();
        let instance = open(&env);
        let mut session = instance.connect().expect("a session");
        env.power_cut_after(cut_after);
        let changed = run(&mut session, "ALTER USER root IDENTIFIED BY 'secret'");
        let was_cut = env.is_off();
        drop((session, instance));
        env.reboot(cut_after);
        let found = login(&open(&env));
        let may_be = if changed.is_ok() { is_secret(&found) } else { !matches!(found, Login::Locked(_)) };
        assert!(may_be, "cut after {cut_after}: {found:?}");
        if !was_cut {
            break;
        }
    }
}

/// `mysql.user` may have been changed by a repair, or by a user with access to the files.
#[test]
fn an_account_that_was_lost_is_locked_until_it_gets_a_password() {
    for lost in ["row", "table", "hash"] {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        let mut session = with_table(&instance);
        must(&mut session, "ALTER USER root IDENTIFIED BY 'first'");
        let engine = instance.engine().clone();
        let table = engine.table("mysql", "user").expect("a table");
        match lost {
            "table" => drop(engine.ddl().drop_table("mysql", "user", false).expect("dropped")),
            "row" => engine.ddl().truncate_table("mysql", "user", false).expect("emptied"),
            _ => {
                engine.ddl().truncate_table("mysql", "user", false).expect("emptied");
                let table = engine.table("mysql", "user").expect("a table");
                let mut transaction =
                    engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
                transaction.begin_statement();
                let value = |column: &leafline_table::ColumnDef| match column.name.as_str() {
                    "Host" => Value::string("%"),
                    "User" => Value::string("root"),
                    "plugin" => Value::string("mysql_native_password"),
                    "authentication_string" => Value::string("*12"),
                    "account_locked" | "password_expired" => Value::UInt(1),
                    "ssl_cipher" | "x509_issuer" | "x509_subject" => Value::bytes([]),
                    _ if column.nullable => Value::Null,
                    _ => Value::UInt(2),
                };
                let row: Vec<Value> = table.columns.iter().map(value).collect();
                transaction.insert(&table, &row).expect("inserted");
                transaction.commit().expect("committed");
            }
        }
        drop((session, table, engine));
        instance.close().expect("a clean end");
        drop(instance);
        for _ in 0..2 {
            let instance = open(&env);
            let Login::Locked(reason) = login(&instance) else { panic!("{lost}: {:?}", login(&instance)) };
            assert!(reason.contains("mysql.user") && reason.contains("ALTER USER"), "{reason}");
            instance.close().expect("a clean end");
        }
        let instance = open(&env);
        let mut session = instance.connect().expect("a session");
        must(&mut session, "ALTER USER root IDENTIFIED BY 'secret'");
        assert!(is_secret(&login(&instance)));
        drop((session, instance));
        env.cut(7);
        let instance = open(&env);
        assert!(is_secret(&login(&instance)), "{lost}");
        let mut session = instance.connect().expect("a session");
        assert_eq!(must(&mut session, "SELECT COUNT(*) FROM mysql.user"), ["1"]);
        assert_eq!(must(&mut session, "CHECK TABLE mysql.user"), ["mysql.user check status OK"]);
    }
}

#[test]
fn no_damaged_page_lets_anybody_in_without_the_password() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = with_table(&instance);
    must(&mut session, "ALTER USER root IDENTIFIED BY 'secret'");
    drop(session);
    instance.close().expect("a clean end");
    drop(instance);
    // Erases the doublewrite copies.
    let mut copies = 0..;
    while copies
        .next()
        .is_some_and(|block| env.damage("doublewrite", block * 4096, &mut |bytes| bytes.fill(0)).is_ok())
    {
    }
    let mut locked = 0;
    for page in 0..env.space_used() / PAGE {
        let copy = env.snapshot();
        if copy.damage("data", page * PAGE + 4096, &mut |block| block[100] ^= 0x10).is_err() {
            break;
        }
        let Ok(instance) = Instance::open(Arc::new(copy), InstanceOptions::default()) else { continue };
        match login(&instance) {
            login @ Login::Password(_) => assert!(is_secret(&login), "page {page}"),
            Login::Locked(reason) => {
                assert!(reason.contains("leafline repair"), "{reason}");
                assert_eq!(
                    must(&mut instance.connect().expect("a session"), "SELECT COUNT(*) FROM d.t"),
                    ["0"]
                );
                locked += 1;
            }
            Login::Blocked(_) => panic!("page {page}: nobody has failed to log in"),
        }
    }
    assert_eq!(locked, 9, "a page holds each of the tables of accounts and grants");
}
