//! The interface of every engine.

/// Bytes of a value.
pub const VALUE_BYTES: usize = 100;
/// Rows of a range scan.
pub const SCAN_ROWS: usize = 100;

/// The kinds of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// 8-byte integers.
    Int,
    /// Strings of 30 bytes.
    Text,
}

impl Keys {
    pub fn parse(name: &str) -> Option<Keys> {
        match name {
            "int" => Some(Keys::Int),
            "text" => Some(Keys::Text),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Keys::Int => "int",
            Keys::Text => "text",
        }
    }

    /// Writes key number `n` as bytes that sort like the numbers, for engines whose keys are bytes.
    pub fn bytes(self, n: u64, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Keys::Int => out.extend_from_slice(&n.to_be_bytes()),
            Keys::Text => out.extend_from_slice(text(n, &mut [0; TEXT_BYTES]).as_bytes()),
        }
    }
}

/// Bytes of a string key.
pub const TEXT_BYTES: usize = 30;

/// Returns key number `n` as a string; without `format!`, which would take longer than some engines.
pub fn text(n: u64, buffer: &mut [u8; TEXT_BYTES]) -> &str {
    *buffer = *b"customer/0000000000000000/acct";
    for (at, digit) in buffer[9..25].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(n >> (60 - 4 * at)) as usize & 15];
    }
    std::str::from_utf8(buffer).expect("digits")
}

/// Returns the value of a key after `changes` changes: ASCII, so that it can be stored as text.
pub fn value(n: u64, changes: u64) -> String {
    let seed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ changes;
    format!("{seed:0>width$x}", width = VALUE_BYTES)
}

/// The settings of an engine.
pub struct Settings {
    /// The kind of its keys.
    pub keys: Keys,
    /// The cache in bytes.
    pub memory: u64,
    /// Leafline's page size in bytes; 0 for its default.
    pub page_size: usize,
    /// Whether the data will be larger than memory.
    pub beyond_memory: bool,
}

/// An open store.
pub trait Engine: Sync {
    /// Returns a handle for one thread.
    fn client(&self) -> Box<dyn Client + '_>;
}

/// One thread's use of a store. Reads of one call of `reads` may share a snapshot.
pub trait Client {
    /// Puts rows in one durable transaction.
    fn put(&mut self, rows: &[(u64, String)]);

    /// Reads the value of each key that `next` returns, until it returns none; returns the bytes read in all.
    fn reads(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64;

    /// Reads [`SCAN_ROWS`] rows from each key that `next` returns, until it returns none; returns the rows read in
    /// all.
    fn scans(&mut self, next: &mut dyn FnMut() -> Option<u64>) -> u64;
}
