//! Many threads on a pool much smaller than the data, with the store's own threads at work.

use super::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{PageClass, PageNo, Result, SegmentId, StorageError, Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const THREADS: usize = 4;

fn threaded(frames: usize) -> StoreOptions {
    StoreOptions { background: true, io_threads: 2, ..options(frames) }
}

/// Makes a segment of `count` pages of zeros.
fn pages(store: &Store, count: usize) -> (SegmentId, Vec<PageNo>) {
    let (segment, root) = new_segment(store).unwrap();
    let mut pages = vec![root];
    while pages.len() < count {
        let mut reservation = store.reserve(8, 1000).unwrap();
        let mut change = store.begin(&mut reservation, 8).unwrap();
        for _ in 0..8 {
            let slot = change.allocate(segment, PageClass::Leaf).unwrap();
            change.apply(slot, TEST, FORMAT, &0u64.to_le_bytes()).unwrap();
            pages.push(change.page_no(slot));
        }
        change.commit();
    }
    pages.truncate(count);
    store.checkpoint().unwrap();
    (segment, pages)
}

/// Adds one to a cell of each page, in one mini-transaction.
fn add_to(store: &Store, pages: &[PageNo], cell: usize) -> Result<leafline_storage::Lsn> {
    let mut sorted = pages.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut reservation = store.reserve(0, sorted.len() * 40 + 100)?;
    'again: loop {
        let mut change = store.begin(&mut reservation, 0)?;
        for page in &sorted {
            if change.latch(*page)?.is_none() {
                drop(change);
                store.fault_in(*page)?;
                continue 'again;
            }
        }
        for page in pages {
            let slot = change.latch(*page)?.unwrap();
            change.apply(slot, TEST, ADD, &add(cell, 1))?;
        }
        return Ok(change.commit());
    }
}

fn sum(store: &Store, pages: &[PageNo], at: usize) -> u64 {
    pages.iter().map(|page| cell(&store.shared(*page).unwrap(), at)).sum()
}

