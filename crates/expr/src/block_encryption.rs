//! AES in the modes of `block_encryption_mode`.
//!
//! A key of any length is folded: its bytes are combined by XOR into as many as the cipher takes. ECB and CBC pad the last block
//! (PKCS #7); the other modes make a stream of bytes (NIST SP 800-38A). The modes are those of the RustCrypto crates but for CFB1, which
//! none of them has.

use aes::cipher::block_padding::{Padding, Pkcs7};
use aes::cipher::consts::U16;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::inout::InOutBuf;
use aes::cipher::{
    BlockCipher, BlockDecrypt, BlockDecryptMut, BlockEncrypt, BlockEncryptMut, Key, KeyInit, KeyIvInit,
    KeySizeUser, StreamCipher,
};
use aes::{Aes128, Aes192, Aes256};

use leafline_types::error::MysqlError;
use leafline_types::statement::CancelTicker;

/// The length of a block in bytes.
pub(crate) const BLOCK: usize = 16;
pub(crate) type Block = GenericArray<u8, U16>;
/// Bytes between two looks at whether the statement is to end.
const PIECE: usize = 256 * BLOCK;

/// `block_encryption_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEncryption {
    key_bytes: usize,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

const MODES: [(&str, Mode); 6] = [
    ("ecb", Mode::Ecb),
    ("cbc", Mode::Cbc),
    ("cfb1", Mode::Cfb1),
    ("cfb8", Mode::Cfb8),
    ("cfb128", Mode::Cfb128),
    ("ofb", Mode::Ofb),
];

impl Default for BlockEncryption {
    /// Returns `aes-128-ecb`.
    fn default() -> Self {
        BlockEncryption { key_bytes: 16, mode: Mode::Ecb }
    }
}

impl BlockEncryption {
    /// Reads a name like `aes-256-cbc`, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let (bits, mode) = name.strip_prefix("aes-")?.split_once('-')?;
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        let (_, mode) = MODES.iter().find(|(name, _)| *name == mode)?;
        Some(BlockEncryption { key_bytes, mode: *mode })
    }
}

impl BlockEncryption {
    /// Whether the mode takes an initialization vector.
    pub(crate) fn takes_vector(self) -> bool {
        self.mode != Mode::Ecb
    }
}

impl std::fmt::Display for BlockEncryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = MODES.iter().find(|(_, mode)| *mode == self.mode).map_or("", |(name, _)| name);
        write!(f, "aes-{}-{name}", self.key_bytes * 8)
    }
}

impl BlockEncryption {
    pub(crate) fn encrypt(
        self,
        key: &[u8],
        iv: &Block,
        text: &[u8],
        steps: &mut CancelTicker<'_>,
    ) -> Result<Vec<u8>, MysqlError> {
        let cipher = match self.key_bytes {
            16 => encryptor::<Aes128>(self.mode, key, iv),
            24 => encryptor::<Aes192>(self.mode, key, iv),
            _ => encryptor::<Aes256>(self.mode, key, iv),
        };
        let mut bytes = text.to_vec();
        if self.mode.is_padded() {
            let fill = BLOCK - text.len() % BLOCK;
            bytes.resize(text.len() + fill, fill as u8);
        }
        self.mode.apply(cipher, &mut bytes, steps)?;
        Ok(bytes)
    }

    /// Decrypts; returns None if the length or the padding is invalid.
    pub(crate) fn decrypt(
        self,
        key: &[u8],
        iv: &Block,
        text: &[u8],
        steps: &mut CancelTicker<'_>,
    ) -> Result<Option<Vec<u8>>, MysqlError> {
        if self.mode.is_padded() && !text.len().is_multiple_of(BLOCK) {
            return Ok(None);
        }
        let cipher = match self.key_bytes {
            16 => decryptor::<Aes128>(self.mode, key, iv),
            24 => decryptor::<Aes192>(self.mode, key, iv),
            _ => decryptor::<Aes256>(self.mode, key, iv),
        };
        let mut bytes = text.to_vec();
        self.mode.apply(cipher, &mut bytes, steps)?;
        if self.mode.is_padded() {
            let before = bytes.len().saturating_sub(BLOCK);
            let last = bytes.last_chunk::<BLOCK>().map(|last| Block::from(*last));
            let Some(kept) = last.and_then(|last| Pkcs7::unpad(&last).map(<[u8]>::len).ok()) else {
                return Ok(None);
            };
            bytes.truncate(before + kept);
        }
        Ok(Some(bytes))
    }
}

