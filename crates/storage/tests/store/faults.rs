//! A disk that is full, that cannot read, that cannot write.

use super::support::*;
use leafline_storage::device::{Operation, SimulatedEnv};
use leafline_storage::{PageClass, PageNo, StorageError, Store};
use std::sync::Arc;

#[test]
fn full_disk_is_a_clear_error_before_anything_is_changed_and_work_goes_on() {
    for seed in seeds(3) {
        let env = SimulatedEnv::new();
        let mut run = Workload::create(&env, seed);
        let mut refused = 0;
        for round in 0..40 {
            eprintln!("seed {seed}, round {round}");
            // What is there may be used up, and a little more.
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

/// Cuts the power, opens the store again and looks whether everything durable is there.
fn check_after_cut(env: &SimulatedEnv, run: Workload, seed: u64) {
    let counter = run.counter();
    let history = run.history.clone();
    drop(run);
    env.cut(seed);
    check_recovered(&open(env).unwrap(), &history, counter);
}

#[test]
fn full_disk_while_a_store_is_made_leaves_a_directory_that_can_be_used_later() {
    for limit in (0..2_000_000).step_by(100_000) {
        let env = SimulatedEnv::new();
        env.set_space_limit(Some(limit));
        match open(&env) {
            Ok(_) => {}
            Err(StorageError::DiskFull) => {
                env.set_space_limit(None);
                open(&env).unwrap();
            }
            Err(other) => panic!("limit {limit}: {other}"),
        }
    }
}

/// A store whose pages do not fit the pool, with the page to look at out of memory.
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
            // The fault has gone; the store must not believe it.
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
    leafline_storage::Env::remove(&env, "control").unwrap();
    assert!(matches!(open(&env), Err(StorageError::Format { .. })));
}
