//! The writes of a transaction to one key: in memory, and as the payload of an entry of a run.
//!
//! | part of the payload | bytes |
//! |---|---|
//! | flags | u8: 1, the base is known; 2, the base is a row or entry |
//! | base | u32 length, bytes; with flag 2 only |
//! | writes, ascending | each: sequence number u64; live u8; if that is 1, u32 length and bytes |
//!
//! Integers are little-endian.

use super::State;
use crate::bytes::ByteReader;
use crate::error::Result;

const BASE_KNOWN: u8 = 1;
const BASE_LIVE: u8 = 2;

/// Intervals of sequence numbers that were rolled back: disjoint, ascending, half open.
#[derive(Debug, Default)]
pub(super) struct Aborted(pub(super) Vec<(u64, u64)>);

impl Aborted {
    pub(super) fn contains(&self, seq: u64) -> bool {
        let after = self.0.partition_point(|&(from, _)| from <= seq);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|&(_, to)| seq < to)
    }

    pub(super) fn add(&mut self, from: u64, to: u64) {
        while self.0.last().is_some_and(|&(earlier, _)| earlier >= from) {
            self.0.pop();
        }
        match self.0.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => self.0.push((from, to)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether every number from `from` to before `to` was rolled back.
    pub(super) fn is_all(&self, from: u64, to: u64) -> bool {
        self.0 == [(from, to)]
    }
}

/// The contents under a key before the first write to it.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// Unknown here: an older layer may have writes to the key, and then knows it.
    Below,
    /// These contents. Older layers have nothing on the key except writes that were rolled back.
    Is(State),
}

/// The writes to one key.
#[derive(Debug)]
pub(super) struct KeyWrites {
    pub(super) base: Base,
    /// All writes except the last, in ascending sequence number. Most keys are written once.
    earlier: Vec<(u64, State)>,
    last: Option<(u64, State)>,
}

impl KeyWrites {
    pub(super) fn new(base: Base) -> KeyWrites {
        KeyWrites { base, earlier: Vec::new(), last: None }
    }

    /// Adds a write that is later than all others.
    pub(super) fn push(&mut self, seq: u64, state: State) {
        self.earlier.extend(self.last.replace((seq, state)));
    }

    /// The writes in ascending sequence number.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &(u64, State)> {
        self.earlier.iter().chain(&self.last)
    }

    /// Removes writes that were rolled back. Returns whether any are left.
    pub(super) fn prune(&mut self, aborted: &Aborted) -> bool {
        self.earlier.retain(|(seq, _)| !aborted.contains(*seq));
        if self.last.as_ref().is_none_or(|(seq, _)| aborted.contains(*seq)) {
            self.last = self.earlier.pop();
        }
        self.last.is_some()
    }

    pub(super) fn newest(&self, as_of: u64, aborted: &Aborted) -> Option<&State> {
        let found = self.iter().rev().find(|(seq, _)| *seq < as_of && !aborted.contains(*seq));
        found.map(|(_, state)| state)
    }

    /// Appends the payload of an entry to `out`, without writes that were rolled back. Returns false if none are
    /// left, so that no entry is needed.
    pub(super) fn encode(&self, aborted: &Aborted, out: &mut Vec<u8>) -> bool {
        match &self.base {
            Base::Below => encode_base(None, out),
            Base::Is(base) => encode_base(Some(base.as_deref()), out),
        }
        let before = out.len();
        for (seq, state) in self.iter().filter(|(seq, _)| !aborted.contains(*seq)) {
            encode_write(*seq, state.as_deref(), out);
        }
        out.len() > before
    }
}

fn encode_base(base: Option<Option<&[u8]>>, out: &mut Vec<u8>) {
    match base {
        None => out.push(0),
        Some(None) => out.push(BASE_KNOWN),
        Some(Some(base)) => {
            out.push(BASE_KNOWN | BASE_LIVE);
            encode_bytes(base, out);
        }
    }
}

/// Appends one write.
pub(super) fn encode_write(seq: u64, state: Option<&[u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(&seq.to_le_bytes());
    out.push(u8::from(state.is_some()));
    if let Some(bytes) = state {
        encode_bytes(bytes, out);
    }
}

/// Appends the bytes of a row or entry, which fits half a page.
fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A decoded write: sequence number, and the payload if the row or entry is live.
pub(super) type Write<'a> = (u64, Option<&'a [u8]>);

/// Reads encoded writes, one after another.
pub(super) struct WriteReader<'a>(ByteReader<'a>);

impl<'a> WriteReader<'a> {
    /// Reads writes encoded by [`encode_write`].
    pub(super) fn new(bytes: &'a [u8]) -> WriteReader<'a> {
        WriteReader(ByteReader::new("writes in a run", bytes))
    }

    pub(super) fn next(&mut self) -> Result<Option<Write<'a>>> {
        if self.0.is_at_end() {
            return Ok(None);
        }
        let seq = self.0.u64()?;
        let state = if self.0.bool()? { Some(self.0.bytes()?) } else { None };
        Ok(Some((seq, state)))
    }
}

