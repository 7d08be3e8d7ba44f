//! The shapes of keys and payloads.

use rand::Rng;
use rand::rngs::SmallRng;

/// The way keys are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    Ascending4,
    Ascending8,
    Descending8,
    NearSorted8,
    Random4,
    Random8,
    /// A few long prefixes with short suffixes.
    SharedPrefix,
    /// Few letters, mostly zero bytes, so that keys are often prefixes of each other.
    ZeroBytes,
    /// Any length from 1 byte to the longest key.
    AnyLength,
}

/// The length of payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    None,
    Small,
    Medium,
    /// Any length up to the largest entry.
    Huge,
}

impl Keys {
    /// Makes a new key; `n` counts up.
    pub fn make(self, rng: &mut SmallRng, n: u64, max_len: usize) -> Vec<u8> {
        match self {
            Keys::Ascending4 => (n as u32).to_be_bytes().to_vec(),
            Keys::Ascending8 => (n * 3).to_be_bytes().to_vec(),
            Keys::Descending8 => (u64::MAX / 2 - n * 2).to_be_bytes().to_vec(),
            Keys::NearSorted8 => (n * 4 + rng.random_range(0..40)).to_be_bytes().to_vec(),
            Keys::Random4 => rng.random_range(0..200_000u32).to_be_bytes().to_vec(),
            Keys::Random8 => rng.random::<u64>().to_be_bytes().to_vec(),
            Keys::SharedPrefix => {
                let mut key = vec![rng.random_range(b'a'..b'd'); max_len / rng.random_range(2..9)];
                key.extend_from_slice(&rng.random_range(0..20_000u32).to_be_bytes());
                key
            }
            Keys::ZeroBytes => {
                let len = rng.random_range(1..18);
                (0..len).map(|_| [0, 0, 0, 1, 255][rng.random_range(0..5)]).collect()
            }
            Keys::AnyLength => {
                let longest = [8, 40, max_len][rng.random_range(0..3)];
                let len = rng.random_range(1..=longest);
                let mut key: Vec<u8> = (0..len.min(12)).map(|_| rng.random()).collect();
                key.resize(len, b'x');
                key
            }
        }
    }
}

impl Payloads {
    pub fn make(self, rng: &mut SmallRng, key_len: usize, max_entry: usize) -> Vec<u8> {
        let most = max_entry - key_len;
        let len = match self {
            Payloads::None => 0,
            Payloads::Small => rng.random_range(0..40.min(most)),
            Payloads::Medium => rng.random_range(0..400.min(most)),
            Payloads::Huge if rng.random_ratio(1, 4) => rng.random_range(0..=most),
            Payloads::Huge => rng.random_range(0..400.min(most)),
        };
        let byte: u8 = rng.random();
        (0..len).map(|at| byte ^ (at as u8 & 3)).collect()
    }
}
