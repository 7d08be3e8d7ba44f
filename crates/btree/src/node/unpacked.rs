//! A run taken apart: its keys whole again, one behind the other.
//!
//! What a key keeps of the one before beyond what all keep is mostly not copied from that one, which would have to wait for its bytes to
//! arrive in memory, but held in a word, the *window*. Bytes are written some at a time; what comes too much behind a key, the next one is written over.

use super::Source;
use super::layout::{HAS_PAYLOAD, NodeFault, NodeResult};
use super::packed::{MISCOUNTED, MORE, OUTSIDE, RUN, Run};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Bytes of the window.
const WINDOW: usize = 8;
/// Bytes that are copied at a time.
const STEP: usize = 16;
/// Longest key of which no bounds are checked but once.
const SHORT: usize = 48;

/// The entries of a run.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// The suffixes, one after the other; behind the last one anything.
    keys: Vec<u8>,
    /// Where each begins, and where the last one ends.
    starts: [u32; RUN + 1],
    has_payloads: bool,
    /// Where each payload is on the page, and how long.
    payloads: [(u16, u16); RUN],
    count: usize,
    flags: EntryFlags,
    commit_ts: CommitTs,
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

/// Where one is in a run.
struct Place {
    /// The next difference.
    at: usize,
    /// The suffix before it.
    start: usize,
    end: usize,
    /// Its bytes behind the shared ones.
    window: u64,
}

impl Unpacked {
    /// Takes the first entries of a run apart, up to `most`, in place of what was here.
    pub(super) fn read(&mut self, page: &[u8], run: &Run, most: usize) -> NodeResult<()> {
        let count = run.count.min(most);
        if run.suffix_at + run.suffix_len > page.len() {
            return Err(OUTSIDE);
        }
        self.room(run.suffix_len);
        copy(page, run.suffix_at, run.suffix_len, &mut self.keys, 0);
        self.starts[1] = run.suffix_len as u32;
        self.payloads[0] = (run.payload_at as u16, run.payload_len as u16);
        (self.count, self.flags, self.commit_ts) = (count, run.entry_flags(), run.commit_ts);
        self.has_payloads = run.flags & HAS_PAYLOAD != 0;
        let window = page.u64(run.suffix_at + run.shared);
        let mut place = Place { at: run.rest, start: 0, end: run.suffix_len, window };
        let mut index = 1;
        while index < count {
            if !self.has_payloads && run.shared < STEP {
                index = self.short(page, run, index, &mut place);
            }
            if index < count {
                self.any(page, run, index, &mut place)?;
                index += 1;
            }
        }
        Ok(())
    }

    /// Takes short suffixes apart, up to one that is not; returns which that is.
    #[inline]
    fn short(&mut self, page: &[u8], run: &Run, index: usize, place: &mut Place) -> usize {
        let (shared, kept, own_tail) = (run.shared, run.kept, run.tail - run.kept);
        let kept_word = first(page.u64(run.kept_at()), kept);
        let Some(shared_bytes) = self.keys.first_chunk::<STEP>().copied() else { return index };
        let Place { mut at, mut start, mut end, mut window } = *place;
        let mut next = index;
        for to in self.starts.get_mut(index + 1..=self.count).unwrap_or_default() {
            let Some(difference) = page.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * STEP }>) else {
                break;
            };
            let Some(key) = self.keys.get_mut(end..).and_then(<[u8]>::first_chunk_mut::<{ SHORT + STEP }>)
            else {
                break;
            };
            let nibbles = usize::from(difference[0]);
            let (own, beyond) = (nibbles & 15, nibbles >> 4);
            let own_end = shared + beyond + own;
            let len = own_end + run.tail;
            if own == MORE || beyond > WINDOW || shared + beyond > end - start || len > SHORT {
                break;
            }
            let tail = kept_word | behind(first(word(difference, 1 + own), own_tail), kept);
            let rest = first(word(difference, 1), own) | behind(tail, own);
            window = first(window, beyond) | behind(rest, beyond);
            key[..STEP].copy_from_slice(&shared_bytes);
            key[shared & 15..][..WINDOW].copy_from_slice(&window.to_le_bytes());
            if len > shared + WINDOW {
                key[(shared + beyond) & 31..][..STEP].copy_from_slice(&difference[1..=STEP]);
                key[own_end & 63..][..WINDOW].copy_from_slice(&tail.to_le_bytes());
            }
            at += 1 + own + own_tail;
            (start, end) = (end, end + len);
            *to = end as u32;
            next += 1;
        }
        *place = Place { at, start, end, window };
        next
    }

    /// Takes the suffix of an entry apart.
    #[inline]
    fn any(&mut self, page: &[u8], run: &Run, index: usize, place: &mut Place) -> NodeResult<()> {
        let Place { at, start, end, .. } = *place;
        let it = run.difference(page, at, end - start)?;
        let own_end = end + it.from + it.own;
        let len = it.from + it.own + run.tail;
        self.room(end + len);
        copy(page, run.suffix_at, run.shared, &mut self.keys, end);
        let beyond = it.from - run.shared;
        match beyond <= WINDOW {
            true => put(&mut self.keys, end + run.shared, place.window),
            false => self.keys.copy_within(start + run.shared..start + it.from, end + run.shared),
        }
        copy(page, it.own_at, it.own, &mut self.keys, end + it.from);
        let kept = first(page.u64(run.kept_at()), run.kept);
        let tail = kept | behind(page.u64(it.own_at + it.own), run.kept);
        put(&mut self.keys, own_end, tail);
        let window = match beyond < WINDOW {
            true if it.own >= WINDOW => first(place.window, beyond) | behind(page.u64(it.own_at), beyond),
            _ => self.keys.as_slice().u64(end + run.shared),
        };
        *place = Place { at: it.next, start: end, end: end + len, window };
        self.starts[index + 1] = place.end as u32;
        self.payloads[index] = (it.payload_at as u16, it.payload_len as u16);
        Ok(())
    }

    /// Has room for that many bytes, and for what is written over their end.
    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.keys.len() < bytes + SHORT + STEP {
            self.keys.resize(2 * bytes + 16 * STEP, 0);
        }
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
        match self.starts.get(index..index + 2) {
            Some([start, end]) if index < self.count => Ok(&self.keys[*start as usize..*end as usize]),
            _ => Err(MISCOUNTED),
        }
    }

    /// The payload of an entry; `page` is the one it was read from.
    #[inline]
    pub(crate) fn payload<'p>(&self, page: &'p [u8], index: usize) -> NodeResult<&'p [u8]> {
        if !self.has_payloads {
            return Ok(&[]);
        }
        let (at, len) = *self.payloads.get(index).ok_or(MISCOUNTED)?;
        page.get(usize::from(at)..usize::from(at) + usize::from(len))
            .ok_or(NodeFault("payload outside the page"))
    }

    /// An entry; `page` is the one it was read from.
    #[inline]
    pub(crate) fn entry<'p>(&self, page: &'p [u8], index: usize) -> NodeResult<EntryView<'p>> {
        Ok(EntryView { flags: self.flags, commit_ts: self.commit_ts, payload: self.payload(page, index)? })
    }
}
