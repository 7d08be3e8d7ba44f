//! Compares random stored programs with MariaDB: each statement gives the same results, or the same error number, and the
//! tables and the diagnostics are the same afterwards.
//!
//! The test needs a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the database
//! `leafline_programs` is made anew). Without one it passes without a comparison. `LEAFLINE_SEED` and `LEAFLINE_CASES`
//! choose the programs; the seed of the first is printed, and each case has the next seed, so that
//! `LEAFLINE_SEED=.. LEAFLINE_CASES=1` runs one again and shows its programs. A statement runs in both servers at a time.
//! LOAD DATA reads a file of the test's, so MariaDB needs `--secure-file-priv=` and
//! the same file system, and `--innodb-autoinc-lock-mode=0`, so that it leaves out no numbers. [`generate::NOT_GENERATED`] and
//! [`NOT_COMPARED`] list what is left out; `docs/compat/mariadb.md` has the same lists.

mod changes;
mod generate;
mod handlers;
mod statements;
mod triggers;

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
    "Zeros behind the point of a DECIMAL: MariaDB leaves them out where it assigns a computed one to a variable.",
    "SHOW WARNINGS but for the error that ended a CALL: in Leafline, as in MySQL 8, functions have lists of conditions of their own, and their conditions come behind the others; in MariaDB their statements clear the one list.",
];

const UNKNOWN: u16 = 1105;

/// MariaDB's error for a statement that took longer than `max_statement_time`.
const TOO_LONG: u16 = 1969;

/// Errors that are the same refusal: of a CHECK constraint.
const SAME: &[(u16, u16)] = &[(4025, 3819)];

/// Rows that LOAD DATA reads: some have keys that are there.
const LOADED: &str = "1\t50\n9\t7\n10\t\\N\n2\t51\n";

/// The statements of each case behind those that create tables and programs. `FILE` stands for the file that LOAD DATA reads.
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
    "LOAD DATA INFILE 'FILE' REPLACE INTO TABLE t2",
    "LOAD DATA INFILE 'FILE' IGNORE INTO TABLE t3 (id, @a) SET a = @a + 1",
    "LOAD DATA INFILE 'FILE' INTO TABLE t4 (@a, a)",
];

