//! Maps weights to characters.

/// A character in UTF-8 and arbitrary bytes behind it; `ff` in front means that there is no character.
pub(super) type Utf8 = [u8; 4];

pub(super) const NO_UTF8: Utf8 = [0xff; 4];

#[inline]
pub(super) fn utf8(code_point: u32) -> Utf8 {
    let mut bytes = [0; 4];
    match char::from_u32(code_point) {
        Some(character) => {
            character.encode_utf8(&mut bytes);
            bytes
        }
        None => NO_UTF8,
    }
}

/// Returns the length of the character whose UTF-8 begins with `first`.
#[inline]
pub(super) fn utf8_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Maps weights to characters.
#[derive(Debug)]
pub(crate) struct Characters {
    /// The two forms of each weight, by weight.
    pub(super) forms: Vec<[Utf8; 2]>,
    /// For each byte that begins a weight in keys, the first such weight and how many there are. None where decoding
    /// needs to see the bytes behind, or where a weight's other bytes are not its place among these weights.
    pub(super) leads: [[u16; 2]; 256],
}

impl Characters {
    /// Returns the two forms of a weight.
    #[inline]
    pub(super) fn forms(&self, w: u16) -> [Utf8; 2] {
        self.forms.get(usize::from(w)).copied().unwrap_or([NO_UTF8; 2])
    }
}
