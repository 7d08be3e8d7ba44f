//! Character sets: which characters a string may hold, which bytes clients and byte functions see, and the default
//! collation.
//!
//! Text is stored as UTF-8, whatever the character set of its column. The character set says which characters it may
//! hold.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::Collation;
use super::codes::Codes;
use crate::error::MysqlError;
use crate::output::{BYTES_BETWEEN_CHECKS, Output, Stop, room_for};
use crate::statement::{CancelTicker, CancelToken};

/// A character set, as the number of its row in `ROWS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charset(u8);

/// The encoding of the characters of a character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Strings of bytes, not text.
    Bytes,
    /// UTF-8, with code points up to this one.
    Utf8(u32),
    /// UTF-16, with code points up to `last`.
    Utf16 { little_endian: bool, last: u32 },
    /// UTF-32, big-endian.
    Utf32,
    /// Codes from the packed tables ([`Codes`]).
    Codes,
    /// GB 18030.
    Gb18030,
}

use Encoding::{Bytes, Gb18030, Utf8, Utf16, Utf32};

/// Name, description, number of the default collation, number of the collation that compares codes, most bytes of a
/// character, encoding.
type Row = (&'static str, &'static str, u16, u16, u32, Encoding);

/// All character sets, in the order of SHOW CHARACTER SET.
#[rustfmt::skip]
static ROWS: [Row; Charset::COUNT] = [
    ("binary", "Binary pseudo charset", 63, 63, 1, Bytes),
    ("ascii", "US ASCII", 11, 65, 1, Utf8(0x7f)),
    ("latin1", "cp1252 West European", 8, 47, 1, Encoding::Codes),
    ("utf8mb3", "UTF-8 Unicode", 33, 83, 3, Utf8(0xffff)),
    ("utf8mb4", "UTF-8 Unicode", 255, 46, 4, Utf8(0x10_ffff)),
    ("armscii8", "ARMSCII-8 Armenian", 32, 64, 1, Encoding::Codes),
    ("big5", "Big5 Traditional Chinese", 1, 84, 2, Encoding::Codes),
    ("cp1250", "Windows Central European", 26, 66, 1, Encoding::Codes),
    ("cp1251", "Windows Cyrillic", 51, 50, 1, Encoding::Codes),
    ("cp1256", "Windows Arabic", 57, 67, 1, Encoding::Codes),
    ("cp1257", "Windows Baltic", 59, 58, 1, Encoding::Codes),
    ("cp850", "DOS West European", 4, 80, 1, Encoding::Codes),
    ("cp852", "DOS Central European", 40, 81, 1, Encoding::Codes),
    ("cp866", "DOS Russian", 36, 68, 1, Encoding::Codes),
    ("cp932", "SJIS for Windows Japanese", 95, 96, 2, Encoding::Codes),
    ("dec8", "DEC West European", 3, 69, 1, Encoding::Codes),
    ("eucjpms", "UJIS for Windows Japanese", 97, 98, 3, Encoding::Codes),
    ("euckr", "EUC-KR Korean", 19, 85, 2, Encoding::Codes),
    ("gb18030", "China National Standard GB18030", 250, 249, 4, Gb18030),
    ("gb2312", "GB2312 Simplified Chinese", 24, 86, 2, Encoding::Codes),
    ("gbk", "GBK Simplified Chinese", 28, 87, 2, Encoding::Codes),
    ("geostd8", "GEOSTD8 Georgian", 92, 93, 1, Encoding::Codes),
    ("greek", "ISO 8859-7 Greek", 25, 70, 1, Encoding::Codes),
    ("hebrew", "ISO 8859-8 Hebrew", 16, 71, 1, Encoding::Codes),
    ("hp8", "HP West European", 6, 72, 1, Encoding::Codes),
    ("keybcs2", "DOS Kamenicky Czech-Slovak", 37, 73, 1, Encoding::Codes),
    ("koi8r", "KOI8-R Relcom Russian", 7, 74, 1, Encoding::Codes),
    ("koi8u", "KOI8-U Ukrainian", 22, 75, 1, Encoding::Codes),
    ("latin2", "ISO 8859-2 Central European", 9, 77, 1, Encoding::Codes),
    ("latin5", "ISO 8859-9 Turkish", 30, 78, 1, Encoding::Codes),
    ("latin7", "ISO 8859-13 Baltic", 41, 79, 1, Encoding::Codes),
    ("macce", "Mac Central European", 38, 43, 1, Encoding::Codes),
    ("macroman", "Mac West European", 39, 53, 1, Encoding::Codes),
    ("sjis", "Shift-JIS Japanese", 13, 88, 2, Encoding::Codes),
    ("swe7", "7bit Swedish", 10, 82, 1, Encoding::Codes),
    ("tis620", "TIS620 Thai", 89, 89, 1, Encoding::Codes),
    ("ucs2", "UCS-2 Unicode", 35, 90, 2, Utf16 { little_endian: false, last: 0xffff }),
    ("ujis", "EUC-JP Japanese", 12, 91, 3, Encoding::Codes),
    ("utf16", "UTF-16 Unicode", 54, 55, 4, Utf16 { little_endian: false, last: 0x10_ffff }),
    ("utf16le", "UTF-16LE Unicode", 56, 62, 4, Utf16 { little_endian: true, last: 0x10_ffff }),
    ("utf32", "UTF-32 Unicode", 60, 61, 4, Utf32),
];

