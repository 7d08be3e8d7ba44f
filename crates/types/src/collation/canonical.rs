//! From weights back to characters: the plainest string that has them.
//!
//! The weights of a string on the first level fall into *units*, each of which stands for one character: a weight, two implicit ones, or
//! those of the letters of a Hangul syllable. A weight that several characters have has two *forms*, which may be the same: the first is that of
//! the plainest (a character of ASCII rather than another, without accents, a small letter, hiragana), the second that of the capital letter, or
//! katakana, without accents. What is plain the tables of UCA 9.0.0 say for all collations: they never change, and so these
//! forms do not, which [differences](crate::key) on disk are made to.

use super::table;
use super::table::Entry;
use super::unpacking::KeyWeights;
use super::weights::{IGNORED, LONG, LevelWeights, Weights, implicit_character};

/// What stands in [`AsciiForms`] for a byte that begins no weight of a character of ASCII alone.
pub(super) const NO_ASCII: u8 = 0x80;
/// What stands for no character in [`Unit`].
const NO_CHARACTER: u32 = u32::MAX;

/// A character in UTF-8, and anything behind it. What begins with `ff` is none.
type Utf8 = [u8; 4];

const NO_UTF8: Utf8 = [0xff; 4];

fn utf8(code_point: u32) -> Utf8 {
    let mut bytes = [0; 4];
    match char::from_u32(code_point) {
        Some(character) => {
            character.encode_utf8(&mut bytes);
            bytes
        }
        None => NO_UTF8,
    }
}

/// How long the character is whose UTF-8 begins with this byte.
#[inline]
fn utf8_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Of each byte that is a weight of ASCII in keys, the forms.
#[derive(Debug)]
pub(crate) struct AsciiForms {
    /// The first; [`NO_ASCII`] for other bytes.
    pub(super) first: [u8; 256],
    /// The second.
    pub(super) second: [u8; 256],
}

impl AsciiForms {
    /// From the bytes of the characters of ASCII.
    pub(super) const fn new(codes: &[u8; 128]) -> AsciiForms {
        let (mut first, mut second) = ([NO_ASCII; 256], [NO_ASCII; 256]);
        let mut c = 0u8;
        while c < 128 {
            let code = codes[c as usize];
            if code != IGNORED && code != LONG {
                let before = first[code as usize];
                if before == NO_ASCII || (before.is_ascii_uppercase() && c.is_ascii_lowercase()) {
                    first[code as usize] = c;
                    second[code as usize] = c;
                }
            }
            c += 1;
        }
        let mut c = b'a';
        while c <= b'z' {
            let code = codes[c as usize] as usize;
            let capital = c.to_ascii_uppercase();
            if first[code] == c && codes[capital as usize] as usize == code {
                second[code] = capital;
            }
            c += 1;
        }
        AsciiForms { first, second }
    }

    /// Of each character of ASCII the bits in which its forms differ.
    pub(super) const fn case_bits(&self, codes: &[u8; 128]) -> [u8; 128] {
        let mut bits = [0; 128];
        let mut c = 0;
        while c < 128 {
            let code = codes[c] as usize;
            bits[c] = self.first[code] ^ self.second[code];
            c += 1;
        }
        bits
    }

    /// The same without a byte.
    pub(super) const fn without(&self, code: u8) -> AsciiForms {
        let (mut first, mut second) = (self.first, self.second);
        first[code as usize] = NO_ASCII;
        second[code as usize] = NO_ASCII;
        AsciiForms { first, second }
    }

    /// Whether a byte is the weight of a character of ASCII.
    #[inline]
    pub(super) fn has(&self, code: u8) -> bool {
        self.first[usize::from(code)] != NO_ASCII
    }

    /// The forms of bytes.
    #[inline]
    pub(super) fn forms(&self, second: bool) -> &[u8; 256] {
        if second { &self.second } else { &self.first }
    }
}

/// The characters of weights.
#[derive(Debug)]
pub(crate) struct Characters {
    /// By weight.
    forms: Vec<[Utf8; 2]>,
    /// Of each byte that begins a weight in keys, the first such weight and how many there are; none where more is to be known of what comes behind
    /// them, or a weight takes other bytes than a place among these.
    leads: [[u16; 2]; 256],
}

/// How plain a character is: the less, the plainer.
fn plainness(code_point: u32) -> (bool, bool, u16, u32) {
    let accent = match table::UCA_900_SECONDARY.entry(code_point) {
        Entry::Weight(w) => w != COMMON_SECONDARY,
        Entry::Absent => false,
        Entry::Expansion(..) | Entry::Ignorable => true,
    };
    let case = match case(code_point) {
        SMALL => 0,
        HIRAGANA => 1,
        other => other.saturating_add(2),
    };
    (code_point >= 0x80, accent, case, code_point)
}

/// The weight of a character on the third level.
fn case(code_point: u32) -> u16 {
    match table::UCA_900_TERTIARY.entry(code_point) {
        Entry::Weight(w) => w,
        Entry::Absent => SMALL,
        Entry::Expansion(..) | Entry::Ignorable => u16::MAX,
    }
}

