//! FULLTEXT indexes against a naive scan of the rows: own writes, snapshots, savepoints, purge, power cuts, loads, alterations.

use super::interleaved::Seed;
use crate::build::BuildControl;
use crate::catalog::{FulltextSpec, IndexSpecKind, Organisation, TableDef, TableSpec, WordsSpec};
use crate::check::{CheckDepth, CheckOptions};
use crate::engine::Engine;
use crate::options::EngineOptions;
use crate::read::{MatchedRow, Matches, ReadView};
use crate::testing::*;
use crate::txn::Transaction;
use crate::{Alteration, Isolation, RowConverter, TxnMode};
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{CancelToken, MysqlError, SqlType, Value};
use leafline_words::{MatchMode, Query, Statistics, Stopwords, WordParser};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of a table by id, each with its locator.
type Rows = BTreeMap<i64, (Vec<u8>, Vec<Value>)>;

const VOCABULARY: [&str; 12] =
    ["apple", "apples", "banana", "band", "cherry", "of", "the", "x", "cherry_pie", "date", "elder", "fig"];

fn fulltext(name: &str, columns: &[&str]) -> FulltextSpec {
    FulltextSpec {
        name: Some(name.into()),
        columns: columns.iter().map(|&name| name.into()).collect(),
        by_ngrams: false,
        words: Some(WordsSpec {
            parser: WordParser::Words { min: 3, max: 84 },
            stopwords: Stopwords::Default,
        }),
        comment: String::new(),
        invisible: false,
        existing: None,
    }
}

/// `t (id INT, a VARCHAR(40), b TEXT, n INT, PRIMARY KEY (id) or KEY (id), KEY (n), FULLTEXT f (b), FULLTEXT g (a, b))`.
fn text_spec(heap: bool) -> TableSpec {
    let columns = vec![
        column("id", int(), false),
        column("a", varchar(), true),
        column("b", SqlType::Text { max_bytes: 65535 }, true),
        column("n", int(), true),
    ];
    let indexes = vec![index(IndexSpecKind::Primary, "", &["id"]), index(IndexSpecKind::Plain, "n", &["n"])];
    let mut spec = spec("t", columns, indexes);
    spec.fulltext = vec![fulltext("f", &["b"]), fulltext("g", &["a", "b"])];
    spec.options.organisation = if heap { Organisation::Heap } else { Organisation::Clustered };
    spec
}

fn text(random: &mut SmallRng, most: usize) -> Value {
    if random.random_ratio(1, 8) {
        return Value::Null;
    }
    let words = (0..random.random_range(0..most)).map(|_| *VOCABULARY.choose(random).unwrap());
    Value::string(words.collect::<Vec<_>>().join(" "))
}

fn new_row(random: &mut SmallRng, id: i64) -> Vec<Value> {
    // Long texts are stored outside their rows.
    let most = *[3, 10, 20, 1500].choose(random).unwrap();
    let short = text(random, 4);
    vec![Value::Int(id), short, text(random, most), Value::Int(random.random_range(0..5))]
}

fn query(random: &mut SmallRng, table: &TableDef, index: usize) -> Query {
    let mut asked = String::new();
    let word = |random: &mut SmallRng| *VOCABULARY.choose(random).unwrap();
    for _ in 0..random.random_range(1..4) {
        match random.random_range(0..8) {
            0 => asked.push_str(&format!("+{} ", word(random))),
            1 => asked.push_str(&format!("-{} ", word(random))),
            2 => asked.push_str(&format!("\"{} {}\" ", word(random), word(random))),
            3 => asked.push_str(&format!("\"{} {}\" @4 ", word(random), word(random))),
            4 => asked.push_str(&format!("{}* ", word(random))),
            _ => asked.push_str(&format!("{} ", word(random))),
        }
    }
    let mode = if random.random() { MatchMode::Boolean } else { MatchMode::Natural };
    let rules = table.fulltext().nth(index).unwrap().words.clone().unwrap();
    Query::new(&asked, mode, &rules).unwrap()
}

