//! Loads of empty tables, builds of several indexes, and rebuilds of tables, with sorts in files. The power
//! goes off at any write, or the work is stopped anywhere. The table is then as before or as after, and
//! nothing else is left.

use super::crash::{State, read_state};
use crate::build::BuildControl;
use crate::catalog::{IndexSpecKind, TableSpec};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::testing::*;
use crate::{Alteration, RowConverter, TableDef};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError};
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, Value};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The work done to the table.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Fills an empty table.
    Load,
    /// Adds indexes to a table with rows, while nobody writes, or online.
    Indexes { beside: bool },
    /// Gives a table with rows another primary key, in the same ways.
    Anew { beside: bool },
}

const ALL: [Work; 5] = [
    Work::Load,
    Work::Indexes { beside: false },
    Work::Indexes { beside: true },
    Work::Anew { beside: false },
    Work::Anew { beside: true },
];

impl Work {
    fn begin(self, engine: &Arc<Engine>, rows: &[Vec<Value>]) -> Result<()> {
        engine.ddl().create_database("d", leafline_types::Collation::DEFAULT, true)?;
        engine.ddl().create_table(&keyed_spec(), false)?;
        if !matches!(self, Work::Load) {
            load(engine, rows, &BuildControl::of(engine))?;
        }
        Ok(())
    }

    fn run(self, engine: &Arc<Engine>, rows: &[Vec<Value>], control: &BuildControl) -> Result<()> {
        let table = engine.table("d", "t")?;
        let mut spec = TableSpec::of(&table);
        let mut same = Same;
        let (beside, rebuild) = match self {
            Work::Load => return load(engine, rows, control),
            Work::Indexes { beside } => {
                spec.indexes.extend([
                    index(IndexSpecKind::Plain, "cb", &["c", "-b"]),
                    index(IndexSpecKind::Unique, "c_id", &["c", "id"]),
                    index(IndexSpecKind::Plain, "b1", &["b:1"]),
                ]);
                (beside, None)
            }
            Work::Anew { beside } => {
                spec.indexes.retain(|index| index.kind != IndexSpecKind::Primary);
                spec.indexes.push(index(IndexSpecKind::Primary, "", &["c", "-id"]));
                (beside, Some(anew(&mut same)))
            }
        };
        let nobody = || Ok(None);
        let alteration = Alteration {
            rebuild,
            switch: if beside { Some(&nobody) } else { None },
            control: control.clone(),
            ..unchanged(engine, &table, spec)
        };
        engine.ddl().alter_table(&table, alteration).map(drop)
    }
}

/// Leaves rows as they are.
pub(super) struct Same;

impl RowConverter for Same {
    fn convert(&mut self, row: Vec<Value>) -> std::result::Result<Vec<Value>, MysqlError> {
        Ok(row)
    }
}

fn load(engine: &Arc<Engine>, rows: &[Vec<Value>], control: &BuildControl) -> Result<()> {
    let mut loader = engine.ddl().bulk_load(&engine.table("d", "t")?, control)?;
    rows.iter().try_for_each(|row| loader.push(row))?;
    loader.finish().map(drop)
}

/// Rows in random order.
fn shuffled(count: i64, random: &mut SmallRng) -> Vec<Vec<Value>> {
    let engine = open(&SimulatedEnv::new());
    let table: Arc<TableDef> = create(&engine, &keyed_spec());
    let mut ids: Vec<i64> = (0..count).collect();
    ids.shuffle(random);
    let mut values = |id| row(&table, &[Some(id), Some(id), Some(random.random_range(0..50)), Some(id % 7)]);
    ids.into_iter().map(&mut values).collect()
}

/// The control of a build with threads that sort, for a store without threads of its own.
fn with_threads(engine: &Engine, threads: usize) -> BuildControl {
    BuildControl { threads, ..BuildControl::of(engine) }
}

fn opened(env: &SimulatedEnv) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options())
}

/// Checks that the files of sorts are removed.
fn no_files_are_left(env: &SimulatedEnv, what: &str) {
    let left = if env.exists("temp").unwrap() { env.list("temp").unwrap() } else { Vec::new() };
    assert!(left.is_empty(), "{what}: {left:?}");
}

