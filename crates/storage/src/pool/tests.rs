//! Tests of latches, guards and the clock with threads, without any I/O.

use super::BufferPool;
use super::guard::OwnedFrame;
use super::latch::Latch;
use super::optimistic::{Optimistic, OptimisticPage};
use crate::{Lsn, PageNo, SegmentId, StoreStats, page};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const PAGE: usize = 4096;

fn pool(frames: usize) -> Arc<BufferPool> {
    BufferPool::new((frames * PAGE) as u64, PAGE, Arc::new(StoreStats::default())).unwrap()
}

/// Makes `page` resident, filled with `byte` after the header.
fn fill(pool: &Arc<BufferPool>, page: PageNo, byte: u8) {
    let mut frames = pool.try_take(1).unwrap();
    let mut fault = pool.begin_fault(page, &mut frames).unwrap();
    let bytes = fault.frame_mut();
    bytes.fill(byte);
    page::initialise(bytes, page, crate::PageKind::LEAF, SegmentId(9));
    bytes[32..].fill(byte);
    page::seal(bytes);
    fault.finish(Ok(())).unwrap();
}

/// Returns how many pages with low numbers fit the empty pool.
fn fillable(pool: &Arc<BufferPool>) -> u64 {
    fill(pool, PageNo(0), 0);
    pool.purge(PageNo(0));
    pool.free_count() as u64
}

fn shared(pool: &BufferPool, page: PageNo) -> super::SharedGuard<'_> {
    match pool.shared(page) {
        Latch::Held(guard) => guard,
        Latch::NotResident => panic!("page {page} is not in memory"),
    }
}

fn exclusive(pool: &BufferPool, page: PageNo) -> super::ExclusiveGuard<'_> {
    match pool.exclusive(page) {
        Latch::Held(guard) => guard,
        Latch::NotResident => panic!("page {page} is not in memory"),
    }
}

#[test]
fn only_unchanged_pages_are_taken_and_that_is_no_use_of_them() {
    let pool = pool(100);
    let page = PageNo(3);
    fill(&pool, page, 1);
    pool.set_dirty(&exclusive(&pool, page), Lsn(5));
    assert!(pool.take_clean(page).is_none(), "a changed page was taken");
    pool.set_written(&shared(&pool, page), Lsn(0));
    let taken = pool.take_clean(page).expect("an unchanged page");
    assert!(!pool.is_resident(page) && pool.take_clean(page).is_none());
    taken
        .change_softly(Lsn(9), |bytes| -> Result<bool, ()> {
            Ok(bytes[100..].iter_mut().all(|byte| {
                *byte = 2;
                true
            }))
        })
        .unwrap();
    let seen = shared(&pool, page);
    assert!(page::is_soft(&seen) && seen.lsn() == Lsn(9) && seen[100] == 2);
    drop(seen);
    // Taken again while it is cooling, the page goes with the next round of the clock.
    let frame = shared(&pool, page).frame();
    pool.mark(frame.0 as usize);
    let taken = pool.take_clean(page).expect("a softly changed page");
    taken.change_softly(Lsn(10), |_| -> Result<bool, ()> { Ok(true) }).unwrap();
    let mut swept = super::clock::ClockSweep { evicted: 0, dirty: Vec::new() };
    pool.try_evict(frame.0 as usize, &mut swept);
    assert!(swept.evicted == 1 && !pool.is_resident(page));
    // A page that cannot be changed is evicted.
    fill(&pool, page, 1);
    let taken = pool.take_clean(page).expect("an unchanged page");
    taken.change_softly(Lsn(11), |_| Err(())).unwrap_err();
    assert!(!pool.is_resident(page));
}

