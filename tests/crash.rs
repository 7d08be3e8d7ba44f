//! Kills the server while clients commit: every acknowledged transaction must survive, and none may survive in part.
//!
//! Each client inserts rows with ascending numbers, one or several in a transaction, and remembers which were
//! acknowledged. After each kill the database is opened again and queried. Another server is killed while it fills
//! tables and builds indexes.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::TestServer;
use support::client::{Answer, Client};

const CLIENTS: u64 = 8;
/// Rows of every second transaction.
const GROUP: u64 = 5;

/// Inserts until the server is gone. Returns the last transaction that was acknowledged.
fn insert_until_killed(mut client: Client, writer: u64, from: u64, acknowledged: &AtomicU64) {
    for transaction in from.. {
        let rows = if transaction % 2 == 0 { GROUP } else { 1 };
        let statements: Vec<String> = match transaction % 4 {
            // Several rows in one statement, or several statements in one transaction.
            0 => {
                let values: Vec<String> =
                    (0..rows).map(|part| format!("({writer}, {transaction}, {part}, {rows})")).collect();
                vec![format!("INSERT INTO crash.t VALUES {}", values.join(", "))]
            }
            2 => {
                let insert =
                    |part| format!("INSERT INTO crash.t VALUES ({writer}, {transaction}, {part}, {rows})");
                let mut all = vec!["BEGIN".to_owned()];
                all.extend((0..rows).map(insert));
                all.push("COMMIT".to_owned());
                all
            }
            _ => vec![format!("INSERT INTO crash.t VALUES ({writer}, {transaction}, 0, 1)")],
        };
        for sql in statements {
            match client.query(&sql) {
                Ok(Answer::Error(code, message)) => panic!("{sql}: ERROR {code}: {message}"),
                Ok(_) => {}
                Err(_) => return,
            }
        }
        acknowledged.store(transaction, Ordering::SeqCst);
    }
}

