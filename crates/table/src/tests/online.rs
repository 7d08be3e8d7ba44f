//! Index builds and table rebuilds while others write.

use crate::alter::Rebuild;
use crate::catalog::{IndexSpec, IndexSpecKind, IndexSpecPart, Organisation, TableSpec};
use crate::engine::Engine;
use crate::lock::{Excluding, LockLimits, MetadataMode};
use crate::options::EngineOptions;
use crate::testing::*;
use crate::{Alteration, ColumnDef, Isolation, RowConverter, TableDef, TableError, Transaction, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StoreOptions};
use leafline_types::{MysqlError, SqlType, Value};
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
    engine.ddl().alter_table(&table, alteration).map(drop)
}

fn values(table: &TableDef, id: i64, random: &mut SmallRng) -> Vec<Value> {
    row(table, &[Some(id), None, Some(random.random_range(0..30)), Some(random.random_range(0..500))])
}

/// Makes changes to random rows: new rows, other values, other keys, deletions.
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
        let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
        match change(table, &mut transaction, random).and_then(|()| transaction.commit().map(drop)) {
            Ok(()) => return,
            Err(TableError::WriteConflict | TableError::Deadlock) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn changes_after_the_snapshot_are_in_the_index() {
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
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
        engine.close().unwrap();
        drop(engine);
        let engine = open(&env);
        let table = engine.table("d", "t").unwrap();
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "seed {seed}");
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
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
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
                let locks = engine.transactions().session_locks();
                let key = locks.table_key("d", "t");
                while !done.load(Ordering::Relaxed) {
                    locks.note_use(key, true, || limits.clone()).unwrap();
                    commit_changes(engine, &engine.table("d", "t").unwrap(), &mut random);
                    locks.end_uses();
                }
            });
        }
        let locks = engine.transactions().session_locks();
        let key = locks.table_key("d", "t");
        let added = [
            packed(index(IndexSpecKind::Plain, "cb", &["c", "-b"])),
            index(IndexSpecKind::Unique, "c_id", &["c", "id"]),
        ];
        for _ in 0..8 * scale() {
            let switch = || locks.exclude(&[(key, MetadataMode::NoWrite)], &limits).map(Some);
            add_beside(&engine, &added, &switch).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let table = engine.table("d", "t").unwrap();
            assert_eq!(
                engine.maintenance().check_table(&table).unwrap(),
                Vec::<String>::new(),
                "seed {seed}"
            );
            for name in ["cb", "c_id"] {
                let excluding = locks.exclude(&[(key, MetadataMode::Exclusive)], &limits).unwrap();
                engine.ddl().drop_index("d", "t", name).unwrap();
                drop(excluding);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    engine.close().unwrap();
}

/// Makes rows of a new table from those of `t`, while others change it.
struct Meddled<'a> {
    engine: &'a Arc<Engine>,
    table: Arc<TableDef>,
    random: SmallRng,
    rows: u64,
    /// From here on commits have to wait.
    over: &'a AtomicBool,
    convert: fn(Vec<Value>) -> Vec<Value>,
}

impl RowConverter for Meddled<'_> {
    fn convert(&mut self, row: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        self.rows += 1;
        if self.rows.is_multiple_of(30) && !self.over.load(Ordering::Relaxed) {
            commit_changes(self.engine, &self.table, &mut self.random);
            // Other DDL forgets the counters of tables that do not exist.
            self.engine.ddl().create_table(&prefix_spec(), false).unwrap();
            self.engine.ddl().drop_table("d", "b", false).unwrap();
        }
        Ok((self.convert)(row))
    }

    fn convert_again(&mut self, row: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        Ok((self.convert)(row))
    }
}

/// The new form of `t`.
struct Becomes {
    columns: Vec<ColumnDef>,
    indexes: Vec<IndexSpec>,
    sources: Vec<Option<usize>>,
    convert: fn(Vec<Value>) -> Vec<Value>,
    organisation: Organisation,
    order: Vec<IndexSpecPart>,
    /// Whether the last column gets numbers.
    numbers: bool,
}

fn optimized() -> Becomes {
    let TableSpec { columns, indexes, .. } = keyed_spec();
    Becomes {
        columns,
        indexes,
        sources: (0..4).map(Some).collect(),
        convert: |row| row,
        organisation: Organisation::Clustered,
        order: Vec::new(),
        numbers: false,
    }
}

/// The rows of the table as a heap, in the order of insertion.
fn heap() -> Becomes {
    Becomes { organisation: Organisation::Heap, ..optimized() }
}

/// No primary key, and rows stored in a requested order.
fn without_key() -> Becomes {
    let mut becomes = optimized();
    becomes.indexes.remove(0);
    becomes.order = vec![IndexSpecPart { column: "c".into(), descending: true, prefix: None }];
    becomes
}

/// Numbers in a new column, which is the primary key.
fn numbered(organisation: Organisation) -> Becomes {
    let mut becomes = optimized();
    let number = ColumnDef { auto_increment: true, ..column("number", int(), false) };
    becomes.columns.push(number);
    becomes.indexes[0] = index(IndexSpecKind::Primary, "", &["number"]);
    becomes.sources.push(None);
    becomes.convert = |mut row| {
        row.push(Value::Null);
        row
    };
    Becomes { numbers: true, organisation, ..becomes }
}

