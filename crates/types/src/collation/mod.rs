//! Collations: how strings compare, which are equal, and the bytes to hash.
//!
//! `rows` lists them. Most belong to one of a few kinds:
//!
//! | kind                                                  | compares                                    | trailing spaces |
//! |-------------------------------------------------------|---------------------------------------------|-----------------|
//! | binary, utf8mb4_0900_bin                              | bytes                                       | count           |
//! | `_bin` of Unicode character sets                      | code points                                 | PAD SPACE: none |
//! | `_bin` of other sets                                  | codes of the set                            | PAD SPACE       |
//! | utf8mb4_0900_ai_ci, _as_ci, _as_cs, and their languages | UCA 9.0.0: letters; also accents; also case | count           |
//! | `_unicode_520_ci`                                     | UCA 5.2.0, letters                          | PAD SPACE       |
//! | `_unicode_ci`                                         | UCA 4.0.0, letters                          | PAD SPACE       |
//! | `_german2_ci` and other languages of Unicode sets     | UCA 4.0.0, letters, tailored to the language | PAD SPACE      |
//! | `_general_ci` of Unicode sets                         | MySQL's weight per character                | PAD SPACE       |
//! | others                                                | MySQL's weight per code of the set          | PAD SPACE       |
//!
//! UTF-8 bytes order as code points do, so a comparison of code points compares bytes. PAD SPACE compares the
//! shorter string as if spaces followed it: `'a\t' < 'a' = 'a ' < 'a!'`.
//!
//! | module      | does                                                          |
//! |-------------|---------------------------------------------------------------|
//! | `rows`      | lists the collations                                          |
//! | [`charset`] | character sets: which characters a string may hold, and their bytes |
//! | `codes`     | code tables of non-Unicode sets, and their weights            |
//! | `languages` | tailorings of UCA 9.0.0                                       |
//! | `table`     | weight tables                                                 |
//! | `weights`   | turns strings into weights; compares                          |
//! | `format`    | the format of weights in keys                                 |
//! | `packing`   | packs weights into the bytes of keys                          |
//! | `unpacking` | unpacks weights from the bytes of keys                        |
//! | `search`    | finds a string in another                                     |
//! | `canonical` | turns weights back into the plainest characters that have them |
//! | `ascii_forms`, `characters` | the tables for that                          |
//! | `key_strings` | the bytes of a string in keys                              |

mod ascii_forms;
mod canonical;
mod characters;
pub mod charset;
mod codes;
mod format;
pub(crate) mod key_strings;
mod languages;
mod packing;
mod rows;
mod search;
mod table;
mod unpacking;
mod weights;

use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;

pub(crate) use self::canonical::{KeyUnits, StringUnits};
pub use self::charset::Charset;
use self::codes::Tailoring;
use self::languages::Language;
use self::rows::{ROWS, Row, Sorting};
pub(crate) use self::weights::Weights;
use crate::error::MysqlError;
use crate::output::{BYTES_BETWEEN_CHECKS, Output, Stop};
use crate::statement::{CancelTicker, CancelToken};

/// A collation, as its number in MySQL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(u16);

