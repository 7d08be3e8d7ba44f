//! Group commit: waiting, failures, and many threads at once.

use super::*;
use crate::device::{File, OpenMode, Operation};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn one_sync_serves_all_that_were_appended_before_it() {
    let env = SimulatedEnv::new();
    let (log, _) = create(&env);
    let groups: Vec<Group> = (0..10).map(|i| append(&log, 1, &[i]).unwrap()).collect();
    let before = log.counts();
    for group in &groups {
        log.wait_durable(group.range.end).unwrap();
    }
    assert_eq!(log.counts().syncs - before.syncs, 1);
    assert_eq!(log.counts().writes - before.writes, 1);
}

/// The end of a file is synced while an earlier sync is under way; some of the gathering threads need no more than that.
#[test]
fn gathering_threads_are_counted_even_if_the_end_of_a_file_serves_them() {
    let env = SimulatedEnv::new();
    let (log, _) = create(&env);
    let group = append(&log, 1, b"a group").unwrap();
    let mut state = log.inner.state.lock();
    let (other, gathering) = (Arc::default(), Arc::clone(&state.gathering));
    state.syncing.push_back(flush::Sync { covers: Lsn(0), cohort: other, serves: 1, done: false });
    state.syncing.push_back(flush::Sync {
        covers: group.range.end,
        cohort: gathering,
        serves: 0,
        done: true,
    });
    let cohort = state.join(group.range.end);
    assert!(Arc::ptr_eq(&cohort, &state.gathering));
    assert_eq!(state.gathered, 1);
}

#[test]
fn each_policy_waits_for_what_it_says() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let before = env.counts();
    let group = append(&log, 1, b"every second").unwrap();
    log.commit(group.range.end, FlushPolicy::EverySecond).unwrap();
    assert_eq!(env.counts(), before, "nothing is written");
    log.commit(group.range.end, FlushPolicy::WriteEachCommit).unwrap();
    assert_eq!(env.counts().writes, before.writes + 1);
    assert_eq!(env.counts().syncs, before.syncs, "written, not synced");
    assert!(log.durable() < group.range.end);
    assert_eq!(
        read_all(&env.snapshot(), start).unwrap().0,
        std::slice::from_ref(&group),
        "survives the process"
    );
    log.tick().unwrap();
    assert_eq!(env.counts().syncs, before.syncs + 1);
    assert_eq!(log.durable(), group.range.end);
    log.tick().unwrap();
    assert_eq!(env.counts().syncs, before.syncs + 1, "nothing to do");
    let group = append(&log, 1, b"each commit").unwrap();
    log.commit(group.range.end, FlushPolicy::EachCommit).unwrap();
    env.cut(5);
    assert_eq!(read_all(&env, start).unwrap().0.last(), Some(&group));
}

#[test]
fn throttle_writes_only_when_the_buffer_is_over_its_limit() {
    let env = SimulatedEnv::new();
    let (log, _) = create(&env);
    let before = env.counts().writes;
    append(&log, 1, &vec![1; SMALL.buffer_bytes / 2]).unwrap();
    log.throttle().unwrap();
    assert_eq!(env.counts().writes, before);
    append(&log, 1, &vec![1; SMALL.buffer_bytes / 2]).unwrap();
    log.throttle().unwrap();
    assert_eq!(env.counts().writes, before + 1);
}

