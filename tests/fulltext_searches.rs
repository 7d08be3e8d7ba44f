//! Compares what statements find by a FULLTEXT index with what the texts of the rows say.
//!
//! Random documents are inserted, changed and deleted, in transactions that commit, roll back or stay open. Random
//! searches stand in WHERE, ON, ORDER BY and the select list of statements that read, lock, change and delete rows.
//! The test keeps the documents itself and computes scores from them, row by row (`leafline_words`), so that it
//! knows every answer. `LEAFLINE_SEED` and `LEAFLINE_CASES` choose the statements; the seed is printed.

use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::{Collation, MysqlError, TextColumns};
use leafline_words::{Found, MatchMode, Query, Statistics, Stopwords, WordParser, WordRules};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The words of documents and searches.
const WORDS: &[&str] = &[
    "apple", "apple", "apple", "banana", "band", "bandage", "cherry", "the", "of", "an", "database", "data",
    "datum", "index", "engine", "engine", "table", "tables", "query", "naive", "x1y", "2026", "zebra",
    "quick", "brown", "fox",
];

/// Definitions of the table: clustered by a number, by a text, by nothing.
const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, a VARCHAR(500), b TEXT, KEY (n), FULLTEXT (a, b), FULLTEXT (b))",
    "CREATE TABLE t (id INT, n INT, a VARCHAR(500), b TEXT, KEY (n), FULLTEXT (a, b), FULLTEXT (b))",
    "CREATE TABLE t (id INT, n INT, a VARCHAR(500), b TEXT, FULLTEXT (b), FULLTEXT (a, b), PRIMARY KEY (n DESC, id))",
];

#[derive(Clone)]
struct Document {
    n: i64,
    a: Option<String>,
    b: Option<String>,
}

type Documents = BTreeMap<i64, Document>;

/// A random search: its SQL, and the score of each document that has one.
struct Search {
    sql: String,
    text: String,
    mode: MatchMode,
    scores: BTreeMap<i64, f64>,
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, MysqlError> {
    let mut rows = Vec::new();
    let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(rows) };
    let types = stream.types();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            let value = |column| {
                let mut text = Vec::new();
                let there = columns.append(row, column, &mut text);
                if there { String::from_utf8_lossy(&text).into_owned() } else { "NULL".to_owned() }
            };
            rows.push((0..types.len()).map(value).collect());
        }
    }
    Ok(rows)
}

fn changed(session: &mut Session, sql: &str) -> u64 {
    match session.execute(sql) {
        Ok(Outcome::Done(done)) => done.affected,
        Ok(Outcome::Rows(_)) => panic!("{sql} has rows"),
        Err(error) => panic!("{sql}: {error:?}"),
    }
}

fn text(rng: &mut SmallRng, most: usize) -> String {
    let count = rng.random_range(0..=most);
    let words: Vec<&str> = (0..count).filter_map(|_| WORDS.choose(rng).copied()).collect();
    words.join(" ")
}

fn value(text: &Option<String>) -> String {
    text.as_ref().map_or("NULL".to_owned(), |text| format!("'{text}'"))
}

fn boolean(rng: &mut SmallRng, depth: usize) -> String {
    let mut out = String::new();
    for _ in 0..rng.random_range(1..=3) {
        out.push_str(["", "", "", "+", "+", "-", "~", "<", ">"].choose(rng).copied().unwrap_or(""));
        match rng.random_range(0..20) {
            0..=2 if depth < 2 => out.push_str(&format!("({})", boolean(rng, depth + 1))),
            3..=5 => out.push_str(&format!("\"{}\"", text(rng, 3))),
            6 | 7 => {
                let word = WORDS.choose(rng).copied().unwrap_or("");
                out.extend(word.chars().take(rng.random_range(2..5)));
                out.push('*');
            }
            _ => out.push_str(WORDS.choose(rng).copied().unwrap_or("")),
        }
        out.push(' ');
    }
    out
}

