//! Encodes strings in keys.
//!
//! NO PAD and binary strings: each byte unchanged, except `00`, which becomes `00 ff`; the end is `00 00`.
//!
//! PAD SPACE compares as if spaces without end followed both strings. So the trailing spaces are cut off. The end and
//! each space within take two bytes, of which the second says how the bytes after the run of spaces compare to
//! spaces:
//!
//! | bytes   | meaning                                                                             |
//! |---------|-------------------------------------------------------------------------------------|
//! | `20 01` | a space in a run that is followed by a byte below the space                          |
//! | `20 02` | the end of the string: a run that never ends                                        |
//! | `20 03` | a space in a run that is followed by a byte above the space                          |
//! | other   | itself                                                                              |
//!
//! Consider the first place where two strings differ. If one has a space or its end there and the other another byte,
//! these order the strings. If both have spaces or ends, the second byte decides: a run of k spaces followed by a
//! lower byte is below every longer run, so below the end, and a run followed by a higher byte is above. Nothing
//! needs an escape, and only strings with spaces within grow.
//!
//! Under collations with weights the bytes are those of `format`; they end with `00`.

use super::{Collation, trim_spaces, weights_len};
use crate::error::CodecError;
use crate::short::extend_short;

/// Strings of up to this many bytes are faster scanned and copied than split at special bytes.
const SHORT: usize = 16;
const ESCAPED_ZERO: u8 = 0xff;
const END: u8 = 0;
const SPACE: u8 = b' ';
const RUN_THEN_LOWER: u8 = 1;
const RUN_FOREVER: u8 = 2;
const RUN_THEN_HIGHER: u8 = 3;

/// Appends the key bytes of a string.
#[inline]
pub(crate) fn encode_string(collation: Collation, s: &[u8], out: &mut Vec<u8>) {
    if collation.append_weights(s, out) {
        return;
    }
    // Most strings are short and contain no byte that is written as two.
    if s.len() <= SHORT && !s.contains(&lead(collation)) {
        extend_short(out, s);
    } else {
        encode_string_prefix(collation, s, out);
    }
    let end = if collation.pads_space() { [SPACE, RUN_FOREVER] } else { [0, END] };
    out.extend_from_slice(&end);
}

/// Appends the common prefix of the keys of all strings that begin with `s`. Trailing spaces under PAD SPACE have no
/// fixed key bytes, so they are left out.
pub(crate) fn encode_string_prefix(collation: Collation, s: &[u8], out: &mut Vec<u8>) {
    if collation.append_weights_prefix(s, out) {
        return;
    }
    if !collation.pads_space() {
        for (i, run) in s.split(|&b| b == 0).enumerate() {
            if i > 0 {
                out.extend_from_slice(&[0, ESCAPED_ZERO]);
            }
            out.extend_from_slice(run);
        }
        return;
    }
    let mut rest = trim_spaces(s);
    while let Some(at) = rest.iter().position(|&b| b == SPACE) {
        let (word, from_space) = rest.split_at(at);
        out.extend_from_slice(word);
        // The string does not end in spaces, so a byte follows each run.
        let len = from_space.iter().position(|&b| b != SPACE).unwrap_or(from_space.len());
        let higher = from_space.get(len).is_none_or(|&b| b > SPACE);
        for _ in 0..len {
            out.extend_from_slice(&[SPACE, if higher { RUN_THEN_HIGHER } else { RUN_THEN_LOWER }]);
        }
        rest = &from_space[len..];
    }
    out.extend_from_slice(rest);
}

/// Appends the common prefix of the keys of the beginnings (`most` characters each) of all strings whose first
/// weights are those of `s`: see `expr::prefix_range`. Returns whether `s` has that many.
pub(crate) fn encode_beginning(collation: Collation, s: &[u8], most: usize, out: &mut Vec<u8>) -> bool {
    let s = if collation.pads_space() { trim_spaces(s) } else { s };
    if let Some(cut) = collation.append_first_weights(s, most, out) {
        return cut;
    }
    encode_string_prefix(collation, collation.beginning(s, most), out);
    collation.beginning(s, most.saturating_sub(1)).len() < s.len()
}

/// A string read from a key: as it stands there, or rebuilt without the second bytes.
pub(crate) enum DecodedString<'a> {
    Borrowed(&'a [u8]),
    Rebuilt(Vec<u8>),
}

impl AsRef<[u8]> for DecodedString<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            DecodedString::Borrowed(s) => s,
            DecodedString::Rebuilt(s) => s,
        }
    }
}

/// The meaning of a special byte and the byte after it.
enum Special {
    End,
    /// The special byte stands for itself.
    Itself,
}

/// Returns the byte that begins a pair.
fn lead(collation: Collation) -> u8 {
    if collation.pads_space() { SPACE } else { 0 }
}

fn special(collation: Collation, second: Option<u8>) -> Result<Special, CodecError> {
    match (collation.pads_space(), second) {
        (true, Some(RUN_FOREVER)) | (false, Some(END)) => Ok(Special::End),
        (true, Some(RUN_THEN_LOWER | RUN_THEN_HIGHER)) | (false, Some(ESCAPED_ZERO)) => Ok(Special::Itself),
        (_, Some(_)) => Err(CodecError::Malformed { what: "string in a key" }),
        (_, None) => Err(CodecError::Truncated { what: "string in a key", needed: 1, left: 0 }),
    }
}

/// Returns the place of the next special byte from `from` on.
fn next_special(collation: Collation, key: &[u8], from: usize, mask: u8) -> Result<usize, CodecError> {
    let wanted = lead(collation) ^ mask;
    let rest = key.get(from..).unwrap_or_default();
    let found = rest.iter().position(|&b| b == wanted);
    found.map(|at| from + at).ok_or(CodecError::Truncated {
        what: "string in a key",
        needed: 2,
        left: rest.len(),
    })
}

/// Returns the length of the string at the front of `key`, each byte XORed with `mask`.
pub(crate) fn skip_string(collation: Collation, key: &[u8], mask: u8) -> Result<usize, CodecError> {
    if collation.is_weighted() {
        return weights_len(key, mask).ok_or(CodecError::Truncated {
            what: "string in a key",
            needed: 1,
            left: 0,
        });
    }
    let mut at = 0;
    loop {
        at = next_special(collation, key, at, mask)?;
        let end = special(collation, key.get(at + 1).map(|b| b ^ mask))?;
        at += 2;
        if matches!(end, Special::End) {
            return Ok(at);
        }
    }
}

/// Reads the string at the front of `key`, each byte XORed with `mask`; without trailing spaces under PAD SPACE.
/// Returns it with its length in the key.
pub(crate) fn decode_string(
    collation: Collation,
    key: &[u8],
    mask: u8,
) -> Result<(DecodedString<'_>, usize), CodecError> {
    let first = next_special(collation, key, 0, mask)?;
    if mask == 0 && matches!(special(collation, key.get(first + 1).copied())?, Special::End) {
        return Ok((DecodedString::Borrowed(&key[..first]), first + 2));
    }
    let mut rebuilt = Vec::with_capacity(key.len());
    let mut from = 0;
    loop {
        let at = next_special(collation, key, from, mask)?;
        rebuilt.extend(key[from..at].iter().map(|b| b ^ mask));
        match special(collation, key.get(at + 1).map(|b| b ^ mask))? {
            Special::End => return Ok((DecodedString::Rebuilt(rebuilt), at + 2)),
            Special::Itself => rebuilt.push(lead(collation)),
        }
        from = at + 2;
    }
}
