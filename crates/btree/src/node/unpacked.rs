//! A run taken apart: its keys and payloads whole again, one behind the other.
//!
//! What a value keeps of the one before beyond what all keep is mostly not copied from that one, which would have to wait for its bytes to
//! arrive in memory, but held in a word, the *window*. Bytes are written some at a time; what comes too much behind a value, the next one is written over.

use super::Source;
use super::layout::NodeResult;
use super::packed::{Column, MISCOUNTED, MORE, RUN, Run};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Bytes of the window.
const WINDOW: usize = 8;
/// Bytes that are copied at a time.
const STEP: usize = 16;
/// Longest value of which no bounds are checked but once.
const SHORT: usize = 48;

/// The entries of a run.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    keys: Values,
    /// Not made where there are none.
    payloads: Values,
    has_payloads: bool,
    count: usize,
    flags: EntryFlags,
    commit_ts: CommitTs,
}

/// A column taken apart.
#[derive(Debug, Default)]
struct Values {
    /// The values, one after the other; behind the last one anything.
    bytes: Vec<u8>,
    /// Where each begins, and where the last one ends.
    starts: [u32; RUN + 1],
}

/// The first bytes of a word, as many as a nibble says; all if there are no more.
const FIRST: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut bytes = 0;
    while bytes < WINDOW {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

#[inline(always)]
fn first(word: u64, bytes: usize) -> u64 {
    word & FIRST[bytes & 15]
}

/// The bytes of a word a nibble further back.
#[inline(always)]
fn behind(word: u64, bytes: usize) -> u64 {
    // In two steps: a shift by 64 is none.
    word << (4 * (bytes & 15)) << (4 * (bytes & 15))
}

/// A word of what is long enough.
#[inline(always)]
fn word(bytes: &[u8; 2 * STEP], at: usize) -> u64 {
    bytes[at & 15..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline(always)]
fn put(keys: &mut [u8], at: usize, word: u64) {
    keys[at..at + WINDOW].copy_from_slice(&word.to_le_bytes());
}

/// Copies `len` bytes of the page, and perhaps some more.
#[inline]
fn copy(page: &[u8], from: usize, len: usize, keys: &mut [u8], to: usize) {
    let mut copied = 0;
    while copied < len {
        match page.get(from + copied..).and_then(<[u8]>::first_chunk::<STEP>) {
            Some(step) => keys[to + copied..to + copied + STEP].copy_from_slice(step),
            None => {
                let rest = page.get(from + copied..from + len).unwrap_or_default();
                keys[to + copied..to + copied + rest.len()].copy_from_slice(rest);
            }
        }
        copied += STEP;
    }
}

/// A column, and what all its differences are put together with.
struct Parts {
    column: Column,
    /// Beginning of the first value.
    shared: [u8; STEP],
    /// What all tails begin with.
    kept: u64,
}

/// Where one is in a column.
#[derive(Clone, Copy)]
struct Place {
    /// The value before.
    start: usize,
    end: usize,
    /// Its bytes behind the shared ones.
    window: u64,
}

impl Values {
    /// Takes the first value.
    fn begin(&mut self, page: &[u8], column: &Column) -> (Parts, Place) {
        let Column { at, len, shared, .. } = *column;
        self.room(len);
        copy(page, at, len, &mut self.bytes, 0);
        self.starts[1] = len as u32;
        let kept = first(page.u64(column.kept_at()), column.kept);
        let beginning = self.bytes.first_chunk().copied().unwrap_or_default();
        let place = Place { start: 0, end: len, window: page.u64(at + shared) };
        (Parts { column: *column, shared: beginning, kept }, place)
    }

    /// Takes the value at `index`, whose difference is at `at`; says what comes behind that.
    #[inline(always)]
    fn next(
        &mut self,
        page: &[u8],
        parts: &Parts,
        (index, at): (usize, usize),
        place: &mut Place,
    ) -> NodeResult<usize> {
        let next = match self.short(page, parts, at, *place) {
            Some((next, now)) => {
                *place = now;
                next
            }
            None => {
                let (next, now) = self.any(page, parts, at, *place)?;
                *place = now;
                next
            }
        };
        *self.starts.get_mut(index + 1).ok_or(MISCOUNTED)? = place.end as u32;
        Ok(next)
    }

    /// Takes a short value; `None` if it is not one.
    #[inline(always)]
    fn short(&mut self, page: &[u8], parts: &Parts, at: usize, place: Place) -> Option<(usize, Place)> {
        let Column { shared, tail, kept, .. } = parts.column;
        let difference: &[u8; 2 * STEP] = page.get(at..)?.first_chunk()?;
        let value: &mut [u8; SHORT + STEP] = self.bytes.get_mut(place.end..)?.first_chunk_mut()?;
        let nibbles = usize::from(difference[0]);
        let (own, beyond) = (nibbles & 15, nibbles >> 4);
        let own_end = shared + beyond + own;
        let len = own_end + tail;
        let is_short = shared < STEP && own != MORE && beyond <= WINDOW && len <= SHORT;
        if !is_short || shared + beyond > place.end - place.start {
            return None;
        }
        let own_tail = first(word(difference, 1 + own), tail - kept);
        let tail_word = parts.kept | behind(own_tail, kept);
        let rest = first(word(difference, 1), own) | behind(tail_word, own);
        let window = first(place.window, beyond) | behind(rest, beyond);
        value[..STEP].copy_from_slice(&parts.shared);
        value[shared & 15..][..WINDOW].copy_from_slice(&window.to_le_bytes());
        if len > shared + WINDOW {
            value[(shared + beyond) & 31..][..STEP].copy_from_slice(&difference[1..=STEP]);
            value[own_end & 63..][..WINDOW].copy_from_slice(&tail_word.to_le_bytes());
        }
        Some((at + 1 + own + tail - kept, Place { start: place.end, end: place.end + len, window }))
    }

    /// Takes any value.
    #[inline(never)]
    fn any(&mut self, page: &[u8], parts: &Parts, at: usize, place: Place) -> NodeResult<(usize, Place)> {
        let Place { start, end, window } = place;
        let column = &parts.column;
        let it = column.difference(page, at, end - start)?;
        let own_end = end + it.from + it.own;
        let len = it.from + it.own + column.tail;
        self.room(end + len);
        copy(page, column.at, column.shared, &mut self.bytes, end);
        let beyond = it.from - column.shared;
        match beyond <= WINDOW {
            true => put(&mut self.bytes, end + column.shared, window),
            false => self.bytes.copy_within(start + column.shared..start + it.from, end + column.shared),
        }
        copy(page, it.own_at, it.own, &mut self.bytes, end + it.from);
        let own_tail = first(page.u64(it.own_at + it.own), column.own_tail());
        put(&mut self.bytes, own_end, parts.kept | behind(own_tail, column.kept));
        let window = match beyond < WINDOW && it.own >= WINDOW {
            true => first(window, beyond) | behind(page.u64(it.own_at), beyond),
            false => self.bytes.as_slice().u64(end + column.shared),
        };
        Ok((it.next, Place { start: end, end: end + len, window }))
    }

    /// Has room for that many bytes, and for what is written over their end.
    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.bytes.len() < bytes + SHORT + STEP {
            self.bytes.resize(2 * bytes + 16 * STEP, 0);
        }
    }

    /// The value at `index`, which is less than `count`.
    #[inline]
    fn get(&self, index: usize, count: usize) -> NodeResult<&[u8]> {
        match self.starts.get(index..index + 2) {
            Some([start, end]) if index < count => Ok(&self.bytes[*start as usize..*end as usize]),
            _ => Err(MISCOUNTED),
        }
    }
}

impl Unpacked {
    /// Takes the first entries of a run apart, up to `most`, in place of what was here.
    pub(super) fn read(&mut self, page: &[u8], run: &Run, most: usize) -> NodeResult<()> {
        let count = run.count.min(most);
        self.has_payloads = run.has_payloads();
        (self.count, self.flags, self.commit_ts) = (count, run.entry_flags(), run.commit_ts);
        let Unpacked { keys: suffixes, payloads, .. } = self;
        let (keys, mut key) = suffixes.begin(page, &run.keys);
        let mut at = run.rest;
        if !run.has_payloads() {
            for index in 1..count {
                at = suffixes.next(page, &keys, (index, at), &mut key)?;
            }
            return Ok(());
        }
        let (others, mut payload) = payloads.begin(page, &run.payloads);
        for index in 1..count {
            at = suffixes.next(page, &keys, (index, at), &mut key)?;
            at = payloads.next(page, &others, (index, at), &mut payload)?;
        }
        Ok(())
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The flags of all entries.
    pub(crate) fn flags(&self) -> EntryFlags {
        self.flags
    }

    /// The timestamp of all entries.
    pub(crate) fn commit_ts(&self) -> CommitTs {
        self.commit_ts
    }

    /// The suffix of an entry.
    #[inline]
    pub(crate) fn suffix(&self, index: usize) -> NodeResult<&[u8]> {
        self.keys.get(index, self.count)
    }

    /// The payload of an entry.
    #[inline]
    pub(crate) fn payload(&self, index: usize) -> NodeResult<&[u8]> {
        if self.has_payloads { self.payloads.get(index, self.count) } else { Ok(&[]) }
    }

    /// An entry.
    #[inline]
    pub(crate) fn entry(&self, index: usize) -> NodeResult<EntryView<'_>> {
        Ok(EntryView { flags: self.flags, commit_ts: self.commit_ts, payload: self.payload(index)? })
    }
}