/// Asserts that every call of a stopped log says why it stopped.
fn assert_stopped(log: &Log, reservation: &mut LogReservation, why: &str) {
    let results = [
        log.append(reservation, 1, &[b"x"]).map(drop),
        log.wait_durable(Lsn(1000)),
        log.commit(Lsn(1000), FlushPolicy::EverySecond),
        log.throttle(),
        log.tick(),
        log.try_reserve(1).map(drop),
        log.reserve(1).map(drop),
        log.position_of(Lsn(1000)).map(drop),
        log.truncate_before(LogPosition { sequence: 1, offset: 0, lsn: Lsn(1000) }),
    ];
    for result in results {
        match result {
            Err(StorageError::Poisoned { why: said }) => assert!(said.contains(why), "{said}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_failed_write_or_sync_stops_the_log_for_good() {
    for failing in [Operation::Write, Operation::Sync] {
        let env = SimulatedEnv::new();
        let (log, start) = create(&env);
        let first = commit(&log, 1, b"before");
        let mut reservation = log.reserve(100).unwrap();
        env.set_fault(Some(Arc::new(move |operation, _, _| operation == failing)));
        let second = append(&log, 1, b"during").unwrap();
        assert!(matches!(log.wait_durable(second.range.end), Err(StorageError::Poisoned { .. })));
        env.set_fault(None);
        assert_stopped(&log, &mut reservation, "wal/1.log");
        env.cut(0);
        assert_eq!(read_all(&env, start).unwrap().0, [first]);
    }
}

#[test]
fn poisoning_from_outside_keeps_the_first_reason() {
    let (log, _) = create(&SimulatedEnv::new());
    let mut reservation = log.reserve(100).unwrap();
    log.poison("a page could not be written".to_owned());
    log.poison("later".to_owned());
    assert_stopped(&log, &mut reservation, "a page could not be written");
}

#[test]
fn many_threads_append_and_commit_while_checkpoints_go_on() {
    const THREADS: usize = 6;
    let commits = 300 * scale() as usize;
    let env = SimulatedEnv::new();
    let options = LogOptions { capacity: 1 << 20, ..SMALL };
    let (log, start) = Log::create(&shared(&env), options, Lsn(1000)).unwrap();
    let done = AtomicBool::new(false);
    let (mut position, mut groups) = (start, Vec::new());
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let log = log.clone();
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(thread as u64);
                    let mut groups = Vec::new();
                    for _ in 0..commits {
                        log.throttle().unwrap();
                        let payload = random_payload(&mut random, 20_000);
                        let reservation = log.reserve(Log::group_bytes(payload.len())).unwrap();
                        let group = append_reserved(&log, reservation, thread as u8, &payload).unwrap();
                        log.wait_durable(group.range.end).unwrap();
                        assert!(log.durable() >= group.range.end);
                        groups.push(group);
                    }
                    groups
                })
            })
            .collect();
        let checkpointer = scope.spawn(|| {
            let mut position = start;
            while !done.load(Ordering::Acquire) {
                if log.space().waiting > 0 {
                    position = log.position_of(log.durable()).unwrap();
                    log.truncate_before(position).unwrap();
                }
                std::thread::yield_now();
            }
            position
        });
        for writer in writers {
            groups.extend(writer.join().unwrap());
        }
        done.store(true, Ordering::Release);
        position = checkpointer.join().unwrap();
    });
    assert!(position.sequence > start.sequence, "the files have been recycled");
    groups.sort_by_key(|group| group.range.start);
    for pair in groups.windows(2) {
        assert_eq!(pair[0].range.end, pair[1].range.start);
    }
    groups.retain(|group| group.range.start >= position.lsn);
    let space = log.space();
    assert_eq!((space.reserved, space.waiting), (0, 0), "all was given back");
    drop(log);
    env.cut(1);
    assert!(read_all(&env, position).unwrap().0 == groups);
}

/// A gate that syncs wait at.
trait Gate: Send + Sync + 'static {
    fn pass(&self);
}

/// A gate that lets a sync end only once another has begun. If syncs took turns, none would ever end.
#[derive(Default)]
struct Pairs {
    armed: AtomicBool,
    begun: parking_lot::Mutex<u32>,
    another: parking_lot::Condvar,
    alone: AtomicBool,
}

impl Gate for Pairs {
    fn pass(&self) {
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        let mut begun = self.begun.lock();
        *begun += 1;
        self.another.notify_all();
        let pair = begun.next_multiple_of(2);
        while *begun < pair {
            if self.another.wait_for(&mut begun, std::time::Duration::from_secs(20)).timed_out() {
                self.alone.store(true, Ordering::SeqCst);
                return;
            }
        }
    }
}

/// A gate that lets syncs end in the order in which they began, one each time it is opened.
#[derive(Default)]
struct Turnstile {
    begun: AtomicUsize,
    passed: parking_lot::Mutex<usize>,
    moved: parking_lot::Condvar,
}

impl Turnstile {
    fn let_through(&self, syncs: usize) {
        *self.passed.lock() += syncs;
        self.moved.notify_all();
    }
}

impl Gate for Turnstile {
    fn pass(&self) {
        let turn = self.begun.fetch_add(1, Ordering::SeqCst);
        let mut passed = self.passed.lock();
        while *passed <= turn {
            self.moved.wait(&mut passed);
        }
    }
}

struct GatedFile(Arc<dyn File>, Arc<dyn Gate>);