#[test]
fn writers_exclude_each_other_and_readers_see_whole_changes() {
    let pool = pool(100);
    let pages = [PageNo(3), PageNo(4)];
    pages.iter().for_each(|page| fill(&pool, *page, 0));
    let stop = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for page in pages {
                        let guard = shared(&pool, page);
                        let first = guard[32];
                        assert!(guard[32..].iter().all(|byte| *byte == first), "a half-made change was read");
                    }
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        for page in pages {
                            let mut guard = exclusive(&pool, page);
                            let next = guard[32].wrapping_add(1);
                            guard[32..].fill(next);
                            written.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    let total = written.load(Ordering::Relaxed);
    assert_eq!(u64::from(shared(&pool, pages[0])[32]), total / 2 % 256);
}

#[test]
fn writer_gets_its_turn_while_readers_overlap_all_the_time() {
    let pool = pool(100);
    let page = PageNo(8);
    fill(&pool, page, 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // Each reader takes its next latch before it releases the last one, so without turns there would
                // never be a moment without readers. A reader must not wait for a latch while it holds one, so it
                // uses `try_shared`.
                let mut held = Some(shared(&pool, page));
                while !stop.load(Ordering::Relaxed) {
                    let next = pool.try_shared(page);
                    drop(held.take());
                    held = Some(next.unwrap_or_else(|| shared(&pool, page)));
                }
            });
        }
        for _ in 0..200 {
            exclusive(&pool, page)[40] ^= 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn many_shared_latches_at_once_wait_instead_of_overflowing() {
    let pool = pool(100);
    let page = PageNo(8);
    fill(&pool, page, 7);
    let inside = AtomicUsize::new(0);
    let held: Vec<_> = (0..super::word::MAX_SHARED).map(|_| shared(&pool, page)).collect();
    assert!(pool.try_shared(page).is_none());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let guard = shared(&pool, page);
                assert_eq!(guard[99], 7);
                inside.fetch_add(1, Ordering::SeqCst);
            });
        }
        assert_eq!(inside.load(Ordering::SeqCst), 0);
        drop(held);
    });
    assert_eq!(inside.load(Ordering::SeqCst), 4);
    drop(exclusive(&pool, page));
}

#[test]
fn waiters_for_a_page_that_is_freed_find_it_evicted() {
    let pool = pool(100);
    let page = PageNo(8);
    for _ in 0..200 {
        fill(&pool, page, 7);
        let guard = exclusive(&pool, page);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|index| {
                    let pool = &pool;
                    scope.spawn(move || match index {
                        0 => matches!(pool.shared(page), Latch::NotResident),
                        _ => matches!(pool.exclusive(page), Latch::NotResident),
                    })
                })
                .collect();
            std::thread::yield_now();
            guard.evict();
            assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
        });
    }
}

#[test]
fn failed_fault_leaves_the_page_evicted_and_its_waiters_free_to_try() {
    let pool = pool(100);
    let page = PageNo(70);
    let free = fillable(&pool) as usize;
    let mut frames = pool.try_take(1).unwrap();
    let fault = pool.begin_fault(page, &mut frames).unwrap();
    assert!(matches!(pool.shared(page), Latch::NotResident));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            pool.wait_for_fault(page);
            pool.is_resident(page)
        });
        fault.finish(Err(std::io::Error::other("broken"))).unwrap_err();
        assert!(!waiter.join().unwrap());
    });
    assert_eq!(pool.free_count(), free);
    fill(&pool, page, 1);
    assert_eq!(shared(&pool, page)[50], 1);
}

#[test]
fn page_changed_between_selection_and_eviction_stays() {
    let pool = pool(80);
    let free = fillable(&pool);
    (0..free).for_each(|page| fill(&pool, PageNo(page), page as u8));
    // Half of the pages are changed, and one is in use.
    (0..free / 2).for_each(|page| pool.set_dirty(&exclusive(&pool, PageNo(page)), Lsn(5)));
    let used = shared(&pool, PageNo(free - 1));
    let mut evicted = 0;
    for _ in 0..20 {
        let swept = pool.sweep(1000, 0);
        evicted += swept.evicted;
        assert!(swept.dirty.iter().all(|page| page.0 < free / 2), "a clean page was reported as changed");
    }
    assert_eq!(evicted as u64, free - free / 2 - 1);
    assert!((0..free / 2).all(|page| pool.is_resident(PageNo(page))));
    assert_eq!(used[100], (free - 1) as u8);
    assert_eq!(pool.dirty_pages().len() as u64, free / 2);
    drop(used);
    pool.set_written(&shared(&pool, PageNo(0)), Lsn(0));
    assert!(pool.evict_clean(PageNo(0)) && !pool.evict_clean(PageNo(1)));
}

