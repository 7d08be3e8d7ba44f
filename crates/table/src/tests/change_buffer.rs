//! The change buffer alone: what readers see while it fills, with threads and a small pool; sweeps; what DDL
//! leaves behind; switching it off; damage. The models, crashes and faults of the other tests run with it,
//! too (`buffering_options`).

use crate::catalog::TableDef;
use crate::engine::Engine;
use crate::options::{ChangeBuffering, EngineOptions};
use crate::testing::*;
use crate::{CheckDepth, CheckOptions, Direction, Isolation, TableError, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, SegmentId, StoreOptions};
use leafline_types::{CancelToken, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROWS: i64 = 4000;

fn small_pool(background: bool) -> EngineOptions {
    let store = StoreOptions { background, buffer_pool_bytes: 400 << 10, ..options().store };
    EngineOptions {
        store,
        change_buffering: ChangeBuffering::All,
        change_buffer_bytes: Some(200 << 10),
        force_change_buffering: false,
        ..options()
    }
}

fn open_with(env: &SimulatedEnv, options: &EngineOptions) -> Arc<Engine> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone()).unwrap()
}

fn values(table: &TableDef, id: i64, value: i64) -> Vec<Value> {
    row(table, &[Some(id), None, Some(value % 900), Some(value)])
}

/// `keyed_spec` with rows whose indexed values are random.
fn filled(
    env: &SimulatedEnv,
    options: &EngineOptions,
    random: &mut SmallRng,
) -> (Arc<Engine>, Arc<TableDef>) {
    let engine = open_with(env, options);
    let table = create(&engine, &keyed_spec());
    for first in (0..ROWS).step_by(500) {
        transact(&engine, |transaction| {
            (first..first + 500).try_for_each(|id| {
                transaction.insert(&table, &values(&table, id, random.random_range(0..1_000_000))).map(drop)
            })
        })
        .unwrap();
    }
    (engine, table)
}

/// Gives a row another value. Returns false if another transaction conflicted.
fn change(engine: &Arc<Engine>, table: &Arc<TableDef>, id: i64, value: i64) -> bool {
    let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
    transaction.begin_statement();
    let mut key = Vec::new();
    table.clustered().format.encode_key(&values(table, id, 0), &[], &mut key).unwrap();
    let decoder = crate::row_decoder(table, &[0, 1, 2, 3]).unwrap();
    let old = transaction.view().rows(table).unwrap().get(&key, |row| {
        let mut old = Vec::new();
        if let Some(row) = row {
            decoder.decode_values(row.key, row.payload, &mut old).unwrap();
        }
        old
    });
    match transaction.update(table, &key, &old.unwrap(), &values(table, id, value)) {
        Ok(_) => transaction.commit().map(drop).is_ok(),
        Err(TableError::WriteConflict | TableError::Deadlock) => false,
        Err(other) => panic!("{other}"),
    }
}

/// Ids and values read by an index, ascending by id.
fn by_index(
    engine: &Arc<Engine>,
    table: &Arc<TableDef>,
    index: usize,
    direction: Direction,
) -> Vec<(i64, i64)> {
    pairs(scan(&view(engine), table, index, &[0, 3], direction).unwrap())
}

fn pairs(found: Vec<Entry>) -> Vec<(i64, i64)> {
    let number = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    };
    let mut pairs: Vec<_> =
        found.iter().map(|(_, values)| (number(&values[0]), number(&values[1]))).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn readers_beside_writers_and_sweeps_see_the_same_by_every_index() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let (engine, table) = filled(&env, &small_pool(true), &mut random);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|thread| {
                let (engine, table) = (&engine, &table);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(seed ^ thread);
                    for _ in 0..600 * scale() {
                        let (id, value) = (random.random_range(0..ROWS), random.random_range(0..1_000_000));
                        change(engine, table, id, value);
                    }
                })
            })
            .collect();
        for thread in 0..2 {
            let (engine, table, done) = (&engine, &table, &done);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(!seed ^ thread);
                while !done.load(Ordering::Relaxed) {
                    let view = view(engine);
                    let read =
                        |index, direction| pairs(scan(&view, table, index, &[0, 3], direction).unwrap());
                    let expected = read(0, Direction::Forward);
                    let direction = if random.random() { Direction::Forward } else { Direction::Reverse };
                    for index in [2, 3] {
                        assert!(read(index, direction) == expected, "seed {seed}, index {index}");
                    }
                }
            });
        }
        let failed = writers.into_iter().map(|writer| writer.join()).find(Result::is_err);
        done.store(true, Ordering::Relaxed);
        assert!(failed.is_none(), "seed {seed}: a writer failed");
    });
    let stats = engine.maintenance().change_buffer_stats();
    assert!(stats.buffered > 100 && stats.leaves_merged_softly > 10, "seed {seed}: {stats:?}");
    assert!(stats.changed_softly > 100, "seed {seed}: {stats:?}");
    engine.maintenance().merge_changes().unwrap();
    assert_eq!(engine.maintenance().change_buffer_stats().run_bytes, 0, "seed {seed}");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    engine.close().unwrap();
}

