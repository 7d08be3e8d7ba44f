//! The RSA key pair with which clients of `caching_sha2_password` encrypt their password on a connection without TLS.
//!
//! The pair is made when a client first asks for it, which takes a second, and kept in the database's directory, in
//! `private_key.pem`, which only its owner can read. The client appends a zero byte to the password, XORs the bytes with the
//! repeated challenge, and encrypts them (OAEP with SHA-1, as in MySQL).

use crate::private_file;
use leafline_sql::accounts::password::CHALLENGE_BYTES;
use parking_lot::Mutex;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the file in the database's directory.
const NAME: &str = "private_key.pem";
const BITS: usize = 2048;

/// The key pair of a server, which is made when it is needed.
#[derive(Debug)]
pub(crate) struct KeyPair {
    path: PathBuf,
    /// The private key, and the public key in PEM form.
    pair: Mutex<Option<Arc<(RsaPrivateKey, String)>>>,
}

impl KeyPair {
    /// The key pair of a database's directory. Reads nothing yet.
    pub(crate) fn of(directory: PathBuf) -> KeyPair {
        KeyPair { path: directory.join(NAME), pair: Mutex::default() }
    }

    /// Reads the pair, or makes it if there is no file.
    fn pair(&self) -> Result<Arc<(RsaPrivateKey, String)>, String> {
        let mut pair = self.pair.lock();
        if let Some(pair) = &*pair {
            return Ok(pair.clone());
        }
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.path.display());
        let private = match std::fs::read_to_string(&self.path) {
            Ok(text) => RsaPrivateKey::from_pkcs8_pem(&text).map_err(|error| failed(&error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let private = RsaPrivateKey::new(&mut OsRng, BITS).map_err(|error| failed(&error))?;
                let text = private.to_pkcs8_pem(LineEnding::LF).map_err(|error| failed(&error))?;
                private_file::write(&self.path, text.as_bytes()).map_err(|error| failed(&error))?;
                private
            }
            Err(error) => return Err(failed(&error)),
        };
        let public = private.to_public_key().to_public_key_pem(LineEnding::LF);
        let public = public.map_err(|error| failed(&error))?;
        Ok(pair.insert(Arc::new((private, public))).clone())
    }

    /// Returns the public key in PEM form.
    ///
    /// # Errors
    /// The reason why there is no key.
    pub(crate) fn public(&self) -> Result<String, String> {
        Ok(self.pair()?.1.clone())
    }

    /// Decrypts a password that a client has sent; `None` if the bytes are no encrypted password.
    ///
    /// # Errors
    /// The reason why there is no key.
    pub(crate) fn decrypt(
        &self,
        sent: &[u8],
        challenge: &[u8; CHALLENGE_BYTES],
    ) -> Result<Option<Vec<u8>>, String> {
        let pair = self.pair()?;
        // Blinding hides the key from measurements of time.
        let Ok(mut password) = pair.0.decrypt_blinded(&mut OsRng, Oaep::new::<Sha1>(), sent) else {
            return Ok(None);
        };
        password.iter_mut().zip(challenge.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        Ok((password.pop() == Some(0)).then_some(password))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPublicKey;
    use rsa::pkcs8::DecodePublicKey;

    #[test]
    fn a_password_comes_through_and_the_pair_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let keys = KeyPair::of(directory.path().to_owned());
        let public = keys.public().expect("a key");
        let challenge = *b"0123456789abcdefghij";
        let mut sent = "a password longer than the challenge\0".as_bytes().to_vec();
        sent.iter_mut().zip(challenge.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        let key = RsaPublicKey::from_public_key_pem(&public).expect("a key");
        let sent = key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &sent).expect("encrypted");
        let again = KeyPair::of(directory.path().to_owned());
        assert_eq!(again.public().as_ref(), Ok(&public));
        let password = again.decrypt(&sent, &challenge).expect("a key");
        assert_eq!(password.as_deref(), Some(&b"a password longer than the challenge"[..]));
        for wrong in [&b""[..], &[0; 256], &[0xff; 256], &sent[..255], b"secret\0"] {
            assert_eq!(again.decrypt(wrong, &challenge), Ok(None));
        }
        std::fs::write(directory.path().join(NAME), "no key").expect("written");
        assert!(KeyPair::of(directory.path().to_owned()).public().is_err());
    }
}
