//! Everything that grows with transactions counts in the buffer pool's size, or goes to files.

use crate::catalog::TableDef;
use crate::engine::Engine;
use crate::error::TableError;
use crate::lock::{LockStrength, LockWait};
use crate::options::EngineOptions;
use crate::testing::*;
use crate::txn::{Isolation, Transaction, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StoreOptions};
use leafline_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn open_with(env: &SimulatedEnv) -> Arc<Engine> {
    let store = StoreOptions { buffer_pool_bytes: 8 << 20, ..options().store };
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, EngineOptions { store, ..options() }).unwrap()
}

fn values(table: &TableDef, id: i64) -> Vec<Value> {
    row(table, &[Some(id), Some(id * 7919 % 1_000_003), Some(id % 700), Some(id % 90)])
}

fn insert(engine: &Arc<Engine>, table: &Arc<TableDef>, ids: std::ops::Range<i64>) -> Result<(), TableError> {
    transact(engine, |transaction| {
        ids.into_iter().try_for_each(|id| transaction.insert(table, &values(table, id)).map(drop))
    })
}

/// Runs `work`. Returns the maximum memory lent while a commit was applied.
fn lent_in_commit(engine: &Arc<Engine>, work: impl FnOnce()) -> u64 {
    let most = Arc::new(AtomicU64::new(0));
    let (seen, store) = (most.clone(), engine.store.clone());
    *engine.observer.lock() = Some(Arc::new(move || {
        seen.fetch_max(store.memory_lent(), Ordering::Relaxed);
    }));
    work();
    *engine.observer.lock() = None;
    most.load(Ordering::Relaxed)
}

#[test]
fn the_operations_of_a_commit_are_borrowed_or_sorted_on_disk() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env);
    let table = create(&engine, &keyed_spec());
    let lent = lent_in_commit(&engine, || insert(&engine, &table, 0..20).unwrap());
    assert_eq!(lent, 0, "few");
    let mut lent_before = 0;
    let lent = lent_in_commit(&engine, || {
        transact(&engine, |transaction| {
            (20..1000).try_for_each(|id| transaction.insert(&table, &values(&table, id)).map(drop))?;
            lent_before = engine.store.memory_lent();
            Ok(())
        })
        .unwrap();
    });
    assert!(lent >= lent_before + (512 << 10), "{lent_before} bytes, then {lent}");
    assert!(!env.exists("commits").unwrap(), "in one record");
    assert_eq!(engine.store.memory_lent(), 0);
    // The pool lends nothing.
    let others = engine.store.borrow_memory(engine.store.memory_limit()).unwrap();
    let lent = lent_in_commit(&engine, || insert(&engine, &table, 1000..2000).unwrap());
    assert_eq!(lent, others.bytes());
    assert!(env.exists("commits").unwrap(), "by reference");
    drop(others);
    let expected: Vec<Vec<Value>> = (0..2000).map(|id| values(&table, id)).collect();
    assert_eq!(rows(&view(&engine), &table), expected);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn locks_are_borrowed_and_given_back() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env);
    let table = create(&engine, &keyed_spec());
    let lock = |transaction: &mut Transaction, keys: std::ops::Range<u64>| {
        let locker = transaction.row_locker();
        keys.into_iter().try_for_each(|key| {
            locker.lock_key(&table, &key.to_be_bytes(), LockStrength::Update, LockWait::NoWait)
        })
    };
    let begin = || engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    let (mut small, mut large) = (begin(), begin());
    lock(&mut small, 0..3000).unwrap();
    assert_eq!(engine.stats().locks.borrowed, 0, "few");
    lock(&mut large, 5000..25_000).unwrap();
    let stats = engine.stats().locks;
    assert!(stats.borrowed >= 19_000 * 64, "{stats:?}");
    assert_eq!(stats.borrowed, engine.store.memory_lent());
    // The pool lends nothing any more. Both have an intention lock on the table, so that neither can lock all
    // of it.
    let left = engine.store.memory_limit() - engine.store.memory_lent();
    let others = engine.store.borrow_memory(left).unwrap();
    let failed = lock(&mut large, 30_000..60_000).unwrap_err();
    assert!(matches!(failed, TableError::LockTableFull), "{failed}");
    assert_eq!(leafline_types::MysqlError::from(failed).code, 1206);
    let held = engine.stats().locks.held;
    assert!((23_000..60_000).contains(&held), "{held}");
    // With memory the statement goes on.
    drop(others);
    lock(&mut large, 30_000..31_000).unwrap();
    engine.maintenance().purge().unwrap();
    assert!(engine.stats().locks.borrowed >= stats.borrowed, "still needed");
    drop(large);
    assert!(engine.stats().locks.borrowed >= stats.borrowed, "not at once");
    engine.maintenance().purge().unwrap();
    assert_eq!((engine.stats().locks.borrowed, engine.store.memory_lent()), (0, 0));
    // The remaining memory is as before.
    let mut other = begin();
    assert!(matches!(lock(&mut other, 2999..3000), Err(TableError::LockNotAvailable)));
    drop(small);
    lock(&mut other, 0..31_000).unwrap();
    assert!(engine.stats().locks.borrowed > 0);
}
