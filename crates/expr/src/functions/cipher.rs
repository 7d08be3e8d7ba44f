//! AES_ENCRYPT and AES_DECRYPT, in the modes of `block_encryption_mode`.
//!
//! A key of any length is folded: its bytes are combined by XOR into as many as the cipher takes. ECB and CBC pad the
//! last block (PKCS #7); the other modes make a stream of bytes (NIST SP 800-38A).

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};

use super::args::{binary_string, nullable};
use super::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::statement::Steps;
use leafline_types::value::{ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("AES_ENCRYPT", (2, 3), encrypted_type, |cx, call, values| {
        aes(cx, call, values, |cipher, mode, iv, text, steps| cipher.encrypt(mode, iv, text, steps).map(Some))
    })
    .bytes(),
    Function::new("AES_DECRYPT", (2, 3), decrypted_type, |cx, call, values| {
        aes(cx, call, values, Cipher::decrypt)
    })
    .bytes(),
];

const BLOCK: usize = 16;
type Block = [u8; BLOCK];

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

impl std::fmt::Display for BlockEncryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = MODES.iter().find(|(_, mode)| *mode == self.mode).map_or("", |(name, _)| name);
        write!(f, "aes-{}-{name}", self.key_bytes * 8)
    }
}

fn bytes_of(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql) * if arg.ty.sql.is_character() { 4 } else { 1 }
}

fn encrypted_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(binary_string((bytes_of(&args[0]) / BLOCK as u64 + 1) * BLOCK as u64, nullable(args)))
}

fn decrypted_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(binary_string(bytes_of(&args[0]), true))
}

