//! Unpacked cells: the keys and payloads of a packed cell as whole values, one behind the other.
//!
//! The bytes that a value keeps of the one before, beyond those that all values share, are mostly not copied from
//! that value, which would wait for its bytes to arrive in memory. They are held in a word, the *window*. Bytes are
//! written several at a time; the next value overwrites the surplus bytes behind a value.

use super::Source;
use super::layout::NodeResult;
use super::packed::{Column, MAX_CELL_ENTRIES, MISCOUNTED, MORE, PackedCell};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Bytes of the window.
const WINDOW: usize = 8;
/// Bytes that are copied at a time.
const STEP: usize = 16;
/// Longest value for which bounds are checked only once.
const SHORT: usize = 48;

/// The entries of a packed cell.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    keys: Values,
    /// Not filled if the entries have no payloads.
    payloads: Values,
    has_payloads: bool,
    count: usize,
    flags: EntryFlags,
    commit_ts: CommitTs,
}

/// An unpacked column.
#[derive(Debug, Default)]
struct Values {
    /// The values, one after the other. The bytes behind the last one are arbitrary.
    bytes: Vec<u8>,
    /// The offset of each value, and of the end of the last one.
    starts: [u32; MAX_CELL_ENTRIES + 1],
}

/// Masks for the first bytes of a word, by a nibble; all bytes if the nibble is larger than a word.
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

/// Moves the bytes of a word back by the number of bytes in a nibble.
#[inline(always)]
fn behind(word: u64, bytes: usize) -> u64 {
    // The shift is made in two steps, because a shift by 64 is undefined.
    word << (4 * (bytes & 15)) << (4 * (bytes & 15))
}

/// Returns a word of an array that is long enough for any `at` below 16.
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

/// A column, and the parts that all its values have in common.
struct Parts {
    column: Column,
    /// Beginning of the first value.
    shared: [u8; STEP],
    /// The bytes with which all tails begin.
    kept: u64,
}

/// The last value that was unpacked.
#[derive(Clone, Copy)]
struct Place {
    /// The offsets of the value.
    start: usize,
    end: usize,
    /// Its bytes behind the shared ones.
    window: u64,
}

impl Values {
    /// Unpacks the first value.
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

    /// Unpacks the value at `index`, whose difference is at `at`. Returns the offset behind the difference.
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

    /// Unpacks a short value. Returns `None` if the value is not short.
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

    /// Unpacks any value.
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

    /// Makes room for `bytes` bytes, and for the surplus bytes behind them.
    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.bytes.len() < bytes + SHORT + STEP {
            self.bytes.resize(2 * bytes + 16 * STEP, 0);
        }
    }

    /// Returns the value at `index`, which is less than `count`.
    #[inline]
    fn get(&self, index: usize, count: usize) -> NodeResult<&[u8]> {
        match self.starts.get(index..index + 2) {
            Some([start, end]) if index < count => Ok(&self.bytes[*start as usize..*end as usize]),
            _ => Err(MISCOUNTED),
        }
    }
}

impl Unpacked {
    /// Unpacks the first entries of a packed cell, up to `most`, replacing the former content.
    pub(super) fn read(&mut self, page: &[u8], packed_cell: &PackedCell, most: usize) -> NodeResult<()> {
        let count = packed_cell.count.min(most);
        self.has_payloads = packed_cell.has_payloads();
        (self.count, self.flags, self.commit_ts) = (count, packed_cell.entry_flags(), packed_cell.commit_ts);
        let Unpacked { keys: suffixes, payloads, .. } = self;
        let (keys, mut key) = suffixes.begin(page, &packed_cell.keys);
        let mut at = packed_cell.rest;
        if !packed_cell.has_payloads() {
            for index in 1..count {
                at = suffixes.next(page, &keys, (index, at), &mut key)?;
            }
            return Ok(());
        }
        let (others, mut payload) = payloads.begin(page, &packed_cell.payloads);
        for index in 1..count {
            at = suffixes.next(page, &keys, (index, at), &mut key)?;
            at = payloads.next(page, &others, (index, at), &mut payload)?;
        }
        Ok(())
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the flags of all entries.
    pub(crate) fn flags(&self) -> EntryFlags {
        self.flags
    }

    /// Returns the timestamp of all entries.
    pub(crate) fn commit_ts(&self) -> CommitTs {
        self.commit_ts
    }

    /// Returns the suffix of an entry.
    #[inline]
    pub(crate) fn suffix(&self, index: usize) -> NodeResult<&[u8]> {
        self.keys.get(index, self.count)
    }

    /// Returns the payload of an entry.
    #[inline]
    pub(crate) fn payload(&self, index: usize) -> NodeResult<&[u8]> {
        if self.has_payloads { self.payloads.get(index, self.count) } else { Ok(&[]) }
    }

    /// Returns an entry.
    #[inline]
    pub(crate) fn entry(&self, index: usize) -> NodeResult<EntryView<'_>> {
        Ok(EntryView { flags: self.flags, commit_ts: self.commit_ts, payload: self.payload(index)? })
    }
}