/// The result of a search that reads all rows.
fn naive(query: &Query, columns: &[usize], rows: &Rows) -> Matches {
    let texts = |row: &[Value]| -> Vec<String> {
        let text = |column: &usize| match &row[*column] {
            Value::String(text) => text.to_string(),
            _ => String::new(),
        };
        columns.iter().map(text).collect()
    };
    let found: Vec<_> =
        rows.values().map(|(_, row)| query.find(texts(row).iter().map(String::as_str))).collect();
    let mut statistics = Statistics::new(query);
    found.iter().for_each(|found| statistics.add(query, found));
    let frequencies = statistics.frequencies(query);
    let mut matched = Vec::new();
    for ((locator, _), found) in rows.values().zip(&found) {
        let score = query.score(found, &frequencies);
        matched.extend(score.map(|score| MatchedRow { locator: locator.as_slice().into(), score }));
    }
    matched.sort_by(|a, b| a.locator.cmp(&b.locator));
    Matches { statistics, rows: matched }
}

/// Compares some searches of a view with the rows that it should have. An index that is newer than the snapshot does not answer;
/// returns how many did.
fn compare(view: &ReadView, table: &Arc<TableDef>, rows: &Rows, random: &mut SmallRng, what: &str) -> usize {
    let mut answers = 0;
    for (at, index) in table.fulltext().enumerate() {
        let columns: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
        for _ in 0..3 {
            let query = query(random, table, at);
            let mut wanted = naive(&query, &columns, rows);
            let token = CancelToken::new();
            let Some(found) = view.search(table, index, &query, None, &token).unwrap() else { continue };
            answers += 1;
            assert_eq!(found.statistics, wanted.statistics, "{what}: {query:?}");
            assert_eq!(found.rows, wanted.rows, "{what}: {query:?}");
            let most = random.random_range(1..6);
            let best = view.search(table, index, &query, Some(most), &token).unwrap().unwrap();
            wanted.rows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.locator.cmp(&b.locator)));
            wanted.rows.truncate(most);
            assert_eq!(best.rows, wanted.rows, "{what}: the best {most} of {query:?}");
        }
    }
    answers
}

/// Makes one change of a row.
fn change(transaction: &mut Transaction, table: &Arc<TableDef>, random: &mut SmallRng, rows: &mut Rows) {
    let id = random.random_range(0..12);
    transaction.begin_statement();
    match (rows.get(&id).cloned(), random.random_range(0..5)) {
        (None, _) => {
            let row = new_row(random, id);
            let locator = transaction.insert(table, &row).unwrap().locator;
            rows.insert(id, (locator, row));
        }
        (Some((locator, old)), 0) => {
            assert!(transaction.delete(table, &locator, &old).unwrap());
            rows.remove(&id);
        }
        (Some((locator, old)), 1) => {
            let free = (12..).find(|free| !rows.contains_key(free)).unwrap();
            let mut new = old.clone();
            new[0] = Value::Int(free);
            let moved = transaction.update(table, &locator, &old, &new).unwrap();
            rows.remove(&id);
            rows.insert(free, (moved, new));
        }
        (Some((locator, old)), _) => {
            let mut new = new_row(random, id);
            for column in 1..4 {
                if random.random() {
                    new[column] = old[column].clone();
                }
            }
            let stays = transaction.update(table, &locator, &old, &new).unwrap();
            rows.insert(id, (stays, new));
        }
    }
}

fn check(engine: &Arc<Engine>, table: &Arc<TableDef>, what: &str) {
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 1, ..CheckOptions::default() };
    let found = engine.maintenance().check_table_with(table, options, &|_| (), &CancelToken::new()).unwrap();
    assert!(found.is_sound(), "{what}: {:?}", found.faults);
}

/// Leaves rows as they are.
struct Same;

impl RowConverter for Same {
    fn convert(&mut self, row: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        Ok(row)
    }
}

