//! Power cuts at every write of a workload, and of its recovery; full disks.
//!
//! The workload makes commits of several rows, DDL, bulk loads, purges and checkpoints, one after another.
//! The power goes off at the n-th change of the disk; any part of the unsynced data may be left. After the
//! database is opened again, the tables must be as after the last acknowledged step, or as after the one that
//! was running, and nothing else. Every check must find them sound.

use crate::build::BuildControl;
use crate::catalog::{IndexSpecKind, Organisation, TableDef, TableSpec};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::options::EngineOptions;
use crate::testing::*;
use leafline_btree::Direction;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError};
use leafline_types::Value;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Row = Vec<Value>;

/// Indexes and rows of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Table {
    indexes: Vec<String>,
    pub(super) rows: BTreeMap<Vec<u8>, Row>,
}

pub(super) type State = BTreeMap<String, Table>;

fn open_with(env: &SimulatedEnv, options: &EngineOptions) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone())
}

/// Reads the tables of a database that has just been opened, or has had no fault since. Checks that they are
/// sound, and that each segment belongs to one of them.
pub(super) fn read_state(engine: &Arc<Engine>, what: &str) -> State {
    let state = read_tables(engine, what);
    let catalog = engine.catalog();
    let named: Vec<_> =
        catalog.all_tables().flat_map(|table| &table.indexes).map(|index| index.tree).collect();
    let buffered = engine.change_buffer.segments();
    let segments = engine.store.segments();
    let is_named = |id| named.contains(&id) || buffered.contains(&id);
    let strays: Vec<_> = segments.iter().filter(|segment| !is_named(segment.id)).collect();
    assert_eq!(strays.len(), 1, "{what}: only the catalog's own segment is not named: {strays:?}");
    state
}

/// Reads the tables of a database that may have had faults since it was opened. A segment that was made for
/// something that failed may stay until the database is opened again.
pub(super) fn read_tables(engine: &Arc<Engine>, what: &str) -> State {
    let catalog = engine.catalog();
    let mut state = State::new();
    for table in catalog.all_tables() {
        assert_eq!(
            engine.maintenance().check_table(table).unwrap(),
            Vec::<String>::new(),
            "{what}: {}",
            table.name
        );
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let rows = scan(&view(engine), table, 0, &columns, Direction::Forward).unwrap();
        let indexes = table.indexes.iter().map(|index| index.name.clone()).collect();
        state.insert(table.name.clone(), Table { indexes, rows: rows.into_iter().collect() });
    }
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
    state
}

struct Workload {
    engine: Arc<Engine>,
    random: SmallRng,
    acknowledged: State,
    /// The state after the running step.
    running: Option<State>,
    next_id: i64,
    /// Whether the running commit is made durable in parts.
    meddle: Arc<AtomicBool>,
}

impl Workload {
    fn open(env: &SimulatedEnv, seed: u64, options: &EngineOptions) -> Result<Workload> {
        let engine = open_with(env, options)?;
        // Makes commits durable, and writes pages, while they are partly applied.
        let (store, random) = (engine.store.clone(), Mutex::new(SmallRng::seed_from_u64(seed)));
        let meddle = Arc::new(AtomicBool::new(false));
        let meddling = meddle.clone();
        *engine.observer.lock() = Some(Arc::new(move || {
            // The workload soon notices that the power is off.
            let _ = match random.lock().random_range(0..20) {
                _ if !meddling.load(Ordering::Relaxed) => Ok(()),
                0..=3 => store.wait_durable(store.log_end()),
                4 => store.checkpoint(),
                _ => Ok(()),
            };
        }));
        Ok(Workload {
            engine,
            random: SmallRng::seed_from_u64(seed),
            acknowledged: State::new(),
            running: None,
            next_id: 0,
            meddle,
        })
    }

