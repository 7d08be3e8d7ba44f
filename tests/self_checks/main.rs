//! One question asked in several ways must have one answer.
//!
//! Random tables, indexes, rows and queries, by seed.
//!
//! * [`paths`]: every way to run a query, chosen by hints, switches, prices and indexes, gives the answer of reading
//!   everything with everything switched off; also after the transaction has written, and while others write.
//!   [`coverage`] counts which paths were taken, and in which circumstances;
//! * [`relations`]: relations that must hold between answers.
//!
//! `LEAFLINE_SEED` chooses the first seed, `LEAFLINE_TEST_SCALE` how many there are; a seed with a difference is the
//! last. From [`LONG`] on, each path must have been taken in each circumstance 500 times. `LEAFLINE_TRACE` prints
//! every statement. `tests/planted_bugs/run` plants bugs that [`paths`] has to find.

mod aimed;
mod asking;
mod conditions;
mod coverage;
mod kinds;
mod partitions;
mod paths;
mod planted;
mod questions;
mod relations;
#[path = "../support/rows.rs"]
mod rows;
#[path = "../support/settings.rs"]
mod settings;
mod tables;
mod traffic;
mod ways;

use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The scale from which on a run is a long one: more than 100,000 queries.
const LONG: u64 = 210;

/// The number of differences that are shown.
const SHOWN: usize = 5;

/// Prints the seed if a panic ends it, and tells the other threads.
struct Named<'f>(u64, &'f AtomicBool);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.store(true, Relaxed);
            println!("LEAFLINE_SEED={}: panicked", self.0);
        }
    }
}

fn first_seed() -> u64 {
    match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    }
}

fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Runs some seeds, several at a time unless they are traced, and prints the result.
fn all(first: u64, seeds: u64, run: fn(u64, &mut paths::Found)) -> coverage::Coverage {
    println!("LEAFLINE_SEED={first}");
    let threads = match asking::is_traced() {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let mut found = paths::Found::default();
        while !failed.load(Relaxed) {
            let seed = match next.fetch_add(1, Relaxed) {
                nth if nth < seeds => first.wrapping_add(nth),
                _ => break,
            };
            let named = Named(seed, &failed);
            run(seed, &mut found);
            drop(named);
            if !found.differences.is_empty() {
                failed.store(true, Relaxed);
            }
        }
        found
    };
    let mut found = paths::Found::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            found.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    println!("{}", found.coverage);
    let paths::Found { questions, checks, failed, differences, coverage } = found;
    println!("{questions} queries, {checks} checks, {failed} ended by an error");
    differences.iter().take(SHOWN).for_each(|text| println!("{text}\n"));
    assert!(differences.is_empty(), "{} differences", differences.len());
    assert!(failed < checks / 10, "{failed} ended by an error");
    coverage
}

#[test]
fn every_path_gives_what_a_full_scan_gives() {
    let scale = scale();
    let coverage = all(first_seed(), 4 * scale, paths::run);
    if scale >= LONG {
        assert_eq!(coverage.below(500), [], "not met often enough");
    }
}

#[test]
fn concurrent_writers_do_not_change_the_answers() {
    all(first_seed(), scale(), paths::run_concurrently);
}

#[test]
fn relations_between_answers_hold() {
    let first = first_seed();
    println!("LEAFLINE_SEED={first}");
    let counts = (0..2 * scale()).map(|n| relations::run(u64::wrapping_add(first, n)));
    let (checks, failed) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    println!("{checks} checks, {failed} ended by an error");
    assert!(checks > 100 * scale(), "{checks} checks, {failed} ended by an error");
}
