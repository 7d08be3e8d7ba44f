//! Power cuts while threads commit concurrently, with the store's own thread writing pages and checkpoints.
//!
//! Each thread numbers its transactions. Each transaction writes its number to rows of the thread's own, adds
//! some rows and removes old ones, and writes to rows that all threads write. The contents therefore show
//! which transactions are there: of each thread all acknowledged ones, at most one more, and each as a whole.
//! The common rows have the values of the last of these.

use super::interleaved::{Seed, open_with};
use crate::catalog::TableDef;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::options::{ChangeBuffering, EngineOptions};
use crate::testing::*;
use crate::{Isolation, TxnMode};
use leafline_btree::CommitTs;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{StorageError, StoreOptions};
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

const THREADS: i64 = 4;
/// The number of a thread's rows that each of its transactions writes.
const OWN: i64 = 8;
/// The number of rows that a transaction adds, and the number of transactions after which they are removed.
const ADDED: i64 = 5;
const KEPT: i64 = 20;
/// The number of rows that all threads write.
const COMMON: i64 = 40;
/// More transactions than a thread makes.
const MANY: i64 = 100_000;

/// A transaction of a thread.
#[derive(Clone)]
struct Done {
    /// The timestamp; `None` if the transaction was not acknowledged.
    ts: Option<CommitTs>,
    /// Whether it was found after a power cut.
    found: bool,
    /// The common rows that it wrote.
    common: Vec<i64>,
}

/// The transactions of a thread.
#[derive(Clone, Default)]
struct History {
    transactions: Vec<Done>,
}

fn own_id(thread: i64, at: i64) -> i64 {
    1000 * (thread + 1) + at
}

fn added_id(thread: i64, number: i64, at: i64) -> i64 {
    MANY * (thread + 1) * ADDED + number * ADDED + at
}

fn write(
    engine: &Arc<Engine>,
    table: &Arc<TableDef>,
    thread: i64,
    number: i64,
    common: &[i64],
) -> Result<CommitTs> {
    let mut transaction = engine.transactions().begin(Isolation::ReadCommitted, TxnMode::ReadWrite);
    transaction.begin_statement();
    let values = |id: i64| row(table, &[Some(id), Some(id), Some(id % 30), Some(number * THREADS + thread)]);
    for &id in common {
        transaction.put_row(table, &values(id))?;
    }
    for at in 0..OWN {
        transaction.put_row(table, &values(own_id(thread, at)))?;
    }
    for at in 0..ADDED {
        transaction.put_row(table, &values(added_id(thread, number, at)))?;
        if number >= KEPT {
            let mut key = Vec::new();
            table.clustered().format.encode_key(
                &values(added_id(thread, number - KEPT, at)),
                &[],
                &mut key,
            )?;
            transaction.delete_key(table, &key)?;
        }
    }
    transaction.commit().map(|outcome| outcome.ts.expect("it has written"))
}

