//! Compares random calls of functions with MariaDB: values and error numbers must be the same. A difference is shown
//! with its warnings, but warnings are not compared, because MariaDB's differ from MySQL's.
//!
//! The test needs a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the database
//! `leafline_functions` is made anew). Without one it passes without a comparison. `LEAFLINE_SEED` and
//! `LEAFLINE_CASES` choose the calls; the seed is printed. `expected` and `docs/compat/mariadb.md` list expected differences.

mod expected;
mod generate;

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
use std::collections::BTreeMap;
use std::sync::Arc;

/// The answer to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    /// The value of its only row and column, if it is text, and the numbers of warnings.
    Value(Option<String>, Vec<u16>),
    Error(u16),
}

fn printable(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn leafline(session: &mut Session, sql: &str) -> Given {
    let value = (|| {
        let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(None) };
        let types = stream.types();
        let mut value = None;
        while let Some(batch) = stream.next_batch(session)? {
            let mut text = Vec::new();
            if batch.rows > 0 && TextColumns::new(&batch, &types).append(0, 0, &mut text) {
                value = Some(printable(text));
            }
        }
        Ok::<_, leafline_types::MysqlError>(value)
    })();
    match value {
        Ok(value) => Given::Value(value, session.warnings().iter().map(|w| w.code).collect()),
        Err(error) => Given::Error(error.code),
    }
}

fn mariadb(client: &mut Client, sql: &str) -> Given {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => {
            let value = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
            let warnings = match client.query("SHOW WARNINGS") {
                Ok(Answer::Rows(rows)) => rows
                    .iter()
                    .filter_map(|row| row.get(1).cloned().flatten().and_then(|code| code.parse().ok()))
                    .collect(),
                _ => Vec::new(),
            };
            Given::Value(value, warnings)
        }
        Ok(Answer::Done(_)) => Given::Value(None, Vec::new()),
        Ok(Answer::Error(code, _)) => Given::Error(code),
        Ok(Answer::WantsFile(path)) => panic!("{path} is wanted"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Whether two answers agree, as far as they should.
fn agree(ours: &Given, theirs: &Given) -> bool {
    match (ours, theirs) {
        (Given::Error(a), Given::Error(b)) => a == b,
        (Given::Value(a, _), Given::Value(b, _)) => {
            a == b || expected::same_value(a.as_deref(), b.as_deref())
        }
        _ => false,
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn functions_give_what_mariadb_gives() {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let mut client = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    let directory = tempfile::tempdir().expect("a directory");
    let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
    let Given::Value(Some(packet), _) = mariadb(&mut client, "SELECT @@max_allowed_packet") else {
        panic!("max_allowed_packet is not known");
    };
    let variables = vec![("max_allowed_packet".to_owned(), packet)];
    let instance =
        Instance::open(env, InstanceOptions { variables, ..InstanceOptions::default() }).expect("a database");
    let mut session = instance.connect().expect("a session");
    for sql in generate::setup() {
        leafline(&mut session, &sql.replace("utf8mb4_nopad_bin", "utf8mb4_0900_bin"));
        if let Given::Error(code) =
            mariadb(&mut client, &sql.replace("utf8mb4_0900_bin", "utf8mb4_nopad_bin"))
        {
            panic!("{sql}: error {code}");
        }
    }
    let seed = number("LEAFLINE_SEED", std::process::id().into());
    let cases = number("LEAFLINE_CASES", 2_000);
    println!("seed {seed}, {cases} calls");
    let only = std::env::var("LEAFLINE_FUNCTION").ok();
    let mut generator = Generator::new(seed, only.as_deref());
    let mut differences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut compared = 0;
    while compared < cases {
        let (function, sql) = generator.statement();
        let theirs = mariadb(&mut client, &sql.replace("utf8mb4_0900_bin", "utf8mb4_nopad_bin"));
        let ours = leafline(&mut session, &sql);
        compared += 1;
        if !agree(&ours, &theirs) && !expected::differs(function, &ours, &theirs, &sql) {
            differences.entry(function).or_default().push(format!("{sql}\n    {ours:?}\n    {theirs:?}"));
        }
    }
    let total: usize = differences.values().map(Vec::len).sum();
    for (function, found) in &differences {
        println!("{function}: {}", found.len());
        found.iter().take(number("LEAFLINE_SHOWN", 3) as usize).for_each(|text| println!("  {text}"));
    }
    drop(session);
    instance.close().expect("a clean end");
    assert_eq!(total, 0, "of {compared} calls with seed {seed} {total} differ");
}

#[test]
fn the_page_about_mariadb_lists_the_expected_differences() {
    assert_eq!(mariadb_page::items("Which functions answer differently?"), expected::documented());
}
