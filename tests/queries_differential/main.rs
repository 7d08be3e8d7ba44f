//! Compares random queries with MariaDB: the same rows, in the same order if the query determines one, or the same
//! error number.
//!
//! The tests need a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the database
//! `leafline_queries` is made anew). Without one they pass without a comparison. `LEAFLINE_SEED` and `LEAFLINE_CASES`
//! choose the queries; the seed is printed. MariaDB runs without merging of derived tables and materialization of
//! subqueries. Queries that it is known to answer wrongly are not generated (`generate::NOT_ASKED`), and listed in
//! `docs/compat/mariadb.md`.

mod generate;
mod mixed;

#[path = "../support/mariadb_page.rs"]
mod mariadb_page;

#[path = "../support/client.rs"]
#[expect(dead_code, reason = "not all of the client is needed")]
mod client;

use client::{Answer, Client};
use generate::Generator;
use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::TextColumns;
use mixed::Mixed;
use std::sync::Arc;

/// The number of queries over the same rows.
const QUERIES_PER_FILL: u64 = 25;

/// A duplicate key, which no query can have.
const DUPLICATE: u16 = 1062;

type Row = Vec<Option<String>>;

/// The answer to a statement: rows, or an error number.
type Given = Result<Vec<Row>, u16>;

fn leafline(session: &mut Session, sql: &str) -> Given {
    let rows = (|| {
        let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
        let types = stream.types();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch(session)? {
            let columns = TextColumns::new(&batch, &types);
            for row in 0..batch.rows {
                let value = |column: usize| {
                    let mut text = Vec::new();
                    columns
                        .append(row, column, &mut text)
                        .then(|| String::from_utf8_lossy(&text).into_owned())
                };
                rows.push((0..types.len()).map(value).collect());
            }
        }
        Ok::<_, leafline_types::MysqlError>(rows)
    })();
    rows.map_err(|error| error.code)
}

fn mariadb(client: &mut Client, sql: &str) -> Given {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => Ok(rows),
        Ok(Answer::Done(_)) => Ok(Vec::new()),
        Ok(Answer::Error(code, _)) => Err(code),
        Ok(Answer::WantsFile(path)) => panic!("{sql}: {path}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Returns the answer with numbers normalized: how many trailing zeros a DECIMAL shows is compared elsewhere.
fn comparable(given: Given, ordered: bool) -> Given {
    let plain = |text: String| match text.parse::<f64>() {
        Ok(number) => format!("{:.6}", number + 0.0),
        Err(_) => text,
    };
    let mut rows: Vec<Row> =
        given?.into_iter().map(|row| row.into_iter().map(|value| value.map(plain)).collect()).collect();
    if !ordered {
        rows.sort();
    }
    Ok(rows)
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a test with a session here and a client of MariaDB, both in a new database; does nothing without MariaDB.
fn beside_mariadb(database: &str, test: impl FnOnce(&mut Session, &mut Client)) {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let mut client = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    let directory = tempfile::tempdir().expect("a directory");
    let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
    let instance = Instance::open(env, InstanceOptions::default()).expect("a database");
    let mut session = instance.connect().expect("a session");
    for sql in [
        format!("DROP DATABASE IF EXISTS {database}"),
        format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        format!("USE {database}"),
        "SET sql_mode = 'STRICT_TRANS_TABLES'".to_owned(),
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin".to_owned(),
    ] {
        leafline(&mut session, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
        mariadb(&mut client, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
    }
    test(&mut session, &mut client);
    drop(session);
    instance.close().expect("a clean end");
}

/// Panics if answers differ, and shows some of them.
fn none_differ(differences: &[String], (cases, seed): (u64, u64)) {
    differences.iter().take(number("LEAFLINE_SHOWN", 3) as usize).for_each(|text| println!("{text}"));
    assert_eq!(differences.len(), 0, "of {cases} queries with seed {seed} {} differ", differences.len());
}

#[test]
fn queries_give_what_mariadb_gives() {
    beside_mariadb("leafline_queries", random_queries);
}

fn random_queries(session: &mut Session, client: &mut Client) {
    mariadb(client, "SET optimizer_switch = 'derived_merge=off,materialization=off'").expect("a switch");
    let seed = number("LEAFLINE_SEED", std::process::id().into());
    let cases = number("LEAFLINE_CASES", 2_000);
    println!("seed {seed}, {cases} queries");
    let mut generator = Generator::new(seed);
    let (mut differences, mut errors) = (Vec::new(), 0);
    for case in 0..cases {
        if case % QUERIES_PER_FILL == 0 {
            for sql in generator.tables() {
                leafline(session, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
                mariadb(client, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
            }
        }
        let query = generator.query();
        let theirs = comparable(mariadb(client, &query.sql), query.ordered);
        let ours = comparable(leafline(session, &query.sql), query.ordered);
        errors += u64::from(ours.is_err());
        if ours != theirs && theirs != Err(DUPLICATE) {
            differences.push(format!("query {case}: {}\n    {ours:?}\n    {theirs:?}", query.sql));
        }
    }
    println!("{errors} errors");
    none_differ(&differences, (cases, seed));
}

#[test]
fn comparisons_of_mixed_types_give_what_mariadb_gives() {
    beside_mariadb("leafline_mixed", mixed_comparisons);
}

fn mixed_comparisons(session: &mut Session, client: &mut Client) {
    let (seed, cases) = (number("LEAFLINE_SEED", std::process::id().into()), number("LEAFLINE_CASES", 2_000));
    println!("seed {seed}, {cases} queries");
    let mut mixed = Mixed::new(seed);
    let mut differences = Vec::new();
    for case in 0..cases {
        if case % 500 == 0 {
            for sql in Mixed::tables(true) {
                leafline(session, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
            }
            for sql in Mixed::tables(false) {
                mariadb(client, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
            }
            for sql in [mixed.rows("m1", 300), mixed.rows("m2", 20)] {
                leafline(session, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
                mariadb(client, &sql).unwrap_or_else(|code| panic!("{sql}: error {code}"));
            }
        }
        let sql = mixed.query();
        let (mut ours, mut theirs) = (leafline(session, &sql), mariadb(client, &sql));
        [&mut ours, &mut theirs].into_iter().flatten().for_each(|rows| rows.sort());
        if ours != theirs {
            differences.push(format!("query {case}: {sql}\n    {ours:?}\n    {theirs:?}"));
        }
    }
    none_differ(&differences, (cases, seed));
}

#[test]
fn the_page_about_mariadb_lists_what_is_not_asked() {
    assert_eq!(mariadb_page::items("Which queries does MariaDB answer wrongly?"), generate::NOT_ASKED);
}
