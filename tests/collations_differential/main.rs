//! Compares random statements about text with MariaDB: rows and error numbers must be the same.
//!
//! | module     | generates statements                                                                                     |
//! |------------|----------------------------------------------------------------------------------------------------------|
//! | `generate` | that compare texts: columns of several collations, COLLATE, literals and numbers, wherever texts are compared |
//! | `charsets` | about text of every character set: bytes, conversions, lengths, places, case, order                      |
//!
//! The tests need a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the databases
//! `leafline_collations` and `leafline_charsets` are made anew). Without one they pass without a comparison.
//! `LEAFLINE_SEED` and `LEAFLINE_CASES` choose the statements; the seed is printed. `is_known` of each module lists
//! expected differences; others are not generated.

mod charsets;
mod generate;

#[path = "../support/client.rs"]
#[expect(dead_code, reason = "not all of the client is needed")]
mod client;

use client::{Answer, Client};
use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::TextColumns;
use std::sync::Arc;

/// Sorted rows, or an error number.
type Given = Result<Vec<Vec<Option<String>>>, u16>;

fn leafline(session: &mut Session, sql: &str) -> Given {
    let rows = (|| {
        let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
        let types = stream.types();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch(session)? {
            let columns = TextColumns::new(&batch, &types);
            for row in 0..batch.rows {
                let value = |column| {
                    let mut text = Vec::new();
                    let there = columns.append(row, column, &mut text);
                    there.then(|| String::from_utf8_lossy(&text).into_owned())
                };
                rows.push((0..types.len()).map(value).collect::<Vec<_>>());
            }
        }
        Ok::<_, leafline_types::MysqlError>(rows)
    })();
    let mut rows = rows.map_err(|error| error.code)?;
    rows.sort();
    Ok(rows)
}

fn mariadb(client: &mut Client, sql: &str) -> Given {
    match client.query(sql) {
        Ok(Answer::Rows(mut rows)) => {
            rows.sort();
            Ok(rows)
        }
        Ok(Answer::Done(_)) => Ok(Vec::new()),
        Ok(Answer::Error(code, _)) => Err(code),
        Ok(Answer::WantsFile(path)) => panic!("{path} is wanted"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Whether a difference between two answers, or between two error numbers, is expected.
type IsKnown = fn(&str, Option<&u16>, Option<&u16>) -> bool;

/// Runs statements on both servers.
fn compare(setup: Vec<String>, mut statement: impl FnMut() -> String, (seed, is_known): (u64, IsKnown)) {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let mut client = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    let directory = tempfile::tempdir().expect("a directory");
    let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
    let instance = Instance::open(env, InstanceOptions::default()).expect("a database");
    let mut session = instance.connect().expect("a session");
    for sql in setup {
        assert_eq!(leafline(&mut session, &sql).err(), None, "{sql}");
        assert_eq!(mariadb(&mut client, &sql).err(), None, "{sql}");
    }
    let cases = number("LEAFLINE_CASES", 2_000);
    println!("seed {seed}, {cases} statements");
    let mut differences = Vec::new();
    for _ in 0..cases {
        let sql = statement();
        let theirs = mariadb(&mut client, &sql);
        let ours = leafline(&mut session, &sql);
        if ours != theirs && !is_known(&sql, ours.as_ref().err(), theirs.as_ref().err()) {
            differences.push(format!("{sql}\n    {ours:?}\n    {theirs:?}"));
        }
    }
    for difference in differences.iter().take(number("LEAFLINE_SHOWN", 10) as usize) {
        println!("{difference}");
    }
    drop(session);
    instance.close().expect("a clean end");
    assert_eq!(differences.len(), 0, "of {cases} statements with seed {seed}");
}

fn seed() -> u64 {
    number("LEAFLINE_SEED", std::process::id().into())
}

#[test]
fn texts_are_compared_as_mariadb_compares_them() {
    let mut generator = generate::Generator::new(seed());
    compare(generate::setup(), || generator.statement(), (seed(), generate::is_known));
}

#[test]
fn text_of_every_character_set_equals_mariadbs() {
    let mut generator = charsets::Generator::new(seed());
    compare(charsets::setup(), || generator.statement(), (seed(), charsets::is_known));
}
