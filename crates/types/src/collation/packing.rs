//! Weights as bytes of keys: their order under `memcmp` is that of the weights, and most take one byte or two.
//!
//! The key of a string: the weights of the first level; of each further level `01` and its weights; then `00`. No other byte of
//! it is `00`, and `01` only follows the space, so the key's end is found without knowing the weights.
//!
//! | weight                                    | bytes                                                              |
//! |-------------------------------------------|--------------------------------------------------------------------|
//! | first level, Unicode collation algorithm  | the number of its lead range + 2; in ranges of more than one weight, then its place in the range + 1 |
//! | the second of two implicit weights        | (w - 8000) / 255 + 1, (w - 8000) % 255 + 1                          |
//! | first level, others                       | w + 1 as UTF-8 writes code points                                   |
//! | second level                              | w - 1e                                                             |
//! | third level                               | w                                                                  |
//!
//! Lead ranges are part of the table. They are so chosen that the weights of ASCII have a byte of their own. The lead
//! of `fb00` to `fbe1`, the first of two implicit weights, says that the next weight is the second.
//!
//! PAD SPACE: trailing spaces are left out, and a space has a second byte, which says how what comes after the run of spaces
//! compares to spaces: `01` lower, `03` higher, and `02` at the end of the string, which is a space that never ends.

use super::table::Words;
use super::weights::{IGNORED, LONG, Weights, first_character, pack_level};

/// How weights of the first level are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Packing {
    /// By these ranges.
    Leads(Words),
    /// As code points.
    CodePoints,
}

/// Characters that are looked at together.
const RUN: usize = 8;
pub(super) const FIRST_LEAD: u8 = 2;
pub(super) const NEXT_LEVEL: u8 = 1;
pub(super) const END: u8 = 0;
pub(super) const RUN_THEN_LOWER: u8 = 1;
pub(super) const RUN_FOREVER: u8 = 2;
pub(super) const RUN_THEN_HIGHER: u8 = 3;
/// The first weights of two.
pub(super) const IMPLICIT: std::ops::RangeInclusive<u16> = 0xfb00..=0xfbff;
pub(super) const SECOND_IMPLICIT: u16 = 0x8000;

impl Packing {
    /// The byte of a weight that has one of its own, else [`LONG`].
    pub(super) const fn single_byte(self, w: u16) -> u8 {
        match self {
            Packing::Leads(leads) => match lead(leads, w) {
                (number, _, 1) => number as u8 + FIRST_LEAD,
                _ => LONG,
            },
            Packing::CodePoints if w < 0x7f => w as u8 + 1,
            Packing::CodePoints => LONG,
        }
    }
}

impl Packing {
    /// Of each byte that begins a weight the first such weight, and how many there are; none if that is not how they are written.
    pub(super) fn leads(self) -> [[u16; 2]; 256] {
        let mut ranges = [[0; 2]; 256];
        if let Packing::Leads(leads) = self {
            for (number, range) in ranges.iter_mut().skip(usize::from(FIRST_LEAD)).enumerate() {
                *range = [leads.get(2 * number), leads.get(2 * number + 1)];
            }
        }
        ranges
    }
}

/// The range that a weight lies in, of those there are the last that begins at or below it: its number, its first weight,
/// how many weights it has.
const fn lead(leads: Words, w: u16) -> (usize, u16, u16) {
    let (mut low, mut high) = (0, leads.len() / 2);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if leads.get(2 * middle) <= w {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, leads.get(2 * low), leads.get(2 * low + 1))
}

pub(super) fn secondary(w: u16) -> u8 {
    (w - 0x1e) as u8
}

/// Writes the first level of a key.
struct Packer<'a> {
    weights: &'static Weights,
    /// The byte of a space.
    space: u8,
    /// Spaces of which it is not known yet what comes after them.
    spaces: usize,
    out: &'a mut Vec<u8>,
}

/// Appends the key of a string.
pub(super) fn append_key(weights: &'static Weights, s: &[u8], out: &mut Vec<u8>) {
    let space = append_characters(weights, s, out);
    if weights.pads {
        out.extend_from_slice(&[space, RUN_FOREVER]);
    }
    for level in &weights.levels[1..] {
        out.push(NEXT_LEVEL);
        pack_level(level, s, out);
    }
    out.push(END);
}

/// Appends what the keys of all strings begin with that begin with `s`. Of trailing spaces under PAD SPACE nothing can be
/// said, so they are left out. Returns the byte of a space.
pub(super) fn append_prefix(weights: &'static Weights, s: &[u8], out: &mut Vec<u8>) -> u8 {
    append_characters(weights, weights.without_open_contraction(s), out)
}

