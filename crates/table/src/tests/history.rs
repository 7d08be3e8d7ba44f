//! Old versions and ghosts while a snapshot is held: their cost, and that none of them is left.

use crate::catalog::{IndexSpecKind, TableDef};
use crate::engine::Engine;
use crate::error::TableError;
use crate::options::EngineOptions;
use crate::read::{LocatorBatch, ReadView};
use crate::testing::*;
use crate::{Direction, Isolation, TxnMode};
use leafline_storage::device::{DirectoryEnv, Operation, SimulatedEnv};
use leafline_storage::{Env, FlushPolicy, StoreOptions};
use leafline_types::{MysqlError, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// `t (id INT PRIMARY KEY, b INT NOT NULL, KEY (b))` with `rows` rows `(id, 0)`.
fn filled(engine: &Arc<Engine>, rows: i64) -> Arc<TableDef> {
    let columns = vec![column("id", int(), false), column("b", int(), false)];
    let indexes = vec![index(IndexSpecKind::Primary, "", &["id"]), index(IndexSpecKind::Plain, "b", &["b"])];
    let table = create(engine, &spec("t", columns, indexes));
    for first in (0..rows).step_by(1000) {
        transact(engine, |transaction| {
            (first..(first + 1000).min(rows))
                .try_for_each(|id| transaction.insert(&table, &[Value::Int(id), Value::Int(0)]).map(drop))
        })
        .unwrap();
    }
    table
}

fn key_of(table: &TableDef, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    table.clustered().format.encode_key(&[Value::Int(id)], &[], &mut key).unwrap();
    key
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// Sets `b` of some rows, whose newest state is in `state`, in one commit.
fn set(engine: &Arc<Engine>, table: &Arc<TableDef>, state: &mut [i64], changes: &[(usize, i64)]) {
    transact(engine, |transaction| {
        changes.iter().try_for_each(|&(id, value)| {
            let old = [Value::Int(id as i64), Value::Int(state[id])];
            let new = [Value::Int(id as i64), Value::Int(value)];
            state[id] = value;
            transaction.update(table, &key_of(table, id as i64), &old, &new).map(drop)
        })
    })
    .unwrap();
}

/// Reads everything that a view shows, in every way.
fn verify(view: &ReadView, table: &Arc<TableDef>, state: &[i64], seed: u64) {
    let by_id = |(_, row): &(Vec<u8>, Vec<Value>)| (number(&row[0]), number(&row[1]));
    let expected: Vec<(i64, i64)> = (0..).zip(state.iter().copied()).collect();
    for index in 0..2 {
        for direction in [Direction::Forward, Direction::Reverse] {
            let found = scan(view, table, index, &[0, 1], direction).unwrap();
            let mut found: Vec<_> = found.iter().map(by_id).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "seed {seed}, index {index} {direction:?}");
        }
    }
    let decoder = crate::row_decoder(table, &[0, 1]).unwrap();
    let value_of = |key: &[u8], payload: &[u8]| {
        let mut values = Vec::new();
        decoder.decode_values(key, payload, &mut values).unwrap();
        number(&values[1])
    };
    let (mut locators, reader) = (LocatorBatch::new(), view.rows(table).unwrap());
    for (id, value) in &expected {
        locators.push(&key_of(table, *id));
        let found = reader.get(&key_of(table, *id), |row| row.map(|row| value_of(row.key, row.payload)));
        assert_eq!(found.unwrap(), Some(*value), "seed {seed}");
    }
    let mut fetched = Vec::new();
    let fetch = &mut |_, row: Option<crate::read::RowRef<'_>>| {
        fetched.push(row.map(|row| value_of(row.key, row.payload)));
    };
    view.fetch(table, &locators, fetch).unwrap();
    assert_eq!(fetched, state.iter().map(|value| Some(*value)).collect::<Vec<_>>(), "seed {seed}");
}

