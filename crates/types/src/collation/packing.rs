//! Packs weights into the bytes of keys. The bytes order under `memcmp` as the weights do, and most weights take one
//! byte or two.
//!
//! The key of a string is: the weights of the first level; for each further level `01` and its weights; then `00`. No
//! other byte of the key is `00`, and `01` otherwise only follows a space, so the end of a key is found without
//! knowing the weights.
//!
//! | weight                                    | bytes                                                              |
//! |-------------------------------------------|--------------------------------------------------------------------|
//! | first level, Unicode collation algorithm  | the number of its lead range + 2; in ranges of more than one weight, then its place in the range + 1 |
//! | the second of two implicit weights        | (w - 8000) / 255 + 1, (w - 8000) % 255 + 1                          |
//! | first level, others                       | w + 1, encoded as UTF-8 encodes code points                         |
//! | second level                              | w - 1e                                                             |
//! | third level                               | w                                                                  |
//!
//! Lead ranges are part of the table. They are chosen so that each weight of ASCII has a one-byte key. The lead
//! of `fb00` to `fbe1`, the first of two implicit weights, says that the next weight is the second.
//!
//! Under PAD SPACE, trailing spaces are left out. A space has a second byte, which says how the bytes after the run
//! of spaces compare to spaces: `01` lower, `03` higher, and `02` at the end of the string, which stands for spaces
//! without end.

use super::table::Words;
use super::weights::{IGNORED, LONG, Weights, first_character, pack_level};

/// The format of the weights of the first level.
#[derive(Debug, Clone, Copy)]
pub(super) enum Packing {
    /// As a lead, by these ranges, and a place.
    Leads(Words),
    /// As UTF-8 writes code points.
    CodePoints,
}

/// The number of characters that are examined together.
const RUN: usize = 8;
pub(super) const FIRST_LEAD: u8 = 2;
pub(super) const LEVEL_SEPARATOR: u8 = 1;
pub(super) const END: u8 = 0;
pub(super) const RUN_THEN_LOWER: u8 = 1;
pub(super) const RUN_FOREVER: u8 = 2;
pub(super) const RUN_THEN_HIGHER: u8 = 3;
/// The first of two implicit weights.
pub(super) const IMPLICIT: std::ops::RangeInclusive<u16> = 0xfb00..=0xfbff;
pub(super) const SECOND_IMPLICIT: u16 = 0x8000;

impl Packing {
    /// Returns the byte of a weight that takes one byte, otherwise [`LONG`].
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
    /// Returns, for each byte that may begin a weight, the first such weight and how many there are; none for weights
    /// written as code points.
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

/// Finds the last range that begins at or below `w`; returns its number, its first weight, and how many weights it
/// has.
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
    /// The key byte of a space.
    space: u8,
    /// Spaces read but not yet written, because their marks depend on what follows.
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
        out.push(LEVEL_SEPARATOR);
        pack_level(level, s, out);
    }
    out.push(END);
}

/// Appends the common prefix of the keys of all strings that begin with `s`. Trailing spaces under PAD SPACE have no
/// fixed key bytes, so they are left out. Returns the byte of a space.
pub(super) fn append_prefix(weights: &'static Weights, s: &[u8], out: &mut Vec<u8>) -> u8 {
    append_characters(weights, weights.without_open_contraction(s), out)
}

/// Appends the key bytes of the characters in `s`, whatever follows. Returns the byte of a space.
fn append_characters(weights: &'static Weights, s: &[u8], out: &mut Vec<u8>) -> u8 {
    out.reserve(s.len() + 4);
    let mut packer = Packer { weights, space: weights.ascii[usize::from(b' ')], spaces: 0, out };
    // The fast path is tried again once this many bytes are left.
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

/// Appends the common prefix of the keys of all strings whose first `most` weights are those of `s`, or of all that
/// begin with `s` if it has fewer. Two implicit weights count as one. Returns whether `s` has `most` or more. Leaves
/// out the last characters of `s` where they may begin a contraction.
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
    // A character that may begin a contraction is not written, but counts.
    count == most || closed.len() < s.len() && has_weights(weights, s, most)
}

/// Whether a string has at least `most` weights on the first level; two implicit weights count as one.
fn has_weights(weights: &'static Weights, s: &[u8], most: usize) -> bool {
    let (mut count, mut after_implicit) = (0, false);
    for w in weights.levels[0].weights(s) {
        count += usize::from(!after_implicit);
        after_implicit = !after_implicit && weights.has_implicit(w);
    }
    count >= most
}

impl Packer<'_> {
    /// Writes runs from the front of `s` as long as each character of a run has one weight of one byte, and none is a
    /// space under PAD SPACE. Returns the rest.
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

    /// Writes a weight of one byte.
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

    /// Writes the pending spaces before a weight that begins with `next`.
    fn end_run(&mut self, next: u8) {
        let mark = if next > self.space { RUN_THEN_HIGHER } else { RUN_THEN_LOWER };
        for _ in 0..std::mem::take(&mut self.spaces) {
            self.out.extend_from_slice(&[self.space, mark]);
        }
    }

    /// Writes the weights of one character.
    fn character(&mut self, character: &[u8]) {
        let mut after_implicit = false;
        for w in self.weights.levels[0].weights(character) {
            after_implicit = self.weight(w, after_implicit);
        }
    }

    /// Writes a weight; returns whether it is the first of two implicit ones. `after_implicit` says that it is the
    /// second.
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
