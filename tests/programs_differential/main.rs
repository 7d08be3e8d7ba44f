//! Compares random stored programs with MariaDB: each statement gives the same results, or the same error number, and the
//! tables and the diagnostics are the same afterwards.
//!
//! The test needs a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the database
//! `leafline_programs` is made anew). Without one it passes without a comparison. `LEAFLINE_SEED` and `LEAFLINE_CASES`
//! choose the programs; the seed of the first is printed, and each case has the next seed, so that
//! `LEAFLINE_SEED=.. LEAFLINE_CASES=1` runs one again and shows its programs. [`generate::NOT_GENERATED`] and
//! [`NOT_COMPARED`] list what is left out; `docs/compat/mariadb.md` has the same lists.

mod generate;
mod statements;

#[path = "../support/mariadb_page.rs"]
mod mariadb_page;

#[path = "../support/mod.rs"]
mod support;

use generate::{Generator, STACKED, TABLES};
use leafline_protocol::client::{Answer, ClientError};
use leafline_protocol::{command, status};
use leafline_types::MysqlError;
use support::TestServer;
use support::client::Client;

const DATABASE: &str = "leafline_programs";

/// Parts of answers that are not compared.
const NOT_COMPARED: &[&str] = &[
    "SHOW WARNINGS but for the error that ended a CALL: in Leafline, as in MySQL 8, functions and triggers have lists of conditions of their own, and their conditions come behind the others; in MariaDB their statements clear the one list.",
];

/// MariaDB's error for a statement that took longer than `max_statement_time`.
const TOO_LONG: u16 = 1969;

/// The statements of each case, behind those that create tables and programs.
const RUN: &[&str] = &[
    "CALL p0(@p, @q, 2)",
    "SHOW WARNINGS",
    "SELECT @p, @q, @u, @o, @e, @s",
    "ROLLBACK",
    "CALL p0(@p, @q, 0)",
    "SHOW WARNINGS",
    "SELECT @p, @q, @u, @o, @e, @s",
    "COMMIT",
    "SELECT f(id, a), g(a, id) FROM t1 ORDER BY id",
    "SELECT * FROM t1",
    "SELECT * FROM t2 ORDER BY id",
    "SELECT * FROM t3 ORDER BY id",
    "SELECT what FROM log ORDER BY n",
    "UPDATE t1 SET a = f(id, 5) WHERE id < 3",
    "INSERT INTO t1 SELECT id + 20, g(id, a), b FROM t1 ORDER BY id",
    "UPDATE t2 SET a = a + 1 WHERE f(id, a) > 2",
    "DELETE FROM t1 WHERE id > 1",
    "INSERT INTO t3 VALUES (30, 1), (31, 2), (1, 3) ON DUPLICATE KEY UPDATE a = a + 5",
    "REPLACE INTO t3 VALUES (1, 2), (40, 7)",
    "SELECT id FROM t2 ORDER BY g(a, 1), id",
    "SELECT f(a, 2), COUNT(*) FROM t2 GROUP BY 1 ORDER BY 1",
    "SELECT * FROM t1",
    "SELECT * FROM t2 ORDER BY id",
    "SELECT * FROM t3 ORDER BY id",
    "SELECT what FROM log ORDER BY n",
];

/// One result of a statement.
#[derive(Debug, PartialEq)]
enum Part {
    Done,
    Rows(Vec<Vec<Option<String>>>),
    /// The number, and the message of a condition that a program signals.
    Error(u16, String),
}

fn failed(error: MysqlError) -> Part {
    let is_signalled = (1642..=1644).contains(&error.code) || error.code >= 5000;
    Part::Error(error.code, if is_signalled { error.message } else { String::new() })
}

