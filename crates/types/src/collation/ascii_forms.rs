//! The plainest ASCII characters that have given weights.

use super::format::{IGNORED, LONG};

/// Marks a byte in [`AsciiForms`] that is not the weight of a lone ASCII character.
pub(super) const NO_ASCII_FORM: u8 = 0x80;

/// The two forms of each byte that is the weight of an ASCII character in keys.
#[derive(Debug)]
pub(crate) struct AsciiForms {
    /// The first forms; [`NO_ASCII_FORM`] for other bytes.
    pub(super) first: [u8; 256],
    /// The second forms; [`NO_ASCII_FORM`] for other bytes.
    pub(super) second: [u8; 256],
}

impl AsciiForms {
    /// Makes the forms from the key bytes of the ASCII characters.
    pub(super) const fn new(codes: &[u8; 128]) -> AsciiForms {
        let (mut first, mut second) = ([NO_ASCII_FORM; 256], [NO_ASCII_FORM; 256]);
        let mut c = 0u8;
        while c < 128 {
            let code = codes[c as usize];
            if code != IGNORED && code != LONG {
                let before = first[code as usize];
                if before == NO_ASCII_FORM || (before.is_ascii_uppercase() && c.is_ascii_lowercase()) {
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

    /// Returns for each ASCII character the bits in which its forms differ.
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

    /// Returns the forms without those of `code`.
    pub(super) const fn without(&self, code: u8) -> AsciiForms {
        let (mut first, mut second) = (self.first, self.second);
        first[code as usize] = NO_ASCII_FORM;
        second[code as usize] = NO_ASCII_FORM;
        AsciiForms { first, second }
    }

    /// Whether `code` is the weight of an ASCII character.
    #[inline]
    pub(super) fn has(&self, code: u8) -> bool {
        self.first[usize::from(code)] != NO_ASCII_FORM
    }

    /// Returns the first or the second forms.
    #[inline]
    pub(super) fn forms(&self, second: bool) -> &[u8; 256] {
        if second { &self.second } else { &self.first }
    }
}
