//! Code tables of the character sets that are not Unicode encodings, and the weights of their collations, unpacked on
//! first use.
//!
//! `examples/charset_tables.rs` makes `tables/charsets.deflate` from what MariaDB reports about its character sets.
//! Inflated, the file is a sequence of entries:
//!
//! | field  | length     | content                                              |
//! |--------|------------|------------------------------------------------------|
//! | kind   | 1          | 0: codes of a character set, 1: weights of a collation, 2: tailoring of a language |
//! | name   | 1 + length | length, then the name                                 |
//! | count  | 4          | number of words                                      |
//! | words  | 2 each     | little-endian                                        |
//!
//! The words of a character set are: the number of runs; the number of preferences; for each run its first code and
//! how many codes it has; for each preference a code point and the code it encodes to, where several codes decode to
//! that code point; for each code its code point, as the difference to the one before.
//!
//! The words of a collation are: the number of codes with two weights; for each of them the code and its weights; the
//! weights of the bytes 00 to ff; for each longer code its weight, as the difference to the one before. If the last
//! part is missing, each longer code is its own weight.
//!
//! The words of a tailoring of `unicode_ci` are: the number of characters; for each its code point, number of
//! weights, and weights; for each contraction its two code points and its weight.
//!
//! A code is a 16-bit number: its bytes, or for three bytes `8f xx yy` the last two without their highest bits.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::table::Words;

static PACKED: &[u8] = include_bytes!("tables/charsets.deflate");
/// A limit above the inflated size of the file.
const MOST_BYTES: usize = 1 << 20;
const CHARSET: u8 = 0;
const COLLATION: u8 = 1;
const TAILORING: u8 = 2;
/// The lead byte of three-byte codes.
const THREE_BYTES: u8 = 0x8f;
/// The lead byte of half-width katakana in the sets with three-byte codes.
const KATAKANA: u16 = 0x8e00;
/// The first byte of the weights of half-width katakana in those sets. It is below the weights of three-byte codes,
/// as `8e` is below `8f`.
const KATAKANA_WEIGHTS: u16 = 0x2000;
/// Marks a missing code point or code.
const NONE: u16 = 0xffff;

fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(PACKED, MOST_BYTES);
        unpacked.expect("the program has the tables whole")
    })
}

/// Returns the words of an entry; none if there is no such entry.
fn entry(kind: u8, name: &str) -> Words {
    let mut rest = bytes();
    while let [found, len, tail @ ..] = rest {
        let Some((found_name, tail)) = tail.split_at_checked(usize::from(*len)) else { break };
        let Some((count, tail)) = tail.split_first_chunk::<4>() else { break };
        let Some((words, tail)) = tail.split_at_checked(2 * u32::from_le_bytes(*count) as usize) else {
            break;
        };
        if *found == kind && found_name == name.as_bytes() {
            return Words::new(words);
        }
        rest = tail;
    }
    Words::new(&[])
}

/// Returns the running sums of the words from `at` to the end, which are differences.
fn summed(words: Words, at: usize) -> impl Iterator<Item = u16> {
    let differences = (at..words.len()).map(move |at| words.get(at));
    differences.scan(0u16, |last, difference| {
        *last = last.wrapping_add(difference);
        Some(*last)
    })
}

/// The differences between the order of a language and the common table.
#[derive(Debug, Default)]
pub(super) struct Tailoring {
    /// Characters with their weights.
    pub(super) weights: Vec<(u32, Vec<u16>)>,
    /// Pairs of characters that share one weight.
    pub(super) contractions: Vec<(u32, u32, u16)>,
}

impl Tailoring {
    /// Returns the tailoring of the language of this name.
    pub(super) fn of(language: &str) -> Tailoring {
        let words = entry(TAILORING, language);
        let mut tailoring = Tailoring::default();
        let mut at = 1;
        for _ in 0..words.get(0) {
            let count = usize::from(words.get(at + 1));
            let weights = (at + 2..at + 2 + count).map(|at| words.get(at)).collect();
            tailoring.weights.push((words.get(at).into(), weights));
            at += 2 + count;
        }
        while at < words.len() {
            let pair = (words.get(at).into(), words.get(at + 1).into(), words.get(at + 2));
            tailoring.contractions.push(pair);
            at += 3;
        }
        tailoring
    }
}

