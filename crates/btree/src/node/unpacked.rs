//! A run taken apart: its keys whole again, one behind the other.
//!
//! What a key keeps of the one before beyond what all keep is mostly not copied from that one, which would have to wait for its bytes to
//! arrive in memory, but held in a word of 16 bytes, the *window*. So bytes are written 16 at a time, those behind a key over by the next.

use super::layout::{NodeFault, NodeResult};
use super::packed::{MISCOUNTED, OUTSIDE, RUN, Run};
use crate::entry::{CommitTs, EntryFlags, EntryView};

/// Bytes of the window.
const WINDOW: usize = 16;

/// The entries of a run.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// The suffixes, one after the other; behind the last one anything.
    keys: Vec<u8>,
    /// Where each begins, and where the last one ends.
    starts: [u32; RUN + 1],
    /// Where each payload is on the page, and how long.
    payloads: [(u16, u16); RUN],
    count: usize,
    flags: EntryFlags,
    commit_ts: CommitTs,
}

/// The first bytes of a word; all if there are no more.
const FIRST: [u128; WINDOW + 1] = {
    let mut masks = [u128::MAX; WINDOW + 1];
    let mut bytes = 0;
    while bytes < WINDOW {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

#[inline]
fn first(word: u128, bytes: usize) -> u128 {
    word & FIRST[bytes.min(WINDOW)]
}

/// The bytes of a word that many places further back.
#[inline]
fn behind(word: u128, bytes: usize) -> u128 {
    if bytes < WINDOW { word << (8 * bytes) } else { 0 }
}

/// The 16 bytes at `at`; zero beyond the page.
#[inline]
fn word(page: &[u8], at: usize) -> u128 {
    match page.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => last_word(page, at),
    }
}

#[cold]
fn last_word(page: &[u8], at: usize) -> u128 {
    let rest = page.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
}

#[inline]
fn put(keys: &mut [u8], at: usize, word: u128) {
    keys[at..at + WINDOW].copy_from_slice(&word.to_le_bytes());
}

impl Unpacked {
    /// Takes a run apart in place of what was here.
    pub(super) fn read(&mut self, page: &[u8], run: &Run) -> NodeResult<()> {
        let suffix = page.get(run.suffix_at..run.suffix_at + run.suffix_len).ok_or(OUTSIDE)?;
        self.room(suffix.len());
        self.keys[..suffix.len()].copy_from_slice(suffix);
        self.starts[1] = suffix.len() as u32;
        self.payloads[0] = (run.payload_at as u16, run.payload_len as u16);
        (self.count, self.flags, self.commit_ts) = (run.count, run.entry_flags(), run.commit_ts);
        let kept = first(word(page, run.kept_at()), run.kept);
        let mut window = word(page, run.suffix_at + run.shared);
        let (mut at, mut start, mut end) = (run.rest, 0, suffix.len());
        for index in 1..run.count {
            let it = run.difference(page, at, end - start)?;
            // Where nothing of the tail is kept, it is as own bytes.
            let tail = run.tail - run.kept;
            let (own, tail) = if run.kept == 0 { (it.own + tail, 0) } else { (it.own, tail) };
            let beyond = it.from - run.shared;
            let len = it.from + own + run.kept + tail;
            self.room(end + len);
            let mut copied = 0;
            while copied < run.shared {
                self.keys.copy_within(copied..copied + WINDOW, end + copied);
                copied += WINDOW;
            }
            window = first(window, beyond) | behind(first(word(page, it.own_at), own), beyond);
            let tails = first(word(page, it.own_at + own), tail);
            if run.kept > 0 {
                window |= behind(kept, beyond + own);
                window |= behind(tails, beyond + own + run.kept);
            }
            put(&mut self.keys, end + run.shared, window);
            if len - run.shared > WINDOW {
                if beyond > WINDOW {
                    let seen = run.shared + WINDOW;
                    self.keys.copy_within(start + seen..start + it.from, end + seen);
                }
                let mut copied = 0;
                while copied < own {
                    put(&mut self.keys, end + it.from + copied, word(page, it.own_at + copied));
                    copied += WINDOW;
                }
                put(&mut self.keys, end + it.from + own, kept);
                put(&mut self.keys, end + it.from + own + run.kept, tails);
            }
            (at, start, end) = (it.next, end, end + len);
            self.starts[index + 1] = end as u32;
            self.payloads[index] = (it.payload_at as u16, it.payload_len as u16);
        }
        Ok(())
    }

    /// Has room for that many bytes, and for words that begin there.
    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.keys.len() < bytes + 2 * WINDOW {
            self.keys.resize(2 * bytes + 16 * WINDOW, 0);
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
