//! Transactions that work while a commit is being applied, or wait for it, never rely on half of it.

use crate::catalog::{IndexSpecKind, TableDef};
use crate::read::ReadView;
use crate::testing::*;
use crate::{Direction, Engine, Isolation, KeySearch, LockStrength, TableError, Transaction, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_types::Value;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Tables `p (id PRIMARY KEY)` and `c (id PRIMARY KEY, p, x, KEY (p, x))`.
fn family(engine: &Engine) -> [Arc<TableDef>; 2] {
    let columns = ["id", "p", "x"].map(|name| column(name, int(), false));
    let primary = index(IndexSpecKind::Primary, "", &["id"]);
    let p = create(engine, &spec("p", columns[..1].to_vec(), vec![primary.clone()]));
    let indexes = vec![primary, index(IndexSpecKind::Plain, "px", &["p", "x"])];
    [p, create(engine, &spec("c", columns.to_vec(), indexes))]
}

fn ints(values: &[i64]) -> Vec<Value> {
    values.iter().map(|value| Value::Int(*value)).collect()
}

fn key(table: &TableDef, row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    table.clustered().format.encode_key(row, &[], &mut key).unwrap();
    key
}

fn begin(engine: &Arc<Engine>) -> Transaction {
    let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
    transaction.begin_statement();
    transaction
}

fn replace(transaction: &mut Transaction, table: &Arc<TableDef>, old: &[Value], new: &[Value]) {
    transaction.update(table, &key(table, old), old, new).unwrap();
}

/// Deletes parent 1 unless rows refer to it. Returns whether it did.
fn delete_parent(engine: &Arc<Engine>, [p, c]: &[Arc<TableDef>; 2]) -> bool {
    let mut transaction = begin(engine);
    let one = ints(&[1]);
    transaction.lock_reference(p, &[0], &one, LockStrength::Update).unwrap();
    let mut search = KeySearch::new(c, &c.indexes[1], &one).unwrap();
    if transaction.has_row(&mut search).unwrap() {
        return false;
    }
    transaction.delete(p, &key(p, &one), &one).unwrap();
    transaction.commit().unwrap();
    true
}

fn refers_to_what_is_there(view: &ReadView, [p, c]: &[Arc<TableDef>; 2]) {
    for index in 0..2 {
        let children = scan(view, c, index, &[1], Direction::Forward).unwrap();
        assert!(children.is_empty() || !rows(view, p).is_empty(), "{children:?} without a parent");
    }
}

/// Waits until the thread has ended, or waits for a lock.
fn ended_or_waiting<T>(engine: &Engine, thread: &JoinHandle<T>) {
    while !thread.is_finished() && engine.stats().locks.waiting == 0 {
        std::thread::yield_now();
    }
}

/// Commits the writes of `first`, repeatedly from the beginning, and each time runs `second` after another
/// step of that commit. `check` gets a view of what is visible then, and at the end.
fn after_each_step<T: Clone + Send + Sync + 'static>(
    set_up: fn(&Arc<Engine>) -> T,
    first: fn(&mut Transaction, &T),
    second: fn(&Arc<Engine>, &T),
    check: fn(&ReadView, &T),
) {
    for at in 0.. {
        let engine = open(&SimulatedEnv::new());
        let tables = set_up(&engine);
        let mut transaction = begin(&engine);
        first(&mut transaction, &tables);
        let (steps, other) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let (committing, weak) = (std::thread::current().id(), Arc::downgrade(&engine));
        let observer = {
            let (steps, other, tables) = (steps.clone(), other.clone(), tables.clone());
            move || {
                if std::thread::current().id() != committing || steps.fetch_add(1, Ordering::Relaxed) != at {
                    return;
                }
                let engine = weak.upgrade().unwrap();
                let thread = {
                    let (engine, tables) = (engine.clone(), tables.clone());
                    std::thread::spawn(move || second(&engine, &tables))
                };
                ended_or_waiting(&engine, &thread);
                engine.store.wait_durable(engine.store.log_end()).unwrap();
                check(&view(&engine), &tables);
                *other.lock() = Some(thread);
            }
        };
        *engine.observer.lock() = Some(Arc::new(observer));
        transaction.commit().unwrap();
        *engine.observer.lock() = None;
        let Some(thread) = other.lock().take() else {
            assert!(at > 2 && steps.load(Ordering::Relaxed) == at, "no commit of several steps");
            return;
        };
        thread.join().unwrap();
        check(&view(&engine), &tables);
    }
}

fn family_of_two(engine: &Arc<Engine>) -> [Arc<TableDef>; 2] {
    let tables = family(engine);
    let fill = |transaction: &mut Transaction| -> Result<(), TableError> {
        transaction.insert(&tables[0], &ints(&[1]))?;
        transaction.insert(&tables[1], &ints(&[7, 1, 5])).map(drop)
    };
    transact(engine, fill).unwrap();
    tables
}

