//! Commits on a disk that is full, or has just enough space for them, or just too little: they are rejected
//! beforehand or made whole.

use crate::engine::Engine;
use crate::options::EngineOptions;
use crate::testing::*;
use crate::txn::Transaction;
use crate::{TableDef, TableError};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, Reservation, StorageError};
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn open_with(env: &SimulatedEnv, options: EngineOptions) -> Arc<Engine> {
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    // Makes the log large enough.
    drop(engine.store.reserve(0, 2 << 20).unwrap());
    engine
}

fn values(table: &TableDef, id: i64, number: i64) -> Vec<Value> {
    row(table, &[Some(id), Some(id), Some(number % 1000), Some(number)])
}

fn key_of(table: &TableDef, row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    table.clustered().format.encode_key(row, &[], &mut key).unwrap();
    key
}

/// Takes all space: the file cannot grow, and nobody gets a free page of it. The last reservations are single
/// pages.
fn take_all(env: &SimulatedEnv, engine: &Engine) -> Vec<Reservation> {
    env.set_space_limit(Some(env.space_used()));
    let mut single: Vec<_> = (0..40).map_while(|_| engine.store.reserve(1, 0).ok()).collect();
    let mut taken = Vec::new();
    for pages in [64, 16, 4, 1] {
        taken.extend(std::iter::from_fn(|| engine.store.reserve(pages, 0).ok()));
    }
    taken.append(&mut single);
    taken
}

fn is_full(error: &TableError) -> bool {
    matches!(error, TableError::Storage(StorageError::DiskFull))
}

fn top_ups(engine: &Engine) -> u64 {
    engine.store.stats().reservation_top_ups.load(Ordering::Relaxed)
}

/// By the estimate, many small rows scattered over several indexes need up to a page each. In fact they take
/// a few, because ghosts are longer than packed entries.
#[test]
fn many_small_rows_are_deleted_and_updated_with_few_free_pages() {
    /// The number for 1600 and 2000 operations.
    const FEW: usize = 20;
    for options in [options(), by_reference_options()] {
        let by_reference = options.inline_commit_bytes.is_some();
        let seed = seed();
        let mut random = SmallRng::seed_from_u64(seed);
        let env = SimulatedEnv::new();
        let engine = open_with(&env, options);
        let table = create(&engine, &keyed_spec());
        let mut ids: Vec<i64> = (0..8000).collect();
        ids.shuffle(&mut random);
        for part in ids.chunks(40) {
            transact(&engine, |transaction| {
                part.iter().try_for_each(|id| transaction.insert(&table, &values(&table, *id, *id)).map(drop))
            })
            .unwrap();
        }
        let before = rows(&view(&engine), &table);
        let mut taken = take_all(&env, &engine);
        if by_reference {
            // Space for their file, but not for an extent.
            env.set_space_limit(Some(env.space_used() + (256 << 10) - 1));
        }
        let few = taken.split_off(taken.len() - FEW);
        drop(few);
        let topped_up = top_ups(&engine);
        transact(&engine, |transaction| {
            before
                .iter()
                .step_by(20)
                .try_for_each(|row| transaction.delete(&table, &key_of(&table, row), row).map(drop))
        })
        .unwrap_or_else(|error| panic!("seed {seed}, by reference {by_reference}: {error}"));
        transact(&engine, |transaction| {
            before.iter().skip(1).step_by(20).try_for_each(|row| {
                let Value::Int(id) = row[0] else { unreachable!() };
                let mut new = row.clone();
                new[1] = Value::Int(id + 10_000);
                transaction.update(&table, &key_of(&table, row), row, &new).map(drop)
            })
        })
        .unwrap_or_else(|error| panic!("seed {seed}, by reference {by_reference}: {error}"));
        assert_eq!(top_ups(&engine), topped_up, "seed {seed}");
        engine.maintenance().purge().unwrap();
        assert_eq!(rows(&view(&engine), &table).len(), 7600, "seed {seed}");
        drop(taken);
        env.set_space_limit(None);
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
    }
}

type Model = BTreeMap<i64, Vec<Value>>;

/// Inserts, updates and deletes some rows. Returns the contents afterwards.
fn change(
    random: &mut SmallRng,
    table: &Arc<TableDef>,
    model: &Model,
    transaction: &mut Transaction,
) -> Result<Model, TableError> {
    let mut model = model.clone();
    let base = random.random_range(0..4000);
    let (wide, deletes) = (random.random_bool(0.6), random.random_range(0..10));
    for n in 0..random.random_range(1..250) {
        let id = if wide { random.random_range(0..4000) } else { base + n };
        let new = values(table, id, random.random_range(0..100_000));
        match model.get(&id).cloned() {
            None => drop(transaction.insert(table, &new)?),
            Some(old) if random.random_range(0..10) < deletes => {
                transaction.delete(table, &key_of(table, &old), &old)?;
                model.remove(&id);
                continue;
            }
            Some(old) => drop(transaction.update(table, &key_of(table, &old), &old, &new)?),
        }
        model.insert(id, new);
    }
    Ok(model)
}

