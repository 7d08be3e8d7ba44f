//! Tests of the lock table alone: compatible modes, waiting, the order of service, victims; and threads that lock at
//! random.

use super::owner::ESCALATE_AT;
use super::{Granted, LockError, LockLimits, LockOwner, LockStrength, LockTable};
use crate::catalog::TableId;
use crate::testing::{scale, seed};
use leafline_types::CancelToken;
use leafline_types::statement::CancelReason;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

const TABLE: TableId = TableId(7);
const LONG: Duration = Duration::from_secs(100);

fn table() -> Arc<LockTable> {
    Arc::new(LockTable::new(None, 1 << 20))
}

fn limits(timeout: Duration) -> LockLimits {
    LockLimits { timeout, cancel: CancelToken::new() }
}

fn take(owner: &LockOwner, key: &[u8], strength: LockStrength) -> Result<super::owner::RowLock, LockError> {
    owner.lock(TABLE, TABLE.0, key, strength, None)
}

fn wait_for(owner: &LockOwner, key: &[u8], strength: LockStrength) -> Result<(), LockError> {
    owner.lock(TABLE, TABLE.0, key, strength, Some(&limits(LONG))).map(drop)
}

/// Waits until `number` transactions wait for locks.
fn until_waiting(table: &LockTable, number: u64) {
    while table.stats().waiting < number {
        std::thread::yield_now();
    }
}

#[test]
fn shared_locks_go_together_and_exclusive_ones_do_not() {
    let table = table();
    let [one, two, three] = [(); 3].map(|()| LockOwner::new(&table));
    take(&one, b"k", LockStrength::Share).unwrap();
    take(&two, b"k", LockStrength::Share).unwrap();
    assert_eq!(take(&three, b"k", LockStrength::Update).unwrap_err(), LockError::WouldWait);
    assert_eq!(take(&one, b"k", LockStrength::Update).unwrap_err(), LockError::WouldWait);
    take(&three, b"l", LockStrength::Update).unwrap();
    assert_eq!(take(&one, b"l", LockStrength::Share).unwrap_err(), LockError::WouldWait);
    drop(two);
    take(&one, b"k", LockStrength::Update).unwrap();
    assert_eq!(take(&three, b"k", LockStrength::Share).unwrap_err(), LockError::WouldWait);
    drop(one);
    take(&three, b"k", LockStrength::Share).unwrap();
    drop(three);
    assert_eq!(table.stats().held, 0);
}

#[test]
fn a_lock_that_is_given_back_is_free_unless_it_was_held_before() {
    let table = table();
    let (one, two) = (LockOwner::new(&table), LockOwner::new(&table));
    let first = take(&one, b"k", LockStrength::Update).unwrap();
    let again = take(&one, b"k", LockStrength::Update).unwrap();
    assert_eq!((first.granted, again.granted), (Granted::New, Granted::Held));
    one.unlock(again);
    assert!(take(&two, b"k", LockStrength::Share).is_err());
    one.unlock(first);
    take(&two, b"k", LockStrength::Share).unwrap();
}

#[test]
fn waiters_are_served_in_order_and_nobody_overtakes() {
    let table = table();
    let holder = LockOwner::new(&table);
    take(&holder, b"k", LockStrength::Share).unwrap();
    let order = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = LockOwner::new(&table);
            wait_for(&writer, b"k", LockStrength::Update).unwrap();
            assert_eq!(order.fetch_add(1, Ordering::SeqCst), 0, "the writer came first");
        });
        until_waiting(&table, 1);
        // A reader would be compatible with the holder, but the writer came before it.
        let reader = LockOwner::new(&table);
        assert_eq!(take(&reader, b"k", LockStrength::Share).unwrap_err(), LockError::WouldWait);
        scope.spawn(|| {
            let reader = LockOwner::new(&table);
            wait_for(&reader, b"k", LockStrength::Share).unwrap();
            assert_eq!(order.fetch_add(1, Ordering::SeqCst), 1);
        });
        until_waiting(&table, 2);
        holder.release_all();
    });
    let stats = table.stats();
    assert_eq!((stats.held, stats.waiting, stats.waits), (0, 0, 2));
}

#[test]
fn a_wait_ends_after_its_time_or_when_it_is_cancelled_and_lets_the_next_one_in() {
    let table = table();
    let holder = LockOwner::new(&table);
    take(&holder, b"k", LockStrength::Share).unwrap();
    let waiter = LockOwner::new(&table);
    let short = limits(Duration::from_millis(1));
    let timed_out = waiter.lock(TABLE, TABLE.0, b"k", LockStrength::Update, Some(&short));
    assert_eq!(timed_out.unwrap_err(), LockError::Timeout);
    let cancelled = limits(LONG);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ended = waiter.lock(TABLE, TABLE.0, b"k", LockStrength::Update, Some(&cancelled));
            assert!(matches!(ended, Err(LockError::Cancelled(error)) if error.code == 1317));
        });
        until_waiting(&table, 1);
        scope.spawn(|| {
            let reader = LockOwner::new(&table);
            wait_for(&reader, b"k", LockStrength::Share).unwrap();
        });
        until_waiting(&table, 2);
        cancelled.cancel.cancel(CancelReason::QueryKilled);
    });
    assert_eq!((table.stats().timeouts, table.stats().waiting), (1, 0));
}