/// The codes of the character sets that have tables, unpacked on first use.
static CODES: [OnceLock<Codes>; Charset::COUNT] = [const { OnceLock::new() }; Charset::COUNT];

/// The first byte of the weights of half-width katakana, in the sets with codes of up to three bytes.
const KATAKANA_WEIGHTS: u8 = 0x20;
/// The number of bytes that an error message about invalid text shows.
const SHOWN_BYTES: usize = 6;

impl Charset {
    const COUNT: usize = 41;

    /// Returns all character sets.
    pub fn all() -> impl Iterator<Item = Charset> {
        (0..Self::COUNT as u8).map(Charset)
    }

    const fn row(self) -> &'static Row {
        &ROWS[self.0 as usize]
    }

    /// Returns MySQL's name of the character set.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the description that SHOW CHARACTER SET gives.
    pub fn description(self) -> &'static str {
        self.row().1
    }

    /// Returns the character set named `name`, in any case; `utf8` is `utf8mb3`.
    ///
    /// # Errors
    /// 1115 if there is none.
    pub fn from_name(name: &str) -> Result<Self, MysqlError> {
        Self::known(name).ok_or_else(|| MysqlError::unknown_character_set(name))
    }

    /// Returns the character set named `name`, in any case; `utf8` is `utf8mb3`.
    pub fn known(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Self::all().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// Returns the collation of its strings when no other is named.
    pub const fn default_collation(self) -> Collation {
        Collation::numbered(self.row().2)
    }

    /// Returns its collation that compares codes.
    pub const fn binary_collation(self) -> Collation {
        Collation::numbered(self.row().3)
    }

    /// Returns the most bytes that a character has in MySQL. Declared lengths of keys and rows are computed with it.
    pub const fn max_bytes(self) -> u32 {
        self.row().4
    }

    /// Returns the fewest bytes that a character has.
    pub fn min_bytes(self) -> u32 {
        match self.row().5 {
            Utf16 { .. } => 2,
            Utf32 => 4,
            _ => 1,
        }
    }

    /// Whether its strings are stored as clients see them: its text is UTF-8, or its strings are bytes.
    #[inline]
    pub fn is_utf8(self) -> bool {
        matches!(self.row().5, Bytes | Utf8(_))
    }

    /// Whether it encodes code points beyond ASCII.
    pub fn is_unicode(self) -> bool {
        matches!(self.row().5, Utf8(0x80..) | Utf16 { .. } | Utf32)
    }

    /// Whether it encodes code points beyond U+FFFF.
    pub fn has_supplementary(self) -> bool {
        matches!(self.row().5, Utf8(0x1_0000..) | Utf16 { last: 0x1_0000.., .. } | Utf32)
    }

    /// Whether a client may use it. Sets whose ASCII characters take more than a byte are not for clients.
    pub fn is_for_clients(self) -> bool {
        !matches!(self.row().5, Utf16 { .. } | Utf32)
    }

    /// Whether the second byte of a character may be an ASCII byte, such as a quote or a backslash.
    pub fn has_ascii_within(self) -> bool {
        matches!(self, Charset::Big5 | Charset::Cp932 | Charset::Gb18030 | Charset::Gbk | Charset::Sjis)
    }

    /// Returns itself, to be the character set of a client.
    ///
    /// # Errors
    /// 1231 if clients cannot use it.
    pub fn for_client(self) -> Result<Self, MysqlError> {
        if self.is_for_clients() {
            return Ok(self);
        }
        Err(MysqlError::wrong_value_for_variable("character_set_client", self.name()))
    }

    /// Whether bytes below 0x80 that begin a character are ASCII.
    fn has_ascii(self) -> bool {
        self.is_for_clients() && self != Charset::Swe7
    }

    /// Whether encoding leaves ASCII unchanged. In sjis the byte of a backslash is another character.
    pub fn keeps_ascii(self) -> bool {
        self.has_ascii() && self != Charset::Sjis
    }

    fn codes(self) -> &'static Codes {
        CODES[self.0 as usize].get_or_init(|| Codes::of(self.name(), self.max_bytes()))
    }

    /// Returns its table of codes, if it does not encode code points.
    pub(super) fn code_table(self) -> Option<&'static Codes> {
        (self.row().5 == Encoding::Codes).then(|| self.codes())
    }

    /// Whether the character set has this character.
    pub fn has(self, c: char) -> bool {
        match self.row().5 {
            Bytes | Utf32 => true,
            Gb18030 => is_in_gb18030(c),
            Utf8(last) | Utf16 { last, .. } => u32::from(c) <= last,
            Encoding::Codes => self.codes().has(c),
        }
    }

    /// Whether every string of `other` is valid text of this set.
    pub fn holds(self, other: Charset) -> bool {
        match (self.row().5, other.row().5) {
            _ if self == other => true,
            (_, Utf8(0x7f)) => self.has_ascii() || self.is_unicode(),
            (Utf8(wide), Utf8(narrow)) => wide >= narrow,
            (Utf8(0x80..) | Utf16 { .. } | Utf32, Encoding::Codes) => true,
            (Utf8(0x10_ffff), _) => true,
            (Utf16 { last: 0x10_ffff, .. } | Utf32, Gb18030) => true,
            _ => false,
        }
    }

    /// Returns the byte offset of the first character that the set lacks.
    pub fn first_foreign(self, text: &str) -> Option<usize> {
        match self.row().5 {
            Bytes | Utf8(0x10_ffff) => None,
            _ if self.has_ascii() && text.is_ascii() => None,
            _ => text.char_indices().find(|(_, c)| !self.has(*c)).map(|(at, _)| at),
        }
    }

    /// Returns the text with a question mark for each character that the set lacks.
    pub fn replace_foreign(self, text: &str) -> String {
        text.chars().map(|c| if self.has(c) { c } else { '?' }).collect()
    }

    /// Returns the text with a question mark for each character that the set lacks. Checks `cancel` every few
    /// thousand bytes.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end; 1041 if memory is lacking.
    pub fn replaced_foreign<'t>(
        self,
        text: &'t str,
        cancel: &CancelToken,
    ) -> Result<Cow<'t, str>, MysqlError> {
        let mut replaced = None;
        for (at, piece) in pieces(text) {
            cancel.check()?;
            if replaced.is_none() && self.first_foreign(piece).is_some() {
                room_for(text.len())?;
                let mut begun = String::with_capacity(text.len());
                begun.push_str(&text[..at]);
                replaced = Some(begun);
            }
            if let Some(replaced) = &mut replaced {
                replaced.extend(piece.chars().map(|c| if self.has(c) { c } else { '?' }));
            }
        }
        Ok(replaced.map_or(Cow::Borrowed(text), Cow::Owned))
    }

    /// Appends the bytes of a character, or of a question mark if the set lacks it.
    fn append(self, c: char, out: &mut Vec<u8>) {
        let c = if self.has(c) { c } else { '?' };
        let mut buffer = [0; 4];
        match self.row().5 {
            Bytes | Utf8(_) => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
            Utf16 { little_endian, .. } => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if little_endian { unit.to_le_bytes() } else { unit.to_be_bytes() });
                }
            }
            Utf32 => out.extend(u32::from(c).to_be_bytes()),
            Encoding::Codes => {
                self.codes().append(c, out);
            }
            Gb18030 => {
                let (bytes, ..) = encoding_rs::GB18030.encode(c.encode_utf8(&mut buffer));
                out.extend_from_slice(&bytes);
            }
        }
    }

    /// Encodes the text, with a question mark for each character that the set lacks.
    pub fn encode(self, text: &str) -> Vec<u8> {
        if text.is_ascii() && self.keeps_ascii() || matches!(self.row().5, Bytes | Utf8(0x10_ffff)) {
            return text.as_bytes().to_vec();
        }
        let mut out = Vec::with_capacity(text.len() * self.min_bytes() as usize);
        text.chars().for_each(|c| self.append(c, &mut out));
        out
    }

    /// Encodes the text as [`Charset::encode`] does. Checks `cancel` once in 256 KiB.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end; 1041 if memory is lacking.
    pub fn encode_long(self, text: &str, cancel: &CancelToken) -> Result<Vec<u8>, MysqlError> {
        let most = text.len().saturating_mul(self.min_bytes() as usize);
        room_for(most)?;
        let mut out = Vec::with_capacity(most);
        for (_, piece) in pieces(text) {
            cancel.check()?;
            if piece.is_ascii() && self.keeps_ascii() || matches!(self.row().5, Bytes | Utf8(0x10_ffff)) {
                out.extend_from_slice(piece.as_bytes());
            } else {
                piece.chars().for_each(|c| self.append(c, &mut out));
            }
        }
        Ok(out)
    }

    /// Returns how many bytes a character, given as UTF-8, takes in the character set.
    #[inline]
    pub(super) fn width(self, character: &[u8]) -> usize {
        let decoded = || str::from_utf8(character).ok().and_then(|text| text.chars().next());
        match self.row().5 {
            Bytes | Utf8(_) => character.len(),
            Utf16 { .. } => {
                if character.len() > 3 {
                    4
                } else {
                    2
                }
            }
            Utf32 => 4,
            Encoding::Codes if self.max_bytes() == 1 || character.len() == 1 => 1,
            Encoding::Codes | Gb18030 => decoded().map_or(1, |c| {
                let mut bytes = Vec::with_capacity(4);
                self.append(c, &mut bytes);
                bytes.len()
            }),
        }
    }

    /// Returns how many bytes the text takes in the character set.
    pub fn encoded_len(self, text: &str) -> usize {
        if self.is_utf8() || text.is_ascii() && self.keeps_ascii() {
            return text.len();
        }
        let mut buffer = Vec::with_capacity(4);
        let len = |c| {
            buffer.clear();
            self.append(c, &mut buffer);
            buffer.len()
        };
        text.chars().map(len).sum()
    }

    /// Returns where to cut the text, in bytes of UTF-8, so that it takes at most `bytes` bytes in the character set.
    pub fn fitting(self, text: &str, bytes: usize) -> usize {
        if text.len().saturating_mul(self.max_bytes() as usize) <= bytes {
            return text.len();
        }
        let mut taken = 0;
        let mut buffer = [0; 4];
        let too_many = |(_, c): &(usize, char)| {
            taken += self.encoded_len(c.encode_utf8(&mut buffer));
            taken > bytes
        };
        text.char_indices().find(too_many).map_or(text.len(), |(at, _)| at)
    }

    /// Writes the bytes that WEIGHT_STRING returns for a two-byte weight: as many bytes as codes have.
    pub(crate) fn put_weight(self, weight: [u8; 2], out: &mut Output<'_>) -> Result<(), Stop> {
        let (two, three) = (self.max_bytes() == 2, self.max_bytes() == 3);
        match weight {
            [0, low] => out.push(&[low]),
            [byte, 0] if two => out.push(&[byte]),
            [KATAKANA_WEIGHTS, low] if three => out.push(&[0x8e, low]),
            [high @ ..0x80, low] if three => out.push(&[0x8f, high | 0x80, low | 0x80]),
            bytes => out.push(&bytes),
        }
    }

    /// Returns how many bytes the character at the front of `bytes` takes; 1 if no valid character is there. The
    /// lexer goes on behind it.
    pub fn first_len(self, bytes: &[u8]) -> usize {
        let lead = bytes.first().copied().unwrap_or_default();
        match self.row().5 {
            _ if lead < 0x80 => 1,
            Bytes | Utf16 { .. } | Utf32 => 1,
            Utf8(_) => 1 + bytes.iter().skip(1).take(3).take_while(|byte| **byte & 0xc0 == 0x80).count(),
            Encoding::Codes => self.codes().len(bytes).max(1),
            Gb18030 => match bytes.get(1) {
                Some(0x30..=0x39) => 4.min(bytes.len()),
                Some(0x40..=0x7e | 0x80..=0xfe) => 2,
                _ => 1,
            },
        }
    }

    /// Decodes the character at the front of `bytes` and returns it with its length in bytes. None if no valid
    /// character is there.
    fn first(self, bytes: &[u8]) -> Option<(char, usize)> {
        let unit = |at: usize, little_endian: bool| {
            let unit = [*bytes.get(at)?, *bytes.get(at + 1)?];
            Some(u32::from(if little_endian { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) }))
        };
        let found = match self.row().5 {
            Encoding::Codes => self.codes().first(bytes),
            Utf16 { little_endian, .. } => match unit(0, little_endian)? {
                high @ 0xd800..=0xdbff => {
                    let low = unit(2, little_endian)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                    char::from_u32(0x1_0000 + ((high - 0xd800) << 10 | low)).map(|c| (c, 4))
                }
                code_point => char::from_u32(code_point).map(|c| (c, 2)),
            },
            Utf32 => char::from_u32(u32::from_be_bytes(*bytes.first_chunk()?)).map(|c| (c, 4)),
            Gb18030 => {
                let len = self.first_len(bytes);
                let text = encoding_rs::GB18030
                    .decode_without_bom_handling_and_without_replacement(bytes.get(..len)?)?;
                text.chars().next().map(|c| (c, len))
            }
            Bytes | Utf8(_) => {
                let len = self.first_len(bytes);
                let text = std::str::from_utf8(bytes.get(..len)?).ok()?;
                text.chars().next().map(|c| (c, len))
            }
        };
        found.filter(|(c, _)| self.has(*c) || matches!(self.row().5, Encoding::Codes))
    }

    /// Decodes `bytes`. In UTF-16 and UTF-32, missing zeros at the front are filled in.
    ///
    /// # Errors
    /// 1300 if they are not valid.
    pub fn decode(self, bytes: &[u8]) -> Result<String, MysqlError> {
        self.decode_stepwise(bytes, &mut |_| Ok(()))
    }

    /// Decodes `bytes` as [`Charset::decode`] does. Checks `cancel` once in 256 KiB.
    ///
    /// # Errors
    /// 1300 if they are not valid; 1317 or 3024 if the statement has to end.
    pub fn decode_long(self, bytes: &[u8], cancel: &CancelToken) -> Result<String, MysqlError> {
        let mut steps = CancelTicker::new(cancel, BYTES_BETWEEN_CHECKS);
        self.decode_stepwise(bytes, &mut |read| steps.take(read))
    }

    fn decode_stepwise(
        self,
        bytes: &[u8],
        step: &mut impl FnMut(usize) -> Result<(), MysqlError>,
    ) -> Result<String, MysqlError> {
        if self.is_utf8()
            && let Ok(text) = std::str::from_utf8(bytes)
            && self.first_foreign(text).is_none()
        {
            return Ok(text.to_owned());
        }
        let unit = self.min_bytes() as usize;
        if !bytes.len().is_multiple_of(unit) {
            let mut filled = vec![0; unit - bytes.len() % unit];
            filled.extend_from_slice(bytes);
            return self.decode_all(&filled, step);
        }
        self.decode_all(bytes, step)
    }

    fn decode_all(
        self,
        bytes: &[u8],
        step: &mut impl FnMut(usize) -> Result<(), MysqlError>,
    ) -> Result<String, MysqlError> {
        // In most one-byte sets a character takes up to twice as many bytes in UTF-8; the string grows by doubling.
        room_for(bytes.len().saturating_mul(2))?;
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some((c, len)) = self.first(rest) else {
                let bad: String = rest.iter().take(SHOWN_BYTES).map(|b| format!("\\x{b:02X}")).collect();
                return Err(MysqlError::invalid_character_string(self.name(), bad));
            };
            text.push(c);
            rest = rest.get(len..).unwrap_or_default();
            step(len)?;
        }
        Ok(text)
    }
}

