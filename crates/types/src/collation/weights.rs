//! The weights of a string under a collation, one level after the other, and comparison by them.
//!
//! A weight is a `u16`. On the first level letters differ, on the second accents, on the third case; most collations
//! have only the first. A character has no weight (it does not count), one, or several (`ß` has the weights of two
//! `s`). [`Absent`] gives the weights of characters without an entry in the table; under the Unicode collation
//! algorithm they are two weights computed from the code point ("implicit weights"), the first of them in `fb00` to
//! `fbe1`.
//!
//! ASCII has a table with one byte per character, in the order of the weights. It is the byte in keys, see
//! [`super::format`]. [`IGNORED`] stands for no weight and [`LONG`] for a weight that takes more bytes.
//!
//! Unicode Technical Standard #10 defines the algorithm and the meaning of tables. As in MySQL, a weight belongs to
//! one character, except for the contractions of some languages: sequences such as `ch` in Czech, in which all
//! characters but the last are ASCII. The first character of a contraction has no entry in the table, and [`LONG`] in
//! the ASCII table.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::OnceLock;

use super::Charset;
use super::ascii_forms::AsciiForms;
use super::characters::Characters;
use super::codes::Tailoring;
use super::format::{self, IGNORED, LONG, Packing};
use super::languages::{self, Language};
use super::table::{self, Entry, WeightTable, Words};

/// The rules by which a collation with weights compares.
#[derive(Debug)]
pub(crate) struct Weights {
    pub(super) levels: &'static [Level],
    pub(super) packing: Packing,
    /// Whether the shorter string compares as if spaces followed it (PAD SPACE).
    pub(super) pads: bool,
    /// The first-level weight of a space.
    pub(super) space: u16,
    /// The byte that stands for the first-level weights of each ASCII character.
    pub(super) ascii: [u8; 128],
    /// The ASCII characters of each byte.
    pub(super) ascii_forms: AsciiForms,
    /// The bits in which the forms of each ASCII character differ.
    pub(super) case_bits: [u8; 128],
    /// `ascii_forms`, without the space if another byte follows it in keys.
    pub(super) plain_forms: AsciiForms,
    /// The characters of weights, made on first use.
    pub(super) characters: OnceLock<Characters>,
}

/// A level of a collation.
#[derive(Debug)]
pub(super) struct Level {
    table: WeightTable,
    absent: Absent,
    /// The contractions of a language; their first characters are not in the table.
    contractions: Option<&'static Contractions>,
}

/// Sequences of characters that share weights. The weights are in the level's table, under numbers above all code
/// points.
#[derive(Debug)]
struct Contractions {
    /// The first characters, and the numbers under which their weights are when they stand alone.
    firsts: Vec<(u32, u32)>,
    /// The sequences and the numbers of their weights, longest sequence first.
    sequences: Vec<(Vec<u32>, u32)>,
}