const COMMON_SECONDARY: u16 = 0x20;
const SMALL: u16 = 0x02;
const CAPITAL: u16 = 0x08;
const HIRAGANA: u16 = 0x0e;
const KATAKANA: u16 = 0x11;

impl Characters {
    fn of(weights: &Weights) -> Characters {
        let level = &weights.levels[0];
        let mut forms: Vec<[u32; 2]> = Vec::new();
        for code_point in (0..level.end_of_own_weights()).filter(|c| char::from_u32(*c).is_some()) {
            let Some(w) = level.only_weight(code_point) else { continue };
            let w = usize::from(w);
            if forms.len() <= w {
                forms.resize(w + 1, [NO_CHARACTER; 2]);
            }
            let [first, second] = &mut forms[w];
            let new = plainness(code_point);
            if *first == NO_CHARACTER || new < plainness(*first) {
                *first = code_point;
            }
            let (_, accent, ..) = new;
            if matches!(case(code_point), CAPITAL | KATAKANA)
                && !accent
                && (*second == NO_CHARACTER || new < plainness(*second))
            {
                *second = code_point;
            }
        }
        for [first, second] in &mut forms {
            if *second == NO_CHARACTER {
                *second = *first;
            }
        }
        let forms = forms.into_iter().map(|forms| forms.map(utf8)).collect();
        let mut leads = weights.packing.leads();
        for (code, lead) in leads.iter_mut().enumerate() {
            let is_space = weights.pads && code == usize::from(weights.ascii[usize::from(b' ')]);
            if is_space || weights.has_implicit(lead[0]) {
                *lead = [0; 2];
            }
        }
        Characters { forms, leads }
    }

    #[inline]
    fn forms(&self, w: u16) -> [Utf8; 2] {
        self.forms.get(usize::from(w)).copied().unwrap_or([NO_UTF8; 2])
    }
}

impl Weights {
    fn characters(&self) -> &Characters {
        self.characters.get_or_init(|| Characters::of(self))
    }
}

/// Weights that stand for one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    forms: [Utf8; 2],
    /// How many weights.
    weights: u8,
}

impl Unit {
    /// The character in UTF-8, in its first form or its second. `None` if there is no character that has these weights alone.
    #[inline]
    pub(crate) fn text(&self, second: bool) -> Option<&[u8]> {
        let form = &self.forms[usize::from(second)];
        if form[0] == 0xff { None } else { form.get(..utf8_len(form[0])) }
    }

    /// Whether the forms differ.
    #[inline]
    pub(crate) fn has_two_forms(&self) -> bool {
        self.forms[0] != self.forms[1]
    }

    /// How many weights it is.
    pub(crate) fn weights(&self) -> usize {
        self.weights.into()
    }
}

/// Gathers weights into units.
#[derive(Debug, Clone)]
struct Units<W> {
    weights: &'static Weights,
    characters: &'static Characters,
    source: W,
    /// Weights that were looked at.
    ahead: [u16; 2],
    ahead_len: usize,
}

/// What all letters of Hangul syllables begin with, and others.
const HANGUL: u8 = 0xe1;
/// The letters of Hangul syllables.
const LEADING: std::ops::RangeInclusive<u32> = 0x1100..=0x1112;
const VOWELS: std::ops::RangeInclusive<u32> = 0x1161..=0x1175;
const TRAILING: std::ops::RangeInclusive<u32> = 0x11a8..=0x11c2;

impl<W: Iterator<Item = u16>> Units<W> {
    fn new(weights: &'static Weights, source: W) -> Self {
        Units { weights, characters: weights.characters(), source, ahead: [0; 2], ahead_len: 0 }
    }

    fn weight(&mut self) -> Option<u16> {
        if self.ahead_len == 0 {
            return self.source.next();
        }
        self.ahead_len -= 1;
        let [first, second] = self.ahead;
        self.ahead[0] = second;
        Some(first)
    }

    /// The weight behind `number` others, up to one.
    fn peek(&mut self, number: usize) -> Option<u16> {
        while self.ahead_len <= number {
            let w = self.source.next()?;
            *self.ahead.get_mut(self.ahead_len)? = w;
            self.ahead_len += 1;
        }
        self.ahead.get(number).copied()
    }

    /// The letter whose weight is behind `number` others, if it is one of these.
    fn letter(&mut self, number: usize, among: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let [first, _] = self.characters.forms(self.peek(number)?);
        letter(first, among)
    }

    #[inline]
    fn next(&mut self) -> Option<Unit> {
        let w = self.weight()?;
        if self.weights.has_implicit(w) {
            let character = self.weight().map_or(NO_CHARACTER, |second| implicit_character(w, second));
            return Some(Unit { forms: [utf8(character); 2], weights: 2 });
        }
        let forms = self.characters.forms(w);
        if forms[0][0] == HANGUL
            && self.weights.levels[0].spells_hangul()
            && let Some(leading) = letter(forms[0], LEADING)
            && let Some(vowel) = self.letter(0, VOWELS)
        {
            let trailing = self.letter(1, TRAILING).map(|letter| letter + 1);
            let weights = 2 + u8::from(trailing.is_some());
            for _ in 1..weights {
                self.weight();
            }
            let syllable = 0xac00 + (leading * 21 + vowel) * 28 + trailing.unwrap_or(0);
            return Some(Unit { forms: [utf8(syllable); 2], weights });
        }
        Some(Unit { forms, weights: 1 })
    }
}

