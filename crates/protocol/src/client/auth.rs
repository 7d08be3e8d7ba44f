//! Proves that a client knows a password, without sending it in clear.
//!
//! | plugin | answer |
//! |---|---|
//! | `mysql_native_password` | SHA1(p) xor SHA1(challenge, SHA1(SHA1(p))) |
//! | `caching_sha2_password` | SHA256(p) xor SHA256(SHA256(SHA256(p)), challenge) |
//!
//! A server that has not seen the password of a `caching_sha2_password` account yet asks for it. Over TLS or a socket of this
//! machine the client sends the password itself, otherwise the password XORed with the challenge and encrypted by the server's
//! RSA key (OAEP with SHA-1).

use crate::handshake::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD};
use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// Answers a challenge; `None` for an unknown plugin.
pub(super) fn answer(plugin: &str, password: &str, challenge: &[u8]) -> Option<Vec<u8>> {
    match plugin {
        NATIVE_PASSWORD | CACHING_SHA2_PASSWORD if password.is_empty() => Some(Vec::new()),
        NATIVE_PASSWORD => {
            let once = Sha1::digest(password);
            let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(once)).finalize();
            Some(xor(&once, &mask))
        }
        CACHING_SHA2_PASSWORD => {
            let once = Sha256::digest(password);
            let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(challenge).finalize();
            Some(xor(&once, &mask))
        }
        _ => None,
    }
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(left, right)| left ^ right).collect()
}

/// Encrypts the password by the server's public key in PEM form; `None` if `pem` is no key, or the password is too long for it.
pub(super) fn enciphered(password: &str, challenge: &[u8], pem: &[u8]) -> Option<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_pem(std::str::from_utf8(pem).ok()?).ok()?;
    let plain: Vec<u8> =
        password.bytes().chain([0]).zip(challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::pkcs8::EncodePublicKey as _;

    #[test]
    fn who_has_the_private_key_reads_the_password() {
        let private = rsa::RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(rsa::pkcs8::LineEnding::LF).unwrap();
        let challenge: Vec<u8> = (1..=20).collect();
        let secret = enciphered("p\u{e9}ss", &challenge, pem.as_bytes()).unwrap();
        let plain = private.decrypt(Oaep::new::<Sha1>(), &secret).unwrap();
        assert_eq!(xor(&plain, &challenge), "p\u{e9}ss\0".as_bytes());
        assert_eq!(enciphered(&"x".repeat(200), &challenge, pem.as_bytes()), None);
        assert_eq!(enciphered("x", &challenge, b"-----BEGIN PUBLIC KEY-----"), None);
    }

    #[test]
    fn answers_are_those_that_the_servers_expect() {
        let challenge: Vec<u8> = (1..=20).collect();
        // A server keeps SHA1(SHA1(p)). From it and the answer follows SHA1(p), whose hash must be the kept one.
        let answer_of = |plugin: &str| answer(plugin, "secret", &challenge).unwrap();
        let kept = Sha1::digest(Sha1::digest("secret"));
        let mask = Sha1::new().chain_update(&challenge).chain_update(kept).finalize();
        assert_eq!(Sha1::digest(xor(&answer_of(NATIVE_PASSWORD), &mask)), kept);
        let kept = Sha256::digest(Sha256::digest("secret"));
        let mask = Sha256::new().chain_update(kept).chain_update(&challenge).finalize();
        assert_eq!(Sha256::digest(xor(&answer_of(CACHING_SHA2_PASSWORD), &mask)), kept);
        assert_eq!(answer(CACHING_SHA2_PASSWORD, "", &challenge), Some(Vec::new()));
        assert_eq!(answer("client_ed25519", "x", &challenge), None);
    }
}
