//! What transactions make grow counts in the buffer pool's size, or goes where it does not count.

use crate::catalog::TableDef;
use crate::engine::{Engine, EngineOptions};
use crate::error::TableError;
use crate::testing::*;
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

/// Runs `work`; returns what was lent at most while a commit was applied.
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
    assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
}