/// Splits the text into pieces for steps, and returns each with its byte offset.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let mut end = rest.len().min(BYTES_BETWEEN_CHECKS);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        at += end;
        Some((at - end, &rest[..end]))
    })
}

/// The character sets that code names.
#[expect(non_upper_case_globals, reason = "they stand where variants of an enumeration would")]
impl Charset {
    /// `binary`.
    pub const Binary: Charset = Charset(0);
    /// `ascii`.
    pub const Ascii: Charset = Charset(1);
    /// `latin1`.
    pub const Latin1: Charset = Charset(2);
    /// `utf8mb3`.
    pub const Utf8mb3: Charset = Charset(3);
    /// `utf8mb4`.
    pub const Utf8mb4: Charset = Charset(4);
    /// `armscii8`.
    pub const Armscii8: Charset = Charset(5);
    /// `big5`.
    pub const Big5: Charset = Charset(6);
    /// `cp1250`.
    pub const Cp1250: Charset = Charset(7);
    /// `cp1251`.
    pub const Cp1251: Charset = Charset(8);
    /// `cp1256`.
    pub const Cp1256: Charset = Charset(9);
    /// `cp1257`.
    pub const Cp1257: Charset = Charset(10);
    /// `cp850`.
    pub const Cp850: Charset = Charset(11);
    /// `cp852`.
    pub const Cp852: Charset = Charset(12);
    /// `cp866`.
    pub const Cp866: Charset = Charset(13);
    /// `cp932`.
    pub const Cp932: Charset = Charset(14);
    /// `dec8`.
    pub const Dec8: Charset = Charset(15);
    /// `eucjpms`.
    pub const Eucjpms: Charset = Charset(16);
    /// `euckr`.
    pub const Euckr: Charset = Charset(17);
    /// `gb18030`.
    pub const Gb18030: Charset = Charset(18);
    /// `gb2312`.
    pub const Gb2312: Charset = Charset(19);
    /// `gbk`.
    pub const Gbk: Charset = Charset(20);
    /// `geostd8`.
    pub const Geostd8: Charset = Charset(21);
    /// `greek`.
    pub const Greek: Charset = Charset(22);
    /// `hebrew`.
    pub const Hebrew: Charset = Charset(23);
    /// `hp8`.
    pub const Hp8: Charset = Charset(24);
    /// `keybcs2`.
    pub const Keybcs2: Charset = Charset(25);
    /// `koi8r`.
    pub const Koi8r: Charset = Charset(26);
    /// `koi8u`.
    pub const Koi8u: Charset = Charset(27);
    /// `latin2`.
    pub const Latin2: Charset = Charset(28);
    /// `latin5`.
    pub const Latin5: Charset = Charset(29);
    /// `latin7`.
    pub const Latin7: Charset = Charset(30);
    /// `macce`.
    pub const Macce: Charset = Charset(31);
    /// `macroman`.
    pub const Macroman: Charset = Charset(32);
    /// `sjis`.
    pub const Sjis: Charset = Charset(33);
    /// `swe7`.
    pub const Swe7: Charset = Charset(34);
    /// `tis620`.
    pub const Tis620: Charset = Charset(35);
    /// `ucs2`.
    pub const Ucs2: Charset = Charset(36);
    /// `ujis`.
    pub const Ujis: Charset = Charset(37);
    /// `utf16`.
    pub const Utf16: Charset = Charset(38);
    /// `utf16le`.
    pub const Utf16le: Charset = Charset(39);
    /// `utf32`.
    pub const Utf32: Charset = Charset(40);
}