/// The same of the characters that are there, whatever comes behind.
fn append_characters(weights: &'static Weights, s: &[u8], out: &mut Vec<u8>) -> u8 {
    out.reserve(s.len() + 4);
    let mut packer = Packer { weights, space: weights.ascii[usize::from(b' ')], spaces: 0, out };
    // Runs are tried again when what is left is this long.
    let (mut rest, mut try_runs) = (s, s.len());
    loop {
        if packer.spaces == 0 && rest.len() <= try_runs {
            rest = packer.plain_runs(rest);
            try_runs = rest.len().saturating_sub(RUN);
        }
        let Some(&byte) = rest.first() else { break };
        let len = if byte < 0x80 {
            match weights.ascii[usize::from(byte)] {
                IGNORED => {}
                LONG => {
                    let len = weights.beginning_len(rest, 1);
                    packer.character(&rest[..len]);
                    rest = &rest[len..];
                    continue;
                }
                code => packer.code(code),
            }
            1
        } else {
            let Some((_, len)) = first_character(rest) else { break };
            packer.character(&rest[..len]);
            len
        };
        rest = &rest[len..];
    }
    packer.space
}

/// Appends what the keys of all strings begin with whose first `most` weights are those of `s`, two implicit ones counted as one; or of
/// all that begin with `s`, if it has no more. Whether it has `most` or more; of these the last are left out where they may be the first of a
/// contraction.
pub(super) fn append_first(weights: &'static Weights, s: &[u8], most: usize, out: &mut Vec<u8>) -> bool {
    let mut packer = Packer { weights, space: weights.ascii[usize::from(b' ')], spaces: 0, out };
    let (mut count, mut after_implicit) = (0, false);
    let closed = weights.without_open_contraction(s);
    for w in weights.levels[0].weights(closed) {
        if !after_implicit {
            if count == most {
                return true;
            }
            count += 1;
        }
        after_implicit = packer.weight(w, after_implicit);
    }
    // What may be the first of a contraction is not written, but it is there.
    count == most || closed.len() < s.len() && has_weights(weights, s, most)
}

/// Whether a string has so many weights on the first level, two implicit ones counted as one.
fn has_weights(weights: &'static Weights, s: &[u8], most: usize) -> bool {
    let (mut count, mut after_implicit) = (0, false);
    for w in weights.levels[0].weights(s) {
        count += usize::from(!after_implicit);
        after_implicit = !after_implicit && weights.has_implicit(w);
    }
    count >= most
}

impl Packer<'_> {
    /// Writes what `s` begins with as long as all characters of a run have one weight of one byte, and none is a space that may
    /// be the last. Returns what is left.
    #[inline]
    fn plain_runs<'s>(&mut self, s: &'s [u8]) -> &'s [u8] {
        let (runs, _) = s.as_chunks::<RUN>();
        let space = if self.weights.pads { self.space } else { IGNORED };
        let mut done = 0;
        for run in runs {
            let mut codes = [0; RUN];
            let mut is_plain = true;
            for (code, byte) in codes.iter_mut().zip(run) {
                *code = self.weights.ascii[usize::from(byte & 0x7f)];
                is_plain &= *byte < 0x80 && *code != IGNORED && *code != LONG && *code != space;
            }
            if !is_plain {
                break;
            }
            self.out.extend_from_slice(&codes);
            done += RUN;
        }
        &s[done..]
    }

    /// A weight of one byte.
    #[inline]
    fn code(&mut self, code: u8) {
        if !self.weights.pads {
            self.out.push(code);
        } else if code == self.space {
            self.spaces += 1;
        } else {
            self.end_run(code);
            self.out.push(code);
        }
    }

    /// Writes the spaces before a weight that begins with this byte.
    fn end_run(&mut self, next: u8) {
        let mark = if next > self.space { RUN_THEN_HIGHER } else { RUN_THEN_LOWER };
        for _ in 0..std::mem::take(&mut self.spaces) {
            self.out.extend_from_slice(&[self.space, mark]);
        }
    }

    /// The weights of one character.
    fn character(&mut self, character: &[u8]) {
        let mut after_implicit = false;
        for w in self.weights.levels[0].weights(character) {
            after_implicit = self.weight(w, after_implicit);
        }
    }

    /// A weight; whether it is the first of two implicit ones. `after_implicit`: it is the second.
    #[inline]
    fn weight(&mut self, w: u16, after_implicit: bool) -> bool {
        if after_implicit {
            let w = w.saturating_sub(SECOND_IMPLICIT);
            self.out.extend_from_slice(&[(w / 255) as u8 + 1, (w % 255) as u8 + 1]);
            return false;
        }
        match self.weights.packing {
            Packing::Leads(leads) => {
                let (number, first, count) = lead(leads, w);
                self.code(number as u8 + FIRST_LEAD);
                if count > 1 {
                    self.out.push((w - first) as u8 + 1);
                }
                IMPLICIT.contains(&w)
            }
            Packing::CodePoints => {
                self.code_point(u32::from(w) + 1);
                false
            }
        }
    }

    fn code_point(&mut self, v: u32) {
        let continuation = |shift: u32| 0x80 | (v >> shift & 0x3f) as u8;
        match v {
            0..=0x7f => self.code(v as u8),
            0x80..=0x7ff => {
                self.code(0xc0 | (v >> 6) as u8);
                self.out.push(continuation(0));
            }
            0x800..=0xffff => {
                self.code(0xe0 | (v >> 12) as u8);
                self.out.extend_from_slice(&[continuation(6), continuation(0)]);
            }
            _ => {
                self.code(0xf0 | (v >> 18) as u8);
                self.out.extend_from_slice(&[continuation(12), continuation(6), continuation(0)]);
            }
        }
    }
}
