//! The workloads, timed.

use crate::engine::{Client, Engine, Keys, SCAN_ROWS, VALUE_BYTES, value};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Workload {
    /// Rows loaded.
    pub rows: u64,
    /// Time of each round.
    pub seconds: f64,
    /// Rounds: in each one every engine has its turn, and the median counts.
    pub rounds: usize,
    /// Only what has this in its name, and loading.
    pub only: String,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload { rows: 1_000_000, seconds: 1.0, rounds: 5, only: String::new() }
    }
}

/// An engine in the ring.
pub struct Contender {
    pub name: &'static str,
    pub engine: Box<dyn Engine>,
}

/// Rows of a batch.
const BATCH: u64 = 1000;
/// Reads that share a snapshot.
const READS: u64 = 1000;
/// Scans that share a snapshot.
const SCANS: u64 = 100;

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

/// What is done over and over; a turn gives the operations done.
type Turn<'a> = dyn Fn(&mut dyn Client, &mut Random, usize) -> u64 + Sync + 'a;

/// Keys in no order: n is spread over all numbers by an odd factor.
fn key(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

impl Workload {
    /// Puts all rows, in random order.
    pub fn load(&self, contender: &Contender, keys: Keys) {
        let started = Instant::now();
        let mut client = contender.engine.client();
        for first in (0..self.rows).step_by(BATCH as usize) {
            let rows: Vec<_> =
                (first..(first + BATCH).min(self.rows)).map(|n| (key(n), value(key(n), 0))).collect();
            client.put(&rows);
        }
        let rate = self.rows as f64 / started.elapsed().as_secs_f64();
        print(contender.name, keys, 1, "random inserts, 1000 a commit", rate);
    }

    /// Runs everything on engines that are loaded.
    pub fn run(&self, contenders: &[Contender], keys: Keys, threads: usize) {
        let run = |what: &str, turn: &Turn<'_>| self.rounds(contenders, keys, threads, what, turn);
        let keys_of = |random: &mut Random, count: u64| {
            let numbers: Vec<u64> = (0..count).map(|_| key(random.below(self.rows))).collect();
            numbers.into_iter()
        };
        run("point reads", &|client, random, _| {
            let mut numbers = keys_of(random, READS);
            let bytes = client.reads(&mut || numbers.next());
            assert_eq!(bytes, READS * VALUE_BYTES as u64, "rows are missing");
            READS
        });
        run("range scans of 100", &|client, random, _| {
            let mut numbers = keys_of(random, SCANS);
            let rows = client.scans(&mut || numbers.next());
            assert!(rows > SCANS * SCAN_ROWS as u64 / 2, "rows are missing");
            SCANS
        });
        for (what, batch) in [("durable updates, 1 a commit", 1), ("durable updates, 1000 a commit", BATCH)] {
            run(what, &|client, random, thread| {
                // Writers of different threads do not meet.
                let threads = threads as u64;
                let own = |n: u64| n / threads * threads + thread as u64;
                let mut numbers: Vec<u64> = (0..batch).map(|_| own(random.below(self.rows))).collect();
                numbers.retain(|n| *n < self.rows);
                numbers.sort_unstable();
                numbers.dedup();
                let changes = random.0;
                let rows: Vec<_> = numbers.iter().map(|&n| (key(n), value(key(n), changes))).collect();
                client.put(&rows);
                rows.len() as u64
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

    /// Takes turns in so many threads; gives operations per second.
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
