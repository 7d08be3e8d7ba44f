//! Measures random page reads in batches, of data four times as large as the buffer pool, and compares them with the
//! device.
//!
//! `bench/random_reads.sh [seconds] [requests in flight] [pool MiB]` runs this and fio on the same disk.
//!
//! One thread requests batches of random pages ahead of the one that it reads, so that about the wanted number of
//! requests is in flight all the time. It prints the reads per second that reached the device; pages found in memory
//! are not counted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use leafline_storage::device::DirectoryEnv;
use leafline_storage::{NoReplay, PageClass, PageKind, PageNo, SegmentState, Store, StoreOptions, page};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let argument = |n: usize, default: usize| {
        std::env::args().nth(n).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, depth, pool) = (argument(1, 10), argument(2, 64), argument(3, 256) << 20);
    let work = std::env::var_os("WORK").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = work.join(format!("leafline-random-reads-{}", std::process::id()));
    let result = run(&directory, seconds as u64, depth, pool as u64);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn run(directory: &std::path::Path, seconds: u64, depth: usize, pool: u64) -> Result<(), Failure> {
    let env = Arc::new(DirectoryEnv::open(directory)?);
    let options = StoreOptions { buffer_pool_bytes: pool, ..StoreOptions::default() };
    let store = Store::open(env, options, Vec::new(), &mut NoReplay)?;
    let pages = fill(&store, 4 * pool)?;
    let stats = store.stats();
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut draw = |count: usize| -> Vec<PageNo> {
        let one = |_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            pages[(random % pages.len() as u64) as usize]
        };
        (0..count).map(one).collect()
    };
    // While the pages of one part are read, the other parts are on their way.
    const PARTS: usize = 8;
    let mut parts = std::collections::VecDeque::new();
    for _ in 0..PARTS {
        let part = draw((depth / PARTS).max(1));
        store.prefetch(&part)?;
        parts.push_back(part);
    }
    let (begun, mut before) = (Instant::now(), None);
    let mut from = begun;
    while let Some(part) = parts.pop_front() {
        for page in &part {
            if store.shared(*page)?.page_no() != *page {
                return Err("another page".into());
            }
        }
        let part = draw((depth / PARTS).max(1));
        store.prefetch(&part)?;
        parts.push_back(part);
        let now = Instant::now();
        if before.is_none() && now - begun > Duration::from_secs(1) {
            before = Some(stats.page_reads.load(Ordering::Relaxed));
            from = now;
        }
        if now - begun > Duration::from_secs(1 + seconds) {
            break;
        }
    }
    let reads = stats.page_reads.load(Ordering::Relaxed) - before.unwrap_or(0);
    println!("{:.0}", reads as f64 / from.elapsed().as_secs_f64());
    store.close()?;
    Ok(())
}

/// Writes pages of `bytes` in all, past the pool.
fn fill(store: &Store, bytes: u64) -> Result<Vec<PageNo>, Failure> {
    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    drop(reservation);
    let mut writer = store.bulk_writer(segment)?;
    let mut image = vec![0; store.page_size()];
    page::set_kind(&mut image, PageKind::LEAF, 1);
    let mut pages = Vec::new();
    for _ in 0..bytes / store.page_size() as u64 {
        let page = writer.allocate(PageClass::Leaf)?;
        writer.write(page, &image)?;
        pages.push(page);
    }
    writer.finish(pages[0])?;
    store.set_segment_state(&mut store.reserve(0, 4096)?, segment, SegmentState::Live)?;
    Ok(pages)
}
