//! Turns weights back into characters: the plainest string that has given weights.
//!
//! The first-level weights of a string fall into *units*. Each unit stands for one character: it is one weight, two
//! implicit weights, or the weights of the letters of a Hangul syllable. A weight that several characters share has
//! two *forms*, which may be equal. The first form is the plainest character (ASCII before others, without accents, a
//! small letter, hiragana); the second is the capital letter, or katakana, without accents. The tables of UCA 9.0.0
//! decide for all collations which character is plainer. They never change, so the forms never change, and the
//! [differences](crate::key) on disk, which are made against the forms, stay valid.

use super::characters::{Characters, NO_UTF8, Utf8, utf8, utf8_len};
use super::table;
use super::table::Entry;
use super::unpacking::KeyWeights;
use super::weights::{LevelWeights, Weights, implicit_character};

/// Marks a missing character in [`Unit`].
const NO_CHARACTER: u32 = u32::MAX;

/// Returns how plain a character is; the plainer, the less.
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

/// Returns the weight of a character on the third level.
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

/// Finds the characters of all weights of a collation.
fn characters_of(weights: &Weights) -> Characters {
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

impl Weights {
    fn characters(&self) -> &Characters {
        self.characters.get_or_init(|| characters_of(self))
    }
}

/// The weights that stand for one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    forms: [Utf8; 2],
    /// The number of weights.
    weights: u8,
}

impl Unit {
    /// Returns the first or second form in UTF-8. `None` if no character has exactly these weights.
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

    /// Returns the number of weights.
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
    /// Weights read from `source` but not yet consumed.
    ahead: [u16; 2],
    ahead_len: usize,
}

/// The first UTF-8 byte of every letter of a Hangul syllable, and of other characters.
const HANGUL: u8 = 0xe1;
/// The ranges of the letters of Hangul syllables.
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

    /// Returns the weight that follows `number` others, without consuming it; `number` is 0 or 1.
    fn peek(&mut self, number: usize) -> Option<u16> {
        while self.ahead_len <= number {
            let w = self.source.next()?;
            *self.ahead.get_mut(self.ahead_len)? = w;
            self.ahead_len += 1;
        }
        self.ahead.get(number).copied()
    }

    /// Returns the place in `among` of the letter whose weight follows `number` others; None if it is not one of
    /// `among`.
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
            && self.weights.levels[0].has_hangul_by_letters()
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

/// Returns the place of a letter in `among`; None if it is not in there.
fn letter(character: Utf8, among: std::ops::RangeInclusive<u32>) -> Option<u32> {
    let [HANGUL, second, third, _] = character else { return None };
    let code_point = 0x1000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
    among.contains(&code_point).then(|| code_point - among.start())
}

/// Iterates over the units of a key.
#[derive(Debug, Clone)]
pub(crate) struct KeyUnits<'k>(Units<KeyWeights<'k>>);

impl<'k> KeyUnits<'k> {
    /// Iterates over the units of the key at the front of `key`, each byte XORed with `mask`.
    pub(crate) fn new(weights: &'static Weights, key: &'k [u8], mask: u8) -> Self {
        KeyUnits(Units::new(weights, KeyWeights::new(weights, key, mask)))
    }

    /// Returns the next unit.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Unit> {
        self.0.next()
    }

    /// Appends the characters of up to `most` next units, in their first or second form, and returns how many it
    /// appended. Stops before a unit that is not one weight or two implicit ones. `None` if a unit has no character.
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

    /// Appends the characters of up to `most` next units, in their first or second form, and returns how many it
    /// appended. Stops before a character that is not ASCII, and before one whose weight depends on the bytes behind
    /// it.
    #[inline]
    pub(crate) fn append_plain(&mut self, most: usize, second: bool, out: &mut Vec<u8>) -> usize {
        if self.0.ahead_len > 0 { 0 } else { self.0.source.append_plain(most, second, out) }
    }

    /// Whether the iteration ended because the bytes are no valid key.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.source.has_failed()
    }
}

/// Iterates over the units of a string.
#[derive(Debug)]
pub(crate) struct StringUnits<'s> {
    units: Units<std::iter::Take<LevelWeights<'s>>>,
    /// The number of weights that [`next`](Self::next) has not returned yet.
    left: usize,
}

impl<'s> StringUnits<'s> {
    /// Iterates over the units of `s`, without trailing spaces under PAD SPACE.
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

    /// Returns the next unit.
    pub(crate) fn next(&mut self) -> Option<Unit> {
        let unit = self.units.next()?;
        self.left = self.left.saturating_sub(unit.weights());
        Some(unit)
    }

    /// Returns how many weights are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }
}

impl Weights {
    /// Returns the bits in which the two forms of an ASCII character differ: none or one.
    #[inline]
    pub(crate) fn case_bits(&self, character: u8) -> u8 {
        self.case_bits[usize::from(character & 0x7f)]
    }

    /// Returns how many weights a character has on the first level.
    pub(crate) fn weights_of(&self, character: &str) -> usize {
        self.levels[0].weights(character.as_bytes()).count()
    }

    /// Whether each ASCII character of the string is the first form of its weight.
    #[inline]
    pub(crate) fn is_plain(&self, s: &[u8]) -> bool {
        let form = |byte: u8| self.ascii_forms.first[usize::from(self.ascii[usize::from(byte & 0x7f)])];
        s.iter().all(|byte| form(*byte) == *byte)
    }

    /// Returns the two forms of an ASCII character for which [`is_simple`](Self::is_simple) holds.
    #[inline]
    pub(crate) fn simple_forms(&self, character: u8) -> (u8, u8) {
        let code = usize::from(self.ascii[usize::from(character & 0x7f)]);
        (self.ascii_forms.first[code], self.ascii_forms.second[code])
    }

    /// Whether each character of the string is ASCII and has a weight that is one byte of the key.
    #[inline]
    pub(crate) fn is_simple(&self, s: &[u8]) -> bool {
        s.iter().all(|byte| *byte < 0x80 && self.ascii_forms.has(self.ascii[usize::from(*byte)]))
    }
}
