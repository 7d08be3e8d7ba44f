//! Transactions whose writes exceed memory: they are read, rolled back and committed like others. Also what
//! happens if there is no room for them.

use crate::catalog::TableDef;
use crate::engine::Engine;
use crate::error::TableError;
use crate::options::EngineOptions;
use crate::testing::*;
use crate::txn::{Isolation, Transaction, TxnMode};
use leafline_btree::Direction;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError, StoreOptions};
use leafline_types::Value;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows by `id`.
type Rows = BTreeMap<i64, Vec<Value>>;

fn open_with(env: &SimulatedEnv, memory: Option<u64>) -> Arc<Engine> {
    let options = EngineOptions { transaction_memory_bytes: memory, ..options() };
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap()
}

fn values(table: &TableDef, id: i64, change: i64) -> Vec<Value> {
    row(table, &[Some(id), Some((id * 7919 + change) % 1_000_003), Some(id % 700 + change), Some(id % 90)])
}

fn key(table: &TableDef, row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    table.clustered().format.encode_key(row, &[], &mut key).unwrap();
    key
}

/// Compares every index, in both directions, with the expected rows.
fn verify(transaction: &mut Transaction, table: &Arc<TableDef>, expected: &Rows, what: &str) {
    transaction.begin_statement();
    let view = transaction.view();
    let all: Vec<Vec<Value>> = expected.values().cloned().collect();
    assert!(rows(&view, table) == all, "{what}: rows");
    for (index, column) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
        let forward = scan(&view, table, index, &[column], Direction::Forward).unwrap();
        let mut reverse = scan(&view, table, index, &[column], Direction::Reverse).unwrap();
        reverse.reverse();
        assert!(forward == reverse, "{what}: index {index}");
        let keys: Vec<Vec<u8>> = forward.iter().map(|(key, _)| key.clone()).collect();
        let mut sorted: Vec<Vec<u8>> = Vec::new();
        let index = &table.indexes[index];
        for row in &all {
            let mut entry = Vec::new();
            index.format.encode_key(row, &[], &mut entry).unwrap();
            sorted.push(entry);
        }
        sorted.sort();
        assert!(keys == sorted, "{what}: keys of {}", index.name);
    }
}

fn update(transaction: &mut Transaction, table: &Arc<TableDef>, rows: &mut Rows, id: i64, change: i64) {
    let new = values(table, id, change);
    let old = &rows[&id];
    transaction.update(table, &key(table, old), old, &new).unwrap();
    rows.insert(id, new);
}

#[test]
fn a_transaction_of_many_times_its_memory_is_as_any_other() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let engine = open_with(&env, Some(100 << 10));
    let table = create(&engine, &keyed_spec());
    let mut expected = Rows::new();
    transact(&engine, |transaction| {
        (0..2000).try_for_each(|id| {
            expected.insert(id, values(&table, id, 0));
            transaction.insert(&table, &expected[&id]).map(drop)
        })
    })
    .unwrap();
    let committed = expected.clone();
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    let on_disk = env.space_used();
    let mut ids: Vec<i64> = (2000..10_000).collect();
    ids.shuffle(&mut random);
    for &id in &ids {
        let row = values(&table, id, 0);
        transaction.insert(&table, &row).unwrap();
        expected.insert(id, row);
    }
    assert!(env.space_used() > on_disk + (1 << 20), "it is on disk");
    assert!(engine.store.memory_lent() > 0);
    verify(&mut transaction, &table, &expected, "inserted");
    // A statement does not see its own writes, wherever they are by now.
    let mark = transaction.begin_statement();
    let shown = transaction.view();
    let before: Vec<Vec<Value>> = expected.values().cloned().collect();
    ids.extend(0..2000);
    ids.shuffle(&mut random);
    for &id in &ids[..5000] {
        update(&mut transaction, &table, &mut expected, id, 300);
    }
    assert!(rows(&shown, &table) == before, "the statement's view");
    drop(shown);
    verify(&mut transaction, &table, &expected, "updated");
    let savepoint = transaction.savepoint();
    let kept = expected.clone();
    for (at, id) in ids.iter().enumerate() {
        let old = &expected[id];
        assert!(transaction.delete(&table, &key(&table, old), old).unwrap());
        expected.remove(id);
        if at == 4000 {
            verify(&mut transaction, &table, &expected, "partly deleted");
        }
    }
    verify(&mut transaction, &table, &expected, "deleted");
    transaction.rollback_to(savepoint);
    expected = kept;
    verify(&mut transaction, &table, &expected, "rolled back to a savepoint");
    for &id in &ids[3000..4000] {
        update(&mut transaction, &table, &mut expected, id, 600);
    }
    let failed = transaction.insert(&table, &values(&table, ids[0], 900));
    assert!(matches!(failed, Err(TableError::DuplicateEntry { .. })));
    verify(&mut transaction, &table, &expected, "written again");
    let others = view(&engine);
    assert!(
        rows(&others, &table) == committed.values().cloned().collect::<Vec<_>>(),
        "others see none of it"
    );
    drop(others);
    transaction.commit().unwrap();
    assert!(mark < savepoint);
    let check = |engine: &Arc<Engine>| {
        let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
        verify(&mut reader, &table, &expected, "committed");
        assert_eq!(engine.row_count(table.id), expected.len() as u64);
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    };
    check(&engine);
    let copy = env.snapshot();
    engine.close().unwrap();
    assert_eq!(engine.store.memory_lent(), engine.stats().history_borrowed);
    assert!(env.list("temp").unwrap().is_empty());
    copy.cut(seed);
    check(&open_with(&copy, None));
}

