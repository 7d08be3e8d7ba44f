//! Disks that are full, that cannot read, or that cannot write.

use super::support::*;
use leafline_storage::device::{Operation, SimulatedEnv};
use leafline_storage::{Env, OpenMode, PageClass, PageNo, StorageError, Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::{Arc, Mutex};

#[test]
fn full_disk_is_a_clear_error_before_anything_is_changed_and_work_goes_on() {
    for seed in seeds(3) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        let mut refused = 0;
        for round in 0..40 {
            eprintln!("seed {seed}, round {round}");
            // The workload may use the free space in the file, and a little more.
            env.set_space_limit(Some(env.space_used() + 4096 * (round % 4) * 40));
            match run.run(200) {
                Ok(()) => {}
                Err(StorageError::DiskFull) => {
                    refused += 1;
                    assert_eq!(run.store.verify_space().unwrap(), Vec::<String>::new());
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!(refused > 3, "the disk was never full");
        env.set_space_limit(None);
        run.run(200).unwrap();
        check_after_cut(&env, run, seed);
    }
}

/// Cuts the power, opens the store again and checks that everything durable is there.
fn check_after_cut(env: &SimulatedEnv, run: Workload, seed: u64) {
    let counter = run.counter();
    let history = run.history.clone();
    drop(run);
    env.cut(seed);
    check_recovered(&open(env).unwrap(), &history, counter);
}

#[test]
fn full_disk_while_a_store_is_made_reports_the_needed_bytes_and_leaves_nothing_behind() {
    for limit in (0..2_000_000).step_by(100_000) {
        let env = SimulatedEnv::new();
        env.set_space_limit(Some(limit));
        match open(&env) {
            Ok(_) => assert!(limit > 1_000_000),
            Err(StorageError::DiskFullAtCreation { needed }) => {
                assert_eq!(env.list("").unwrap(), Vec::<String>::new());
                assert!(env.space_used() == 0 && !env.exists("wal").unwrap());
                assert!(limit < needed);
                env.set_space_limit(Some(needed));
                open(&env).unwrap();
                assert_eq!(env.space_used(), needed, "no more and no less");
            }
            Err(other) => panic!("limit {limit}: {other}"),
        }
    }
}

#[test]
fn a_pool_too_small_for_any_store_says_how_much_is_needed_and_makes_none() {
    let env = SimulatedEnv::new();
    let error = open_with(&env, StoreOptions { buffer_pool_bytes: 10, ..options(100) }).err().unwrap();
    let StorageError::PoolBelowMinimum { bytes: 10, minimum } = error else { panic!("{error}") };
    assert!(error.to_string().contains(&minimum.to_string()));
    assert_eq!(env.list("").unwrap(), Vec::<String>::new());
    open_with(&env, StoreOptions { buffer_pool_bytes: minimum, ..options(100) }).unwrap();
    let less = StoreOptions { buffer_pool_bytes: minimum - 1, ..options(100) };
    assert!(matches!(open_with(&env, less), Err(StorageError::PoolBelowMinimum { .. })));
}

#[test]
fn an_empty_store_with_the_default_log_takes_few_mebibytes() {
    let env = SimulatedEnv::new();
    let options = StoreOptions { background: false, io_threads: 0, ..StoreOptions::default() };
    let store = open_with(&env, options.clone()).unwrap();
    new_segment(&store).unwrap();
    store.close().unwrap();
    assert!(env.space_used() < 8 << 20, "{}", env.space_used());
    open_with(&env, options).unwrap().close().unwrap();
    assert!(env.space_used() < 8 << 20, "{}", env.space_used());
}

#[test]
fn a_log_that_cannot_grow_on_a_full_disk_is_recycled_and_refuses_reservations_it_can_never_hold() {
    let env = SimulatedEnv::new();
    let large = StoreOptions { log_capacity_bytes: 64 << 20, ..options(200) };
    let store = open_with(&env, large).unwrap();
    let (_, root) = new_segment(&store).unwrap();
    env.set_space_limit(Some(env.space_used()));
    // This is several times the bytes that the files hold.
    for round in 1..2000u64 {
        let mut reservation = store.reserve(0, 3000).unwrap();
        let mut change = store.begin(&mut reservation, 0).unwrap();
        let slot = change.latch(root).unwrap().unwrap();
        (0..100).for_each(|at| change.apply(slot, TEST, ADD, &add(at, 1)).unwrap());
        change.commit();
        assert_eq!(cell(&store.shared(root).unwrap(), 7), round);
    }
    assert!(store.stats().checkpoints.load(std::sync::atomic::Ordering::Relaxed) > 3);
    assert!(matches!(store.reserve(0, 10 << 20), Err(StorageError::DiskFull)));
    env.set_space_limit(None);
    store.reserve(0, 10 << 20).unwrap();
}

#[test]
fn a_log_that_has_lost_its_last_file_or_the_end_of_one_is_not_opened() {
    for seed in seeds(2) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        run.run(300).unwrap();
        let counter = run.counter();
        let history = run.history.clone();
        drop(run);
        env.cut(seed);
        let mut noticed = 0;
        for name in env.list("wal").unwrap() {
            let name = format!("wal/{name}");
            for size in [None, Some(0), Some(4096), Some(32 << 10)] {
                let copy = env.snapshot();
                match size {
                    None => copy.remove(&name).unwrap(),
                    Some(size) => copy.open(&name, OpenMode::Existing).unwrap().truncate(size).unwrap(),
                }
                match open(&copy) {
                    Err(StorageError::LogDamaged { .. }) => noticed += 1,
                    Err(other) => panic!("seed {seed}, {name} {size:?}: {other}"),
                    Ok(store) => drop(check_recovered(&store, &history, counter)),
                }
            }
        }
        assert!(noticed >= 8, "the file in use and the one after it: {noticed}");
    }
}

#[test]
fn rot_on_the_record_of_the_last_checkpoint_is_damage_of_the_log() {
    // The bad record comes after others in its file, or is the first of it.
    for reopened in [false, true] {
        let env = SimulatedEnv::new();
        let mut store = open(&env).unwrap();
        new_segment(&store).unwrap();
        if reopened {
            drop(store);
            store = open(&env).unwrap();
        }
        store.checkpoint().unwrap();
        drop(store);
        let mut noticed = 0;
        for name in env.list("wal").unwrap() {
            let name = format!("wal/{name}");
            let size = env.open(&name, OpenMode::Existing).unwrap().size().unwrap();
            for offset in (0..size).step_by(4096) {
                let copy = env.snapshot();
                copy.damage(&name, offset, &mut |block| block[10] ^= 1).unwrap();
                match open(&copy) {
                    Ok(_) => {}
                    Err(StorageError::LogDamaged { .. }) => noticed += 1,
                    Err(other) => panic!("reopened {reopened}, {name} at {offset}: {other}"),
                }
            }
        }
        assert!(noticed > 0, "reopened {reopened}");
    }
}

#[test]
fn either_slot_of_the_control_file_is_enough_after_any_checkpoint() {
    for seed in seeds(2) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        for round in 0..10 {
            run.run(150).unwrap();
            run.store.checkpoint().unwrap();
            run.history.durable = run.history.steps.len();
            for slot in 0..2 {
                eprintln!("seed {seed}, round {round}, slot {slot}");
                let copy = env.snapshot();
                copy.damage("control", slot * 4096 + 30, &mut |bytes| bytes[0] ^= 1).unwrap();
                let store = open(&copy).unwrap();
                assert!(store.recovery_report().control_repaired);
                check_recovered(&store, &run.history, run.counter());
            }
        }
    }
}

/// Makes a store whose pages do not fit the pool. Returns a page that is not in memory.
fn store_with_cold_page(env: &SimulatedEnv) -> (Store, PageNo) {
    let store = open(env).unwrap();
    let (segment, root) = new_segment(&store).unwrap();
    for value in 0..200u64 {
        let mut reservation = store.reserve(1, 100).unwrap();
        let mut change = store.begin(&mut reservation, 1).unwrap();
        let slot = change.allocate(segment, PageClass::Leaf).unwrap();
        change.apply(slot, TEST, FORMAT, &value.to_le_bytes()).unwrap();
        change.commit();
    }
    store.checkpoint().unwrap();
    assert!(!store.is_resident(root));
    (store, root)
}

#[test]
fn unreadable_page_is_an_error_for_its_reader_and_none_for_the_store() {
    let env = SimulatedEnv::new();
    let (store, page) = store_with_cold_page(&env);
    let bad = page.0 * PAGE as u64;
    env.set_fault(Some(Arc::new(move |operation, name, offset| {
        operation == Operation::Read && name == "data" && (offset..offset + 4096).contains(&bad)
    })));
    for _ in 0..3 {
        assert!(matches!(store.shared(page), Err(StorageError::Io { .. })));
        store.prefetch(&[page]).unwrap();
        assert!(!store.is_resident(page));
    }
    new_segment(&store).unwrap();
    env.set_fault(None);
    assert_eq!(cell(&store.shared(page).unwrap(), 5), 0);
}

#[test]
fn rotten_or_misplaced_page_is_reported_with_its_number() {
    let env = SimulatedEnv::new();
    let (store, page) = store_with_cold_page(&env);
    let at = page.0 * PAGE as u64;
    env.damage("data", at + 2000, &mut |bytes| bytes[0] ^= 4).unwrap();
    for _ in 0..2 {
        match store.shared(page) {
            Err(StorageError::Corrupt { page: reported, .. }) => assert_eq!(reported, page),
            other => panic!("{:?}", other.map(|guard| guard.page_no())),
        };
    }
    env.damage("data", at + 2000, &mut |bytes| bytes[0] ^= 4).unwrap();
    assert_eq!(store.shared(page).unwrap().page_no(), page);
}

#[test]
fn failed_write_or_sync_stops_the_store_and_opening_it_again_loses_nothing() {
    for seed in seeds(2) {
        for (file, operation) in [
            ("data", Operation::Write),
            ("data", Operation::Sync),
            ("doublewrite", Operation::Write),
            ("doublewrite", Operation::Sync),
            ("control", Operation::Write),
            ("control", Operation::Sync),
            ("wal/", Operation::Write),
            ("wal/", Operation::Sync),
        ] {
            eprintln!("seed {seed}, {operation:?} of {file}");
            let env = SimulatedEnv::new();
            let mut run = Workload::create(&env, seed);
            run.run(300).unwrap();
            let fails =
                move |found: Operation, name: &str, _: u64| found == operation && name.starts_with(file);
            env.set_fault(Some(Arc::new(fails)));
            let error = run.run(2000).unwrap_err();
            assert!(matches!(error, StorageError::Io { .. } | StorageError::Poisoned { .. }), "{error}");
            // The fault has gone, but the store must not trust the device.
            env.set_fault(None);
            assert!(matches!(run.store.checkpoint(), Err(StorageError::Poisoned { .. })));
            assert!(matches!(run.store.reserve(1, 100), Err(StorageError::Poisoned { .. })));
            check_after_cut(&env, run, seed);
        }
    }
}

#[test]
fn missing_control_file_is_no_reason_to_make_a_new_store_over_the_data() {
    let env = SimulatedEnv::new();
    open(&env).unwrap().close().unwrap();
    let store = open(&env).unwrap();
    new_segment(&store).unwrap();
    store.close().unwrap();
    Env::remove(&env, "control").unwrap();
    assert!(matches!(open(&env), Err(StorageError::Format { .. })));
}

#[test]
fn waiting_for_a_log_that_can_neither_grow_nor_be_freed_fails_with_disk_full() {
    for background in [false, true] {
        let env = SimulatedEnv::new();
        let large = StoreOptions { log_capacity_bytes: 64 << 20, background, io_threads: 1, ..options(200) };
        let store = open_with(&env, large).unwrap();
        env.set_space_limit(Some(env.space_used()));
        // Another reservation holds most of the space, and is not released.
        let held = store.reserve(0, 400_000).unwrap();
        match store.reserve(0, 250_000) {
            Err(StorageError::DiskFull) => {}
            other => panic!("background {background}: {:?}", other.map(|_| "granted")),
        }
        drop(held);
        store.reserve(0, 250_000).unwrap();
    }
}

/// Makes one operation in `one_in` fail, chosen by the seed.
fn random_faults(env: &SimulatedEnv, seed: u64, one_in: u32) {
    let random = Mutex::new(SmallRng::seed_from_u64(seed));
    env.set_fault(Some(Arc::new(move |_, _, _| random.lock().unwrap().random_ratio(1, one_in))));
}

/// Returns whether a failing device may cause this error.
fn is_device_failure(error: &StorageError) -> bool {
    matches!(error, StorageError::Io { .. } | StorageError::Poisoned { .. })
}

#[test]
fn faults_at_random_are_errors_and_nothing_acknowledged_is_lost() {
    let (mut failed_runs, mut failed_openings) = (0, 0);
    for seed in seeds(12) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        for round in 0..8 {
            eprintln!("seed {seed}, round {round}");
            random_faults(&env, seed * 100 + round, 700);
            if let Err(error) = run.run(300) {
                assert!(is_device_failure(&error), "{error}");
                failed_runs += 1;
            }
            env.set_fault(None);
            let (counter, history) = (run.counter(), run.history.clone());
            drop(run);
            env.cut(seed + round);
            // Opening meets faults as well, and is tried again.
            random_faults(&env, seed * 1000 + round, 60);
            if let Err(error) = open(&env) {
                assert!(is_device_failure(&error), "{error}");
                failed_openings += 1;
            }
            env.set_fault(None);
            env.cut(seed + round + 1);
            let store = open(&env).unwrap();
            let steps = check_recovered(&store, &history, counter);
            run = Workload::go_on(store, &history, steps, counter, seed * 1000 + round);
        }
    }
    assert!(failed_runs > 0 && failed_openings > 0, "{failed_runs} and {failed_openings}");
}
