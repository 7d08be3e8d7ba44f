//! The life of a table: what statements see, what a commit leaves, and what remains after the database is
//! opened again.

use crate::testing::*;
use crate::{
    Direction, Engine, EngineOptions, EntryStep, FlushPolicy, Isolation, LocatorBatch, LockLimits,
    TableError, TxnMode,
};
use leafline_storage::StoreOptions;
use leafline_storage::device::SimulatedEnv;
use leafline_types::Value;
use std::time::Duration;

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?} is not a number"),
    }
}

fn ids(rows: &[Vec<Value>]) -> Vec<i64> {
    rows.iter().map(|row| number(&row[0])).collect()
}

#[test]
fn rows_are_there_after_commit_and_after_opening_again() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    transact(&engine, |transaction| {
        for id in [5, 1, 3] {
            let row = row(&table, &[Some(id), Some(id * 10), Some(id), Some(7)]);
            transaction.insert(&table, &row)?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(ids(&rows(&view(&engine), &table)), [1, 3, 5]);
    assert_eq!(engine.row_count(table.id), 3);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    engine.close().unwrap();
    drop(engine);

    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(ids(&rows(&view(&engine), &table)), [1, 3, 5]);
    assert_eq!(engine.row_count(table.id), 3);
    let by_b = scan(&view(&engine), &table, 2, &[0, 2], Direction::Forward).unwrap();
    let by_b: Vec<i64> = by_b.iter().map(|(_, values)| number(&values[0])).collect();
    assert_eq!(by_b, [5, 3, 1], "b is descending");
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn a_snapshot_does_not_change() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let first = row(&table, &[Some(1), Some(1), Some(1), Some(1)]);
    let second = row(&table, &[Some(1), Some(2), Some(9), Some(2)]);
    transact(&engine, |transaction| transaction.insert(&table, &first).map(drop)).unwrap();
    let before = view(&engine);
    let locator = scan(&before, &table, 0, &[], Direction::Forward).unwrap()[0].0.clone();
    transact(&engine, |transaction| transaction.update(&table, &locator, &first, &second).map(drop)).unwrap();
    let between = view(&engine);
    transact(&engine, |transaction| transaction.delete(&table, &locator, &second).map(drop)).unwrap();
    for index in 0..4 {
        for direction in [Direction::Forward, Direction::Reverse] {
            let seen = |view| -> Vec<Vec<Value>> {
                let columns: &[usize] = [&[0usize, 1, 2, 3][..], &[0, 1], &[0, 2, 3], &[0, 3]][index];
                let found = scan(view, &table, index, columns, direction).unwrap();
                found.into_iter().map(|(_, values)| values).collect()
            };
            let columns: &[usize] = [&[0usize, 1, 2, 3][..], &[0, 1], &[0, 2, 3], &[0, 3]][index];
            let pick = |row: &[Value]| -> Vec<Value> { columns.iter().map(|&at| row[at].clone()).collect() };
            assert_eq!(seen(&before), [pick(&first)], "index {index}");
            assert_eq!(seen(&between), [pick(&second)], "index {index}");
            assert_eq!(seen(&view(&engine)), Vec::<Vec<Value>>::new(), "index {index}");
        }
    }
    let mut locators = LocatorBatch::new();
    locators.push(&locator);
    let mut found = Vec::new();
    before.fetch(&table, &locators, &mut |at, row| found.push((at, row.is_some()))).unwrap();
    assert_eq!(found, [(0, true)]);
    drop((before, between));
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.stats().versions, 0);
    assert_eq!(engine.stats().purge_queue, 0);
}

#[test]
fn a_statement_does_not_meet_its_own_output() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    transact(&engine, |transaction| {
        for id in 0..20 {
            transaction.insert(&table, &row(&table, &[Some(id), None, None, Some(id)]))?;
        }
        Ok(())
    })
    .unwrap();
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    for round in 0..3 {
        transaction.begin_statement();
        let view = transaction.view();
        let mut cursor = view.entries(&table, &table.indexes[3]).unwrap();
        cursor.seek(&[]);
        let decoder = crate::entry_decoder(&table.indexes[3], &[0, 3]).unwrap();
        let mut updated = 0;
        loop {
            // One row at a time, as an UPDATE along the index it changes.
            let mut found = None;
            let more = cursor
                .visit(Direction::Forward, &mut |entry| {
                    let mut values = Vec::new();
                    decoder.decode_values(entry.key, entry.payload, &mut values).unwrap();
                    found = Some((number(&values[0]), number(&values[1])));
                    EntryStep::Pause
                })
                .unwrap();
            if let Some((id, c)) = found {
                let old = row(&table, &[Some(id), None, None, Some(c)]);
                let new = row(&table, &[Some(id), None, None, Some(c + 5)]);
                let mut locators = Vec::new();
                table.clustered().format.encode_key(&old, &[], &mut locators).unwrap();
                transaction.update(&table, &locators, &old, &new).unwrap();
                updated += 1;
            }
            if !more {
                break;
            }
        }
        assert_eq!(updated, 20, "round {round}");
    }
    transaction.commit().unwrap();
    let sum: i64 = rows(&view(&engine), &table).iter().map(|row| number(&row[3])).sum();
    assert_eq!(sum, (0..20).sum::<i64>() + 20 * 15);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn duplicates_are_refused_and_conflicts_noticed() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let values = |id: i64, a: Option<i64>| row(&table, &[Some(id), a, None, Some(0)]);
    transact(&engine, |transaction| transaction.insert(&table, &values(1, Some(1))).map(drop)).unwrap();
    let duplicate =
        |row: &[Value]| match transact(&engine, |transaction| transaction.insert(&table, row).map(drop)) {
            Err(error @ TableError::DuplicateEntry { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
    assert_eq!(duplicate(&values(1, None)), "Duplicate entry '1' for key 't.PRIMARY'");
    assert_eq!(duplicate(&values(2, Some(1))), "Duplicate entry '1' for key 't.a'");
    transact(&engine, |transaction| {
        transaction.insert(&table, &values(2, None))?;
        transaction.insert(&table, &values(3, None)).map(drop)
    })
    .expect("NULLs are no duplicates");

    // Both insert the same keys; the second waits, and finds a duplicate.
    for row in [values(7, None), values(8, Some(7))] {
        let mut first = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        let mut second = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        first.insert(&table, &values(7, Some(7))).unwrap();
        second.set_lock_limits(LockLimits { timeout: Duration::ZERO, ..LockLimits::default() });
        assert!(matches!(second.insert(&table, &row), Err(TableError::LockWaitTimeout)));
        first.commit().unwrap();
        let lost = second.insert(&table, &row);
        assert!(matches!(lost, Err(TableError::DuplicateEntry { .. })), "{lost:?}");
        drop(second);
        let locator = scan(&view(&engine), &table, 0, &[], Direction::Reverse).unwrap()[0].0.clone();
        transact(&engine, |transaction| transaction.delete(&table, &locator, &values(7, Some(7))).map(drop))
            .unwrap();
    }
    // Both update the same row.
    let locator = scan(&view(&engine), &table, 0, &[], Direction::Forward).unwrap()[0].0.clone();
    let mut first = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    let mut second = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    second.snapshot();
    second.set_lock_limits(LockLimits { timeout: Duration::ZERO, ..LockLimits::default() });
    first.update(&table, &locator, &values(1, Some(1)), &values(1, Some(5))).unwrap();
    let mut update = || second.update(&table, &locator, &values(1, Some(1)), &values(1, Some(6)));
    assert!(matches!(update(), Err(TableError::LockWaitTimeout)));
    first.commit().unwrap();
    assert!(matches!(update(), Err(TableError::WriteConflict)), "it was changed since the snapshot");
    second.refresh_snapshot().unwrap();
    second.update(&table, &locator, &values(1, Some(5)), &values(1, Some(6))).unwrap();
    second.commit().unwrap();
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    let refused = reader.insert(&table, &values(99, None));
    assert!(matches!(refused, Err(TableError::ReadOnlyTransaction)));
}

#[test]
fn rolling_back_to_a_mark_undoes_what_came_after() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let values = |id: i64| row(&table, &[Some(id), Some(id), None, Some(id)]);
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.insert(&table, &values(1)).unwrap();
    let mark = transaction.savepoint();
    transaction.insert(&table, &values(2)).unwrap();
    let statement = transaction.begin_statement();
    transaction.insert(&table, &values(3)).unwrap();
    transaction.rollback_statement(statement);
    transaction.begin_statement();
    assert_eq!(ids(&rows(&transaction.view(), &table)), [1, 2]);
    transaction.rollback_to(mark);
    transaction.begin_statement();
    assert_eq!(ids(&rows(&transaction.view(), &table)), [1]);
    let by_a = scan(&transaction.view(), &table, 1, &[1], Direction::Forward).unwrap();
    assert_eq!(by_a.len(), 1);
    transaction.insert(&table, &values(2)).expect("its keys are free again");
    transaction.commit().unwrap();
    assert_eq!(ids(&rows(&view(&engine), &table)), [1, 2]);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn commits_are_seen_at_once_under_every_flush_policy() {
    for policy in [FlushPolicy::EverySecond, FlushPolicy::EachCommit, FlushPolicy::WriteEachCommit] {
        let store = StoreOptions { flush_log_at_commit: policy, ..options().store };
        let env = std::sync::Arc::new(SimulatedEnv::new());
        let engine = Engine::open(env, EngineOptions { store, ..options() }).unwrap();
        let table = create(&engine, &keyed_spec());
        for id in 0..5 {
            let values = row(&table, &[Some(id), None, None, Some(0)]);
            transact(&engine, |transaction| transaction.insert(&table, &values).map(drop)).unwrap();
            assert_eq!(rows(&view(&engine), &table).len() as i64, id + 1, "{policy:?}");
        }
    }
}

#[test]
fn isolation_levels_differ_in_when_they_look() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    let values = |id: i64| row(&table, &[Some(id), Some(id), None, Some(id)]);
    let mut committed = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
    let mut repeatable = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    for transaction in [&mut committed, &mut repeatable] {
        transaction.begin_statement();
        assert!(rows(&transaction.view(), &table).is_empty());
    }
    transact(&engine, |transaction| transaction.insert(&table, &values(1)).map(drop)).unwrap();
    for (transaction, seen) in [(&mut committed, 1), (&mut repeatable, 0)] {
        transaction.begin_statement();
        assert_eq!(rows(&transaction.view(), &table).len(), seen);
    }
    // A row that the snapshot does not see still conflicts.
    assert!(matches!(repeatable.insert(&table, &values(1)), Err(TableError::DuplicateEntry { .. })));
    repeatable.refresh_snapshot().unwrap();
    assert_eq!(rows(&repeatable.view(), &table).len(), 1);
}