#[test]
fn buffered_changes_are_seen_estimated_kept_over_restarts_and_swept() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let (env, options) = (SimulatedEnv::new(), small_pool(false));
    let (engine, table) = filled(&env, &options, &mut random);
    for _ in 0..400 {
        assert!(change(&engine, &table, random.random_range(0..ROWS), random.random_range(0..1_000_000)));
    }
    let before = engine.maintenance().change_buffer_stats();
    assert!(before.buffered > 100 && before.l0_bytes + before.run_bytes > 0, "seed {seed}: {before:?}");
    let expected = by_index(&engine, &table, 0, Direction::Forward);
    for index in [2, 3] {
        assert!(by_index(&engine, &table, index, Direction::Forward) == expected, "seed {seed}");
        // Ghosts that wait for a purge do not count as entries.
        let tree = engine.tree(&table.indexes[index]).unwrap();
        let estimate = tree.estimate(&[], None).unwrap().entries;
        assert!((estimate - ROWS as f64).abs() < ROWS as f64 / 2.0, "seed {seed}: {estimate}");
    }
    engine.close().unwrap();
    drop(engine);
    let engine = open_with(&env, &options);
    let after = engine.maintenance().change_buffer_stats();
    assert_eq!(after.l0_bytes > 0, before.l0_bytes > 0, "seed {seed}: {before:?}, {after:?}");
    // The bytes of the run that were swept are not remembered.
    assert!(after.run_bytes >= before.run_bytes, "seed {seed}: {before:?}, {after:?}");
    let table = engine.table("d", "t").unwrap();
    for index in [0, 2, 3] {
        assert!(by_index(&engine, &table, index, Direction::Reverse) == expected, "seed {seed}");
    }
    engine.maintenance().merge_changes().unwrap();
    let swept = engine.maintenance().change_buffer_stats();
    assert_eq!((swept.l0_bytes, swept.run_bytes), (0, 0), "seed {seed}");
    assert!(swept.merged > 0 && !engine.change_buffer.is_pending(table.indexes[3].tree), "seed {seed}");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn ddl_leaves_nothing_behind_and_none_merges_as_it_writes() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let (env, options) = (SimulatedEnv::new(), small_pool(false));
    let (engine, table) = filled(&env, &options, &mut random);
    assert!(engine.maintenance().change_buffer_stats().buffered > 0, "seed {seed}");
    engine.ddl().drop_index("d", "t", "bc").unwrap();
    engine.maintenance().set_change_buffering(ChangeBuffering::None, 100);
    let table_now = engine.table("d", "t").unwrap();
    let buffered = engine.maintenance().change_buffer_stats().buffered;
    for _ in 0..300 {
        assert!(change(&engine, &table_now, random.random_range(0..ROWS), random.random_range(0..1_000_000)));
    }
    assert_eq!(
        engine.maintenance().change_buffer_stats().buffered,
        buffered,
        "seed {seed}: nothing more is buffered"
    );
    let expected = by_index(&engine, &table_now, 0, Direction::Forward);
    assert!(by_index(&engine, &table_now, 2, Direction::Forward) == expected, "seed {seed}");
    engine.ddl().truncate_table("d", "t", false).unwrap();
    engine.maintenance().purge().unwrap();
    for tree in [&table.indexes[2], &table.indexes[3]].map(|index| index.tree) {
        assert!(!engine.change_buffer.is_pending(tree), "seed {seed}");
    }
    engine.maintenance().merge_changes().unwrap();
    let stats = engine.maintenance().change_buffer_stats();
    assert_eq!((stats.l0_bytes, stats.run_bytes), (0, 0), "seed {seed}");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
}