fn close_with_nothing_left(engine: &Engine, env: &SimulatedEnv, seed: u64) {
    // The versions that the background thread was about to write are gone too.
    engine.close().unwrap();
    let stats = engine.stats();
    assert_eq!((stats.versions, stats.spilled_versions, stats.purge_queue), (0, 0, 0), "seed {seed}");
    assert_eq!((stats.history_bytes, stats.history_borrowed), (0, 0), "seed {seed}");
    assert_eq!(engine.store.memory_lent(), 0, "seed {seed}");
    assert_eq!(env.list("temp").unwrap_or_default(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn held_snapshots_read_right_in_bounded_memory_and_leave_nothing() {
    const LIMIT: u64 = 256 << 10;
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let options = EngineOptions { version_memory_bytes: Some(LIMIT), ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let mut state = vec![0; 3000];
    let table = filled(&engine, state.len() as i64);
    let mut held = vec![(view(&engine), state.clone())];
    let mut spilled = false;
    let rounds = 400 * scale();
    for round in 0..rounds {
        let changes: BTreeSet<usize> =
            (0..60).map(|_| if random.random() { random.random_range(0..3000) } else { 7 }).collect();
        let changes: Vec<_> = changes.into_iter().map(|id| (id, random.random_range(1..1000))).collect();
        set(&engine, &table, &mut state, &changes);
        let stats = engine.stats();
        // The versions of one commit may come in addition.
        assert!(stats.history_bytes <= LIMIT + (32 << 10), "seed {seed}: {stats:?}");
        assert!(engine.store.memory_lent() <= LIMIT, "seed {seed}");
        spilled |= stats.spilled_versions > 0;
        if round % (rounds / 4) == rounds / 8 {
            held.push((view(&engine), state.clone()));
        }
        if round % (rounds / 6) == 0 {
            engine.maintenance().purge().unwrap();
            let (view, state) = &held[random.random_range(0..held.len())];
            verify(view, &table, state, seed);
        }
    }
    let stats = engine.stats();
    assert!(spilled && stats.version_spills > 3, "seed {seed}: {stats:?}");
    assert!(
        stats.versions + stats.spilled_versions <= 3000 * (held.len() as u64 + 4),
        "seed {seed}: {stats:?}"
    );
    while !held.is_empty() {
        for (view, state) in &held {
            verify(view, &table, state, seed);
        }
        held.swap_remove(random.random_range(0..held.len()));
        engine.maintenance().purge().unwrap();
    }
    close_with_nothing_left(&engine, &env, seed);
}

#[test]
fn without_room_for_files_the_oldest_snapshots_are_given_up_and_writers_go_on() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let options = EngineOptions { version_memory_bytes: Some(64 << 10), ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let mut state = vec![0; 3000];
    let table = filled(&engine, state.len() as i64);
    env.set_fault(Some(Arc::new(|operation, name, _| {
        operation == Operation::Write && name.starts_with("temp/")
    })));
    let mut writer = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    let old = view(&engine);
    verify(&old, &table, &state, seed);
    set(&engine, &table, &mut state, &[(0, 1)]);
    writer.snapshot();
    let mut fresh = None;
    for round in 0..60 {
        let changes: Vec<_> =
            (0..100).map(|at| ((round * 100 + at) % 3000, random.random_range(1..99))).collect();
        set(&engine, &table, &mut state, &changes);
        if engine.stats().snapshots_given_up < 2 {
            fresh = None;
        }
        fresh.get_or_insert_with(|| (view(&engine), state.clone()));
    }
    let stats = engine.stats();
    assert!(stats.snapshots_given_up >= 2 && stats.spilled_versions == 0, "seed {seed}: {stats:?}");
    let errors = [
        scan(&old, &table, 0, &[0], Direction::Forward).err(),
        scan(&old, &table, 1, &[0], Direction::Reverse).err(),
        old.rows(&table).unwrap().get(&key_of(&table, 1), |_| ()).err(),
        writer
            .update(
                &table,
                &key_of(&table, 2),
                &[Value::Int(2), Value::Int(0)],
                &[Value::Int(2), Value::Int(1)],
            )
            .err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(TableError::SnapshotTooOld)), "seed {seed}: {error:?}");
        assert_eq!(MysqlError::from(error.unwrap()).code, 1412);
    }
    verify(&view(&engine), &table, &state, seed);
    drop((old, writer, fresh));
    env.set_fault(None);
    close_with_nothing_left(&engine, &env, seed);
}

#[test]
fn ghosts_of_a_large_deletion_wait_in_files() {
    const LIMIT: u64 = 256 << 10;
    let seed = seed();
    let env = SimulatedEnv::new();
    let options = EngineOptions { version_memory_bytes: Some(LIMIT), ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let state = vec![0; 6000];
    let table = filled(&engine, state.len() as i64);
    let held = view(&engine);
    for first in (0..6000).step_by(500) {
        transact(&engine, |transaction| {
            (first..first + 500).try_for_each(|id| {
                transaction.delete(&table, &key_of(&table, id), &[Value::Int(id), Value::Int(0)]).map(drop)
            })
        })
        .unwrap();
        assert!(engine.stats().history_bytes <= LIMIT + (64 << 10), "seed {seed}: {:?}", engine.stats());
    }
    // Buffered changes list their ghosts when they reach their leaves.
    engine.maintenance().merge_changes().unwrap();
    let stats = engine.stats();
    assert!(stats.purge_queue == 12_000 && stats.purge_queue_file_bytes > 0, "seed {seed}: {stats:?}");
    verify(&held, &table, &state, seed);
    assert_eq!(rows(&view(&engine), &table).len(), 0);
    drop(held);
    close_with_nothing_left(&engine, &env, seed);
    assert_eq!(engine.stats().purge_forgotten, 0);
}

/// Writers, the background thread, a thread that spills all the time, and readers at snapshots of all ages.
#[test]
fn readers_of_any_age_agree_while_versions_move() {
    const ROWS: usize = 200;
    let seed = seed();
    let env = SimulatedEnv::new();
    let store = StoreOptions { background: true, io_threads: 2, ..options().store };
    let options = EngineOptions { store, version_memory_bytes: Some(40 << 10), ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    let table = filled(&engine, ROWS as i64);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Each writer has rows of its own, and sets all of them to one number in each commit.
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (engine, table) = (&engine, &table);
                scope.spawn(move || {
                    for value in 1..=(200 * scale() as i64) {
                        transact(engine, |transaction| {
                            (0..ROWS as i64 / 2).try_for_each(|at| {
                                let id = 2 * at + writer;
                                let old = [Value::Int(id), Value::Int(value - 1)];
                                let new = [Value::Int(id), Value::Int(value)];
                                transaction.update(table, &key_of(table, id), &old, &new).map(drop)
                            })
                        })
                        .unwrap();
                    }
                })
            })
            .collect();
        for reader in 0..2 {
            let (engine, table, done) = (&engine, &table, &done);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed ^ reader);
                let mut views: Vec<(ReadView, Vec<i64>)> = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let view = view(engine);
                    let found = rows(&view, table);
                    let state: Vec<i64> = found.iter().map(|row| number(&row[1])).collect();
                    assert!(state.iter().step_by(2).all(|value| *value == state[0]), "seed {seed}");
                    assert!(state.iter().skip(1).step_by(2).all(|value| *value == state[1]), "seed {seed}");
                    verify(&view, table, &state, seed);
                    views.push((view, state));
                    let (view, state) = &views[random.random_range(0..views.len())];
                    verify(view, table, state, seed);
                    if views.len() > 8 {
                        views.swap_remove(random.random_range(0..views.len()));
                    }
                }
            });
        }
        let (engine, done) = (&engine, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let needed = engine.clock.needed(engine.shown_lsn());
                engine.versions.spill(&needed).unwrap();
                engine.versions.merge_runs(&needed).unwrap();
                engine.maintenance().purge().unwrap();
            }
        });
        let failed = writers.into_iter().map(|writer| writer.join()).find(Result::is_err);
        done.store(true, Ordering::Relaxed);
        assert!(failed.is_none(), "a writer failed");
    });
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    close_with_nothing_left(&engine, &env, seed);
}

