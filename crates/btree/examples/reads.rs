//! Measures point reads and short scans on a hot tree in memory, with one and with two threads.
//!
//! `cargo run --release -p leafline-btree --example reads [keys [seconds]]`: a tree of `keys` (1,000,000) 8-byte keys
//! with payloads of 100 bytes, all of it in the buffer pool. Each figure is taken over `seconds` (2) seconds. Keys
//! are the numbers from 0 on (`dense`), or spread over all 64 bits (`sparse`).
//!
//! Each line shows the operations per second of *processor time*: on a machine that others use, too, the time on the
//! clock says little. `ratio` is the work of two threads over the work of one by that measure; it falls when readers
//! take shared cache lines from each other.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafline_btree::{BulkBuilder, Direction, LeafFormat, LeafStep, Tree, TreeRedo};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{HandlerId, NoReplay, SegmentState, Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// An operation to repeat, which returns how many items it processed.
type Operation<'a> = &'a (dyn Fn(&mut SmallRng) -> Result<u64, Error> + Sync);

const PAYLOAD: usize = 100;
const SCAN: usize = 100;

/// The way keys are made from numbers.
#[derive(Clone, Copy)]
enum Keys {
    Dense,
    Sparse,
}

impl Keys {
    fn key(self, n: u64) -> u64 {
        match self {
            Keys::Dense => n,
            Keys::Sparse => n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }
    }
}

fn build(keys: Keys, count: u64) -> Result<Tree, Error> {
    let payload_bytes = count * (PAYLOAD as u64 + 8 + 16);
    let options = StoreOptions {
        buffer_pool_bytes: payload_bytes * 3 / 2 + (64 << 20),
        background: false,
        io_threads: 0,
        ..StoreOptions::default()
    };
    let env = Arc::new(SimulatedEnv::new());
    let store = Store::open(env, options, vec![(HandlerId::BTREE, Arc::new(TreeRedo))], &mut NoReplay)?;
    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    drop(reservation);
    let mut sorted: Vec<u64> = (0..count).map(|n| keys.key(n)).collect();
    sorted.sort_unstable();
    let mut builder = BulkBuilder::new(&store, segment, 100, LeafFormat::Plain)?;
    let mut payload = [7; PAYLOAD];
    for key in sorted {
        payload[..8].copy_from_slice(&key.to_le_bytes());
        builder.push(&key.to_be_bytes(), &payload)?;
    }
    let tree = builder.finish()?;
    store.set_segment_state(&mut store.reserve(0, 4096)?, segment, SegmentState::Live)?;
    // Bring everything into memory.
    let mut cursor = tree.cursor();
    let mut found = 0;
    while cursor.visit_leaf(Direction::Forward, |_, range| {
        found += range.len() as u64;
        LeafStep::NextLeaf
    })? {}
    assert_eq!(found, count);
    Ok(tree)
}

fn point_read(tree: &Tree, key: u64) -> Result<u64, Error> {
    let found = tree.get(&key.to_be_bytes(), |entry| {
        entry.map(|entry| {
            assert_eq!(entry.payload.len(), PAYLOAD);
            u64::from_le_bytes(entry.payload[..8].try_into().expect("eight bytes"))
        })
    })?;
    assert_eq!(found, Some(key));
    Ok(1)
}

fn scan(tree: &Tree, key: u64) -> Result<u64, Error> {
    let mut cursor = tree.cursor();
    cursor.seek(&key.to_be_bytes());
    let mut left = SCAN;
    let mut sum = 0;
    while cursor.visit_leaf(Direction::Forward, |leaf, range| {
        let take = range.len().min(left);
        for slot in range.start..range.start + take {
            sum += usize::from(leaf.entry(slot).payload[PAYLOAD - 1]);
        }
        left -= take;
        if left == 0 { LeafStep::Stop } else { LeafStep::NextLeaf }
    })? && left > 0
    {}
    black_box(sum);
    Ok(1)
}

/// Returns the nanoseconds of processor time that this thread has had.
fn processor_time() -> Result<u64, Error> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no figure in schedstat")?.parse()?)
}

/// Returns the operations per second of processor time, summed over the threads.
fn measure(threads: u64, seconds: u64, operation: Operation<'_>) -> Result<f64, Error> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|seed| {
                let stop = &stop;
                scope.spawn(move || -> Result<f64, Error> {
                    let mut rng = SmallRng::seed_from_u64(seed);
                    let (start, mut done) = (processor_time()?, 0);
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..256 {
                            done += operation(&mut rng)?;
                        }
                    }
                    Ok(done as f64 / (processor_time()? - start) as f64 * 1e9)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("a worker")).sum()
    })
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let count = arguments.next().transpose()?.unwrap_or(1_000_000);
    let seconds = arguments.next().transpose()?.unwrap_or(2);
    println!("{count} keys, operations a second of processor time");
    println!("{:<28} {:>12} {:>12} {:>7}", "", "1 thread", "2 threads", "ratio");
    for (name, keys) in [("dense", Keys::Dense), ("sparse", Keys::Sparse)] {
        let tree = build(keys, count)?;
        let pages = tree.store().stats().pool_data.load(Ordering::Relaxed);
        println!("{name} keys: {} levels, {pages} pages", tree.depth()?);
        let random = |rng: &mut SmallRng| keys.key(rng.random_range(0..count));
        let reads = |rng: &mut SmallRng| point_read(&tree, random(rng));
        let scans = |rng: &mut SmallRng| scan(&tree, random(rng));
        let operations: [(&str, Operation<'_>); 2] =
            [("point reads", &reads), ("scans of 100 entries", &scans)];
        for (what, operation) in operations {
            let (one, two) = (measure(1, seconds, operation)?, measure(2, seconds, operation)?);
            println!("{:<28} {one:>12.0} {two:>12.0} {:>7.2}", format!("{name}: {what}"), two / one);
        }
    }
    Ok(())
}
