//! Key parts that are found by walking over the parts before them, among them strings that need the key and a
//! difference.

use crate::column::ColumnBuilder;
use crate::error::CodecError;
use crate::key::{KeyPart, PlainCase, difference_of, restore_text, restore_value};
use crate::short::extend_short;
use crate::value::Value;

/// A key part whose offset differs between keys.
#[derive(Debug, Clone)]
pub(super) struct KeyWalkPart {
    pub(super) part: KeyPart,
    /// The number of its difference and how many differences there are, if the key alone does not restore its value.
    pub(super) difference: Option<(usize, usize)>,
    /// Its places in the output; empty if it is only skipped.
    pub(super) outs: Vec<usize>,
}

impl KeyWalkPart {
    /// Returns its difference in a payload; `None` if the key restores its value.
    #[inline]
    pub(super) fn difference_in<'p>(&self, payload: &'p [u8]) -> Result<Option<&'p [u8]>, CodecError> {
        self.difference.map(|(number, count)| difference_of(payload, number, count)).transpose()
    }

    /// Appends the value at the front of `key`, which has this difference; returns its length in the key.
    #[inline]
    pub(super) fn append(
        &self,
        key: &[u8],
        difference: &[u8],
        out: &mut ColumnBuilder,
    ) -> Result<usize, CodecError> {
        let (present, marker) = self.part.marker(key)?;
        if !present {
            out.push_null();
            return Ok(marker);
        }
        let body = key.get(marker..).unwrap_or_default();
        let ColumnBuilder::Utf8(texts) = out else {
            let (value, len) = restore_value(&self.part, body, difference)?;
            out.push_value(&value)?;
            return Ok(marker + len);
        };
        let len = texts.append_written(|text| restore_text(&self.part, body, difference, text))?;
        Ok(marker + len)
    }

    /// Appends the values of this part, which have differences, from keys that have it first, begin with `prefix` and
    /// go on with `rests`. `key` is a buffer for whole keys.
    pub(super) fn append_all(
        &self,
        (prefix, rests): (&[u8], &[&[u8]]),
        payloads: &[&[u8]],
        key: &mut Vec<u8>,
        out: &mut ColumnBuilder,
    ) -> Result<(), CodecError> {
        let mut beginning = Beginning::of(&self.part, prefix);
        let mut others = 0;
        for (rest, payload) in rests.iter().zip(payloads) {
            let difference = self.difference_in(payload)?.unwrap_or_default();
            let plain = match (&mut beginning, PlainCase::of(difference)) {
                (Some(beginning), Some(case)) => beginning.append(&self.part, rest, case, key, out),
                _ => false,
            };
            if !plain {
                // Once some strings are not plain, the others are probably not either.
                others += 1;
                if others > OTHERS {
                    beginning = None;
                }
                self.append(whole(prefix, rest, key), difference, out)?;
            }
        }
        Ok(())
    }

    /// Passes the value at the front of `key`, which has this difference, to `outs`; returns its length in the key.
    pub(super) fn pass_to_outputs(
        &self,
        key: &[u8],
        difference: &[u8],
        out: &mut (impl KeyValues + ?Sized),
    ) -> Result<usize, CodecError> {
        let (present, marker) = self.part.marker(key)?;
        let body = key.get(marker..).unwrap_or_default();
        let mut len = 0;
        for to in &self.outs {
            len = match present {
                false => {
                    out.put(*to, Value::Null);
                    0
                }
                true if self.part.ty.is_character() => {
                    out.put_text(*to, &|text| restore_text(&self.part, body, difference, text))?
                }
                true => {
                    let (value, len) = restore_value(&self.part, body, difference)?;
                    out.put(*to, value);
                    len
                }
            };
        }
        Ok(marker + len)
    }
}

/// After this many strings of a run that need more than the fast path, the run stops trying it.
const OTHERS: usize = 8;

/// The common beginning of strings whose keys have a common prefix.
struct Beginning<'k> {
    /// The common prefix of the keys, without the marker.
    key: &'k [u8],
    /// Its text in the column in first and in second forms: the offset, the length, and how many bytes of the keys it
    /// stands for.
    texts: [Option<(usize, usize, usize)>; 2],
}

impl<'k> Beginning<'k> {
    /// Makes it for keys that begin with `prefix`; None unless these are strings with weights that are not NULL.
    fn of(part: &KeyPart, prefix: &'k [u8]) -> Option<Beginning<'k>> {
        part.collation.weights().filter(|_| part.ty.is_character())?;
        let (present, marker) = part.marker(prefix).ok()?;
        let key = prefix.get(marker..).filter(|_| present)?;
        Some(Beginning { key, texts: [None; 2] })
    }

    /// Appends the string whose key goes on with `rest`; appends nothing and returns false unless all its characters
    /// are ASCII.
    #[inline]
    fn append(
        &mut self,
        part: &KeyPart,
        rest: &[u8],
        case: PlainCase,
        key: &mut Vec<u8>,
        out: &mut ColumnBuilder,
    ) -> bool {
        let (Some(weights), ColumnBuilder::Utf8(texts)) = (part.collation.weights(), out) else {
            return false;
        };
        let (mask, second) = (part.mask(), case.is_second());
        let known = &mut self.texts[usize::from(second)];
        let appended = texts.append_written(|text| {
            let at = text.len();
            let (len, used) = match *known {
                Some((from, len, used)) => {
                    text.extend_from_within(from..from + len);
                    (len, used)
                }
                None => {
                    let used = weights.append_plain_beginning((self.key, mask), second, text);
                    (text.len() - at, used)
                }
            };
            let rest = match self.key.get(used..).unwrap_or_default() {
                [] => rest,
                left => whole(left, rest, key),
            };
            let found = weights.append_plain((rest, mask), second, text);
            found.ok_or(CodecError::Malformed { what: "string of ASCII" })?;
            case.set(weights, at, text);
            Ok((at, len, used))
        });
        if case.is_set()
            && let Ok(text) = appended
        {
            *known = Some(text);
        }
        appended.is_ok()
    }
}

/// Receives the values of a key.
pub(super) trait KeyValues {
    /// Takes the value of the column at place `to` of the output.
    fn put(&mut self, to: usize, value: Value);

    /// Takes the string that `write` appends; `write` returns the string's length in the key.
    fn put_text(
        &mut self,
        to: usize,
        write: &dyn Fn(&mut Vec<u8>) -> Result<usize, CodecError>,
    ) -> Result<usize, CodecError>;
}

impl KeyValues for [Value] {
    fn put(&mut self, to: usize, value: Value) {
        if let Some(place) = self.get_mut(to) {
            *place = value;
        }
    }

    fn put_text(
        &mut self,
        to: usize,
        write: &dyn Fn(&mut Vec<u8>) -> Result<usize, CodecError>,
    ) -> Result<usize, CodecError> {
        let mut text = Vec::new();
        let len = write(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| CodecError::Malformed { what: "UTF-8 string" })?;
        self.put(to, Value::String(text.into()));
        Ok(len)
    }
}

/// Joins the two pieces of a key in the buffer `key`.
#[inline]
pub(super) fn whole<'k>(prefix: &[u8], rest: &[u8], key: &'k mut Vec<u8>) -> &'k [u8] {
    key.clear();
    extend_short(key, prefix);
    extend_short(key, rest);
    key
}