/// The memory of the process in kilobytes, if the system tells.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4
}

/// Sets column `b` of `count` random rows of `rows`, `batch` rows a commit. Returns the maximum memory of old
/// versions.
fn update_at_random(
    engine: &Arc<Engine>,
    table: &Arc<TableDef>,
    rows: i64,
    count: u64,
    batch: u64,
    seed: u64,
) -> u64 {
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut key, mut peak) = (Vec::new(), 0);
    for _ in 0..count / batch {
        let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
        transaction.begin_statement();
        let chosen: BTreeSet<i64> = (0..batch).map(|_| random.random_range(0..rows)).collect();
        for id in chosen {
            key.clear();
            table.clustered().format.encode_key(&[Value::Int(id)], &[], &mut key).unwrap();
            let row = transaction.view().rows(table).unwrap();
            let decoder = crate::row_decoder(table, &[0, 1]).unwrap();
            let old = row.get(&key, |row| {
                let (row, mut values) = (row.unwrap(), Vec::new());
                decoder.decode_values(row.key, row.payload, &mut values).unwrap();
                values
            });
            let old = old.unwrap();
            let new = vec![Value::Int(id), Value::Int(random.random_range(0..1_000_000))];
            transaction.update(table, &key, &old, &new).unwrap();
        }
        transaction.commit().unwrap();
        peak = peak.max(engine.history.used());
    }
    peak
}

