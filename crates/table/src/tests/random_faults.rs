//! A device that fails at random during interleaved transactions: reads, writes (in part), syncs, a full
//! disk, decay in data and log.
//!
//! No answer is ever wrong: every read is right or an error. No acknowledged commit is lost unless the medium
//! has lost it. A commit that is rejected while the store goes on has not happened. Every failure is
//! reported; nobody hangs.

use super::interleaved::*;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::options::EngineOptions;
use crate::testing::*;
use leafline_storage::device::{AlignedBuf, BLOCK};
use leafline_storage::device::{Operation, SimulatedEnv};
use leafline_storage::{Env, OpenMode, StorageError};
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Seeds that failed once.
const FAILED_ONCE: [u64; 3] = [2631894601084078718, 22110208718006, 4908975367342615821];
const LOG_FAILED_ONCE: [u64; 1] = [17387208744578505954];

/// Makes one operation in `one_in` of the kinds `which` fail, chosen by the seed.
fn faults(env: &SimulatedEnv, seed: u64, one_in: u32, which: &'static [Operation]) {
    let random = Mutex::new(SmallRng::seed_from_u64(seed));
    env.set_fault(Some(Arc::new(move |operation, _, _| {
        which.contains(&operation) && random.lock().random_ratio(1, one_in)
    })));
}

const ALL: &[Operation] = &[
    Operation::Read,
    Operation::Write,
    Operation::Sync,
    Operation::Allocate,
    Operation::Truncate,
    Operation::Name,
    Operation::SyncDir,
];

/// Chooses the faults of the device.
fn draw(env: &SimulatedEnv, random: &mut SmallRng) {
    let seed = random.random();
    match random.random_range(0..6) {
        0 => faults(env, seed, 20, &[Operation::Read]),
        1 => faults(env, seed, 300, &[Operation::Write]),
        2 => faults(env, seed, 150, &[Operation::Sync, Operation::SyncDir]),
        3 => env.set_space_limit(Some(env.space_used() + random.random_range(0..8) * 64 * 1024)),
        4 => {
            env.set_space_limit(Some(env.space_used() + random.random_range(0..8) * 64 * 1024));
            faults(env, seed, 400, ALL);
        }
        _ => faults(env, seed, 400, ALL),
    }
}

fn mend(env: &SimulatedEnv) {
    env.set_fault(None);
    env.set_space_limit(None);
}

/// Counts of events, over all seeds.
#[derive(Default, Debug)]
struct Totals {
    errors: u64,
    stopped: u64,
    refused_openings: u64,
    acknowledged: u64,
}

/// Opens the database while the device fails, repeatedly; then without faults.
fn reopen(
    env: &SimulatedEnv,
    options: &EngineOptions,
    random: &mut SmallRng,
    totals: &mut Totals,
) -> Arc<Engine> {
    env.cut(random.random());
    for _ in 0..random.random_range(0..3) {
        faults(env, random.random(), 40, ALL);
        if let Err(error) = open_with(env, options) {
            assert!(is_device_failure(&error), "{error}");
            totals.refused_openings += 1;
        }
        mend(env);
        env.cut(random.random());
    }
    open_with(env, options).unwrap()
}

/// Runs one database through failures of its device.
fn run(seed: u64, totals: &mut Totals) {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let options = random_options(&mut random);
    let env = SimulatedEnv::new();
    create_tables(&env, &options);
    let mut state = State::default();
    let mut engine = open_with(&env, &options).unwrap();
    for life in 0..4 {
        let what = format!("seed {seed}, life {life}");
        let world = World::new(engine, state, random.random(), what.clone()).unwrap();
        draw(&env, &mut random);
        let mut stopped = false;
        for _ in 0..random.random_range(50..300) {
            match world.step() {
                Ok(()) => {}
                Err(error) => {
                    assert!(is_device_failure(&error), "{what}: {error}");
                    totals.errors += 1;
                    stopped = matches!(error, TableError::Storage(StorageError::Poisoned { .. }));
                    if stopped {
                        break;
                    }
                }
            }
        }
        mend(&env);
        totals.stopped += u64::from(stopped);
        totals.acknowledged += world.acknowledged()[0];
        world.roll_back();
        let allowed = world.allowed();
        if !stopped && !world.is_stopped() {
            // The store has gone on, so that everything is as it was acknowledged.
            assert_eq!(allowed.len(), 1, "{what}");
            assert!(state_after_faults(&world.engine, &what) == allowed[0], "{what}: while open");
        }
        drop(world);
        engine = reopen(&env, &options, &mut random, totals);
        state = state_of(&engine, &what);
        assert!(allowed.contains(&state), "{what}");
    }
}

#[test]
fn faults_at_random_are_errors_and_never_wrong_answers_or_lost_commits() {
    let first = seed();
    let mut totals = Totals::default();
    for seed in FAILED_ONCE.into_iter().chain((0..20 * scale()).map(|n| first.wrapping_add(n))) {
        run(seed, &mut totals);
    }
    println!("{totals:?}");
    let Totals { errors, stopped, refused_openings, acknowledged } = totals;
    assert!(errors.min(stopped).min(refused_openings) > 5 && acknowledged > 50, "seed {first}");
}

