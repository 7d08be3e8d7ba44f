//! Measures durable commits per second by 1, 2, 8 and 32 threads, beside a bare loop of one write and one sync on the
//! same disk.
//!
//! `bench/commits.sh [seconds] [bytes of a commit]`
//!
//! A commit here does what the end of every commit of a row does: it reserves space, appends a record to the log, and
//! waits until it is durable. The bare loop writes one block of an existing file and syncs it, which is the most that
//! one thread can achieve. With more threads one sync serves all that wait. Rounds alternate, so that a disk whose
//! speed wavers is fair to both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leafline_storage::device::{AlignedBuf, BLOCK, DirectoryEnv};
use leafline_storage::{Env, NoReplay, OpenMode, Store, StoreOptions};

const ROUNDS: usize = 3;
const THREADS: [usize; 4] = [1, 2, 8, 32];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let argument = |n: usize, default: usize| {
        std::env::args().nth(n).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, bytes) = (argument(1, 3), argument(2, 300));
    let work = std::env::var_os("WORK").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = work.join(format!("leafline-commits-{}", std::process::id()));
    let result = run(&directory, Duration::from_secs(seconds as u64), bytes);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn run(directory: &Path, time: Duration, bytes: usize) -> Result<(), Failure> {
    let env: Arc<dyn Env> = Arc::new(DirectoryEnv::open(directory)?);
    let store = Store::open(Arc::clone(&env), StoreOptions::default(), Vec::new(), &mut NoReplay)?;
    println!(
        "round  bare loop   1 thread  2 threads  8 threads 32 threads  (commits/s)  writes and syncs per commit"
    );
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let bare = bare_loop(&*env, time)?;
        print!("{round:5} {bare:10.0}");
        let (mut one, mut per_commit) = (0.0, Vec::new());
        for threads in THREADS {
            let before = (load(&store.stats().log_writes), load(&store.stats().log_syncs));
            let (commits, elapsed) = commit(&store, threads, time, bytes)?;
            let after = (load(&store.stats().log_writes), load(&store.stats().log_syncs));
            let share = |before: u64, after: u64| (after - before) as f64 / commits as f64;
            per_commit.push(format!("{:.2}/{:.2}", share(before.0, after.0), share(before.1, after.1)));
            let rate = commits as f64 / elapsed.as_secs_f64();
            print!(" {rate:10.0}");
            one = if threads == 1 { rate } else { one };
        }
        println!("               {}", per_commit.join("  "));
        ratios.push(one / bare);
    }
    ratios.sort_by(f64::total_cmp);
    println!("one thread against the bare loop, median: {:.2}", ratios[ROUNDS / 2]);
    store.poison("the records are of no use".into());
    Ok(())
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Writes and syncs the blocks of a file of zeros one after the other, in cycles.
fn bare_loop(env: &dyn Env, time: Duration) -> Result<f64, Failure> {
    const BLOCKS: u64 = 4096;
    let file = env.open("bare", OpenMode::Create)?;
    let zeros = AlignedBuf::zeroed(1 << 20);
    for at in (0..BLOCKS * BLOCK as u64).step_by(zeros.len()) {
        file.write_at(&zeros, at)?;
    }
    file.sync()?;
    let (begun, mut writes) = (Instant::now(), 0);
    let block = AlignedBuf::from_bytes(&[1; BLOCK]);
    while begun.elapsed() < time {
        file.write_at(&block, writes % BLOCKS * BLOCK as u64)?;
        file.sync()?;
        writes += 1;
    }
    Ok(writes as f64 / begun.elapsed().as_secs_f64())
}

fn commit(store: &Store, threads: usize, time: Duration, bytes: usize) -> Result<(u64, Duration), Failure> {
    let (commits, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> leafline_storage::Result<()> {
                    let record = vec![7; bytes];
                    while !done.load(Ordering::Relaxed) {
                        let mut reservation = store.reserve(0, bytes + 100)?;
                        let range = store.append_logical(&mut reservation, 1, &record)?;
                        store.wait_durable(range.end)?;
                        commits.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(time);
        done.store(true, Ordering::Relaxed);
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    Ok((commits.into_inner(), begun.elapsed()))
}
