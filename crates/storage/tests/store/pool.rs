//! The use of the pool's memory: scans against hot pages, loans, warm-up.

use super::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{
    PageClass, PageNo, RecoveryProgress, RecoveryStep, SegmentId, StorageError, Store, StoreOptions,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Makes a segment of `count` pages, on disk, each holding its position.
fn pages(store: &Store, count: usize) -> (SegmentId, Vec<PageNo>) {
    let (segment, _) = new_segment(store).unwrap();
    let mut pages = Vec::new();
    while pages.len() < count {
        let mut reservation = store.reserve(8, 1000).unwrap();
        let mut change = store.begin(&mut reservation, 8).unwrap();
        for _ in 0..8 {
            let slot = change.allocate(segment, PageClass::Leaf).unwrap();
            change.apply(slot, TEST, FORMAT, &(pages.len() as u64).to_le_bytes()).unwrap();
            pages.push(change.page_no(slot));
        }
        change.commit();
    }
    store.checkpoint().unwrap();
    (segment, pages)
}

fn touch(store: &Store, pages: &[PageNo]) {
    pages.iter().for_each(|page| assert_eq!(store.shared(*page).unwrap().page_no(), *page));
}

/// Reads the pages once, prefetching each batch before it is used, as scans do.
fn scan(store: &Store, pages: &[PageNo]) {
    for batch in pages.chunks(8) {
        store.prefetch(batch).unwrap();
        touch(store, batch);
    }
}

fn resident(store: &Store, pages: &[PageNo]) -> usize {
    pages.iter().filter(|page| store.is_resident(**page)).count()
}

#[test]
fn a_scan_many_times_the_pool_leaves_the_hot_pages_in_memory() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, options(200)).unwrap();
    let (segment, pages) = pages(&store, 2000);
    let (hot, cold) = pages.split_at(100);
    // The pages are used again and again, but not during the scan.
    (0..3).for_each(|_| touch(&store, hot));
    let before = load(&store.stats().page_reads);
    scan(&store, cold);
    let scanned = load(&store.stats().page_reads);
    assert!(scanned - before > 1700, "of {} pages, few of which were in memory", cold.len());
    assert_eq!(resident(&store, hot), hot.len());
    touch(&store, hot);
    assert_eq!(load(&store.stats().page_reads), scanned, "none was read again");
    assert_eq!(load(&store.stats().prefetched_kept), 0);
    let root = store.segments()[0].root;
    let in_memory = resident(&store, &pages) + resident(&store, &[root]);
    assert_eq!(store.resident_pages(segment), in_memory as u64);
}

#[test]
fn pages_that_were_read_ahead_and_are_used_again_later_stay() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, options(500)).unwrap();
    let (_, pages) = pages(&store, 4000);
    let (wanted, others) = pages.split_at(10);
    // First evict the hot pages.
    scan(&store, others);
    touch(&store, &others[1000..2000]);
    assert_eq!(resident(&store, wanted), 0);
    scan(&store, wanted);
    for part in others[..900].chunks(20) {
        scan(&store, part);
        touch(&store, wanted);
    }
    assert!(load(&store.stats().prefetched_kept) > 0);
    scan(&store, &others[2000..]);
    assert_eq!(resident(&store, wanted), wanted.len());
}

#[test]
fn changed_pages_on_probation_are_written_before_they_go() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, options(200)).unwrap();
    let (_, pages) = pages(&store, 600);
    for batch in pages.chunks(8) {
        store.prefetch(batch).unwrap();
        for page in batch {
            let mut reservation = store.reserve(0, 100).unwrap();
            let mut change = store.begin(&mut reservation, 0).unwrap();
            let slot = change.latch(*page).unwrap().unwrap();
            change.apply(slot, TEST, ADD, &add(3, 1000)).unwrap();
            change.commit();
        }
    }
    for (number, page) in pages.iter().enumerate() {
        assert_eq!(cell(&store.shared(*page).unwrap(), 3), number as u64 + 1000);
    }
}