/// The states before and after the work.
fn states(work: Work, rows: &[Vec<Value>]) -> (State, State) {
    let engine = open(&SimulatedEnv::new());
    work.begin(&engine, rows).unwrap();
    let before = read_state(&engine, "before");
    work.run(&engine, rows, &with_threads(&engine, 0)).unwrap();
    (before, read_state(&engine, "after"))
}

/// Cuts the power at the n-th change of the disk from the beginning of the work on. Returns whether the work
/// was done before that.
fn cut_at(work: Work, rows: &[Vec<Value>], (before, after): &(State, State), n: u64, seed: u64) -> bool {
    let what = format!("seed {seed}, {work:?}, cut at {n}");
    let env = SimulatedEnv::new();
    let engine = opened(&env).unwrap();
    work.begin(&engine, rows).unwrap();
    env.power_cut_after(n);
    let threads = with_threads(&engine, (n % 3) as usize);
    let done = match work.run(&engine, rows, &threads) {
        Ok(()) => true,
        Err(TableError::Storage(StorageError::Io { .. } | StorageError::Poisoned { .. })) => false,
        Err(other) => panic!("{what}: {other}"),
    };
    drop(engine);
    env.reboot(seed ^ n);
    let engine = opened(&env).unwrap();
    let found = read_state(&engine, &what);
    assert!(found == *after || (!done && found == *before), "{what}: {done}, {found:#?}");
    no_files_are_left(&env, &what);
    // The work can be repeated.
    if found == *before {
        work.run(&engine, rows, &with_threads(&engine, 0)).unwrap();
        assert_eq!(read_state(&engine, &what), *after, "{what}");
    }
    done
}

#[test]
fn a_power_cut_at_any_write_of_a_build_leaves_all_of_it_or_nothing() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for work in ALL {
        let rows = shuffled(900, &mut random);
        let states = states(work, &rows);
        let env = SimulatedEnv::new();
        let engine = opened(&env).unwrap();
        work.begin(&engine, &rows).unwrap();
        let begun = env.counts().changes();
        work.run(&engine, &rows, &with_threads(&engine, 0)).unwrap();
        let changes = env.counts().changes() - begun;
        let stride = (2 * changes / (25 * scale())).max(1);
        let mut n = 0;
        while !cut_at(work, &rows, &states, n, seed) {
            n += random.random_range(1..=stride);
        }
        assert!(n + stride >= changes, "seed {seed}, {work:?}: it was over early, at {n} of {changes}");
    }
}

#[test]
fn a_build_that_is_stopped_anywhere_leaves_nothing() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for work in ALL {
        let rows = shuffled(3000, &mut random);
        let (before, after) = states(work, &rows);
        let env = SimulatedEnv::new();
        let engine = opened(&env).unwrap();
        work.begin(&engine, &rows).unwrap();
        let segments = engine.store.segments().len();
        let (mut n, mut stopped) = (0, 0);
        loop {
            let what = format!("seed {seed}, {work:?}, stopped at {n}");
            let control = with_threads(&engine, (n % 3) as usize);
            let (cancel, done) = (control.cancel.clone(), AtomicU64::new(0));
            // Called for each operation of the disk.
            env.set_fault(Some(Arc::new(move |_, _, _| {
                if done.fetch_add(1, Ordering::Relaxed) == n {
                    cancel.cancel(CancelReason::QueryKilled);
                }
                false
            })));
            let result = work.run(&engine, &rows, &control);
            env.set_fault(None);
            if result.is_ok() {
                assert_eq!(read_state(&engine, &what), after, "{what}");
                break;
            }
            assert_eq!(result.map_err(|error| MysqlError::from(error).code), Err(1317), "{what}");
            assert_eq!(engine.store.segments().len(), segments, "{what}");
            assert_eq!(read_state(&engine, &what), before, "{what}");
            no_files_are_left(&env, &what);
            stopped += 1;
            n += random.random_range(1..=(60 / scale()).max(2));
        }
        assert!(stopped > 0, "seed {seed}, {work:?}: it never was stopped");
    }
}
