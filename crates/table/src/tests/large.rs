//! Large commits: what is reserved for them suffices, and those that are too large are refused before anything is
//! changed.

use crate::engine::{Engine, EngineOptions};
use crate::testing::*;
use crate::{Direction, Isolation, TableError, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StoreOptions};
use leafline_types::{SqlType, Value};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

fn open_with(env: &SimulatedEnv, log: u64, memory: u64) -> Arc<Engine> {
    let store = StoreOptions { log_capacity_bytes: log, buffer_pool_bytes: 8 << 20, ..options().store };
    let options = EngineOptions { store, transaction_memory_bytes: memory, ..options() };
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap()
}

#[test]
fn reservations_suffice_for_any_pattern_of_keys() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let engine = open_with(&env, 64 << 20, 64 << 20);
    let columns = vec![
        column("id", int(), false),
        column("b", SqlType::Varbinary { len: 1900 }, false),
        column("c", SqlType::Varbinary { len: 700 }, false),
    ];
    let indexes = vec![
        index(crate::IndexSpecKind::Primary, "", &["id"]),
        index(crate::IndexSpecKind::Plain, "c", &["c"]),
    ];
    let table = create(&engine, &spec("t", columns, indexes));
    let mut ids: Vec<i64> = (0..12_000).collect();
    ids.shuffle(&mut random);
    let mut next = ids.into_iter();
    for round in 0..12 {
        // Few large entries, many small ones, or both; in one place, spread out, ascending or descending.
        let (count, largest) = [(20, 1800), (600, 60), (150, 400)][round % 3];
        let mut part: Vec<i64> = next.by_ref().take(count).collect();
        match round % 4 {
            0 => part.sort_unstable(),
            1 => part.sort_unstable_by(|a, b| b.cmp(a)),
            2 => part = (0..count as i64).map(|at| 1_000_000 * round as i64 + at).collect(),
            _ => {}
        }
        let bytes = |random: &mut SmallRng, most: usize| {
            let mut bytes = vec![0; random.random_range(0..=most)];
            random.fill(&mut bytes[..]);
            Value::bytes(bytes)
        };
        transact(&engine, |transaction| {
            part.iter().try_for_each(|&id| {
                let (b, c) = (bytes(&mut random, largest), bytes(&mut random, largest.min(240)));
                transaction.insert(&table, &[Value::Int(id), b, c]).map(drop)
            })
        })
        .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        // Every other row grows, shrinks or goes.
        let before = rows(&view(&engine), &table);
        transact(&engine, |transaction| {
            before.iter().step_by(2).take(count).try_for_each(|old| {
                let mut key = Vec::new();
                table.clustered().format.encode_key(old, &[], &mut key)?;
                if random.random_range(0..3) == 0 {
                    return transaction.delete(&table, &key, old).map(drop);
                }
                let new = [old[0].clone(), bytes(&mut random, largest), bytes(&mut random, largest.min(240))];
                transaction.update(&table, &key, old, &new).map(drop)
            })
        })
        .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        if round % 3 == 0 {
            engine.purge().unwrap();
        }
    }
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn what_is_too_large_is_refused_and_changes_nothing() {
    for (log, memory) in [(4 << 20, 64 << 20), (64 << 20, 100 << 10)] {
        let env = SimulatedEnv::new();
        let engine = open_with(&env, log, memory);
        let table = create(&engine, &keyed_spec());
        let values = |id: i64| row(&table, &[Some(id), None, Some(id), Some(id)]);
        let mut count = 100;
        let refused = loop {
            let mut transaction = engine.begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
            let inserted = (0..count).try_for_each(|id| transaction.insert(&table, &values(id)).map(drop));
            let result = inserted.and_then(|()| transaction.commit().map(drop));
            if let Err(error) = result {
                break error;
            }
            let all = rows(&view(&engine), &table);
            assert_eq!(all.len() as i64, count);
            transact(&engine, |transaction| {
                all.iter().try_for_each(|old| {
                    let mut key = Vec::new();
                    table.clustered().format.encode_key(old, &[], &mut key)?;
                    transaction.delete(&table, &key, old).map(drop)
                })
            })
            .unwrap();
            count *= 2;
        };
        assert!(matches!(refused, TableError::TransactionTooLarge { .. }), "{refused}");
        assert!(rows(&view(&engine), &table).is_empty());
        transact(&engine, |transaction| transaction.insert(&table, &values(1)).map(drop)).unwrap();
        assert_eq!(scan(&view(&engine), &table, 3, &[], Direction::Forward).unwrap().len(), 1);
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
    }
}