/// Writes until the power goes off.
fn work(env: &SimulatedEnv, engine: &Arc<Engine>, thread: i64, seed: u64, history: &mut History) {
    let Ok(table) = engine.table("d", "t") else { return };
    let mut random = SmallRng::seed_from_u64(seed ^ thread as u64);
    loop {
        let number = history.transactions.len() as i64;
        let common: Vec<i64> =
            (0..random.random_range(0..4)).map(|_| random.random_range(0..COMMON)).collect();
        history.transactions.push(Done { ts: None, found: false, common: common.clone() });
        match write(engine, &table, thread, number, &common) {
            Ok(ts) => history.transactions[number as usize].ts = Some(ts),
            Err(TableError::Deadlock | TableError::LockWaitTimeout | TableError::WriteConflict) => {
                history.transactions.pop();
            }
            Err(TableError::Storage(StorageError::Io { .. } | StorageError::Poisoned { .. })) => return,
            // Without power, old versions cannot go to files.
            Err(TableError::SnapshotTooOld) if env.is_off() => return,
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// Compares the contents with the histories, and removes missing transactions from these.
fn check(engine: &Arc<Engine>, histories: &mut [History], what: &str) {
    let table = engine.table("d", "t").unwrap();
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "{what}");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
    let found = rows(&view(engine), &table);
    let mut found: BTreeMap<i64, i64> = found.iter().map(|row| (int(&row[0]), int(&row[3]))).collect();
    for (thread, history) in histories.iter_mut().enumerate() {
        let (thread, done) = (thread as i64, history.transactions.len());
        let in_doubt = history.transactions.iter().filter(|done| done.ts.is_none() && !done.found).count();
        let mut expected = found.get(&own_id(thread, 0)).map_or(0, |last| last / THREADS + 1);
        if done == 0 {
            expected = 0;
        }
        assert!(
            expected as usize + in_doubt >= done && expected as usize <= done,
            "{what}: {expected} transactions of thread {thread}, done {done}, {in_doubt} of them in doubt"
        );
        history.transactions.truncate(expected as usize);
        history.transactions.iter_mut().for_each(|done| done.found = true);
        let last = expected - 1;
        for at in 0..OWN.min(expected * OWN) {
            let value = found.remove(&own_id(thread, at));
            assert_eq!(value, Some(last * THREADS + thread), "{what}: row {at} of thread {thread}");
        }
        for number in (last - KEPT + 1).max(0)..expected {
            for at in 0..ADDED {
                let value = found.remove(&added_id(thread, number, at));
                assert_eq!(value, Some(number * THREADS + thread), "{what}: added by {number} of {thread}");
            }
        }
    }
    for id in 0..COMMON {
        let writers = histories.iter().enumerate().flat_map(|(thread, history)| {
            let numbered = history.transactions.iter().enumerate();
            numbered
                .filter(|(_, done)| done.common.contains(&id))
                .map(move |(number, done)| (number as i64 * THREADS + thread as i64, done.ts))
        });
        let writers: Vec<(i64, Option<CommitTs>)> = writers.collect();
        let newest = writers.iter().filter_map(|(_, ts)| *ts).max();
        let value = found.remove(&id);
        let allowed = match value {
            Some(value) => {
                writers.iter().any(|(written, ts)| *written == value && (ts.is_none() || *ts == newest))
            }
            None => writers.is_empty(),
        };
        assert!(allowed, "{what}: {value:?} in common row {id}, written {writers:?}");
    }
    assert!(found.is_empty(), "{what}: {found:?} should not be there");
}

fn run(seed: u64) -> usize {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let by_reference = random.random_range(0..3) == 0;
    let base = if by_reference { by_reference_options() } else { options() };
    let store = StoreOptions {
        background: true,
        io_threads: 1,
        log_capacity_bytes: [1 << 20, 8 << 20][random.random_range(0..2)],
        buffer_pool_bytes: [2 << 20, 400 << 10][random.random_range(0..2)],
        ..base.store.clone()
    };
    let mut options = EngineOptions { store, ..base };
    if random.random() {
        (options.change_buffering, options.change_buffer_bytes) = (ChangeBuffering::All, Some(64 << 10));
    }
    let env = SimulatedEnv::new();
    let engine = open_with(&env, &options).unwrap();
    create(&engine, &keyed_spec());
    engine.close().unwrap();
    drop(engine);
    let mut histories = vec![History::default(); THREADS as usize];
    for life in 0..3 {
        let what = format!("seed {seed}, life {life}");
        let engine = open_with(&env, &options).unwrap();
        env.power_cut_after(random.random_range(0..2000));
        let seed: u64 = random.random();
        std::thread::scope(|scope| {
            for (thread, history) in histories.iter_mut().enumerate() {
                let (env, engine) = (&env, &engine);
                scope.spawn(move || work(env, engine, thread as i64, seed, history));
            }
        });
        // Its own threads may still be working.
        let gone = Arc::downgrade(&engine);
        drop(engine);
        while gone.strong_count() > 0 {
            std::thread::yield_now();
        }
        env.reboot(random.random());
        let engine = open_with(&env, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&engine, &mut histories, &what);
        // Transactions found once are permanent.
        if random.random() {
            engine.close().unwrap();
        }
        drop(engine);
    }
    histories.iter().map(|history| history.transactions.len()).sum()
}

#[test]
fn power_cuts_under_threads_lose_nothing_acknowledged_and_leave_every_transaction_whole() {
    let first = seed();
    let transactions: usize = (0..6 * scale()).map(|n| run(first.wrapping_add(n))).sum();
    println!("{transactions} transactions");
    assert!(transactions > 50, "seed {first}: {transactions} transactions");
}
