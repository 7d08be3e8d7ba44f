//! Packs weights into the bytes of keys: see [`super::format`].

use super::format::{
    END, FIRST_LEAD, IGNORED, IMPLICIT, LEVEL_SEPARATOR, LONG, Packing, RUN_FOREVER, RUN_THEN_HIGHER,
    RUN_THEN_LOWER, SECOND_IMPLICIT, lead,
};
use super::weights::{Weights, first_character, pack_level};

/// The number of characters that are examined together.
const RUN: usize = 8;

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
    /// space under PAD SPACE. The last run may be shorter. Returns the rest.
    #[inline]
    fn plain_runs<'s>(&mut self, s: &'s [u8]) -> &'s [u8] {
        let (runs, last) = s.as_chunks::<RUN>();
        let mut done = 0;
        for run in runs {
            let Some(codes) = self.plain_codes(run) else { return &s[done..] };
            self.out.extend_from_slice(&codes);
            done += RUN;
        }
        match self.plain_codes(last) {
            Some(codes) => {
                self.out.extend_from_slice(&codes[..last.len()]);
                &[]
            }
            None => last,
        }
    }

    /// Returns the weights of the characters in `run`, of which there are at most [`RUN`]; `None` if one of them has not
    /// one weight of one byte, or is a space under PAD SPACE.
    #[inline]
    fn plain_codes(&self, run: &[u8]) -> Option<[u8; RUN]> {
        let space = if self.weights.pads { self.space } else { IGNORED };
        let mut codes = [0; RUN];
        let mut is_plain = true;
        for (code, byte) in codes.iter_mut().zip(run) {
            *code = self.weights.ascii[usize::from(byte & 0x7f)];
            is_plain &= *byte < 0x80 && *code != IGNORED && *code != LONG && *code != space;
        }
        is_plain.then_some(codes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collation, testing};
    use rand::Rng;

    /// Packs the first level character by character, each through the tables of weights.
    fn one_by_one(weights: &'static Weights, s: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let space = weights.ascii[usize::from(b' ')];
        let mut packer = Packer { weights, space, spaces: 0, out: &mut out };
        let mut rest = s;
        while let Some((_, len)) = first_character(rest) {
            let len = weights.beginning_len(rest, len);
            packer.character(&rest[..len]);
            rest = &rest[len..];
        }
        out
    }

    #[test]
    fn plain_characters_pack_together_as_they_do_one_by_one() {
        let mut rng = testing::rng("plain_runs");
        let weighted: Vec<Collation> = Collation::ALL.into_iter().filter(|c| c.is_weighted()).collect();
        for _ in 0..testing::iterations(40_000) {
            let collation = weighted[rng.random_range(0..weighted.len())];
            let Some(weights) = collation.weights() else { continue };
            let character = |rng: &mut rand::rngs::SmallRng| match rng.random_range(0..30) {
                0 => ['é', 'ß', ' ', '\0', '中', '가'][rng.random_range(0..6)],
                1 => rng.random_range('\0'..='\u{7f}'),
                _ => rng.random_range('0'..='z'),
            };
            let s: String = (0..rng.random_range(0..40)).map(|_| character(&mut rng)).collect();
            if collation.charset().first_foreign(&s).is_some() {
                continue;
            }
            let mut packed = Vec::new();
            append_characters(weights, s.as_bytes(), &mut packed);
            assert_eq!(packed, one_by_one(weights, s.as_bytes()), "{collation}: {s:?}");
        }
    }
}