/// Damages the pages of one of the buffer's trees, all or one, while the database is open or not.
fn damage(seed: u64, while_open: bool) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (env, options) = (SimulatedEnv::new(), small_pool(false));
    let (mut engine, mut table) = filled(&env, &options, &mut random);
    let holds = |stats: crate::ChangeBufferStats| stats.l0_bytes + stats.run_bytes;
    let mut changes = 0;
    while changes < 200 || holds(engine.maintenance().change_buffer_stats()) < 2000 {
        assert!(change(&engine, &table, random.random_range(0..ROWS), random.random_range(0..1_000_000)));
        changes += 1;
    }
    let expected = by_index(&engine, &table, 0, Direction::Forward);
    let sources: Vec<SegmentId> = engine.change_buffer.segments().into_iter().collect();
    let source = sources[random.random_range(0..sources.len())];
    let is_l0 = engine.change_buffer.l0().is_some_and(|l0| l0.id() == source);
    // An empty tree that is known to be empty loses nothing.
    let loses = !(while_open && is_l0 && engine.maintenance().change_buffer_stats().l0_bytes == 0);
    let mut pages = engine.store.segment_pages(source).unwrap();
    if random.random() {
        pages = vec![pages[random.random_range(0..pages.len())]];
    }
    if while_open {
        for page in &pages {
            assert!(engine.store.evict_all(*page).unwrap(), "seed {seed}");
        }
        pages.iter().for_each(|page| flip(&env, *page, &mut random));
    } else {
        engine.close().unwrap();
        drop(engine);
        pages.iter().for_each(|page| flip(&env, *page, &mut random));
        engine = open_with(&env, &options);
        table = engine.table("d", "t").unwrap();
    }
    let what = format!("seed {seed}, {} pages of {source}", pages.len());
    let is_right = |engine: &Arc<Engine>, table: &Arc<TableDef>, index: usize| match scan(
        &view(engine),
        table,
        index,
        &[0, 3],
        Direction::Forward,
    ) {
        Ok(found) => assert!(pairs(found) == expected, "{what}: index {index}"),
        Err(error) => assert!(index > 1 && error.is_damage(), "{what}: index {index}: {error}"),
    };
    [0, 2, 3].into_iter().for_each(|index| is_right(&engine, &table, index));
    // Everything that can be merged is; the rest is given up for good.
    engine.maintenance().merge_changes().unwrap();
    let stats = engine.maintenance().change_buffer_stats();
    assert_eq!((stats.l0_bytes, stats.run_bytes), (0, 0), "{what}");
    [0, 2, 3].into_iter().for_each(|index| is_right(&engine, &table, index));
    let aside = |engine: &Arc<Engine>, table: &Arc<TableDef>| {
        table.indexes.iter().map(|index| engine.is_quarantined(index)).collect::<Vec<_>>()
    };
    let quarantined = aside(&engine, &table);
    assert_eq!(quarantined[2..].contains(&true), loses, "{what}: {quarantined:?}");
    assert!(!quarantined[..2].contains(&true), "{what}: {quarantined:?}");
    engine.close().unwrap();
    drop(engine);
    env.reboot(random.random());
    let engine = open_with(&env, &options);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(aside(&engine, &table), quarantined, "{what}");
    [0, 2, 3].into_iter().for_each(|index| is_right(&engine, &table, index));
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 1, ..CheckOptions::default() };
    let check = engine.maintenance().check_table_with(&table, options, &|_| (), &CancelToken::new()).unwrap();
    engine.maintenance().repair_table(&table, &check, false, &mut |_| ()).unwrap();
    let table = engine.table("d", "t").unwrap();
    for index in [0, 2, 3] {
        assert!(by_index(&engine, &table, index, Direction::Forward) == expected, "{what}: index {index}");
    }
    assert!(change(&engine, &table, 1, 2), "{what}");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "{what}");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
}

#[test]
fn indexes_whose_changes_cannot_be_read_are_set_aside_until_they_are_built_anew() {
    let first = seed();
    for round in 0..12 * scale() {
        damage(first.wrapping_add(round), round % 2 == 0);
    }
}

#[test]
fn values_that_ascend_go_to_their_leaf_again_before_it_overflows() {
    let (env, options) = (SimulatedEnv::new(), small_pool(false));
    let (engine, table) = filled(&env, &options, &mut SmallRng::seed_from_u64(1));
    let before = engine.maintenance().change_buffer_stats().buffered;
    for id in ROWS..ROWS + 3000 {
        transact(&engine, |transaction| {
            transaction.insert(&table, &row(&table, &[Some(id), None, None, Some(1_000_000 + id)])).map(drop)
        })
        .unwrap();
    }
    let buffered = engine.maintenance().change_buffer_stats().buffered - before;
    assert!(
        buffered < 1500,
        "{buffered} of 6000 changes were buffered, where one leaf of each index is enough"
    );
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}