#[test]
fn a_parent_is_not_gone_before_the_last_child() {
    let first = |transaction: &mut Transaction, [_, c]: &[Arc<TableDef>; 2]| {
        let child = ints(&[7, 1, 5]);
        transaction.delete(c, &key(c, &child), &child).unwrap();
    };
    let second = |engine: &Arc<Engine>, tables: &[Arc<TableDef>; 2]| assert!(delete_parent(engine, tables));
    after_each_step(family_of_two, first, second, refers_to_what_is_there);
}

#[test]
fn a_child_that_moves_in_the_index_is_not_missed() {
    let keeps = |engine: &Arc<Engine>, tables: &[Arc<TableDef>; 2]| assert!(!delete_parent(engine, tables));
    let up = |transaction: &mut Transaction, [_, c]: &[Arc<TableDef>; 2]| {
        replace(transaction, c, &ints(&[7, 1, 5]), &ints(&[7, 1, 9]));
    };
    after_each_step(family_of_two, up, keeps, refers_to_what_is_there);
    let down = |transaction: &mut Transaction, [_, c]: &[Arc<TableDef>; 2]| {
        replace(transaction, c, &ints(&[7, 1, 5]), &ints(&[7, 1, 2]));
    };
    after_each_step(family_of_two, down, keeps, refers_to_what_is_there);
}

#[test]
fn a_child_that_has_moved_while_its_lock_was_waited_for_is_not_missed() {
    for x in [2, 9] {
        let engine = open(&SimulatedEnv::new());
        let tables = family_of_two(&engine);
        let mut transaction = begin(&engine);
        replace(&mut transaction, &tables[1], &ints(&[7, 1, 5]), &ints(&[7, 1, x]));
        let thread = {
            let (engine, tables) = (engine.clone(), tables.clone());
            std::thread::spawn(move || delete_parent(&engine, &tables))
        };
        ended_or_waiting(&engine, &thread);
        transaction.commit().unwrap();
        assert!(!thread.join().unwrap(), "to {x}");
        refers_to_what_is_there(&view(&engine), &tables);
    }
}

#[test]
fn a_unique_key_is_not_taken_before_it_is_free() {
    let set_up = |engine: &Arc<Engine>| {
        let table = create(engine, &keyed_spec());
        let values = row(&table, &[Some(1), Some(10), Some(1), Some(1)]);
        transact(engine, |transaction| transaction.insert(&table, &values).map(drop)).unwrap();
        table
    };
    let second = |engine: &Arc<Engine>, table: &Arc<TableDef>| {
        let values = row(table, &[Some(2), Some(10), Some(2), Some(2)]);
        let mut transaction = begin(engine);
        transaction.insert(table, &values).unwrap();
        transaction.commit().unwrap();
    };
    let check = |view: &ReadView, table: &Arc<TableDef>| {
        for index in 0..2 {
            let found = scan(view, table, index, &[1], Direction::Forward).unwrap();
            let same = found.iter().filter(|(_, values)| *values == [Value::Int(10)]).count();
            assert!(same <= 1, "{same} rows with one unique key");
        }
    };
    let delete = |transaction: &mut Transaction, table: &Arc<TableDef>| {
        let old = row(table, &[Some(1), Some(10), Some(1), Some(1)]);
        transaction.delete(table, &key(table, &old), &old).unwrap();
    };
    after_each_step(set_up, delete, second, check);
    let change = |transaction: &mut Transaction, table: &Arc<TableDef>| {
        let old = row(table, &[Some(1), Some(10), Some(1), Some(1)]);
        replace(transaction, table, &old, &row(table, &[Some(1), Some(11), Some(1), Some(1)]));
    };
    after_each_step(set_up, change, second, check);
}

#[test]
fn a_search_finds_all_rows_whatever_their_number() {
    let engine = open(&SimulatedEnv::new());
    let tables = family(&engine);
    let [p, c] = &tables;
    let fill = |transaction: &mut Transaction| -> Result<(), TableError> {
        transaction.insert(p, &ints(&[1]))?;
        (0..2000).try_for_each(|id| transaction.insert(c, &ints(&[id, id % 2, id])).map(drop))
    };
    transact(&engine, fill).unwrap();
    let mut transaction = begin(&engine);
    let mut search = KeySearch::new(c, &c.indexes[1], &ints(&[1])).unwrap();
    let mut found = 0;
    loop {
        let locators = transaction.find_rows(&mut search).unwrap();
        if locators.is_empty() {
            break;
        }
        found += locators.len();
        for locator in locators {
            assert!(transaction.delete_key(c, &locator).unwrap());
        }
    }
    assert_eq!(found, 1000);
    transaction.commit().unwrap();
    assert_eq!(rows(&view(&engine), c).len(), 1000);
}