impl Contractions {
    /// Moves the weights of sequences, and of their first characters, to numbers above all code points. `None` if
    /// there are no sequences.
    fn new(
        sequences: &[(Vec<u32>, Vec<u16>)],
        weights: &mut BTreeMap<u32, Vec<u16>>,
    ) -> Option<&'static Self> {
        let mut contractions = Contractions { firsts: Vec::new(), sequences: Vec::new() };
        let mut number = BEYOND_UNICODE;
        let mut put = |list: Vec<u16>, weights: &mut BTreeMap<u32, Vec<u16>>| {
            weights.insert(number, list);
            number += 1;
            number - 1
        };
        for (sequence, list) in sequences {
            let Some(first) = sequence.first() else { continue };
            if let Some(alone) = weights.remove(first) {
                let alone = put(alone, weights);
                contractions.firsts.push((*first, alone));
            }
            contractions.sequences.push((sequence.clone(), put(list.clone(), weights)));
        }
        contractions.sequences.sort_by_key(|(sequence, _)| std::cmp::Reverse(sequence.len()));
        (!contractions.sequences.is_empty()).then(|| &*Box::leak(Box::new(contractions)))
    }

    /// Returns the number under which the weights of a first character are.
    fn first(&self, code_point: u32) -> Option<u32> {
        self.firsts.iter().find(|(first, _)| *first == code_point).map(|(_, number)| *number)
    }

    /// Finds the longest sequence that begins with `first` and goes on in `rest`; returns the number of its weights
    /// and how many bytes of `rest` it takes.
    fn longest(&self, first: u32, rest: &[u8]) -> Option<(u32, usize)> {
        self.sequences.iter().find_map(|(sequence, number)| {
            let (begins, others) = sequence.split_first()?;
            if *begins != first {
                return None;
            }
            let mut len = 0;
            for other in others {
                let (next, bytes) = first_character(rest.get(len..)?)?;
                len += bytes;
                if next != *other {
                    return None;
                }
            }
            Some((*number, len))
        })
    }

    /// Whether a sequence may go on behind the character.
    fn goes_on(&self, code_point: u32) -> bool {
        self.sequences.iter().any(|(sequence, _)| {
            sequence.split_last().is_some_and(|(_, before)| before.contains(&code_point))
        })
    }
}

/// The weights of characters that are not in the table.
#[derive(Debug, Clone, Copy)]
enum Absent {
    /// The code point; U+FFFD for code points beyond U+FFFF.
    CodePoint,
    /// A weight above those of all bytes.
    AboveBytes,
    /// U+FFFD.
    Unknown,
    /// The bytes of GB 18030, two for each weight.
    Gb18030,
    /// Implicit weights by Unicode 4.0; U+FFFD for code points beyond U+FFFF.
    Uca400,
    /// Implicit weights by Unicode 4.0.
    Uca520,
    /// Implicit weights by Unicode 9.0; a Hangul syllable has the weights of its letters.
    Uca900,
    /// This weight; a Hangul syllable has it once per letter.
    Constant(u16),
}

const REPLACEMENT: u16 = 0xfffd;
/// The first number that is not a code point.
const BEYOND_UNICODE: u32 = 0x11_0000;
const SHARP_S: u32 = 0xdf;
/// Secondary and tertiary weights of most characters.
const COMMON_SECONDARY: u16 = 0x20;
const COMMON_TERTIARY: u16 = 0x02;

const PRIMARY_900: Level =
    Level { table: table::UCA_900_PRIMARY, absent: Absent::Uca900, contractions: None };
const SECONDARY_900: Level =
    Level { table: table::UCA_900_SECONDARY, absent: Absent::Constant(COMMON_SECONDARY), contractions: None };
const TERTIARY_900: Level =
    Level { table: table::UCA_900_TERTIARY, absent: Absent::Constant(COMMON_TERTIARY), contractions: None };

const UCA_900: Packing = Packing::Leads(table::UCA_900_PRIMARY.leads);
pub(super) static UCA_900_AI_CI: Weights = Weights::new(&[PRIMARY_900], UCA_900, false);
pub(super) static UCA_900_AS_CI: Weights = Weights::new(&[PRIMARY_900, SECONDARY_900], UCA_900, false);
pub(super) static UCA_900_AS_CS: Weights =
    Weights::new(&[PRIMARY_900, SECONDARY_900, TERTIARY_900], UCA_900, false);
pub(super) static UNICODE_520: Weights = Weights::new(
    &[Level { table: table::UCA_520, absent: Absent::Uca520, contractions: None }],
    Packing::Leads(table::UCA_520.leads),
    true,
);
pub(super) static UNICODE: Weights = Weights::new(
    &[Level { table: table::UCA_400, absent: Absent::Uca400, contractions: None }],
    Packing::Leads(table::UCA_400.leads),
    true,
);
pub(super) static GENERAL: Weights = Weights::new(
    &[Level { table: table::GENERAL, absent: Absent::CodePoint, contractions: None }],
    Packing::CodePoints,
    true,
);
pub(super) static LATIN1_SWEDISH: Weights = Weights::new(
    &[Level { table: table::LATIN1_SWEDISH, absent: Absent::AboveBytes, contractions: None }],
    Packing::CodePoints,
    true,
);
pub(super) static LATIN1_BIN: Weights = Weights::new(
    &[Level { table: table::LATIN1, absent: Absent::AboveBytes, contractions: None }],
    Packing::CodePoints,
    true,
);