fn texts(document: &Document, both: bool) -> Vec<&str> {
    let mut texts = Vec::new();
    if both {
        texts.push(document.a.as_deref().unwrap_or(""));
    }
    texts.push(document.b.as_deref().unwrap_or(""));
    texts
}

fn scores(query: &Query, documents: &Documents, both: bool) -> BTreeMap<i64, f64> {
    let found: Vec<(i64, Found)> =
        documents.iter().map(|(id, document)| (*id, query.find(texts(document, both)))).collect();
    let mut statistics = Statistics::new(query);
    found.iter().for_each(|(_, found)| statistics.add(query, found));
    let frequencies = statistics.frequencies(query);
    let scored = found.iter().map(|(id, found)| (*id, f64::from(query.rank(found, &frequencies))));
    scored.filter(|(_, score)| *score != 0.0).collect()
}

/// A search of the documents; `None` if its query is wrong.
fn search(rng: &mut SmallRng, documents: &Documents) -> Option<Search> {
    let (words, mode, name) = match rng.random_range(0..10) {
        0..5 => (boolean(rng, 0), MatchMode::Boolean, " IN BOOLEAN MODE"),
        5 => (text(rng, 2), MatchMode::Expanded, " WITH QUERY EXPANSION"),
        _ => (text(rng, 3), MatchMode::Natural, ""),
    };
    let both = rng.random_bool(0.7);
    let parser = WordParser::Words { min: 3, max: 84 };
    let rules = WordRules::new(parser, Collation::DEFAULT, Stopwords::Default);
    let mut query = Query::new(&words, mode, &rules).ok()?;
    if mode == MatchMode::Expanded {
        let mut others: BTreeMap<Box<[u8]>, String> = BTreeMap::new();
        for document in documents.values() {
            let found = query.find(texts(document, both));
            if query.accepts(&found) {
                query.for_each_other_word(&found, texts(document, both), &mut |key, word| {
                    others.entry(key.into()).or_insert_with(|| word.to_owned());
                });
            }
        }
        query.expand(others.values().map(String::as_str));
    }
    let columns = if both { "a, b" } else { "b" };
    let sql = format!("MATCH ({columns}) AGAINST ('{words}'{name})");
    Some(Search { sql, text: words, mode, scores: scores(&query, documents, both) })
}

