//! Logical records and checkpoints of the crate above: handed back in order, and kept as long as they are needed.

use super::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{
    CheckpointSource, Env, FREE_PAGE_LOG_BYTES, GROUP_OVERHEAD, LogicalReplay, Lsn, LsnRange, PageClass,
    PageNo, ReplayError, Result, StorageError, Store, StoreOptions,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct Replay {
    checkpoint: Option<Vec<u8>>,
    records: Vec<(LsnRange, u8, Vec<u8>)>,
}

impl LogicalReplay for Replay {
    fn checkpoint(&mut self, payload: &[u8]) -> Result<(), ReplayError> {
        assert!(self.checkpoint.is_none() && self.records.is_empty(), "the checkpoint comes first, and once");
        self.checkpoint = Some(payload.to_vec());
        Ok(())
    }

    fn record(&mut self, range: LsnRange, kind: u8, payload: &[u8]) -> Result<(), ReplayError> {
        self.records.push((range, kind, payload.to_vec()));
        Ok(())
    }
}

/// A checkpoint source that needs everything from an LSN on; nothing if it is 0.
struct Source(AtomicU64);

impl CheckpointSource for Source {
    fn payload(&self) -> Vec<u8> {
        format!("needs {}", self.0.load(Ordering::SeqCst)).into_bytes()
    }

    fn oldest_needed(&self) -> Option<Lsn> {
        Some(Lsn(self.0.load(Ordering::SeqCst))).filter(|lsn| *lsn > Lsn::ZERO)
    }
}

fn reopen(env: &SimulatedEnv) -> (Store, Replay) {
    let mut replay = Replay::default();
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let store = Store::open(shared, options(100), vec![(TEST, Arc::new(TestRedo))], &mut replay).unwrap();
    (store, replay)
}

fn append(store: &Store, kind: u8, payload: &[u8]) -> LsnRange {
    let mut reservation = store.reserve(0, payload.len() + GROUP_OVERHEAD).unwrap();
    let range = store.append_logical(&mut reservation, kind, payload).unwrap();
    store.wait_durable(range.end).unwrap();
    range
}

/// Makes bytes that the log cannot compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    SmallRng::seed_from_u64(1).fill(&mut noise[..]);
    noise
}

#[test]
fn records_come_back_in_order_from_the_oldest_needed_on_with_the_checkpoint_first() {
    let env = SimulatedEnv::new();
    let (store, replay) = reopen(&env);
    assert!(replay.checkpoint.is_none() && replay.records.is_empty());
    let source = Arc::new(Source(AtomicU64::new(0)));
    store.set_checkpoint_source(Arc::<Source>::clone(&source));
    let ranges: Vec<LsnRange> = (1..=4).map(|kind| append(&store, kind, &vec![kind; 1000])).collect();
    source.0.store(ranges[2].start.0, Ordering::SeqCst);
    store.checkpoint().unwrap();
    let last = append(&store, 9, b"last");
    drop(store);
    for cut in 0..3 {
        env.cut(cut);
        // As long as nobody takes over, the same records come again, whatever checkpoints are recorded.
        let (store, replay) = reopen(&env);
        assert_eq!(replay.checkpoint.unwrap(), format!("needs {}", ranges[2].start).into_bytes());
        let found: Vec<_> =
            replay.records.iter().map(|(range, kind, payload)| (*range, *kind, payload.len())).collect();
        assert_eq!(found, [(ranges[2], 3, 1000), (ranges[3], 4, 1000), (last, 9, 4)]);
        store.checkpoint().unwrap();
        new_segment(&store).unwrap();
        drop(store);
    }
    let (store, _) = reopen(&env);
    store.set_checkpoint_source(Arc::new(Source(AtomicU64::new(0))));
    store.checkpoint().unwrap();
    drop(store);
    let (_, replay) = reopen(&env);
    assert_eq!((replay.checkpoint, replay.records), (Some(b"needs 0".to_vec()), vec![]));
}