    /// Runs a step that leads to `after`.
    fn step(&mut self, after: State, work: impl FnOnce(&mut Workload) -> Result<()>) -> Result<()> {
        self.running = Some(after.clone());
        self.meddle.store(self.random.random(), Ordering::Relaxed);
        work(self)?;
        self.running = None;
        self.acknowledged = after;
        Ok(())
    }

    fn create(&mut self, spec: &TableSpec) -> Result<()> {
        let mut after = self.acknowledged.clone();
        let mut indexes: Vec<String> =
            spec.indexes.iter().map(|index| index.name.clone().unwrap_or("PRIMARY".into())).collect();
        if spec.options.organisation == Organisation::Heap {
            indexes.insert(0, "GEN_CLUST_INDEX".into());
        }
        // The primary key first, then unique ones.
        indexes.sort_by_key(|name| match name.as_str() {
            "GEN_CLUST_INDEX" => 0,
            "PRIMARY" => 1,
            "a" | "u" => 2,
            _ => 3,
        });
        after.insert(spec.name.clone(), Table { indexes, rows: BTreeMap::new() });
        self.step(after, |workload| workload.engine.ddl().create_table(spec, false).map(drop))
    }

    fn values(&mut self, table: &TableDef) -> Row {
        self.next_id += 1;
        let mut numbers: Vec<Option<i64>> =
            table.columns.iter().map(|_| Some(self.random.random_range(0..50))).collect();
        // Columns of unique keys get unique values, and sometimes NULL if they can be NULL.
        numbers[0] = Some(self.next_id * 7 % 100_003);
        numbers[1] = Some(self.next_id);
        if table.columns[1].nullable && self.random.random_range(0..3) == 0 {
            numbers[1] = None;
        }
        row(table, &numbers)
    }

    fn rows(&mut self) -> Result<()> {
        let name = ["t", "p", "h"][self.random.random_range(0..3)];
        let Some(before) = self.acknowledged.get(name).cloned() else { return Ok(()) };
        let table = self.engine.table("d", name)?;
        let mut transaction =
            self.engine.transactions().begin(crate::Isolation::RepeatableRead, crate::TxnMode::ReadWrite);
        let mut rows = before.rows;
        let most = if self.random.random_range(0..12) == 0 { 150 } else { 14 };
        for _ in 0..self.random.random_range(1..most) {
            let new = self.values(&table);
            let choice = self.random.random_range(0..10);
            if choice < 6 || rows.is_empty() {
                let inserted = transaction.insert(&table, &new)?;
                rows.insert(inserted.locator, new);
                continue;
            }
            let at = self.random.random_range(0..rows.len());
            let (key, old) = rows.iter().nth(at).map(|(key, row)| (key.clone(), row.clone())).unwrap();
            rows.remove(&key);
            if choice < 8 {
                transaction.delete(&table, &key, &old)?;
            } else {
                let mut new = new;
                if self.random.random() {
                    new[0] = old[0].clone();
                    new[1] = old[1].clone();
                }
                let key = transaction.update(&table, &key, &old, &new)?;
                rows.insert(key, new);
            }
        }
        let mut after = self.acknowledged.clone();
        after.get_mut(name).unwrap().rows = rows;
        self.step(after, |_| transaction.commit().map(drop))
    }

    fn load(&mut self) -> Result<()> {
        if !self.acknowledged.contains_key("t") {
            return Ok(());
        }
        let table = self.engine.table("d", "t")?;
        let engine = self.engine.clone();
        let mut loader = engine.ddl().bulk_load(&table, &BuildControl::of(&engine))?;
        let mut after = self.acknowledged.clone();
        for _ in 0..self.random.random_range(0..60) {
            let values = self.values(&table);
            let mut key = Vec::new();
            table.clustered().format.encode_key(&values, &[], &mut key)?;
            loader.push(&values)?;
            after.get_mut("t").unwrap().rows.insert(key, values);
        }
        self.step(after, |_| loader.finish().map(drop))
    }