impl Mode {
    /// Returns whether the last block is padded.
    fn is_padded(self) -> bool {
        matches!(self, Mode::Ecb | Mode::Cbc)
    }

    /// Applies a cipher to all bytes, some at a time.
    fn apply(
        self,
        mut cipher: Cipher,
        bytes: &mut [u8],
        steps: &mut CancelTicker<'_>,
    ) -> Result<(), MysqlError> {
        // One bit or byte costs as much as a block.
        let work = match self {
            Mode::Cfb1 => BLOCK * 8,
            Mode::Cfb8 => BLOCK,
            _ => 1,
        };
        for piece in bytes.chunks_mut(PIECE) {
            cipher(piece);
            steps.take(piece.len() * work)?;
        }
        Ok(())
    }
}

/// Encrypts or decrypts pieces of a text one after the other, in place. All but the last are whole blocks.
type Cipher = Box<dyn FnMut(&mut [u8])>;

/// The block cipher AES with keys of one length.
trait Aes: BlockCipher<BlockSize = U16> + BlockEncrypt + BlockDecrypt + KeyInit + 'static {}

impl<C: BlockCipher<BlockSize = U16> + BlockEncrypt + BlockDecrypt + KeyInit + 'static> Aes for C {}

fn encryptor<C: Aes>(mode: Mode, key: &[u8], iv: &Block) -> Cipher {
    let key = folded::<C>(key);
    match mode {
        Mode::Ecb => encrypts_blocks(ecb::Encryptor::<C>::new(&key)),
        Mode::Cbc => encrypts_blocks(cbc::Encryptor::<C>::new(&key, iv)),
        Mode::Cfb8 => encrypts_blocks(cfb8::Encryptor::<C>::new(&key, iv)),
        Mode::Cfb128 => {
            let mut cipher = cfb_mode::BufEncryptor::<C>::new(&key, iv);
            Box::new(move |bytes| cipher.encrypt(bytes))
        }
        Mode::Ofb => ofb::<C>(&key, iv),
        Mode::Cfb1 => cfb1::<C>(&key, iv, true),
    }
}

fn decryptor<C: Aes>(mode: Mode, key: &[u8], iv: &Block) -> Cipher {
    let key = folded::<C>(key);
    match mode {
        Mode::Ecb => decrypts_blocks(ecb::Decryptor::<C>::new(&key)),
        Mode::Cbc => decrypts_blocks(cbc::Decryptor::<C>::new(&key, iv)),
        Mode::Cfb8 => decrypts_blocks(cfb8::Decryptor::<C>::new(&key, iv)),
        Mode::Cfb128 => {
            let mut cipher = cfb_mode::BufDecryptor::<C>::new(&key, iv);
            Box::new(move |bytes| cipher.decrypt(bytes))
        }
        Mode::Ofb => ofb::<C>(&key, iv),
        Mode::Cfb1 => cfb1::<C>(&key, iv, false),
    }
}

fn folded<C: KeySizeUser>(key: &[u8]) -> Key<C> {
    let mut folded = Key::<C>::default();
    let size = folded.len();
    for (n, byte) in key.iter().enumerate() {
        folded[n % size] ^= byte;
    }
    folded
}

fn encrypts_blocks<M: BlockEncryptMut + 'static>(mut mode: M) -> Cipher {
    Box::new(move |bytes| mode.encrypt_blocks_inout_mut(InOutBuf::from(bytes).into_chunks().0))
}

fn decrypts_blocks<M: BlockDecryptMut + 'static>(mut mode: M) -> Cipher {
    Box::new(move |bytes| mode.decrypt_blocks_inout_mut(InOutBuf::from(bytes).into_chunks().0))
}

/// OFB: the stream is the same both ways.
fn ofb<C: Aes>(key: &Key<C>, iv: &Block) -> Cipher {
    let mut stream = ofb::Ofb::<C>::new(key, iv);
    Box::new(move |bytes| stream.apply_keystream(bytes))
}

