//! Checks the pool's protocol with a model checker, which tries every order of every atomic access that the memory
//! model allows.
//!
//! Run it by `RUSTFLAGS="--cfg loom" cargo test --release -p leafline-storage --lib --target-dir target/loom
//! pool::model`; `.ci/run` does. The pool is the real one, with few frames and small tables. Loom cannot see the
//! arena's bytes, so words that loom watches model the content of the frames ([`Contents`]). Each model has two or
//! three threads and one thing that must never be seen. [`PREEMPTIONS`] bounds how often a thread is interrupted
//! where it need not be (`LOOM_MAX_PREEMPTIONS` sets another bound).

use super::BufferPool;
use super::guard::ExclusiveGuard;
use super::latch::Latch;
use super::optimistic::{Optimistic, OptimisticPage};
use crate::{Lsn, PageNo, SegmentId, StoreStats};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

const PAGE: usize = 4096;
const PREEMPTIONS: usize = 3;

/// The content of the frames, two words each. Like bytes, they are written under the exclusive latch or by the thread
/// that reads the page in.
struct Contents(Vec<[AtomicU64; 2]>);

impl Contents {
    fn write(&self, frame: usize, first: u64, second: u64) {
        self.0[frame][0].store(first, Ordering::Relaxed);
        self.0[frame][1].store(second, Ordering::Relaxed);
    }

    fn read(&self, frame: usize) -> (u64, u64) {
        (self.0[frame][0].load(Ordering::Relaxed), self.0[frame][1].load(Ordering::Relaxed))
    }
}

struct World {
    pool: Arc<BufferPool>,
    contents: Contents,
}

impl World {
    /// Makes a pool of `frames` frames.
    fn new(frames: usize) -> Arc<World> {
        let stats = Arc::new(StoreStats::default());
        // One more frame pays for the translation array.
        let pool = BufferPool::new(((frames + 1) * PAGE) as u64, PAGE, stats).expect("a pool");
        assert_eq!(pool.free_count(), frames);
        let words = || [AtomicU64::new(0), AtomicU64::new(0)];
        let contents = Contents((0..pool.frame_count()).map(|_| words()).collect());
        Arc::new(World { pool, contents })
    }

    /// Reads the page in with `value` in both its words, if it is evicted and a frame is free.
    fn fault_in(&self, page: u64, value: u64) -> bool {
        self.fault_in_as(page, || value)
    }

    /// Reads the page in like [`fault_in`](Self::fault_in), but asks for `value` once no other thread can touch the
    /// page.
    fn fault_in_as(&self, page: u64, value: impl Fn() -> u64) -> bool {
        let Some(mut frames) = self.pool.try_take(1) else { return false };
        let Some(mut fault) = self.pool.begin_fault(PageNo(page), &mut frames) else { return false };
        fault.frame_mut().fill(0);
        let value = value();
        self.contents.write(fault.frame_number(), value, value);
        fault.publish();
        true
    }

    fn exclusive(&self, page: u64) -> Option<ExclusiveGuard<'_>> {
        match self.pool.exclusive(PageNo(page)) {
            Latch::Held(guard) => Some(guard),
            Latch::NotResident => None,
        }
    }

    /// Changes both words.
    fn change(&self, guard: &ExclusiveGuard<'_>, first: u64, second: u64) {
        self.contents.write(guard.frame().0 as usize, first, second);
    }

    /// Returns both words, read under a shared latch.
    fn shared(&self, page: u64) -> Option<(u64, u64)> {
        match self.pool.shared(PageNo(page)) {
            Latch::Held(guard) => Some(self.contents.read(guard.frame().0 as usize)),
            Latch::NotResident => None,
        }
    }

    fn begin(&self, page: u64) -> Option<OptimisticPage<'_>> {
        match self.pool.optimistic(PageNo(page)) {
            Optimistic::Page(page) => Some(page),
            _ => None,
        }
    }

    /// Returns both words, read without a latch, if the read was valid.
    fn optimistic(&self, page: u64) -> Option<(u64, u64)> {
        let page = self.begin(page)?;
        let words = self.contents.read(page.frame_number());
        page.is_unchanged().then_some(words)
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    builder.max_branches = 20_000;
    builder.check(model);
}

fn spawn(world: &Arc<World>, run: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = Arc::clone(world);
    thread::spawn(move || run(&world))
}

#[test]
fn readers_with_and_without_latches_see_whole_changes() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 7);
        let writer = spawn(&world, |world| {
            let guard = world.exclusive(1).expect("in memory");
            world.change(&guard, 8, 8);
        });
        let reader = spawn(&world, |world| {
            let (first, second) = world.shared(1).expect("in memory");
            assert_eq!(first, second, "a shared latch beside a writer");
        });
        if let Some((first, second)) = world.optimistic(1) {
            assert_eq!(first, second, "half a change was believed");
        }
        writer.join().expect("a writer");
        reader.join().expect("a reader");
        assert_eq!(world.optimistic(1), Some((8, 8)));
    });
}