#[test]
fn threads_change_data_twenty_times_the_pool_within_its_memory() {
    let env = SimulatedEnv::new();
    let frames = 96;
    let store = open_with(&env, threaded(frames)).unwrap();
    let (segment, pages) = pages(&store, 20 * frames);
    let cap = (frames * PAGE) as u64;
    let (done, added) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(store.stats().pool_bytes.load(Ordering::Relaxed) <= cap);
                std::thread::yield_now();
            }
        });
        let workers: Vec<_> = (0..THREADS as u64)
            .map(|seed| {
                let (store, pages, added) = (&store, &pages, &added);
                scope.spawn(move || {
                    let mut rng = SmallRng::seed_from_u64(seed);
                    for round in 0..300 * scale() {
                        let any: Vec<PageNo> =
                            (0..3).map(|_| pages[rng.random_range(0..pages.len())]).collect();
                        match round % 3 {
                            0 => {
                                let from = rng.random_range(0..pages.len() - 12);
                                store.prefetch(&pages[from..from + 12]).unwrap();
                                pages[from..from + 12].iter().for_each(|page| {
                                    assert_eq!(store.shared(*page).unwrap().page_no(), *page);
                                });
                            }
                            _ => {
                                let end = add_to(store, &any, 5).unwrap();
                                added.fetch_add(3, Ordering::Relaxed);
                                if round % 20 == 1 {
                                    store.wait_durable(end).unwrap();
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(sum(&store, &pages, 5), added.load(Ordering::Relaxed));
    assert!(store.stats().evictions.load(Ordering::Relaxed) > 1000);
    assert!(store.resident_pages(segment) <= frames as u64);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    store.close().unwrap();
    let store = open_with(&env, threaded(frames)).unwrap();
    assert_eq!(sum(&store, &pages, 5), added.load(Ordering::Relaxed));
}

#[test]
fn power_cut_under_threads_keeps_mini_transactions_whole_and_acknowledged_ones() {
    for seed in seeds(8) {
        eprintln!("seed {seed}");
        let env = SimulatedEnv::new();
        // For every other seed the page writer alone records checkpoints, of a log that grows as it is used.
        let alone = seed % 2 == 0;
        let log_capacity_bytes = if alone { 8 << 20 } else { 1 << 20 };
        let options = StoreOptions { log_capacity_bytes, warm_up: true, ..threaded(80) };
        let store = open_with(&env, options.clone()).unwrap();
        let (_, pages) = pages(&store, 300);
        // Each thread counts in a page of its own, and adds as much to a page that all share.
        let (own, shared) = pages.split_at(THREADS);
        let acknowledged: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
        env.power_cut_after(100 + seed * 97 % 400 + if alone { 1000 } else { 0 });
        std::thread::scope(|scope| {
            // Checkpoints are recorded while pages are changed or come in by read-ahead.
            scope.spawn(|| while !alone && store.checkpoint().is_ok() {});
            scope.spawn(|| {
                let mut parts = shared.chunks(7).cycle();
                while alone && parts.next().is_some_and(|part| store.prefetch(part).is_ok()) {
                    std::thread::yield_now();
                }
            });
            for (index, counter) in acknowledged.iter().enumerate() {
                let store = &store;
                scope.spawn(move || {
                    let mut rng = SmallRng::seed_from_u64(seed * 100 + index as u64);
                    for count in 1.. {
                        let page = shared[rng.random_range(0..shared.len())];
                        let done =
                            add_to(store, &[own[index], page], 9).and_then(|end| store.wait_durable(end));
                        match done {
                            Ok(()) => counter.store(count, Ordering::Relaxed),
                            Err(StorageError::Io { .. } | StorageError::Poisoned { .. }) => return,
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
        });
        drop(store);
        env.reboot(seed);
        let store = open_with(&env, options).unwrap();
        assert_eq!(store.recovery_report().unreadable, []);
        for (page, acknowledged) in own.iter().zip(&acknowledged) {
            let acknowledged = acknowledged.load(Ordering::Relaxed);
            let found = cell(&store.shared(*page).unwrap(), 9);
            // At most one step was under way.
            assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} of {acknowledged}");
        }
        assert_eq!(sum(&store, own, 9), sum(&store, shared, 9), "a mini-transaction was torn");
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn threads_allocate_free_and_drop_segments_together() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, threaded(160)).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let store = &store;
            scope.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(seed);
                for _ in 0..6 {
                    let (segment, _) = new_segment(store).unwrap();
                    let mut pages = Vec::new();
                    for _ in 0..40 {
                        let count = rng.random_range(1..6);
                        let mut reservation = store.reserve(count, 1000).unwrap();
                        let mut change = store.begin(&mut reservation, count).unwrap();
                        for _ in 0..count {
                            let slot = change.allocate(segment, PageClass::Leaf).unwrap();
                            change.apply(slot, TEST, FORMAT, &segment.0.to_le_bytes()).unwrap();
                            pages.push(change.page_no(slot));
                        }
                        change.commit();
                        let page = pages[rng.random_range(0..pages.len())];
                        let guard = store.shared(page).unwrap();
                        assert_eq!((guard.owner(), cell(&guard, 7)), (segment, segment.0));
                    }
                    if rng.random_bool(0.7) {
                        store.drop_segment(segment).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    store.wait_durable(store.log_end()).unwrap();
    let segments = store.segments();
    drop(store);
    env.cut(4);
    let store = open_with(&env, threaded(160)).unwrap();
    assert_eq!(store.segments(), segments);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn commits_go_on_while_the_log_is_many_times_too_small() {
    let env = SimulatedEnv::new();
    let small = StoreOptions { log_capacity_bytes: 512 << 10, ..threaded(200) };
    let store = open_with(&env, small).unwrap();
    let (_, pages) = pages(&store, 100);
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let (store, pages) = (&store, &pages);
            scope.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(seed);
                for _ in 0..1000 * scale() {
                    let any: Vec<PageNo> = (0..30).map(|_| pages[rng.random_range(0..pages.len())]).collect();
                    add_to(store, &any, 3).unwrap();
                }
            });
        }
    });
    assert!(store.log_end().0 > 2 * (512 << 10), "the log did not go round");
    assert!(store.stats().checkpoints.load(Ordering::Relaxed) > 1);
    assert_eq!(sum(&store, &pages, 3), (THREADS * 1000 * scale() * 30) as u64);
}

/// A crash has left a log with more bytes than its new capacity.
#[test]
fn a_log_is_opened_that_holds_more_than_its_capacity() {
    let env = SimulatedEnv::new();
    let large = StoreOptions { background: false, log_capacity_bytes: 64 << 20, ..options(200) };
    let store = open_with(&env, large).unwrap();
    let (_, pages) = pages(&store, 100);
    let mut rounds = 0;
    while store.log_end().0 < 8 << 20 {
        rounds += 1;
        add_to(&store, &pages, 3).unwrap();
    }
    store.wait_durable(store.log_end()).unwrap();
    drop(store);
    env.cut(4);
    for _ in 0..3 {
        let small = StoreOptions { log_capacity_bytes: 512 << 10, ..threaded(200) };
        let store = open_with(&env, small).unwrap();
        assert_eq!(sum(&store, &pages, 3), rounds * 100);
        for _ in 0..1000 {
            rounds += 1;
            add_to(&store, &pages, 3).unwrap();
        }
        store.wait_durable(store.log_end()).unwrap();
        drop(store);
        env.cut(5);
    }
}

/// The log becomes durable up to a requested LSN although nobody waits for it. The thread that does it ends with the
/// store.
#[test]
fn the_log_is_made_durable_before_anybody_waits_for_it() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, threaded(100)).unwrap();
    let (_, pages) = pages(&store, 4);
    let lsn = add_to(&store, &pages, 0).unwrap();
    store.flush_ahead(lsn);
    while store.durable_lsn() < lsn {
        std::thread::yield_now();
    }
    drop(store);
    open_with(&env, threaded(100)).unwrap();
}
