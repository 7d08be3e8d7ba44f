//! Measures how long a database takes to open after a crash, by the size of the log since the checkpoint.
//!
//! `bench/recovery.sh [updates] [pool MiB] [log MiB]`
//!
//! Makes random updates of data four times the pool, ends without a checkpoint, and times the next opening. Also
//! prints how much recovery read and replayed.

mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use leafline_btree::{Change, CommitTs, TreeRedo};
use leafline_storage::device::DirectoryEnv;
use leafline_storage::{HandlerId, NoReplay, Store, StoreOptions};
use shared::{PAYLOAD, entries_for, load};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let argument = |n: usize, default: u64| {
        std::env::args().nth(n).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (updates, pool, log) = (argument(1, 100_000), argument(2, 64) << 20, argument(3, 1024) << 20);
    let work = std::env::var_os("WORK").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = work.join(format!("leafline-recovery-{}", std::process::id()));
    let result = run(&directory, updates, pool, log);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn open(directory: &Path, pool: u64, log: u64) -> Result<Store, Failure> {
    let env = Arc::new(DirectoryEnv::open(directory)?);
    let options = StoreOptions {
        buffer_pool_bytes: pool,
        log_capacity_bytes: log,
        warm_up: false,
        ..StoreOptions::default()
    };
    Ok(Store::open(env, options, vec![(HandlerId::BTREE, Arc::new(TreeRedo))], &mut NoReplay)?)
}

fn run(directory: &Path, updates: u64, pool: u64, log: u64) -> Result<(), Failure> {
    let store = open(directory, pool, log)?;
    let entries = entries_for(pool);
    let tree = load(&store, entries)?;
    store.checkpoint()?;
    let checkpoints = store.stats().checkpoints.load(Ordering::Relaxed);
    let (begun, first) = (Instant::now(), store.log_end());
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..updates {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut reservation = store.reserve(tree.worst_case_pages(), tree.worst_case_log(8, PAYLOAD))?;
        let payload = vec![random as u8; PAYLOAD];
        let change = Change::Put { payload: payload.into(), ts: CommitTs(0), has_previous: false };
        tree.modify(&mut reservation, &(random % entries).to_be_bytes(), CommitTs(0), &mut |_| {
            change.clone()
        })?;
    }
    store.wait_durable(store.log_end())?;
    let bytes = store.log_end().0 - first.0;
    println!("{updates} updates in {:.1} s, {} MiB of log", begun.elapsed().as_secs_f64(), bytes >> 20);
    if store.stats().checkpoints.load(Ordering::Relaxed) > checkpoints {
        println!("a checkpoint came in between: less than that is replayed");
    }
    store.poison("to be recovered".into());
    drop(tree);
    drop(store);
    let begun = Instant::now();
    let store = open(directory, pool, log)?;
    let report = store.recovery_report();
    println!(
        "opened in {:.2} s: {} mini-transactions replayed on {} pages, {} pages read",
        begun.elapsed().as_secs_f64(),
        report.mini_transactions,
        report.pages_changed,
        store.stats().page_reads.load(Ordering::Relaxed),
    );
    Ok(())
}
