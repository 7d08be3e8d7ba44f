//! The challenge to a client that logs in. What its answer has to be is said by `leafline_sql::accounts::password`.

use leafline_sql::accounts::password::CHALLENGE_BYTES;
use rand::TryRngCore;
use rand::rngs::OsRng;

/// Name of the plugin.
pub(crate) const PLUGIN: &str = "mysql_native_password";

/// A new challenge; no byte of it is zero, as clients read it as text.
pub(crate) fn challenge() -> std::io::Result<[u8; CHALLENGE_BYTES]> {
    let mut bytes = [0; CHALLENGE_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.map(|byte| (byte & 0x7f).max(1)))
}
