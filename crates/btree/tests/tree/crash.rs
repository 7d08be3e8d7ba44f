//! Every prefix of the log recovers to a sound tree that equals a state between two operations.

use std::collections::BTreeMap;

use leafline_btree::{Change, CommitTs, Direction, Tree};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{PageNo, SegmentId, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Entry, create, open, options, scan, seeds};

type State = BTreeMap<Vec<u8>, Entry>;

const OPERATIONS: usize = 80;

/// Options with a small log, for quick recovery.
fn small() -> StoreOptions {
    StoreOptions { log_capacity_bytes: 2 << 20, ..options(4096, 64) }
}

/// First puts, then mostly deletions. The keys depend on the seed.
struct Workload {
    rng: SmallRng,
    state: State,
    seed: u64,
}

impl Workload {
    fn new(seed: u64) -> Workload {
        Workload { rng: SmallRng::seed_from_u64(seed), state: State::new(), seed }
    }

    /// Does the next operation on the model. Returns the change that the tree has to make.
    fn next(&mut self, number: usize) -> (Vec<u8>, Option<Change<'static>>) {
        let deleting = number > OPERATIONS / 2;
        let ts = number as u64 + 1;
        if deleting && self.rng.random_ratio(3, 4) && !self.state.is_empty() {
            let at = self.rng.random_range(0..self.state.len());
            let key = self.state.keys().nth(at).expect("a key").clone();
            self.state.remove(&key);
            // The key is made a ghost and purged, or removed.
            let change = self.rng.random::<bool>().then_some(Change::Remove);
            return (key, change);
        }
        let key = match self.seed % 3 {
            0 => (number as u32).to_be_bytes().to_vec(),
            1 => self.rng.random::<u32>().to_be_bytes().to_vec(),
            _ => {
                let mut key = vec![b'p'; self.rng.random_range(1..500)];
                key.push(self.rng.random());
                key
            }
        };
        let payload = vec![number as u8; self.rng.random_range(0..900)];
        self.state.insert(key.clone(), Entry { flags: 2, ts, payload: payload.clone() });
        (key, Some(Change::Put { payload: payload.into(), ts: CommitTs(ts), has_previous: false }))
    }
}

/// The state of the test when the power went.
struct Crashed {
    /// The states that may be found: the last durable one and all later ones.
    possible: Vec<State>,
    tree: Option<(SegmentId, PageNo)>,
}

/// Runs the workload until the power goes. The log is flushed after every `flush_every` operations.
fn run(env: &SimulatedEnv, seed: u64, flush_every: usize, checkpoints: bool) -> Option<Crashed> {
    let mut workload = Workload::new(seed);
    let mut crashed = Crashed { possible: vec![State::new()], tree: None };
    let made = (|| -> leafline_btree::Result<()> {
        let store = open(env, small())?;
        let tree = create(&store)?;
        store.wait_durable(store.log_end())?;
        crashed.tree = Some((tree.id(), tree.root()));
        for number in 0..OPERATIONS {
            let (key, change) = workload.next(number);
            crashed.possible.push(workload.state.clone());
            let log = tree.worst_case_log(tree.max_key_len(), tree.max_entry_len());
            let mut reservation = store.reserve(tree.worst_case_pages(), log)?;
            match change {
                Some(change) => tree.modify(&mut reservation, &key, CommitTs(0), &mut |_| change.clone())?,
                None => {
                    let ts = CommitTs(number as u64 + 1);
                    let ghost = Change::Ghost { ts, has_previous: false, keep_payload: false };
                    tree.modify(&mut reservation, &key, CommitTs(0), &mut |_| ghost.clone())?;
                    tree.purge(&mut reservation, &key, CommitTs(ts.0 + 1))?;
                }
            }
            drop(reservation);
            if number % flush_every == 0 {
                store.wait_durable(store.log_end())?;
                crashed.possible.drain(..crashed.possible.len() - 1);
            }
            if checkpoints && number % 17 == 16 {
                store.checkpoint()?;
            }
        }
        store.wait_durable(store.log_end())?;
        Ok(())
    })();
    if made.is_err() {
        assert!(env.is_off(), "only the power may stop the workload: {made:?}");
        return Some(crashed);
    }
    None
}

fn check(env: &SimulatedEnv, crashed: &Crashed) {
    let store = open(env, small()).expect("recovery");
    let Some((segment, root)) = crashed.tree else { return };
    let tree = Tree::open(&store, segment, root).expect("a tree");
    tree.verify().expect("a sound tree");
    let found: State = scan(&tree, Direction::Forward).into_iter().collect();
    // A deletion may have got as far as the ghost.
    let live: State =
        found.iter().filter(|(_, entry)| !entry.is_ghost()).map(|(k, e)| (k.clone(), e.clone())).collect();
    assert!(found.len() - live.len() <= 1);
    assert!(crashed.possible.contains(&live), "a state between two operations");
}

fn every_cut(seed: u64, flush_every: usize, checkpoints: bool) {
    let env = SimulatedEnv::new();
    assert!(run(&env, seed, flush_every, checkpoints).is_none(), "without a cut the workload ends");
    let changes = env.counts().changes();
    let mut cuts = 0;
    for n in 0..changes {
        let env = SimulatedEnv::new();
        env.power_cut_after(n);
        if let Some(crashed) = run(&env, seed, flush_every, checkpoints) {
            env.reboot(seed ^ n);
            check(&env, &crashed);
            cuts += 1;
        }
    }
    assert!(cuts > OPERATIONS / flush_every, "{cuts} cuts");
}

#[test]
fn every_log_prefix_recovers_to_a_state_between_two_operations() {
    for seed in seeds(3) {
        every_cut(seed, 1, false);
    }
}

#[test]
fn every_cut_in_long_flushes_and_checkpoints_recovers_to_a_state_between_two_operations() {
    for seed in seeds(3) {
        every_cut(seed, 8, true);
    }
}
