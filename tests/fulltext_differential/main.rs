//! Compares scores of random searches with MariaDB's: the rows that are found and six digits of each score.
//!
//! The test needs a MariaDB server: `LEAFLINE_MARIADB=127.0.0.1:3306` (user `root`, no password; the database
//! `leafline_fulltext` is made anew). Without one it passes without a comparison. `LEAFLINE_SEED` and `LEAFLINE_CASES` choose
//! the searches; the seed is printed.
//!
//! InnoDB takes the number of documents from its statistics, so the table is small and analyzed, and the test checks that they
//! agree. Rows are committed first and none is deleted. Where several words of a document begin as `word*` says, one of them
//! counts in InnoDB, whichever comes first; such scores are compared by whether they are 0.

#[path = "../support/client.rs"]
#[expect(dead_code, reason = "not all of the client is needed")]
mod client;

use client::{Answer, Client};
use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::TextColumns;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// The number of documents: few enough for exact statistics in MariaDB.
const DOCUMENTS: usize = 200;

/// The words of documents and searches: common and rare ones, stopwords, short ones, words with the same beginning.
const WORDS: &[&str] = &[
    "apple",
    "apple",
    "apple",
    "banana",
    "band",
    "bandage",
    "cherry",
    "the",
    "of",
    "an",
    "ox",
    "database",
    "data",
    "datum",
    "index",
    "engine",
    "engine",
    "table",
    "tables",
    "query",
    "naïve",
    "naive",
    "Straße",
    "x1",
    "2026",
    "42",
    "under_score",
    "don't",
    "zebra",
    "quick",
    "brown",
    "fox",
];

/// The id and the score of each row, or an error number.
type Given = Result<Vec<(u32, f64)>, u16>;

fn scored(rows: Vec<Vec<Option<String>>>) -> Vec<(u32, f64)> {
    let number =
        |text: Option<&Option<String>>| text.and_then(|text| text.as_deref()).unwrap_or("0").to_owned();
    rows.iter()
        .map(|row| {
            let (id, score) = (number(row.first()), number(row.get(1)));
            (id.parse().expect("an id"), score.parse().expect("a score"))
        })
        .collect()
}