/// Runs a statement; returns all its results.
fn run(client: &mut Client, sql: &str) -> Vec<Part> {
    client.send(command::QUERY, sql.as_bytes()).expect("sent");
    let mut parts = Vec::new();
    loop {
        let (part, status) = match client.inner().answer() {
            Ok(Answer::Done(done)) => (Part::Done, done.status),
            Ok(Answer::Rows(mut answer)) => {
                let (mut places, mut all) = (Vec::new(), Vec::new());
                let end = loop {
                    match answer.next(&mut places) {
                        Ok(true) => {
                            let bytes = answer.bytes();
                            let text = |place| String::from_utf8_lossy(&bytes[place]).into_owned();
                            all.push(places.iter().cloned().map(|place| place.map(text)).collect());
                        }
                        Ok(false) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                match end {
                    Ok(()) => (Part::Rows(all), answer.status()),
                    Err(ClientError::Server(error)) => (failed(error), 0),
                    Err(error) => panic!("{sql}: {error}"),
                }
            }
            Ok(Answer::WantsFile(path)) => panic!("{sql}: {path}"),
            Err(ClientError::Server(error)) => (failed(error), 0),
            Err(error) => panic!("{sql}: {error}"),
        };
        parts.push(part);
        if status & status::MORE_RESULTS == 0 {
            return parts;
        }
    }
}

/// Keeps the number of the last condition of SHOW WARNINGS.
fn last_error(parts: Vec<Part>) -> Option<String> {
    let Some(Part::Rows(rows)) = parts.into_iter().next() else { return None };
    let number = |row: Vec<Option<String>>| row.into_iter().nth(1).flatten();
    rows.into_iter().next_back().and_then(number)
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The statements that empty the database, and those that set the session.
fn beginning() -> Vec<String> {
    [
        &format!("DROP DATABASE IF EXISTS {DATABASE}"),
        &format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        &format!("USE {DATABASE}"),
        // MariaDB adds a note about the line of a program to each error.
        "SET sql_notes = 0, autocommit = 1, max_sp_recursion_depth = 4, sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
        "SET @p = 3, @q = NULL, @u = NULL, @o = NULL, @e = NULL, @s = NULL, @w = NULL",
    ]
    .into_iter()
    .chain(TABLES.iter().copied())
    .map(str::to_owned)
    .collect()
}

/// Runs one case; returns the first difference, and whether MariaDB ended it in time.
fn differs(ours: &mut Client, theirs: &mut Client, seed: u64) -> (Option<String>, bool) {
    for sql in beginning() {
        for client in [&mut *ours, &mut *theirs] {
            assert_eq!(run(client, &sql), [Part::Done], "{sql}");
        }
    }
    let programs = Generator::new(seed).programs();
    let (shown, mut failed) = (programs.join("\n    "), false);
    for sql in programs.iter().map(String::as_str).chain(RUN.iter().copied()) {
        let wanted = run(theirs, &sql.replace(STACKED, ""));
        if wanted.iter().any(|part| matches!(part, Part::Error(TOO_LONG, _))) {
            return (None, false);
        }
        let found = run(ours, &sql.replace(STACKED, "STACKED"));
        if sql == "SHOW WARNINGS" {
            let (found, wanted) = (last_error(found), last_error(wanted));
            if failed && found != wanted {
                return (Some(format!("seed {seed}: {sql}: {found:?}, {wanted:?}\n    {shown}")), true);
            }
            continue;
        }
        failed = matches!(found.last(), Some(Part::Error(..)));
        if found != wanted {
            let text = format!("seed {seed}: {sql}\n  ours   {found:?}\n  theirs {wanted:?}\n    {shown}");
            return (Some(text), true);
        }
    }
    (None, true)
}

#[test]
fn programs_do_what_they_do_in_mariadb() {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let mut theirs = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    run(&mut theirs, "SET max_statement_time = 10");
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "innodb_flush_log_at_trx_commit=0"]);
    let mut ours = server.connect();
    for client in [&mut ours, &mut theirs] {
        assert_eq!(run(client, "SET NAMES utf8mb4 COLLATE utf8mb4_bin"), [Part::Done]);
    }
    let (seed, cases) = (number("LEAFLINE_SEED", std::process::id().into()), number("LEAFLINE_CASES", 300));
    println!("seed {seed}, {cases} cases");
    let (mut differences, mut slow) = (Vec::new(), 0);
    for seed in seed..seed + cases {
        let (difference, ended) = differs(&mut ours, &mut theirs, seed);
        differences.extend(difference);
        slow += usize::from(!ended);
    }
    println!("{slow} took too long");
    assert!(server.terminate());
    differences.iter().take(number("LEAFLINE_SHOWN", 3) as usize).for_each(|text| println!("{text}"));
    assert_eq!(differences.len(), 0, "of {cases} cases from seed {seed} {} differ", differences.len());
}

#[test]
fn the_page_about_mariadb_lists_what_is_left_out() {
    assert_eq!(
        mariadb_page::items("Which stored programs are not compared?"),
        [generate::NOT_GENERATED, NOT_COMPARED].concat()
    );
}
