//! Checks group commit with a model checker: every waiting thread is woken, in every order of the threads.
//!
//! Run it by `RUSTFLAGS="--cfg loom" cargo test --release -p leafline-storage --lib --target-dir target/loom -- log::model`; `.ci/run` does. The log
//! is the real one, on the simulated device; its locks, conditions and atomics are loom's. A waiter that nobody wakes is a deadlock, which loom
//! reports. [`PREEMPTIONS`] bounds how often a thread is interrupted where it need not be (`LOOM_MAX_PREEMPTIONS` sets another bound).

use super::*;
use crate::device::{Env, Operation, SimulatedEnv};
use crate::error::{Result, StorageError};
use crate::ids::Lsn;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PREEMPTIONS: usize = 2;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Makes the smallest log: 4 files of 64 KiB.
fn create() -> (SimulatedEnv, Log) {
    let env = SimulatedEnv::new();
    let options = LogOptions { capacity: 0, buffer_bytes: 1 << 10, database_id: 42 };
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let (log, _) = Log::create(&shared, options, Lsn(1000)).expect("a log");
    (env, log)
}

fn append(log: &Log, bytes: usize) -> Result<Lsn> {
    let mut reservation = log.reserve_beyond_limit(bytes as u64)?;
    Ok(log.append(&mut reservation, 1, &[&vec![7; bytes]])?.end)
}

/// Appends a group and waits until it is durable.
fn commit(log: &Log, bytes: usize) -> Result<()> {
    let end = append(log, bytes)?;
    log.commit(end, FlushPolicy::EachCommit)?;
    assert!(log.durable() >= end);
    Ok(())
}

fn spawn<T: 'static>(log: &Log, run: impl FnOnce(&Log) -> T + 'static) -> thread::JoinHandle<T> {
    let log = log.clone();
    thread::spawn(move || run(&log))
}

fn join<T>(threads: impl IntoIterator<Item = thread::JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

#[test]
fn every_thread_that_waits_for_a_sync_gets_one() {
    check(|| {
        let (_, log) = create();
        let others = [spawn(&log, |log| commit(log, 10)), spawn(&log, |log| commit(log, 10))];
        commit(&log, 10).expect("durable");
        assert!(join(others).iter().all(Result::is_ok));
        assert_eq!(log.durable(), log.end());
        assert!(log.counts().syncs <= 3);
    });
}

#[test]
fn a_thread_that_only_writes_leaves_no_other_of_its_batch_without_a_sync() {
    check(|| {
        let (_, log) = create();
        let writer = spawn(&log, |log| {
            let end = append(log, 2000)?;
            log.throttle()?;
            log.commit(end, FlushPolicy::WriteEachCommit)
        });
        let other = spawn(&log, |log| commit(log, 10));
        commit(&log, 10).expect("durable");
        assert!(join([writer, other]).iter().all(Result::is_ok));
    });
}

#[test]
fn a_thread_served_by_the_end_of_a_file_leaves_no_other_of_its_batch_without_a_sync() {
    check(|| {
        let (_, log) = create();
        // One of the file's 15 blocks is left, so a batch of all three groups goes on in the next file.
        (0..2).for_each(|_| commit(&log, 28_000).expect("durable"));
        let ends = [10, 4000, 300].map(|bytes| append(&log, bytes).expect("room"));
        let others = [ends[1], ends[2]].map(|end| spawn(&log, move |log| log.wait_durable(end)));
        log.wait_durable(ends[0]).expect("durable");
        assert!(join(others).iter().all(Result::is_ok));
        assert_eq!(log.durable(), log.end());
    });
}

#[test]
fn a_failed_write_or_sync_is_reported_to_all_waiters_and_nothing_after_it_is_acknowledged() {
    for failing in [Operation::Write, Operation::Sync] {
        check(move || {
            let (env, log) = create();
            let failed = AtomicBool::new(false);
            // Only the first operation fails. The device reports success for the second.
            env.set_fault(Some(Arc::new(move |operation, _, _| {
                operation == failing && !failed.swap(true, Ordering::SeqCst)
            })));
            let before = log.durable();
            let others = [spawn(&log, |log| commit(log, 10)), spawn(&log, |log| commit(log, 10))];
            let mut results = vec![commit(&log, 10)];
            results.extend(join(others));
            assert!(results.iter().any(|result| matches!(result, Err(StorageError::Poisoned { .. }))));
            if failing == Operation::Write {
                assert!(results.iter().all(Result::is_err) && log.durable() == before);
            }
            assert!(matches!(log.tick(), Err(StorageError::Poisoned { .. })));
        });
    }
}

#[test]
fn poisoning_wakes_waiters_for_a_sync_and_waiters_for_space() {
    check(|| {
        let (_, log) = create();
        let most = log.max_payload() as u64 * 2;
        let held = log.reserve(most).expect("room");
        let waiter = spawn(&log, move |log| log.reserve(most).map(drop));
        let committer = spawn(&log, |log| commit(log, 10));
        log.poison("a page could not be written".to_owned());
        // Either may succeed, if it came before the poisoning.
        drop(join([waiter, committer]));
        drop(held);
        assert!(log.tick().is_err());
    });
}

#[test]
fn space_that_is_given_back_or_refused_reaches_all_waiters() {
    check(|| {
        let (_, log) = create();
        let most = log.max_payload() as u64 * 2;
        let held = log.reserve(most).expect("room");
        let others = [(); 2].map(|()| {
            spawn(&log, move |log| match log.reserve(most) {
                Ok(_) | Err(StorageError::DiskFull) => {}
                Err(error) => panic!("{error}"),
            })
        });
        log.fail_waiters();
        drop(held);
        join(others);
        assert_eq!(log.space().waiting, 0);
        assert_eq!(log.space().reserved, 0);
    });
}