impl Weights {
    /// Makes a collation in which characters have these weights. It is never freed.
    pub(super) fn of_codes(weights: &BTreeMap<u32, Vec<u16>>) -> Self {
        let wide = weights.values().flatten().any(|w| *w > 0xff);
        Self::made(weights, if wide { Absent::Unknown } else { Absent::AboveBytes })
    }

    /// Makes a collation that compares the bytes of GB 18030.
    pub(super) fn of_gb18030() -> Self {
        Self::made(&(0..0x80).map(|c| (c, vec![c as u16])).collect(), Absent::Gb18030)
    }

    fn made(weights: &BTreeMap<u32, Vec<u16>>, absent: Absent) -> Self {
        let level = Level { table: WeightTable::made(weights), absent, contractions: None };
        Weights::new(Box::leak(Box::new([level])), Packing::CodePoints, true)
    }

    /// Makes a collation of the letters of UCA 4.0.0, tailored to a language.
    pub(super) fn of_language(tailoring: &Tailoring) -> Self {
        let mut weights = table::UCA_400.weights_of_all();
        weights.extend(tailoring.weights.iter().cloned());
        let pairs: Vec<(Vec<u32>, Vec<u16>)> =
            tailoring.contractions.iter().map(|(a, b, w)| (vec![*a, *b], vec![*w])).collect();
        let contractions = Contractions::new(&pairs, &mut weights);
        let level = Level { table: WeightTable::made(&weights), absent: Absent::Uca400, contractions };
        Weights::new(Box::leak(Box::new([level])), Packing::Leads(table::UCA_400.leads), true)
    }

    /// Makes a collation of the first one or three levels of UCA 9.0.0, tailored to a language.
    pub(super) fn of_language_900(language: &Language, levels: usize) -> Self {
        let plain = [PRIMARY_900, SECONDARY_900, TERTIARY_900];
        let tailored = plain.into_iter().take(levels).enumerate().map(|(at, level)| {
            let mut weights = level.table.weights_of_all();
            let mut sequences = Vec::new();
            for (characters, lists) in &language.weights {
                match characters[..] {
                    [only] => drop(weights.insert(only, lists[at].clone())),
                    _ => sequences.push((characters.clone(), lists[at].clone())),
                }
            }
            let contractions = Contractions::new(&sequences, &mut weights);
            if at == 0 && language.cyrillic_first {
                languages::with_cyrillic_first(&mut weights);
            }
            Level { table: WeightTable::made(&weights), absent: level.absent, contractions }
        });
        let tailored: Vec<Level> = tailored.collect();
        Weights::new(tailored.leak(), Packing::Leads(leads_of_languages()), false)
    }

    /// Makes the general collation before MySQL 5.1.24, in which sharp S is a letter of its own.
    pub(super) fn general_mysql500() -> Self {
        let mut weights = table::GENERAL.weights_of_all();
        weights.insert(SHARP_S, vec![SHARP_S as u16]);
        Self::made(&weights, Absent::CodePoint)
    }

