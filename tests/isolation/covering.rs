//! Tests covering scans of rows that others change, or that the transaction itself has changed: every index gives the
//! same counts and sums, at the snapshot of each transaction.

use super::clients::{database, run};
use super::seeds::{scale, seed};
use super::settings::test_variables;
use leafline_sql::session::Session;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const ROWS: u32 = 3000;

/// The queries; `{}` stands for the index.
const QUESTIONS: [&str; 6] = [
    "SELECT COUNT(*) FROM t FORCE INDEX ({}) WHERE sk >= 0",
    "SELECT COUNT(sk), SUM(sk), MIN(sk), MAX(sk) FROM t FORCE INDEX ({}) WHERE sk >= 0",
    "SELECT COUNT(*) FROM t FORCE INDEX ({}) WHERE sk BETWEEN 200 AND 700",
    "SELECT SUM(sk * 2), COUNT(*) FROM t FORCE INDEX ({}) WHERE sk > 500",
    "SELECT sk, COUNT(*) FROM t FORCE INDEX ({}) WHERE sk IN (3, 50, 51, 52, 900) GROUP BY sk ORDER BY sk",
    "SELECT sk, id FROM t FORCE INDEX ({}) WHERE sk < 990 ORDER BY sk DESC, id DESC LIMIT 40",
];

fn must(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs all queries by all indexes. The clustered one decides row by row what is visible.
fn compare(session: &mut Session, seed: u64) {
    for question in QUESTIONS {
        let expected = must(session, &question.replace("{}", "PRIMARY"));
        for index in ["sk", "sk_cov"] {
            let found = must(session, &question.replace("{}", index));
            assert_eq!(found, expected, "LEAFLINE_SEED={seed}: {question} by {index}");
        }
    }
    let all = must(session, "SELECT SUM(a), SUM(b), COUNT(c) FROM t FORCE INDEX (PRIMARY)");
    let covered = must(session, "SELECT SUM(a), SUM(b), COUNT(c) FROM t FORCE INDEX (sk_cov) WHERE sk >= 0");
    assert_eq!(covered, all, "LEAFLINE_SEED={seed}");
}

/// Changes a row whose number modulo 3 is `rest`.
fn change(session: &mut Session, rest: u32, random: &mut SmallRng) {
    let id = random.random_range(0..ROWS + 300) / 3 * 3 + rest;
    let (sk, value) = (random.random_range(0..1000), random.random_range(0..9));
    let sql = match random.random_range(0..6) {
        0 => format!("DELETE FROM t WHERE id = {id}"),
        1 => format!("INSERT IGNORE INTO t VALUES ({id}, {sk}, {value}, {value}, NULL)"),
        2 => format!("UPDATE t SET sk = {sk} WHERE id = {id}"),
        3 => format!("UPDATE t SET a = {value}, c = {value} WHERE id IN ({id}, {}, {})", id + 3, id + 30),
        4 => format!("REPLACE INTO t VALUES ({id}, {sk}, {value}, 5, {value})"),
        _ => format!("UPDATE t SET b = b + 1 WHERE id = {id}"),
    };
    must(session, &sql);
}

fn create(sessions: &mut [Session]) {
    for (at, session) in sessions.iter_mut().enumerate() {
        if at == 0 {
            must(session, "CREATE DATABASE d");
            must(
                session,
                "CREATE TABLE d.t (id INT PRIMARY KEY, sk INT NOT NULL, a INT NOT NULL, b INT NOT NULL, c INT, \
                 KEY sk (sk), KEY sk_cov (sk, a, b, c))",
            );
            let rows: Vec<String> =
                (0..ROWS).map(|id| format!("({id}, {}, {}, 7, 1)", id * 37 % 1000, id % 9)).collect();
            must(session, &format!("INSERT INTO d.t VALUES {}", rows.join(", ")));
        }
        must(session, "USE d");
    }
}

/// A leaf may end with ghosts, and the next begin with the transaction's own writes: each is shown once.
#[test]
fn own_writes_behind_ghosts_are_counted_once() {
    let instance = database();
    let mut sessions: Vec<Session> = (0..3).map(|_| instance.connect().expect("a session")).collect();
    create(&mut sessions);
    let [old, writer, owner] = sessions.as_mut_slice() else { unreachable!() };
    for width in [7, 20, 90, 250] {
        // Ghosts stay while a snapshot needs them.
        must(old, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        must(writer, &format!("DELETE FROM t WHERE sk DIV {width} % 2 = 0"));
        must(owner, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        must(owner, "UPDATE t SET b = b + 1, c = NULL");
        must(owner, "UPDATE t SET sk = sk + 1 WHERE id % 5 = 0");
        compare(owner, 0);
        must(owner, "ROLLBACK");
        must(old, "COMMIT");
    }
}

#[test]
fn covering_counts_and_sums_are_those_of_the_rows() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let instance = database();
    let mut sessions: Vec<Session> = (0..3).map(|_| instance.connect().expect("a session")).collect();
    create(&mut sessions);
    for (at, session) in sessions.iter_mut().enumerate() {
        let level = if at == 2 { "READ COMMITTED" } else { "REPEATABLE READ" };
        must(session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
    }
    for _ in 0..60 * scale() {
        let at = random.random_range(0..sessions.len());
        let session = &mut sessions[at];
        match random.random_range(0..8) {
            0 => drop(must(session, "COMMIT")),
            1 => drop(must(session, "ROLLBACK")),
            // The snapshot is taken now, so later commits of others are not in it.
            2 | 3 => drop(must(session, "START TRANSACTION WITH CONSISTENT SNAPSHOT")),
            4 => compare(session, seed),
            _ => (0..random.random_range(1..120)).for_each(|_| change(session, at as u32, &mut random)),
        }
    }
    sessions.iter_mut().for_each(|session| compare(session, seed));
    // After others have changed rows that this session had seen, only the changed entries need row look-ups.
    sessions.iter_mut().for_each(|session| drop(must(session, "COMMIT")));
    let [reader, writer, _] = sessions.as_mut_slice() else { unreachable!() };
    must(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    must(writer, "UPDATE t SET a = a + 1 WHERE id % 100 = 1");
    must(writer, "COMMIT");
    let lookups = |session: &mut Session| -> u32 {
        let status = must(session, "SHOW STATUS LIKE 'Leafline_covering_lookups'");
        status.iter().filter_map(|row| row.rsplit(' ').next()?.parse::<u32>().ok()).sum()
    };
    let before = lookups(reader);
    must(reader, "SELECT SUM(a) FROM t FORCE INDEX (sk_cov) WHERE sk >= 0");
    let lookups = lookups(reader) - before;
    // For a buffered entry it is unknown whether there was one before, so the row is looked up for the new entry as
    // well.
    let entries = if test_variables().is_empty() { ROWS / 100 } else { 2 * ROWS / 100 };
    assert!((1..=entries + 3).contains(&lookups), "{lookups} rows visited");
}
