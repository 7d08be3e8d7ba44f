//! Free space that is given back to the file system and needed again: with power cuts, and where another user of the
//! disk has taken it.

use super::support::*;
use leafline_storage::device::{Operation, SimulatedEnv};
use leafline_storage::{PageClass, SegmentId, SegmentState, StorageError, Store, StoreOptions};
use std::sync::Arc;

const OPERATIONS: usize = 60;
/// With this stride, several extents are taken and freed at a time.
const STRIDE: usize = 25;
const EXTENT: u64 = 64 * PAGE as u64;

/// Makes a segment of `pages` pages.
fn segment_of(store: &Store, pages: usize) -> SegmentId {
    let (segment, _) = new_segment(store).unwrap();
    let mut left = pages - 1;
    while left > 0 {
        let some = left.min(16);
        let mut reservation = store.reserve(some, some * 40).unwrap();
        let mut change = store.begin(&mut reservation, some).unwrap();
        for _ in 0..some {
            let slot = change.allocate(segment, PageClass::Leaf).unwrap();
            change.apply(slot, TEST, FORMAT, &7u64.to_le_bytes()).unwrap();
        }
        change.commit();
        left -= some;
    }
    segment
}

fn data_bytes(store: &Store) -> u64 {
    store.allocated_bytes().unwrap()
}

#[test]
fn space_of_dropped_segments_goes_back_to_the_file_system_and_can_be_used_again() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let low = segment_of(&store, 2000);
    let high = segment_of(&store, 200);
    store.checkpoint().unwrap();
    store.drop_segment(low).unwrap();
    let before = data_bytes(&store);
    assert_eq!(before, store.space_usage().file_pages * PAGE as u64);
    store.release_free_space().unwrap();
    let usage = store.space_usage();
    assert!(before - data_bytes(&store) >= 30 * EXTENT, "{before} {}", data_bytes(&store));
    assert_eq!(data_bytes(&store), (usage.file_pages - usage.free_pages) * PAGE as u64);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    // Holes are filled before the file grows.
    let again = segment_of(&store, 1500);
    assert!(store.space_usage().file_pages <= usage.file_pages);
    drop(store);
    env.cut(1);
    let store = open(&env).unwrap();
    assert_eq!(store.recovery_report().unreadable, []);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    store.drop_segment(again).unwrap();
    store.drop_segment(high).unwrap();
    store.release_free_space().unwrap();
    assert!(store.space_usage().file_pages <= 2 * 64, "all that is left is at the beginning");
    assert_eq!(env.counts().truncates, 3, "of the new file, and twice of what was free at its end");
}

#[test]
fn a_region_goes_with_its_map_page_and_comes_back() {
    let env = SimulatedEnv::new();
    let mut store = open_with(&env, options(200)).unwrap();
    for round in 0..3 {
        // A region is 128 extents.
        let segment = segment_of(&store, 300 * 64);
        assert!(store.space_usage().file_pages > 300 * 64);
        store.checkpoint().unwrap();
        store.drop_segment(segment).unwrap();
        store.release_free_space().unwrap();
        assert!(store.space_usage().file_pages <= 2 * 64, "round {round}: {:?}", store.space_usage());
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        if round == 1 {
            drop(store);
            env.cut(round);
            store = open_with(&env, options(200)).unwrap();
        }
    }
}

#[test]
fn no_space_is_given_back_before_a_checkpoint_has_passed_the_group_that_freed_it() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let segment = segment_of(&store, 1000);
    // A source that still needs the log from here on.
    struct Needs(leafline_storage::Lsn);
    impl leafline_storage::CheckpointSource for Needs {
        fn payload(&self) -> Vec<u8> {
            Vec::new()
        }
        fn oldest_needed(&self) -> Option<leafline_storage::Lsn> {
            Some(self.0)
        }
    }
    store.release_free_space().unwrap();
    store.set_checkpoint_source(Arc::new(Needs(store.log_end())));
    store.drop_segment(segment).unwrap();
    let before = data_bytes(&store);
    store.release_free_space().unwrap();
    assert_eq!(data_bytes(&store), before);
    store.set_checkpoint_source(Arc::new(Needs(store.log_end())));
    store.release_free_space().unwrap();
    assert!(data_bytes(&store) < before);
}

