//! Bulk loads: sorted and unsorted, into empty tables and others, through files, and those that fail.

use crate::testing::*;
use crate::{Direction, TableError};
use leafline_storage::device::SimulatedEnv;
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

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
            let mut loader = engine.bulk_load(&table_now(&engine, &table.name)).unwrap();
            for &id in &*part {
                let other = random.random_range(0..100);
                let numbers = [Some(id), Some(id), (other > 20).then_some(id), Some(other)];
                let values = row(&table, &numbers[..table.columns.len()]);
                loader.push(&values).unwrap();
                expected.push(values);
            }
            assert_eq!(loader.finish().unwrap().rows, part.len() as u64);
            let stale =
                before.entries(&table_now(&engine, &table.name), table_now(&engine, &table.name).clustered());
            assert!(matches!(stale, Err(TableError::DefinitionChanged)), "older than the load");
            drop(before);
            let table = table_now(&engine, &table.name);
            assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
            assert_eq!(engine.row_count(table.id), expected.len() as u64);
            let key = |row: &Vec<Value>| match &row[0] {
                Value::Int(id) => *id,
                other => panic!("{other:?}"),
            };
            let mut found = rows(&view(&engine), &table);
            found.sort_by_key(key);
            expected.sort_by_key(key);
            assert_eq!(found, expected, "seed {seed}");
        }
        // The table goes on as any other.
        let table = table_now(&engine, &table.name);
        let extra = row(&table, &[Some(5000), Some(5000), Some(5000), Some(1)][..table.columns.len()]);
        transact(&engine, |transaction| transaction.insert(&table, &extra).map(drop)).unwrap();
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
    }
    engine.purge().unwrap();
    assert_eq!(engine.store.segments().len(), 1 + 4 + 3 + 3, "old trees are gone");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new());
    drop(engine);
    env.cut(seed);
    let engine = open(&env);
    for name in ["t", "p", "h"] {
        let table = table_now(&engine, name);
        assert_eq!(engine.row_count(table.id), 1401);
        assert_eq!(engine.check_table(&table).unwrap(), Vec::<String>::new());
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
        let mut loader = engine.bulk_load(&table).unwrap();
        rows.iter().for_each(|row| loader.push(row).unwrap());
        assert_eq!(loader.finish().unwrap_err().to_string(), message);
        assert_eq!(engine.store.segments().len(), segments);
    }
    let mut abandoned = engine.bulk_load(&table).unwrap();
    abandoned.push(&values(1, 1)).unwrap();
    drop(abandoned);
    assert_eq!(engine.store.segments().len(), segments);
    let late = engine.bulk_load(&table).unwrap();
    engine.drop_index("d", "t", "c").unwrap();
    assert!(matches!(late.finish(), Err(TableError::DefinitionChanged)));
    engine.purge().unwrap();
    assert_eq!(engine.store.segments().len(), segments - 1);
    assert_eq!(rows(&view(&engine), &table_now(&engine, "t")), [values(7, 7)]);
}