/// A function that encrypts or decrypts, given an initialization vector.
type Application = fn(&Cipher, Mode, Block, &[u8], &mut Steps<'_>) -> Result<Option<Vec<u8>>, MysqlError>;

fn aes(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    apply: Application,
) -> Result<Value, MysqlError> {
    let BlockEncryption { key_bytes, mode } = cx.sql_mode.block_encryption;
    let name = call.function.definition().name.to_ascii_lowercase();
    let mut iv = Block::default();
    match (mode, values.len()) {
        (Mode::Ecb, 2) => {}
        (Mode::Ecb, _) => cx.warnings.warn(MysqlError::option_ignored("IV")),
        (_, 2) => return Err(MysqlError::wrong_parameter_count(name)),
        _ => {
            let Some(given) = call.text(values, 2) else { return Ok(Value::Null) };
            let first = given.get(..BLOCK).ok_or_else(|| MysqlError::aes_iv_too_short(name, BLOCK))?;
            iv.copy_from_slice(first);
        }
    }
    let (Some(text), Some(key)) = (call.text(values, 0), call.text(values, 1)) else {
        return Ok(Value::Null);
    };
    let cipher = Cipher::new(&key, key_bytes);
    room_for(text.len() * 2)?;
    Ok(apply(&cipher, mode, iv, &text, &mut cx.steps())?.map_or(Value::Null, Value::bytes))
}

enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    fn new(key: &[u8], bytes: usize) -> Self {
        let mut folded = [0; 32];
        for (n, byte) in key.iter().enumerate() {
            folded[n % bytes] ^= byte;
        }
        match bytes {
            16 => Cipher::Aes128(Box::new(Aes128::new(GenericArray::from_slice(&folded[..16])))),
            24 => Cipher::Aes192(Box::new(Aes192::new(GenericArray::from_slice(&folded[..24])))),
            _ => Cipher::Aes256(Box::new(Aes256::new(GenericArray::from_slice(&folded)))),
        }
    }

    fn encrypt_block(&self, mut block: Block) -> Block {
        let in_place = GenericArray::from_mut_slice(&mut block);
        match self {
            Cipher::Aes128(aes) => aes.encrypt_block(in_place),
            Cipher::Aes192(aes) => aes.encrypt_block(in_place),
            Cipher::Aes256(aes) => aes.encrypt_block(in_place),
        }
        block
    }

    fn decrypt_block(&self, mut block: Block) -> Block {
        let in_place = GenericArray::from_mut_slice(&mut block);
        match self {
            Cipher::Aes128(aes) => aes.decrypt_block(in_place),
            Cipher::Aes192(aes) => aes.decrypt_block(in_place),
            Cipher::Aes256(aes) => aes.decrypt_block(in_place),
        }
        block
    }

    fn encrypt(
        &self,
        mode: Mode,
        mut last: Block,
        text: &[u8],
        steps: &mut Steps<'_>,
    ) -> Result<Vec<u8>, MysqlError> {
        if !matches!(mode, Mode::Ecb | Mode::Cbc) {
            return self.stream(mode, last, text, true, steps);
        }
        let fill = BLOCK - text.len() % BLOCK;
        let mut padded = text.to_vec();
        padded.resize(text.len() + fill, fill as u8);
        for chunk in padded.chunks_exact_mut(BLOCK) {
            let mut block = Block::default();
            block.copy_from_slice(chunk);
            if mode == Mode::Cbc {
                xor(&mut block, &last);
            }
            last = self.encrypt_block(block);
            chunk.copy_from_slice(&last);
            steps.take(BLOCK)?;
        }
        Ok(padded)
    }

    /// Decrypts; returns None if the length or the padding is invalid.
    fn decrypt(
        &self,
        mode: Mode,
        mut last: Block,
        text: &[u8],
        steps: &mut Steps<'_>,
    ) -> Result<Option<Vec<u8>>, MysqlError> {
        if !matches!(mode, Mode::Ecb | Mode::Cbc) {
            return self.stream(mode, last, text, false, steps).map(Some);
        }
        if !text.len().is_multiple_of(BLOCK) {
            return Ok(None);
        }
        let mut plain = text.to_vec();
        for chunk in plain.chunks_exact_mut(BLOCK) {
            let mut block = Block::default();
            block.copy_from_slice(chunk);
            let mut opened = self.decrypt_block(block);
            if mode == Mode::Cbc {
                xor(&mut opened, &last);
                last = block;
            }
            chunk.copy_from_slice(&opened);
            steps.take(BLOCK)?;
        }
        let Some(fill) = plain.last().map(|fill| usize::from(*fill)) else { return Ok(None) };
        let end = plain.len().checked_sub(fill).filter(|_| (1..=BLOCK).contains(&fill));
        let Some(end) = end else { return Ok(None) };
        let is_filled = plain[end..].iter().all(|&byte| usize::from(byte) == fill);
        plain.truncate(end);
        Ok(is_filled.then_some(plain))
    }

    /// Runs the modes that make a stream. `register` is the next block to encrypt: the previous ciphertext for CFB,
    /// the previous key stream for OFB.
    fn stream(
        &self,
        mode: Mode,
        mut register: Block,
        text: &[u8],
        encrypts: bool,
        steps: &mut Steps<'_>,
    ) -> Result<Vec<u8>, MysqlError> {
        let mut out = Vec::with_capacity(text.len());
        let mut key = Block::default();
        // One bit or byte costs as much as a block.
        let work = match mode {
            Mode::Cfb1 => BLOCK * 8,
            Mode::Cfb8 => BLOCK,
            _ => 1,
        };
        for (n, &byte) in text.iter().enumerate() {
            let at = n % BLOCK;
            steps.take(work)?;
            match mode {
                Mode::Ofb | Mode::Cfb128 => {
                    if at == 0 {
                        key = self.encrypt_block(register);
                        register = key;
                    }
                    let made = byte ^ key[at];
                    if mode == Mode::Cfb128 {
                        register[at] = if encrypts { made } else { byte };
                    }
                    out.push(made);
                }
                Mode::Cfb8 => {
                    let made = byte ^ self.encrypt_block(register)[0];
                    register.rotate_left(1);
                    register[BLOCK - 1] = if encrypts { made } else { byte };
                    out.push(made);
                }
                _ => out.push(self.stream_bits(&mut register, byte, encrypts)),
            }
        }
        Ok(out)
    }

    /// Runs CFB1 on a byte, bit by bit, the highest first.
    fn stream_bits(&self, register: &mut Block, byte: u8, encrypts: bool) -> u8 {
        (0..8).rev().fold(0, |made, shift| {
            let given = byte >> shift & 1;
            let bit = given ^ self.encrypt_block(*register)[0] >> 7;
            let fed = if encrypts { bit } else { given };
            let number = u128::from_be_bytes(*register) << 1 | u128::from(fed);
            *register = number.to_be_bytes();
            made << 1 | bit
        })
    }
}