impl File for GatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buf, offset)
    }
    fn read_vectored_at(&self, bufs: &mut [io::IoSliceMut<'_>], offset: u64) -> io::Result<()> {
        self.0.read_vectored_at(bufs, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn write_vectored_at(&self, bufs: &[io::IoSlice<'_>], offset: u64) -> io::Result<()> {
        self.0.write_vectored_at(bufs, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()> {
        self.0.allocate_range(from, to)
    }

    fn punch(&self, from: u64, to: u64) -> io::Result<()> {
        self.0.punch(from, to)
    }

    fn allocated(&self) -> io::Result<u64> {
        self.0.allocated()
    }
    fn truncate(&self, to: u64) -> io::Result<()> {
        self.0.truncate(to)
    }
}

struct GatedEnv(SimulatedEnv, Arc<dyn Gate>);

impl Env for GatedEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(GatedFile(self.0.open(name, mode)?, Arc::clone(&self.1))))
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        self.0.exists(name)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn remove_dir(&self, name: &str) -> io::Result<()> {
        self.0.remove_dir(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.0.sync_dir(dir)
    }
    fn create_dir(&self, name: &str) -> io::Result<()> {
        self.0.create_dir(name)
    }
    fn lock(&self) -> io::Result<crate::LockGuard> {
        self.0.lock()
    }
    fn direct_io(&self) -> bool {
        self.0.direct_io()
    }
}

#[test]
fn a_commit_that_comes_during_a_sync_is_written_and_synced_without_waiting_for_its_end() {
    let (env, pairs) = (SimulatedEnv::new(), Arc::new(Pairs::default()));
    let paired: Arc<dyn Env> = Arc::new(GatedEnv(env.clone(), Arc::clone(&pairs) as Arc<dyn Gate>));
    let options = LogOptions { capacity: 1 << 20, ..SMALL };
    let (log, start) = Log::create(&paired, options, Lsn(1000)).unwrap();
    pairs.armed.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| commit(&log, 1, &[1; 100]));
        while *pairs.begun.lock() == 0 {
            std::thread::yield_now();
        }
        commit(&log, 1, &[2; 100]);
        first.join().unwrap();
    });
    assert!(!pairs.alone.load(Ordering::SeqCst), "the second waited for the sync of the first");
    assert_eq!(log.counts().syncs, 2);
    pairs.armed.store(false, Ordering::SeqCst);
    drop(log);
    env.cut(1);
    assert_eq!(read_all(&env, start).unwrap().0.len(), 2);
}

#[test]
fn commits_that_come_while_more_are_being_synced_wait_for_each_other() {
    let (env, turnstile) = (SimulatedEnv::new(), Arc::new(Turnstile::default()));
    let gated: Arc<dyn Env> = Arc::new(GatedEnv(env, Arc::clone(&turnstile) as Arc<dyn Gate>));
    turnstile.let_through(1_000);
    let (log, _) = Log::create(&gated, SMALL, Lsn(1000)).unwrap();
    let before = turnstile.begun.load(Ordering::SeqCst);
    *turnstile.passed.lock() = before;
    std::thread::scope(|scope| {
        let commit = || drop(scope.spawn(|| commit(&log, 1, &[1; 100])));
        let waiting = |threads: usize, syncs: usize| {
            while (log.inner.state.lock().gathered, turnstile.begun.load(Ordering::SeqCst))
                != (threads, before + syncs)
            {
                std::thread::yield_now();
            }
        };
        for syncs in 1..=2 {
            commit();
            waiting(0, syncs);
        }
        for threads in 1..=2 {
            commit();
            waiting(threads, 2);
        }
        turnstile.let_through(1);
        waiting(0, 3);
        turnstile.let_through(1);
        while log.inner.state.lock().syncing.len() > 1 {
            std::thread::yield_now();
        }
        // One sync is under way, for two threads. A fifth commit waits for company.
        commit();
        waiting(1, 3);
        commit();
        waiting(0, 4);
        turnstile.let_through(1_000);
    });
    assert_eq!(turnstile.begun.load(Ordering::SeqCst), before + 4);
}

#[test]
fn if_one_of_two_concurrent_syncs_fails_neither_acknowledges_lost_data() {
    for seed in 0..100 {
        let (env, pairs) = (SimulatedEnv::new(), Arc::new(Pairs::default()));
        let paired: Arc<dyn Env> = Arc::new(GatedEnv(env.clone(), Arc::clone(&pairs) as Arc<dyn Gate>));
        let (log, start) = Log::create(&paired, SMALL, Lsn(1000)).unwrap();
        pairs.armed.store(true, Ordering::SeqCst);
        // As on Linux, one caller learns of a failed sync, and the next sync succeeds without the data.
        let failed = AtomicBool::new(false);
        env.set_fault(Some(Arc::new(move |operation, _, _| {
            operation == Operation::Sync && !failed.swap(true, Ordering::SeqCst)
        })));
        let acknowledged = std::thread::scope(|scope| {
            let commit = |kind: u8| {
                let group = append(&log, kind, &[kind; 100]).ok()?;
                log.wait_durable(group.range.end).ok().map(|()| kind)
            };
            let first = scope.spawn(move || commit(1));
            while *pairs.begun.lock() == 0 {
                std::thread::yield_now();
            }
            let second = commit(2);
            [first.join().unwrap(), second]
        });
        drop(log);
        env.set_fault(None);
        env.cut(seed);
        let (found, _) = read_all(&env, start).unwrap();
        for kind in acknowledged.into_iter().flatten() {
            assert!(found.iter().any(|group| group.kind == kind), "seed {seed}: commit {kind} is lost");
        }
    }
}
