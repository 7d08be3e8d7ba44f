//! Collations: how strings compare, when they are equal, and what to hash.
//!
//! | name                                        | compares                                   | trailing spaces |
//! |---------------------------------------------|--------------------------------------------|-----------------|
//! | binary, utf8mb4_0900_bin                    | bytes                                      | count           |
//! | utf8mb4_bin, utf8mb3_bin, ascii_bin         | code points                                | PAD SPACE: none |
//! | latin1_bin                                  | bytes of latin1                            | PAD SPACE       |
//! | utf8mb4_0900_ai_ci, _as_ci, _as_cs          | UCA 9.0.0: letters; accents too; case too   | count           |
//! | utf8mb4_unicode_520_ci                      | UCA 5.2.0, letters                         | PAD SPACE       |
//! | utf8mb4_unicode_ci, utf8mb3_unicode_ci      | UCA 4.0.0, letters                         | PAD SPACE       |
//! | utf8mb4_general_ci, utf8mb3_general_ci, ascii_general_ci | MySQL's weight per character   | PAD SPACE       |
//! | latin1_swedish_ci                           | MySQL's weight per byte of latin1           | PAD SPACE       |
//!
//! UTF-8 keeps the order of code points in its bytes, so what compares code points compares bytes. PAD SPACE compares the
//! shorter string as if it went on with spaces: `'a\t' < 'a' = 'a ' < 'a!'`.
//!
//! | module      | does                                                          |
//! |-------------|---------------------------------------------------------------|
//! | [`charset`] | character sets: which characters a string may hold            |
//! | `table`     | the tables of weights                                         |
//! | `weights`   | from strings to weights; comparison                           |
//! | `packing`   | weights as bytes of keys                                      |
//! | `unpacking` | and back                                                      |
//! | `search`    | where a string is in another                                  |
//! | `canonical` | from weights back to the plainest characters that have them   |

mod canonical;
pub mod charset;
mod packing;
mod search;
mod table;
mod unpacking;
mod weights;

use std::cmp::Ordering;
use std::fmt;

pub(crate) use self::canonical::{KeyUnits, StringUnits};
pub use self::charset::Charset;
pub(crate) use self::weights::Weights;
use crate::error::MysqlError;
use crate::output::{Output, Stop};

/// A collation that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Collation {
    /// Bytes, of binary strings.
    Binary,
    /// Code points, PAD SPACE.
    Utf8mb4Bin,
    /// Code points, NO PAD.
    Utf8mb4_0900Bin,
    /// Letters by UCA 9.0.0, NO PAD.
    Utf8mb4_0900AiCi,
    /// Letters and accents by UCA 9.0.0, NO PAD.
    Utf8mb4_0900AsCi,
    /// Letters, accents and case by UCA 9.0.0, NO PAD.
    Utf8mb4_0900AsCs,
    /// MySQL's simple weights, PAD SPACE.
    Utf8mb4GeneralCi,
    /// Letters by UCA 4.0.0, PAD SPACE.
    Utf8mb4UnicodeCi,
    /// Letters by UCA 5.2.0, PAD SPACE.
    Utf8mb4Unicode520Ci,
    /// Code points, PAD SPACE.
    Utf8mb3Bin,
    /// MySQL's simple weights, PAD SPACE.
    Utf8mb3GeneralCi,
    /// Letters by UCA 4.0.0, PAD SPACE.
    Utf8mb3UnicodeCi,
    /// Code points, PAD SPACE.
    AsciiBin,
    /// Letters, PAD SPACE.
    AsciiGeneralCi,
    /// Bytes of latin1, PAD SPACE.
    Latin1Bin,
    /// Letters as in Swedish, PAD SPACE.
    Latin1SwedishCi,
}

/// The character sets of collations that MySQL has and we do not, as their names begin.
const KNOWN_PREFIXES: &[&str] = &[
    "utf8mb4_", "utf8mb3_", "utf8_", "latin1_", "ascii_", "ucs2_", "utf16_", "utf16le_", "utf32_",
    "gb18030_", "gbk_", "big5_", "latin2_", "latin5_", "cp1250_", "cp1251_", "sjis_", "ujis_", "euckr_",
];

/// How a collation compares.
enum Order {
    Bytes,
    PaddedBytes,
    Weights(&'static Weights),
}

impl Collation {
    /// All of them.
    pub const ALL: [Collation; 16] = [
        Collation::Binary,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4_0900Bin,
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4_0900AsCi,
        Collation::Utf8mb4_0900AsCs,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4UnicodeCi,
        Collation::Utf8mb4Unicode520Ci,
        Collation::Utf8mb3Bin,
        Collation::Utf8mb3GeneralCi,
        Collation::Utf8mb3UnicodeCi,
        Collation::AsciiBin,
        Collation::AsciiGeneralCi,
        Collation::Latin1Bin,
        Collation::Latin1SwedishCi,
    ];

