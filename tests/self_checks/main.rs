//! The same question asked in several ways must have the same answer.
//!
//! Random tables, indexes, rows and queries, by seed.
//!
//! * [`paths`]: every way to run a query, by hints, switches, prices and indexes, gives what reading everything gives, with everything
//!   switched off; while the transaction has written, and while others write. Which paths were taken, and in which circumstances, is
//!   counted ([`coverage`]);
//! * [`relations`]: what must hold between answers.
//!
//! `LEAFLINE_SEED` chooses the first seed, `LEAFLINE_TEST_SCALE` how many there are. From [`LONG`] on, each path must have been met in each
//! circumstance 500 times. `LEAFLINE_TRACE` has every statement printed. `tests/planted_bugs/run` plants bugs that [`paths`] has to find.

mod aimed;
mod asking;
mod conditions;
mod coverage;
mod kinds;
mod paths;
mod planted;
mod questions;
mod relations;
#[path = "../support/rows.rs"]
mod rows;
mod tables;
mod traffic;
mod ways;

use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// The scale from which on a run is a long one.
const LONG: u64 = 200;

/// Differences that are shown, and with which a run ends.
const SHOWN: usize = 5;

fn first_seed() -> u64 {
    match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    }
}

fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Runs some seeds, and says what was found.
fn all(first: u64, seeds: u64, run: fn(u64, &mut paths::Found)) -> coverage::Coverage {
    println!("LEAFLINE_SEED={first}");
    let mut found = paths::Found::default();
    for seed in (0..seeds).map(|n| u64::wrapping_add(first, n)) {
        run(seed, &mut found);
        if found.differences.len() >= SHOWN {
            break;
        }
    }
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
fn they_do_while_others_write() {
    all(first_seed(), scale(), paths::run_concurrently);
}

#[test]
fn answers_stand_to_each_other_as_they_must() {
    let first = first_seed();
    println!("LEAFLINE_SEED={first}");
    let counts = (0..2 * scale()).map(|n| relations::run(u64::wrapping_add(first, n)));
    let (checks, failed) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    println!("{checks} checks, {failed} ended by an error");
    assert!(checks > 100 * scale(), "{checks} checks, {failed} ended by an error");
}
