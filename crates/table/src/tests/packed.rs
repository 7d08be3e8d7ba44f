//! Packed indexes: the declarations of tables, the layouts of their trees, and changes between the two.

use crate::Engine;
use crate::catalog::{IndexSpecKind, TableDef, TableSpec};
use crate::testing::*;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{Collation, SqlType, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// The numbers of leaves and of packed leaves of each index of the table.
fn leaves(engine: &Engine, table: &TableDef) -> Vec<(u64, u64)> {
    let of_index = |index: &Arc<crate::IndexDef>| {
        let report = engine.tree(index).unwrap().verify().unwrap();
        (report.leaves, report.packed)
    };
    table.indexes.iter().map(of_index).collect()
}

fn insert(engine: &Arc<Engine>, table: &Arc<TableDef>, ids: std::ops::Range<i64>) {
    transact(engine, |transaction| {
        ids.into_iter().try_for_each(|id| {
            transaction
                .insert(table, &row(table, &[Some(id), Some(id * 7 % 10_000), Some(id % 30), Some(id)]))
                .map(drop)
        })
    })
    .unwrap();
}

#[test]
fn packed_indexes_take_less_room_and_stay_packed() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    insert(&engine, &table, 0..6000);
    let built = leaves(&engine, &table);
    // `a` and `bc` are packed, the rows and `c` are not.
    assert!(built[1].0 * 3 < built[3].0 * 2 && built[1].0 > 4, "{built:?}");
    let packed = |table: &TableDef, engine: &Engine| -> Vec<bool> {
        leaves(engine, table).into_iter().map(|(leaves, packed)| packed == leaves).collect()
    };
    assert_eq!(packed(&table, &engine), [false, true, true, false]);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    engine.close().unwrap();
    drop(engine);
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(packed(&table, &engine), [false, true, true, false]);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    engine.ddl().truncate_table("d", "t", false).unwrap();
    let table = engine.table("d", "t").unwrap();
    assert_eq!(packed(&table, &engine), [false, true, true, false]);
}

#[test]
fn another_packing_makes_another_tree() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    insert(&engine, &table, 0..300);
    let altered = |change: &dyn Fn(&mut TableSpec)| {
        let table = engine.table("d", "t").unwrap();
        let mut spec = TableSpec::of(&table);
        change(&mut spec);
        for (position, index) in spec.indexes.iter_mut().enumerate() {
            if !table.is_packed_as(position, index.packed, &spec.options) {
                index.existing = None;
            }
        }
        engine.ddl().alter_table(&table, unchanged(&engine, &table, spec)).unwrap();
        let changed = engine.table("d", "t").unwrap();
        assert_eq!(engine.maintenance().check_table(&changed).unwrap(), Vec::<String>::new());
        let kept = |(old, new): (&Arc<crate::IndexDef>, &Arc<crate::IndexDef>)| old.tree == new.tree;
        let kept = table.indexes.iter().zip(&changed.indexes).map(kept).collect::<Vec<_>>();
        (kept, leaves(&engine, &changed).into_iter().map(|(_, packed)| packed > 0).collect::<Vec<_>>())
    };
    // The declaration of an index takes precedence over that of its table, which does not concern the rows.
    let (kept, packed) = altered(&|spec| spec.options.pack_keys = Some(true));
    assert_eq!((kept, packed), (vec![true, true, true, false], vec![false, true, true, true]));
    let (kept, packed) = altered(&|spec| spec.indexes[1].packed = Some(false));
    assert_eq!((kept, packed), (vec![true, false, true, true], vec![false, false, true, true]));
    // Without a declaration the tree stays as it was.
    let (kept, packed) = altered(&|spec| spec.options.pack_keys = None);
    assert_eq!((kept, packed), (vec![true; 4], vec![false, false, true, true]));
}

#[test]
fn a_tree_of_another_format_than_its_definition_says_is_a_fault() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    insert(&engine, &table, 0..100);
    let mut wrong = (*table).clone();
    Arc::make_mut(&mut wrong.indexes[1]).packing.packed = false;
    Arc::make_mut(&mut wrong.indexes[3]).packing.packed = true;
    let faults = engine.maintenance().check_table(&Arc::new(wrong)).unwrap();
    assert_eq!(
        faults,
        ["index a: 1 of 1 leaves are packed, 0 should be", "index c: 0 of 1 leaves are packed, 1 should be"]
    );
}

#[test]
fn an_index_that_says_nothing_is_packed_if_that_saves_half() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let mut columns = vec![
        column("id", int(), false),
        column("few", int(), false),
        column("mixed", SqlType::Varbinary { len: 20 }, false),
        column("path", varchar(), false),
    ];
    // A collation whose keys contain the values.
    columns[3].collation = Collation::Utf8mb4_0900Bin;
    let table = create(&engine, &spec("t", columns, vec![index(IndexSpecKind::Primary, "", &["id"])]));
    let mut random = SmallRng::seed_from_u64(seed());
    let mut insert = |ids: std::ops::Range<i64>| {
        transact(&engine, |transaction| {
            ids.into_iter().try_for_each(|id| {
                let mixed: [u8; 16] = random.random();
                let path = format!("/a/long/path/to/file {id:08}");
                let row = [Value::Int(id), Value::Int(id % 9), Value::bytes(mixed), Value::string(path)];
                transaction.insert(&table, &row).map(drop)
            })
        })
        .unwrap();
    };
    let indexes = ["few", "mixed", "path"].map(|name| index(IndexSpecKind::Plain, name, &[name]));
    // None of the 64 leaves is full.
    insert(0..2000);
    engine.ddl().add_indexes("d", "t", &indexes).unwrap();
    let packed = || {
        let table = engine.table("d", "t").unwrap();
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
        table.indexes.iter().map(|index| index.packing.packed).collect::<Vec<_>>()
    };
    assert_eq!(packed(), [false; 4]);
    insert(2000..40_000);
    indexes
        .iter()
        .for_each(|index| engine.ddl().drop_index("d", "t", index.name.as_deref().unwrap()).unwrap());
    engine.ddl().add_indexes("d", "t", &indexes).unwrap();
    // In the order of their names.
    assert_eq!(packed(), [false, true, false, true]);
    engine.close().unwrap();
    drop(engine);
    let table = open(&env).table("d", "t").unwrap();
    assert_eq!(
        table.indexes.iter().map(|index| index.packing.packed).collect::<Vec<_>>(),
        [false, true, false, true]
    );
}
