//! Reads a range of an index as the transaction has written it, in key order, in both directions. Merges memory and
//! runs.

use super::OverlayEntry;
use super::history::{Aborted, Base, Encoded, KeyWrites};
use super::layers::Layers;
use crate::error::Result;
use crate::run::{IndexedRun, RunCursor};
use std::sync::Arc;

/// A range of an index.
pub(super) struct Part<'a> {
    pub(super) lower: &'a [u8],
    /// The end of the range; the key itself does not belong to it.
    pub(super) upper: Option<&'a [u8]>,
    /// The unique parts that all keys of the range share. Runs without them need not be read.
    pub(super) unique: Option<&'a [u8]>,
    /// Whether the order is descending.
    pub(super) reverse: bool,
    /// The maximum number of keys.
    pub(super) max: usize,
}

impl Layers {
    /// The states of the keys in a range before `as_of`.
    pub(super) fn overlay(
        &self,
        part: &Part<'_>,
        as_of: u64,
        aborted: &Aborted,
    ) -> Result<Vec<OverlayEntry>> {
        let Part { lower, upper, reverse, max, .. } = *part;
        if upper.is_some_and(|upper| lower >= upper) {
            return Ok(Vec::new());
        }
        let range = self.memory.range(lower, upper);
        if self.runs.is_empty() {
            let found = |(key, writes): (&[u8], &KeyWrites)| {
                let state = writes.newest(as_of, aborted)?.clone();
                Some(OverlayEntry { key: key.to_vec(), state })
            };
            return Ok(if reverse {
                range.rev().filter_map(found).take(max).collect()
            } else {
                range.filter_map(found).take(max).collect()
            });
        }
        let mut runs = Vec::new();
        for frozen in self.runs.iter().rev() {
            if part.unique.is_none_or(|parts| frozen.run.may_contain(parts)) {
                let mut head = RunHead::new(&frozen.run, part)?;
                if head.advance()? {
                    runs.push(head);
                }
            }
        }
        let mut found = Vec::new();
        let mut memory: Box<dyn Iterator<Item = (&[u8], &KeyWrites)> + '_> =
            if reverse { Box::new(range.rev()) } else { Box::new(range) };
        let mut next = memory.next();
        while found.len() < max {
            let Some(key) = nearest(next.map(|(key, _)| key), &runs, reverse) else { break };
            let key = key.to_vec();
            // The first layer with an answer decides; layers below it do not count.
            let (mut state, mut decided) = (None, false);
            if let Some((_, writes)) = next.filter(|(next, _)| **next == *key) {
                state = writes.newest(as_of, aborted).cloned();
                decided = state.is_some() || matches!(writes.base, Base::Is(_));
                next = memory.next();
            }
            for head in runs.iter_mut().filter(|head| head.key == key) {
                if !decided {
                    let encoded = Encoded::new(&head.payload)?;
                    state = encoded.newest(as_of, aborted)?.map(|state| state.map(Into::into));
                    decided = state.is_some() || encoded.base.is_some();
                }
                head.more = head.advance()?;
            }
            runs.retain(|head| head.more);
            found.extend(state.map(|state| OverlayEntry { key, state }));
        }
        Ok(found)
    }
}

/// The key that comes first, among those in memory and in runs.
fn nearest<'a>(memory: Option<&'a [u8]>, runs: &'a [RunHead<'_>], reverse: bool) -> Option<&'a [u8]> {
    let keys = memory.into_iter().chain(runs.iter().map(|head| head.key.as_slice()));
    if reverse { keys.max() } else { keys.min() }
}

/// The current entry of a run in a scan of a range.
struct RunHead<'a> {
    cursor: RunCursor,
    part: &'a Part<'a>,
    key: Vec<u8>,
    payload: Vec<u8>,
    more: bool,
}

impl<'a> RunHead<'a> {
    fn new(run: &Arc<IndexedRun>, part: &'a Part<'a>) -> Result<RunHead<'a>> {
        let mut cursor = run.cursor();
        match part.upper {
            _ if !part.reverse => cursor.seek(part.lower)?,
            Some(upper) => cursor.seek(upper)?,
            None => cursor.seek_end(),
        }
        Ok(RunHead { cursor, part, key: Vec::new(), payload: Vec::new(), more: true })
    }

    /// Moves to the next entry. Returns false if there is none in the range.
    fn advance(&mut self) -> Result<bool> {
        let entry = if self.part.reverse { self.cursor.previous()? } else { self.cursor.next()? };
        let Part { lower, upper, .. } = *self.part;
        let inside = |key: &[u8]| key >= lower && upper.is_none_or(|upper| key < upper);
        let Some((key, payload)) = entry.filter(|(key, _)| inside(key)) else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(key);
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        Ok(true)
    }
}
