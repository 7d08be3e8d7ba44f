//! The committed entries of a tree nobody is changing, in key order.

use crate::error::Result;
use crate::run::EntrySource;
use leafline_btree::{Cursor, Direction, LeafStep, Tree};

/// Reads a tree a leaf at a time.
pub(crate) struct TreeSource {
    cursor: Cursor,
    /// Entries of the leaf: where key and payload end in `bytes`.
    spans: Vec<(usize, usize)>,
    bytes: Vec<u8>,
    next: usize,
    begin: usize,
    more: bool,
}

impl TreeSource {
    /// The live entries of `tree`.
    pub(crate) fn new(tree: &Tree) -> TreeSource {
        let mut cursor = tree.clone().into_cursor();
        cursor.seek(&[]);
        TreeSource { cursor, spans: Vec::new(), bytes: Vec::new(), next: 0, begin: 0, more: true }
    }

    fn fill(&mut self) -> Result<()> {
        let (mut spans, mut bytes) = (std::mem::take(&mut self.spans), std::mem::take(&mut self.bytes));
        let mut key = Vec::new();
        self.more = self.cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            spans.clear();
            bytes.clear();
            for slot in slots {
                let entry = leaf.entry(slot);
                if entry.is_ghost() {
                    continue;
                }
                leaf.key_into(slot, &mut key);
                bytes.extend_from_slice(&key);
                let key_end = bytes.len();
                bytes.extend_from_slice(entry.payload);
                spans.push((key_end, bytes.len()));
            }
            LeafStep::NextLeaf
        })?;
        (self.spans, self.bytes, self.next, self.begin) = (spans, bytes, 0, 0);
        Ok(())
    }
}

impl EntrySource for TreeSource {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.next == self.spans.len() {
            if !self.more {
                return Ok(None);
            }
            self.spans.clear();
            self.next = 0;
            self.fill()?;
        }
        let (key_end, end) = self.spans[self.next];
        let begin = std::mem::replace(&mut self.begin, end);
        self.next += 1;
        Ok(Some((&self.bytes[begin..key_end], &self.bytes[key_end..end])))
    }
}
