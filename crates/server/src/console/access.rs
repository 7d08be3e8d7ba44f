//! Access to the console: a browser needs the token, which is in the address that the server prints at its start.
//!
//! | request | answer |
//! |---|---|
//! | to another name than this machine's (DNS rebinding) | 421 |
//! | from a page of another site (`Origin`) | 403, even with the cookie |
//! | `/?token=` with the token | 303 to `/`, with a cookie that no script can read and no other site can make a browser send |
//! | anything, with the cookie | the page or data |
//! | anything else | 403 |

use crate::http::{Answer, Request};
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};
use std::io;

/// Bytes of a token.
const TOKEN_BYTES: usize = 32;

/// The token, and the name of the cookie that holds it.
pub(super) struct Access {
    token: String,
    cookie: String,
}

impl Access {
    /// Makes a new token. Browsers share cookies between the ports of a machine, so the cookie's name has the port.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(port: u16) -> io::Result<Access> {
        let mut bytes = [0; TOKEN_BYTES];
        OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        Ok(Access { token: hex::encode(bytes), cookie: format!("leafline_console_{port}") })
    }

    /// Returns the query string that is printed after the address.
    pub fn query(&self) -> String {
        format!("?token={}", self.token)
    }

    /// Returns the answer to a request that is not admitted; `None` for an admitted one.
    pub fn refuse(&self, request: &Request) -> Option<Answer> {
        if !request.is_for_this_machine() {
            return Some(Answer::failure(421, "the console is not served under this name"));
        }
        if request.is_of_another_site() {
            return Some(Answer::failure(403, "the console does not answer pages of other sites"));
        }
        if let Some(token) = request.parameter("token").filter(|_| request.path == "/") {
            if !self.is_right(token) {
                return Some(Answer::failure(
                    403,
                    "this is not the token of the console as it was started last",
                ));
            }
            let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.token);
            let mut answer = Answer::failure(303, "this way");
            answer.headers.extend([("Set-Cookie", cookie), ("Location", "/".to_owned())]);
            return Some(answer);
        }
        let mut cookies = request.cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let is_in = cookies.any(|(name, value)| name == self.cookie && self.is_right(value));
        let why = "open the address that the server has printed, with the token in it";
        (!is_in).then(|| Answer::failure(403, why))
    }

    /// Compares a token in a time that does not depend on where it differs.
    fn is_right(&self, given: &str) -> bool {
        let (given, token) = (Sha256::digest(given), Sha256::digest(&self.token));
        given.iter().zip(&token).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}
