//! The words of a document as an index keeps them: one entry for each, with its weight and its positions.
//!
//! | part | bytes |
//! |---|---|
//! | weight | 1: how often the document has the word, in six classes ([`Weight`]); the most frequent one is the least byte, so that the entries of a word begin with the documents that it counts most in |
//! | frequency | only of the class of the most frequent words, whose positions may be left out: a varint |
//! | positions | a varint for each occurrence: the difference to the one before |
//!
//! A position is the number of the token in the document, counted over all columns from 1 and including tokens that are no words of
//! the index, times the number of columns, plus the number of its column. Words with more than [`MAX_POSITION_BYTES`] of positions
//! have none.
//!
//! A varint has seven bits in each byte, the lowest first; the highest bit says that more follow (LEB128).
//!
//! A document also has an entry without a word, weight and payload: the list of all documents.

/// Positions of more bytes are left out.
pub const MAX_POSITION_BYTES: usize = 1000;

/// The least frequency of the class of the most frequent words.
pub(crate) const MANY: u32 = 17;

/// The class of a word's frequency in a document. A class has twice the frequencies of the one behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Weight(pub u8);

impl Weight {
    /// The class of a frequency, which is not 0.
    pub fn of(frequency: u32) -> Weight {
        Weight(match frequency {
            0 | 1 => 5,
            2 => 4,
            3..=4 => 3,
            5..=8 => 2,
            9..MANY => 1,
            _ => 0,
        })
    }

    /// Returns whether all words of the class have the same frequency.
    pub fn is_exact(self) -> bool {
        self.0 >= 4
    }
}

/// An entry of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordEntry<'e> {
    /// The key of the word; `None` in the list of all documents.
    pub word: Option<&'e [u8]>,
    /// The class of the word's frequency.
    pub weight: Weight,
    /// The frequency and the positions, encoded as the module says.
    pub payload: &'e [u8],
}

/// Splits the payload of an entry into frequency and bytes of positions, which are none if they were left out. `None` if the payload
/// is damaged.
pub(crate) fn split_payload(weight: Weight, payload: &[u8]) -> Option<(u32, &[u8])> {
    if weight.0 > 0 {
        // Each varint ends with the only byte of its own without the highest bit.
        let frequency = payload.iter().filter(|byte| **byte < 0x80).count();
        return Some((u32::try_from(frequency).ok().filter(|frequency| *frequency > 0)?, payload));
    }
    let (frequency, rest) = take_varint(payload)?;
    Some((u32::try_from(frequency).ok()?, rest))
}

/// Decodes positions: the number of each token, and of its column.
pub(crate) fn positions(mut bytes: &[u8], columns: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut last = 0_u64;
    std::iter::from_fn(move || {
        let (difference, rest) = take_varint(bytes)?;
        bytes = rest;
        last = last.wrapping_add(difference);
        Some((last / columns.max(1), last % columns.max(1)))
    })
}

/// Encodes a number; returns its bytes, which are the first of `out`.
pub(crate) fn put_varint(mut value: u64, out: &mut [u8; 10]) -> &[u8] {
    let mut length = 0;
    for byte in out.iter_mut() {
        length += 1;
        if value < 0x80 {
            *byte = value as u8;
            break;
        }
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    &out[..length]
}

fn take_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}