/// The code table of a character set.
#[derive(Debug)]
pub(super) struct Codes {
    /// Code point by code.
    code_points: Box<[u16]>,
    /// Code by code point.
    codes: Box<[u16]>,
    max_bytes: u32,
}

impl Codes {
    /// Unpacks the table of the character set `name`, whose codes have up to `max_bytes` bytes.
    pub(super) fn of(name: &str, max_bytes: u32) -> Codes {
        let words = entry(CHARSET, name);
        let mut code_points = vec![NONE; 0x1_0000].into_boxed_slice();
        let mut codes = code_points.clone();
        let (runs, preferences) = (usize::from(words.get(0)), usize::from(words.get(1)));
        let mut values = summed(words, 2 + 2 * runs + 2 * preferences);
        for run in 0..runs {
            let (first, count) = (words.get(2 + 2 * run), words.get(3 + 2 * run));
            for (code, code_point) in (0..count).map(|at| first.wrapping_add(at)).zip(&mut values) {
                code_points[usize::from(code)] = code_point;
                let known = &mut codes[usize::from(code_point)];
                if *known == NONE {
                    *known = code;
                }
            }
        }
        for preference in (0..preferences).map(|at| 2 + 2 * runs + 2 * at) {
            codes[usize::from(words.get(preference))] = words.get(preference + 1);
        }
        Codes { code_points, codes, max_bytes }
    }

    /// Returns the code that a character encodes to.
    #[inline]
    pub(super) fn code(&self, c: char) -> Option<u16> {
        let code = *self.codes.get(u32::from(c) as usize)?;
        (code != NONE).then_some(code)
    }

    /// Whether the character encodes to a code that decodes to it.
    pub(super) fn has(&self, c: char) -> bool {
        self.code(c).is_some_and(|code| u32::from(self.code_points[usize::from(code)]) == u32::from(c))
    }

    /// Appends the bytes of a character; returns whether it has a code.
    pub(super) fn append(&self, c: char, out: &mut Vec<u8>) -> bool {
        let Some(code) = self.code(c) else { return false };
        match code.to_be_bytes() {
            [0, byte] => out.push(byte),
            [high, low] if self.max_bytes == 3 && high < 0x80 => {
                out.extend_from_slice(&[THREE_BYTES, high | 0x80, low | 0x80]);
            }
            two => out.extend_from_slice(&two),
        }
        true
    }

    /// Returns the length in bytes of the code at the front of `bytes`, whether or not the code stands for a
    /// character.
    pub(super) fn len(&self, bytes: &[u8]) -> usize {
        let (Some(first), second) = (bytes.first(), bytes.get(1)) else { return 0 };
        if *first < 0x80 || self.code_points[usize::from(*first)] != NONE {
            return 1;
        }
        match second {
            Some(_) if self.max_bytes == 3 && *first == THREE_BYTES => 3.min(bytes.len()),
            Some(second) if self.leads(*first) && *second >= 0x40 => 2,
            _ => 1,
        }
    }

    /// Whether `first` is the lead byte of a two-byte code.
    fn leads(&self, first: u8) -> bool {
        let codes = usize::from(first) << 8;
        self.code_points[codes..=codes | 0xff].iter().any(|code_point| *code_point != NONE)
    }

    /// Decodes the character at the front of `bytes` and returns it with its length in bytes.
    pub(super) fn first(&self, bytes: &[u8]) -> Option<(char, usize)> {
        let len = self.len(bytes);
        let code = match bytes.get(..len)? {
            [byte] => u16::from(*byte),
            [high, low] => u16::from_be_bytes([*high, *low]),
            [_, high, low] if *high & *low >= 0x80 => u16::from_be_bytes([*high, *low]) & 0x7f7f,
            _ => return None,
        };
        let code_point = self.code_points[usize::from(code)];
        let c = char::from_u32(code_point.into()).filter(|_| code_point != NONE)?;
        Some((c, len))
    }