#[test]
fn page_used_again_after_it_was_marked_survives_the_hand() {
    let pool = pool(200);
    let free = fillable(&pool);
    (0..free).for_each(|page| fill(&pool, PageNo(page), 0));
    let favourite = PageNo(free / 2);
    for _ in 0..3 * free {
        drop(shared(&pool, favourite));
        let swept = pool.sweep(1, 0);
        assert_eq!(swept.evicted, 1);
        assert!(pool.is_resident(favourite));
        // Put another page in its place.
        let absent = (0..free).map(PageNo).find(|page| !pool.is_resident(*page)).unwrap();
        fill(&pool, absent, 0);
    }
}

fn optimistic(pool: &BufferPool, page: PageNo) -> OptimisticPage<'_> {
    match pool.optimistic(page) {
        Optimistic::Page(read) => read,
        Optimistic::Latched => panic!("page {page} is latched"),
        Optimistic::NotResident => panic!("page {page} is not in memory"),
    }
}

#[test]
fn page_read_without_a_latch_survives_the_hand_and_its_word_is_written_for_nothing_else() {
    let pool = pool(200);
    let free = fillable(&pool);
    (0..free).for_each(|page| fill(&pool, PageNo(page), 5));
    let favourite = PageNo(free / 2);
    let word = pool.words.get(favourite).unwrap();
    let first = word.load(Ordering::SeqCst);
    let mut cooled = 0;
    for _ in 0..3 * free {
        cooled += u64::from(word.load(Ordering::SeqCst) != first);
        let read = optimistic(&pool, favourite);
        assert_eq!(read.word_at(40), 0x0505_0505_0505_0505);
        assert!(read.is_unchanged());
        assert_eq!(word.load(Ordering::SeqCst), first);
        assert_eq!(pool.sweep(1, 0).evicted, 1);
        assert!(read.is_unchanged());
        let absent = (0..free).map(PageNo).find(|page| !pool.is_resident(*page)).unwrap();
        fill(&pool, absent, 0);
    }
    assert!(cooled > 0, "the clock never came by");
}

#[test]
fn reads_without_latches_notice_writers_and_eviction() {
    let pool = pool(100);
    let page = PageNo(3);
    fill(&pool, page, 1);
    let read = optimistic(&pool, page);
    let beside = shared(&pool, page);
    assert!(read.is_unchanged() && optimistic(&pool, page).is_unchanged());
    drop(beside);
    assert!(read.is_unchanged());
    let mut guard = exclusive(&pool, page);
    assert!(!read.is_unchanged() && matches!(pool.optimistic(page), Optimistic::Latched));
    guard[50] = 2;
    drop(guard);
    assert!(!read.is_unchanged());
    let read = optimistic(&pool, page);
    pool.purge(page);
    assert!(!read.is_unchanged() && matches!(pool.optimistic(page), Optimistic::NotResident));
    fill(&pool, page, 1);
    assert!(!read.is_unchanged());
    // A torn page may give any offset.
    let read = optimistic(&pool, page);
    for at in [PAGE - 8, PAGE - 1, PAGE, PAGE + 13, usize::MAX] {
        let _ = read.word_at(at);
        read.prefetch(at);
    }
}

