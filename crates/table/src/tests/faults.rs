//! Damage that `check_table` must find, and reads that fail.

use crate::engine::Engine;
use crate::testing::*;
use crate::{Direction, TableDef, TableError};
use leafline_btree::{Change, CommitTs};
use leafline_storage::StorageError;
use leafline_storage::device::{Operation, SimulatedEnv};
use std::sync::Arc;

fn filled(engine: &Arc<Engine>, count: i64) -> Arc<TableDef> {
    let table = create(engine, &keyed_spec());
    transact(engine, |transaction| {
        (0..count).try_for_each(|id| {
            transaction.insert(&table, &row(&table, &[Some(id), Some(id), Some(id), Some(id)])).map(drop)
        })
    })
    .unwrap();
    table
}

/// Changes the first entry of an index behind the engine's back.
fn tamper(engine: &Engine, table: &Arc<TableDef>, index: usize, key: &[u8], change: Change<'static>) {
    let tree = engine.tree(&table.indexes[index]).unwrap();
    let mut reservation = engine.store.reserve(8, 1 << 18).unwrap();
    tree.modify(&mut reservation, key, CommitTs(0), &mut |_| change.clone()).unwrap();
}

#[test]
fn a_check_names_what_is_wrong() {
    let put = |payload: &'static [u8]| Change::Put {
        payload: payload.into(),
        ts: CommitTs(0),
        has_previous: false,
    };
    let engine = open(&SimulatedEnv::new());
    let table = filled(&engine, 3);
    let first =
        |index: usize| scan(&view(&engine), &table, index, &[], Direction::Forward).unwrap()[0].0.clone();
    let check = || engine.maintenance().check_table(&table).unwrap();
    let tree_entry = |index: usize, key: &[u8]| {
        engine.tree(&table.indexes[index]).unwrap().get(key, |entry| entry.unwrap().payload.to_vec()).unwrap()
    };
    assert_eq!(check(), Vec::<String>::new());

    let key = first(3);
    tamper(&engine, &table, 3, &key, Change::Remove);
    assert_eq!(check(), ["index c: entry '0' of a row is missing"]);
    tamper(&engine, &table, 3, &key, put(b""));
    assert_eq!(check(), Vec::<String>::new());

    // An entry for a row that now has another key, and an entry without a row.
    let mut other = key.clone();
    other[3] = 9;
    tamper(&engine, &table, 3, &other, put(b""));
    let faults = check();
    assert!(faults.len() == 1 && faults[0].ends_with("its row has another key"), "{faults:?}");
    tamper(&engine, &table, 3, &other, Change::Remove);
    *other.last_mut().unwrap() = 77;
    tamper(&engine, &table, 3, &other, put(b""));
    let faults = check();
    assert!(faults.len() == 1 && faults[0].ends_with("it has no row"), "{faults:?}");
    tamper(&engine, &table, 3, &other, Change::Remove);

    // The payload describes the difference between the VARCHAR's value and its key: none here, a space, an
    // impossible one.
    let key = first(2);
    assert_eq!(tree_entry(2, &key), []);
    for wrong in [&[1 << 3][..], &[7], &[0, 0x40, 0xff]] {
        tamper(&engine, &table, 2, &key, put(wrong));
        let faults = check();
        assert!(faults.len() == 1 && faults[0].ends_with("has other values than its row"), "{faults:?}");
    }
    let decoder = crate::entry_decoder(&table.indexes[2], &[2]).unwrap();
    assert!(decoder.decode_values(&key, &[0, 0x40, 0xff], &mut Vec::new()).is_err());
    tamper(&engine, &table, 2, &key, put(b""));
    assert_eq!(check(), Vec::<String>::new());

    // A second row for a unique key, and a row that was not counted.
    let unique = first(1);
    let mut second = unique.clone();
    *second.last_mut().unwrap() = 1;
    tamper(&engine, &table, 1, &second, put(b""));
    assert!(check().contains(&"index a: duplicate entry '0'".to_owned()));
    tamper(&engine, &table, 1, &second, Change::Remove);
    tamper(&engine, &table, 0, &first(0), Change::Remove);
    let faults = check();
    assert_eq!(faults[0], "table t: it has 2 rows, 3 were counted");
    assert_eq!(faults.len(), 4, "and an entry without a row in each index: {faults:?}");
}

#[test]
fn a_read_that_fails_before_the_commit_is_an_error_that_changes_nothing() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    filled(&engine, 2000);
    engine.close().unwrap();
    drop(engine);
    // After the database is opened again, nothing is in memory.
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    let mut transaction =
        engine.transactions().begin(crate::Isolation::RepeatableRead, crate::TxnMode::ReadWrite);
    transaction.insert(&table, &row(&table, &[Some(5000), None, Some(50), Some(50)])).unwrap();
    let missing = |engine: &Engine| {
        let page = engine.tree(&table.indexes[3]).unwrap().leaf_of(&[]).unwrap();
        !engine.store.is_resident(page)
    };
    assert!(missing(&engine), "the test needs a leaf that is not in memory");
    env.set_fault(Some(Arc::new(|operation, name, _| operation == Operation::Read && name == "data")));
    let failed = transaction.commit();
    assert!(matches!(failed, Err(TableError::Storage(StorageError::Io { .. }))), "{failed:?}");
    env.set_fault(None);
    assert_eq!(rows(&view(&engine), &table).len(), 2000);
    transact(&engine, |transaction| {
        transaction.insert(&table, &row(&table, &[Some(5001), None, None, Some(51)])).map(drop)
    })
    .expect("the engine goes on");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn transactions_and_cursors_can_change_threads() {
    fn sendable<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    sendable::<crate::Transaction>();
    sendable::<crate::EntryCursor>();
    shared::<crate::ReadView>();
    shared::<Engine>();
}
