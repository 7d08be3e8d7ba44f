//! Overflow values against a model: transactions, snapshots, power cuts, loads, damage.

use super::interleaved::Seed;
use crate::build::BuildControl;
use crate::catalog::{IndexSpecKind, TableDef, TableSpec};
use crate::check::{CheckDepth, CheckOptions};
use crate::engine::Engine;
use crate::error::Result;
use crate::options::EngineOptions;
use crate::read::ReadView;
use crate::testing::*;
use crate::txn::Transaction;
use crate::{Isolation, TxnMode};
use leafline_btree::Direction;
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{CancelToken, DecodedRows, SqlType, Value, value_at};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

type Rows = BTreeMap<i64, Vec<Value>>;

/// `t (id INT PRIMARY KEY, a TEXT, b BLOB NOT NULL, n INT, KEY (n))`.
fn text_spec() -> TableSpec {
    let text = SqlType::Text { max_bytes: 65535 };
    let columns = vec![
        column("id", int(), false),
        column("a", text, true),
        column("b", SqlType::Blob { max_bytes: 1 << 24 }, false),
        column("n", int(), true),
    ];
    let indexes = vec![index(IndexSpecKind::Primary, "", &["id"]), index(IndexSpecKind::Plain, "n", &["n"])];
    spec("t", columns, indexes)
}

fn all_rows(view: &ReadView, table: &Arc<TableDef>) -> Result<Rows> {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let decoder = crate::row_decoder(table, &columns)?;
    let mut decoded = DecodedRows::new(&decoder, 0);
    let mut count = 0;
    view.rows(table)?.scan(Direction::Forward, None, |row| {
        decoded.push(&decoder, row.key, row.payload).unwrap();
        count += 1;
        true
    })?;
    let columns = view.complete(table, decoded)?;
    let row = |at: usize| -> Vec<Value> {
        columns.iter().zip(&table.columns).map(|(array, column)| value_at(array, at, &column.ty)).collect()
    };
    Ok((0..count).map(row).map(|row| (id_of(&row), row)).collect())
}

fn id_of(row: &[Value]) -> i64 {
    match row.first() {
        Some(Value::Int(id)) => *id,
        other => panic!("no id: {other:?}"),
    }
}

fn bytes(random: &mut SmallRng, most: usize) -> Vec<u8> {
    let len = *[0, 10, 200, 1500, 5000, 40_000].choose(random).unwrap();
    let (first, len) = (random.random_range(b'a'..b'f'), random.random_range(0..=len).min(most));
    (0..len).map(|at| first + (at % 20) as u8).collect()
}

fn new_row(random: &mut SmallRng, id: i64) -> Vec<Value> {
    let text = String::from_utf8(bytes(random, 65535)).unwrap();
    let a = if random.random_ratio(1, 5) { Value::Null } else { Value::string(text) };
    vec![Value::Int(id), a, Value::bytes(bytes(random, 1 << 20)), Value::Int(random.random_range(0..5))]
}

/// Makes one change of a row, or none.
fn change(
    transaction: &mut Transaction,
    table: &Arc<TableDef>,
    random: &mut SmallRng,
    rows: &mut Rows,
) -> Result<()> {
    let id = random.random_range(0..12);
    transaction.begin_statement();
    let mut key = Vec::new();
    let mut row = vec![Value::Null; table.columns.len()];
    row[0] = Value::Int(id);
    table.clustered().format.encode_key(&row, &[], &mut key)?;
    match (rows.get(&id).cloned(), random.random_range(0..6)) {
        (None, _) => {
            let row = new_row(random, id);
            transaction.insert(table, &row)?;
            rows.insert(id, row);
        }
        (Some(old), 0) => {
            assert!(transaction.delete(table, &key, &old)?);
            rows.remove(&id);
        }
        (Some(_), 1) => {
            assert!(transaction.delete_key(table, &key)?);
            rows.remove(&id);
        }
        (Some(_), 2) => {
            let row = new_row(random, id);
            assert!(transaction.put_row(table, &row)?);
            rows.insert(id, row);
        }
        (Some(old), 3) => {
            // The row moves together with its overflow values.
            let free = (12..).find(|free| !rows.contains_key(free)).unwrap();
            let mut new = old.clone();
            new[0] = Value::Int(free);
            transaction.update(table, &key, &old, &new)?;
            rows.remove(&id);
            rows.insert(free, new);
        }
        (Some(old), _) => {
            let mut new = new_row(random, id);
            for column in 1..4 {
                if random.random() {
                    new[column] = old[column].clone();
                }
            }
            assert_eq!(transaction.update(table, &key, &old, &new)?, key);
            let present = transaction.current_row(table, &key)?;
            assert_eq!(present.as_ref(), Some(&new));
            rows.insert(id, new);
        }
    }
    Ok(())
}

fn check(engine: &Arc<Engine>, table: &Arc<TableDef>, what: &str) {
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 1, ..CheckOptions::default() };
    let found = engine.maintenance().check_table_with(table, options, &|_| (), &CancelToken::new()).unwrap();
    assert!(found.is_sound(), "{what}: {:?}", found.faults);
}