    fn index(&mut self) -> Result<()> {
        let Some(table) = self.acknowledged.get("t") else { return Ok(()) };
        let mut after = self.acknowledged.clone();
        let indexes = &mut after.get_mut("t").unwrap().indexes;
        if table.indexes.iter().any(|name| name == "extra") {
            indexes.retain(|name| name != "extra");
            self.step(after, |workload| workload.engine.ddl().drop_index("d", "t", "extra"))
        } else {
            indexes.push("extra".into());
            let extra = index(IndexSpecKind::Plain, "extra", &["c", "-a"]);
            self.step(after, |workload| workload.engine.ddl().add_indexes("d", "t", &[extra]))
        }
    }

    fn table(&mut self) -> Result<()> {
        if self.acknowledged.contains_key("h") {
            let mut after = self.acknowledged.clone();
            after.remove("h");
            self.step(after, |workload| workload.engine.ddl().drop_table("d", "h", false).map(drop))
        } else {
            self.create(&other_spec(true))
        }
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        self.engine.ddl().create_database("d", leafline_types::Collation::DEFAULT, true)?;
        self.create(&keyed_spec())?;
        self.create(&other_spec(false))?;
        for _ in 0..steps {
            match self.random.random_range(0..20) {
                0 => self.load()?,
                1 => self.index()?,
                2 => self.table()?,
                3 => drop(self.engine.maintenance().purge()?),
                4 => self.engine.store.checkpoint()?,
                _ => self.rows()?,
            }
        }
        Ok(())
    }
}

/// Opens the database after a cut, and checks that the tables are in an allowed state. Returns them.
fn recover(
    env: &SimulatedEnv,
    options: &EngineOptions,
    allowed: &[&State],
    what: &str,
) -> (Arc<Engine>, State) {
    let engine = open_with(env, options).unwrap();
    if env.exists("commits").unwrap() {
        assert!(env.list("commits").unwrap().is_empty(), "{what}: no commit is in doubt");
    }
    let found = read_state(&engine, what);
    assert!(allowed.contains(&&found), "{what}: found {found:#?}\nallowed {allowed:#?}");
    (engine, found)
}

const STEPS: usize = 40;

fn cut_at(seed: u64, n: u64, recovery_cuts: bool, options: &EngineOptions) -> bool {
    let what = format!("seed {seed}, cut at {n}");
    let env = SimulatedEnv::new();
    env.power_cut_after(n);
    let mut finished = false;
    let (acknowledged, running) = match Workload::open(&env, seed, options) {
        Ok(mut workload) => {
            match workload.run(STEPS) {
                Ok(()) => finished = true,
                Err(TableError::Storage(StorageError::Io { .. } | StorageError::Poisoned { .. })) => {}
                Err(other) => panic!("{what}: {other}"),
            }
            (workload.acknowledged, workload.running)
        }
        Err(_) => (State::new(), None),
    };
    env.reboot(seed ^ n);
    let allowed: Vec<&State> = std::iter::once(&acknowledged).chain(&running).collect();
    if recovery_cuts {
        // The power goes off during recovery, again and again, a little later each time.
        let mut random = SmallRng::seed_from_u64(seed ^ n);
        for round in 0..6 {
            let copy = env.snapshot();
            copy.power_cut_after(random.random_range(0..=round * 8));
            drop(open_with(&copy, options));
            copy.reboot(random.random());
            drop(recover(&copy, options, &allowed, &format!("{what}, cut in recovery")));
        }
    }
    let (engine, found) = recover(&env, options, &allowed, &what);
    // The database works: one more commit, and a clean end.
    if found.contains_key("t") {
        let table = engine.table("d", "t").unwrap();
        let extra = row(&table, &[Some(5000), Some(5000), None, Some(1)]);
        transact(&engine, |transaction| transaction.insert(&table, &extra).map(drop)).unwrap();
        engine.close().unwrap();
        drop(engine);
        let engine = open_with(&env, options).unwrap();
        let rows = read_state(&engine, &what)["t"].rows.len();
        assert_eq!(rows, found["t"].rows.len() + 1, "{what}");
    }
    finished
}