#[test]
fn on_a_full_disk_the_statement_fails_and_the_transaction_goes_on() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env, Some(64 << 10));
    let table = create(&engine, &keyed_spec());
    let mut expected = Rows::new();
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    let insert = |transaction: &mut Transaction, ids: std::ops::Range<i64>, rows: &mut Rows| {
        let mark = transaction.begin_statement();
        let mut inserted = Rows::new();
        let result = ids.into_iter().try_for_each(|id| {
            inserted.insert(id, values(&table, id, 0));
            transaction.insert(&table, &inserted[&id]).map(drop)
        });
        match &result {
            Ok(()) => rows.append(&mut inserted),
            Err(_) => transaction.rollback_statement(mark),
        }
        result
    };
    insert(&mut transaction, 0..2000, &mut expected).unwrap();
    // The views that reading by other indexes needs exist already.
    verify(&mut transaction, &table, &expected, "with room");
    env.set_space_limit(Some(env.space_used() + (300 << 10)));
    let failed = insert(&mut transaction, 2000..20_000, &mut expected).unwrap_err();
    assert!(matches!(failed, TableError::Storage(StorageError::DiskFull)), "{failed}");
    assert_eq!(leafline_types::MysqlError::from(failed).code, 1021);
    verify(&mut transaction, &table, &expected, "after the failure");
    // The rollback of the failed statement has made room in memory.
    insert(&mut transaction, 2000..2040, &mut expected).unwrap();
    verify(&mut transaction, &table, &expected, "another statement");
    env.set_space_limit(None);
    insert(&mut transaction, 5000..9000, &mut expected).unwrap();
    verify(&mut transaction, &table, &expected, "with room");
    transaction.commit().unwrap();
    let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    verify(&mut reader, &table, &expected, "committed");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn a_pool_that_lends_nothing_makes_it_slower_but_not_wrong() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env, None);
    let table = create(&engine, &keyed_spec());
    let others = engine.store.borrow_memory(engine.store.memory_limit()).unwrap();
    let mut expected = Rows::new();
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    for id in 0..3000 {
        let row = values(&table, id, 0);
        transaction.insert(&table, &row).unwrap();
        expected.insert(id, row);
    }
    assert!(!env.list("temp").unwrap().is_empty());
    assert_eq!(engine.store.memory_lent(), others.bytes());
    verify(&mut transaction, &table, &expected, "without memory");
    transaction.commit().unwrap();
    let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    verify(&mut reader, &table, &expected, "committed");
}

#[test]
fn unique_keys_that_are_new_are_not_looked_for_on_disk() {
    let seed = seed();
    let env = SimulatedEnv::new();
    // Room for the filters besides the locks.
    let store = StoreOptions { buffer_pool_bytes: 8 << 20, ..options().store };
    let options = EngineOptions { store, transaction_memory_bytes: Some(100 << 10), ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let table = create(&engine, &keyed_spec());
    let mut ids: Vec<i64> = (0..8000).collect();
    ids.shuffle(&mut SmallRng::seed_from_u64(seed));
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    let before = env.counts().reads;
    for &id in &ids {
        transaction.insert(&table, &values(&table, id, 0)).unwrap();
    }
    // Merging reads, too.
    let reads = env.counts().reads - before;
    assert!(reads < 2000, "seed {seed}: {reads} reads");
    for &id in ids.iter().step_by(50) {
        // Another primary key with the same unique key.
        let mut row = values(&table, id, 0);
        row[0] = Value::Int(10_000 + id);
        let failed = transaction.insert(&table, &row);
        assert!(matches!(failed, Err(TableError::DuplicateEntry { index, .. }) if index == "a"));
    }
}

#[test]
fn small_transactions_borrow_nothing_and_write_no_file() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env, None);
    let table = create(&engine, &keyed_spec());
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    (0..20).for_each(|id| drop(transaction.insert(&table, &values(&table, id, 0)).unwrap()));
    assert_eq!(engine.store.memory_lent(), 0);
    assert!(!env.exists("temp").unwrap());
    // Larger transactions borrow and return memory.
    (20..1000).for_each(|id| drop(transaction.insert(&table, &values(&table, id, 0)).unwrap()));
    assert!(engine.store.memory_lent() > 100 << 10);
    assert!(!env.exists("temp").unwrap());
    transaction.rollback();
    assert_eq!(engine.store.memory_lent(), 0);
}

#[test]
fn damage_in_a_file_is_an_error() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env, Some(64 << 10));
    let table = create(&engine, &keyed_spec());
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    (0..3000).for_each(|id| drop(transaction.insert(&table, &values(&table, id, 0)).unwrap()));
    for name in env.list("temp").unwrap() {
        env.damage(&format!("temp/{name}"), 0, &mut |block| block[9] ^= 1).unwrap();
    }
    transaction.begin_statement();
    let view = transaction.view();
    let failed = scan(&view, &table, 0, &[0], Direction::Forward);
    assert!(matches!(failed, Err(TableError::Corrupt(_))));
    assert!(matches!(transaction.commit(), Err(TableError::Corrupt(_))));
    let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    verify(&mut reader, &table, &Rows::new(), "nothing was changed");
}