#[test]
fn memory_that_is_lent_is_not_used_for_pages_and_comes_back() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, options(400)).unwrap();
    let (_, pages) = pages(&store, 1000);
    let cap = (400 * PAGE) as u64;
    let used = || {
        let stats = store.stats();
        load(&stats.pool_bytes)
    };
    touch(&store, &pages);
    let whole = used();
    assert!(whole <= cap && store.memory_lent() == 0);
    let limit = store.memory_limit();
    assert!(limit > cap * 2 / 5 && limit <= whole / 2);
    let mut loan = store.borrow_memory(300_000).unwrap();
    let second = store.borrow_memory(50_000).unwrap();
    assert_eq!((loan.bytes(), store.memory_lent()), (300_000, 350_000));
    assert!(used() + 350_000 <= cap, "{} for pages", used());
    touch(&store, &pages);
    assert!(resident(&store, &pages) * PAGE + 350_000 <= cap as usize);
    loan.grow(limit - 350_000).unwrap();
    touch(&store, &pages);
    match loan.grow(1) {
        Err(StorageError::MemoryExhausted { bytes: 1, lent, limit: at_most }) => {
            assert_eq!((lent, at_most), (limit, limit));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.memory_lent(), limit, "nothing was taken");
    new_segment(&store).unwrap();
    loan.shrink(limit - 400_000);
    assert!(used() + store.memory_lent() <= cap && used() > whole / 2);
    drop(loan);
    assert_eq!(store.memory_lent(), 50_000);
    drop(second);
    assert_eq!((store.memory_lent(), used()), (0, whole));
    touch(&store, &pages);
}

#[test]
fn the_smallest_pool_that_lends_all_it_can_still_works_with_pages() {
    let env = SimulatedEnv::new();
    let too_small = StoreOptions { buffer_pool_bytes: 1, ..options(100) };
    let Err(StorageError::PoolBelowMinimum { minimum, .. }) = open_with(&env, too_small).map(drop) else {
        panic!("a pool of one byte");
    };
    let smallest = || StoreOptions { buffer_pool_bytes: minimum, ..options(100) };
    let store = open_with(&env, smallest()).unwrap();
    let _loan = store.borrow_memory(store.memory_limit()).unwrap();
    // These are enough pages for the translation array to grow meanwhile.
    let (_, pages) = pages(&store, 3000);
    touch(&store, &pages);
    let (_, others) = self::pages(&store, 100);
    touch(&store, &others);
}

#[test]
fn memory_is_lent_and_given_back_by_many_threads_while_pages_come_and_go() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, StoreOptions { background: true, io_threads: 2, ..options(300) }).unwrap();
    let (_, pages) = pages(&store, 1000);
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (store, pages) = (&store, &pages);
            scope.spawn(move || {
                for round in 0..60 * scale() {
                    let from = (round * 37 + thread * 250) % 900;
                    match store.borrow_memory(((round * 7919) % 250_000) as u64) {
                        Ok(mut loan) => {
                            touch(store, &pages[from..from + 60]);
                            loan.shrink(loan.bytes() / 2);
                            scan(store, &pages[from..from + 40]);
                        }
                        Err(StorageError::MemoryExhausted { .. }) => touch(store, &pages[from..from + 10]),
                        Err(other) => panic!("{other}"),
                    }
                    assert!(load(&store.stats().pool_bytes) <= (300 * PAGE) as u64);
                }
            });
        }
    });
    assert_eq!(store.memory_lent(), 0);
}

fn with_threads(frames: usize) -> StoreOptions {
    StoreOptions { background: true, io_threads: 2, warm_up: true, ..options(frames) }
}

