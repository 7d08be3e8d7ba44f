//! The digest of sha256-crypt: U. Drepper, "Unix crypt using SHA-256 and SHA-512", steps 1 to 22, for a salt of any length.

use sha2::{Digest, Sha256};

/// Characters of a digest.
pub(super) const CHARACTERS: usize = 43;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Order in which the bytes are written; three bytes give four characters.
const ORDER: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// True if a digest may contain this character.
pub(super) fn is_character(byte: u8) -> bool {
    ALPHABET.contains(&byte)
}

/// The digest of `password`. The time grows with the rounds and with both lengths.
pub(super) fn digest(password: &[u8], salt: &[u8], rounds: u32) -> [u8; CHARACTERS] {
    let alternate = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut first = Sha256::new().chain_update(password).chain_update(salt);
    first.update(repeated(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        first.update(if bits & 1 == 1 { &alternate[..] } else { password });
        bits >>= 1;
    }
    let mut state = first.finalize();

    let mut of_password = Sha256::new();
    (0..password.len()).for_each(|_| of_password.update(password));
    let password = repeated(&of_password.finalize(), password.len());
    let mut of_salt = Sha256::new();
    (0..16 + usize::from(state[0])).for_each(|_| of_salt.update(salt));
    let salt = repeated(&of_salt.finalize(), salt.len());

    for round in 0..rounds {
        let mut next = Sha256::new();
        next.update(if round % 2 == 1 { &password[..] } else { &state[..] });
        if round % 3 != 0 {
            next.update(&salt);
        }
        if round % 7 != 0 {
            next.update(&password);
        }
        next.update(if round % 2 == 1 { &state[..] } else { &password[..] });
        state = next.finalize();
    }
    encode(&state.into())
}

/// Repeats `block` up to `length` bytes.
fn repeated(block: &[u8], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

fn encode(bytes: &[u8; 32]) -> [u8; CHARACTERS] {
    let mut out = [0; CHARACTERS];
    let mut places = out.iter_mut();
    let mut put = |high: u8, middle: u8, low: u8, characters: usize| {
        let mut bits = u32::from_be_bytes([0, high, middle, low]);
        for place in places.by_ref().take(characters) {
            *place = ALPHABET[(bits & 0x3f) as usize];
            bits >>= 6;
        }
    };
    for [high, middle, low] in ORDER {
        put(bytes[high], bytes[middle], bytes[low], 4);
    }
    put(0, bytes[31], bytes[30], 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Password, salt, rounds and digest.
    type Example<'e> = (&'e [u8], &'e [u8], u32, &'e [u8; CHARACTERS]);

    /// The example with the salt of 20 bytes is hashcat's published one for MySQL (mode 7401); the others
    /// come from crypt(3) of the GNU C library.
    #[test]
    fn digests_are_those_of_the_c_library_and_of_mysql() {
        let mysql = *b"\xF9\xCC\x98\xCE\x08\x89\x29\x24\xF5\x0A\x21\x3B\x6B\xC5\x71\xA2\xC1\x17\x78\xC5";
        let examples: [Example<'_>; 4] = [
            (b"hashcat", &mysql, 5000, b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/"),
            (b"Hello world!", b"saltstring", 5000, b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
            (b"Hello world!", b"saltstringsaltst", 10_000, b"3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"),
            (
                b"a very much longer text to encrypt.  This one even stretches over morethan one line.",
                b"anotherlongsalts",
                1400,
                b"Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1",
            ),
        ];
        for (password, salt, rounds, expected) in examples {
            let made = digest(password, salt, rounds);
            assert_eq!(std::str::from_utf8(&made), std::str::from_utf8(expected));
        }
    }
}