    const fn new(levels: &'static [Level], packing: Packing, pads: bool) -> Self {
        let mut ascii = [LONG; 128];
        let mut c = 0;
        while c < 128 {
            ascii[c] = match levels[0].table.entry(c as u32) {
                Entry::Ignorable => IGNORED,
                Entry::Weight(w) => packing.single_byte(w),
                // The character begins a contraction.
                Entry::Absent if levels[0].contractions.is_some() => LONG,
                Entry::Absent => packing.single_byte(c as u16),
                // The only ASCII character with an expansion is NUL, whose weight 0 is written as one.
                Entry::Expansion(at, _) => packing.single_byte(levels[0].table.weight(at)),
            };
            c += 1;
        }
        let space = match levels[0].table.entry(b' ' as u32) {
            Entry::Weight(w) => w,
            _ => b' ' as u16,
        };
        let ascii_forms = AsciiForms::new(&ascii);
        let marked = if pads { ascii[b' ' as usize] } else { IGNORED };
        let plain_forms = ascii_forms.without(marked);
        let case_bits = ascii_forms.case_bits(&ascii);
        let characters = OnceLock::new();
        Weights { levels, packing, pads, space, ascii, ascii_forms, case_bits, plain_forms, characters }
    }

    /// Whether a weight is the first of two implicit ones.
    #[inline]
    pub(super) fn has_implicit(&self, w: u16) -> bool {
        matches!(self.packing, Packing::Leads(_)) && format::IMPLICIT.contains(&w)
    }

    /// Compares two strings.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.compare_stepwise(a, b, &mut || Ok::<(), Infallible>(())) {
            Ok(order) => order,
            Err(never) => match never {},
        }
    }

    /// Compares two strings, and calls `step` for each pair of weights; its error ends the comparison.
    pub(super) fn compare_stepwise<E>(
        &self,
        a: &[u8],
        b: &[u8],
        step: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        let common = a.len().min(b.len());
        let mut at = 0;
        while at < common && (a[at] | b[at]) < 0x80 {
            let (x, y) = (self.ascii[usize::from(a[at])], self.ascii[usize::from(b[at])]);
            if x != y || x == LONG {
                if matches!(x, IGNORED | LONG) || matches!(y, IGNORED | LONG) {
                    break;
                }
                return Ok(x.cmp(&y));
            }
            at += 1;
        }
        if at < a.len() || at < b.len() {
            let first = self.compare_level(&self.levels[0], (&a[at..], &b[at..]), step)?;
            if first.is_ne() {
                return Ok(first);
            }
        }
        for level in &self.levels[1..] {
            let order = self.compare_level(level, (a, b), step)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    fn compare_level<E>(
        &self,
        level: &'static Level,
        (a, b): (&[u8], &[u8]),
        step: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        let (mut x, mut y) = (level.weights(a), level.weights(b));
        loop {
            match (x.next(), y.next()) {
                (Some(p), Some(q)) if p == q => step()?,
                (Some(p), Some(q)) => return Ok(p.cmp(&q)),
                (None, None) => return Ok(Ordering::Equal),
                (Some(p), None) => return self.against_end(p, x, step),
                (None, Some(q)) => return Ok(self.against_end(q, y, step)?.reverse()),
            }
        }
    }

    /// Compares the rest of one string with the end of the other.
    fn against_end<E>(
        &self,
        first: u16,
        rest: LevelWeights<'_>,
        step: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        if !self.pads {
            return Ok(Ordering::Greater);
        }
        for weight in std::iter::once(first).chain(rest) {
            if weight != self.space {
                return Ok(weight.cmp(&self.space));
            }
            step()?;
        }
        Ok(Ordering::Equal)
    }

    /// Returns the byte offset behind `number` characters; characters without a weight on the first level do not
    /// count.
    pub(super) fn nth_character(&self, s: &[u8], number: usize) -> Option<usize> {
        let (mut at, mut before) = (0, 0);
        while let Some((_, len)) = s.get(at..).and_then(first_character) {
            let len = self.beginning_len(&s[at..], len);
            let character = &s[at..at + len];
            let counts = match character {
                [byte] => self.ascii[usize::from(*byte)] != IGNORED,
                _ => self.levels[0].weights(character).next().is_some(),
            };
            if counts && before == number {
                return Some(at);
            }
            before += usize::from(counts);
            at += len;
        }
        None
    }

    /// Returns the length in bytes of the contraction at the front of `s`; `len`, the length of the first character,
    /// if there is none.
    #[inline]
    pub(super) fn beginning_len(&self, s: &[u8], len: usize) -> usize {
        let Some(contractions) = self.levels[0].contractions else { return len };
        let pair = s.split_at_checked(len).and_then(|(first, rest)| {
            let (first, _) = first_character(first)?;
            contractions.first(first)?;
            contractions.longest(first, rest)
        });
        pair.map_or(len, |(_, second)| len + second)
    }

    /// Returns `s` without the characters at its end that may begin a contraction with what follows. Leaves out a run
    /// of such characters as a whole, because where its contractions end depends on both sides.
    pub(super) fn without_open_contraction<'s>(&self, s: &'s [u8]) -> &'s [u8] {
        let Some(contractions) = self.levels[0].contractions else { return s };
        let open = s.iter().rev().take_while(|byte| contractions.goes_on((**byte).into())).count();
        s.get(..s.len() - open).unwrap_or(s)
    }

    /// Returns `s` up to the first character that may begin a contraction.
    pub(super) fn before_contractions<'s>(&self, s: &'s [u8]) -> &'s [u8] {
        let Some(contractions) = self.levels[0].contractions else { return s };
        let first = s.iter().position(|byte| contractions.first((*byte).into()).is_some());
        first.and_then(|at| s.get(..at)).unwrap_or(s)
    }

    /// Whether two strings have the same weights; trailing spaces count.
    pub(super) fn same(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.levels.iter().all(|level| level.weights(a).eq(level.weights(b)))
    }

    /// Whether LIKE treats two characters, each the whole of its string, as equal. A character that the collation
    /// does not know equals only itself.
    pub(super) fn same_character(&self, a: &[u8], b: &[u8]) -> bool {
        if let (&[x], &[y]) = (a, b) {
            let (p, q) = (self.ascii[usize::from(x & 0x7f)], self.ascii[usize::from(y & 0x7f)]);
            if p != q {
                return false;
            }
        }
        a == b || {
            let unknown = |s: &[u8]| matches!(self.levels[0].absent, Absent::Uca400) && s.len() == 4;
            !unknown(a) && self.same(a, b)
        }
    }
}