/// Flips bits of files, in places that contain data.
fn flip(env: &SimulatedEnv, names: &[String], flips: u32, random: &mut SmallRng) {
    let mut written = Vec::new();
    let mut block = AlignedBuf::zeroed(BLOCK);
    for name in names {
        let file = env.open(name, OpenMode::Existing).unwrap();
        for at in (0..file.size().unwrap()).step_by(BLOCK) {
            file.read_at(&mut block, at).unwrap();
            if block.iter().any(|byte| *byte != 0) {
                written.push((name, at));
            }
        }
    }
    for _ in 0..flips {
        let (name, at) = written[random.random_range(0..written.len())];
        let at = at + random.random_range(0..BLOCK as u64);
        env.damage(name, at, &mut |bytes| bytes[0] ^= 1 << random.random_range(0..8)).unwrap();
    }
}

/// Reads everything. Every value that can be read must be right.
fn read_damaged(engine: &Arc<Engine>, state: &State, what: &str) -> Result<()> {
    let mut damaged = Ok(());
    for (name, expected) in ["t", "p", "h"].into_iter().zip(state) {
        let table = engine.table("d", name)?;
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        match scan(&view(engine), &table, 0, &columns, leafline_btree::Direction::Forward) {
            Ok(found) => assert!(found.into_iter().eq(expected.clone()), "{what}: {name}"),
            Err(error) => damaged = Err(error),
        }
        // The check reports damage, or gets it as an error; it never returns a wrong result.
        if let Err(error) = engine.maintenance().check_table(&table) {
            damaged = Err(error);
        }
    }
    damaged
}

/// An empty database for a test that damages it; its random choices come first.
fn to_be_damaged(seed: u64) -> (SmallRng, EngineOptions, SimulatedEnv, Arc<World>) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (options, env) = (options(), SimulatedEnv::new());
    create_tables(&env, &options);
    let engine = open_with(&env, &options).unwrap();
    let world = World::new(engine, State::default(), random.random(), format!("seed {seed}")).unwrap();
    (random, options, env, world)
}

#[test]
fn rot_in_the_data_is_an_error_for_who_meets_it_and_never_a_wrong_answer() {
    let (first, mut noticed) = (seed(), 0);
    for seed in (0..30 * scale()).map(|n| first.wrapping_add(n)) {
        let _reporter = Seed(seed);
        let what = format!("seed {seed}");
        let (mut random, options, env, world) = to_be_damaged(seed);
        (0..200).for_each(|_| world.step().unwrap());
        world.roll_back();
        let state = (*world.committed()).clone();
        if random.random() {
            world.engine.close().unwrap();
        }
        drop(world);
        env.cut(random.random());
        let flips = random.random_range(1..20);
        flip(&env, &["data".to_owned()], flips, &mut random);
        // If the catalog or the space maps are damaged, it does not open, and reports why.
        let result = open_with(&env, &options).and_then(|engine| {
            let read = read_damaged(&engine, &state, &what);
            let world = World::new(engine, state.clone(), seed, what.clone())?;
            for _ in 0..100 {
                match world.step() {
                    Err(TableError::Storage(StorageError::Poisoned { .. })) => break,
                    Err(error) if !is_device_failure(&error) => return Err(error),
                    _ => {}
                }
            }
            world.roll_back();
            read
        });
        if let Err(error) = result {
            assert!(is_device_failure(&error) || matches!(error, TableError::Storage(_)), "{what}: {error}");
            noticed += 1;
        }
    }
    assert!(noticed > 0, "seed {first}");
}

#[test]
fn rot_in_the_log_is_noticed_or_has_lost_the_end_of_the_log_only() {
    let (first, mut refused, mut lost) = (seed(), 0, 0);
    let drawn = (0..500 * scale()).map(|n| (n, first.wrapping_add(n)));
    for (round, seed) in LOG_FAILED_ONCE.into_iter().map(|seed| (0, seed)).chain(drawn) {
        // Few openings fail: continue until one does.
        if round >= 30 * scale() && refused > 0 {
            break;
        }
        let _reporter = Seed(seed);
        let what = format!("seed {seed}");
        let (mut random, options, env, world) = to_be_damaged(seed);
        let mut states = vec![State::default()];
        for _ in 0..random.random_range(20..200) {
            world.step().unwrap();
            states.extend(world.passed_through());
        }
        let committed = (*world.committed()).clone();
        world.roll_back();
        drop(world);
        env.cut(random.random());
        let files = env.list("wal").unwrap().into_iter().map(|name| format!("wal/{name}"));
        let flips = random.random_range(1..8);
        flip(&env, &files.collect::<Vec<_>>(), flips, &mut random);
        match open_with(&env, &options) {
            Ok(engine) => {
                let found = state_of(&engine, &what);
                lost += u64::from(found != committed);
                assert!(states.contains(&found), "{what}: a state that never was");
            }
            Err(error) => {
                let named = matches!(error, TableError::Storage(StorageError::LogDamaged { .. }));
                assert!(named, "{what}: {error}");
                refused += 1;
            }
        }
    }
    println!("{refused} openings refused, {lost} with the end of the log lost");
    assert!(refused > 0, "seed {first}");
}

#[test]
fn planted_wrong_answers_are_noticed() {
    let env = SimulatedEnv::new();
    create_tables(&env, &options());
    let engine = open_with(&env, &options()).unwrap();
    let world = World::new(engine, State::default(), 5, String::new()).unwrap();
    while world.committed().iter().all(|rows| rows.is_empty()) {
        world.step().unwrap();
    }
    world.roll_back();
    let wrong = catch_unwind(AssertUnwindSafe(|| read_damaged(&world.engine, &State::default(), "")));
    assert!(wrong.is_err(), "rows that should not be there");
    assert!(read_damaged(&world.engine, &world.committed(), "").is_ok());
}
