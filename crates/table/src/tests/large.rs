//! Large commits: their reservations suffice, and they may be larger than the log.

use crate::engine::Engine;
use crate::options::EngineOptions;
use crate::testing::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, OpenMode, StoreOptions};
use leafline_types::{SqlType, Value};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

fn open_with(env: &SimulatedEnv, log: u64) -> Arc<Engine> {
    let store = StoreOptions { log_capacity_bytes: log, buffer_pool_bytes: 8 << 20, ..options().store };
    let options = EngineOptions { store, ..options() };
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap()
}

#[test]
fn reservations_suffice_for_any_pattern_of_keys() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let engine = open_with(&env, 64 << 20);
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
        // Every other row grows, shrinks or is deleted.
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
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        if round % 3 == 0 {
            engine.maintenance().purge().unwrap();
        }
    }
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
}

/// A full disk is reported beforehand, but not because space was reserved several times over.
#[test]
fn the_file_has_little_more_room_than_commits_can_take() {
    let env = SimulatedEnv::new();
    let engine = open_with(&env, 64 << 20);
    let columns = || {
        vec![
            column("id", int(), false),
            column("b", SqlType::Varbinary { len: 1000 }, false),
            column("c", int(), false),
        ]
    };
    let indexes = || {
        vec![
            index(crate::IndexSpecKind::Primary, "", &["id"]),
            index(crate::IndexSpecKind::Plain, "c", &["c"]),
        ]
    };
    let tables: Vec<_> =
        (0..12).map(|number| create(&engine, &spec(&format!("t{number}"), columns(), indexes()))).collect();
    let mut next = 0;
    let mut insert = |rows: i64| {
        for table in &tables {
            transact(&engine, |transaction| {
                (next..next + rows).try_for_each(|id| {
                    let row = [Value::Int(id), Value::bytes(vec![7; 900]), Value::Int(id * 7919 % 1_000_003)];
                    transaction.insert(table, &row).map(drop)
                })
            })
            .unwrap();
        }
        next += rows;
    };
    let room = || {
        let used: u64 = engine.store.segments().iter().map(|segment| segment.pages).sum();
        let file = env.open("data", OpenMode::Existing).unwrap().size().unwrap();
        file as i64 - (used * engine.store.page_size() as u64) as i64
    };
    for _ in 0..100 {
        insert(1);
    }
    // An extent for each tree, and some for the next commit.
    let few = (12 * 2 + 16) << 20;
    assert!(room() < few, "{} bytes", room());
    insert(4000);
    let bytes = 4000 * 950;
    assert!(room() < few + 2 * bytes, "{} bytes", room());
}

/// Inserts, updates and deletes many times the size of the log, on a small pool, are made whole.
#[test]
fn a_commit_larger_than_log_and_pool_is_made() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let store = StoreOptions { log_capacity_bytes: 1 << 20, ..options().store };
    let options = EngineOptions { store, ..options() };
    let open = || Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone()).unwrap();
    let engine = open();
    let table = create(&engine, &keyed_spec());
    let values = |id: i64, c: i64| row(&table, &[Some(id), Some(id * 7919 % 1_000_003), Some(id), Some(c)]);
    let mut ids: Vec<i64> = (0..15_000).collect();
    ids.shuffle(&mut random);
    let logged = engine.store.log_end();
    transact(&engine, |transaction| {
        ids.iter().try_for_each(|&id| transaction.insert(&table, &values(id, id % 100)).map(drop))
    })
    .unwrap();
    let more = engine.store.log_end().0 - logged.0;
    assert!(more > 2 << 20, "{more} bytes of log");
    assert!(env.list("commits").unwrap().is_empty());
    assert_eq!(engine.row_count(table.id), 15_000);
    let before = view(&engine);
    let all = rows(&before, &table);
    let key = |old: &[Value]| {
        let mut key = Vec::new();
        table.clustered().format.encode_key(old, &[], &mut key).unwrap();
        key
    };
    transact(&engine, |transaction| {
        all.iter().enumerate().try_for_each(|(at, old)| match at % 3 {
            0 => transaction.delete(&table, &key(old), old).map(drop),
            1 => transaction.update(&table, &key(old), old, &values(at as i64, 1000)).map(drop),
            _ => Ok(()),
        })
    })
    .unwrap();
    assert_eq!(rows(&before, &table), all, "an old snapshot sees none of it");
    drop(before);
    let expected: Vec<Vec<Value>> = (0..15_000)
        .filter(|at| at % 3 != 0)
        .map(|at| values(at, if at % 3 == 1 { 1000 } else { at % 100 }))
        .collect();
    assert_eq!(rows(&view(&engine), &table), expected, "seed {seed}");
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
    drop(engine);
    env.cut(seed);
    let engine = open();
    assert_eq!(rows(&view(&engine), &table), expected, "seed {seed}");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
}

/// The power goes off during a commit many times the size of the log: it is there whole or not at all,
/// whatever happens in recovery.
#[test]
fn a_power_cut_in_a_large_commit_leaves_all_of_it_or_nothing() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let store = StoreOptions { log_capacity_bytes: 512 << 10, ..options().store };
    let options = EngineOptions { store, ..options() };
    let open = |env: &SimulatedEnv| Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone());
    let base = SimulatedEnv::new();
    let engine = open(&base).unwrap();
    let table = create(&engine, &keyed_spec());
    engine.close().unwrap();
    drop(engine);
    let values = |id: i64| row(&table, &[Some(id), Some(id * 7919 % 1_000_003), Some(id), Some(id % 50)]);
    const ROWS: usize = 3_000;
    let commit = |env: &SimulatedEnv| {
        open(env).and_then(|engine| {
            transact(&engine, |transaction| {
                (0..ROWS as i64).try_for_each(|id| transaction.insert(&table, &values(id)).map(drop))
            })
        })
    };
    let whole = base.snapshot();
    let before = whole.counts().changes();
    commit(&whole).unwrap();
    let changes = whole.counts().changes() - before;
    let (mut nothing, mut all) = (0, 0);
    for round in 0..24 * scale() {
        let env = base.snapshot();
        // The first cut comes before everything, the others seldom before the commit's record.
        let at = if round == 0 { 0 } else { random.random_range(0..changes) };
        env.power_cut_after(at);
        let acknowledged = commit(&env).is_ok();
        env.reboot(random.random());
        let what = format!("seed {seed}, round {round}, cut at {at}");
        for _ in 0..random.random_range(0..3) {
            env.power_cut_after(random.random_range(0..200));
            drop(open(&env));
            env.reboot(random.random());
        }
        let engine = open(&env).unwrap();
        let found = rows(&view(&engine), &table).len();
        assert!(found == ROWS || (found == 0 && !acknowledged), "{what}: {found} rows");
        if found == 0 {
            nothing += 1
        } else {
            all += 1
        }
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "{what}");
        assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
        assert_eq!(engine.row_count(table.id), found as u64, "{what}");
    }
    assert!(nothing > 0 && all > 0, "seed {seed}: {nothing} without, {all} with the commit");
}