/// CFB1: bit after bit, the highest first. The register holds the last 128 bits of the encrypted text.
fn cfb1<C: Aes>(key: &Key<C>, iv: &Block, encrypts: bool) -> Cipher {
    let cipher = C::new(key);
    let mut register = u128::from_be_bytes((*iv).into());
    Box::new(move |bytes| {
        for byte in bytes {
            *byte = (0..8).rev().fold(0, |made, shift| {
                let mut block = Block::from(register.to_be_bytes());
                cipher.encrypt_block(&mut block);
                let given = *byte >> shift & 1;
                let bit = given ^ block[0] >> 7;
                register = register << 1 | u128::from(if encrypts { bit } else { given });
                made << 1 | bit
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::CancelToken;

    fn encrypt(name: &str, key: &[u8], iv: &Block, text: &[u8]) -> Vec<u8> {
        let encryption = BlockEncryption::from_name(name).unwrap();
        encryption.encrypt(key, iv, text, &mut CancelTicker::new(&CancelToken::new(), 1 << 18)).unwrap()
    }

    fn decrypt(name: &str, key: &[u8], iv: &Block, text: &[u8]) -> Option<Vec<u8>> {
        let encryption = BlockEncryption::from_name(name).unwrap();
        encryption.decrypt(key, iv, text, &mut CancelTicker::new(&CancelToken::new(), 1 << 18)).unwrap()
    }

    fn hex(text: &str) -> Vec<u8> {
        hex::decode(text.replace(' ', "")).unwrap()
    }

    /// NIST SP 800-38A, appendix F: the key, and the first blocks of each mode.
    #[test]
    fn the_standards_examples() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let text = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51");
        let iv = Block::clone_from_slice(&hex("000102030405060708090a0b0c0d0e0f"));
        for (mode, expected) in [
            ("ecb", "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf"),
            ("cbc", "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2"),
            ("cfb8", "3b79424c9c0dd436bace9e0ed4586a4f 32b9"),
            ("cfb128", "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b"),
            ("ofb", "3b3fd92eb72dad20333449f8e83cfb4a 7789508d16918f03f53c52dac54ed825"),
            // F.3.1 gives 16 bits.
            ("cfb1", "68b3"),
        ] {
            let name = format!("aes-128-{mode}");
            let made = encrypt(&name, &key, &iv, &text);
            let expected = hex(expected);
            assert_eq!(made[..expected.len()], expected, "{mode}");
            assert_eq!(decrypt(&name, &key, &iv, &made).as_ref(), Some(&text), "{mode}");
        }
        let long = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        assert_eq!(encrypt("aes-256-ecb", &long, &iv, &text)[..16], hex("f3eed1bdb5d2a03c064b5a7e3db181f8"));
        let middle = hex("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b");
        assert_eq!(
            encrypt("aes-192-ecb", &middle, &iv, &text)[..16],
            hex("bd334f1d6e45f25ff712a214571fa5cc")
        );
    }

    /// Lengths of less than a block, and of pieces and a part of one.
    #[test]
    fn every_length_comes_back_and_what_is_spoiled_does_not() {
        let key = b"a key that is longer than the cipher takes";
        let iv = Block::from([7; BLOCK]);
        for (mode, _) in MODES {
            let name = format!("AES-192-{mode}");
            for length in (0..40).chain([PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 9]) {
                let text: Vec<u8> = (0..length).map(|n| n as u8).collect();
                let made = encrypt(&name, key, &iv, &text);
                assert_eq!(decrypt(&name, key, &iv, &made), Some(text), "{name} {length}");
            }
        }
        let none = Block::default();
        for (name, spoiled) in
            [("aes-128-ecb", &b""[..]), ("aes-128-ecb", b"short"), ("aes-128-cbc", &[1; 16])]
        {
            assert_eq!(decrypt(name, b"key", &none, spoiled), None, "{name} {spoiled:?}");
        }
        for wrong in ["aes-128", "aes-64-ecb", "des-128-ecb", "aes-128-ctr", ""] {
            assert_eq!(BlockEncryption::from_name(wrong), None, "{wrong}");
        }
        assert_eq!(BlockEncryption::from_name("aes-256-CBC").unwrap().to_string(), "aes-256-cbc");
    }
}