fn leafline(session: &mut Session, sql: &str) -> Given {
    let rows = (|| {
        let mut rows = Vec::new();
        let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(rows) };
        let types = stream.types();
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
    rows.map(scored).map_err(|error| error.code)
}

fn mariadb(client: &mut Client, sql: &str) -> Given {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => Ok(scored(rows)),
        Ok(Answer::Done(_)) => Ok(Vec::new()),
        Ok(Answer::Error(code, _)) => Err(code),
        Ok(Answer::WantsFile(path)) => panic!("{path} is wanted"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// A text of up to `most` words.
fn text(rng: &mut SmallRng, most: usize) -> String {
    let count = rng.random_range(0..=most);
    let words: Vec<&str> = (0..count).filter_map(|_| WORDS.choose(rng).copied()).collect();
    words.join(if rng.random_bool(0.1) { ", " } else { " " })
}

/// A query of boolean mode; some are wrong.
fn boolean(rng: &mut SmallRng, depth: usize) -> String {
    let mut out = String::new();
    for _ in 0..rng.random_range(1..=4) {
        out.push_str(["", "", "", "+", "+", "-", "~", "<", ">"].choose(rng).copied().unwrap_or(""));
        match rng.random_range(0..20) {
            0..=2 if depth < 3 => {
                out.push('(');
                out.push_str(&boolean(rng, depth + 1));
                out.push(')');
            }
            3..=5 => {
                out.push('"');
                out.push_str(&text(rng, 3));
                out.push('"');
                if rng.random_bool(0.3) {
                    out.push_str(&format!(" @{}", rng.random_range(1..8)));
                }
            }
            6 | 7 => {
                let word = WORDS.choose(rng).copied().unwrap_or("");
                out.extend(word.chars().take(rng.random_range(2..5)));
                out.push('*');
            }
            8 if rng.random_bool(0.2) => {
                out.push_str(["+", "@", ")", "* *"].choose(rng).copied().unwrap_or(""))
            }
            _ => out.push_str(WORDS.choose(rng).copied().unwrap_or("")),
        }
        out.push(' ');
    }
    out
}

fn search(rng: &mut SmallRng) -> String {
    let (words, mode) = match rng.random_range(0..10) {
        0..6 => (boolean(rng, 0), " IN BOOLEAN MODE"),
        6 => (text(rng, 2), " WITH QUERY EXPANSION"),
        7 => (format!("\"{}\" {}", text(rng, 2), text(rng, 2)), ""),
        _ => (text(rng, 4), ""),
    };
    let columns = ["a, b", "a, b", "b"].choose(rng).copied().unwrap_or("b");
    let words = words.replace('\'', "''");
    let score = format!("MATCH ({columns}) AGAINST ('{words}'{mode})");
    match rng.random_bool(0.3) {
        true => format!("SELECT id, {score} FROM t WHERE {score} ORDER BY id"),
        false => format!("SELECT id, {score} FROM t ORDER BY id"),
    }
}

/// Whether two answers are the same, to six digits of each score.
fn is_same(sql: &str, ours: &Given, theirs: &Given) -> bool {
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => return ours.as_ref().err() == theirs.as_ref().err(),
    };
    let near = |a: f64, b: f64| match sql.contains('*') {
        true => (a == 0.0) == (b == 0.0),
        false => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0),
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| ours.0 == theirs.0 && near(ours.1, theirs.1))
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn scores_are_those_of_innodb() {
    let Ok(address) = std::env::var("LEAFLINE_MARIADB") else {
        println!("LEAFLINE_MARIADB is not set: nothing to compare with");
        return;
    };
    let mut client = Client::connect(address.parse().expect("an address"), "root", "").expect("MariaDB");
    let directory = tempfile::tempdir().expect("a directory");
    let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
    let instance = Instance::open(env, InstanceOptions::default()).expect("a database");
    let mut session = instance.connect().expect("a session");
    let seed = number("LEAFLINE_SEED", std::process::id().into());
    let mut rng = SmallRng::seed_from_u64(seed);
    let row = |id: usize, rng: &mut SmallRng| {
        let value = |rng: &mut SmallRng| match rng.random_bool(0.1) {
            true => "NULL".to_owned(),
            false => format!("'{}'", text(rng, 12).replace('\'', "''")),
        };
        format!("({id}, {}, {})", value(rng), value(rng))
    };
    let rows: Vec<String> = (1..=DOCUMENTS).map(|id| row(id, &mut rng)).collect();
    for sql in [
        "DROP DATABASE IF EXISTS leafline_fulltext".to_owned(),
        "CREATE DATABASE leafline_fulltext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci".to_owned(),
        "USE leafline_fulltext".to_owned(),
        "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci".to_owned(),
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(500), b TEXT, FULLTEXT (a, b), FULLTEXT (b)) ENGINE=InnoDB"
            .to_owned(),
        format!("INSERT INTO t VALUES {}", rows.join(", ")),
    ] {
        assert_eq!(leafline(&mut session, &sql).err(), None, "{sql}");
        assert_eq!(mariadb(&mut client, &sql).err(), None, "{sql}");
    }
    // MariaDB's words go to its index, and its statistics count the rows.
    for sql in ["SET GLOBAL innodb_optimize_fulltext_only = ON", "OPTIMIZE TABLE t", "ANALYZE TABLE t"] {
        client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let counted =
        "SELECT TABLE_ROWS, 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'leafline_fulltext'";
    assert_eq!(mariadb(&mut client, counted), Ok(vec![(DOCUMENTS as u32, 0.0)]), "MariaDB estimates");
    let cases = number("LEAFLINE_CASES", 2_000);
    println!("seed {seed}, {cases} searches");
    let (mut differences, mut found) = (Vec::new(), 0);
    for _ in 0..cases {
        let sql = search(&mut rng);
        let (theirs, ours) = (mariadb(&mut client, &sql), leafline(&mut session, &sql));
        found += usize::from(ours.as_ref().is_ok_and(|rows| rows.iter().any(|row| row.1 != 0.0)));
        if !is_same(&sql, &ours, &theirs) {
            let rows = |given: &Given| match given {
                Ok(rows) => {
                    format!("{:?}", rows.iter().filter(|row| row.1 != 0.0).take(8).collect::<Vec<_>>())
                }
                Err(code) => code.to_string(),
            };
            differences.push(format!("{sql}\n    {}\n    {}", rows(&ours), rows(&theirs)));
        }
    }
    for difference in differences.iter().take(number("LEAFLINE_SHOWN", 10) as usize) {
        println!("{difference}");
    }
    drop(session);
    instance.close().expect("a clean end");
    println!("{found} searches found something");
    assert_eq!(differences.len(), 0, "of {cases} searches with seed {seed}");
}
