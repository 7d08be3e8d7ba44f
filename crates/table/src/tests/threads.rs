//! Several threads: transfers between accounts, and readers that must always find the same total.

use crate::engine::Engine;
use crate::options::EngineOptions;
use crate::testing::*;
use crate::{Direction, Isolation, TableError, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StoreOptions};
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ACCOUNTS: i64 = 40;
const EACH: i64 = 1000;

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_snapshot_has_the_same_total() {
    let seed = seed();
    let env = SimulatedEnv::new();
    let store = StoreOptions { background: true, io_threads: 2, ..options().store };
    let options = EngineOptions { store, ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let table = create(&engine, &keyed_spec());
    let values = |id: i64, balance: i64| row(&table, &[Some(id), None, Some(id % 5), Some(balance)]);
    transact(&engine, |transaction| {
        (0..ACCOUNTS).try_for_each(|id| transaction.insert(&table, &values(id, EACH)).map(drop))
    })
    .unwrap();
    let (done, reads, conflicts) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let transfers = 150 * scale();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|thread| {
                let (engine, table, values, conflicts) = (&engine, &table, &values, &conflicts);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(seed ^ thread);
                    let mut left = transfers;
                    'next: while left > 0 {
                        let mut transaction =
                            engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
                        let all = rows(&transaction.view(), table);
                        let (from, to) =
                            (random.random_range(0..all.len()), random.random_range(0..all.len()));
                        if from == to {
                            continue;
                        }
                        let amount = random.random_range(1..50);
                        for (at, amount) in [(from, -amount), (to, amount)] {
                            let old = &all[at];
                            let new = values(number(&old[0]), number(&old[3]) + amount);
                            let mut key = Vec::new();
                            table.clustered().format.encode_key(old, &[], &mut key).unwrap();
                            match transaction.update(table, &key, old, &new) {
                                Ok(_) => {}
                                Err(TableError::WriteConflict | TableError::Deadlock) => {
                                    conflicts.fetch_add(1, Ordering::Relaxed);
                                    continue 'next;
                                }
                                Err(other) => panic!("seed {seed}: {other}"),
                            }
                        }
                        transaction.commit().unwrap();
                        left -= 1;
                    }
                })
            })
            .collect();
        for thread in 0..2 {
            let (engine, table, done, reads) = (&engine, &table, &done, &reads);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(!seed ^ thread);
                while !done.load(Ordering::Relaxed) {
                    let view = view(engine);
                    for _ in 0..2 {
                        let index = [0, 2, 3][random.random_range(0..3)];
                        let direction = if random.random() { Direction::Forward } else { Direction::Reverse };
                        let found = scan(&view, table, index, &[3], direction).unwrap();
                        let total: i64 = found.iter().map(|(_, values)| number(&values[0])).sum();
                        assert_eq!((found.len() as i64, total), (ACCOUNTS, ACCOUNTS * EACH), "seed {seed}");
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let failed = writers.into_iter().map(|writer| writer.join()).find(Result::is_err);
        done.store(true, Ordering::Relaxed);
        assert!(failed.is_none(), "a writer failed");
    });
    assert_eq!(engine.stats().commits, 2 + 1 + 3 * transfers);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    engine.maintenance().purge().unwrap();
    let stats = engine.stats();
    assert_eq!((stats.versions, stats.snapshots), (0, 0));
    engine.close().unwrap();
}
