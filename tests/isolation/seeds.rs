//! Parameters of random tests.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Returns `LEAFLINE_SEED`, or a random seed.
pub fn seed() -> u64 {
    let seed = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    };
    println!("LEAFLINE_SEED={seed}");
    seed
}

/// Returns `LEAFLINE_TEST_SCALE`, or 1.
pub fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}
