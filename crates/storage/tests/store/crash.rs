//! Power cuts at every write, sync and change of a name: recovery gives a prefix of the mini-transactions that holds
//! every acknowledged one, and space maps that agree with it.

use super::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Result, StorageError};

const OPERATIONS: usize = 150;

#[test]
fn workload_without_a_crash_survives_reopening() {
    for seed in seeds(4) {
        eprintln!("seed {seed}");
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        run.run(10 * OPERATIONS).unwrap();
        let counter = run.counter();
        let Workload { store, mut history, .. } = run;
        history.durable = history.steps.len();
        store.close().unwrap();
        check_recovered(&open(&env).unwrap(), &history, counter);
    }
}

/// Makes a store with more pages than fit the pool, as the start of many runs.
fn prepared(seed: u64) -> (SimulatedEnv, Workload) {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, seed);
    run.run(4 * OPERATIONS).unwrap();
    run.store.checkpoint().unwrap();
    (env.snapshot(), run)
}

/// Runs the workload on a copy of `env` until the power goes at its `cut`-th change, or to its end.
fn run_until_cut(
    prepared: &(SimulatedEnv, Workload),
    seed: u64,
    cut: Option<u64>,
) -> (SimulatedEnv, Result<()>, History) {
    let env = prepared.0.snapshot();
    let mut run = prepared.1.again(&env, seed).unwrap();
    if let Some(cut) = cut {
        env.power_cut_after(cut);
    }
    let result = run.run(OPERATIONS);
    (env, result, run.history)
}

/// Returns how many changes the run makes when the power is not cut.
fn changes_of(prepared: &(SimulatedEnv, Workload), seed: u64) -> u64 {
    let env = prepared.0.snapshot();
    let mut run = prepared.1.again(&env, seed).unwrap();
    let before = env.counts().changes();
    run.run(OPERATIONS).unwrap();
    env.counts().changes() - before
}

#[test]
fn power_cut_at_every_write_leaves_a_prefix_with_everything_durable() {
    for seed in seeds(1) {
        let prepared = prepared(seed);
        let changes = changes_of(&prepared, seed);
        assert!(changes > 50, "the run writes too little to be a test");
        let mut survived_more = 0;
        for cut in 0..changes {
            eprintln!("seed {seed}, cut {cut} of {changes}");
            let (env, result, history) = run_until_cut(&prepared, seed, Some(cut));
            assert!(
                matches!(result, Err(StorageError::Io { .. } | StorageError::Poisoned { .. })),
                "{result:?}"
            );
            env.reboot(seed ^ cut);
            let steps = check_recovered(&open(&env).unwrap(), &history, prepared.1.counter());
            survived_more += usize::from(steps > history.durable);
        }
        assert!(survived_more > 0, "no cut fell between a write and its acknowledgement");
    }
}

#[test]
fn power_cut_at_every_write_of_recovery_is_a_crash_like_any_other() {
    for seed in seeds(1) {
        let prepared = prepared(seed);
        let changes = changes_of(&prepared, seed);
        for cut in (0..changes).step_by(41) {
            let (env, _, history) = run_until_cut(&prepared, seed, Some(cut));
            env.reboot(seed ^ cut);
            let undisturbed = env.snapshot();
            let before = undisturbed.counts().changes();
            let steps = check_recovered(&open(&undisturbed).unwrap(), &history, prepared.1.counter());
            for again in 0..undisturbed.counts().changes() - before {
                eprintln!("seed {seed}, cut {cut} of {changes}, cut {again} of the recovery");
                let env = env.snapshot();
                env.power_cut_after(again);
                let interrupted = open(&env).map(|store| {
                    // The cut came after recovery, while the test read and checked.
                    let _ = store.checkpoint();
                });
                drop(interrupted);
                env.reboot(again);
                let again = check_recovered(&open(&env).unwrap(), &history, prepared.1.counter());
                assert_eq!(again, steps, "recovery interrupted once gives another state");
            }
        }
    }
}

#[test]
fn a_run_of_crashes_and_recoveries_loses_nothing() {
    for seed in seeds(4) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        for round in 0..12 {
            eprintln!("seed {seed}, round {round}");
            env.power_cut_after(20 + (seed * 31 + round * 17) % 90);
            let result = run.run(1000);
            assert!(result.is_err());
            let counter = run.counter();
            let history = run.history.clone();
            drop(run.store);
            env.reboot(seed + round);
            let store = open(&env).unwrap();
            let steps = check_recovered(&store, &history, counter);
            run = Workload::go_on(store, &history, steps, counter, seed * 1000 + round);
        }
    }
}