/// Measures the cost of holding a snapshot, and checks that it stays within bounds; with `LEAFLINE_ROWS`,
/// `LEAFLINE_UPDATES`, `LEAFLINE_BATCH` and `LEAFLINE_POOL_MB`.
#[test]
#[ignore = "a measurement"]
fn updates_with_and_without_a_held_snapshot() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(default)
    };
    let (rows, updates) = (number("LEAFLINE_ROWS", 100_000), number("LEAFLINE_UPDATES", 300_000));
    let (batch, pool) = (number("LEAFLINE_BATCH", 100), number("LEAFLINE_POOL_MB", 16));
    for hold in [false, true, false, true] {
        let directory = std::env::temp_dir().join(format!("leafline-history-{}", std::process::id()));
        let env: Arc<dyn Env> = Arc::new(DirectoryEnv::open(&directory).unwrap());
        let store = StoreOptions {
            buffer_pool_bytes: pool << 20,
            flush_log_at_commit: FlushPolicy::EverySecond,
            ..StoreOptions::default()
        };
        let engine = Engine::open(env, EngineOptions { store, ..EngineOptions::default() }).unwrap();
        let columns = vec![column("id", int(), false), column("b", int(), false)];
        let table = create(&engine, &spec("t", columns, vec![index(IndexSpecKind::Primary, "", &["id"])]));
        for first in (0..rows).step_by(1000) {
            transact(&engine, |transaction| {
                (first..(first + 1000).min(rows)).try_for_each(|id| {
                    transaction.insert(&table, &[Value::Int(id as i64), Value::Int(0)]).map(drop)
                })
            })
            .unwrap();
        }
        let held = hold.then(|| view(&engine));
        let (begin, memory) = (Instant::now(), resident_kb());
        let peak = update_at_random(&engine, &table, rows as i64, updates, batch, 7);
        let took = begin.elapsed();
        let stats = engine.stats();
        eprintln!(
            "held {hold}: {:.0} updates/s, {} versions in {} KB of memory, {} in {} KB of {} files; at most {} KB; \
             the process grew by {} KB",
            updates as f64 / took.as_secs_f64(),
            stats.versions,
            stats.version_bytes >> 10,
            stats.spilled_versions,
            stats.spilled_version_bytes >> 10,
            stats.version_runs,
            peak >> 10,
            resident_kb().saturating_sub(memory),
        );
        assert!(peak <= stats.history_limit + (1 << 20), "{peak} {stats:?}");
        if let Some(held) = held {
            let begin = Instant::now();
            let found = super::super::testing::rows(&held, &table);
            assert_eq!(found.len() as u64, rows);
            assert!(found.iter().all(|row| row[1] == Value::Int(0)));
            eprintln!("  read by the held snapshot in {:?}", begin.elapsed());
        }
        engine.maintenance().purge().unwrap();
        let stats = engine.stats();
        assert_eq!((stats.versions, stats.spilled_versions, stats.history_bytes), (0, 0, 0));
        let temp = engine.env.list("temp").unwrap_or_default();
        assert_eq!(temp, Vec::<String>::new());
        engine.close().unwrap();
        drop(engine);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