impl Level {
    /// Iterates over the weights of a string.
    pub(super) fn weights<'a>(&'static self, s: &'a [u8]) -> LevelWeights<'a> {
        LevelWeights { level: self, rest: s, queue: [0; 3], queued: 0, expansion: (0, 0) }
    }

    /// Returns the weight of a character that has exactly one.
    pub(super) fn only_weight(&self, code_point: u32) -> Option<u16> {
        let number = self.contractions.and_then(|contractions| contractions.first(code_point));
        if let Some(Entry::Weight(w)) = number.map(|number| self.table.entry(number)) {
            return Some(w);
        }
        match (self.table.entry(code_point), self.absent) {
            (Entry::Weight(w), _) => Some(w),
            (Entry::Expansion(from, to), _) if to == from + 1 => Some(self.table.weight(from)),
            (Entry::Absent, Absent::CodePoint) => u16::try_from(code_point).ok(),
            (Entry::Absent, Absent::AboveBytes) => Some(above_bytes(code_point)),
            _ => None,
        }
    }

    /// Returns a bound: no character from it on has a weight that is its alone.
    pub(super) fn end_of_own_weights(&self) -> u32 {
        self.table.end().max(0x1_0000)
    }

    /// Whether a Hangul syllable has the weights of its letters.
    pub(super) fn has_hangul_by_letters(&self) -> bool {
        matches!(self.absent, Absent::Uca900)
    }
}

/// Iterates over the weights of a string on one level.
#[derive(Debug, Clone)]
pub(super) struct LevelWeights<'a> {
    level: &'static Level,
    rest: &'a [u8],
    /// Weights of the last character that come before those of `expansion`, in reverse order.
    queue: [u16; 3],
    queued: usize,
    /// The unread part of an expansion.
    expansion: (usize, usize),
}