/// The rules by which a collation compares.
enum Order {
    Bytes,
    PaddedBytes,
    Weights(&'static Weights),
}

/// A bound above all collation numbers.
const NUMBERS: usize = 328;
const NO_ROW: u16 = u16::MAX;

/// The place of each number in [`ROWS`].
const PLACES: [u16; NUMBERS] = {
    let mut places = [NO_ROW; NUMBERS];
    let mut at = 0;
    while at < ROWS.len() {
        places[ROWS[at].number as usize] = at as u16;
        at += 1;
    }
    places
};

static BY_NUMBER: [Row; NUMBERS] = {
    let mut rows = [ROWS[0]; NUMBERS];
    let mut number = 0;
    while number < NUMBERS {
        if PLACES[number] != NO_ROW {
            rows[number] = ROWS[PLACES[number] as usize];
        }
        number += 1;
    }
    rows
};

/// The weights of collations, made on first use.
static MADE: [OnceLock<Weights>; NUMBERS] = [const { OnceLock::new() }; NUMBERS];

/// The collations of [`Collation::has_differences`], oldest first.
pub(crate) const WITH_DIFFERENCES: [Collation; 15] = [
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

/// The collations that code names.
#[expect(non_upper_case_globals, reason = "they stand where variants of an enumeration would")]
impl Collation {
    /// Bytes, of binary strings.
    pub const Binary: Collation = Collation::numbered(63);
    /// Code points, PAD SPACE.
    pub const Utf8mb4Bin: Collation = Collation::numbered(46);
    /// Code points, NO PAD.
    pub const Utf8mb4_0900Bin: Collation = Collation::numbered(309);
    /// Letters by UCA 9.0.0, NO PAD.
    pub const Utf8mb4_0900AiCi: Collation = Collation::numbered(255);
    /// Letters and accents by UCA 9.0.0, NO PAD.
    pub const Utf8mb4_0900AsCi: Collation = Collation::numbered(305);
    /// Letters, accents and case by UCA 9.0.0, NO PAD.
    pub const Utf8mb4_0900AsCs: Collation = Collation::numbered(278);
    /// MySQL's simple weights, PAD SPACE.
    pub const Utf8mb4GeneralCi: Collation = Collation::numbered(45);
    /// Letters by UCA 4.0.0, PAD SPACE.
    pub const Utf8mb4UnicodeCi: Collation = Collation::numbered(224);
    /// Letters by UCA 5.2.0, PAD SPACE.
    pub const Utf8mb4Unicode520Ci: Collation = Collation::numbered(246);
    /// Code points, PAD SPACE.
    pub const Utf8mb3Bin: Collation = Collation::numbered(83);
    /// MySQL's simple weights, PAD SPACE.
    pub const Utf8mb3GeneralCi: Collation = Collation::numbered(33);
    /// Letters by UCA 4.0.0, PAD SPACE.
    pub const Utf8mb3UnicodeCi: Collation = Collation::numbered(192);
    /// Code points, PAD SPACE.
    pub const AsciiBin: Collation = Collation::numbered(65);
    /// Letters, PAD SPACE.
    pub const AsciiGeneralCi: Collation = Collation::numbered(11);
    /// Bytes of latin1, PAD SPACE.
    pub const Latin1Bin: Collation = Collation::numbered(47);
    /// Letters as in Swedish, PAD SPACE.
    pub const Latin1SwedishCi: Collation = Collation::numbered(8);
}

impl Collation {
    /// All collations, by their numbers.
    pub const ALL: [Collation; ROWS.len()] = {
        let mut all = [Collation(0); ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            all[at] = Collation(ROWS[at].number);
            at += 1;
        }
        all
    };

    /// The server's default collation: that of utf8mb4.
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;

    /// Returns the collation of that number, which must have a row.
    pub(super) const fn numbered(number: u16) -> Collation {
        assert!(PLACES[number as usize] != NO_ROW, "a collation that has no row");
        Collation(number)
    }

    #[inline]
    fn row(self) -> &'static Row {
        &BY_NUMBER[usize::from(self.0)]
    }

    /// Returns its number in MySQL, which result metadata carries.
    pub fn id(self) -> u16 {
        self.0
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns its character set.
    #[inline]
    pub fn charset(self) -> Charset {
        self.row().charset
    }

    #[inline]
    fn order(self) -> Order {
        Order::Weights(match self.row().sorting {
            Sorting::Bytes => return Order::Bytes,
            Sorting::PaddedBytes => return Order::PaddedBytes,
            Sorting::Uca900AiCi => &weights::UCA_900_AI_CI,
            Sorting::Uca900AsCi => &weights::UCA_900_AS_CI,
            Sorting::Uca900AsCs => &weights::UCA_900_AS_CS,
            Sorting::Unicode => &weights::UNICODE,
            Sorting::Unicode520 => &weights::UNICODE_520,
            Sorting::General => &weights::GENERAL,
            Sorting::Latin1Swedish => &weights::LATIN1_SWEDISH,
            Sorting::Latin1Bin => &weights::LATIN1_BIN,
            Sorting::Language
            | Sorting::Language900
            | Sorting::GeneralMysql500
            | Sorting::Codes
            | Sorting::FoldedCodes
            | Sorting::Gb18030
            | Sorting::Measured => self.built_weights(),
        })
    }

    /// Returns the language part of its name; empty if it has none.
    fn language(self) -> &'static str {
        let behind = self.name().strip_prefix(self.charset().name()).unwrap_or_default();
        let behind = behind.trim_start_matches('_');
        let ending = behind.find("_0900_").or_else(|| behind.rfind('_'));
        ending.and_then(|ending| behind.get(..ending)).unwrap_or(behind)
    }

    fn built_weights(self) -> &'static Weights {
        MADE[usize::from(self.0)].get_or_init(|| {
            let codes = self.charset().code_table();
            match (self.row().sorting, codes) {
                (Sorting::Language, _) => Weights::of_language(&Tailoring::of(self.language())),
                (Sorting::Language900, _) => {
                    let levels = if self.name().ends_with("_ai_ci") { 1 } else { 3 };
                    Weights::of_language_900(&Language::of(self.language()).unwrap_or_default(), levels)
                }
                (Sorting::GeneralMysql500, _) => Weights::general_mysql500(),
                (Sorting::FoldedCodes, Some(codes)) => Weights::of_codes(&codes.folded_weights(self.name())),
                (Sorting::Measured, Some(codes)) => Weights::of_codes(&codes.weights_of(self.name())),
                (_, Some(codes)) => Weights::of_codes(&codes.weights()),
                (_, None) => Weights::of_gb18030(),
            }
        })
    }