#[test]
fn reads_without_latches_see_whole_changes_while_pages_come_and_go() {
    let pool = pool(60);
    let free = fillable(&pool);
    // There are more pages than frames. The number in a page's words says which page it is, and which change.
    let pages = 2 * free;
    let make = |page: PageNo| {
        let Some(mut frames) = pool.try_take(1) else { return };
        let Some(mut fault) = pool.begin_fault(page, &mut frames) else { return };
        let bytes = fault.frame_mut();
        bytes.fill(0);
        page::initialise(bytes, page, crate::PageKind::LEAF, SegmentId(9));
        bytes[32..].chunks_mut(8).for_each(|word| word.copy_from_slice(&page.0.to_le_bytes()));
        page::seal(bytes);
        fault.finish(Ok(())).unwrap();
    };
    let (stop, believed, doubted) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (pool, stop, believed, doubted) = (&pool, &stop, &believed, &doubted);
            scope.spawn(move || {
                let mut number = reader;
                while !stop.load(Ordering::Relaxed) {
                    number = (number * 5 + 3) % pages;
                    let Optimistic::Page(read) = pool.optimistic(PageNo(number)) else { continue };
                    let first = read.word_at(32);
                    let same = (32..PAGE).step_by(8).all(|at| read.word_at(at) == first);
                    if read.is_unchanged() {
                        assert!(same, "a mixture of two states was believed");
                        assert_eq!(first % 65536, number, "another page was believed");
                        believed.fetch_add(1, Ordering::Relaxed);
                    } else {
                        doubted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let workers: Vec<_> = (0..2u64)
            .map(|worker| {
                let (pool, make, believed) = (&pool, &make, &believed);
                scope.spawn(move || {
                    let mut number = worker;
                    let mut rounds = 0;
                    // Go on until the readers had their share.
                    while rounds < 4000 || (believed.load(Ordering::Relaxed) < 1000 && rounds < 100_000) {
                        rounds += 1;
                        number = (number * 5 + 7) % pages;
                        make(PageNo(number));
                        if let Latch::Held(mut guard) = pool.exclusive(PageNo(number)) {
                            // Change the page many times, so that readers meet a change.
                            for _ in 0..30 {
                                let mut word = [0; 8];
                                word.copy_from_slice(&guard[32..40]);
                                let next = (u64::from_le_bytes(word) + 65536).to_le_bytes();
                                guard[32..].chunks_mut(8).for_each(|word| word.copy_from_slice(&next));
                            }
                        }
                        pool.sweep(1, 0);
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    println!("{} reads believed, {} not", believed.into_inner(), doubted.into_inner());
}

#[test]
fn translation_of_far_pages_is_paid_for_with_frames() {
    let pool = pool(400);
    let cap = 400 * PAGE;
    assert!(pool.memory() <= cap);
    for index in 0..60u64 {
        let page = PageNo(index * 2048 * 7);
        fill(&pool, page, 3);
        assert!(pool.memory() <= cap, "{} bytes used of {cap}", pool.memory());
    }
}

#[test]
fn claimed_page_takes_over_the_frame_of_its_former_life() {
    let pool = pool(100);
    let page = PageNo(12);
    fill(&pool, page, 7);
    let mut frames: Vec<OwnedFrame> = pool.try_take(2).unwrap();
    let reader = shared(&pool, page);
    assert!(pool.claim(page, SegmentId(1), &mut frames).is_none());
    drop(reader);
    assert_eq!((pool.resident_pages(SegmentId(9)), frames.len()), (1, 2));
    drop(pool.claim(page, SegmentId(1), &mut frames).unwrap());
    assert_eq!(
        (pool.resident_pages(SegmentId(9)), pool.resident_pages(SegmentId(1)), frames.len()),
        (0, 1, 2)
    );
    drop(pool.claim(PageNo(13), SegmentId(1), &mut frames).unwrap());
    assert_eq!((pool.resident_pages(SegmentId(1)), frames.len()), (2, 1));
    pool.purge(page);
    assert_eq!(pool.resident_pages(SegmentId(1)), 1);
}

#[test]
fn pools_too_small_or_too_large_are_refused() {
    let stats = || Arc::new(StoreStats::default());
    assert!(matches!(
        BufferPool::new(30 * 4096, PAGE, stats()),
        Err(crate::StorageError::PoolBelowMinimum { .. })
    ));
    assert!(matches!(BufferPool::new(1 << 41, PAGE, stats()), Err(crate::StorageError::TooLarge { .. })));
}
