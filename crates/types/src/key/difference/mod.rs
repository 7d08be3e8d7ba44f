//! The part of a value that the bytes of its key lose.
//!
//! The key of a string under a collation that ignores case, accents or trailing spaces does not determine the string,
//! and the key of a DOUBLE does not tell -0.0 from 0.0. So that an index covers its columns, it stores beside each
//! key the *difference* of the value to the value that the key implies. A string key implies the plainest string that
//! has it (`collation::canonical`): small letters, no accents, no trailing spaces. The difference of that string, and
//! of NULL, is empty. The difference of any other string is a header and what the header asks for:
//!
//! | bytes  | of a string                                                                            |
//! |-------:|----------------------------------------------------------------------------------------|
//! | 1      | header: bits 0-2 the way, bits 3-7 the count of trailing spaces; 31: add the number that follows |
//! | number | of trailing spaces less 31                                                              |
//! | number, n | way 4: length of the bits, and the bits: one for each character that is one of two forms, from the lowest bit of the first byte on, set if it is the second form; characters beyond the bits are first forms |
//! | the rest | way 5: the string; otherwise the edits                                               |
//!
//! | way | which form characters with two forms have                                  |
//! |----:|----------------------------------------------------------------------------|
//! | 0   | the first: small letters                                                   |
//! | 1   | the first such character the second, others the first                      |
//! | 2   | the second: capitals                                                       |
//! | 3   | the second at the start of words: of the string, and behind ASCII that is neither letter, digit nor apostrophe |
//! | 4   | given by bits                                                              |
//! | 5   | none: the whole string follows                                             |
//!
//! An edit is a byte and what follows it. Bits 0-5 count the units of the key since the last edit, which have the
//! form that the way gives (63: add the number that follows). Bits 6-7 are the kind:
//!
//! | bits 6-7 | what follows                                          | stands for                                 |
//! |---------:|-------------------------------------------------------|--------------------------------------------|
//! | 0        |                                                       | a unit in its other form                   |
//! | 1        | a character                                           | a unit                                     |
//! | 2        | a character                                           | nothing: it has no weights                 |
//! | 3        | number of units, length of the text, the text         | these units                                |
//!
//! A *number* is one byte if below 128, otherwise two: big-endian, less 128, with the top bit set. Strings of PAD
//! SPACE collations of code points can differ in trailing spaces only. The difference of a DOUBLE or FLOAT that is
//! -0.0 is `01`.
//!
//! A payload holds the differences of some parts in their order. Each but the last part's has its length before it,
//! as a number; those behind the last one that is not empty are left out.
//!
//! Every version of the program writes the same difference for a string: CHECK TABLE compares bytes.

mod read;
mod write;

use super::{KeyPart, is_restorable};
use crate::value::SqlType;

pub(crate) use read::{PlainCase, difference_len, difference_of, restore_text, restore_value, verify};
use write::append_difference;
pub(crate) use write::append_differences;

/// The bits of a header that hold the way.
const WAY: u8 = 7;
/// The place of the count of trailing spaces in a header, and the count that asks for a number.
const SPACES_AT: u32 = 3;
const MORE_SPACES: usize = 31;

/// The place of the kind in an edit, and the count of units that asks for a number.
const KIND_AT: u32 = 6;
const MORE_UNITS: usize = 63;

/// The rule that gives the form of characters with two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum CaseEncoding {
    First = 0,
    Initial = 1,
    Second = 2,
    Words = 3,
    Bits = 4,
    Whole = 5,
}

/// The replacement that an edit puts in the place of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    OtherForm = 0,
    Character = 1,
    Inserted = 2,
    Text = 3,
}

/// The difference of a DOUBLE or FLOAT that is -0.0.
const NEGATIVE_ZERO: &[u8] = &[1];

/// The largest number that can be written.
const MOST: usize = 0x7fff + 128;

/// Whether the part's values need a difference beside the key to be restored.
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

impl CaseEncoding {
    /// Whether a character with two forms has the second, after `standing` other such characters and the text
    /// `before`.
    #[inline]
    fn is_second(self, standing: usize, before: &[u8]) -> bool {
        match self {
            CaseEncoding::Initial => standing == 0,
            CaseEncoding::Second => true,
            CaseEncoding::Words => before
                .last()
                .is_none_or(|last| last.is_ascii() && !last.is_ascii_alphanumeric() && *last != b'\''),
            CaseEncoding::First | CaseEncoding::Bits | CaseEncoding::Whole => false,
        }
    }
}

#[cfg(test)]
mod tests;
