//! The workloads, timed.

use crate::engine::{Engine, Keys, SCAN_ROWS, VALUE_BYTES, value};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Workload {
    /// Rows loaded.
    pub rows: u64,
    /// Time for each figure.
    pub seconds: f64,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload { rows: 1_000_000, seconds: 5.0 }
    }
}

/// Rows of a batch.
const BATCH: u64 = 1000;
/// Reads that share a snapshot.
const READS: u64 = 1000;

/// xorshift64*: the same for every engine, and cheap.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(bound) >> 64) as u64
    }
}

impl Workload {
    pub fn run(&self, name: &str, engine: &dyn Engine, keys: Keys, threads: &[usize]) {
        let print = |threads: usize, what: &str, rate: f64| {
            println!("{name}\t{}\t{threads}\t{what}\t{rate:.0}", keys.name());
        };
        // Keys are put in random order: n is spread over all numbers by an odd factor.
        let key = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let started = Instant::now();
        let mut client = engine.client();
        for first in (0..self.rows).step_by(BATCH as usize) {
            let rows: Vec<_> = (first..(first + BATCH).min(self.rows)).map(|n| (key(n), value(key(n), 0))).collect();
            client.put(&rows);
        }
        drop(client);
        print(1, "random inserts in batches of 1000", self.rows as f64 / started.elapsed().as_secs_f64());
        for &threads in threads {
            let rate = self.timed(threads, |thread, stop, done| {
                let mut client = engine.client();
                let mut random = Random(thread as u64 + 0x1234_5678);
                while !stop.load(Ordering::Relaxed) {
                    let mut left = READS;
                    let mut next = || {
                        left = left.checked_sub(1)?;
                        Some(key(random.below(self.rows)))
                    };
                    let bytes = client.reads(&mut next);
                    assert_eq!(bytes, READS * VALUE_BYTES as u64, "{name}: rows are missing");
                    done.fetch_add(READS, Ordering::Relaxed);
                }
            });
            print(threads, "point reads", rate);
            let rate = self.timed(threads, |thread, stop, done| {
                let mut client = engine.client();
                let mut random = Random(thread as u64 + 0x8765_4321);
                while !stop.load(Ordering::Relaxed) {
                    let mut left = READS / 10;
                    let mut next = || {
                        left = left.checked_sub(1)?;
                        Some(key(random.below(self.rows)))
                    };
                    let rows = client.scans(&mut next);
                    assert!(rows > READS / 10 * SCAN_ROWS as u64 / 2, "{name}: rows are missing");
                    done.fetch_add(READS / 10, Ordering::Relaxed);
                }
            });
            print(threads, "range scans of 100", rate);
            let mut writes = |what: &str, batch: u64| {
                let rate = self.timed(threads, |thread, stop, done| {
                    let mut client = engine.client();
                    let mut random = Random(thread as u64 + 0xabcd_ef01);
                    let mut changes = 1;
                    while !stop.load(Ordering::Relaxed) {
                        let mut numbers: Vec<u64> = (0..batch).map(|_| random.below(self.rows)).collect();
                        // Writers of different threads do not meet.
                        numbers.iter_mut().for_each(|n| *n = *n / threads as u64 * threads as u64 + thread as u64);
                        numbers.retain(|n| *n < self.rows);
                        numbers.sort_unstable();
                        numbers.dedup();
                        let rows: Vec<_> = numbers.iter().map(|&n| (key(n), value(key(n), changes))).collect();
                        client.put(&rows);
                        changes += 1;
                        done.fetch_add(rows.len() as u64, Ordering::Relaxed);
                    }
                });
                print(threads, what, rate);
            };
            writes("durable updates of 1 row", 1);
            writes("durable updates of 1000 rows", BATCH);
        }
    }

    /// Runs `work` in so many threads; gives operations per second.
    fn timed(&self, threads: usize, work: impl Fn(usize, &AtomicBool, &AtomicU64) + Sync) -> f64 {
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let start = Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (stop, done, start, work) = (&stop, &done, &start, &work);
                scope.spawn(move || {
                    start.wait();
                    work(thread, stop, done);
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