fn ids(rows: &[Vec<String>]) -> BTreeSet<i64> {
    rows.iter().filter_map(|row| row.first()?.parse().ok()).collect()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

/// Checks rows of ids and scores in descending order: all of `scores`, or the best `most` of them.
fn check_ranked(sql: &str, rows: &[Vec<String>], scores: &BTreeMap<i64, f64>, most: usize) {
    let mut wanted: Vec<f64> = scores.values().copied().collect();
    wanted.sort_by(|a, b| b.total_cmp(a));
    wanted.truncate(most);
    let given: Vec<(i64, f64)> =
        rows.iter().map(|row| (row[0].parse().expect("an id"), row[1].parse().expect("a score"))).collect();
    assert_eq!(given.len(), wanted.len(), "{sql}\n{given:?}\n{scores:?}");
    for ((id, score), wanted) in given.iter().zip(&wanted) {
        assert!(is_near(*score, *wanted), "{sql}\n{given:?}\n{scores:?}");
        assert!(scores.get(id).is_some_and(|known| is_near(*known, *score)), "{sql}: {id}\n{scores:?}");
    }
    assert_eq!(ids(rows).len(), rows.len(), "{sql}: a row came twice");
}

/// Runs a random statement that reads.
fn read(session: &mut Session, rng: &mut SmallRng, documents: &Documents, search: &Search) {
    let Search { sql: score, text, scores, mode } = search;
    let all = usize::MAX;
    let ask =
        |session: &mut Session, sql: &str| rows(session, sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let limit = rng.random_range(1..8);
    let small: BTreeMap<i64, f64> = scores
        .iter()
        .filter(|(id, _)| documents.get(id).is_some_and(|document| document.n < 20))
        .map(|(id, score)| (*id, *score))
        .collect();
    let found: BTreeSet<i64> = scores.keys().copied().collect();
    match rng.random_range(0..14) {
        0 => {
            let sql = format!("SELECT id, {score} FROM t WHERE {score}");
            check_ranked(&sql, &ask(session, &sql), scores, all);
        }
        1 => {
            let sql =
                format!("SELECT id, {score} AS s, a FROM t WHERE {score} ORDER BY s DESC LIMIT {limit}");
            check_ranked(&sql, &ask(session, &sql), scores, limit);
        }
        2 => {
            let least = rng.random_range(0..20) as f64 / 10.0;
            let sql = format!("SELECT id, {score} FROM t WHERE {score} > {least} ORDER BY {score} DESC, id");
            let above = scores.iter().filter(|(_, score)| **score > least);
            check_ranked(&sql, &ask(session, &sql), &above.map(|(id, score)| (*id, *score)).collect(), all);
        }
        3 => {
            let sql = format!("SELECT COUNT(*) FROM t WHERE {score}");
            assert_eq!(ask(session, &sql), [[found.len().to_string()]], "{sql}");
        }
        4 => {
            let sql = format!(
                "SELECT id, {score} FROM t WHERE n < 20 AND {score} ORDER BY {score} DESC LIMIT {limit}"
            );
            check_ranked(&sql, &ask(session, &sql), &small, limit);
        }
        5 => {
            let sql = format!("SELECT t.id FROM u JOIN t ON t.id = u.t_id WHERE {score} ORDER BY u.id");
            let wanted: BTreeSet<i64> = found.iter().copied().filter(|id| id % 2 == 0).collect();
            assert_eq!(ids(&ask(session, &sql)), wanted, "{sql}");
        }
        6 => {
            let sql = format!("SELECT u.t_id, t.id, {score} FROM u LEFT JOIN t ON t.id = u.t_id AND {score}");
            for row in ask(session, &sql) {
                let id: i64 = row[0].parse().expect("an id");
                let (partner, known) = (row[1].parse::<i64>().ok(), scores.get(&id).copied());
                assert_eq!(partner, known.map(|_| id), "{sql}: {row:?}");
                let given: f64 = row[2].parse().expect("a score");
                assert!(is_near(given, known.unwrap_or(0.0)), "{sql}: {row:?}");
            }
        }
        7 => {
            let sql = format!("SELECT id FROM t WHERE n < 20 AND id IN (SELECT id FROM t WHERE {score})");
            assert_eq!(ids(&ask(session, &sql)), small.keys().copied().collect(), "{sql}");
        }
        8 => {
            let sql = format!("SELECT id FROM t WHERE {score} OR n = 3");
            let threes = documents.iter().filter(|(_, document)| document.n == 3).map(|(id, _)| *id);
            assert_eq!(ids(&ask(session, &sql)), threes.chain(found).collect(), "{sql}");
        }
        9 => {
            let sql = format!("SELECT id, {score} FROM t");
            let rows = ask(session, &sql);
            assert_eq!(rows.len(), documents.len(), "{sql}");
            for row in rows {
                let id: i64 = row[0].parse().expect("an id");
                let (given, known) = (row[1].parse().expect("a score"), scores.get(&id).copied());
                assert!(is_near(given, known.unwrap_or(0.0)), "{sql}: {row:?}");
            }
        }
        10 if *mode != MatchMode::Expanded => {
            let sql = score.replace(&format!("'{text}'"), "?");
            changed(session, &format!("PREPARE s FROM 'SELECT id, {sql} FROM t WHERE {sql} LIMIT 1000'"));
            changed(session, &format!("SET @q = '{text}'"));
            let sql = "EXECUTE s USING @q, @q";
            check_ranked(&format!("{sql} ({score})"), &ask(session, sql), scores, all);
        }
        11 => {
            let limit = if rng.random_bool(0.5) { limit } else { documents.len() * 3 / 4 };
            let sql = format!("SELECT id, {score} AS s FROM t ORDER BY s DESC LIMIT {limit}");
            let score = |id: &i64| (*id, scores.get(id).copied().unwrap_or(0.0));
            check_ranked(&sql, &ask(session, &sql), &documents.keys().map(score).collect(), limit);
        }
        12 => {
            let sql = format!(
                "SELECT d.id, d.s FROM (SELECT id, n, {score} AS s FROM t) d WHERE d.s ORDER BY d.s DESC"
            );
            check_ranked(&sql, &ask(session, &sql), scores, all);
        }
        _ => {
            let sql = format!(
                "SELECT id, {score} FROM t WHERE {score} ORDER BY {score} DESC LIMIT {limit} FOR UPDATE"
            );
            check_ranked(&sql, &ask(session, &sql), scores, limit);
        }
    }
}

/// Changes or deletes rows that a search finds, or inserts some.
fn change(session: &mut Session, rng: &mut SmallRng, documents: &mut Documents, search: &Search) {
    let Search { sql: score, scores, .. } = search;
    let maybe = |rng: &mut SmallRng| if rng.random_bool(0.1) { None } else { Some(text(rng, 10)) };
    match rng.random_range(0..6) {
        0 => {
            let sql = format!("DELETE FROM t WHERE {score} AND n < 10");
            let gone: Vec<i64> = documents
                .iter()
                .filter(|(id, d)| d.n < 10 && scores.contains_key(id))
                .map(|(id, _)| *id)
                .collect();
            assert_eq!(changed(session, &sql), gone.len() as u64, "{sql}");
            gone.iter().for_each(|id| drop(documents.remove(id)));
        }
        1 | 2 => {
            let b = maybe(rng);
            let sql = format!("UPDATE t SET b = {}, n = n + 50 WHERE {score} AND n < 20", value(&b));
            let mut matched = 0;
            for (id, document) in documents.iter_mut() {
                if document.n < 20 && scores.contains_key(id) {
                    (document.b, document.n) = (b.clone(), document.n + 50);
                    matched += 1;
                }
            }
            assert_eq!(changed(session, &sql), matched, "{sql}");
        }
        _ => {
            let id = documents.last_key_value().map_or(1, |(id, _)| id + 1);
            let document = Document { n: rng.random_range(0..40), a: maybe(rng), b: maybe(rng) };
            let (a, b) = (value(&document.a), value(&document.b));
            changed(session, &format!("INSERT INTO t (id, n, a, b) VALUES ({id}, {}, {a}, {b})", document.n));
            changed(session, &format!("REPLACE INTO u SELECT id, id FROM t WHERE id = {id} AND id % 2 = 0"));
            documents.insert(id, document);
        }
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn statements_find_what_the_texts_say() {
    let seed = number("LEAFLINE_SEED", std::process::id().into());
    let cases = number("LEAFLINE_CASES", 400);
    println!("seed {seed}, {cases} statements");
    let mut rng = SmallRng::seed_from_u64(seed);
    for table in TABLES {
        let directory = tempfile::tempdir().expect("a directory");
        let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
        let instance = Instance::open(env, InstanceOptions::default()).expect("a database");
        let mut session = instance.connect().expect("a session");
        changed(&mut session, "CREATE DATABASE d");
        changed(&mut session, "USE d");
        changed(&mut session, table);
        changed(&mut session, "CREATE TABLE u (id INT PRIMARY KEY, t_id INT)");
        let mut documents = Documents::new();
        let mut committed: Option<Documents> = None;
        for _ in 0..cases {
            let Some(search) = search(&mut rng, &documents) else { continue };
            if rng.random_bool(0.4) || documents.len() < 20 {
                change(&mut session, &mut rng, &mut documents, &search);
            } else {
                read(&mut session, &mut rng, &documents, &search);
            }
            match (rng.random_range(0..20), committed.take()) {
                (0, None) => {
                    changed(&mut session, "BEGIN");
                    committed = Some(documents.clone());
                }
                (1, Some(before)) => {
                    changed(&mut session, "ROLLBACK");
                    documents = before;
                }
                (2 | 3, Some(_)) => drop(changed(&mut session, "COMMIT")),
                (_, open) => committed = open,
            }
        }
        drop(session);
        instance.close().expect("a clean end");
    }
}