fn wait_until(what: &str, reached: impl Fn() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether most of the pages are in memory. The store's own thread, which keeps frames free, may have evicted
/// a few of them between their last use and the list that was written when the store was closed.
fn most_are_resident(store: &Store, pages: &[PageNo]) -> bool {
    resident(store, pages) >= pages.len() * 4 / 5
}

#[test]
fn pages_in_memory_when_the_store_was_closed_are_read_in_again() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, with_threads(400)).unwrap();
    let (_, pages) = pages(&store, 1000);
    // This evicts the pages that making them has left in memory.
    (0..2).for_each(|_| touch(&store, &pages[300..]));
    let hot = &pages[..50];
    (0..2).for_each(|_| touch(&store, hot));
    assert!(most_are_resident(&store, hot), "used last, and twice");
    store.close().unwrap();
    let store = open_with(&env, with_threads(400)).unwrap();
    assert_eq!(store.recovery_report().warm_up_ignored, None);
    wait_until("the hot pages were not read in", || {
        most_are_resident(&store, hot) && load(&store.stats().warmed_up) >= hot.len() as u64
    });
    assert!(load(&store.stats().evictions) == 0, "nothing makes room for them");
    store.close().unwrap();

    // A damaged list is ignored, and reported.
    env.damage("hot-pages", 16, &mut |bytes| bytes[0] ^= 1).unwrap();
    let store = open_with(&env, with_threads(400)).unwrap();
    let ignored = store.recovery_report().warm_up_ignored.clone();
    assert!(ignored.is_some_and(|reason| reason.contains("damaged")));
    store.close().unwrap();

    // Without `warm_up` no page is read.
    let store = open_with(&env, StoreOptions { warm_up: false, ..with_threads(400) }).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(load(&store.stats().warmed_up), 0);
}

#[test]
fn warm_up_leaves_out_pages_of_a_scan_if_the_pool_was_full_and_reads_all_pages_if_it_had_room() {
    for (frames, all) in [(250, false), (900, true)] {
        let env = SimulatedEnv::new();
        let store = open_with(&env, with_threads(500)).unwrap();
        let (_, pages) = pages(&store, 700);
        store.close().unwrap();
        let wanted = StoreOptions { warm_up: false, ..with_threads(frames) };
        open_with(&env, wanted).unwrap().close().unwrap();
        leafline_storage::Env::remove(&env, "hot-pages").unwrap();
        let store = open_with(&env, with_threads(frames)).unwrap();
        let (hot, scanned) = pages.split_at(40);
        (0..3).for_each(|_| touch(&store, hot));
        scan(&store, scanned);
        store.close().unwrap();
        let store = open_with(&env, with_threads(frames)).unwrap();
        wait_until("the hot pages were not read in", || most_are_resident(&store, hot));
        if all {
            wait_until("the others were not read in", || resident(&store, &pages) == pages.len());
        } else {
            // A page that the scan has read while others waited may have been used twice.
            let kept = resident(&store, scanned);
            assert!(kept < scanned.len() / 50, "{kept} pages of the scan");
        }
    }
}

#[test]
fn a_pool_that_became_smaller_is_warmed_up_as_far_as_it_goes() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, with_threads(500)).unwrap();
    let (_, pages) = pages(&store, 420);
    (0..2).for_each(|_| touch(&store, &pages));
    store.close().unwrap();
    let store = open_with(&env, with_threads(120)).unwrap();
    wait_until("nothing was read in", || load(&store.stats().warmed_up) > 20);
    touch(&store, &pages);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn recovery_says_how_it_gets_on() {
    let env = SimulatedEnv::new();
    let large = StoreOptions { log_capacity_bytes: 64 << 20, ..options(200) };
    let store = open_with(&env, large.clone()).unwrap();
    let (_, pages) = pages(&store, 400);
    for round in 0..300 {
        let mut reservation = store.reserve(0, 300 * 40).unwrap();
        let page = pages[round % 100];
        store.fault_in(page).unwrap();
        let mut change = store.begin(&mut reservation, 0).unwrap();
        let slot = change.latch(page).unwrap().unwrap();
        (0..300).for_each(|at| change.apply(slot, TEST, ADD, &add(at, 1)).unwrap());
        change.commit();
    }
    store.wait_durable(store.log_end()).unwrap();
    store.poison("to be recovered".into());
    drop(store);
    let steps = std::sync::Arc::new(Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&steps);
    let progress = RecoveryProgress::new(move |step| told.lock().unwrap().push(step));
    let store = open_with(&env, StoreOptions { recovery_progress: Some(progress), ..large }).unwrap();
    assert!(store.recovery_report().pages_changed >= 300);
    let steps = steps.lock().unwrap();
    assert!(matches!(steps.first(), Some(RecoveryStep::Read { .. })), "{steps:?}");
    let Some(RecoveryStep::Redo { done, total }) = steps.last() else { panic!("{steps:?}") };
    assert!(done == total && *total > 1 << 20 && steps.len() > 3, "{steps:?}");
}