/// Cuts the power at random distances, so that repeated runs reach every write.
fn cut_at_any_write(options: &EngineOptions) {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let most = 30 * scale();
    let env = SimulatedEnv::new();
    Workload::open(&env, seed, options).unwrap().run(STEPS).unwrap();
    let changes = env.counts().changes();
    let stride = (2 * changes / most).max(1);
    let mut n = 0;
    while !cut_at(seed, n, false, options) {
        n += random.random_range(1..=stride);
    }
    assert!(n + stride >= changes, "seed {seed}: the workload stopped early");
}

fn cut_during_recovery(options: &EngineOptions) {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for _ in 0..6 * scale() {
        cut_at(seed, random.random_range(20..400), true, options);
    }
}

#[test]
fn a_power_cut_at_any_write_loses_nothing_acknowledged() {
    cut_at_any_write(&options());
}

#[test]
fn a_power_cut_at_any_write_of_commits_by_reference_loses_nothing_acknowledged() {
    cut_at_any_write(&by_reference_options());
}

#[test]
fn a_power_cut_at_any_write_of_buffered_changes_loses_nothing_acknowledged() {
    cut_at_any_write(&buffering_options());
}

#[test]
fn a_power_cut_during_recovery_with_buffered_changes_loses_nothing_either() {
    cut_during_recovery(&buffering_options());
}

#[test]
fn a_full_disk_is_an_error_that_changes_nothing_where_changes_are_buffered() {
    fill_the_disk(&buffering_options());
}

#[test]
fn a_power_cut_during_recovery_loses_nothing_either() {
    cut_during_recovery(&options());
}

#[test]
fn a_power_cut_during_recovery_of_commits_by_reference_loses_nothing_either() {
    cut_during_recovery(&by_reference_options());
}

#[test]
fn a_full_disk_is_an_error_that_changes_nothing() {
    fill_the_disk(&options());
}

#[test]
fn a_full_disk_is_an_error_that_changes_nothing_of_commits_by_reference() {
    fill_the_disk(&by_reference_options());
}

fn fill_the_disk(options: &EngineOptions) {
    let seed = seed();
    let env = SimulatedEnv::new();
    let mut workload = Workload::open(&env, seed, options).unwrap();
    workload.engine.ddl().create_database("d", leafline_types::Collation::DEFAULT, true).unwrap();
    workload.create(&keyed_spec()).unwrap();
    workload.create(&other_spec(false)).unwrap();
    let mut refused = 0;
    for round in 0..60 * scale() {
        // Less and less space is left until a statement is rejected; then there is room again.
        env.set_space_limit(Some(env.space_used() + workload.random.random_range(0..4) * 128 * 1024));
        for _ in 0..6 {
            let result = match workload.random.random_range(0..8) {
                0 => workload.load(),
                1 => workload.index(),
                2 => workload.table(),
                3 => workload.engine.maintenance().purge().map(drop),
                _ => workload.rows(),
            };
            match result {
                Ok(()) => {}
                Err(TableError::Storage(StorageError::DiskFull)) => {
                    refused += 1;
                    workload.running = None;
                }
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
        env.set_space_limit(None);
        workload.engine.maintenance().purge().unwrap();
        let found = read_state(&workload.engine, &format!("seed {seed}, round {round}"));
        assert_eq!(found, workload.acknowledged, "seed {seed}, round {round}");
    }
    assert!(refused > 0, "seed {seed}: the disk never was full");
    let acknowledged = workload.acknowledged.clone();
    drop(workload);
    env.cut(seed);
    recover(&env, options, &[&acknowledged], &format!("seed {seed}"));
}
