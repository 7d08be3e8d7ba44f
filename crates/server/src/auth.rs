//! Authentication by `mysql_native_password`: the client proves that it knows the password without sending it.
//!
//! The server sends 20 random bytes; the client answers `SHA1(password) XOR SHA1(challenge + SHA1(SHA1(password)))`. The
//! server knows `SHA1(SHA1(password))`, takes `SHA1(password)` out of the answer and hashes it once more.

use leafline_sql::accounts::HASH_BYTES;
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha1::{Digest, Sha1};

/// Name of the plugin.
pub(crate) const PLUGIN: &str = "mysql_native_password";

/// Bytes of a challenge.
pub(crate) const CHALLENGE_BYTES: usize = 20;

/// A new challenge; no byte of it is zero, as clients read it as text.
pub(crate) fn challenge() -> std::io::Result<[u8; CHALLENGE_BYTES]> {
    let mut bytes = [0; CHALLENGE_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.map(|byte| (byte & 0x7f).max(1)))
}

/// Whether `answer` is right for an account whose password's double hash is `stored`; `None` for no password.
pub(crate) fn is_right(
    answer: &[u8],
    challenge: &[u8; CHALLENGE_BYTES],
    stored: Option<&[u8; HASH_BYTES]>,
) -> bool {
    let Some(stored) = stored else { return answer.is_empty() };
    let Ok(answer) = <&[u8; HASH_BYTES]>::try_from(answer) else { return false };
    let mask: [u8; HASH_BYTES] = Sha1::new().chain_update(challenge).chain_update(stored).finalize().into();
    let mut once = *answer;
    once.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    let twice: [u8; HASH_BYTES] = Sha1::digest(once).into();
    // All bytes are looked at, whichever differ.
    twice.iter().zip(stored).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// The answer of a client that knows `password`.
#[cfg(test)]
pub(crate) fn answer(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once: [u8; HASH_BYTES] = Sha1::digest(password).into();
    let twice = leafline_sql::accounts::double_sha1(password);
    let mask: [u8; HASH_BYTES] = Sha1::new().chain_update(challenge).chain_update(twice).finalize().into();
    once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_sql::accounts::double_sha1;

    #[test]
    fn only_the_right_password_is_let_in() {
        let challenge = challenge().expect("random bytes");
        let stored = double_sha1(b"secret");
        assert!(is_right(&answer(b"secret", &challenge), &challenge, Some(&stored)));
        assert!(!is_right(&answer(b"Secret", &challenge), &challenge, Some(&stored)));
        assert!(!is_right(b"", &challenge, Some(&stored)));
        assert!(!is_right(&[0; 20], &challenge, Some(&stored)));
        assert!(!is_right(&answer(b"secret", &[1; 20]), &challenge, Some(&stored)));
        assert!(is_right(b"", &challenge, None));
        assert!(!is_right(&answer(b"secret", &challenge), &challenge, None));
    }
}