/// The queries that show the state at the end of a case.
const STATE: &[&str] = &[
    "SELECT * FROM t1 ORDER BY id",
    "SELECT * FROM t2 ORDER BY id",
    "SELECT * FROM t3 ORDER BY id",
    "SELECT * FROM t4 ORDER BY id",
    "SELECT * FROM c1 ORDER BY id",
    "SELECT * FROM c2 ORDER BY id",
    "SELECT * FROM calls ORDER BY n",
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

/// Whether MariaDB has ended the statement.
fn is_too_long(part: &Part) -> bool {
    matches!(part, Part::Error(TOO_LONG, _))
}

/// Returns MySQL's number for an error of MariaDB's.
fn same(code: u16) -> u16 {
    SAME.iter().find(|(theirs, _)| *theirs == code).map_or(code, |(_, ours)| *ours)
}

fn failed(error: MysqlError) -> Part {
    let is_signalled = (1642..=1644).contains(&error.code) || error.code >= 5000;
    let code = same(error.code);
    // MariaDB names the key without its table.
    let message = error.message.replace("for key 't1.", "for key '").replace("for key 't2.", "for key '");
    let message = message.replace("for key 't3.", "for key '").replace("for key 't4.", "for key '");
    Part::Error(code, if is_signalled { message } else { String::new() })
}

/// Runs a statement; returns all its results.
fn run(client: &mut Client, sql: &str) -> Vec<Part> {
    client.send(command::QUERY, sql.as_bytes()).expect("sent");
    received(client, sql)
}

/// Reads all results of the statement that was sent.
fn received(client: &mut Client, sql: &str) -> Vec<Part> {
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
                            let text = |place| String::from_utf8_lossy(&bytes[place]).replace(".00", "");
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

/// Keeps the number of the last condition of SHOW WARNINGS, but for one that MariaDB adds to 1048.
fn last_error(parts: Vec<Part>) -> Option<u16> {
    let Some(Part::Rows(rows)) = parts.into_iter().next() else { return None };
    let number = |row: Vec<Option<String>>| row.into_iter().nth(1)??.parse().ok().map(same);
    rows.into_iter().rev().filter_map(number).find(|number| *number != UNKNOWN)
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The statements that empty the database, and those that set the session, as one text.
fn beginning() -> String {
    [
        &format!("DROP DATABASE IF EXISTS {DATABASE}"),
        &format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        &format!("USE {DATABASE}"),
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        // MariaDB adds a note about the line of a program to each error.
        "SET sql_notes = 0, autocommit = 1, max_sp_recursion_depth = 4, sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
        "SET @p = 3, @q = NULL, @u = NULL, @o = NULL, @e = NULL, @s = NULL, @w = NULL",
    ]
    .into_iter()
    .chain(TABLES.iter().copied())
    .collect::<Vec<_>>()
    .join(";")
}

/// Both servers.
struct Pair {
    ours: Client,
    /// The number of our connection, and another that may end its statement.
    id: String,
    admin: Client,
    theirs: Client,
    /// The file that LOAD DATA reads.
    file: String,
}

impl Pair {
    /// Begins a case in sessions that know nothing of the one before.
    fn begin(&mut self) {
        for client in [&mut self.ours, &mut self.theirs] {
            client.send(command::RESET_CONNECTION, &[]).expect("sent");
            assert_eq!(received(client, "reset"), [Part::Done]);
        }
        run(&mut self.theirs, "SET max_statement_time = 4");
        let sql = beginning();
        for client in [&mut self.ours, &mut self.theirs] {
            let parts = run(client, &sql);
            assert!(parts.iter().all(|part| *part == Part::Done), "{sql}: {parts:?}");
        }
    }

    /// Runs a statement in both; returns our results and theirs.
    fn run(&mut self, sql: &str) -> (Vec<Part>, Vec<Part>) {
        let sql = sql.replace("FILE", &self.file);
        let (ours, theirs) = (sql.replace(STACKED, "STACKED"), sql.replace(STACKED, ""));
        self.theirs.send(command::QUERY, theirs.as_bytes()).expect("sent");
        self.ours.send(command::QUERY, ours.as_bytes()).expect("sent");
        let wanted = received(&mut self.theirs, &theirs);
        if wanted.iter().any(is_too_long) {
            self.admin.run(&format!("KILL QUERY {}", self.id));
        }
        (received(&mut self.ours, &ours), wanted)
    }

    /// Runs one case; returns the first difference, and whether MariaDB ended it in time.
    fn differs(&mut self, seed: u64) -> (Option<String>, bool) {
        self.begin();
        let mut generator = Generator::new(seed);
        let (programs, more) = (generator.programs(), generator.statements());
        let shown = programs.join("\n    ");
        let (run, state) = (RUN.iter().copied(), STATE.iter().copied());
        let all = programs
            .iter()
            .map(String::as_str)
            .chain(run)
            .chain(more.iter().map(String::as_str))
            .chain(state);
        let (mut failed, mut done) = (false, Vec::new());
        for sql in all {
            done.push(sql);
            if sql == "SELECT LAST_INSERT_ID()" && failed {
                continue;
            }
            let (found, wanted) = self.run(sql);
            if wanted.iter().any(is_too_long) {
                return (None, false);
            }
            if sql == "SHOW WARNINGS" {
                let (found, wanted) = (last_error(found), last_error(wanted));
                if failed && found != wanted {
                    return (Some(format!("seed {seed}: {sql}: {found:?}, {wanted:?}\n    {shown}")), true);
                }
                continue;
            }
            failed = matches!(found.last(), Some(Part::Error(..)));
            if found != wanted {
                let before = done[programs.len().min(done.len() - 1)..].join("\n      ");
                let text = format!(
                    "seed {seed}: {sql}\n  ours   {found:?}\n  theirs {wanted:?}\n    {shown}\n      {before}"
                );
                return (Some(text), true);
            }
        }
        (None, true)
    }
}

#[test]
fn programs_do_what_they_do_in_mariadb() {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let theirs = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("loaded");
    std::fs::write(&file, LOADED).expect("the file is written");
    let options = ["--set", "innodb_flush_log_at_trx_commit=0", "--set", "secure_file_priv="];
    let server = TestServer::start(&directory.path().join("data"), &options);
    let mut ours = server.connect();
    let id = ours.rows("SELECT CONNECTION_ID()").swap_remove(0).swap_remove(0).expect("a number");
    let mut pair = Pair { ours, id, admin: server.connect(), theirs, file: file.display().to_string() };
    let (seed, cases) = (number("LEAFLINE_SEED", std::process::id().into()), number("LEAFLINE_CASES", 300));
    println!("seed {seed}, {cases} cases");
    let (mut differences, mut slow) = (0, 0);
    for seed in seed..seed + cases {
        let (difference, ended) = pair.differs(seed);
        if let Some(text) = difference {
            differences += 1;
            if differences <= number("LEAFLINE_SHOWN", 3) {
                println!("{text}");
            }
        }
        slow += usize::from(!ended);
    }
    println!("{slow} took too long");
    assert!(server.terminate());
    assert_eq!(differences, 0, "of {cases} cases from seed {seed} {differences} differ");
}

#[test]
fn the_page_about_mariadb_lists_what_is_left_out() {
    assert_eq!(
        mariadb_page::items("Which stored programs are not compared?"),
        [generate::NOT_GENERATED, NOT_COMPARED].concat()
    );
}