#[test]
fn writers_exclude_each_other_and_waiters_are_woken() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 0);
        let add = |world: &World| {
            let guard = world.exclusive(1).expect("in memory");
            let (first, second) = world.contents.read(guard.frame().0 as usize);
            world.change(&guard, first + 1, second + 1);
        };
        let writers = [spawn(&world, add), spawn(&world, add)];
        // Loom reports a thread that sleeps for ever.
        let (first, second) = world.shared(1).expect("in memory");
        assert_eq!(first, second);
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        assert_eq!(world.shared(1), Some((2, 2)));
    });
}

#[test]
fn a_page_read_without_a_latch_is_that_page_even_if_another_has_its_frame() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 1);
        let clock = spawn(&world, |world| {
            // This thread marks the page, then evicts it, and another page comes into the one frame.
            if world.pool.sweep(1, 0).evicted == 1 {
                assert!(world.fault_in(2, 2));
            }
        });
        if let Some(words) = world.optimistic(1) {
            assert_eq!(words, (1, 1), "another page was believed to be this one");
        }
        clock.join().expect("the clock");
    });
}

#[test]
fn a_latched_page_stays_and_its_frame_with_it() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 1);
        let clock = spawn(&world, |world| {
            if world.pool.sweep(1, 0).evicted == 1 {
                assert!(world.fault_in(2, 2));
            }
        });
        if let Some(words) = world.shared(1) {
            assert_eq!(words, (1, 1), "a page was evicted under its latch");
        }
        clock.join().expect("the clock");
    });
}

#[test]
fn a_page_changed_while_it_is_being_evicted_is_not_lost() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 1);
        let clock = spawn(&world, |world| {
            world.pool.sweep(1, 0);
        });
        let changed = world.exclusive(1).map(|guard| {
            world.pool.set_dirty(&guard, Lsn(5));
            world.change(&guard, 2, 2);
        });
        clock.join().expect("the clock");
        if changed.is_some() {
            assert_eq!(world.shared(1), Some((2, 2)), "a change was evicted before it was written");
        }
    });
}

#[test]
fn two_threads_that_need_a_page_read_it_in_once() {
    check(|| {
        let world = World::new(2);
        // The chunk of the translation array exists already.
        assert!(!world.pool.is_resident(PageNo(1)) && world.pool.word_or_create(PageNo(1)).is_some());
        let need = |world: &World| {
            loop {
                match world.shared(1) {
                    Some((first, second)) => {
                        assert!(first == second && (first == 3 || first == 4));
                        return;
                    }
                    None if world.fault_in(1, 3) => {}
                    None => world.pool.wait_for_fault(PageNo(1)),
                }
            }
        };
        let other = spawn(&world, need);
        need(&world);
        other.join().expect("the other");
        assert_eq!((world.shared(1), world.pool.free_count()), (Some((3, 3)), 1));
    });
}

#[test]
fn a_page_freed_while_threads_wait_for_it_is_evicted_for_them() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 1);
        let freer = spawn(&world, |world| world.exclusive(1).expect("in memory").evict());
        if let Some(words) = world.shared(1) {
            assert_eq!(words, (1, 1));
        }
        freer.join().expect("who freed it");
        assert_eq!((world.shared(1), world.pool.free_count()), (None, 1));
    });
}

/// Pages of the models of a tree: a parent and two leaves. The words of the parent are the leaf for the low key and
/// the leaf for the high key. The words of a leaf are the low key or 0, and the high key or 0.
const PARENT: u64 = 1;
const LEFT: u64 = 2;
const RIGHT: u64 = 3;
const LOW: u64 = 10;
const HIGH: u64 = 20;

/// Finds the high key as `btree::optimistic` does. Returns `None` where that would begin again.
fn find_high(world: &World) -> Option<bool> {
    let parent = world.begin(PARENT)?;
    let (_, child) = world.contents.read(parent.frame_number());
    if !parent.is_unchanged() {
        return None;
    }
    let leaf = world.begin(child)?;
    if !parent.is_unchanged() {
        return None;
    }
    let (_, high) = world.contents.read(leaf.frame_number());
    leaf.is_unchanged().then_some(high == HIGH)
}

/// Finds the high key with the leaf latched, as `btree::descend` does. Returns `None` where that would begin again.
fn find_high_latched(world: &World) -> Option<bool> {
    let parent = world.begin(PARENT)?;
    let (_, child) = world.contents.read(parent.frame_number());
    if !parent.is_unchanged() {
        return None;
    }
    let Latch::Held(leaf) = world.pool.shared(PageNo(child)) else { return None };
    if !parent.is_unchanged() {
        return None;
    }
    Some(world.contents.read(leaf.frame().0 as usize).1 == HIGH)
}