/// A page less than a commit needs is left, and then exactly what it needs.
#[test]
fn a_commit_is_refused_for_want_of_one_page_and_made_with_it() {
    let (mut refusals, mut tight) = (0, 0);
    for options in [options(), by_reference_options(), buffering_options()] {
        let by_reference = options.inline_commit_bytes.is_some();
        let is_buffered = options.force_change_buffering;
        let seed = seed();
        let mut random = SmallRng::seed_from_u64(seed);
        let env = SimulatedEnv::new();
        let engine = open_with(&env, options);
        let table = create(&engine, &keyed_spec());
        let mut model = Model::new();
        for round in 0..40 * scale() {
            let mut taken = take_all(&env, &engine);
            if by_reference {
                env.set_space_limit(Some(env.space_used() + (256 << 10) - 1));
            }
            let (topped_up, changes) = (top_ups(&engine), random.clone());
            loop {
                let mut after = Model::new();
                random = changes.clone();
                let result = transact(&engine, |transaction| {
                    after = change(&mut random, &table, &model, transaction)?;
                    Ok(())
                });
                match result {
                    Ok(()) => {
                        model = after;
                        break;
                    }
                    Err(error) => assert!(is_full(&error), "seed {seed}, round {round}: {error}"),
                }
                refusals += 1;
                // One more page, or the space beyond all existing extents.
                if taken.pop().is_none() {
                    env.set_space_limit(Some(env.space_used() + (2 << 20)));
                }
            }
            tight += u64::from(!taken.is_empty());
            if !is_buffered {
                assert_eq!(top_ups(&engine), topped_up, "seed {seed}, round {round}");
            }
            env.set_space_limit(None);
            drop(taken);
            if round % 4 == 0 {
                engine.maintenance().purge().unwrap();
            }
        }
        let expected: Vec<Vec<Value>> = model.into_values().collect();
        assert_eq!(rows(&view(&engine), &table), expected, "seed {seed}");
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
        drop(engine);
        env.cut(seed);
        assert_eq!(rows(&view(&open(&env)), &table), expected, "seed {seed}");
    }
    assert!(refusals > 20 && tight > 20, "{refusals} refusals, {tight} with pages left");
}

/// Threads that write the same leaves, and a purge, while space appears and disappears.
#[test]
fn threads_on_a_disk_with_little_left_are_refused_or_served_and_never_stop_the_store() {
    let seed = seed();
    let env = SimulatedEnv::new();
    let engine = open_with(&env, options());
    let table = create(&engine, &keyed_spec());
    let (served, refused, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let models: Vec<Model> = std::thread::scope(|scope| {
        let writer = |number: i64| {
            let (engine, table, served, refused) = (&engine, &table, &served, &refused);
            move || {
                let mut random = SmallRng::seed_from_u64(seed + number as u64);
                let mut model = Model::new();
                for _ in 0..150 * scale() {
                    let mut after = Model::new();
                    let result = transact(engine, |transaction| {
                        after = model.clone();
                        for _ in 0..random.random_range(1..60) {
                            let id = random.random_range(0..3000) * 3 + number;
                            let new = values(table, id, random.random_range(0..100_000));
                            match after.get(&id).cloned() {
                                None => drop(transaction.insert(table, &new)?),
                                Some(old) if random.random_bool(0.4) => {
                                    transaction.delete(table, &key_of(table, &old), &old)?;
                                    after.remove(&id);
                                    continue;
                                }
                                Some(old) => {
                                    drop(transaction.update(table, &key_of(table, &old), &old, &new)?)
                                }
                            }
                            after.insert(id, new);
                        }
                        Ok(())
                    });
                    match result {
                        Ok(()) => {
                            served.fetch_add(1, Ordering::Relaxed);
                            model = after;
                        }
                        Err(error) => {
                            assert!(is_full(&error), "seed {seed}: {error}");
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                model
            }
        };
        let writers: Vec<_> = (0..3).map(|number| scope.spawn(writer(number))).collect();
        scope.spawn(|| {
            let mut random = SmallRng::seed_from_u64(seed);
            while !over.load(Ordering::Relaxed) {
                let mut taken = take_all(&env, &engine);
                taken.truncate(taken.len().saturating_sub(random.random_range(0..20)));
                engine.maintenance().purge().unwrap();
                std::thread::yield_now();
                drop(taken);
                env.set_space_limit(Some(env.space_used() + random.random_range(0..3) * (256 << 10)));
            }
        });
        let models = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        models
    });
    env.set_space_limit(None);
    let expected: BTreeMap<i64, Vec<Value>> = models.into_iter().flatten().collect();
    assert_eq!(rows(&view(&engine), &table), expected.into_values().collect::<Vec<_>>(), "seed {seed}");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
    let (served, refused) = (served.into_inner(), refused.into_inner());
    assert!(served > 10, "seed {seed}: {served} served, {refused} refused");
    println!("{served} served, {refused} refused");
}