/// Drops a FULLTEXT index or adds one, or builds the table anew; beside a writer, or not.
fn alter(engine: &Arc<Engine>, table: &Arc<TableDef>, heap: bool, random: &mut SmallRng, rows: &mut Rows) {
    let mut spec = TableSpec::of(table);
    let mut same = Same;
    // The rows of a heap get other locators.
    let is_anew = !heap && random.random_ratio(1, 3);
    match spec.fulltext.len() {
        2 if is_anew => {}
        2 => drop(spec.fulltext.remove(random.random_range(0..2))),
        _ => spec.fulltext = vec![fulltext("f", &["b"]), fulltext("g", &["a", "b"])],
    }
    let reads_rows = is_anew || spec.fulltext.iter().any(|index| index.existing.is_none());
    let (more, changed) = (RefCell::new(random.clone()), RefCell::new(rows.clone()));
    let switch = || {
        for _ in 0..5 {
            let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
            for _ in 0..3 {
                change(&mut transaction, table, &mut more.borrow_mut(), &mut changed.borrow_mut());
            }
            transaction.commit()?;
        }
        Ok(None)
    };
    let alteration = Alteration {
        rebuild: is_anew.then(|| anew(&mut same)),
        switch: if reads_rows && random.random() { Some(&switch) } else { None },
        ..unchanged(engine, table, spec)
    };
    engine.ddl().alter_table(table, alteration).unwrap();
    *rows = changed.into_inner();
}

fn run(seed: u64) {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let random = &mut random;
    let options = match random.random_range(0..3) {
        0 => options(),
        1 => buffering_options(),
        _ => EngineOptions { transaction_memory_bytes: Some(20_000), ..by_reference_options() },
    };
    let env = SimulatedEnv::new();
    let open = || Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone()).unwrap();
    let mut engine = open();
    let heap = random.random_ratio(1, 3);
    create(&engine, &text_spec(heap));
    let mut rows = Rows::new();
    let mut held: Vec<(ReadView, Rows)> = Vec::new();
    for step in 0..40 {
        let what = format!("seed {seed}, step {step}");
        let table = engine.table("d", "t").unwrap();
        match random.random_range(0..12) {
            0 => {
                held.clear();
                env.reboot(random.random());
                engine = open();
            }
            1 if !heap => {
                let mut loader = engine.ddl().bulk_load(&table, &BuildControl::of(&engine)).unwrap();
                let free = (100..).filter(|id| !rows.contains_key(id)).take(random.random_range(1..5));
                for id in free.collect::<Vec<i64>>() {
                    let row = new_row(random, id);
                    loader.push(&row).unwrap();
                    let mut locator = Vec::new();
                    table.clustered().format.encode_key(&row, &[], &mut locator).unwrap();
                    rows.insert(id, (locator, row));
                }
                held.clear();
                loader.finish().unwrap();
            }
            2 if random.random_ratio(1, 4) => {
                held.clear();
                engine.ddl().truncate_table("d", "t", false).unwrap();
                rows.clear();
            }
            3 => {
                held.truncate(1);
                held.push((view(&engine), rows.clone()));
            }
            4 => drop(engine.maintenance().purge().unwrap()),
            5 => {
                held.clear();
                alter(&engine, &table, heap, random, &mut rows);
            }
            _ => {
                let mut transaction =
                    engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
                let mut changed = rows.clone();
                for _ in 0..random.random_range(1..6) {
                    let (mark, before) = (transaction.savepoint(), changed.clone());
                    change(&mut transaction, &table, random, &mut changed);
                    if random.random_ratio(1, 5) {
                        transaction.rollback_to(mark);
                        changed = before;
                    }
                    transaction.begin_statement();
                    let answers = compare(&transaction.view(), &table, &changed, random, &what);
                    assert_eq!(answers, 3 * table.fulltext().count(), "{what}");
                }
                if random.random_ratio(4, 5) {
                    transaction.commit().unwrap();
                    rows = changed;
                }
            }
        }
        let table = engine.table("d", "t").unwrap();
        let answers = compare(&view(&engine), &table, &rows, random, &what);
        assert_eq!(answers, 3 * table.fulltext().count(), "{what}");
        for (view, rows) in &held {
            compare(view, &table, rows, random, &format!("{what}: what a snapshot sees"));
        }
        check(&engine, &table, &what);
    }
    drop(held);
    engine.ddl().drop_table("d", "t", false).unwrap();
    engine.maintenance().purge().unwrap();
    assert_eq!(owned_segments(&engine), 1, "seed {seed}: only the catalog's own segment is left");
}

#[test]
fn searches_find_what_a_scan_of_the_rows_finds() {
    let first = seed();
    (0..4 * scale()).for_each(|n| run(first.wrapping_add(n)));
}