/// Whether GB 18030 has the character. The encoding standard leaves out one of the private-use characters, and gives
/// the codes of some others to characters that came later.
fn is_in_gb18030(c: char) -> bool {
    if !('\u{e000}'..='\u{f8ff}').contains(&c) {
        return true;
    }
    let mut buffer = [0; 4];
    let text = &*c.encode_utf8(&mut buffer);
    let (bytes, _, unmappable) = encoding_rs::GB18030.encode(text);
    !unmappable && encoding_rs::GB18030.decode_without_bom_handling(&bytes).0 == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for charset in Charset::all() {
            assert_eq!(Charset::from_name(&charset.name().to_uppercase()).unwrap(), charset);
            if Collation::from_id(charset.default_collation().id()).is_some() {
                assert_eq!(charset.default_collation().charset(), charset);
            }
            assert_eq!(charset.binary_collation().charset(), charset);
        }
        assert_eq!(Charset::from_name("utf8").unwrap(), Charset::Utf8mb3);
        assert_eq!(Charset::from_name("klingon").unwrap_err().code, 1115);
    }

    #[test]
    fn latin1_is_windows_1252() {
        let all: Vec<u8> = (0..=255).collect();
        let text = Charset::Latin1.decode(&all).unwrap();
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

    #[test]
    fn every_character_of_every_set_goes_both_ways() {
        for charset in Charset::all().filter(|charset| *charset != Charset::Binary) {
            for c in (0..0x11_0000).filter_map(char::from_u32).filter(|c| charset.has(*c)) {
                let mut bytes = Vec::new();
                charset.append(c, &mut bytes);
                assert_eq!(
                    charset.first(&bytes),
                    Some((c, bytes.len())),
                    "{} {c:?} {bytes:x?}",
                    charset.name()
                );
                assert!(bytes.len() <= charset.max_bytes() as usize, "{} {c:?}", charset.name());
            }
        }
    }
}