    /// That of strings whose collation nothing says.
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;

    /// MySQL's number of it, as result metadata carries it, and its name.
    fn number_and_name(self) -> (u16, &'static str) {
        match self {
            Collation::Binary => (63, "binary"),
            Collation::Utf8mb4Bin => (46, "utf8mb4_bin"),
            Collation::Utf8mb4_0900Bin => (309, "utf8mb4_0900_bin"),
            Collation::Utf8mb4_0900AiCi => (255, "utf8mb4_0900_ai_ci"),
            Collation::Utf8mb4_0900AsCi => (305, "utf8mb4_0900_as_ci"),
            Collation::Utf8mb4_0900AsCs => (278, "utf8mb4_0900_as_cs"),
            Collation::Utf8mb4GeneralCi => (45, "utf8mb4_general_ci"),
            Collation::Utf8mb4UnicodeCi => (224, "utf8mb4_unicode_ci"),
            Collation::Utf8mb4Unicode520Ci => (246, "utf8mb4_unicode_520_ci"),
            Collation::Utf8mb3Bin => (83, "utf8mb3_bin"),
            Collation::Utf8mb3GeneralCi => (33, "utf8mb3_general_ci"),
            Collation::Utf8mb3UnicodeCi => (192, "utf8mb3_unicode_ci"),
            Collation::AsciiBin => (65, "ascii_bin"),
            Collation::AsciiGeneralCi => (11, "ascii_general_ci"),
            Collation::Latin1Bin => (47, "latin1_bin"),
            Collation::Latin1SwedishCi => (8, "latin1_swedish_ci"),
        }
    }

    /// MySQL's number of it, as result metadata carries it.
    pub fn id(self) -> u16 {
        self.number_and_name().0
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.number_and_name().1
    }

    /// Its character set.
    pub fn charset(self) -> Charset {
        match self {
            Collation::Binary => Charset::Binary,
            Collation::Utf8mb3Bin | Collation::Utf8mb3GeneralCi | Collation::Utf8mb3UnicodeCi => {
                Charset::Utf8mb3
            }
            Collation::AsciiBin | Collation::AsciiGeneralCi => Charset::Ascii,
            Collation::Latin1Bin | Collation::Latin1SwedishCi => Charset::Latin1,
            _ => Charset::Utf8mb4,
        }
    }

    #[inline]
    fn order(self) -> Order {
        match self {
            Collation::Binary | Collation::Utf8mb4_0900Bin => Order::Bytes,
            Collation::Utf8mb4Bin | Collation::Utf8mb3Bin | Collation::AsciiBin => Order::PaddedBytes,
            Collation::Utf8mb4_0900AiCi => Order::Weights(&weights::UCA_900_AI_CI),
            Collation::Utf8mb4_0900AsCi => Order::Weights(&weights::UCA_900_AS_CI),
            Collation::Utf8mb4_0900AsCs => Order::Weights(&weights::UCA_900_AS_CS),
            Collation::Utf8mb4Unicode520Ci => Order::Weights(&weights::UNICODE_520),
            Collation::Utf8mb4UnicodeCi | Collation::Utf8mb3UnicodeCi => Order::Weights(&weights::UNICODE),
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb3GeneralCi | Collation::AsciiGeneralCi => {
                Order::Weights(&weights::GENERAL)
            }
            Collation::Latin1SwedishCi => Order::Weights(&weights::LATIN1_SWEDISH),
            Collation::Latin1Bin => Order::Weights(&weights::LATIN1_BIN),
        }
    }

    #[inline]
    pub(crate) fn weights(self) -> Option<&'static Weights> {
        match self.order() {
            Order::Weights(weights) => Some(weights),
            _ => None,
        }
    }

    /// Whether trailing spaces are ignored.
    #[inline]
    pub fn pads_space(self) -> bool {
        match self.order() {
            Order::Bytes => false,
            Order::PaddedBytes => true,
            Order::Weights(weights) => weights.pads,
        }
    }

    /// Whether characters are compared by weights, so that different ones may be equal; else by bytes, of which only
    /// trailing spaces may not count.
    #[inline]
    pub fn is_weighted(self) -> bool {
        matches!(self.order(), Order::Weights(_))
    }

