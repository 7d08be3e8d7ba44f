//! Runs and times the workloads.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, VALUE_BYTES, value};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Workload {
    /// The number of rows loaded.
    pub rows: u64,
    /// The time of each round in seconds.
    pub seconds: f64,
    /// The number of rounds: in each round every engine has its turn, and the median counts.
    pub rounds: usize,
    /// Only workloads with this in their names run, besides loading.
    pub only: String,
    /// Whether the data is larger than memory. Then rows are loaded in the order of their keys, because loading them
    /// in random order would take most engines an hour, and random inserts are timed separately.
    pub beyond_memory: bool,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload { rows: 1_000_000, seconds: 1.0, rounds: 5, only: String::new(), beyond_memory: false }
    }
}

/// An engine that takes part.
pub struct Contender {
    pub name: &'static str,
    pub engine: Box<dyn Engine>,
}

/// Rows of a batch.
const BATCH: u64 = 1000;
/// Bits of the gap between two keys that are loaded in order.
const KEY_GAP: u32 = 16;
const INSERTS: &str = "random inserts, 1000 a commit";
/// Reads that share a snapshot, in memory.
const READS: u64 = 1000;
/// Scans that share a snapshot.
const SCANS: u64 = 100;

/// xorshift64*: the same sequence for every engine, and cheap.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(bound) >> 64) as u64
    }
}

/// A repeated piece of work; returns the number of operations.
type Turn<'a> = dyn Fn(&mut dyn Client, &mut Random, usize) -> u64 + Sync + 'a;

/// Returns new rows with these keys.
fn rows(keys: impl Iterator<Item = u64>) -> Vec<(u64, String)> {
    keys.map(|key| (key, value(key, 0))).collect()
}

impl Workload {
    /// Returns the key of row n; for random order, an odd factor spreads n over all numbers.
    fn key(&self, n: u64) -> u64 {
        if self.beyond_memory { n << KEY_GAP } else { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16 }
    }

    /// Puts all rows.
    pub fn load(&self, contender: &Contender, keys: Keys) {
        let started = Instant::now();
        let mut client = contender.engine.client();
        for first in (0..self.rows).step_by(BATCH as usize) {
            client.put(&rows((first..(first + BATCH).min(self.rows)).map(|n| self.key(n))));
        }
        let rate = self.rows as f64 / started.elapsed().as_secs_f64();
        let what = if self.beyond_memory { "inserts in order, 1000 a commit" } else { INSERTS };
        print(contender.name, keys, 1, what, rate);
    }

    /// Runs all workloads on loaded engines.
    pub fn run(&self, contenders: &[Contender], keys: Keys, threads: usize) {
        let run = |what: &str, turn: &Turn<'_>| self.rounds(contenders, keys, threads, what, turn);
        let keys_of = |random: &mut Random, count: u64| {
            let numbers: Vec<u64> = (0..count).map(|_| self.key(random.below(self.rows))).collect();
            numbers.into_iter()
        };
        let (reads, scans) = if self.beyond_memory { (READS / 20, SCANS / 20) } else { (READS, SCANS) };
        run("point reads", &|client, random, _| {
            let mut numbers = keys_of(random, reads);
            let bytes = client.reads(&mut || numbers.next());
            assert_eq!(bytes, reads * VALUE_BYTES as u64, "rows are missing");
            reads
        });
        run("range scans of 100", &|client, random, _| {
            let mut numbers = keys_of(random, scans);
            let rows = client.scans(&mut || numbers.next());
            assert!(rows > scans * SCAN_ROWS as u64 / 2, "rows are missing");
            scans
        });
        for (what, batch) in [("durable updates, 1 a commit", 1), ("durable updates, 1000 a commit", BATCH)] {
            run(what, &|client, random, thread| {
                // Writers of different threads use different keys.
                let threads = threads as u64;
                let own = |n: u64| n / threads * threads + thread as u64;
                let mut numbers: Vec<u64> = (0..batch).map(|_| own(random.below(self.rows))).collect();
                numbers.retain(|n| *n < self.rows);
                numbers.sort_unstable();
                numbers.dedup();
                let changes = random.0;
                let changed: Vec<_> = numbers.iter().map(|&n| (self.key(n), value(n, changes))).collect();
                client.put(&changed);
                changed.len() as u64
            });
        }
        if self.beyond_memory && threads == 1 {
            run(INSERTS, &|client, random, _| {
                client.put(&rows((0..BATCH).map(|_| random.below(self.rows << KEY_GAP))));
                BATCH
            });
        }
    }

    fn rounds(&self, contenders: &[Contender], keys: Keys, threads: usize, what: &str, turn: &Turn<'_>) {
        if !what.contains(&self.only) {
            return;
        }
        let mut rates = vec![Vec::new(); contenders.len()];
        for round in 0..self.rounds {
            for (contender, rates) in contenders.iter().zip(&mut rates) {
                rates.push(self.timed(&*contender.engine, threads, round, turn));
            }
        }
        for (contender, rates) in contenders.iter().zip(&mut rates) {
            rates.sort_by(f64::total_cmp);
            print(contender.name, keys, threads, what, rates[rates.len() / 2]);
        }
    }

    /// Repeats turns in `threads` threads; returns operations per second.
    fn timed(&self, engine: &dyn Engine, threads: usize, round: usize, turn: &Turn<'_>) -> f64 {
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let start = Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (stop, done, start) = (&stop, &done, &start);
                scope.spawn(move || {
                    let mut client = engine.client();
                    let mut random = Random(0x1234_5678 + (round * 64 + thread) as u64 * 0x9e37_79b9);
                    start.wait();
                    while !stop.load(Ordering::Relaxed) {
                        done.fetch_add(turn(&mut *client, &mut random, thread), Ordering::Relaxed);
                    }
                });
            }
            start.wait();
            let started = Instant::now();
            std::thread::sleep(Duration::from_secs_f64(self.seconds));
            let (count, elapsed) = (done.load(Ordering::Relaxed), started.elapsed());
            stop.store(true, Ordering::Relaxed);
            count as f64 / elapsed.as_secs_f64()
        })
    }
}

fn print(engine: &str, keys: Keys, threads: usize, what: &str, rate: f64) {
    println!("{engine}\t{}\t{threads}\t{what}\t{rate:.0}", keys.name());
}