/// Splits the left leaf: latches the parent and the left leaf, moves the high key to a new page, and tells the
/// parent.
fn split(world: &World) {
    let parent = world.exclusive(PARENT).expect("in memory");
    let left = world.exclusive(LEFT).expect("in memory");
    let mut frames = world.pool.try_take(1).expect("a frame");
    let right = world.pool.claim(PageNo(RIGHT), SegmentId(1), &mut frames).expect("a free page");
    world.change(&right, 0, HIGH);
    world.change(&left, LOW, 0);
    world.change(&parent, LEFT, RIGHT);
}

#[test]
fn a_descent_finds_what_a_split_moves() {
    check(|| {
        let world = World::new(3);
        for page in [PARENT, LEFT] {
            world.fault_in(page, 0);
        }
        world.change(&world.exclusive(PARENT).expect("in memory"), LEFT, LEFT);
        world.change(&world.exclusive(LEFT).expect("in memory"), LOW, HIGH);
        let writer = spawn(&world, split);
        assert_ne!(find_high(&world), Some(false), "a key was missed beside a split");
        assert_ne!(find_high_latched(&world), Some(false), "a key was missed beside a split");
        writer.join().expect("a writer");
        assert_eq!(find_high(&world), Some(true));
    });
}

#[test]
fn a_descent_finds_what_a_merge_moves_though_the_page_is_used_anew() {
    check(|| {
        let world = World::new(3);
        for page in [PARENT, LEFT, RIGHT] {
            world.fault_in(page, 0);
        }
        world.change(&world.exclusive(PARENT).expect("in memory"), LEFT, RIGHT);
        world.change(&world.exclusive(LEFT).expect("in memory"), LOW, 0);
        world.change(&world.exclusive(RIGHT).expect("in memory"), 0, HIGH);
        let writer = spawn(&world, |world| {
            let parent = world.exclusive(PARENT).expect("in memory");
            let left = world.exclusive(LEFT).expect("in memory");
            let right = world.exclusive(RIGHT).expect("in memory");
            world.change(&left, LOW, HIGH);
            world.change(&parent, LEFT, LEFT);
            right.evict();
            drop((left, parent));
            // A page of another tree comes into the frame.
            assert!(world.fault_in(RIGHT, 0));
        });
        assert_ne!(find_high(&world), Some(false), "a key was missed beside a merge");
        assert_ne!(find_high_latched(&world), Some(false), "a key was missed beside a merge");
        writer.join().expect("a writer");
        assert_eq!(find_high(&world), Some(true));
    });
}

#[test]
fn a_page_that_is_taken_is_not_seen_before_it_is_given_back() {
    check(|| {
        let world = World::new(1);
        world.fault_in(1, 7);
        let taker = spawn(&world, |world| {
            let Some(taken) = world.pool.take_clean(PageNo(1)) else { return };
            let frame = taken.frame_number();
            world.contents.write(frame, 8, 7);
            world.contents.write(frame, 8, 8);
            taken.publish();
        });
        let writer = spawn(&world, |world| {
            let Some(guard) = world.exclusive(1) else { return };
            let (first, second) = world.contents.read(guard.frame().0 as usize);
            assert_eq!(first, second, "taken under an exclusive latch");
        });
        if let Some((first, second)) = world.optimistic(1) {
            assert_eq!(first, second, "a page was read that somebody had taken");
        }
        if let Some((first, second)) = world.shared(1) {
            assert_eq!(first, second, "a page was latched that somebody had taken");
        }
        taker.join().expect("who took it");
        writer.join().expect("a writer");
        assert_eq!(world.shared(1), Some((8, 8)));
    });
}

#[test]
fn a_change_kept_for_an_evicted_page_is_made_by_the_thread_that_reads_it_in() {
    check(|| {
        let world = World::new(1);
        // The page needs a word in the translation array.
        world.fault_in(1, 7);
        world.pool.purge(PageNo(1));
        let kept = Arc::new(AtomicU64::new(0));
        let (keeper, reader) = (Arc::clone(&kept), Arc::clone(&kept));
        let writer = spawn(&world, move |world| match world.pool.hold(PageNo(1)) {
            Some(held) => {
                keeper.store(1, Ordering::Relaxed);
                drop(held);
            }
            None => {
                let guard = world.exclusive(1).expect("in memory, as it is not evicted");
                world.change(&guard, 8, 8);
            }
        });
        let reader = spawn(&world, move |world| {
            world.fault_in_as(1, || 7 + reader.load(Ordering::Relaxed));
            if let Some((first, second)) = world.optimistic(1) {
                assert_eq!(first, second);
            }
        });
        writer.join().expect("the writer");
        reader.join().expect("the reader");
        match world.shared(1) {
            Some(words) => assert_eq!(words, (8, 8), "a page in memory lacks nothing"),
            None => assert_eq!(kept.load(Ordering::Relaxed), 1),
        }
    });
}
