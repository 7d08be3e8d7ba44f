//! The format of weights in keys. The bytes order under `memcmp` as the weights do, and most weights take one
//! byte or two.
//!
//! The key of a string is: the weights of the first level; for each further level `01` and its weights; then `00`. No
//! other byte of the key is `00`, and `01` otherwise only follows a space, so the end of a key is found without
//! knowing the weights.
//!
//! | weight                                    | bytes                                                              |
//! |-------------------------------------------|--------------------------------------------------------------------|
//! | first level, Unicode collation algorithm  | the number of its lead range + 2; in ranges of more than one weight, then its place in the range + 1 |
//! | the second of two implicit weights        | (w - 8000) / 255 + 1, (w - 8000) % 255 + 1                          |
//! | first level, others                       | w + 1, encoded as UTF-8 encodes code points                         |
//! | second level                              | w - 1e                                                             |
//! | third level                               | w                                                                  |
//!
//! Lead ranges are part of the table. They are chosen so that each weight of ASCII has a one-byte key. The lead
//! of `fb00` to `fbe1`, the first of two implicit weights, says that the next weight is the second.
//!
//! Under PAD SPACE, trailing spaces are left out. A space has a second byte, which says how the bytes after the run
//! of spaces compare to spaces: `01` lower, `03` higher, and `02` at the end of the string, which stands for spaces
//! without end.

use super::table::Words;

/// In the ASCII table: a character without weights.
pub(super) const IGNORED: u8 = 0;
/// In the ASCII table: a character whose weights take more than a byte in a key.
pub(super) const LONG: u8 = 0xff;

/// The format of the weights of the first level.
#[derive(Debug, Clone, Copy)]
pub(super) enum Packing {
    /// As a lead, by these ranges, and a place.
    Leads(Words),
    /// As UTF-8 writes code points.
    CodePoints,
}

pub(super) const FIRST_LEAD: u8 = 2;
pub(super) const LEVEL_SEPARATOR: u8 = 1;
pub(super) const END: u8 = 0;
pub(super) const RUN_THEN_LOWER: u8 = 1;
pub(super) const RUN_FOREVER: u8 = 2;
pub(super) const RUN_THEN_HIGHER: u8 = 3;
/// The first of two implicit weights.
pub(super) const IMPLICIT: std::ops::RangeInclusive<u16> = 0xfb00..=0xfbff;
pub(super) const SECOND_IMPLICIT: u16 = 0x8000;

impl Packing {
    /// Returns the byte of a weight that takes one byte, otherwise [`LONG`].
    pub(super) const fn single_byte(self, w: u16) -> u8 {
        match self {
            Packing::Leads(leads) => match lead(leads, w) {
                (number, _, 1) => number as u8 + FIRST_LEAD,
                _ => LONG,
            },
            Packing::CodePoints if w < 0x7f => w as u8 + 1,
            Packing::CodePoints => LONG,
        }
    }

    /// Returns, for each byte that may begin a weight, the first such weight and how many there are; none for weights
    /// written as code points.
    pub(super) fn leads(self) -> [[u16; 2]; 256] {
        let mut ranges = [[0; 2]; 256];
        if let Packing::Leads(leads) = self {
            for (number, range) in ranges.iter_mut().skip(usize::from(FIRST_LEAD)).enumerate() {
                *range = [leads.get(2 * number), leads.get(2 * number + 1)];
            }
        }
        ranges
    }
}

/// Finds the last range that begins at or below `w`; returns its number, its first weight, and how many weights it
/// has.
#[inline]
pub(super) const fn lead(leads: Words, w: u16) -> (usize, u16, u16) {
    let (mut low, mut high) = (0, leads.len() / 2);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if leads.get(2 * middle) <= w {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, leads.get(2 * low), leads.get(2 * low + 1))
}

pub(super) fn secondary(w: u16) -> u8 {
    (w - 0x1e) as u8
}
