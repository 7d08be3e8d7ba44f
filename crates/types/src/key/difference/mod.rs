//! What a value has beyond the bytes of its key.
//!
//! The key of a string that is compared without regard to case, accents or trailing spaces does not give it back, nor does that of a DOUBLE tell -0.0
//! from 0.0. So that an index covers its columns, the *difference* of each value to what its key says is kept beside the key. What a key says is the
//! plainest string that has it (`collation::canonical`): small letters, no accents, no trailing spaces. Its difference is nothing, as is that of NULL. Any
//! other string's has a header, and what the header says:
//!
//! | bytes  | of a string                                                                            |
//! |-------:|----------------------------------------------------------------------------------------|
//! | 1      | header: bits 0-2 the way, bits 3-7 trailing spaces that the key does not have; 31: add the number that follows |
//! | number | of trailing spaces less 31                                                              |
//! | number, n | way 4: length of the bits, and these: of each character that has two forms and stands as one of them, from the lowest bit of the first byte on, whether it stands in its second; behind them all stand in the first |
//! | the rest | way 5: the string; else the edits                                                    |
//!
//! | way | characters that have two forms stand                                       |
//! |----:|----------------------------------------------------------------------------|
//! | 0   | in the first: small letters                                                |
//! | 1   | the first of them in the second, others in the first                       |
//! | 2   | in the second: capitals                                                    |
//! | 3   | in the second at the start of words: of the string, and behind ASCII that is neither letter, digit nor apostrophe |
//! | 4   | as bits say                                                                |
//! | 5   | nowhere: the whole string follows                                          |
//!
//! An edit is a byte, whose bits 0-5 say how many units of the key stand before it as the way says, from the last edit on (63: add the number that follows),
//! and bits 6-7 what comes then:
//!
//! | bits 6-7 | what follows                                          | stands for                                 |
//! |---------:|-------------------------------------------------------|--------------------------------------------|
//! | 0        |                                                       | a unit in its other form                   |
//! | 1        | a character                                           | a unit                                     |
//! | 2        | a character                                           | nothing: it has no weights                 |
//! | 3        | number of units, length of the text, the text         | these units                                |
//!
//! A *number* is one byte below 128, else two: the first with the top bit, big-endian, less 128. Of PAD SPACE strings of code points only trailing spaces
//! can differ. A DOUBLE or FLOAT that is -0.0 has `01`.
//!
//! A payload has the differences of some parts, in their order: each has its length before it, as a number, but the last part's; those behind the last
//! that is not empty are left out.
//!
//! The same string always has the same difference, whichever version of the program writes it: CHECK TABLE compares bytes.

mod read;
mod write;

use super::{KeyPart, is_restorable};
use crate::value::SqlType;

pub(crate) use read::{PlainCase, difference_len, difference_of, restore_text, restore_value, verify};
use write::append_difference;
pub(crate) use write::append_differences;

/// The bits of a header that say the way.
const WAY: u8 = 7;
/// Where the number of trailing spaces is in a header, and what of it means that a number follows.
const SPACES_AT: u32 = 3;
const MORE_SPACES: usize = 31;

/// Where the kind of an edit is, and how many units mean that a number follows.
const KIND_AT: u32 = 6;
const MORE_UNITS: usize = 63;

/// How characters with two forms stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Way {
    First = 0,
    Initial = 1,
    Second = 2,
    Words = 3,
    Bits = 4,
    Whole = 5,
}

/// What an edit puts in the place of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    OtherForm = 0,
    Character = 1,
    Inserted = 2,
    Text = 3,
}

/// What a DOUBLE that is -0.0 has.
const NEGATIVE_ZERO: &[u8] = &[1];

/// The most that a number can be.
const MOST: usize = 0x7fff + 128;

/// Whether the difference of the part's values is to be kept beside the key for it to give them back.
pub(crate) fn has_difference(part: &KeyPart) -> bool {
    let may = match part.ty {
        SqlType::Double | SqlType::Real { .. } => true,
        SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. } => {
            part.collation.has_differences()
        }
        _ => false,
    };
    may && part.prefix.is_none() && !is_restorable(part)
}

impl Way {
    /// Whether a character with two forms stands in the second: behind `standing` others that do in either, and the text `before`.
    #[inline]
    fn is_second(self, standing: usize, before: &[u8]) -> bool {
        match self {
            Way::Initial => standing == 0,
            Way::Second => true,
            Way::Words => before
                .last()
                .is_none_or(|last| last.is_ascii() && !last.is_ascii_alphanumeric() && *last != b'\''),
            Way::First | Way::Bits | Way::Whole => false,
        }
    }
}

#[cfg(test)]
mod tests;
