//! Indexes that are built while others write.

use crate::catalog::{IndexSpec, IndexSpecKind, TableSpec};
use crate::engine::{Engine, EngineOptions};
use crate::lock::{Excluding, LockLimits, MetadataMode};
use crate::testing::*;
use crate::{Alteration, Isolation, TableDef, TableError, Transaction, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StoreOptions};
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Switch<'a> = &'a dyn Fn() -> Result<Option<Excluding>, TableError>;

fn add_beside(engine: &Arc<Engine>, added: &[IndexSpec], switch: Switch<'_>) -> Result<(), TableError> {
    let table = engine.table("d", "t")?;
    let mut spec = TableSpec::of(&table);
    spec.indexes.extend_from_slice(added);
    let alteration = Alteration { switch: Some(switch), ..unchanged(engine, &table, spec) };
    engine.alter_table(&table, alteration).map(drop)
}

fn values(table: &TableDef, id: i64, random: &mut SmallRng) -> Vec<Value> {
    row(table, &[Some(id), None, Some(random.random_range(0..30)), Some(random.random_range(0..500))])
}

/// Some changes of random rows: new ones, other values, other keys, none any more.
fn change(
    table: &Arc<TableDef>,
    transaction: &mut Transaction,
    random: &mut SmallRng,
) -> Result<(), TableError> {
    for _ in 0..random.random_range(1..6) {
        let id = random.random_range(0..400);
        let mut key = Vec::new();
        table.clustered().format.encode_key(&values(table, id, random), &[], &mut key)?;
        match (transaction.current_row(table, &key)?, random.random_range(0..4)) {
            (Some(old), 0) => drop(transaction.delete(table, &key, &old)?),
            (Some(old), 1) => {
                let other = values(table, random.random_range(400..800), random);
                match transaction.update(table, &key, &old, &other) {
                    Err(TableError::DuplicateEntry { .. }) => {}
                    moved => drop(moved?),
                }
            }
            (Some(old), _) => drop(transaction.update(table, &key, &old, &values(table, id, random))?),
            (None, _) => drop(transaction.insert(table, &values(table, id, random))?),
        }
    }
    Ok(())
}

fn commit_changes(engine: &Arc<Engine>, table: &Arc<TableDef>, random: &mut SmallRng) {
    loop {
        let mut transaction = engine.begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
        match change(table, &mut transaction, random).and_then(|()| transaction.commit().map(drop)) {
            Ok(()) => return,
            Err(TableError::WriteConflict | TableError::Deadlock) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn what_is_changed_behind_the_snapshot_is_in_the_index() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for options in [options(), by_reference_options()] {
        let env = SimulatedEnv::new();
        let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
        let table = create(&engine, &keyed_spec());
        for _ in 0..40 {
            commit_changes(&engine, &table, &mut random);
        }
        let more = std::cell::RefCell::new(random.clone());
        let switch = || {
            for _ in 0..30 {
                commit_changes(&engine, &table, &mut more.borrow_mut());
            }
            Ok(None)
        };
        let added = [
            packed(index(IndexSpecKind::Plain, "cb", &["c", "-b"])),
            packed(index(IndexSpecKind::Unique, "c_id", &["c", "id"])),
            index(IndexSpecKind::Plain, "b1", &["b:1"]),
        ];
        add_beside(&engine, &added, &switch).unwrap();
        let table = engine.table("d", "t").unwrap();
        assert_eq!(table.indexes.len(), 7, "seed {seed}");
        for _ in 0..20 {
            commit_changes(&engine, &table, &mut random);
        }
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        engine.close().unwrap();
        drop(engine);
        let engine = open(&env);
        let table = engine.table("d", "t").unwrap();
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn duplicates_count_if_they_are_there_in_the_end() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    let with_c = |id: i64, c: i64| row(&table, &[Some(id), None, None, Some(c)]);
    let insert = |id, c| transact(&engine, |t| t.insert(&table, &with_c(id, c)).map(drop)).unwrap();
    let key_of = |id| {
        let mut key = Vec::new();
        table.clustered().format.encode_key(&with_c(id, 0), &[], &mut key).unwrap();
        key
    };
    let delete = |id, c| {
        transact(&engine, |t| t.delete(&table, &key_of(id), &with_c(id, c)).map(drop)).unwrap();
    };
    (0..20).for_each(|id| insert(id, id));
    let unique = [index(IndexSpecKind::Unique, "u", &["c"])];
    let failed = add_beside(&engine, &unique, &|| {
        insert(100, 7);
        Ok(None)
    });
    assert!(matches!(failed, Err(TableError::DuplicateEntry { .. })), "{failed:?}");
    let segments = engine.store.segments().len();
    let failed = add_beside(&engine, &unique, &|| Ok(None));
    assert!(matches!(failed, Err(TableError::DuplicateEntry { .. })), "{failed:?}");
    assert_eq!(engine.store.segments().len(), segments, "nothing is left of what was built");
    delete(100, 7);
    add_beside(&engine, &unique, &|| {
        insert(101, 8);
        delete(8, 8);
        delete(3, 3);
        Ok(None)
    })
    .unwrap();
    let table = engine.table("d", "t").unwrap();
    assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
    let refused = transact(&engine, |t| t.insert(&table, &with_c(200, 8)).map(drop));
    assert!(matches!(refused, Err(TableError::DuplicateEntry { .. })), "{refused:?}");
}

#[test]
fn writers_go_on_while_indexes_come_and_go() {
    let seed = seed();
    let env = SimulatedEnv::new();
    let store = StoreOptions { background: true, io_threads: 2, ..options().store };
    let options = EngineOptions { store, ..options() };
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
    create(&engine, &keyed_spec());
    let limits = LockLimits { timeout: Duration::from_secs(600), ..LockLimits::default() };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (engine, done, limits) = (&engine, &done, &limits);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed ^ thread);
                let locks = engine.session_locks();
                let key = locks.table_key("d", "t");
                while !done.load(Ordering::Relaxed) {
                    locks.note_use(key, true, || limits.clone()).unwrap();
                    commit_changes(engine, &engine.table("d", "t").unwrap(), &mut random);
                    locks.end_uses();
                }
            });
        }
        let locks = engine.session_locks();
        let key = locks.table_key("d", "t");
        let added = [
            packed(index(IndexSpecKind::Plain, "cb", &["c", "-b"])),
            index(IndexSpecKind::Unique, "c_id", &["c", "id"]),
        ];
        for _ in 0..8 * scale() {
            let switch = || locks.exclude(&[(key, MetadataMode::NoWrite)], &limits).map(Some);
            add_beside(&engine, &added, &switch).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let table = engine.table("d", "t").unwrap();
            assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
            for name in ["cb", "c_id"] {
                let excluding = locks.exclude(&[(key, MetadataMode::Exclusive)], &limits).unwrap();
                engine.drop_index("d", "t", name).unwrap();
                drop(excluding);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    engine.close().unwrap();
}