fn xor(block: &mut Block, other: &Block) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::CancelToken;

    fn hex(text: &str) -> Vec<u8> {
        let text: String = text.split_whitespace().collect();
        (0..text.len() / 2).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap()).collect()
    }

    /// NIST SP 800-38A, appendix F: the key, and the first blocks of each mode.
    #[test]
    fn the_standards_examples() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let text = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51");
        let iv: Block = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let cipher = Cipher::new(&key, 16);
        for (mode, expected) in [
            (Mode::Ecb, "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf"),
            (Mode::Cbc, "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2"),
            (Mode::Cfb8, "3b79424c9c0dd436bace9e0ed4586a4f 32b9"),
            (Mode::Cfb128, "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b"),
            (Mode::Ofb, "3b3fd92eb72dad20333449f8e83cfb4a 7789508d16918f03f53c52dac54ed825"),
            // F.3.1 gives 16 bits.
            (Mode::Cfb1, "68b3"),
        ] {
            let made =
                cipher.encrypt(mode, iv, &text, &mut Steps::new(&CancelToken::new(), 1 << 18)).unwrap();
            let expected = hex(expected);
            assert_eq!(made[..expected.len()], expected, "{mode:?}");
            assert_eq!(
                cipher
                    .decrypt(mode, iv, &made, &mut Steps::new(&CancelToken::new(), 1 << 18))
                    .unwrap()
                    .as_ref(),
                Some(&text),
                "{mode:?}"
            );
        }
        let long = Cipher::new(&hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"), 32);
        assert_eq!(
            long.encrypt(Mode::Ecb, iv, &text, &mut Steps::new(&CancelToken::new(), 1 << 18)).unwrap()[..16],
            hex("f3eed1bdb5d2a03c064b5a7e3db181f8")
        );
        let middle = Cipher::new(&hex("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"), 24);
        assert_eq!(
            middle.encrypt(Mode::Ecb, iv, &text, &mut Steps::new(&CancelToken::new(), 1 << 18)).unwrap()
                [..16],
            hex("bd334f1d6e45f25ff712a214571fa5cc")
        );
    }

    #[test]
    fn every_length_comes_back_and_what_is_spoiled_does_not() {
        for (name, _) in MODES {
            let BlockEncryption { key_bytes, mode } =
                BlockEncryption::from_name(&format!("AES-192-{name}")).unwrap();
            let cipher = Cipher::new(b"a key that is longer than the cipher takes", key_bytes);
            for length in 0..40usize {
                let text: Vec<u8> = (0..length as u8).collect();
                let made = cipher
                    .encrypt(mode, [7; BLOCK], &text, &mut Steps::new(&CancelToken::new(), 1 << 18))
                    .unwrap();
                assert_eq!(
                    cipher
                        .decrypt(mode, [7; BLOCK], &made, &mut Steps::new(&CancelToken::new(), 1 << 18))
                        .unwrap(),
                    Some(text),
                    "{name} {length}"
                );
            }
        }
        let cipher = Cipher::new(b"key", 16);
        assert_eq!(
            cipher
                .decrypt(Mode::Ecb, Block::default(), b"", &mut Steps::new(&CancelToken::new(), 1 << 18))
                .unwrap(),
            None
        );
        assert_eq!(
            cipher
                .decrypt(Mode::Ecb, Block::default(), b"short", &mut Steps::new(&CancelToken::new(), 1 << 18))
                .unwrap(),
            None
        );
        assert_eq!(
            cipher
                .decrypt(Mode::Cbc, Block::default(), &[1; 16], &mut Steps::new(&CancelToken::new(), 1 << 18))
                .unwrap(),
            None
        );
        for wrong in ["aes-128", "aes-64-ecb", "des-128-ecb", "aes-128-ctr", ""] {
            assert_eq!(BlockEncryption::from_name(wrong), None, "{wrong}");
        }
        assert_eq!(BlockEncryption::from_name("aes-256-CBC").unwrap().to_string(), "aes-256-cbc");
    }
}