/// The number of a letter among these.
fn letter(character: Utf8, among: std::ops::RangeInclusive<u32>) -> Option<u32> {
    let [HANGUL, second, third, _] = character else { return None };
    let code_point = 0x1000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
    among.contains(&code_point).then(|| code_point - among.start())
}

/// The units of the key of a string.
#[derive(Debug, Clone)]
pub(crate) struct KeyUnits<'k>(Units<KeyWeights<'k>>);

impl<'k> KeyUnits<'k> {
    /// Of the key at the front of `key`, each byte `^ mask`.
    pub(crate) fn new(weights: &'static Weights, key: &'k [u8], mask: u8) -> Self {
        KeyUnits(Units::new(weights, KeyWeights::new(weights, key, mask)))
    }

    /// The next one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Unit> {
        self.0.next()
    }

    /// Appends the characters of the next units, up to `most`, in their first form or second, as far as each is one weight or two implicit ones; how
    /// many. `None` if a unit has no character.
    pub(crate) fn append_many(&mut self, most: usize, second: bool, out: &mut Vec<u8>) -> Option<usize> {
        let Units { weights, characters, source, ahead, ahead_len } = &mut self.0;
        let mut count = 0;
        while *ahead_len == 0 && count < most {
            count += source.append_plain(most - count, second, out);
            if count == most {
                break;
            }
            let Some(w) = source.led(&characters.leads).or_else(|| source.next()) else { break };
            let form = match weights.has_implicit(w) {
                true => utf8(implicit_character(w, source.next()?)),
                false => {
                    let forms = characters.forms(w);
                    if forms[0][0] == HANGUL {
                        (ahead[0], *ahead_len) = (w, 1);
                        break;
                    }
                    forms[usize::from(second)]
                }
            };
            if form == NO_UTF8 {
                return None;
            }
            let end = out.len() + utf8_len(form[0]);
            out.extend_from_slice(&form);
            out.truncate(end);
            count += 1;
        }
        Some(count)
    }

    /// Appends the characters of the next units, up to `most`, in their first form or second, as far as they are of ASCII and nothing is to be
    /// known of what comes behind them; how many.
    #[inline]
    pub(crate) fn append_plain(&mut self, most: usize, second: bool, out: &mut Vec<u8>) -> usize {
        if self.0.ahead_len > 0 { 0 } else { self.0.source.append_plain(most, second, out) }
    }

    /// Whether they ended because the key is none.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.source.has_failed()
    }
}

/// The units of a string.
#[derive(Debug)]
pub(crate) struct StringUnits<'s> {
    units: Units<std::iter::Take<LevelWeights<'s>>>,
    /// Weights that no unit has been asked for.
    left: usize,
}

impl<'s> StringUnits<'s> {
    /// Of a string without trailing spaces where these do not count.
    pub(crate) fn new(weights: &'static Weights, s: &'s [u8]) -> Self {
        let level = &weights.levels[0];
        let mut count = 0;
        for (number, w) in level.weights(s).enumerate() {
            if !weights.pads || w != weights.space {
                count = number + 1;
            }
        }
        StringUnits { units: Units::new(weights, level.weights(s).take(count)), left: count }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Option<Unit> {
        let unit = self.units.next()?;
        self.left = self.left.saturating_sub(unit.weights());
        Some(unit)
    }

    /// How many weights are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }
}

impl Weights {
    /// The bits in which the forms of a character of ASCII differ: none or one.
    #[inline]
    pub(crate) fn case_bits(&self, character: u8) -> u8 {
        self.case_bits[usize::from(character & 0x7f)]
    }

    /// How many weights a character has on the first level.
    pub(crate) fn weights_of(&self, character: &str) -> usize {
        self.levels[0].weights(character.as_bytes()).count()
    }

    /// Whether the string is the one that its key says, each character of ASCII.
    #[inline]
    pub(crate) fn is_plain(&self, s: &[u8]) -> bool {
        let form = |byte: u8| self.ascii_forms.first[usize::from(self.ascii[usize::from(byte & 0x7f)])];
        s.iter().all(|byte| form(*byte) == *byte)
    }

    /// The two forms of what compares as a character of ASCII does of which [`is_simple`](Self::is_simple) was said.
    #[inline]
    pub(crate) fn simple_forms(&self, character: u8) -> (u8, u8) {
        let code = usize::from(self.ascii[usize::from(character & 0x7f)]);
        (self.ascii_forms.first[code], self.ascii_forms.second[code])
    }

    /// Whether each character of the string is of ASCII, and has a weight of its own that is one byte of the key.
    #[inline]
    pub(crate) fn is_simple(&self, s: &[u8]) -> bool {
        s.iter().all(|byte| *byte < 0x80 && self.ascii_forms.has(self.ascii[usize::from(*byte)]))
    }
}
