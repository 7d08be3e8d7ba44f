//! Power cuts under interleaved transactions: at any change of the disk, again and again, in recovery too.
//!
//! The ordinary run takes a sample that lasts seconds; `LEAFLINE_TEST_SCALE=200` makes it ten thousand power
//! cuts.

use super::interleaved::*;
use crate::error::TableError;
use crate::options::EngineOptions;
use crate::testing::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Seeds that failed once.
const FAILED_ONCE: [u64; 0] = [];

/// A number: small ones are about as likely as large ones.
fn some(random: &mut SmallRng, bits: u32) -> u64 {
    let most = 1 << random.random_range(0..=bits);
    random.random_range(0..most)
}

/// Opens the database after a power cut. Sometimes the power goes off again meanwhile.
fn reopen(env: &SimulatedEnv, options: &EngineOptions, random: &mut SmallRng, cuts: &mut u64) {
    env.reboot(random.random());
    while random.random_range(0..3) == 0 {
        env.power_cut_after(some(random, 6));
        if let Err(error) = open_with(env, options) {
            assert!(env.is_off(), "{error}");
        }
        env.reboot(random.random());
        *cuts += 1;
    }
}

/// Runs one database through several power cuts. Returns their number.
fn run(seed: u64, totals: &mut [u64; 2]) -> u64 {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let options = random_options(&mut random);
    let env = SimulatedEnv::new();
    create_tables(&env, &options);
    let (mut state, mut cuts) = (State::default(), 0);
    for life in 0..random.random_range(2..6) {
        let what = format!("seed {seed}, life {life}");
        let engine = open_with(&env, &options).unwrap();
        let world = World::new(engine, state, random.random(), what.clone()).unwrap();
        let most = if random.random() { some(&mut random, 8) } else { random.random_range(0..1500) };
        env.power_cut_after(most);
        for _ in 0..random.random_range(1..400) {
            match world.step() {
                Ok(()) => {}
                Err(TableError::Storage(StorageError::Io { .. } | StorageError::Poisoned { .. }))
                    if env.is_off() =>
                {
                    break;
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
        let (allowed, commits) = (world.allowed(), world.describe());
        totals.iter_mut().zip(world.acknowledged()).for_each(|(total, new)| *total += new);
        world.roll_back();
        drop(world);
        reopen(&env, &options, &mut random, &mut cuts);
        cuts += 1;
        let engine = open_with(&env, &options).unwrap();
        assert!(!env.exists("commits").unwrap() || env.list("commits").unwrap().is_empty(), "{what}");
        state = state_of(&engine, &what);
        assert!(
            allowed.contains(&state),
            "{what}: found {:?} rows, allowed {:?} after {commits}",
            state.each_ref().map(|rows| rows.len()),
            allowed.iter().map(|state| state.each_ref().map(|rows| rows.len())).collect::<Vec<_>>()
        );
        if random.random() {
            engine.close().unwrap();
        }
        drop(engine);
        // Open files die with the power.
        env.reboot(random.random());
        cuts += 1;
    }
    let engine = open_with(&env, &options).unwrap();
    assert!(state_of(&engine, &format!("seed {seed}, at the end")) == state);
    cuts
}

#[test]
fn power_cuts_under_interleaved_transactions_lose_nothing_acknowledged_and_show_nothing_else() {
    let (wanted, mut cuts, mut totals) = (50 * scale(), 0, [0; 2]);
    for seed in FAILED_ONCE {
        run(seed, &mut totals);
    }
    let first = seed();
    let mut seed = first;
    let enough = |[commits, nested]: [u64; 2]| commits > wanted && nested > wanted / 10;
    // If the power goes off early, few commits are acknowledged: continue until there are enough of them,
    // within limits.
    while cuts < wanted || !enough(totals) && cuts < 10 * wanted {
        cuts += run(seed, &mut totals);
        seed = seed.wrapping_add(1);
    }
    let [commits, nested] = totals;
    println!("{cuts} power cuts, {commits} commits acknowledged, {nested} of them within another's");
    assert!(enough(totals), "seed {first}: {commits} and {nested}");
}

#[test]
fn the_model_notices_a_commit_that_is_lost() {
    let env = SimulatedEnv::new();
    let options = options();
    create_tables(&env, &options);
    let world = World::new(open_with(&env, &options).unwrap(), State::default(), 1, String::new()).unwrap();
    let lost = env.snapshot();
    while *world.committed() == State::default() {
        world.step().unwrap();
    }
    let (allowed, committed) = (world.allowed(), world.committed());
    world.roll_back();
    drop(world);
    assert!(allowed == [(*committed).clone()]);
    assert!(state_of(&open_with(&env, &options).unwrap(), "") == allowed[0]);
    assert!(!allowed.contains(&state_of(&open_with(&lost, &options).unwrap(), "")));
}