#[test]
fn log_is_not_given_back_before_the_caller_takes_over_from_recovery_and_is_after() {
    let env = SimulatedEnv::new();
    let (store, _) = reopen(&env);
    store.set_checkpoint_source(Arc::new(Source(AtomicU64::new(0))));
    let first = append(&store, 1, b"first");
    drop(store);
    env.cut(1);
    let (store, replay) = reopen(&env);
    assert_eq!(replay.records, [(first, 1, b"first".to_vec())]);
    // This is more than the log holds, and nobody allows a checkpoint.
    for _ in 0..60 {
        append(&store, 2, &noise(50_000));
    }
    drop(store);
    env.cut(2);
    let (store, replay) = reopen(&env);
    assert_eq!((replay.records.len(), &replay.records[0]), (61, &(first, 1, b"first".to_vec())));
    let used = env.space_used();
    store.set_checkpoint_source(Arc::new(Source(AtomicU64::new(0))));
    for _ in 0..240 {
        append(&store, 2, &noise(50_000));
    }
    assert!(env.space_used() <= 2 * used, "the log grew on");
    store.close().unwrap();
    assert_eq!(reopen(&env).1.records, []);
}

/// A commit that needs the whole log can only go on beyond the capacity, because no other holder gives anything back.
/// Recovery finds such a commit in a full log, or its last progress record lies in the file before the current one.
#[test]
fn a_reservation_is_granted_beyond_the_capacity_if_no_other_holder_can_free_log() {
    for background in [false, true] {
        let env = SimulatedEnv::new();
        let options = StoreOptions { background, io_threads: usize::from(background), ..options(100) };
        let store = open_with(&env, options).unwrap();
        let source = Arc::new(Source(AtomicU64::new(0)));
        store.set_checkpoint_source(Arc::<Source>::clone(&source));
        let first = append(&store, 1, b"first");
        source.0.store(first.start.0, Ordering::SeqCst);
        let capacity = store.log_space().capacity;
        let mut last = first.end;
        while last.0 - first.start.0 < 2 * capacity {
            last = append(&store, 2, &noise(50_000)).end;
        }
        assert!(store.log_space().used > capacity);
        source.0.store(0, Ordering::SeqCst);
        store.checkpoint().unwrap();
        assert!(store.log_space().used < capacity / 2);
        store.close().unwrap();
    }
}

#[test]
fn kinds_and_sizes_that_are_not_the_callers_are_refused() {
    let env = SimulatedEnv::new();
    let (store, _) = reopen(&env);
    let mut reservation = store.reserve(0, 1000).unwrap();
    for kind in [0, 255] {
        let refused = store.append_logical(&mut reservation, kind, b"x");
        assert!(matches!(refused, Err(StorageError::Misuse { .. })));
    }
    assert!(matches!(
        store.append_logical(&mut reservation, 1, &[0; 5000]),
        Err(StorageError::Misuse { .. })
    ));
    assert!(matches!(store.reserve(0, 1 << 30), Err(StorageError::TooLarge { .. })));
    append(&store, 1, b"x");
}

#[test]
fn damaged_page_is_reported_by_recovery_and_the_rest_is_there() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (bad, bad_root) = new_segment(&store).unwrap();
    let (_, root) = new_segment(&store).unwrap();
    store.checkpoint().unwrap();
    // The pages are changed again, so that redo has to read them. The doublewrite file has their last images; another
    // batch overwrites them.
    for page in [bad_root, root] {
        let mut reservation = store.reserve(0, 200).unwrap();
        let mut change = store.begin(&mut reservation, 0).unwrap();
        let slot = change.latch(page).unwrap().unwrap();
        change.apply(slot, TEST, ADD, &add(1, 5)).unwrap();
        store.wait_durable(change.commit()).unwrap();
    }
    drop(store);
    env.cut(1);
    env.damage("data", bad_root.0 * PAGE as u64 + 1000, &mut |bytes| bytes[0] ^= 1).unwrap();
    env.damage("doublewrite", 0, &mut |bytes| bytes[0] ^= 1).unwrap();
    let store = open(&env).unwrap();
    let unreadable = &store.recovery_report().unreadable;
    assert_eq!((unreadable.len(), unreadable[0].page, unreadable[0].segment), (1, bad_root, bad));
    assert!(matches!(store.shared(bad_root), Err(StorageError::Corrupt { .. })));
    assert_eq!(cell(&store.shared(root).unwrap(), 1), 5);
}