    /// Whether only a string itself is equal to it.
    #[inline]
    pub fn equal_is_same(self) -> bool {
        matches!(self.order(), Order::Bytes)
    }

    /// Whether it is one of code points: when it meets another of its character set, it stands.
    pub fn is_bin(self) -> bool {
        self == self.charset().binary_collation() || self == Collation::Utf8mb4_0900Bin
    }

    /// Whether upper and lower case are the same to it.
    pub fn ignores_case(self) -> bool {
        self.name().ends_with("_ci")
    }

    /// The collation of that name, in any case; `utf8_` is `utf8mb3_`. Error 1235 for one that MySQL has and we do not, 1273
    /// for one that nobody has.
    pub fn from_name(name: &str) -> Result<Self, MysqlError> {
        let lower = name.to_ascii_lowercase();
        let current = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower.clone(),
        };
        if let Some(found) = Self::ALL.into_iter().find(|c| c.name() == current) {
            return Ok(found);
        }
        let known = KNOWN_PREFIXES.iter().any(|p| lower.starts_with(p));
        if known && ["_ci", "_cs", "_bin"].iter().any(|s| lower.ends_with(s)) {
            return Err(MysqlError::not_supported(format_args!("COLLATE {lower}")));
        }
        Err(MysqlError::unknown_collation(name))
    }

    /// The collation of that number.
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.id() == id)
    }

    /// The most bytes that a key takes for a character, or half of it where spaces and zeros double.
    pub fn most_key_bytes(self) -> usize {
        // U+FDFA has 18 weights on each level.
        const MOST_WEIGHTS: usize = 18;
        match self.weights() {
            Some(weights) => MOST_WEIGHTS * (weights.levels.len() + 1),
            None => self.charset().max_bytes() as usize,
        }
    }

    /// What SHOW COLLATION calls its sort length.
    pub fn sort_length(self) -> u64 {
        match self {
            Collation::Utf8mb4UnicodeCi | Collation::Utf8mb4Unicode520Ci | Collation::Utf8mb3UnicodeCi => 8,
            Collation::Utf8mb4_0900AiCi | Collation::Utf8mb4_0900AsCi | Collation::Utf8mb4_0900AsCs => 0,
            _ => 1,
        }
    }

    /// Compares two strings.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.order() {
            Order::Bytes => a.cmp(b),
            Order::PaddedBytes => compare_padded(a, b),
            Order::Weights(weights) => weights.compare(a, b),
        }
    }

    /// Whether two strings are equal.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        match self.order() {
            Order::Bytes => a == b,
            Order::PaddedBytes => trim_spaces(a) == trim_spaces(b),
            Order::Weights(weights) => weights.compare(a, b).is_eq(),
        }
    }

    /// The bytes that are the same for equal strings and different for others: what to hash, group and join on.
    /// They do not order strings; [`Collation::sort_key`] does. `buffer` is overwritten where they are not part of `s`.
    #[inline]
    pub fn hash_key<'a>(self, s: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match self.order() {
            Order::Bytes => s,
            Order::PaddedBytes => trim_spaces(s),
            Order::Weights(weights) => {
                buffer.clear();
                packing::append_key(weights, s, buffer);
                buffer
            }
        }
    }

    /// Appends bytes whose order under `memcmp` is the collation's, and that no other string's are a prefix of:
    /// they can be followed by another sort key. They are what an index holds.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        crate::key::encode_string(self, s, out);
    }

    /// Appends the key bytes of a string of a weighted collation; whether it is one.
    #[inline]
    pub(crate) fn append_weights(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        match self.weights() {
            Some(weights) => packing::append_key(weights, s, out),
            None => return false,
        }
        true
    }

    /// Appends what the key bytes of all strings that begin with `s` begin with; whether the collation is weighted.
    pub(crate) fn append_weights_prefix(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        match self.weights() {
            Some(weights) => packing::append_prefix(weights, s, out),
            None => return false,
        };
        true
    }

    /// Appends what the key bytes of all strings begin with whose first `most` weights are those of `s`, or of all that begin with
    /// `s` if it has no more; whether it has `most` or more. `None` if the collation has no weights.
    pub(crate) fn append_first_weights(self, s: &[u8], most: usize, out: &mut Vec<u8>) -> Option<bool> {
        Some(packing::append_first(self.weights()?, s, most, out))
    }

    /// What the first `characters` of a string are; bytes of a binary one. Those that have no weight of their own, such as
    /// combining accents, go with the one before them and do not count.
    pub fn beginning(self, s: &[u8], characters: usize) -> &[u8] {
        if s.len() <= characters {
            return s;
        }
        let begins = |(_, byte): &(usize, &u8)| **byte & 0xc0 != 0x80;
        let end = match self.order() {
            Order::Bytes if self == Collation::Binary => Some(characters),
            Order::Bytes | Order::PaddedBytes => {
                s.iter().enumerate().filter(begins).nth(characters).map(|(at, _)| at)
            }
            Order::Weights(weights) => weights.nth_character(s, characters),
        };
        end.and_then(|end| s.get(..end)).unwrap_or(s)
    }

    /// Whether two characters, each the whole of its string, are the same to LIKE.
    #[inline]
    pub(crate) fn same_character(self, a: &[u8], b: &[u8]) -> bool {
        match self.order() {
            Order::Weights(weights) => weights.same_character(a, b),
            _ => a == b,
        }
    }

    /// Writes what WEIGHT_STRING gives: two bytes per weight, levels apart by a zero; the bytes themselves of a collation that has
    /// no weights.
    pub(crate) fn put_weight_string(self, s: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
        let Some(weights) = self.weights() else { return out.push(s) };
        for (number, level) in weights.levels.iter().enumerate() {
            if number > 0 {
                out.push(&[0, 0])?;
            }
            level.weights(s).try_for_each(|w| out.push(&w.to_be_bytes()))?;
        }
        Ok(())
    }

    /// Writes the low byte of each weight: all there is of those of a character set of single bytes, which have one level.
    pub(crate) fn put_low_weights(self, s: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
        let Some(weights) = self.weights() else { return out.push(s) };
        weights
            .levels
            .iter()
            .try_for_each(|level| level.weights(s).try_for_each(|w| out.push(&w.to_be_bytes()[1..])))
    }
}

