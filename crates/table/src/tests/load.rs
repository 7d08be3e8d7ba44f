//! Bulk loads: sorted and unsorted, into empty and filled tables, through files, and with failures.

use crate::build::BuildControl;
use crate::testing::*;
use crate::{Direction, TableError};
use leafline_storage::device::SimulatedEnv;
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, Value};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

fn key(row: &[Value]) -> i64 {
    match &row[0] {
        Value::Int(id) => *id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_load_is_as_if_the_rows_had_been_inserted() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let engine = open(&env);
    for (spec, sorted) in [(keyed_spec(), true), (other_spec(false), false), (other_spec(true), false)] {
        let table = create(&engine, &spec);
        let mut ids: Vec<i64> = (0..1400).collect();
        let mut expected = Vec::new();
        for part in [0..700usize, 700..700, 700..1400] {
            let part = &mut ids[part];
            if !sorted {
                part.shuffle(&mut random);
            }
            let before = view(&engine);
            let seen = expected.clone();
            let definition = table_now(&engine, &table.name);
            let mut loader = engine.ddl().bulk_load(&definition, &BuildControl::of(&engine)).unwrap();
            for &id in &*part {
                let other = random.random_range(0..100);
                let numbers = [Some(id), Some(id), (other > 20).then_some(id), Some(other)];
                let values = row(&table, &numbers[..table.columns.len()]);
                loader.push(&values).unwrap();
                expected.push(values);
            }
            expected.sort_by_key(|row| key(row));
            assert_eq!(loader.finish().unwrap().rows, part.len() as u64);
            // A transaction that began before the load sees the old rows, with the old definition and with
            // the new one. A transaction that begins now sees the new rows with either.
            let (old, new) = (&definition, &table_now(&engine, &table.name));
            assert!(old.clustered().tree != new.clustered().tree);
            for (view, definition, expected) in
                [(&before, old, &seen), (&before, new, &seen), (&view(&engine), old, &expected)]
            {
                let mut found = rows(view, definition);
                found.sort_by_key(|row| key(row));
                assert_eq!(&found, expected, "seed {seed}");
            }
            let index = new.indexes.len() - 1;
            assert_eq!(scan(&before, new, index, &[], Direction::Forward).unwrap().len(), seen.len());
            drop(before);
            let table = table_now(&engine, &table.name);
            assert_eq!(
                engine.maintenance().check_table(&table).unwrap(),
                Vec::<String>::new(),
                "seed {seed}"
            );
            assert_eq!(engine.row_count(table.id), expected.len() as u64);
            let mut found = rows(&view(&engine), &table);
            found.sort_by_key(|row| key(row));
            expected.sort_by_key(|row| key(row));
            assert_eq!(found, expected, "seed {seed}");
        }
        // The table works like any other.
        let table = table_now(&engine, &table.name);
        let extra = row(&table, &[Some(5000), Some(5000), Some(5000), Some(1)][..table.columns.len()]);
        transact(&engine, |transaction| transaction.insert(&table, &extra).map(drop)).unwrap();
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    }
    engine.maintenance().purge().unwrap();
    assert_eq!(owned_segments(&engine), 1 + 4 + 3 + 4, "old trees are gone");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new());
    drop(engine);
    env.cut(seed);
    let engine = open(&env);
    for name in ["t", "p", "h"] {
        let table = table_now(&engine, name);
        assert_eq!(engine.row_count(table.id), 1401);
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
        assert_eq!(scan(&view(&engine), &table, 1, &[], Direction::Reverse).unwrap().len(), 1401);
    }
}

fn table_now(engine: &crate::Engine, name: &str) -> std::sync::Arc<crate::TableDef> {
    engine.table("d", name).unwrap()
}

#[test]
fn a_load_that_fails_leaves_nothing() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let values = |id: i64, a: i64| row(&table, &[Some(id), Some(a), None, Some(0)]);
    transact(&engine, |transaction| transaction.insert(&table, &values(7, 7)).map(drop)).unwrap();
    let segments = engine.store.segments().len();
    for (rows, message) in [
        (vec![values(1, 1), values(1, 2)], "Duplicate entry '1' for key 't.PRIMARY'"),
        (vec![values(2, 1), values(1, 1)], "Duplicate entry '1' for key 't.a'"),
        (vec![values(1, 1), values(7, 2)], "Duplicate entry '7' for key 't.PRIMARY'"),
        (vec![values(1, 1), values(8, 7)], "Duplicate entry '7' for key 't.a'"),
    ] {
        let mut loader = engine.ddl().bulk_load(&table, &BuildControl::of(&engine)).unwrap();
        rows.iter().for_each(|row| loader.push(row).unwrap());
        assert_eq!(loader.finish().unwrap_err().to_string(), message);
        assert_eq!(engine.store.segments().len(), segments);
    }
    let mut abandoned = engine.ddl().bulk_load(&table, &BuildControl::of(&engine)).unwrap();
    abandoned.push(&values(1, 1)).unwrap();
    drop(abandoned);
    assert_eq!(engine.store.segments().len(), segments);
    let late = engine.ddl().bulk_load(&table, &BuildControl::of(&engine)).unwrap();
    engine.ddl().drop_index("d", "t", "c").unwrap();
    assert!(matches!(late.finish(), Err(TableError::DefinitionChanged)));
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.store.segments().len(), segments - 1);
    assert_eq!(rows(&view(&engine), &table_now(&engine, "t")), [values(7, 7)]);
}

#[test]
fn threads_build_what_one_would_within_the_memory() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let threads = BuildControl { threads: 3, memory_bytes: 4 << 20, ..BuildControl::of(&engine) };
    let mut ids: Vec<i64> = (0..60_000).collect();
    ids.shuffle(&mut random);
    let mut loader = engine.ddl().bulk_load(&table, &threads).unwrap();
    for &id in &ids {
        loader.push(&row(&table, &[Some(id), Some(id), Some(random.random_range(0..50)), Some(1)])).unwrap();
    }
    assert_eq!(loader.finish().unwrap().rows, 60_000);
    let table = table_now(&engine, "t");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
    // A duplicate is found whichever thread has sorted it, and a load that is stopped leaves nothing.
    let segments = engine.store.segments().len();
    let mut loader = engine.ddl().bulk_load(&table, &threads).unwrap();
    for id in (60_000..120_000).chain([60_007]) {
        loader.push(&row(&table, &[Some(id), Some(id), None, Some(1)])).unwrap();
    }
    let message = "Duplicate entry '60007' for key 't.PRIMARY'";
    assert_eq!(loader.finish().unwrap_err().to_string(), message);
    let mut loader = engine.ddl().bulk_load(&table, &threads).unwrap();
    let stopped = (120_000..).find_map(|id| {
        if id == 170_000 {
            threads.cancel.cancel(CancelReason::QueryKilled);
        }
        loader.push(&row(&table, &[Some(id), Some(id), None, Some(1)])).err()
    });
    assert_eq!(stopped.map(|error| MysqlError::from(error).code), Some(1317));
    drop(loader);
    assert_eq!(engine.store.segments().len(), segments);
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new());
    assert!(engine.env.list("temp").unwrap().is_empty(), "files of sorts are gone");
}
