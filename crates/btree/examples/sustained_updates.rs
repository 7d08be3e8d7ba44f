//! Makes random updates of data four times as large as the buffer pool, for so long that the log goes round several
//! times, to see whether the slowest second is at least half of the median one.
//!
//! `bench/sustained_updates.sh [seconds] [threads] [pool MiB] [log MiB]`
//!
//! Each update is a reservation, one changed entry of a random key and, every `COMMIT` updates of a thread, a wait
//! for the log to be durable, as commits do. Prints per second: updates, pages read and written, checkpoints, and how
//! full the log is.

mod shared;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leafline_btree::{BtreeError, Change, CommitTs, Tree, TreeRedo};
use leafline_storage::device::DirectoryEnv;
use leafline_storage::{HandlerId, NoReplay, Store, StoreOptions};
use shared::{PAYLOAD, entries_for, load};

/// Updates of a thread between two waits for the log.
const COMMIT: u64 = 10;
/// Seconds at the start that are not counted, because the pool fills.
const WARM_UP: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |n: usize, default: u64| {
        std::env::args().nth(n).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, threads) = (argument(1, 40) as usize, argument(2, 2));
    let (pool, log) = (argument(3, 64) << 20, argument(4, 64) << 20);
    let work = std::env::var_os("WORK").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = work.join(format!("leafline-sustained-{}", std::process::id()));
    let result = run(&directory, seconds, threads, pool, log);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn run(
    directory: &std::path::Path,
    seconds: usize,
    threads: u64,
    pool: u64,
    log: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(DirectoryEnv::open(directory)?);
    let options =
        StoreOptions { buffer_pool_bytes: pool, log_capacity_bytes: log, ..StoreOptions::default() };
    let store = Store::open(env, options, vec![(HandlerId::BTREE, Arc::new(TreeRedo))], &mut NoReplay)?;
    let entries = entries_for(pool);
    let tree = load(&store, entries)?;
    store.checkpoint()?;
    let stats = store.stats();
    let (updates, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut per_second = Vec::new();
    std::thread::scope(|scope| -> Result<(), BtreeError> {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (store, tree, updates, done) = (&store, &tree, &updates, &done);
                scope.spawn(move || update(store, tree, entries, thread + 1, updates, done))
            })
            .collect();
        println!("second  updates  pages read  pages written  checkpoints  longest update so far");
        let mut before = [0; 4];
        let begun = Instant::now();
        for second in 0..seconds {
            std::thread::sleep((begun + Duration::from_secs(second as u64 + 1)) - Instant::now());
            let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let now = [
                load(&updates),
                load(&stats.page_reads),
                load(&stats.pages_written),
                load(&stats.checkpoints),
            ];
            let change: Vec<u64> = now.iter().zip(before).map(|(now, before)| now - before).collect();
            println!(
                "{second:6} {:8} {:11} {:14} {:12} {:8} us",
                change[0],
                change[1],
                change[2],
                change[3],
                LONGEST.load(Ordering::Relaxed)
            );
            before = now;
            per_second.push(change[0]);
            if workers.iter().any(|worker| worker.is_finished()) {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    let counted = &mut per_second[WARM_UP.min(seconds - 1)..];
    counted.sort_unstable();
    let (slowest, median) = (counted[0], counted[counted.len() / 2]);
    println!(
        "slowest second {slowest}, median {median}: {:.2}   (data {} MiB, pool {} MiB, log {} MiB, {threads} threads)",
        slowest as f64 / median as f64,
        (4 * pool) >> 20,
        pool >> 20,
        log >> 20,
    );
    store.close()?;
    Ok(())
}

/// Microseconds of the longest update.
static LONGEST: AtomicU64 = AtomicU64::new(0);

fn update(
    store: &Store,
    tree: &Tree,
    entries: u64,
    seed: u64,
    updates: &AtomicU64,
    done: &AtomicBool,
) -> Result<(), BtreeError> {
    let (pages, log) = (tree.worst_case_pages(), tree.worst_case_log(8, PAYLOAD));
    let mut random = seed;
    for number in 1.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        // The generator xorshift64.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let begun = Instant::now();
        let mut reservation = store.reserve(pages, log)?;
        let payload = vec![number as u8; PAYLOAD];
        let change = Change::Put { payload: payload.into(), ts: CommitTs(0), has_previous: false };
        tree.modify(&mut reservation, &(random % entries).to_be_bytes(), CommitTs(0), &mut |_| {
            change.clone()
        })?;
        drop(reservation);
        if number % COMMIT == 0 {
            store.wait_durable(store.log_end())?;
        }
        LONGEST.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        updates.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
