//! Collations: how strings compare, when they are equal, and what to hash.
//!
//! | name               | id  | charset | compares             | trailing spaces |
//! |--------------------|-----|---------|----------------------|-----------------|
//! | binary             | 63  | binary  | bytes                | count           |
//! | utf8mb4_bin        | 46  | utf8mb4 | code points          | PAD SPACE: none |
//! | utf8mb4_0900_bin   | 309 | utf8mb4 | code points          | count           |
//!
//! UTF-8 keeps the order of code points in its bytes, so all three compare bytes. PAD SPACE compares the shorter
//! string as if it went on with spaces: `'a\t' < 'a' = 'a ' < 'a!'`.

use std::cmp::Ordering;
use std::fmt;

use crate::error::MysqlError;

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
}

/// The character sets of collations that MySQL has and we do not, as their names begin.
const KNOWN_PREFIXES: &[&str] = &[
    "utf8mb4_", "utf8mb3_", "utf8_", "latin1_", "ascii_", "ucs2_", "utf16_", "utf16le_", "utf32_", "gb18030_",
];

impl Collation {
    /// All of them.
    pub const ALL: [Collation; 3] = [Collation::Binary, Collation::Utf8mb4Bin, Collation::Utf8mb4_0900Bin];

    /// MySQL's number of it, as result metadata carries it.
    pub fn id(self) -> u16 {
        match self {
            Collation::Binary => 63,
            Collation::Utf8mb4Bin => 46,
            Collation::Utf8mb4_0900Bin => 309,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Utf8mb4_0900Bin => "utf8mb4_0900_bin",
        }
    }

    /// Its character set's name.
    pub fn charset(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            _ => "utf8mb4",
        }
    }

    /// Whether trailing spaces are ignored.
    #[inline]
    pub fn pads_space(self) -> bool {
        matches!(self, Collation::Utf8mb4Bin)
    }

    /// The collation of that name, in any case. Error 1235 for one that MySQL has and we do not, 1273 for one
    /// that nobody has.
    pub fn from_name(name: &str) -> Result<Self, MysqlError> {
        let lower = name.to_ascii_lowercase();
        if let Some(found) = Self::ALL.into_iter().find(|c| c.name() == lower) {
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

    /// Compares two strings.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.pads_space() { compare_padded(a, b) } else { a.cmp(b) }
    }

    /// Whether two strings are equal.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        self.hash_key(a) == self.hash_key(b)
    }

    /// The bytes that are the same for equal strings and different for others: what to hash, group and join on.
    /// They do not order strings; [`Collation::sort_key`] does.
    #[inline]
    pub fn hash_key(self, s: &[u8]) -> &[u8] {
        if self.pads_space() { trim_spaces(s) } else { s }
    }

    /// Appends bytes whose order under `memcmp` is the collation's, and that no other string's are a prefix of:
    /// they can be followed by another sort key. They are what an index holds.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        crate::key::encode_string(self, s, out);
    }
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
        let c = Collation::Utf8mb4Bin;
        let ordered: [&[u8]; 7] = [b"", b"\t", b"a\t", b"a", b"a !", b"a!", b"aa"];
        // '' pads to spaces, which come after '\t'.
        assert_eq!(c.compare(b"", b"\t"), Ordering::Greater);
        for w in ordered[2..].windows(2) {
            assert_eq!(c.compare(w[0], w[1]), Ordering::Less, "{w:?}");
            assert_eq!(c.compare(w[1], w[0]), Ordering::Greater, "{w:?}");
        }
        assert_eq!(c.compare(b"a", b"a   "), Ordering::Equal);
        assert!(c.equal(b"a ", b"a") && !c.equal(b" a", b"a"));
        assert!(!Collation::Utf8mb4_0900Bin.equal(b"a ", b"a") && !Collation::Binary.equal(b"a ", b"a"));
        assert_eq!(Collation::Utf8mb4_0900Bin.compare(b"a\t", b"a"), Ordering::Greater);
    }

    #[test]
    fn names_and_ids_go_both_ways() {
        for c in Collation::ALL {
            assert_eq!(Collation::from_name(&c.name().to_uppercase()).unwrap(), c);
            assert_eq!(Collation::from_id(c.id()), Some(c));
        }
        assert_eq!(Collation::from_name("utf8mb4_general_ci").unwrap_err().code, 1235);
        assert_eq!(Collation::from_name("utf8mb4_klingon").unwrap_err().code, 1273);
        let e = Collation::from_name("Klingon").unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (1273, "Unknown collation: 'Klingon'"));
    }
}
