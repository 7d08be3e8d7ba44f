//! Stored passwords: enough to check a password, never the password itself.
//!
//! | plugin | `authentication_string` |
//! |---|---|
//! | any, without a password | empty |
//! | `mysql_native_password` | `*` and 40 hexadecimal digits: SHA-1 of the SHA-1 of the password |
//! | `caching_sha2_password` | `$A$`, three hexadecimal digits (thousands of rounds), `$`, 20 bytes of salt, 43 characters of digest |
//!
//! The digest of `caching_sha2_password` is sha256-crypt (U. Drepper, "Unix crypt using SHA-256 and SHA-512")
//! with a longer salt. It takes a millisecond on purpose, and it cannot check the answer to a challenge. So
//! the SHA-256 of the SHA-256 of a verified password is kept in memory, shared by all clones of the
//! [`StoredPassword`], and never written to disk.
//!
//! Comparisons read all bytes, so that their time tells nothing about the password.

mod sha256_crypt;

use leafline_types::MysqlError;
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Bytes of a challenge to a client.
pub const CHALLENGE_BYTES: usize = 20;

/// Longest password of `caching_sha2_password`, in bytes, as in MySQL: the time of hashing grows with it.
pub const MAX_SHA2_PASSWORD: usize = 256;

const NATIVE_BYTES: usize = 20;
const SALT_BYTES: usize = 20;
/// Prefix of the `authentication_string`: digest type A.
const SHA2_PREFIX: &str = "$A$";
/// Thousands of rounds for a new password, as in MySQL's `caching_sha2_password_digest_rounds`.
const THOUSANDS: u32 = 5;

/// The method by which a client proves that it knows a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuthPlugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    #[default]
    CachingSha2,
}

impl AuthPlugin {
    /// MySQL's name of the plugin.
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::Native => "mysql_native_password",
            AuthPlugin::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The plugin of a name, in any case.
    pub fn from_name(name: &str) -> Option<AuthPlugin> {
        [AuthPlugin::Native, AuthPlugin::CachingSha2]
            .into_iter()
            .find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }
}

/// Result of checking the answer to a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The client knows the password.
    Right,
    /// The client does not know the password.
    Wrong,
    /// The answer cannot be checked: the password itself is needed.
    Unknown,
}

/// A stored password, or none.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPassword(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    None(AuthPlugin),
    Native([u8; NATIVE_BYTES]),
    CachingSha2(Sha2Password),
}

#[derive(Clone)]
struct Sha2Password {
    thousands: u32,
    salt: [u8; SALT_BYTES],
    digest: [u8; sha256_crypt::CHARACTERS],
    /// SHA-256 of the SHA-256 of the password, after it was verified once.
    seen: Arc<OnceLock<[u8; 32]>>,
}

impl PartialEq for Sha2Password {
    fn eq(&self, other: &Sha2Password) -> bool {
        (self.thousands, self.salt, self.digest) == (other.thousands, other.salt, other.digest)
    }
}

impl Eq for Sha2Password {}

impl fmt::Debug for StoredPassword {
    /// Prints no hash, because the text may go to a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = if self.is_none() { "no password" } else { "a password" };
        write!(f, "{is} ({})", self.plugin().name())
    }
}

impl StoredPassword {
    /// No password; `plugin` applies to the next one.
    pub fn none(plugin: AuthPlugin) -> StoredPassword {
        StoredPassword(Kind::None(plugin))
    }

    /// The password `plain` under a fresh salt if the plugin has one; an empty text is no password.
    ///
    /// # Errors
    /// 1819 if it is longer than the plugin allows; 1105 if the system gives no random bytes.
    pub fn new(plugin: AuthPlugin, plain: &str) -> Result<StoredPassword, MysqlError> {
        Ok(StoredPassword(match plugin {
            _ if plain.is_empty() => Kind::None(plugin),
            AuthPlugin::Native => Kind::Native(double_sha1(plain.as_bytes())),
            AuthPlugin::CachingSha2 if plain.len() > MAX_SHA2_PASSWORD => {
                return Err(MysqlError::not_valid_password());
            }
            AuthPlugin::CachingSha2 => {
                let salt = salt()?;
                let digest = sha256_crypt::digest(plain.as_bytes(), &salt, THOUSANDS * 1000);
                Kind::CachingSha2(Sha2Password { thousands: THOUSANDS, salt, digest, seen: Arc::default() })
            }
        }))
    }

    /// A password that nobody knows, to be checked where no account matches, so that a refusal takes as long.
    ///
    /// # Errors
    /// 1105 if the system gives no random bytes.
    pub fn unknowable() -> Result<StoredPassword, MysqlError> {
        let (salt, digest) = (salt()?, [b' '; sha256_crypt::CHARACTERS]);
        let password = Sha2Password { thousands: THOUSANDS, salt, digest, seen: Arc::default() };
        Ok(StoredPassword(Kind::CachingSha2(password)))
    }

    /// Parses the text of [`authentication_string`](Self::authentication_string); `None` if it is malformed.
    pub fn parse(plugin: AuthPlugin, text: &str) -> Option<StoredPassword> {
        Some(StoredPassword(match plugin {
            _ if text.is_empty() => Kind::None(plugin),
            AuthPlugin::Native => Kind::Native(parse_native(text)?),
            AuthPlugin::CachingSha2 => Kind::CachingSha2(parse_sha2(text)?),
        }))
    }

    /// The text that `mysql.user` stores.
    pub fn authentication_string(&self) -> String {
        match &self.0 {
            Kind::None(_) => String::new(),
            Kind::Native(hash) => {
                let digits: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("*{digits}")
            }
            Kind::CachingSha2(password) => {
                let text = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect::<String>();
                let (salt, digest) = (text(&password.salt), text(&password.digest));
                format!("{SHA2_PREFIX}{:03X}${salt}{digest}", password.thousands)
            }
        }
    }