#[test]
fn a_page_unknown_to_the_file_gets_the_content_of_its_last_life_in_the_log() {
    let env = SimulatedEnv::new();
    let large = StoreOptions { log_capacity_bytes: 64 << 20, ..options(100) };
    let store = open_with(&env, large.clone()).unwrap();
    let source = Arc::new(Source(AtomicU64::new(0)));
    store.set_checkpoint_source(Arc::<Source>::clone(&source));
    let (segment, root) = new_segment(&store).unwrap();
    let allocate = || {
        let mut reservation = store.reserve(1, 4096).unwrap();
        let mut change = store.begin(&mut reservation, 1).unwrap();
        let slot = change.allocate(segment, PageClass::Leaf).unwrap();
        change.apply(slot, TEST, FORMAT, &0u64.to_le_bytes()).unwrap();
        let page = change.page_no(slot);
        change.commit();
        page
    };
    let change = |page: PageNo, payload: Option<&[u8]>| {
        let log = payload.map_or(FREE_PAGE_LOG_BYTES, <[u8]>::len);
        let mut reservation = store.reserve(0, log + 4096).unwrap();
        let mut change = store.begin(&mut reservation, 0).unwrap();
        let slot = change.latch(page).unwrap().unwrap();
        match payload {
            Some(payload) => change.apply(slot, TEST, ADD, payload).unwrap(),
            None => change.free(slot).unwrap(),
        }
        change.commit();
    };
    let page = allocate();
    // Redo begins in the middle of a life that leaves nothing in the file.
    source.0.store(store.log_end().0, Ordering::SeqCst);
    change(page, Some(&add(1, 5)));
    change(page, None);
    store.checkpoint().unwrap();
    // These are more records than recovery replays together.
    let padded = [add(1, 1), vec![0; 100_000]].concat();
    (0..180).for_each(|_| change(root, Some(&padded)));
    assert_eq!(allocate(), page);
    change(page, Some(&add(2, 7)));
    store.wait_durable(store.log_end()).unwrap();
    drop(store);
    env.cut(1);
    let store = open_with(&env, large).unwrap();
    assert_eq!(store.recovery_report().unreadable, []);
    let found = store.shared(page).unwrap();
    assert_eq!((cell(&found, 1), cell(&found, 2)), (0, 7));
}

#[test]
fn page_newer_than_the_log_is_not_believed() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (_, root) = new_segment(&store).unwrap();
    store.close().unwrap();
    env.damage("data", root.0 * PAGE as u64, &mut |bytes| {
        bytes[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
        let sum = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
    })
    .unwrap();
    let store = open(&env).unwrap();
    assert!(matches!(store.shared(root), Err(StorageError::Corrupt { page: PageNo(3), .. })));
}

#[test]
fn power_cut_at_every_step_of_making_a_store_leaves_a_directory_that_opens() {
    for cut in 0.. {
        let env = SimulatedEnv::new();
        env.power_cut_after(cut);
        let made = open(&env).and_then(|store| new_segment(&store).map(|_| store));
        let done = made.is_ok() && !env.is_off();
        drop(made);
        env.reboot(cut * 3 + 1);
        let store = open(&env).unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        let segments = store.segments().len();
        new_segment(&store).unwrap();
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        if done {
            assert_eq!(segments, 1);
            assert!(cut > 10);
            break;
        }
    }
}
