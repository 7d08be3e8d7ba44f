//! What the tests of this crate share.

/// Seed of a random test: from `LEAFLINE_SEED`, else drawn. Tests print it when they fail.
pub(crate) fn seed() -> u64 {
    match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => rand::random(),
    }
}
