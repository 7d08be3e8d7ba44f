//! A store is made, changed, closed and opened again.

use super::support::*;
use leafline_storage::device::{DirectoryEnv, SimulatedEnv};
use leafline_storage::{Env, NoReplay, PageClass, PageNo, StorageError, Store, StoreOptions};
use std::sync::Arc;

#[test]
fn committed_changes_are_there_after_close_and_open() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (segment, root) = new_segment(&store).unwrap();
    let mut reservation = store.reserve(1, 200).unwrap();
    let mut change = store.begin(&mut reservation, 1).unwrap();
    let first = change.latch(root).unwrap().unwrap();
    change.apply(first, TEST, ADD, &add(3, 7)).unwrap();
    let second = change.allocate(segment, PageClass::Leaf).unwrap();
    change.apply(second, TEST, FORMAT, &9u64.to_le_bytes()).unwrap();
    let other = change.page_no(second);
    let end = change.commit();
    drop(reservation);
    assert_eq!(store.shared(other).unwrap().lsn(), end);
    store.close().unwrap();
    let store = open(&env).unwrap();
    assert_eq!(store.recovery_report().pages_changed, 0);
    assert_eq!(cell(&store.shared(root).unwrap(), 3), 7);
    assert_eq!(cell(&store.shared(other).unwrap(), 100), 9);
    let info = &store.segments()[0];
    assert_eq!((info.id, info.root, info.pages, info.extents), (segment, root, 2, 0));
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn durable_changes_are_there_after_a_power_cut_without_any_checkpoint() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (_, root) = new_segment(&store).unwrap();
    drop(store);
    env.cut(1);
    let store = open(&env).unwrap();
    assert!(store.recovery_report().mini_transactions > 0);
    assert_eq!(cell(&store.shared(root).unwrap(), 3), 0);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn opening_twice_is_refused_and_allowed_again_after_the_first_is_gone() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    assert!(matches!(open(&env), Err(StorageError::AlreadyOpen)));
    store.close().unwrap();
    open(&env).unwrap();
}

#[test]
fn page_size_is_that_of_creation_and_odd_ones_are_refused() {
    let env = SimulatedEnv::new();
    assert!(open_with(&env, StoreOptions { page_size: 5000, ..options(100) }).is_err());
    open(&env).unwrap().close().unwrap();
    let store = open_with(&env, StoreOptions { page_size: 16384, ..options(100) }).unwrap();
    assert_eq!(store.page_size(), PAGE);
}

#[test]
fn page_outside_the_file_is_an_error_and_not_a_wait() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    for page in [1 << 20, (1 << 48) - 1, u64::MAX] {
        assert!(matches!(store.shared(PageNo(page)), Err(StorageError::Corrupt { .. })));
        assert!(store.try_shared(PageNo(page)).unwrap().is_none());
    }
}

#[test]
fn mini_transaction_given_up_after_a_change_stops_the_store() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (_, root) = new_segment(&store).unwrap();
    let mut reservation = store.reserve(0, 200).unwrap();
    let mut change = store.begin(&mut reservation, 0).unwrap();
    change.latch(root).unwrap().unwrap();
    drop(change);
    let mut change = store.begin(&mut reservation, 0).unwrap();
    let slot = change.latch(root).unwrap().unwrap();
    change.apply(slot, TEST, ADD, &add(1, 1)).unwrap();
    drop(change);
    assert!(matches!(store.begin(&mut reservation, 0), Err(StorageError::Poisoned { .. })));
    assert!(matches!(store.checkpoint(), Err(StorageError::Poisoned { .. })));
    // No thread may see the change, nor the page as it was before other changes that may be in the log.
    assert!(matches!(store.shared(root), Err(StorageError::Poisoned { .. })));
    drop(reservation);
    drop(store);
    let store = open(&env).unwrap();
    assert_eq!(cell(&store.shared(root).unwrap(), 1), 0);
}

#[test]
fn panic_over_a_guard_stops_the_store_and_cleaning_up_does_not() {
    struct CleansUp<'s>(&'s Store);
    impl Drop for CleansUp<'_> {
        fn drop(&mut self) {
            drop(self.0.stop_on_panic("it was cleaned up"));
        }
    }
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let panics = |within: &dyn Fn() -> bool| {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(within));
        assert!(ended.is_err());
    };
    drop(store.stop_on_panic("nothing was done"));
    panics(&|| {
        let _cleans_up = CleansUp(&store);
        panic!("planted")
    });
    assert!(store.check_running().is_ok());
    panics(&|| {
        let _stops = store.stop_on_panic("a test ran");
        panic!("planted")
    });
    let stopped = store.check_running().unwrap_err().to_string();
    assert!(stopped.contains("a panic while a test ran"), "{stopped}");
}

#[test]
fn a_store_that_cannot_be_made_leaves_no_directory_behind() {
    let directory = tempfile::tempdir().unwrap();
    for refused in [
        StoreOptions { buffer_pool_bytes: 10, ..options(100) },
        StoreOptions { page_size: 5000, ..options(100) },
    ] {
        let path = directory.path().join("db");
        let env: Arc<dyn Env> = Arc::new(DirectoryEnv::open(&path).unwrap());
        assert!(Store::open(env, refused, Vec::new(), &mut NoReplay).is_err());
        assert!(!path.exists());
    }
}

#[test]
fn store_in_a_directory_of_the_file_system_with_threads() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let env: Arc<dyn Env> = Arc::new(DirectoryEnv::open(directory.path()).unwrap());
        let options = StoreOptions { background: true, io_threads: 2, ..options(128) };
        Store::open(env, options, vec![(TEST, Arc::new(TestRedo))], &mut NoReplay)
    };
    let store = open().unwrap();
    assert!(matches!(open(), Err(StorageError::AlreadyOpen)));
    let (segment, root) = new_segment(&store).unwrap();
    let mut pages = vec![root];
    for value in 0..400u64 {
        let mut reservation = store.reserve(1, 100).unwrap();
        let mut change = store.begin(&mut reservation, 1).unwrap();
        let slot = change.allocate(segment, PageClass::Leaf).unwrap();
        change.apply(slot, TEST, FORMAT, &value.to_le_bytes()).unwrap();
        pages.push(change.page_no(slot));
        change.commit();
    }
    // The store is not closed: its durable state is enough.
    store.wait_durable(store.log_end()).unwrap();
    store.poison("to be recovered".into());
    drop(store);
    let store = open().unwrap();
    for chunk in pages.chunks(16) {
        store.prefetch(chunk).unwrap();
    }
    for (value, page) in pages.iter().skip(1).enumerate() {
        assert_eq!(cell(&store.shared(*page).unwrap(), 50), value as u64);
    }
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    store.close().unwrap();
    assert_eq!(open().unwrap().recovery_report().pages_changed, 0);
}