    #[inline]
    pub(crate) fn weights(self) -> Option<&'static Weights> {
        match self.order() {
            Order::Weights(weights) => Some(weights),
            _ => None,
        }
    }

    /// Whether trailing spaces are ignored (PAD SPACE).
    #[inline]
    pub fn pads_space(self) -> bool {
        match self.order() {
            Order::Bytes => false,
            Order::PaddedBytes => true,
            Order::Weights(weights) => weights.pads,
        }
    }

    /// Whether it compares characters by weights, so that different characters may be equal. Other collations compare
    /// bytes, at most ignoring trailing spaces.
    #[inline]
    pub fn is_weighted(self) -> bool {
        matches!(self.order(), Order::Weights(_))
    }

    /// Whether only identical strings are equal.
    #[inline]
    pub fn equal_is_same(self) -> bool {
        matches!(self.order(), Order::Bytes)
    }

    /// Whether indexes store, beside the key of a string, its difference to the string that the key implies
    /// (`key::difference`), and so cover their columns. The plainest string of a key is defined for these collations
    /// only; for others an index has the key alone.
    pub(crate) fn has_differences(self) -> bool {
        WITH_DIFFERENCES.contains(&self)
    }

    /// Whether it compares code points or codes. Combined with another collation of its character set, it wins.
    pub fn is_bin(self) -> bool {
        self == self.charset().binary_collation() || self == Collation::Utf8mb4_0900Bin
    }

    /// Whether it treats upper and lower case as equal.
    pub fn ignores_case(self) -> bool {
        self.name().ends_with("_ci")
    }

    /// Returns the collation named `name`, in any case; `utf8_` is `utf8mb3_`.
    ///
    /// # Errors
    /// 1235 for one that MySQL or MariaDB has and Leafline lacks, 1273 for an unknown one.
    pub fn from_name(name: &str) -> Result<Self, MysqlError> {
        let lower = name.to_ascii_lowercase();
        let current = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower.clone(),
        };
        if let Some(found) = ROWS.iter().find(|row| row.name == current) {
            return Ok(Collation(found.number));
        }
        let known = current.split_once('_').is_some_and(|(set, _)| Charset::known(set).is_some());
        let endings = ["_ci", "_cs", "_ks", "_bin", "_w2"];
        if known && endings.iter().any(|ending| lower.ends_with(ending)) {
            return Err(MysqlError::not_supported(format_args!("COLLATE {lower}")));
        }
        Err(MysqlError::unknown_collation(name))
    }

    /// Returns the collation of that number.
    pub fn from_id(id: u16) -> Option<Self> {
        let place = PLACES.get(usize::from(id))?;
        (*place != NO_ROW).then_some(Collation(id))
    }

    /// Returns the most bytes that a character takes in a key, not counting the doubling of spaces and zeros.
    pub fn most_key_bytes(self) -> usize {
        // U+FDFA has 18 weights on each level.
        const MOST_WEIGHTS: usize = 18;
        const MOST_UTF8: usize = 4;
        match self.weights() {
            Some(weights) => MOST_WEIGHTS * (weights.levels.len() + 1),
            None if self.charset().is_utf8() => self.charset().max_bytes() as usize,
            None => MOST_UTF8,
        }
    }

    /// Returns the sort length that SHOW COLLATION shows.
    pub fn sort_length(self) -> u64 {
        self.row().sort_length.into()
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

    /// Compares two strings that may be long: under weights it checks `cancel` once in 256 KiB.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end.
    pub fn compare_long(self, a: &[u8], b: &[u8], cancel: &CancelToken) -> Result<Ordering, MysqlError> {
        match self.order() {
            Order::Weights(weights) if a.len().max(b.len()) >= BYTES_BETWEEN_CHECKS => {
                let mut steps = CancelTicker::new(cancel, BYTES_BETWEEN_CHECKS);
                weights.compare_stepwise(a, b, &mut || steps.take(1))
            }
            _ => Ok(self.compare(a, b)),
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

    /// Returns bytes that are the same for equal strings and different for others, for hashing, grouping and joining.
    /// They do not order strings; [`Collation::sort_key`] does. Overwrites `buffer` if the bytes are not part of `s`.
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

    /// Appends the bytes that the [`hash_key`](Self::hash_key) of every string begins with that begins with `s`. Returns whether
    /// no other string's does, as far as the collation tells them apart: it does not if the collation has several levels.
    pub fn hash_key_prefix(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        if !self.append_weights_prefix(s, out) {
            out.extend_from_slice(s);
        }
        self.weights().is_none_or(|weights| weights.levels.len() == 1)
    }

    /// Appends bytes whose order under `memcmp` is the collation's. No string's bytes are a prefix of another's, so
    /// another sort key may follow them. An index stores them.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        key_strings::encode_string(self, s, out);
    }

    /// Appends the key bytes of a string; returns whether the collation is weighted, and appends nothing if it is
    /// not.
    #[inline]
    pub(crate) fn append_weights(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        match self.weights() {
            Some(weights) => packing::append_key(weights, s, out),
            None => return false,
        }
        true
    }

    /// Appends the common prefix of the keys of all strings that begin with `s`; returns whether the collation is
    /// weighted.
    pub(crate) fn append_weights_prefix(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        match self.weights() {
            Some(weights) => packing::append_prefix(weights, s, out),
            None => return false,
        };
        true
    }

    /// Appends the common prefix of the keys of all strings whose first `most` weights are those of `s`, or of all
    /// that begin with `s` if it has fewer. Returns whether `s` has `most` or more; `None` if the collation has no
    /// weights.
    pub(crate) fn append_first_weights(self, s: &[u8], most: usize, out: &mut Vec<u8>) -> Option<bool> {
        Some(packing::append_first(self.weights()?, s, most, out))
    }

    /// Returns `s` up to the first character that may begin a contraction. LIKE compares character by character, but
    /// keys hold contractions.
    pub fn before_contractions(self, s: &[u8]) -> &[u8] {
        self.weights().map_or(s, |weights| weights.before_contractions(s))
    }

    /// Returns the first `characters` characters of a string, or bytes of a binary one. Characters without a weight,
    /// such as combining accents, belong to the character before them and do not count.
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

    /// Whether LIKE treats two characters, each the whole of its string, as equal.
    #[inline]
    pub fn same_character(self, a: &[u8], b: &[u8]) -> bool {
        match self.order() {
            Order::Weights(weights) => weights.same_character(a, b),
            _ => a == b,
        }
    }

    /// Writes what WEIGHT_STRING returns: two bytes per weight, with a zero between levels; the bytes of `s` if the
    /// collation has no weights.
    pub fn put_weight_string(self, s: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
        let Some(weights) = self.weights() else { return out.push(s) };
        for (number, level) in weights.levels.iter().enumerate() {
            if number > 0 {
                out.push(&[0, 0])?;
            }
            level.weights(s).try_for_each(|w| out.push(&w.to_be_bytes()))?;
        }
        Ok(())
    }

    /// Writes what WEIGHT_STRING returns in a character set that is not Unicode's: as many bytes per weight as codes
    /// have.
    pub fn put_weights_as_codes(self, s: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
        let Some(weights) = self.weights() else { return out.push(s) };
        let charset = self.charset();
        let mut levels = weights.levels.iter();
        levels
            .try_for_each(|level| level.weights(s).try_for_each(|w| charset.put_weight(w.to_be_bytes(), out)))
    }
}

/// Returns the length of a weighted string key at the front of `key`, each byte XORed with `mask`.
pub(crate) fn weights_len(key: &[u8], mask: u8) -> Option<usize> {
    key.iter().position(|&b| b == format::END ^ mask).map(|end| end + 1)
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns `s` without its trailing spaces.
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

/// Compares `s` with a string of spaces of its length.
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