#[test]
fn in_a_deadlock_the_one_with_the_fewest_locks_gives_up() {
    for small_waits_last in [false, true] {
        let table = table();
        let (big, small) = (LockOwner::new(&table), LockOwner::new(&table));
        for key in 0..5u8 {
            take(&big, &[key], LockStrength::Update).unwrap();
        }
        take(&small, b"s", LockStrength::Update).unwrap();
        let (first, second, wanted_first, wanted_second): (_, _, &[u8], &[u8]) = match small_waits_last {
            true => (&big, &small, b"s", &[0]),
            false => (&small, &big, &[0], b"s"),
        };
        let (first, second) = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let result = wait_for(first, wanted_first, LockStrength::Update);
                if result.is_err() {
                    first.release_all();
                }
                result
            });
            until_waiting(&table, 1);
            let result = wait_for(second, wanted_second, LockStrength::Update);
            if result.is_err() {
                second.release_all();
            }
            (waiting.join().unwrap(), result)
        });
        let (big, small) = if small_waits_last { (first, second) } else { (second, first) };
        assert_eq!((big, small), (Ok(()), Err(LockError::Deadlock)));
        assert_eq!(table.stats().deadlocks, 1);
    }
}

#[test]
fn two_holders_who_both_want_more_are_a_deadlock() {
    let table = table();
    let (one, two) = (LockOwner::new(&table), LockOwner::new(&table));
    take(&one, b"k", LockStrength::Share).unwrap();
    take(&two, b"k", LockStrength::Share).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let result = wait_for(&one, b"k", LockStrength::Update);
            one.release_all();
            result
        });
        until_waiting(&table, 1);
        let second = wait_for(&two, b"k", LockStrength::Update);
        two.release_all();
        let results = [first.join().unwrap(), second];
        assert_eq!(results.iter().filter(|result| **result == Err(LockError::Deadlock)).count(), 1);
    });
    assert_eq!(table.stats().held, 0);
}

#[test]
fn many_row_locks_become_one_on_the_table_when_nobody_is_in_the_way() {
    let table = table();
    let (big, other) = (LockOwner::new(&table), LockOwner::new(&table));
    take(&other, b"other", LockStrength::Share).unwrap();
    for key in 0..ESCALATE_AT as u64 {
        take(&big, &key.to_be_bytes(), LockStrength::Update).unwrap();
    }
    assert_eq!(table.stats().held, ESCALATE_AT as u64 + 3, "the other's intention is in the way");
    other.release_all();
    for key in 0..2 * ESCALATE_AT as u64 {
        take(&big, &key.to_be_bytes(), LockStrength::Update).unwrap();
    }
    assert_eq!(table.stats().held, 1);
    assert_eq!(take(&other, b"other", LockStrength::Share).unwrap_err(), LockError::WouldWait);
    big.release_all();
    take(&other, b"other", LockStrength::Share).unwrap();
}

#[test]
fn too_many_locks_are_an_error() {
    let table = Arc::new(LockTable::new(None, 100));
    let (one, other) = (LockOwner::new(&table), LockOwner::new(&table));
    take(&other, b"other", LockStrength::Update).unwrap();
    let full = (0..200u64).find_map(|key| take(&one, &key.to_be_bytes(), LockStrength::Update).err());
    assert_eq!(full, Some(LockError::Full));
    other.release_all();
    // If no other lock conflicts, the whole table is locked instead.
    for key in 0..200u64 {
        take(&one, &key.to_be_bytes(), LockStrength::Update).unwrap();
    }
}

/// Threads lock keys at random, in any order, and check that shared and exclusive locks exclude each other.
#[test]
fn shared_and_exclusive_locks_hold_under_threads() {
    let seed = seed();
    let table = table();
    const KEYS: usize = 6;
    // Readers inside, or -1 for a writer.
    let inside: [AtomicI64; KEYS] = std::array::from_fn(|_| AtomicI64::new(0));
    let (finished, victims) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (table, inside, finished, victims) = (&table, &inside, &finished, &victims);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed ^ thread);
                for _ in 0..1500 * scale() {
                    let owner = LockOwner::new(table);
                    let mut held: [Option<LockStrength>; KEYS] = [None; KEYS];
                    for _ in 0..random.random_range(1..4) {
                        let key = random.random_range(0..KEYS);
                        let strength =
                            if random.random() { LockStrength::Update } else { LockStrength::Share };
                        match wait_for(&owner, &[key as u8], strength) {
                            Ok(()) => {}
                            Err(LockError::Deadlock) => {
                                victims.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                            Err(other) => panic!("seed {seed}: {other:?}"),
                        }
                        match (held[key], strength) {
                            (None, LockStrength::Share) => {
                                assert!(inside[key].fetch_add(1, Ordering::SeqCst) >= 0, "seed {seed}");
                                held[key] = Some(strength);
                            }
                            (None, LockStrength::Update) => {
                                assert_eq!(inside[key].swap(-1, Ordering::SeqCst), 0, "seed {seed}");
                                held[key] = Some(strength);
                            }
                            (Some(LockStrength::Share), LockStrength::Update) => {
                                assert_eq!(inside[key].swap(-1, Ordering::SeqCst), 1, "seed {seed}");
                                held[key] = Some(strength);
                            }
                            (Some(_), _) => {}
                        }
                    }
                    for (key, held) in held.iter().enumerate() {
                        match held {
                            Some(LockStrength::Share) => {
                                inside[key].fetch_sub(1, Ordering::SeqCst);
                            }
                            Some(LockStrength::Update) => {
                                assert_eq!(inside[key].swap(0, Ordering::SeqCst), -1, "seed {seed}");
                            }
                            None => {}
                        }
                    }
                    drop(owner);
                    finished.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(finished.into_inner(), 6000 * scale(), "seed {seed}");
    let stats = table.stats();
    assert_eq!((stats.held, stats.waiting), (0, 0), "seed {seed}");
    assert_eq!(stats.deadlocks, victims.into_inner(), "seed {seed}");
}