    /// The plugin that checks the password.
    pub fn plugin(&self) -> AuthPlugin {
        match &self.0 {
            Kind::None(plugin) => *plugin,
            Kind::Native(_) => AuthPlugin::Native,
            Kind::CachingSha2(_) => AuthPlugin::CachingSha2,
        }
    }

    /// True if there is no password.
    pub fn is_none(&self) -> bool {
        matches!(self.0, Kind::None(_))
    }

    /// Checks the password `plain`. After a success answers to challenges can be checked as well.
    pub fn verify(&self, plain: &[u8]) -> bool {
        match &self.0 {
            Kind::None(_) => plain.is_empty(),
            Kind::Native(hash) => !plain.is_empty() && are_equal(&double_sha1(plain), hash),
            Kind::CachingSha2(password) => password.verify(plain),
        }
    }

    /// Checks the answer of this password's plugin to `challenge`. An empty answer claims no password.
    pub fn check_answer(&self, challenge: &[u8; CHALLENGE_BYTES], answer: &[u8]) -> Verdict {
        let is_right = match &self.0 {
            Kind::None(_) => answer.is_empty(),
            _ if answer.is_empty() => false,
            Kind::Native(hash) => is_native_answer(answer, challenge, hash),
            Kind::CachingSha2(password) => match password.seen.get() {
                Some(seen) if is_sha2_answer(answer, challenge, seen) => true,
                // The kept hash may belong to another password with the same digest, so a mismatch does not
                // prove the answer wrong.
                _ => return Verdict::Unknown,
            },
        };
        if is_right { Verdict::Right } else { Verdict::Wrong }
    }

    /// The double SHA-1, which a client of `mysql_native_password` computes as well.
    pub fn native_hash(&self) -> Option<&[u8; NATIVE_BYTES]> {
        match &self.0 {
            Kind::Native(hash) => Some(hash),
            _ => None,
        }
    }
}

impl Sha2Password {
    fn verify(&self, plain: &[u8]) -> bool {
        if plain.is_empty() || plain.len() > MAX_SHA2_PASSWORD {
            return false;
        }
        let twice: [u8; 32] = Sha256::digest(Sha256::digest(plain)).into();
        if self.seen.get().is_some_and(|seen| are_equal(seen, &twice)) {
            return true;
        }
        let digest = sha256_crypt::digest(plain, &self.salt, self.thousands * 1000);
        let is_right = are_equal(&digest, &self.digest);
        if is_right {
            self.seen.get_or_init(|| twice);
        }
        is_right
    }
}

/// Checks `SHA1(password) XOR SHA1(challenge + SHA1(SHA1(password)))`, the client's answer.
fn is_native_answer(answer: &[u8], challenge: &[u8; CHALLENGE_BYTES], stored: &[u8; NATIVE_BYTES]) -> bool {
    let Ok(answer) = <&[u8; NATIVE_BYTES]>::try_from(answer) else { return false };
    let mask: [u8; NATIVE_BYTES] = Sha1::new().chain_update(challenge).chain_update(stored).finalize().into();
    let twice: [u8; NATIVE_BYTES] = Sha1::digest(xor(*answer, mask)).into();
    are_equal(&twice, stored)
}

/// Checks `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge)`, the client's answer.
fn is_sha2_answer(answer: &[u8], challenge: &[u8; CHALLENGE_BYTES], seen: &[u8; 32]) -> bool {
    let Ok(answer) = <&[u8; 32]>::try_from(answer) else { return false };
    let mask: [u8; 32] = Sha256::new().chain_update(seen).chain_update(challenge).finalize().into();
    let twice: [u8; 32] = Sha256::digest(xor(*answer, mask)).into();
    are_equal(&twice, seen)
}

fn xor<const N: usize>(mut bytes: [u8; N], mask: [u8; N]) -> [u8; N] {
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    bytes
}

/// Compares all bytes, wherever the first difference is.
fn are_equal<const N: usize>(a: &[u8; N], b: &[u8; N]) -> bool {
    a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

fn double_sha1(password: &[u8]) -> [u8; NATIVE_BYTES] {
    Sha1::digest(Sha1::digest(password)).into()
}

/// Random ASCII characters without NUL and `$`, which end a text or a part of it.
fn salt() -> Result<[u8; SALT_BYTES], MysqlError> {
    let mut bytes = [0; SALT_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(MysqlError::unknown_error)?;
    Ok(bytes.map(|byte| match byte & 0x7f {
        0 | b'$' => (byte & 0x7f) + 1,
        byte => byte,
    }))
}

fn parse_native(text: &str) -> Option<[u8; NATIVE_BYTES]> {
    let digits = text.strip_prefix('*')?.as_bytes();
    let mut hash = [0; NATIVE_BYTES];
    if digits.len() != 2 * NATIVE_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

fn parse_sha2(text: &str) -> Option<Sha2Password> {
    let (rounds, rest) = text.strip_prefix(SHA2_PREFIX)?.split_at_checked(3)?;
    if !rounds.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let thousands = u32::from_str_radix(rounds, 16).ok().filter(|&thousands| thousands > 0)?;
    let (salt, digest) = rest.strip_prefix('$')?.split_at_checked(SALT_BYTES)?;
    if !salt.is_ascii() || !digest.bytes().all(sha256_crypt::is_character) {
        return None;
    }
    let (salt, digest) = (salt.as_bytes().try_into().ok()?, digest.as_bytes().try_into().ok()?);
    Some(Sha2Password { thousands, salt, digest, seen: Arc::default() })
}

#[cfg(test)]
mod tests;
