//! A store on a simulated device with one tree in it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use leafline_btree::{BulkBuilder, Change, CommitTs, Direction, LeafStep, Tree, TreeRedo};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, HandlerId, NoReplay, Reservation, SegmentState, Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Returns the seeds of a random test: `LEAFLINE_SEED` alone, or the first few times `LEAFLINE_TEST_SCALE`.
pub fn seeds(default: u64) -> impl Iterator<Item = u64> {
    let seeds = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("LEAFLINE_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..default * scale(),
    };
    seeds.inspect(|seed| println!("LEAFLINE_SEED={seed}"))
}

pub fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Returns bytes that have nothing in common with those of another number, so that packed leaves hold no more entries
/// than plain ones.
pub fn mixed(n: u64, len: usize) -> Vec<u8> {
    let mut rng = SmallRng::seed_from_u64(n);
    (0..len).map(|_| rng.random()).collect()
}

pub fn open(env: &SimulatedEnv, options: StoreOptions) -> leafline_storage::Result<Store> {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    Store::open(env, options, vec![(HandlerId::BTREE, Arc::new(TreeRedo))], &mut NoReplay)
}

pub fn options(page_size: usize, pool_pages: usize) -> StoreOptions {
    StoreOptions {
        page_size,
        buffer_pool_bytes: (pool_pages * page_size) as u64,
        log_capacity_bytes: 64 << 20,
        io_threads: 1,
        background: false,
        ..StoreOptions::default()
    }
}

pub struct Fixture {
    pub env: SimulatedEnv,
    pub store: Store,
    pub tree: Tree,
}

impl Fixture {
    pub fn new(page_size: usize, pool_pages: usize) -> Fixture {
        Fixture::with(options(page_size, pool_pages))
    }

    pub fn with(options: StoreOptions) -> Fixture {
        let env = SimulatedEnv::new();
        let store = open(&env, options).expect("a new store");
        let tree = create(&store).expect("a new tree");
        Fixture { env, store, tree }
    }

    /// Reserves exactly the worst case of a change of an entry of this size.
    pub fn reserve(&self, key_len: usize, payload_len: usize) -> Reservation {
        let pages = self.tree.worst_case_pages_for(1, key_len + payload_len);
        self.store.reserve(pages, self.tree.worst_case_log(key_len, payload_len)).expect("a reservation")
    }

    /// Asserts that a single thread never needs more pages than its reservations were made for.
    pub fn assert_reservations_sufficed(&self) {
        assert_eq!(self.store.stats().reservation_top_ups.load(Ordering::Relaxed), 0);
    }

    pub fn purge(&self, key: &[u8], purge_before: u64) -> bool {
        let mut reservation =
            self.store.reserve(0, self.tree.worst_case_log(key.len(), 0)).expect("a reservation");
        self.tree.purge(&mut reservation, key, CommitTs(purge_before)).expect("a purge")
    }

    pub fn put(&self, key: &[u8], payload: &[u8], ts: u64) {
        self.change(key, 0, Change::Put { payload: payload.into(), ts: CommitTs(ts), has_previous: false });
    }

    pub fn change(&self, key: &[u8], purge_before: u64, change: Change<'_>) {
        let payload_len = match &change {
            Change::Put { payload, .. } => payload.len(),
            Change::Ghost { keep_payload: true, .. } => self.tree.max_entry_len(),
            _ => 0,
        };
        self.tree
            .modify(&mut self.reserve(key.len(), payload_len), key, CommitTs(purge_before), &mut |_| {
                change.clone()
            })
            .expect("a change");
    }
}

pub fn create(store: &Store) -> leafline_btree::Result<Tree> {
    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    let tree = Tree::create(store, &mut reservation, segment, super::format())?;
    store.set_segment_state(&mut reservation, segment, SegmentState::Live)?;
    Ok(tree)
}

/// Builds a tree in a segment of its own.
pub fn bulk<'e>(store: &Store, fill: u32, entries: impl Iterator<Item = (&'e [u8], &'e [u8])>) -> Tree {
    let mut reservation = store.reserve(2, 64 << 10).expect("a reservation");
    let segment = store.create_segment(&mut reservation).expect("a segment");
    drop(reservation);
    let mut builder = BulkBuilder::new(store, segment, fill, super::format()).expect("a builder");
    for (key, payload) in entries {
        builder.push(key, payload).expect("a push");
    }
    let tree = builder.finish().expect("a tree");
    let mut reservation = store.reserve(0, 4096).expect("a reservation");
    store.set_segment_state(&mut reservation, segment, SegmentState::Live).expect("a state");
    tree
}

/// An entry as the tests compare it: flags, timestamp, payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub flags: u8,
    pub ts: u64,
    pub payload: Vec<u8>,
}

impl Entry {
    pub fn is_ghost(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// Returns all entries by forward or reverse visits of whole leaves, in the order met.
pub fn scan(tree: &Tree, direction: Direction) -> Vec<(Vec<u8>, Entry)> {
    let mut cursor = tree.cursor();
    if direction == Direction::Reverse {
        cursor.seek_before(None);
    }
    let mut found = Vec::new();
    let mut more = true;
    while more {
        more = cursor
            .visit_leaf(direction, |leaf, range| {
                let mut take = |slot| {
                    let mut key = Vec::new();
                    leaf.key_into(slot, &mut key);
                    let entry = leaf.entry(slot);
                    let entry = Entry {
                        flags: entry.flags.0,
                        ts: entry.commit_ts.0,
                        payload: entry.payload.to_vec(),
                    };
                    found.push((key, entry));
                };
                match direction {
                    Direction::Forward => range.for_each(&mut take),
                    Direction::Reverse => range.rev().for_each(&mut take),
                }
                LeafStep::NextLeaf
            })
            .expect("a visit");
    }
    found
}

pub fn get(tree: &Tree, key: &[u8]) -> Option<Entry> {
    tree.get(key, |entry| {
        entry.map(|e| Entry { flags: e.flags.0, ts: e.commit_ts.0, payload: e.payload.to_vec() })
    })
    .expect("a read")
}