    /// Returns the weights of each code point under the binary collation: its code.
    pub(super) fn weights(&self) -> BTreeMap<u32, Vec<u16>> {
        self.weighted(|code| vec![code])
    }

    /// Returns the weights of each code point under the collation of that name.
    pub(super) fn weights_of(&self, collation: &str) -> BTreeMap<u32, Vec<u16>> {
        let words = entry(COLLATION, collation);
        let several = usize::from(words.get(0));
        let singles = 1 + 3 * several;
        let longer: BTreeMap<u16, u16> = {
            let codes = self.code_points.iter().enumerate().skip(0x100);
            let codes = codes.filter(|(_, code_point)| **code_point != NONE).map(|(code, _)| code as u16);
            codes.zip(summed(words, singles + 0x100)).collect()
        };
        let pair = |code: u16| {
            let found = (0..several).map(|at| 1 + 3 * at).find(|at| words.get(*at) == code);
            found.map(|at| vec![words.get(at + 1), words.get(at + 2)])
        };
        self.weighted(|code| match code {
            0..0x100 => pair(code).unwrap_or_else(|| vec![words.get(singles + usize::from(code))]),
            _ => vec![longer.get(&code).copied().unwrap_or(code)],
        })
    }

    /// Returns the weights of each code point under the collation of that name, which compares codes of several bytes
    /// unchanged.
    pub(super) fn folded_weights(&self, collation: &str) -> BTreeMap<u32, Vec<u16>> {
        let (words, codes) = (self.weights_of(collation), self.weights());
        let is_single = |code: &Vec<u16>| code.first().is_some_and(|code| *code < 0x100);
        let single = |(point, code): (u32, Vec<u16>)| match words.get(&point) {
            Some(weights) if is_single(&code) => (point, weights.clone()),
            _ => (point, code),
        };
        codes.into_iter().map(single).collect()
    }

    /// Returns the weights of each code point from those of its code. A single byte above 7f sorts among the lead
    /// bytes of two-byte codes.
    fn weighted(&self, weights: impl Fn(u16) -> Vec<u16>) -> BTreeMap<u32, Vec<u16>> {
        let ordered = |w: u16| match w & 0xff00 {
            KATAKANA if self.max_bytes == 3 => KATAKANA_WEIGHTS | w & 0xff,
            0 if self.max_bytes == 2 && w >= 0x80 => w << 8,
            _ => w,
        };
        let all = self.codes.iter().enumerate().filter(|(_, code)| **code != NONE);
        all.map(|(code_point, code)| {
            let weights = weights(*code).into_iter().map(ordered).collect();
            (code_point as u32, weights)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys on disk depend on every byte. Changing one requires a new version of the file format.
    #[test]
    fn packed_tables_keep_their_hash() {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
        assert_eq!((bytes().len(), hash), (335_158, HASH), "{hash:#x}");
    }

    const HASH: u64 = 0xba76_8b36_9e04_c66b;

    #[test]
    fn codes_of_one_two_and_three_bytes_go_both_ways() {
        for (name, max_bytes, text, bytes) in [
            ("koi8r", 1, "привет", &b"\xd0\xd2\xc9\xd7\xc5\xd4"[..]),
            ("gbk", 2, "a丂中", b"a\x81\x40\xd6\xd0"),
            ("sjis", 2, "表ｱ", b"\x95\x5c\xb1"),
            ("ujis", 3, "日˘ｱ", b"\xc6\xfc\x8f\xa2\xaf\x8e\xb1"),
        ] {
            let codes = Codes::of(name, max_bytes);
            let mut encoded = Vec::new();
            assert!(text.chars().all(|c| codes.append(c, &mut encoded)));
            assert_eq!(encoded, bytes, "{name}");
            let (mut rest, mut decoded) = (bytes, String::new());
            while let Some((c, len)) = codes.first(rest) {
                decoded.push(c);
                rest = &rest[len..];
            }
            assert_eq!(decoded, text, "{name}");
        }
    }
}
