//! Weights of the first level read back from the key of a string: see [`super::packing`].
//!
//! Keys come from pages: what cannot be one ends the weights, and is told apart from the end of the string ([`KeyWeights::has_failed`]).

use super::canonical::NO_ASCII;
use super::packing::{
    END, FIRST_LEAD, IMPLICIT, NEXT_LEVEL, Packing, RUN_FOREVER, RUN_THEN_HIGHER, RUN_THEN_LOWER,
    SECOND_IMPLICIT,
};
use super::weights::Weights;

/// The weights of a key's first level.
#[derive(Debug, Clone)]
pub(super) struct KeyWeights<'k> {
    weights: &'static Weights,
    /// What is left of it, the end of the string included.
    key: &'k [u8],
    mask: u8,
    /// The byte of a space that another byte follows.
    marked_space: Option<u8>,
    after_implicit: bool,
    failed: bool,
}

impl<'k> KeyWeights<'k> {
    /// Of the key at the front of `key`, each byte `^ mask`.
    pub(super) fn new(weights: &'static Weights, key: &'k [u8], mask: u8) -> Self {
        let marked_space = weights.pads.then_some(weights.ascii[usize::from(b' ')]);
        KeyWeights { weights, key, mask, marked_space, after_implicit: false, failed: false }
    }

    /// Whether the weights ended because the key is none.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// The byte of the next weight, if it stands for a character of ASCII alone and nothing follows it.
    #[inline]
    pub(super) fn plain(&mut self) -> Option<u8> {
        let code = self.peek()?;
        let is_plain = self.weights.ascii_forms.has(code) && self.marked_space != Some(code);
        if !is_plain || self.after_implicit {
            return None;
        }
        self.skip();
        Some(code)
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

    /// A byte that says which of some; the first is 1.
    fn counted(&mut self) -> Option<u16> {
        u16::from(self.byte()?).checked_sub(1)
    }

    /// The weight that begins with `code`, which was read; the inner `None` is the end of the string. `None` if there is no such weight.
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
            Some(NEXT_LEVEL) if !last_level => None,
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

/// Characters that are looked up together.
const TOGETHER: usize = 8;

impl Weights {
    /// Appends the plainest string that has the key at the front of `key`, each byte `^ mask`, and returns the key's length; `None`, with anything
    /// appended, unless all its characters are of ASCII.
    #[inline]
    pub(crate) fn append_plain(&self, key: &[u8], mask: u8, out: &mut Vec<u8>) -> Option<usize> {
        let space = self.pads.then_some(self.ascii[usize::from(b' ')]);
        let form = |byte: u8| match byte ^ mask {
            code if Some(code) == space => NO_ASCII,
            code => self.ascii_forms.first[usize::from(code)],
        };
        let mut at = 0;
        loop {
            while let Some(some) = key.get(at..).and_then(<[u8]>::first_chunk::<TOGETHER>) {
                let found = some.map(form);
                if !found.is_ascii() {
                    break;
                }
                out.extend_from_slice(&found);
                at += TOGETHER;
            }
            while let Some(byte) = key.get(at) {
                let found = form(*byte);
                if found == NO_ASCII {
                    break;
                }
                out.push(found);
                at += 1;
            }
            match key.get(at)? ^ mask {
                END => return Some(at + 1),
                code if Some(code) == space => match key.get(at + 1)? ^ mask {
                    RUN_FOREVER if key.get(at + 2)? ^ mask == END => return Some(at + 3),
                    RUN_THEN_LOWER | RUN_THEN_HIGHER => out.push(b' '),
                    _ => return None,
                },
                NEXT_LEVEL if self.levels.len() > 1 => {
                    return Some(at + super::weights_len(key.get(at..)?, mask)?);
                }
                _ => return None,
            }
            at += 2;
        }
    }
}