fn number(value: &Option<String>) -> u64 {
    value.as_deref().and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn kill_during_commits_loses_no_acknowledged_row() {
    let scale: u64 = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE crash");
    client.run("CREATE TABLE crash.t (w INT, n BIGINT, part INT, parts INT, PRIMARY KEY (w, n, part), KEY (n) PACKED, KEY (parts, part))");
    drop(client);
    assert!(server.terminate(), "the server ends well when it is asked to");

    let acknowledged: Vec<Arc<AtomicU64>> = (0..CLIENTS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let mut next = vec![1; CLIENTS as usize];
    for round in 0..5 * scale {
        let server = TestServer::start(directory.path(), &[]);
        let threads: Vec<_> = (0..CLIENTS)
            .map(|writer| {
                let (client, from) = (server.connect(), next[writer as usize]);
                let acknowledged = acknowledged[writer as usize].clone();
                std::thread::spawn(move || insert_until_killed(client, writer, from, &acknowledged))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100 + 37 * (round % 7)));
        server.kill();
        for thread in threads {
            thread.join().expect("a client");
        }
        let server = TestServer::start(directory.path(), &[]);
        let mut client = server.connect();
        for writer in 0..CLIENTS {
            let rows = client
                .rows(&format!("SELECT n, COUNT(*), MAX(parts) FROM crash.t WHERE w = {writer} GROUP BY n"));
            let found: BTreeMap<u64, (u64, u64)> =
                rows.iter().map(|row| (number(&row[0]), (number(&row[1]), number(&row[2])))).collect();
            let last = acknowledged[writer as usize].load(Ordering::SeqCst);
            for transaction in 1..=last {
                assert!(
                    found.contains_key(&transaction),
                    "round {round}: {writer}/{transaction} was acknowledged"
                );
            }
            for (transaction, (count, parts)) in &found {
                assert_eq!(count, parts, "round {round}: {writer}/{transaction} is there by half");
            }
            // A transaction may be committed although it was not acknowledged.
            next[writer as usize] = found.keys().last().copied().unwrap_or(0) + 1;
        }
        assert_eq!(client.rows("CHECK TABLE crash.t")[0][3].as_deref(), Some("OK"), "round {round}");
        drop(client);
        assert!(server.terminate());
    }
    let total: u64 = acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).sum();
    assert!(total > 0, "some transactions were committed");
}

/// Each statement that is killed, a query, and its result before and after the statement: the number of rows, or the
/// rows of the answer.
const BUILDS: [(&str, &str, [u64; 2]); 5] = [
    (
        "INSERT INTO crash.filled SELECT n, (n * 7919) % 1000, REPEAT('x', 50) FROM crash.numbers",
        "SELECT COUNT(*) FROM crash.filled FORCE INDEX (k) WHERE k >= 0",
        [0, ROWS],
    ),
    (
        "ALTER TABLE crash.filled ADD KEY ka (k, a), ADD UNIQUE an (a, n), ADD KEY a (a(9))",
        "SHOW INDEX FROM crash.filled",
        [2, 7],
    ),
    ("ALTER TABLE crash.filled ENGINE = MyISAM", HEAPS, [0, 1]),
    ("ALTER TABLE crash.filled ENGINE = InnoDB", HEAPS, [1, 0]),
    ("TRUNCATE crash.filled", "SELECT COUNT(*) FROM crash.filled", [ROWS, 0]),
];
const ROWS: u64 = 30_000;
const HEAPS: &str =
    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'filled' AND ENGINE = 'MyISAM'";

#[test]
fn kill_during_loads_and_builds_leaves_all_of_them_or_nothing() {
    let scale: u64 = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE crash");
    client.run("CREATE TABLE crash.numbers (n INT PRIMARY KEY)");
    client.run("SET cte_max_recursion_depth = 100000");
    client.run(&format!(
        "INSERT INTO crash.numbers WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {ROWS}) SELECT n FROM c"
    ));
    client.run("CREATE TABLE crash.filled (n INT PRIMARY KEY, k INT, a VARCHAR(60), KEY (k))");
    drop(client);
    let mut killed = 0;
    for round in 0..scale {
        for (statement, question, states) in BUILDS {
            // Killed after longer and longer times, until the statement finishes first.
            for attempt in 0.. {
                let mut client = server.connect();
                client.run("SET innodb_ddl_buffer_size = 262144");
                let thread = std::thread::spawn(move || match client.query(statement) {
                    Ok(Answer::Error(code, message)) => panic!("{statement}: ERROR {code}: {message}"),
                    answer => answer.is_ok(),
                });
                std::thread::sleep(Duration::from_millis((9 + 4 * (round % 4)) << u64::min(attempt, 11)));
                server.kill();
                let acknowledged = thread.join().expect("a client");
                server = TestServer::start(directory.path(), &[]);
                let mut client = server.connect();
                let rows = client.rows(question);
                let found = if rows[0].len() == 1 { number(&rows[0][0]) } else { rows.len() as u64 };
                assert!(states.contains(&found), "{statement}: {found}");
                assert!(!acknowledged || found == states[1], "{statement}: was acknowledged");
                assert_eq!(
                    client.rows("CHECK TABLE crash.filled")[0][3].as_deref(),
                    Some("OK"),
                    "{statement}"
                );
                if found == states[1] {
                    break;
                }
                killed += 1;
            }
        }
        let mut client = server.connect();
        client.run("ALTER TABLE crash.filled DROP KEY ka, DROP KEY an, DROP KEY a");
    }
    assert!(killed > 0, "nothing was killed before it was done");
    assert!(server.terminate());
}

#[test]
fn a_server_whose_directory_vanishes_says_so_and_ends() {
    let parent = tempfile::tempdir().expect("a directory");
    let directory = parent.path().join("db");
    let server = TestServer::start(&directory, &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE crash");
    client.run("CREATE TABLE crash.t (a INT PRIMARY KEY)");
    std::fs::remove_dir_all(&directory).expect("it is removed");
    let line = server.wait_for_line("is gone");
    assert!(line.contains(&directory.display().to_string()), "{line}");
    assert!(!server.ended(), "that is a failure");
}