/// Another primary key, fewer columns.
fn keyed_otherwise() -> Becomes {
    Becomes {
        columns: vec![column("c", int(), false), column("id", int(), false), column("b", varchar(), true)],
        indexes: vec![
            index(IndexSpecKind::Primary, "", &["c", "-id"]),
            index(IndexSpecKind::Unique, "id", &["id"]),
            index(IndexSpecKind::Plain, "b", &["b:2", "c"]),
        ],
        sources: vec![Some(3), Some(0), Some(2)],
        convert: |row| vec![row[3].clone(), row[0].clone(), row[2].clone()],
        ..optimized()
    }
}

/// Long values, which overflow.
fn longer() -> Becomes {
    let mut becomes = optimized();
    becomes.columns.push(column("text", SqlType::Text { max_bytes: 1 << 20 }, false));
    becomes.indexes.push(index(IndexSpecKind::Plain, "text", &["text:10"]));
    becomes.sources.push(None);
    becomes.convert = |mut row| {
        let Value::Int(c) = row[3] else { panic!("{row:?}") };
        row.push(Value::string(format!("{c} {}", "long ".repeat(c as usize * 7))));
        row
    };
    becomes
}

fn build_anew(
    engine: &Arc<Engine>,
    becomes: &Becomes,
    random: &SmallRng,
    switch: Switch<'_>,
) -> Result<(), TableError> {
    let table = engine.table("d", "t")?;
    let mut spec = TableSpec {
        columns: becomes.columns.clone(),
        indexes: becomes.indexes.clone(),
        ..TableSpec::of(&table)
    };
    spec.options.organisation = becomes.organisation;
    let (random, convert, over) = (random.clone(), becomes.convert, AtomicBool::new(false));
    let mut converter = Meddled { engine, table: table.clone(), random, rows: 0, over: &over, convert };
    let switch = || {
        over.store(true, Ordering::Relaxed);
        switch()
    };
    let (order, numbers) = (becomes.order.clone(), becomes.numbers);
    let alteration = Alteration {
        switch: Some(&switch),
        rebuild: Some(Rebuild { order, numbers, ..anew(&mut converter) }),
        sources: becomes.sources.clone(),
        ..unchanged(engine, &table, spec)
    };
    engine.ddl().alter_table(&table, alteration).map(drop)
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut texts: Vec<String> = rows.drain(..).map(|row| format!("{row:?}")).collect();
    texts.sort_unstable();
    texts
}

/// The rows of a table, with their overflow values.
fn whole_rows(engine: &Arc<Engine>, table: &Arc<TableDef>) -> Vec<Vec<Value>> {
    let view = view(engine);
    let mut source = crate::build::SnapshotSource::new(&view, table).unwrap();
    let mut rows = Vec::new();
    while let Some((key, payload)) = crate::run::EntrySource::next(&mut source).unwrap() {
        rows.push(crate::build::SeenRow { view: &view, key, payload }.values(table).unwrap());
    }
    rows
}

#[test]
fn changes_after_the_snapshot_are_in_the_rebuilt_table() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for (options, becomes) in [
        (options(), optimized()),
        (options(), keyed_otherwise()),
        (by_reference_options(), keyed_otherwise()),
        (options(), longer()),
        (options(), heap()),
        (by_reference_options(), heap()),
        (options(), Becomes { organisation: Organisation::Heap, ..longer() }),
        (options(), without_key()),
        (options(), numbered(Organisation::Clustered)),
        (options(), numbered(Organisation::Heap)),
    ] {
        let env = SimulatedEnv::new();
        let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options).unwrap();
        let table = create(&engine, &keyed_spec());
        for _ in 0..200 {
            commit_changes(&engine, &table, &mut random);
        }
        let more = std::cell::RefCell::new(random.clone());
        let expected = std::cell::RefCell::new(Vec::new());
        let switch = || {
            for _ in 0..300 {
                commit_changes(&engine, &table, &mut more.borrow_mut());
            }
            *expected.borrow_mut() = rows(&view(&engine), &table);
            Ok(None)
        };
        build_anew(&engine, &becomes, &random, &switch)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let expected: Vec<Vec<Value>> = expected.into_inner().into_iter().map(becomes.convert).collect();
        for _ in 0..2 {
            let new = engine.table("d", "t").unwrap();
            assert!(new.id != table.id);
            assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new(), "seed {seed}");
            assert_eq!(engine.row_count(new.id), expected.len() as u64, "seed {seed}");
            let found = without_numbers(whole_rows(&engine, &new), becomes.numbers, seed);
            assert_eq!(sorted(found), sorted(expected.clone()), "seed {seed}");
            engine.maintenance().purge().unwrap();
        }
        assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "seed {seed}");
        engine.close().unwrap();
        drop(engine);
        let engine = open(&env);
        let new = engine.table("d", "t").unwrap();
        assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new(), "seed {seed}");
        let found = without_numbers(whole_rows(&engine, &new), becomes.numbers, seed);
        assert_eq!(sorted(found), sorted(expected), "seed {seed}");
        if new.has_hidden_row_id() && !becomes.numbers {
            insert_new(&engine, &new, seed);
        }
    }
}

