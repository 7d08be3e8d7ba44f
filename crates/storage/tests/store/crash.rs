//! Power cuts at every write, sync and change of a name: what is recovered is a prefix of the mini-transactions
//! that holds every acknowledged one, and the space maps agree with it.

use super::support::*;
use leafline_storage::device::SimulatedEnv;

const OPERATIONS: usize = 150;

#[test]
fn workload_without_a_crash_survives_reopening() {
    for seed in seeds(4) {
        eprintln!("seed {seed}");
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        run.run(10 * OPERATIONS).unwrap();
        let Workload { store, mut history, .. } = run;
        let counter = *history.base.keys().next().unwrap();
        history.durable = history.steps.len();
        store.close().unwrap();
        check_recovered(&open(&env).unwrap(), &history, counter);
    }
}
