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
use super::weights::{IGNORED, LONG, LevelWeights, Weights};

/// What stands in [`AsciiForms`] for a byte that begins no weight of a character of ASCII alone.
pub(super) const NO_ASCII: u8 = 0x80;
/// What stands for no character in [`Unit`].
const NO_CHARACTER: u32 = u32::MAX;

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

    /// Whether a byte is the weight of a character of ASCII.
    #[inline]
    pub(super) fn has(&self, code: u8) -> bool {
        self.first[usize::from(code)] != NO_ASCII
    }
}

/// The characters of weights.
#[derive(Debug)]
pub(crate) struct Characters {
    /// By weight.
    forms: Vec<[u32; 2]>,
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
        Characters { forms }
    }

    fn forms(&self, w: u16) -> [u32; 2] {
        self.forms.get(usize::from(w)).copied().unwrap_or([NO_CHARACTER; 2])
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
    /// Code points.
    forms: [u32; 2],
    /// How many weights.
    weights: u8,
}

impl Unit {
    /// The character, in its first form or its second. `None` if there is no character that has these weights alone.
    #[inline]
    pub(crate) fn character(self, second: bool) -> Option<char> {
        char::from_u32(self.forms[usize::from(second)])
    }

    /// Whether the forms differ.
    #[inline]
    pub(crate) fn has_two_forms(self) -> bool {
        self.forms[0] != self.forms[1]
    }

    /// How many weights it is.
    pub(crate) fn weights(self) -> usize {
        self.weights.into()
    }
}

/// Gathers weights into units.
#[derive(Debug, Clone)]
struct Units<W> {
    weights: &'static Weights,
    source: W,
    /// Weights that were looked at.
    ahead: [u16; 2],
    ahead_len: usize,
}

/// The letters of Hangul syllables.
const LEADING: std::ops::RangeInclusive<u32> = 0x1100..=0x1112;
const VOWELS: std::ops::RangeInclusive<u32> = 0x1161..=0x1175;
const TRAILING: std::ops::RangeInclusive<u32> = 0x11a8..=0x11c2;

impl<W: Iterator<Item = u16>> Units<W> {
    fn new(weights: &'static Weights, source: W) -> Self {
        Units { weights, source, ahead: [0; 2], ahead_len: 0 }
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

    /// The first form of the weight behind `number` others, if it lies there.
    fn letter(&mut self, number: usize, among: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let [first, _] = self.weights.characters().forms(self.peek(number)?);
        among.contains(&first).then_some(first - among.start())
    }

    fn next(&mut self) -> Option<Unit> {
        let w = self.weight()?;
        let level = &self.weights.levels[0];
        if self.weights.has_implicit(w) {
            let Some(second) = self.weight() else {
                return Some(Unit { forms: [NO_CHARACTER; 2], weights: 1 });
            };
            let character = level.implicit_character(w, second).unwrap_or(NO_CHARACTER);
            return Some(Unit { forms: [character; 2], weights: 2 });
        }
        let forms = self.weights.characters().forms(w);
        if level.spells_hangul()
            && LEADING.contains(&forms[0])
            && let Some(vowel) = self.letter(0, VOWELS)
        {
            let trailing = self.letter(1, TRAILING).map(|letter| letter + 1);
            let weights = 2 + u8::from(trailing.is_some());
            for _ in 1..weights {
                self.weight();
            }
            let number = (forms[0] - LEADING.start()) * 21 + vowel;
            let syllable = 0xac00 + number * 28 + trailing.unwrap_or(0);
            return Some(Unit { forms: [syllable; 2], weights });
        }
        Some(Unit { forms, weights: 1 })
    }
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
        let units = &mut self.0;
        if units.ahead_len == 0
            && let Some(code) = units.source.plain()
        {
            let AsciiForms { first, second } = &units.weights.ascii_forms;
            let forms = [first, second].map(|forms| u32::from(forms[usize::from(code)]));
            return Some(Unit { forms, weights: 1 });
        }
        units.next()
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