impl Iterator for LevelWeights<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        loop {
            if self.queued > 0 {
                self.queued -= 1;
                return Some(self.queue[self.queued]);
            }
            let (at, end) = self.expansion;
            if at < end {
                self.expansion.0 += 1;
                return Some(self.level.table.weight(at));
            }
            let (code_point, len) = first_character(self.rest)?;
            self.rest = &self.rest[len..];
            match self.level.table.entry(code_point) {
                Entry::Weight(w) => return Some(w),
                Entry::Expansion(from, to) => self.expansion = (from, to),
                Entry::Ignorable => {}
                Entry::Absent => self.queue_absent(code_point),
            }
        }
    }
}

impl LevelWeights<'_> {
    fn queue_absent(&mut self, code_point: u32) {
        if let Some(contractions) = self.level.contractions
            && let Some(alone) = contractions.first(code_point)
        {
            let (number, len) = contractions.longest(code_point, self.rest).unwrap_or((alone, 0));
            self.rest = &self.rest[len..];
            match self.level.table.entry(number) {
                Entry::Weight(w) => (self.queue[0], self.queued) = (w, 1),
                Entry::Expansion(from, to) => self.expansion = (from, to),
                Entry::Ignorable | Entry::Absent => {}
            }
            return;
        }
        let beyond = code_point > 0xffff;
        let first: u16 = match self.level.absent {
            Absent::CodePoint | Absent::Uca400 if beyond => REPLACEMENT,
            Absent::CodePoint => code_point as u16,
            Absent::AboveBytes => above_bytes(code_point),
            Absent::Unknown => REPLACEMENT,
            Absent::Gb18030 => return self.queue_bytes(code_point),
            Absent::Uca400 | Absent::Uca520 => return self.queue_pair(implicit_400(code_point)),
            Absent::Uca900 => {
                return match hangul_letters(code_point) {
                    Some(letters) => self.queue_hangul(letters),
                    None => self.queue_pair(implicit_900(code_point)),
                };
            }
            Absent::Constant(w) => {
                let letters = hangul_letters(code_point).map_or(1, |[_, _, last]| 2 + usize::from(last != 0));
                (self.queue, self.queued) = ([w; 3], letters);
                return;
            }
        };
        (self.queue[0], self.queued) = (first, 1);
    }

    fn queue_pair(&mut self, (first, second): (u16, u16)) {
        (self.queue, self.queued) = ([second, first, 0], 2);
    }

    /// Queues the bytes of GB 18030 as weights.
    fn queue_bytes(&mut self, code_point: u32) {
        let bytes =
            Charset::Gb18030.encode(char::from_u32(code_point).unwrap_or('?').encode_utf8(&mut [0; 4]));
        let weight = |at: usize| bytes.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        (self.queue, self.queued) =
            if bytes.len() > 2 { ([weight(2), weight(0), 0], 2) } else { ([weight(0), 0, 0], 1) };
    }

    /// Queues the weights of a syllable's letters; each letter has one.
    fn queue_hangul(&mut self, letters: [u32; 3]) {
        for letter in letters.into_iter().rev().filter(|letter| *letter != 0) {
            if let Entry::Weight(w) = self.level.table.entry(letter) {
                self.queue[self.queued] = w;
                self.queued += 1;
            }
        }
    }
}

/// Returns the letters of a Hangul syllable; the third is 0 if there is none. As in MySQL, also takes the unassigned
/// code points up to the end of the syllables' last row.
fn hangul_letters(code_point: u32) -> Option<[u32; 3]> {
    let number = code_point.checked_sub(0xac00).filter(|number| *number < 0xd7b0 - 0xac00)?;
    let last = number % 28;
    Some([0x1100 + number / 588, 0x1161 + number % 588 / 28, if last == 0 { 0 } else { 0x11a7 + last }])
}

