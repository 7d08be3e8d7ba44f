//! Character sets: what a string may hold and which collation it has unless one is named.
//!
//! Text is stored as UTF-8 whatever the character set of its column is. The character set says which characters it may
//! have.

use super::Collation;
use crate::error::MysqlError;

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Strings of bytes.
    Binary,
    /// Seven bits.
    Ascii,
    /// MySQL's latin1: Windows code page 1252, where the five bytes without a character are control characters.
    Latin1,
    /// Code points up to U+FFFF.
    Utf8mb3,
    /// All code points.
    Utf8mb4,
}

/// What latin1 has at the bytes `80` to `9f`.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Character sets that MySQL has and we do not.
const UNSUPPORTED: &[&str] = &[
    "armscii8", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8",
    "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r",
    "koi8u", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis",
    "utf16", "utf16le", "utf32",
];

impl Charset {
    /// All of them.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Ascii => "ascii",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// What SHOW CHARACTER SET says about it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Binary => "Binary pseudo charset",
            Charset::Ascii => "US ASCII",
            Charset::Latin1 => "cp1252 West European",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The character set of that name, in any case; `utf8` is `utf8mb3`. Error 1235 for one that MySQL has and we do
    /// not, 1115 for one that nobody has.
    pub fn from_name(name: &str) -> Result<Self, MysqlError> {
        let lower = name.to_ascii_lowercase();
        if lower == "utf8" {
            return Ok(Charset::Utf8mb3);
        }
        if let Some(found) = Self::ALL.into_iter().find(|c| c.name() == lower) {
            return Ok(found);
        }
        if UNSUPPORTED.contains(&lower.as_str()) {
            return Err(MysqlError::not_supported(format_args!("CHARACTER SET {lower}")));
        }
        Err(MysqlError::unknown_character_set(name))
    }

    /// The collation of its strings unless another is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Ascii => Collation::AsciiGeneralCi,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
        }
    }

    /// Its collation that compares code points.
    pub fn binary_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Ascii => Collation::AsciiBin,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
        }
    }

    /// The most bytes that a character has in MySQL: what lengths of keys and rows are declared with.
    pub fn max_bytes(self) -> u32 {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// Whether it is one of Unicode's.
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb3 | Charset::Utf8mb4)
    }

    /// Whether it has this character.
    pub fn has(self, c: char) -> bool {
        match self {
            Charset::Binary | Charset::Utf8mb4 => true,
            Charset::Ascii => c.is_ascii(),
            Charset::Latin1 => self.latin1_byte(c).is_some(),
            Charset::Utf8mb3 => c <= '\u{ffff}',
        }
    }

    /// Where the first character is that the set has not, in bytes.
    pub fn first_foreign(self, text: &str) -> Option<usize> {
        match self {
            Charset::Binary | Charset::Utf8mb4 => None,
            _ if text.is_ascii() => None,
            _ => text.char_indices().find(|(_, c)| !self.has(*c)).map(|(at, _)| at),
        }
    }

    /// The text with a question mark for every character that the set has not.
    pub fn replace_foreign(self, text: &str) -> String {
        text.chars().map(|c| if self.has(c) { c } else { '?' }).collect()
    }

    fn latin1_byte(self, c: char) -> Option<u8> {
        match c {
            '\0'..='\u{7f}' | '\u{a0}'..='\u{ff}' => Some(c as u8),
            _ => LATIN1_HIGH.iter().position(|high| *high == c).map(|at| 0x80 + at as u8),
        }
    }

    /// The text in the bytes of the character set, a question mark for what it has not.
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Charset::Latin1 => text.chars().map(|c| self.latin1_byte(c).unwrap_or(b'?')).collect(),
            _ => match self.first_foreign(text) {
                None => text.as_bytes().to_vec(),
                Some(_) => self.replace_foreign(text).into_bytes(),
            },
        }
    }

    /// The text that these bytes of the character set are.
    ///
    /// # Errors
    /// 1300 if they are none.
    pub fn decode(self, bytes: &[u8]) -> Result<String, MysqlError> {
        if self == Charset::Latin1 {
            return Ok(Self::decode_latin1(bytes));
        }
        let (text, good) = match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text), self.first_foreign(text)),
            Err(e) => (None, Some(e.valid_up_to())),
        };
        match (text, good) {
            (Some(text), None) => Ok(text.to_owned()),
            (_, good) => {
                let bad = bytes[good.unwrap_or(0)..].iter().take(6).map(|b| format!("\\x{b:02X}"));
                Err(MysqlError::invalid_character_string(self.name(), bad.collect::<String>()))
            }
        }
    }

    /// The text that bytes of a character set of one byte per character stand for.
    pub fn decode_latin1(bytes: &[u8]) -> String {
        let of_byte = |&b: &u8| match b {
            0x80..=0x9f => LATIN1_HIGH[usize::from(b - 0x80)],
            _ => char::from(b),
        };
        bytes.iter().map(of_byte).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for charset in Charset::ALL {
            assert_eq!(Charset::from_name(&charset.name().to_uppercase()).unwrap(), charset);
            assert_eq!(charset.default_collation().charset(), charset);
            assert_eq!(charset.binary_collation().charset(), charset);
        }
        assert_eq!(Charset::from_name("utf8").unwrap(), Charset::Utf8mb3);
        assert_eq!(Charset::from_name("gbk").unwrap_err().code, 1235);
        assert_eq!(Charset::from_name("klingon").unwrap_err().code, 1115);
    }

    #[test]
    fn latin1_is_windows_1252() {
        let all: Vec<u8> = (0..=255).collect();
        let text = Charset::decode_latin1(&all);
        assert_eq!(Charset::Latin1.encode(&text), all);
        assert!(Charset::Latin1.has('€') && !Charset::Latin1.has('\u{80}') && !Charset::Latin1.has('日'));
        assert_eq!(Charset::Latin1.encode("日é"), b"?\xe9");
    }

    #[test]
    fn foreign_characters_are_found() {
        assert_eq!(Charset::Utf8mb3.first_foreign("日本😀"), Some(6));
        assert_eq!(Charset::Utf8mb4.first_foreign("日本😀"), None);
        assert_eq!(Charset::Ascii.first_foreign("aé"), Some(1));
        assert_eq!(Charset::Latin1.replace_foreign("é日"), "é?");
    }
}
