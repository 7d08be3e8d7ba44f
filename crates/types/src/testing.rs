//! Helpers of this crate's random tests: seeds, scale, and random text.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Returns a generator seeded from `LEAFLINE_SEED`, or at random; prints the seed, so that a failure can be repeated.
pub(crate) fn rng(test: &str) -> SmallRng {
    let seed = std::env::var("LEAFLINE_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| SmallRng::from_os_rng().random());
    println!("{test}: LEAFLINE_SEED={seed}");
    SmallRng::seed_from_u64(seed)
}

/// Returns `n` times `LEAFLINE_TEST_SCALE`.
pub(crate) fn iterations(n: usize) -> usize {
    let scale = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse::<usize>().ok()).unwrap_or(1);
    n * scale.max(1)
}

/// Makes a short string in which equal beginnings, spaces, control characters and long characters are common.
pub(crate) fn text(rng: &mut SmallRng, max_chars: usize) -> String {
    const ALPHABET: [char; 12] = ['a', 'a', 'b', ' ', ' ', '\t', '\0', '!', '\u{1}', 'é', '漢', '🦀'];
    let len = rng.random_range(0..=max_chars);
    (0..len).map(|_| ALPHABET[rng.random_range(0..ALPHABET.len())]).collect()
}

/// Makes a short byte string in which 0x00, 0x01 and 0xff are common.
pub(crate) fn bytes(rng: &mut SmallRng, max_len: usize) -> Vec<u8> {
    let len = rng.random_range(0..=max_len);
    (0..len)
        .map(|_| if rng.random_bool(0.7) { [0, 1, 0xff, b' '][rng.random_range(0..4)] } else { rng.random() })
        .collect()
}

/// Makes up to `max` decimal digits, few or many.
pub(crate) fn digits(rng: &mut SmallRng, max: usize) -> String {
    let len = rng.random_range(1..=max);
    let style = rng.random_range(0..4);
    let digit = |rng: &mut SmallRng| match style {
        0 => '9',
        1 if rng.random_bool(0.8) => '0',
        _ => char::from(b'0' + rng.random_range(0..10)),
    };
    (0..len).map(|_| digit(rng)).collect()
}