/// How many bytes at the front of `key` the key of a string under a weighted collation takes, each byte `^ mask`.
pub(crate) fn weights_len(key: &[u8], mask: u8) -> Option<usize> {
    key.iter().position(|&b| b == packing::END ^ mask).map(|end| end + 1)
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `s` without its trailing spaces.
#[inline]
pub fn trim_spaces(s: &[u8]) -> &[u8] {
    let len = s.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    &s[..len]
}

fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let (head_a, rest_a) = a.split_at(common);
    let (head_b, rest_b) = b.split_at(common);
    head_a.cmp(head_b).then_with(|| against_spaces(rest_a)).then_with(|| against_spaces(rest_b).reverse())
}

/// Compares `s` with as many spaces.
fn against_spaces(s: &[u8]) -> Ordering {
    s.iter().find(|&&b| b != b' ').map_or(Ordering::Equal, |b| b.cmp(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pad_space_compares_as_if_padded() {
        for c in [Collation::Utf8mb4Bin, Collation::Latin1Bin, Collation::Utf8mb4GeneralCi] {
            let ordered: [&[u8]; 7] = [b"", b"\t", b"a\t", b"a", b"a !", b"a!", b"aa"];
            // '' pads to spaces, which come after '\t'.
            assert_eq!(c.compare(b"", b"\t"), Ordering::Greater);
            for w in ordered[2..].windows(2) {
                assert_eq!(c.compare(w[0], w[1]), Ordering::Less, "{c} {w:?}");
                assert_eq!(c.compare(w[1], w[0]), Ordering::Greater, "{c} {w:?}");
            }
            assert_eq!(c.compare(b"a", b"a   "), Ordering::Equal);
            assert!(c.equal(b"a ", b"a") && !c.equal(b" a", b"a"));
        }
        for c in [Collation::Utf8mb4_0900Bin, Collation::Binary, Collation::Utf8mb4_0900AiCi] {
            assert!(!c.equal(b"a ", b"a"));
            assert_eq!(c.compare(b"a\t", b"a"), Ordering::Greater);
        }
    }

    #[test]
    fn names_and_ids_go_both_ways() {
        for c in Collation::ALL {
            assert_eq!(Collation::from_name(&c.name().to_uppercase()).unwrap(), c);
            assert_eq!(Collation::from_id(c.id()), Some(c));
            assert!(c.name().starts_with(c.charset().name()));
        }
        assert_eq!(Collation::from_name("utf8_bin").unwrap(), Collation::Utf8mb3Bin);
        assert_eq!(Collation::from_name("utf8mb4_uca1400_ai_ci").unwrap_err().code, 1235);
        assert_eq!(Collation::from_name("utf8mb4_klingon").unwrap_err().code, 1273);
        let e = Collation::from_name("Klingon").unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (1273, "Unknown collation: 'Klingon'"));
    }
}
