//! Unpacks the weights of the first level from the key of a string: see [`super::format`].
//!
//! Keys come from pages, so bytes that are no valid key end the weights; [`KeyWeights::has_failed`] tells that apart
//! from the end of the string.

use super::ascii_forms::NO_ASCII_FORM;
use super::format::{
    END, FIRST_LEAD, IMPLICIT, LEVEL_SEPARATOR, Packing, RUN_FOREVER, RUN_THEN_HIGHER, RUN_THEN_LOWER,
    SECOND_IMPLICIT,
};
use super::weights::Weights;

/// Iterates over the weights of a key's first level.
#[derive(Debug, Clone)]
pub(super) struct KeyWeights<'k> {
    weights: &'static Weights,
    /// The unread part of the key, with the end of the string.
    key: &'k [u8],
    mask: u8,
    /// The byte of a space, if another byte follows it.
    marked_space: Option<u8>,
    after_implicit: bool,
    failed: bool,
}

impl<'k> KeyWeights<'k> {
    /// Iterates over the weights of the key at the front of `key`, each byte XORed with `mask`.
    pub(super) fn new(weights: &'static Weights, key: &'k [u8], mask: u8) -> Self {
        let marked_space = weights.pads.then_some(weights.ascii[usize::from(b' ')]);
        KeyWeights { weights, key, mask, marked_space, after_implicit: false, failed: false }
    }

    /// Whether the weights ended because the bytes are no valid key.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Appends the characters of up to `most` next weights, in their first or second form, and returns how many it
    /// appended. Stops before one that is not ASCII with a one-byte weight.
    #[inline]
    pub(super) fn append_plain(&mut self, most: usize, second: bool, out: &mut Vec<u8>) -> usize {
        if self.after_implicit {
            return 0;
        }
        let key = self.key.get(..most).unwrap_or(self.key);
        let count = append_forms(self.weights.plain_forms.forms(second), key, self.mask, out);
        self.key = self.key.get(count..).unwrap_or_default();
        count
    }

    /// Reads the next weight if it begins with a lead in `leads` and does not depend on the bytes behind it.
    #[inline]
    pub(super) fn led(&mut self, leads: &[[u16; 2]; 256]) -> Option<u16> {
        let [first, count] = leads[usize::from(self.peek().filter(|_| !self.after_implicit)?)];
        let (place, len) = match count {
            0 => return None,
            1 => (1, 1),
            _ => (u16::from(self.key.get(1)? ^ self.mask), 2),
        };
        if place == 0 || place > count {
            return None;
        }
        self.key = self.key.get(len..)?;
        Some(first + (place - 1))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.key.first().map(|byte| byte ^ self.mask)
    }

    #[inline]
    fn skip(&mut self) {
        self.key = self.key.get(1..).unwrap_or_default();
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.skip();
        Some(byte)
    }

    /// Reads a byte that counts from 1.
    fn counted(&mut self) -> Option<u16> {
        u16::from(self.byte()?).checked_sub(1)
    }

    /// Reads the rest of the weight that begins with `code`; the inner `None` is the end of the string. `None` if
    /// there is no such weight.
    fn weight(&mut self, code: u8) -> Option<Option<u16>> {
        if self.marked_space == Some(code) {
            return match self.byte()? {
                RUN_FOREVER => Some(None),
                RUN_THEN_LOWER | RUN_THEN_HIGHER => Some(Some(self.weights.space)),
                _ => None,
            };
        }
        match self.weights.packing {
            Packing::Leads(leads) => {
                let number = usize::from(code.checked_sub(FIRST_LEAD)?);
                if 2 * number + 1 >= leads.len() {
                    return None;
                }
                let (first, count) = (leads.get(2 * number), leads.get(2 * number + 1));
                let place = if count > 1 { self.counted()? } else { 0 };
                let w = first.checked_add(place).filter(|_| place < count.max(1))?;
                self.after_implicit = IMPLICIT.contains(&w);
                Some(Some(w))
            }
            Packing::CodePoints => {
                let (bits, more) = match code {
                    0..=0x7f => (u32::from(code), 0),
                    0xc0..=0xdf => (u32::from(code & 0x1f), 1),
                    0xe0..=0xef => (u32::from(code & 0x0f), 2),
                    0xf0..=0xf7 => (u32::from(code & 0x07), 3),
                    _ => return None,
                };
                let mut v = bits;
                for _ in 0..more {
                    let next = self.byte().filter(|byte| byte & 0xc0 == 0x80)?;
                    v = v << 6 | u32::from(next & 0x3f);
                }
                Some(Some(u16::try_from(v.checked_sub(1)?).ok()?))
            }
        }
    }

    fn second_implicit(&mut self) -> Option<u16> {
        self.after_implicit = false;
        let (high, low) = (self.counted()?, self.counted()?);
        (high * 255 + low).checked_add(SECOND_IMPLICIT)
    }
}

impl Iterator for KeyWeights<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        if self.after_implicit {
            let second = self.second_implicit();
            self.failed |= second.is_none();
            return second;
        }
        let last_level = self.weights.levels.len() == 1;
        match self.peek() {
            Some(END) => None,
            Some(LEVEL_SEPARATOR) if !last_level => None,
            Some(code) => {
                self.skip();
                let w = self.weight(code);
                self.failed |= w.is_none();
                w.flatten()
            }
            None => {
                self.failed = true;
                None
            }
        }
    }
}

/// Appends the form of each byte of a key, each byte XORed with `mask`, up to the first without a form; returns how
/// many.
#[inline]
fn append_forms(forms: &[u8; 256], key: &[u8], mask: u8, out: &mut Vec<u8>) -> usize {
    let form = |byte: &u8| forms[usize::from(byte ^ mask)];
    if key.first().map(form).is_none_or(|first| first == NO_ASCII_FORM) {
        return 0;
    }
    // Mapping all of them and cutting is faster than testing each.
    let start = out.len();
    out.extend(key.iter().map(form));
    let plain = ascii_len(out.get(start..).unwrap_or_default());
    out.truncate(start + plain);
    plain
}

/// Returns how many bytes come before the first that is not ASCII.
#[inline]
fn ascii_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let others = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        if others != 0 {
            return 8 * at + others.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

impl Weights {
    /// Appends the characters of the key at the front of `key`, each byte XORed with `mask`, in their first or second
    /// form, and returns the key's length. `None`, with arbitrary bytes appended, unless all characters are ASCII.
    #[inline]
    pub(crate) fn append_plain(
        &self,
        (key, mask): (&[u8], u8),
        second: bool,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut at = self.append_plain_beginning((key, mask), second, out);
        loop {
            match key.get(at)? ^ mask {
                END => return Some(at + 1),
                code if self.pads && code == self.ascii[usize::from(b' ')] => match key.get(at + 1)? ^ mask {
                    RUN_FOREVER if key.get(at + 2)? ^ mask == END => return Some(at + 3),
                    RUN_THEN_LOWER | RUN_THEN_HIGHER => out.push(b' '),
                    _ => return None,
                },
                LEVEL_SEPARATOR if self.levels.len() > 1 => {
                    return Some(at + super::weights_len(key.get(at..)?, mask)?);
                }
                _ => return None,
            }
            at += 2;
            at += self.append_plain_beginning((key.get(at..)?, mask), second, out);
        }
    }

    /// Appends the leading characters of a key as far as they are ASCII with a one-byte weight; returns how many.
    #[inline]
    pub(crate) fn append_plain_beginning(
        &self,
        (key, mask): (&[u8], u8),
        second: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        append_forms(self.plain_forms.forms(second), key, mask, out)
    }
}