/// The rows without the numbers given in their last column, if they were; each number must be unique.
fn without_numbers(mut rows: Vec<Vec<Value>>, numbers: bool, seed: u64) -> Vec<Vec<Value>> {
    let mut found = std::collections::BTreeSet::new();
    for row in rows.iter_mut().filter(|_| numbers) {
        let number = row.last_mut().unwrap();
        let Value::Int(given @ 1..) = *number else { panic!("seed {seed}: {number:?}") };
        assert!(found.insert(given), "seed {seed}: {given} was given twice");
        *number = Value::Null;
    }
    rows
}

/// Checks that a new row gets a hidden row id that no other row has.
fn insert_new(engine: &Arc<Engine>, table: &Arc<TableDef>, seed: u64) {
    let before = whole_rows(engine, table).len();
    let mut new = row(table, &[Some(5000), None, None, Some(0)]);
    new.resize(table.columns.len(), Value::string("short"));
    transact(engine, |t| t.insert(table, &new).map(drop)).unwrap();
    assert_eq!(whole_rows(engine, table).len(), before + 1, "seed {seed}");
}

#[test]
fn rows_without_a_key_keep_their_numbers_when_their_table_is_built_anew() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &other_spec(true));
    let values = |x: i64| row(&table, &[Some(x), Some(x % 5), Some(x)]);
    let insert = |x| transact(&engine, |t| t.insert(&table, &values(x)).map(drop)).unwrap();
    (0..40).for_each(insert);
    let mut same = Meddled {
        engine: &engine,
        table: table.clone(),
        random: SmallRng::seed_from_u64(0),
        rows: 0,
        over: &AtomicBool::new(true),
        convert: |row| row,
    };
    let switch = || {
        (40..60).for_each(insert);
        Ok(None)
    };
    let alteration = Alteration {
        switch: Some(&switch),
        rebuild: Some(anew(&mut same)),
        ..unchanged(&engine, &table, TableSpec::of(&table))
    };
    engine.ddl().alter_table(&table, alteration).unwrap();
    let new = engine.table("d", "h").unwrap();
    assert_eq!(rows(&view(&engine), &new), (0..60).map(values).collect::<Vec<_>>());
    transact(&engine, |t| t.insert(&new, &values(60)).map(drop)).unwrap();
    assert_eq!(rows(&view(&engine), &new), (0..61).map(values).collect::<Vec<_>>());
    assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new());
}

#[test]
fn rows_that_come_to_have_one_key_end_it_and_nothing_is_left() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    let with_c = |id: i64, c: i64| row(&table, &[Some(id), None, None, Some(c)]);
    let insert = |id, c| transact(&engine, |t| t.insert(&table, &with_c(id, c)).map(drop)).unwrap();
    (0..20).for_each(|id| insert(id, id));
    let segments = engine.store.segments().len();
    let mut becomes = keyed_otherwise();
    becomes.indexes[0] = index(IndexSpecKind::Primary, "", &["c"]);
    let quiet = SmallRng::seed_from_u64(0);
    let failed = build_anew(&engine, &becomes, &quiet, &|| {
        insert(100, 7);
        Ok(None)
    });
    assert!(matches!(failed, Err(TableError::DuplicateEntry { .. })), "{failed:?}");
    assert_eq!(engine.store.segments().len(), segments, "nothing is left of what was built");
    assert_eq!(engine.table("d", "t").unwrap().id, table.id);
    assert_eq!(rows(&view(&engine), &table).len(), 21);
}

#[test]
fn writers_go_on_while_their_table_is_built_anew() {
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
                let locks = engine.transactions().session_locks();
                let key = locks.table_key("d", "t");
                while !done.load(Ordering::Relaxed) {
                    locks.note_use(key, true, || limits.clone()).unwrap();
                    commit_changes(engine, &engine.table("d", "t").unwrap(), &mut random);
                    locks.end_uses();
                }
            });
        }
        let locks = engine.transactions().session_locks();
        let key = locks.table_key("d", "t");
        for _ in 0..8 * scale() {
            let switch = || locks.exclude(&[(key, MetadataMode::Exclusive)], &limits).map(Some);
            let mut same = Meddled {
                engine: &engine,
                table: engine.table("d", "t").unwrap(),
                random: SmallRng::seed_from_u64(seed),
                rows: 0,
                over: &AtomicBool::new(true),
                convert: |row| row,
            };
            let table = same.table.clone();
            let alteration = Alteration {
                switch: Some(&switch),
                rebuild: Some(anew(&mut same)),
                ..unchanged(&engine, &table, TableSpec::of(&table))
            };
            engine
                .ddl()
                .alter_table(&table, alteration)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let table = engine.table("d", "t").unwrap();
            assert_eq!(
                engine.maintenance().check_table(&table).unwrap(),
                Vec::<String>::new(),
                "seed {seed}"
            );
        }
        done.store(true, Ordering::Relaxed);
    });
    engine.close().unwrap();
}