/// The decoded payload of an entry.
#[derive(Clone, Copy)]
pub(super) struct Encoded<'a> {
    /// The base; `None` if older layers know it.
    pub(super) base: Option<Option<&'a [u8]>>,
    writes: &'a [u8],
}

impl<'a> Encoded<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Result<Encoded<'a>> {
        let mut reader = ByteReader::new("writes in a run", payload);
        let base = match reader.u8()? {
            0 => None,
            BASE_KNOWN => Some(None),
            flags if flags == BASE_KNOWN | BASE_LIVE => Some(Some(reader.bytes()?)),
            flags => return Err(reader.damaged(format!("flags {flags}"))),
        };
        Ok(Encoded { base, writes: reader.rest() })
    }

    pub(super) fn writes(&self) -> WriteReader<'a> {
        WriteReader::new(self.writes)
    }

    pub(super) fn newest(&self, as_of: u64, aborted: &Aborted) -> Result<Option<Option<&'a [u8]>>> {
        let mut writes = self.writes();
        let mut found = None;
        while let Some((seq, state)) = writes.next()? {
            if seq >= as_of {
                break;
            }
            if !aborted.contains(seq) {
                found = Some(state);
            }
        }
        Ok(found)
    }
}

/// Combines the payloads that several layers have for a key, the newest layer's first, into one, without writes that
/// were rolled back. Returns false if none are left.
pub(super) fn combine(parts: &[Vec<u8>], aborted: &Aborted, out: &mut Vec<u8>) -> Result<bool> {
    let mut layers = Vec::with_capacity(parts.len());
    let mut base = None;
    for part in parts {
        let encoded = Encoded::new(part)?;
        layers.push(encoded);
        base = encoded.base;
        if base.is_some() {
            break;
        }
    }
    encode_base(base, out);
    let before = out.len();
    for layer in layers.iter().rev() {
        let mut writes = layer.writes();
        while let Some((seq, state)) = writes.next()? {
            if !aborted.contains(seq) {
                encode_write(seq, state, out);
            }
        }
    }
    Ok(out.len() > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(base: Base, writes: &[(u64, Option<&[u8]>)]) -> KeyWrites {
        let mut of_key = KeyWrites::new(base);
        writes.iter().for_each(|&(seq, state)| of_key.push(seq, state.map(Into::into)));
        of_key
    }

    fn encode(writes: &KeyWrites, aborted: &Aborted) -> Vec<u8> {
        let mut out = Vec::new();
        writes.encode(aborted, &mut out);
        out
    }

    #[test]
    fn layers_are_put_together() {
        let mut aborted = Aborted::default();
        aborted.add(5, 7);
        let old = encode(&writes(Base::Is(Some((*b"base").into())), &[(1, Some(b"a")), (3, None)]), &aborted);
        let newer = encode(&writes(Base::Below, &[(4, Some(b"b")), (5, Some(b"gone"))]), &aborted);
        let newest = encode(&writes(Base::Below, &[(8, Some(b""))]), &Aborted::default());
        let mut out = Vec::new();
        assert!(combine(&[newest.clone(), newer.clone(), old.clone()], &aborted, &mut out).unwrap());
        let all = Encoded::new(&out).unwrap();
        assert_eq!(all.base, Some(Some(&b"base"[..])));
        let states = [(2, Some(&b"a"[..])), (4, None), (5, Some(b"b")), (8, Some(b"b")), (9, Some(b""))];
        for (as_of, state) in states {
            assert_eq!(all.newest(as_of, &aborted).unwrap(), Some(state), "as of {as_of}");
        }
        assert_eq!(all.newest(1, &aborted).unwrap(), None);
        // If a layer knows the base, the writes below it were rolled back.
        let restarted = encode(&writes(Base::Is(None), &[(9, None)]), &aborted);
        out.clear();
        assert!(combine(&[restarted, newer, old], &aborted, &mut out).unwrap());
        let all = Encoded::new(&out).unwrap();
        assert_eq!((all.base, all.newest(9, &aborted).unwrap()), (Some(None), None));
        // Nothing is left of this write.
        aborted.add(8, 10);
        out.clear();
        assert!(!combine(&[newest], &aborted, &mut out).unwrap());
    }

    #[test]
    fn damaged_payloads_are_errors() {
        assert!(Encoded::new(&[]).is_err());
        assert!(Encoded::new(&[2]).is_err());
        assert!(Encoded::new(&[3, 9, 0, 0, 0, 1]).is_err());
        let whole = encode(&writes(Base::Below, &[(4, Some(b"b"))]), &Aborted::default());
        for length in 2..whole.len() {
            let cut = Encoded::new(&whole[..length]).unwrap();
            assert!(cut.newest(9, &Aborted::default()).is_err(), "{length} bytes");
        }
    }
}