/// Returns the character with these implicit weights, or an arbitrary code point if there is none.
pub(super) fn implicit_character(first: u16, second: u16) -> u32 {
    let low = u32::from(second & 0x7fff);
    match first {
        0xfb00 => 0x1_7000 + low,
        _ => u32::from(first & 0x3f) << 15 | low,
    }
}

/// Returns the weight of a character that latin1 lacks.
fn above_bytes(code_point: u32) -> u16 {
    (code_point + 0x100).min(REPLACEMENT.into()) as u16
}

/// Returns the implicit weights in collations older than Unicode 9.0.
fn implicit_400(code_point: u32) -> (u16, u16) {
    let base = match code_point {
        0x3400..=0x4db5 => 0xfb80,
        0x4e00..=0x9fa5 => 0xfb40,
        _ => 0xfbc0,
    };
    (base + (code_point >> 15) as u16, (code_point & 0x7fff) as u16 | 0x8000)
}

/// Returns the implicit weights by Unicode 9.0: of Tangut, of Han characters, of all others.
fn implicit_900(code_point: u32) -> (u16, u16) {
    let base = match code_point {
        0x1_7000..=0x1_8aff => return (0xfb00, (code_point - 0x1_7000) as u16 | 0x8000),
        0x4e00..=0x9fd5 | 0xfa0e..=0xfa29 => 0xfb40,
        0x3400..=0x4db5
        | 0x2_0000..=0x2_a6d6
        | 0x2_a700..=0x2_b734
        | 0x2_b740..=0x2_b81d
        | 0x2_b820..=0x2_cea1 => 0xfb80,
        _ => 0xfbc0,
    };
    (base + (code_point >> 15) as u16, (code_point & 0x7fff) as u16 | 0x8000)
}

/// Returns the first character of a string and its length in bytes; None, which ends the string, for bytes that are
/// not UTF-8.
#[inline]
pub(super) fn first_character(s: &[u8]) -> Option<(u32, usize)> {
    let continuation = |at: usize| s.get(at).filter(|b| **b & 0xc0 == 0x80).map(|b| u32::from(b & 0x3f));
    let lead = u32::from(*s.first()?);
    match lead {
        0..=0x7f => Some((lead, 1)),
        0xc0..=0xdf => Some(((lead & 0x1f) << 6 | continuation(1)?, 2)),
        0xe0..=0xef => Some(((lead & 0x0f) << 12 | continuation(1)? << 6 | continuation(2)?, 3)),
        0xf0..=0xf7 => {
            let tail = continuation(1)? << 12 | continuation(2)? << 6 | continuation(3)?;
            Some(((lead & 0x07) << 18 | tail, 4))
        }
        _ => None,
    }
}

/// Returns the lead ranges of UCA 9.0.0, and one more for the letters of languages.
fn leads_of_languages() -> Words {
    static LEADS: OnceLock<Words> = OnceLock::new();
    *LEADS.get_or_init(|| {
        let leads = table::UCA_900_PRIMARY.leads;
        let mut ranges: Vec<(u16, u16)> =
            (0..leads.len() / 2).map(|at| (leads.get(2 * at), leads.get(2 * at + 1))).collect();
        let at = ranges.partition_point(|(first, _)| *first < languages::PRIMARY);
        ranges.insert(at, (languages::PRIMARY, languages::MOST_LETTERS + 1));
        Words::made(ranges.into_iter().flat_map(|(first, count)| [first, count]))
    })
}

/// Appends the key bytes of a level after the first: see [`format`].
pub(super) fn pack_level(level: &'static Level, s: &[u8], out: &mut Vec<u8>) {
    out.extend(level.weights(s).map(|w| match level.absent {
        Absent::Constant(COMMON_SECONDARY) => format::secondary(w),
        _ => w as u8,
    }));
}

#[cfg(test)]
mod tests;