fn run(seed: u64) {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let random = &mut random;
    let options = match random.random() {
        true => options(),
        false => EngineOptions { transaction_memory_bytes: Some(20_000), ..by_reference_options() },
    };
    let env = SimulatedEnv::new();
    let open = || Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone()).unwrap();
    let mut engine = open();
    create(&engine, &text_spec());
    let mut rows = Rows::new();
    let mut held: Option<(ReadView, Rows)> = None;
    for step in 0..40 {
        let what = format!("seed {seed}, step {step}");
        let table = engine.table("d", "t").unwrap();
        match random.random_range(0..10) {
            0 => {
                held = None;
                env.reboot(random.random());
                engine = open();
            }
            1 => {
                let mut loader = engine.ddl().bulk_load(&table, &BuildControl::of(&engine)).unwrap();
                let free = (100..).filter(|id| !rows.contains_key(id)).take(random.random_range(1..5));
                for id in free.collect::<Vec<i64>>() {
                    let row = new_row(random, id);
                    loader.push(&row).unwrap();
                    rows.insert(id, row);
                }
                held = None;
                loader.finish().unwrap();
            }
            2 if random.random_ratio(1, 4) => {
                held = None;
                engine.ddl().truncate_table("d", "t", false).unwrap();
                rows.clear();
            }
            3 => held = Some((view(&engine), rows.clone())),
            4 => drop(engine.maintenance().purge().unwrap()),
            _ => {
                let mut transaction =
                    engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
                let mut changed = rows.clone();
                for _ in 0..random.random_range(1..6) {
                    let (mark, before) = (transaction.savepoint(), changed.clone());
                    change(&mut transaction, &table, random, &mut changed).unwrap();
                    if random.random_ratio(1, 5) {
                        transaction.rollback_to(mark);
                        changed = before;
                    }
                    transaction.begin_statement();
                    assert_eq!(all_rows(&transaction.view(), &table).unwrap(), changed, "{what}");
                }
                if random.random_ratio(4, 5) {
                    transaction.commit().unwrap();
                    rows = changed;
                }
            }
        }
        let table = engine.table("d", "t").unwrap();
        assert_eq!(all_rows(&view(&engine), &table).unwrap(), rows, "{what}");
        if let Some((view, rows)) = &held {
            assert_eq!(all_rows(view, &table).unwrap(), *rows, "{what}: what a snapshot sees");
        }
        check(&engine, &table, &what);
    }
    drop(held);
    engine.ddl().drop_table("d", "t", false).unwrap();
    assert_eq!(engine.catalog().all_tables().count(), 0);
    engine.maintenance().purge().unwrap();
    assert_eq!(owned_segments(&engine), 1, "seed {seed}: only the catalog's own segment is left");
}

#[test]
fn rows_have_the_values_that_were_written_whatever_their_length() {
    let first = seed();
    (0..6 * scale()).for_each(|n| run(first.wrapping_add(n)));
}

#[test]
fn only_what_does_not_fit_is_stored_outside() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &text_spec());
    let overflow = crate::overflow::overflow_table(&engine, &table).unwrap();
    assert!(engine.catalog().table("d", "t").is_some_and(|found| Arc::ptr_eq(found, &table)));
    assert_eq!(engine.catalog().tables("d").count(), 1);
    let text = |len: usize| Value::string("x".repeat(len));
    let outside = |a: usize, b: usize| {
        let row = vec![Value::Int(1), text(a), Value::bytes(vec![b'y'; b]), Value::Null];
        transact(&engine, |transaction| transaction.put_row(&table, &row).map(drop)).unwrap();
        engine.row_count(overflow.id)
    };
    let half = engine.limits.max_entry;
    assert_eq!(outside(half - 400, 300), 0);
    // The longer value overflows.
    assert_eq!(outside(half - 400, 500), 1);
    assert_eq!(outside(10 * half, 3 * half), 11 + 4);
    assert_eq!(outside(10, 0), 0);
    assert!(create(&engine, &other_spec(true)).overflow.is_none());
}

#[test]
fn a_row_whose_value_is_damaged_is_reported_and_left_out_by_a_repair() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &text_spec());
    transact(&engine, |transaction| {
        (0..40).try_for_each(|id| {
            let text = Value::string("x".repeat(if id % 2 == 0 { 3000 } else { 10 }));
            let row = vec![Value::Int(id), text, Value::bytes([]), Value::Null];
            transaction.insert(&table, &row).map(drop)
        })
    })
    .unwrap();
    let overflow = crate::overflow::overflow_table(&engine, &table).unwrap();
    let key = crate::overflow::part_key(&overflow, 5, 0).unwrap();
    let page = engine.tree(overflow.clustered()).unwrap().leaf_of(&key).unwrap();
    engine.close().unwrap();
    drop(engine);
    flip(&env, page, &mut SmallRng::seed_from_u64(1));
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    let options = CheckOptions { depth: CheckDepth::Medium, threads: 1, ..CheckOptions::default() };
    let found = engine.maintenance().check_table_with(&table, options, &|_| (), &CancelToken::new()).unwrap();
    assert!(found.overflow.is_some(), "{found:?}");
    assert!(all_rows(&view(&engine), &table).is_err());
    let plan = engine.maintenance().repair_table(&table, &found, true, &mut |_| ()).unwrap();
    let repair = engine.maintenance().repair_table(&table, &found, false, &mut |_| ()).unwrap();
    assert_eq!(repair, plan);
    let values = repair.values.as_ref().and_then(|values| values.salvage.as_ref());
    assert!(
        values.is_some_and(|values| values.pages.iter().any(|(damaged, _)| *damaged == page)),
        "{repair}"
    );
    let left_out = repair.salvage.as_ref().map_or(0, |report| report.left_out.len());
    assert!((1..5).contains(&left_out), "{repair}");
    assert!(repair.loses_rows());
    let lost = "lost: the row '8', for its values of a, stored outside it, are lost";
    assert!(repair.to_string().contains(lost), "{repair}");
    let table = engine.table("d", "t").unwrap();
    check(&engine, &table, "after the repair");
    assert_eq!(all_rows(&view(&engine), &table).unwrap().len(), 40 - left_out);
}