#[test]
fn without_holes_the_free_end_of_the_file_is_cut_all_the_same() {
    for refused in [false, true] {
        let env = SimulatedEnv::new();
        let store = open_with(&env, StoreOptions { punch_holes: refused, ..options(100) }).unwrap();
        if refused {
            env.set_fault(Some(Arc::new(|operation, _, _| operation == Operation::Punch)));
        }
        let [low, high, end] = [800, 200, 800].map(|pages| segment_of(&store, pages));
        store.drop_segment(low).unwrap();
        store.drop_segment(end).unwrap();
        let before = data_bytes(&store);
        let released = store.release_free_space();
        assert_eq!(released.is_err(), refused, "a device that fails is told of, once");
        store.release_free_space().unwrap();
        let usage = store.space_usage();
        assert_eq!(data_bytes(&store), usage.file_pages * PAGE as u64);
        assert!(before - data_bytes(&store) >= 12 * EXTENT && usage.free_pages >= 12 * 64, "{usage:?}");
        // The disk has less than an extent left, for the log.
        env.set_space_limit(Some(env.space_used() + EXTENT - 1));
        segment_of(&store, 600);
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        assert!(store.segments().iter().any(|info| info.id == high && info.state == SegmentState::Live));
    }
}

#[test]
fn a_store_with_a_thread_gives_unneeded_space_back_and_keeps_some_at_hand() {
    let env = SimulatedEnv::new();
    let background = StoreOptions { background: true, io_threads: 1, ..options(200) };
    let store = open_with(&env, background).unwrap();
    let low = segment_of(&store, 6000);
    let high = segment_of(&store, 200);
    store.drop_segment(low).unwrap();
    let extents = store.space_usage().file_pages / 64;
    let kept = |store: &Store| data_bytes(store) / EXTENT + store.space_usage().free_pages / 64;
    // The file keeps the extents that it would grow by, and those that were needed recently.
    while kept(&store) - store.space_usage().file_pages / 64 > extents / 8 + 8 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(kept(&store) - store.space_usage().file_pages / 64 >= extents / 8 - 1);
    assert!(store.segments().iter().any(|info| info.id == high));
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn power_cut_at_every_write_while_space_comes_and_goes_leaves_a_prefix() {
    let mut given_back = 0;
    for seed in seeds(2) {
        let env = SimulatedEnv::new();
        let mut prepared = Workload::create_with_stride(&env, seed, STRIDE);
        prepared.run(8 * OPERATIONS).unwrap();
        prepared.store.checkpoint().unwrap();
        let env = env.snapshot();
        let whole = env.snapshot();
        let mut run = prepared.again(&whole, seed).unwrap();
        let before = whole.counts();
        run.run(OPERATIONS).unwrap();
        let counts = whole.counts();
        let changes = counts.changes() - before.changes();
        given_back += counts.punches + counts.truncates - before.punches - before.truncates;
        for cut in 0..changes {
            eprintln!("seed {seed}, cut {cut} of {changes}");
            let env = env.snapshot();
            let mut run = prepared.again(&env, seed).unwrap();
            env.power_cut_after(cut);
            let ended = run.run(OPERATIONS);
            assert!(
                matches!(ended, Err(StorageError::Io { .. } | StorageError::Poisoned { .. })),
                "{ended:?}"
            );
            env.reboot(seed ^ cut);
            let store = open_for(&env, STRIDE).unwrap();
            check_recovered(&store, &run.history, prepared.counter());
            // All free space is given back, so the remaining pages are read from the file.
            store.release_free_space().unwrap();
            store.evict_clean_pages();
            check_recovered(&store, &run.history, prepared.counter());
        }
    }
    assert!(given_back > 4, "{given_back}");
}

#[test]
fn if_the_disk_is_full_a_reservation_is_refused_and_nothing_else_fails() {
    for seed in seeds(4) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create_with_stride(&env, seed, STRIDE);
        run.run(200).unwrap();
        let mut refused = 0;
        for round in 0..60 {
            eprintln!("seed {seed}, round {round}");
            if round % 7 == 0 {
                run.store.release_free_space().unwrap();
            }
            env.set_space_limit(Some(env.space_used() + EXTENT * (round % 4)));
            match run.run(40) {
                Ok(()) => {}
                Err(StorageError::DiskFull) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            assert_eq!(run.store.verify_space().unwrap(), Vec::<String>::new());
        }
        assert!(refused > 3, "the disk was never full");
        // Recovery needs no space either.
        let (counter, history) = (run.counter(), run.history.clone());
        drop(run);
        env.cut(seed);
        env.set_space_limit(Some(env.space_used()));
        check_recovered(&open_for(&env, STRIDE).unwrap(), &history, counter);
    }
}
